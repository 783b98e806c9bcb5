"""The option that bounds a command's memory."""

from collections.abc import Callable
from typing import TypeVar

import click

from tokbench.allowance import LEAST, allowance
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


def check_memory(megabytes: int | None, size: int = 0) -> None:
    """See that ``--memory`` leaves room for texts and ``size`` more bytes.

    Raises:
        TokbenchError: it does not; the message says what would do.
    """
    if megabytes is not None:
        allowance(megabytes, LEAST + size)
