"""Hypothesis examples drawn once and shared by many tests, since drawing a text takes longer than cutting it."""

from random import Random
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

Drawn = TypeVar("Drawn")


def drawn(strategy: SearchStrategy[Drawn], number: int) -> list[Drawn]:
    """So many examples of a strategy, or fewer where it has no more."""
    found: list[Drawn] = []

    @settings(
        max_examples=number,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(strategy)
    def keep(example: Drawn) -> None:
        found.append(example)

    keep()
    return found


def some(examples: list[Drawn], number: int, of: str) -> list[Drawn]:
    """So many of them, others for each name."""
    return Random(of).sample(examples, min(number, len(examples)))
