"""The option that bounds a command's memory."""

from collections.abc import Callable
from typing import TypeVar

import click

from tokbench.allowance import LEAST, Largest, allowance
from tokbench.commands.numbers import MEMORY

Command = TypeVar("Command", bound=Callable[..., object])


def memory_option(default: int | None = None) -> Callable[[Command], Command]:
    """``--memory MB``; where it has no default, nothing is bound without it."""
    without = "" if default else "; without it, whatever the texts need"
    return click.option(
        "--memory",
        "megabytes",
        type=MEMORY,
        default=default,
        show_default=default is not None,
        metavar="MB",
        help=f"Memory of the whole process, in units of 10^6 bytes{without}. No output depends on it.",
    )


def largest_text(megabytes: int | None, copies: int, held: int = 0) -> Largest | None:
    """The longest text that fits into what ``--memory`` allows, beside ``held`` bytes; any where it allows all.

    Raises:
        TokbenchError: not even these fit; the message says what would do.
    """
    return None if megabytes is None else allowance(megabytes, LEAST + held).largest(copies, held)
