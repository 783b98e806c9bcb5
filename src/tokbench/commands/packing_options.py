"""The options by which text is packed, of ``tokbench pack`` and of what prepares it for large corpora."""

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

import click

from tokbench.commands.numbers import Real, Whole
from tokbench.errors import TokbenchError
from tokbench.inputs.numbers import LARGEST_BYTES, LARGEST_LEGACY_SEED, LONGEST_SEQUENCE
from tokbench.pretraining.presets import SEED

if TYPE_CHECKING:
    from tokbench.pretraining.budget import TextBudget

LEAST_EPOCHS = 1e-12
LEAST_PHASE = 1e-12
Command = TypeVar("Command", bound=Callable[..., object])


def order_options(command: Command) -> Command:
    """The order of the documents: ``--seed`` and ``--second-phase``."""
    return _all(
        command,
        click.option(
            "--seed", default=SEED, show_default=True, type=Whole(0, LARGEST_LEGACY_SEED), help="Draws the order."
        ),
        click.option(
            "--second-phase",
            type=Real(LEAST_PHASE),
            help="Pack for two phases, the second so large a part of the first.",
        ),
    )


def packing_options(command: Command) -> Command:
    """What documents are packed into: the length of sequences, their order, and the budget of text."""
    return _all(
        command,
        click.option("--sequence-length", required=True, type=Whole(1, LONGEST_SEQUENCE), help="Tokens of a sequence."),
        order_options,
        click.option("--epochs", type=Real(LEAST_EPOCHS), help="Pack for a training of so many passes over the text."),
        click.option(
            "--text-bytes", type=Whole(1, LARGEST_BYTES), help="Pack for a training on so many bytes of text."
        ),
    )


def text_budget(epochs: float | None, text_bytes: int | None) -> "TextBudget | None":
    """The budget that two options name; None where neither is given.

    Raises:
        TokbenchError: both are.
    """
    from tokbench.pretraining.budget import TextBudget

    if epochs is not None and text_bytes is not None:
        raise TokbenchError("--epochs and --text-bytes are two budgets; give one")
    return None if epochs is text_bytes is None else TextBudget(epochs, text_bytes)


def _all(command: Command, *options: Callable[[Command], Command]) -> Command:
    return reduce(lambda made, option: option(made), reversed(options), command)
