"""Numbers as options of the command line take them; every command's are of these two types."""

from typing import Any

import click

from tokbench.inputs.numbers import (
    LARGEST_COUNT,
    LARGEST_SEED,
    LARGEST_VOCABULARY,
    MOST_THREADS,
    real_number,
    whole_number,
)


class Whole(click.ParamType):
    """A whole number between bounds.

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
    """A vocabulary size; ``own`` is that of a tokenizer that was made elsewhere."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from tokbench.tokenizer_folder import OWN

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
    """A share of a whole as a fraction, ``2/5``."""

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
