"""Budgets of training text in bytes, so that every tokenizer's models read the same: a share for each language."""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tokbench.errors import TokbenchError
from tokbench.languages import by_tag


@dataclass(frozen=True)
class Budget:
    """The part of the training text that a model sees.

    Attributes:
        training_bytes: bytes that were asked for.
        taken: bytes of each language; together less than what was asked for, by a byte or two a language.
    """

    training_bytes: int
    taken: dict[str, int]


def budgets_of(languages: Iterable[tuple[str, int]], training_bytes: Sequence[int] | None) -> list[Budget]:
    """Share a number of bytes out to languages, by how much there is of each.

    Args:
        languages: language and bytes of every document.
        training_bytes: the budgets; None for half of the text and all of it.

    Returns:
        In ascending order, each once.

    Raises:
        TokbenchError: there is no text, or less than is asked for.
    """
    whole: dict[str, int] = {}
    for language, size in languages:
        whole[language] = whole.get(language, 0) + size
    whole = by_tag(whole, operator.add)
    total = sum(whole.values())
    if not total:
        raise TokbenchError("the training text is empty; give it documents")
    asked = sorted({total, max(1, total // 2)} if training_bytes is None else set(training_bytes))
    if asked[-1] > total:
        raise TokbenchError(f"training_bytes: {asked[-1]:,} are asked for, and the training text has {total:,}")
    return [Budget(size, {language: part * size // total for language, part in whole.items()}) for size in asked]
