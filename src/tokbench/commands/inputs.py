"""Parameter types of input files and folders, and options of the commands that write reports.

Missing inputs are rejected before any import. :func:`content_options` adds the common options of ``draw``, ``typeset``
and ``report``; :func:`by_corpus` parses ``--baseline CORPUS=VARIANT``.
"""

import os
from collections.abc import Callable, Collection
from typing import Any

import click

from tokbench.errors import TokbenchError
from tokbench.io.compression import check_regular
from tokbench.io.paths import is_hub_name, is_source

DATA = ("text", "marked_up", "folder")
"""Kinds of content that may be data of a command. Their readers reject content that they cannot read."""
FOLDERS = ("folder", "results")
"""Kinds of folders that may have tables, tokens or shards."""


class OfContent:
    """Part of parameter types that check the kind of content of a file or folder.

    Attributes:
        what: kind of content, for the message, such as ``file of byte scores``.
        kinds: kinds of :class:`tokbench.io.contents.Content` that are accepted; None if the reader decides.
    """

    what: str
    kinds: Collection[str] | None

    def reject_other(self, path: str) -> None:
        """Reject content of another kind.

        Raises:
            TokbenchError: there is such content; the message names both kinds.
        """
        from tokbench.io.contents import content_of

        if self.kinds is not None and (content := content_of(path)).kind not in self.kinds:
            remedy = "name another, or check the order of the arguments"
            raise TokbenchError(f"{path}: {content.what}, and a {self.what} is expected here; {remedy}")


class InputPath(OfContent, click.ParamType):
    """Parameter type of a file or a folder that must exist, and whose content must not be of another kind.

    Args:
        what: kind of content, for the message, such as ``file of byte scores``.
        remedy: advice if it is missing; default: none.
        functions: whether ``FILE.py:FUNCTION`` is accepted, too.
        kinds: kinds of content that are accepted; None if the reader decides. Default: all but ``tokenizer``,
            ``model`` and ``results``, which are never read as data.
    """

    name = "path"

    def __init__(
        self,
        what: str = "file",
        remedy: str = "",
        functions: bool = False,
        kinds: Collection[str] | None = DATA,
    ) -> None:
        self.what = what
        self.remedy = remedy
        self.functions = functions
        self.kinds = kinds

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if self.functions and (is_source(value) or is_hub_name(value)):
            return value
        if not os.path.exists(value):
            remedy = f"; {self.remedy}" if self.remedy else ""
            raise TokbenchError(f"{value}: no such {self.what}{remedy}")
        self.reject_other(value)
        return value


class ContentPath(OfContent, click.Path):
    """Parameter type of an existing file, or of an existing folder, of a kind of content.

    Args:
        what: kind of content, for the message.
        kinds: kinds of content that are accepted. Default: those of data.
        folder: whether it is a folder. Default: a file.
    """

    def __init__(self, what: str, kinds: Collection[str] = DATA, *, folder: bool = False) -> None:
        super().__init__(exists=True, file_okay=not folder, dir_okay=folder)
        self.what = what
        self.kinds = kinds

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if not self.file_okay and os.path.isfile(value):
            raise TokbenchError(f"{value}: a file, and a {self.what} is expected here; name the folder")
        path = super().convert(value, parameter, context)
        self.reject_other(os.fsdecode(path))
        return path


class InputFile(OfContent, click.File):
    """Parameter type of a file opened for reading bytes, ``-`` for standard input; named pipes are rejected.

    Args:
        what: kind of content, for the message.
        pipes: whether named pipes are accepted. Default: no.
    """

    def __init__(self, what: str, *, pipes: bool = False) -> None:
        super().__init__("rb")
        self.what = what
        self.kinds = DATA
        self.pipes = pipes

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if isinstance(value, str) and value != "-":
            if not self.pipes:
                check_regular(value, descriptors=True)
            self.reject_other(value)
        return super().convert(value, parameter, context)


class TokenizerPath(click.Path):
    """A folder or file of a tokenizer, ``FILE.py:FUNCTION``, or ``hf:OWNER/NAME`` on the hub, which becomes its folder.

    :func:`tokbench.adapters.open.open_tokenizer` decides by content, unless ``--from`` names its form.
    """

    def __init__(self) -> None:
        super().__init__(exists=True)

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if isinstance(value, str) and is_source(value):
            return value
        if isinstance(value, str) and is_hub_name(value):
            from tokbench.adapters.hub import hub_folder, hub_name

            return str(hub_folder(hub_name(value)))
        return super().convert(value, parameter, context)


class ResultsFolder(OfContent, click.ParamType):
    """Parameter type of an experiment's folder."""

    name = "directory"
    what = "folder of an experiment"
    kinds = FOLDERS

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if not os.path.isdir(value):
            reason = "a file" if os.path.exists(value) else "no such folder"
            raise TokbenchError(f"{value}: {reason}; name the folder of an experiment, such as results/demo")
        self.reject_other(value)
        return value


COUNTS = InputPath("file of pre-token counts", "make one with 'tokbench count'")
SCORES = InputPath("file of byte scores", "make it with 'tokbench score_bytes'")
DOCUMENTS = InputPath("file of documents", "make it with 'tokbench prepare'")
CONFIGURATION = InputPath("configuration", "name an existing file")
TOKENIZER = InputPath(
    "folder or file of a tokenizer", "name one, or an experiment with --results", functions=True, kinds=None
)
TEXT = InputPath()
SOURCE = InputPath("file or folder of the source", "name those of the recipe")
ENCODED = InputPath("file of tokens", "make it with 'tokbench encode_shard'")
SHARD = InputPath("corpus shard", "make it with 'tokbench prepare'")
TOKENIZER_FOLDER = ContentPath("folder of a tokenizer", ("tokenizer", "folder"), folder=True)
FOLDER = ContentPath("folder of tables or shards", FOLDERS, folder=True)
EXPERIMENT = InputPath("file of an experiment", "name one in the folder experiment of its results")


def _reject_other_jobs(context: click.Context, parameter: click.Parameter, text: str | None) -> None:
    """Reject inputs that were made from something else than ``--expected`` says."""
    from tokbench.io.job_record import reject_other_jobs
    from tokbench.io.json import parse_json

    if text is not None:
        reject_other_jobs(parse_json(text, "--expected"))


EXPECTED = click.option(
    "--expected",
    metavar="JSON",
    expose_value=False,
    callback=_reject_other_jobs,
    help="Digest of the record of the job that made each input, by path; another one is rejected.",
)


def content_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of the tables and the experiment of a report to a command."""
    folder = click.Path(exists=True, file_okay=False)
    for option in (
        click.option(
            "--experiment", required=True, type=EXPERIMENT, help="File experiment/report.json of the experiment."
        ),
        click.option("--examples", type=folder, help="Folder of split sentences."),
        click.option("--statistics", required=True, type=folder, help="Folder of their statistics."),
        click.option("--tables", required=True, type=folder, help="Folder of tidy tables."),
    ):
        command = option(command)
    return command


def by_corpus(words: tuple[str, ...], option: str = "--baseline", value: str = "VARIANT") -> dict[str, str]:
    """Parse words ``CORPUS=VALUE`` of an option; return the values by corpus.

    Args:
        words: values of the option.
        option: its name, for messages.
        value: kind of value expected for each corpus, for messages.

    Raises:
        TokbenchError: a word is not of this form, or a corpus has two values.
    """
    for word in words:
        if "=" not in word:
            raise TokbenchError(f"{option} {word}: expected CORPUS={value}")
    named = [word.split("=", 1) for word in words]
    for corpus, given in named:
        if [corpus, given] != next(pair for pair in named if pair[0] == corpus):
            raise TokbenchError(f"{option} {corpus}={given}: this corpus already has another value; name one")
    return dict(named)
