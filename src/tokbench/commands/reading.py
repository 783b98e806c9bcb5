"""How the file of another library is read that a command is given in place of a tokenizer's folder: options of several
commands."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Any

import click

from tokbench.errors import TokbenchError, shortened

ADDED = ("words", "text", "tokens")
SPECIAL = "Special token NAME of a file of ranks, and its id; may be repeated."


@dataclass(frozen=True)
class Reading:
    """What a file does not say of its tokenizer; None where it is left out.

    Attributes:
        form: its form, told by what is in it if left out.
        pattern: how texts are cut.
        segmentation: the segmentation in place of the form's own.
        added: which added tokens are tokens.
        special: special tokens of a file of ranks, as the command line has them.
    """

    form: str | None = None
    pattern: str | None = None
    segmentation: str | None = None
    added: str | None = None
    special: tuple[str, ...] | None = None

    @property
    def flags(self) -> list[str]:
        """The options that were given, as a command line has them."""
        given = [field.name for field in fields(self) if getattr(self, field.name) is not None]
        return ["--from" if name == "form" else f"--{name}" for name in given]


def reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of :class:`Reading`, and them as its argument ``reading``."""

    @wraps(command)
    def bundled(*args: Any, **given: Any) -> None:
        chosen = {field.name: given.pop(field.name) or None for field in fields(Reading)}
        command(*args, reading=Reading(**chosen), **given)

    options = (
        click.option("--from", "form", metavar="FORM", help="Form of a file of another library; told by its content."),
        click.option("--pattern", help="How texts are cut, where such a file does not say it."),
        click.option("--segmentation", help="Segmentation in place of the form's own; 'tokens' has none."),
        click.option("--added", type=click.Choice(ADDED), help="Which added tokens of the file are tokens."),
        click.option("--special", multiple=True, metavar="NAME=ID", help=SPECIAL),
    )
    found: Callable[..., None] = bundled
    for option in reversed(options):
        found = option(found)
    return found


def special_tokens(given: tuple[str, ...] | None) -> dict[str, int] | None:
    """Special tokens with their ids, of ``NAME=ID`` each; None where there are none.

    Raises:
        TokbenchError: one is something else, or a name stands twice.
    """
    from tokbench.inputs.numbers import LARGEST_VOCABULARY, whole_number

    found: dict[str, int] = {}
    for one in given or ():
        name, _, number = one.rpartition("=")
        try:
            known = found.setdefault(name, value := whole_number(number, 0, LARGEST_VOCABULARY - 1))
        except ValueError as error:
            raise TokbenchError(f"--special {shortened(one)}: {error}; give NAME=ID, as in '<|end|>=100257'") from None
        if not name or known != value:
            why = f"'{shortened(name)}' has the ids {known} and {value}" if name else "it has no name"
            raise TokbenchError(f"--special {shortened(one)}: {why}; give NAME=ID, each name once")
    return found or None
