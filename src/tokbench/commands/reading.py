"""How the file of another library is read that a command is given in place of a tokenizer's folder: options of several
commands."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Any

import click

ADDED = ("words", "text", "tokens")


@dataclass(frozen=True)
class Reading:
    """What a file does not say of its tokenizer; None where it is left out.

    Attributes:
        form: its form, told by what is in it if left out.
        pattern: how texts are cut.
        segmentation: the segmentation in place of the form's own.
        added: which added tokens are tokens.
    """

    form: str | None = None
    pattern: str | None = None
    segmentation: str | None = None
    added: str | None = None

    @property
    def flags(self) -> list[str]:
        """The options that were given, as a command line has them."""
        given = [field.name for field in fields(self) if getattr(self, field.name) is not None]
        return ["--from" if name == "form" else f"--{name}" for name in given]


def reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of :class:`Reading`, and them as its argument ``reading``."""

    @wraps(command)
    def bundled(*args: Any, **given: Any) -> None:
        chosen = {field.name: given.pop(field.name) for field in fields(Reading)}
        command(*args, reading=Reading(**chosen), **given)

    options = (
        click.option("--from", "form", metavar="FORM", help="Form of a file of another library; told by its content."),
        click.option("--pattern", help="How texts are cut, where such a file does not say it."),
        click.option("--segmentation", help="Segmentation in place of the form's own; 'tokens' has none."),
        click.option("--added", type=click.Choice(ADDED), help="Which added tokens of the file are tokens."),
    )
    found: Callable[..., None] = bundled
    for option in reversed(options):
        found = option(found)
    return found
