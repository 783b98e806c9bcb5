"""Options common to several commands: numbers, memory, names of methods, text files, pre-tokenizer, packing.

Also colours (no-color.org, force-color.org) and log lines.
"""

import logging
import os
import re
import sys
from collections.abc import Callable
from functools import cache, reduce, wraps
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tokbench.adapters.open import ImportOptions
from tokbench.commands.completion import FORM_NAMES, PATTERN_NAMES, SEGMENTATION_NAMES
from tokbench.errors import TokbenchError, shortened, unknown
from tokbench.io.compression import Fields
from tokbench.io.numbers import (
    LARGEST_BYTES,
    LARGEST_COUNT,
    LARGEST_LEGACY_SEED,
    LARGEST_SEED,
    LARGEST_VOCABULARY,
    LONGEST_SEQUENCE,
    MOST_THREADS,
    real_number,
    whole_number,
)

if TYPE_CHECKING:
    from tokbench.models.pretraining.budget import TextBudget
    from tokbench.pretokenization import Pretokenization

Command = TypeVar("Command", bound=Callable[..., object])
KIND = "construction"
PACKAGE = "tokbench.construction"
FLAG = "--pretokenization"
NAME = re.compile(r"[\w.-]*")
"""Texts that are a plain name in YAML, too."""
ADDED = ("words", "text", "tokens")
"""Added tokens to recognise in texts."""
SPECIAL = "Special token and id, for tiktoken rank files; may be repeated."
LEAST_EPOCHS = 1e-12
LEAST_PHASE = 1e-12


class Whole(click.ParamType):
    """Parameter type of an integer in a range.

    Args:
        least: minimum.
        most: maximum.
    """

    name = "integer"

    def __init__(self, least: int, most: int = LARGEST_COUNT) -> None:
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return whole_number(str(value), self.least, self.most)
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


class VocabularySize(Whole):
    """Parameter type of a vocabulary size; ``own`` is that of an external tokenizer."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from tokbench.tokenizer.folder import OWN

        return OWN if value == OWN else super().convert(value, param, ctx)


class Real(click.ParamType):
    """Parameter type of a finite number in a range.

    Args:
        least: minimum.
        most: maximum; None for no limit.
    """

    name = "number"

    def __init__(self, least: float, most: float | None = None) -> None:
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return real_number(str(value), self.least, self.most)
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


class Share(click.ParamType):
    """Parameter type of a fraction, ``2/5``."""

    name = "fraction"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from fractions import Fraction

        above, _, below = str(value).partition("/")
        try:
            return Fraction(whole_number(above, 0, LARGEST_COUNT), whole_number(below, 1, LARGEST_COUNT))
        except ValueError:
            self.fail(f"'{value}' is not a fraction such as 2/5.", param, ctx)


SIZE = Whole(1, LARGEST_VOCABULARY)
"""Size of a vocabulary in tokens."""
SEED = Whole(0, LARGEST_SEED)
COUNT = Whole(1)
"""Occurrences of a pre-token."""
MEMORY = Whole(1)
"""Megabytes, of 1,000,000 bytes."""
THREADS = Whole(1, MOST_THREADS)


OUTPUT_FORMAT = click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "markdown", "latex", "json", "csv"]),
    default="text",
    show_default=True,
    help="Format of the output.",
)
"""Option of commands that print tables."""


def memory_option(default: int | None = None) -> Callable[[Command], Command]:
    """Return the option ``--memory MB``; without a default, memory is not limited."""
    without = "" if default else "; default: no limit"
    return click.option(
        "--memory",
        "megabytes",
        type=MEMORY,
        default=default,
        show_default=default is not None,
        metavar="MB",
        help=f"Memory limit of the process in MB (10^6 bytes){without}. It never changes the output.",
    )


keep_option = click.option(
    "--keep-checkpoints", metavar="PLACE", help="Folder or address in which each checkpoint is kept for other machines."
)
"""Option of the commands that train; an address is one that ``pyarrow.fs`` reads."""


class ConstructionName(click.ParamType):
    """Parameter type of a construction's name.

    A built-in construction has the name of its module. If other distributions add constructions, their names are only
    known after import, and the registry checks the name later.
    """

    name = "name"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        from tokbench.submodules import entry_points_of

        if value not in built_in() and not entry_points_of(PACKAGE):
            raise TokbenchError(unknown(value, KIND, built_in()))
        return value


@cache
def built_in() -> frozenset[str]:
    """Return the names of the built-in constructions."""
    from tokbench.submodules import submodules

    spec = find_spec(PACKAGE)
    assert spec is not None
    return frozenset(submodules(spec.submodule_search_locations or ()))


class EncodingName(click.ParamType):
    """Parameter type of an encoding's name, or ``bytes``."""

    name = "encoding"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> str:
        from tokbench.io.encodings import encoding_name

        try:
            return encoding_name(value)
        except ValueError as error:
            self.fail(f"{error}.", parameter, context)


def field_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of :class:`~tokbench.io.compression.Fields` to a command, as its argument ``fields``."""

    @wraps(command)
    def bundled(*args: Any, text_field: str, language_field: str, encoding: str, bad_lines: str, **given: Any) -> None:
        command(*args, fields=Fields(text_field, language_field, encoding, bad_lines), **given)

    options = (
        click.option("--text-field", help="Key or column of the text; default: 'text'."),
        click.option("--language-field", help="Key or column of the language; default: 'language' if it exists."),
        click.option(
            "--encoding",
            type=EncodingName(),
            help="Encoding of text, and of other files without their own: utf-8 (the default), utf-16, latin-1 or "
            "another of Python's; 'bytes' reads text unchanged.",
        ),
        click.option(
            "--bad-lines",
            type=click.Choice(["reject", "skip"]),
            help="Bad records, such as lines that are not JSON and rows without text: reject (the default) ends with "
            "an error, skip counts and skips them.",
        ),
    )
    return _all(bundled, *options)


def reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of :class:`~tokbench.adapters.open.ImportOptions` to a command, as its argument ``reading``."""

    @wraps(command)
    def bundled(*args: Any, **given: Any) -> None:
        chosen = {name: given.pop(name) or None for name in ("form", "pattern", "segmentation", "added", "check")}
        special = special_tokens(given.pop("special"))
        command(*args, reading=ImportOptions(**chosen, special=special), **given)

    # Options in the order of the help.
    options = (
        click.option(
            "--from",
            "form",
            metavar="FORM",
            shell_complete=FORM_NAMES,
            help="Format of an external tokenizer; default: detected from its content.",
        ),
        click.option(
            "--pattern",
            shell_complete=PATTERN_NAMES,
            help="Pre-tokenizer name or regular expression, if the file does not include one.",
        ),
        click.option(
            "--segmentation",
            shell_complete=SEGMENTATION_NAMES,
            help="Segmentation; default: that of the format. Required for the format 'tokens'.",
        ),
        click.option(
            "--added",
            type=click.Choice(ADDED),
            help="Added tokens to recognise in texts: all but special ones (words, default), none (text) or all.",
        ),
        click.option("--special", multiple=True, metavar="NAME=ID", help=SPECIAL),
        click.option(
            "--check",
            is_flag=True,
            help="Compare the ids of an external file with its library's again; default: once, the result is kept.",
        ),
    )
    return _all(bundled, *options)


def special_tokens(given: tuple[str, ...]) -> dict[str, int] | None:
    """Parse special tokens with their ids, each ``NAME=ID``; None if there are none.

    Raises:
        TokbenchError: one is not of this form, or a name has two ids.
    """
    ids: dict[str, int] = {}
    for text in given:
        name, _, number = text.rpartition("=")
        try:
            known = ids.setdefault(name, value := whole_number(number, 0, LARGEST_VOCABULARY - 1))
        except ValueError as error:
            raise TokbenchError(f"--special {shortened(text)}: {error}; pass NAME=ID, as in '<|end|>=100257'") from None
        if not name or known != value:
            why = f"'{shortened(name)}' has the ids {known} and {value}" if name else "it has no name"
            raise TokbenchError(f"--special {shortened(text)}: {why}; pass NAME=ID, each name once")
    return ids or None


def pretokenization_option(
    meaning: str, *, required: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option ``--pretokenization`` (or ``--scheme``): a name, or ``{method: name, option: value}``.

    Args:
        meaning: help text for the command's input.
        required: whether the option is required.
    """
    form = "Name, or {method: name, option: value}; see 'tokbench methods'."
    return click.option(
        FLAG,
        "--scheme",
        "pretokenization",
        required=required,
        shell_complete=PATTERN_NAMES,
        help=f"{meaning} {form}",
    )


def chosen_scheme(text: str) -> "Pretokenization":
    """Parse the value of ``--pretokenization``.

    Raises:
        TokbenchError: there is no such pre-tokenization, or an option is missing, unknown or of the wrong type.
    """
    from tokbench.pretokenization import pretokenization_of

    if NAME.fullmatch(text):
        return pretokenization_of(text, FLAG)
    from tokbench.io.yaml import parse_yaml

    return pretokenization_of(parse_yaml(text, FLAG), FLAG)


def order_options(command: Command) -> Command:
    """Add the options of the document order: ``--seed`` and ``--second-phase``."""
    from tokbench.models.presets import SEED as PRETRAINING_SEED

    return _all(
        command,
        click.option(
            "--seed",
            default=PRETRAINING_SEED,
            show_default=True,
            type=Whole(0, LARGEST_LEGACY_SEED),
            help="Seed of the document order.",
        ),
        click.option(
            "--second-phase",
            type=Real(LEAST_PHASE),
            help="Pack for two phases; size of the second as a fraction of the first.",
        ),
    )


def packing_options(command: Command) -> Command:
    """Add the options of packing: the length of sequences, the document order, and the budget of text."""
    return _all(
        command,
        click.option("--sequence-length", required=True, type=Whole(1, LONGEST_SEQUENCE), help="Tokens in a sequence."),
        order_options,
        click.option("--epochs", type=Real(LEAST_EPOCHS), help="Pack for this number of passes over the text."),
        click.option(
            "--text-bytes", type=Whole(1, LARGEST_BYTES), help="Pack for training on this number of bytes of text."
        ),
    )


def text_budget(epochs: float | None, text_bytes: int | None) -> "TextBudget | None":
    """Return the budget given by one of two options; None if neither is given.

    Raises:
        TokbenchError: both are given.
    """
    from tokbench.models.pretraining.budget import TextBudget

    if epochs is not None and text_bytes is not None:
        raise TokbenchError("--epochs and --text-bytes are two budgets; pass one")
    return None if epochs is text_bytes is None else TextBudget(epochs, text_bytes)


def _all(command: Command, *options: Callable[[Command], Command]) -> Command:
    return reduce(lambda made, option: option(made), reversed(options), command)


def coloured() -> bool:
    """Return whether to write in colour: NO_COLOR disables it, FORCE_COLOR enables it; default: in terminals."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def log_to_stderr() -> None:
    """Write Tokbench's log messages (INFO) and other libraries' warnings to standard error."""
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", stream=sys.stderr)
    logging.getLogger("tokbench").setLevel(logging.INFO)
