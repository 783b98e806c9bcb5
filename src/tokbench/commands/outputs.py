"""Folders that the command line writes, rejected before any work is done."""

from pathlib import Path
from typing import Any

import click

from tokbench.atomic import Kind, reject_foreign
from tokbench.atomic.places import place_of_folder


class OutputFolder(click.Path):
    """A folder that is missing or may be replaced by an output of a kind."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(file_okay=False)
        self.kind = kind

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        place_of_folder(value)
        path = str(super().convert(value, parameter, context))
        reject_foreign(Path(path), self.kind)
        return path
