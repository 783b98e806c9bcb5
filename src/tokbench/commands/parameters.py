"""Options common to several commands: numbers, memory, names of methods, text files, pre-tokenizer, packing.

Colours (no-color.org, force-color.org), log lines, and whether a command computes on a GPU.
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

from tokbench.adapters.open import PATTERN_NAMES
from tokbench.errors import TokbenchError, unknown
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
from tokbench.runtime.memory_limit import LEAST, allowance

if TYPE_CHECKING:
    from tokbench.models.pretraining.budget import TextBudget
    from tokbench.pretokenization import Pretokenization


class Whole(click.ParamType):
    """An integer between bounds.

    Args:
        least: the smallest that is taken.
        most: the largest.
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
    """A vocabulary size; ``own`` is that of an external tokenizer."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from tokbench.tokenizer.folder import OWN

        return OWN if value == OWN else super().convert(value, param, ctx)


class Real(click.ParamType):
    """A finite number between bounds.

    Args:
        least: the smallest that is taken.
        most: the largest; None for any.
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
    """A fraction, ``2/5``."""

    name = "fraction"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from fractions import Fraction

        above, _, below = str(value).partition("/")
        try:
            return Fraction(whole_number(above, 0, LARGEST_COUNT), whole_number(below, 1, LARGEST_COUNT))
        except ValueError:
            self.fail(f"'{value}' is not a fraction such as 2/5.", param, ctx)


SIZE = Whole(1, LARGEST_VOCABULARY)
"""Tokens of a vocabulary."""
SEED = Whole(0, LARGEST_SEED)
COUNT = Whole(1)
"""Occurrences of a pre-token."""
MEMORY = Whole(1)
"""Megabytes, of 1,000,000 bytes."""
THREADS = Whole(1, MOST_THREADS)


Command = TypeVar("Command", bound=Callable[..., object])


def memory_option(default: int | None = None) -> Callable[[Command], Command]:
    """``--memory MB``; where it has no default, nothing is bound without it."""
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


def check_memory(megabytes: int | None, size: int = 0) -> None:
    """See that ``--memory`` leaves room for texts and ``size`` more bytes.

    Raises:
        TokbenchError: it does not; the message says what would do.
    """
    if megabytes is not None:
        allowance(megabytes, LEAST + size)


KIND = "construction"
PACKAGE = "tokbench.construction"


class ConstructionName(click.ParamType):
    """A construction's name.

    A built-in one stands in the module of its name. Where other distributions bring constructions of theirs, only these
    modules tell how they are called, and the registry decides.
    """

    name = "name"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        from tokbench.submodules import entry_points_of

        if value not in built_in() and not entry_points_of(PACKAGE):
            raise TokbenchError(unknown(value, KIND, built_in()))
        return value


@cache
def built_in() -> frozenset[str]:
    """The constructions that come with Tokbench."""
    from tokbench.submodules import submodules

    spec = find_spec(PACKAGE)
    assert spec is not None
    return frozenset(submodules(spec.submodule_search_locations or ()))


class EncodingName(click.ParamType):
    """The name of an encoding, or ``bytes``."""

    name = "encoding"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> str:
        from tokbench.io.encodings import encoding_name

        try:
            return encoding_name(value)
        except ValueError as error:
            self.fail(f"{error}.", parameter, context)


def field_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of :class:`~tokbench.io.compression.Fields`, as its argument ``fields``."""

    @wraps(command)
    def bundled(*args: Any, text_field: str, language_field: str, encoding: str, bad_lines: str, **given: Any) -> None:
        command(*args, fields=Fields(text_field, language_field, encoding, bad_lines), **given)

    options = (
        click.option("--text-field", help="Key or column of the text; default: 'text'."),
        click.option("--language-field", help="Key or column of the language; default: 'language' if it exists."),
        click.option(
            "--encoding",
            type=EncodingName(),
            help="Encoding of text and JSON Lines: utf-8 (the default), utf-16, latin-1 or another of Python's; "
            "'bytes' reads text unchanged.",
        ),
        click.option(
            "--bad-lines",
            type=click.Choice(["reject", "skip"]),
            help="Bad lines of JSON Lines: reject (the default) ends with an error, skip counts and skips them.",
        ),
    )
    named: Callable[..., None] = bundled
    for option in reversed(options):
        named = option(named)
    return named


FLAG = "--pretokenization"
NAME = re.compile(r"[\w.-]*")
"""What is a name and nothing else to any reader."""


def pretokenization_option(
    meaning: str, *, required: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--pretokenization``, also called ``--scheme``: a name, or ``{method: name, option: value}``.

    Args:
        meaning: what it says of the command's input.
        required: whether it must be given.
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
    """The pre-tokenization that the option names.

    Raises:
        TokbenchError: there is none of that name, or an option is missing, unknown or of another type.
    """
    from tokbench.pretokenization import pretokenization_of

    if NAME.fullmatch(text):
        return pretokenization_of(text, FLAG)
    from tokbench.io.yaml import parse_yaml

    return pretokenization_of(parse_yaml(text, FLAG), FLAG)


LEAST_EPOCHS = 1e-12
LEAST_PHASE = 1e-12


def order_options(command: Command) -> Command:
    """The order of the documents: ``--seed`` and ``--second-phase``."""
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
    """What documents are packed into: the length of sequences, their order, and the budget of text."""
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
    """The budget that two options name; None where neither is given.

    Raises:
        TokbenchError: both are.
    """
    from tokbench.models.pretraining.budget import TextBudget

    if epochs is not None and text_bytes is not None:
        raise TokbenchError("--epochs and --text-bytes are two budgets; give one")
    return None if epochs is text_bytes is None else TextBudget(epochs, text_bytes)


def _all(command: Command, *options: Callable[[Command], Command]) -> Command:
    return reduce(lambda made, option: option(made), reversed(options), command)


def coloured() -> bool:
    """NO_COLOR forbids, FORCE_COLOR demands; else a terminal that can has them."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def log_to_stderr() -> None:
    """Show our own progress, and of others what is a warning."""
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", stream=sys.stderr)
    logging.getLogger("tokbench").setLevel(logging.INFO)


def on_gpu(device: str) -> bool:
    """Whether a device, by its name in a recipe or an option, is a GPU; ``auto`` is one where there is one.

    A GPU that is asked for and is not there counts as one: who computes on it says so.
    """
    if device != "auto":
        return device != "cpu"
    import torch

    return torch.cuda.is_available()
