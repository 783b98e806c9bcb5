"""Files and folders that the command line reads: one that is missing is rejected before anything is imported."""

import os
from typing import Any

import click

from tokbench.errors import TokbenchError
from tokbench.inputs.regular import check_regular


class InputPath(click.ParamType):
    """A file or a folder that must be there.

    Args:
        what: what it holds, as the message calls it: ``file of byte scores``.
        remedy: what to do where there is none; left out where ``what`` says enough.
    """

    name = "path"

    def __init__(self, what: str = "file", remedy: str = "") -> None:
        self.what = what
        self.remedy = remedy

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if not os.path.exists(value):
            remedy = f"; {self.remedy}" if self.remedy else ""
            raise TokbenchError(f"{value}: no such {self.what}{remedy}")
        return value


class InputFile(click.File):
    """A file that is opened for reading bytes, ``-`` for standard input; a pipe with a name is rejected."""

    def __init__(self) -> None:
        super().__init__("rb")

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if isinstance(value, str) and value != "-":
            check_regular(value, descriptors=True)
        return super().convert(value, parameter, context)


COUNTS = InputPath("file of pre-token counts", "make one with 'tokbench count'")
SCORES = InputPath("file of byte scores", "make it with 'tokbench score_bytes'")
DOCUMENTS = InputPath("file of documents", "make it with 'tokbench prepare'")
CONFIGURATION = InputPath("configuration", "name an existing file")
TOKENIZER = InputPath("folder or file of a tokenizer", "name one, or an experiment with --results")
TEXT = InputPath()
