"""Token counts of several tokenizers on the same documents, and the verdicts on their differences.

``tokbench compare`` and ``tokbench.compare`` call this module. Copies of a document are one unit; empty documents
are none. Every tokenizer is compared with every other, and p-values are corrected for all pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokbench.statistics.comparisons.families import (
    TOKENS,
    ComparisonFamily,
    judge_pairs,
    pair_row,
    token_counts,
    unrank_lossy,
)
from tokbench.statistics.significance.eligibility import FEWER, LOSSY, different_sizes
from tokbench.statistics.significance.estimate import Estimate
from tokbench.statistics.significance.judgements import reversed_row
from tokbench.tokenizer import Tokenizer

DEFINITION = "tokens of the documents, without end-of-text tokens"
NO_TOKENS = "gives no token for this text"


class DocumentCounts(NamedTuple):
    """Token counts and losses of a tokenizer on documents.

    Attributes:
        tokens: number of tokens of each document.
        changed: number of documents that are not restored.
        bytes_lost: upper bound on the lost bytes.
    """

    tokens: list[int]
    changed: int
    bytes_lost: int


def count_documents(tokenizer: Tokenizer, texts: Sequence[bytes], threads: int = 1) -> DocumentCounts:
    """Count the tokens of documents, and the documents that decoding does not restore."""
    if tokenizer.lossless:
        return DocumentCounts([tokenizer.count(text, threads) for text in texts], 0, 0)
    from tokbench.tokenizer.roundtrip import bytes_lost

    tokens, changed, lost = [], 0, 0
    for text in texts:
        ids = tokenizer.encode(text, threads)
        decoded = tokenizer.restored(ids)
        tokens.append(len(ids))
        changed += decoded != text
        lost += bytes_lost(text, decoded)
    return DocumentCounts(tokens, changed, lost)


@dataclass(frozen=True)
class TextComparison:
    """Tokenizers compared on the same documents.

    Attributes:
        names: names of the tokenizers, distinct.
        tokenizers: the tokenizers.
        counts: token counts and losses of each.
        sizes: bytes of each document.
        units: number of the unit of each document; copies share one.
    """

    names: Sequence[str]
    tokenizers: Sequence[Tokenizer]
    counts: Sequence[DocumentCounts]
    sizes: Sequence[int]
    units: Sequence[int]

    @property
    def bytes(self) -> int:
        """Total size of the documents."""
        return sum(self.sizes)

    @property
    def copies(self) -> int:
        """Number of documents with content that are copies of an earlier one."""
        filled = [unit for unit, size in zip(self.units, self.sizes, strict=True) if size]
        return len(filled) - len(set(filled))

    @cached_property
    def pretokenizers(self) -> dict[str, str]:
        """Label of the pre-tokenizer of each tokenizer."""
        return _pretokenizers(self.names, self.tokenizers)

    @cached_property
    def family(self) -> ComparisonFamily:
        """The tokenizers as a family of comparisons by token counts."""
        by_unit = {name: self._by_unit(counts.tokens) for name, counts in zip(self.names, self.counts, strict=True)}
        totals: dict[str, tuple[float | None, str | None]] = {
            name: (float(counts.sum()) or None, None if counts.sum() else NO_TOKENS) for name, counts in by_unit.items()
        }
        head = (None, None, TOKENS, None, None, DEFINITION)
        family = token_counts(head, totals, by_unit, self._by_unit(self.sizes))
        return unrank_lossy(
            family, {name for name, counts in zip(self.names, self.counts, strict=True) if counts.changed}
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return the comparisons of all ordered pairs, see :func:`family_rows`."""
        return family_rows(self.family, self.names, self.tokenizers)

    def _by_unit(self, values: Sequence[int]) -> NDArray[np.float64]:
        return np.bincount(self.units, np.asarray(values, np.float64), max(self.units, default=-1) + 1).astype(
            np.float64, copy=False
        )


def compare_texts(
    names: Sequence[str], tokenizers: Sequence[Tokenizer], texts: Sequence[bytes], threads: int = 1
) -> TextComparison:
    """Count the tokens of the same documents with each tokenizer.

    Args:
        names: names of the tokenizers, distinct; the first is the baseline.
        tokenizers: the tokenizers.
        texts: the documents.
        threads: number of threads (default: 1).
    """
    number: dict[bytes, int] = {}
    units = [number.setdefault(text, len(number)) for text in texts]
    counts = [count_documents(tokenizer, texts, threads) for tokenizer in tokenizers]
    return TextComparison(names, tokenizers, counts, [len(text) for text in texts], units)


def lossy_note(name: str, counts: DocumentCounts, size: int) -> str:
    """Return a sentence on a tokenizer that does not restore all of the text."""
    from tokbench.report.wording import pluralise

    documents = pluralise(len(counts.tokens), "document")
    return (
        f"{name} {LOSSY}: {counts.changed:,} of {documents} changed, at most {counts.bytes_lost:,} of {size:,} bytes "
        "lost. Tokens are not ranked."
    )


def family_rows(
    family: ComparisonFamily, names: Sequence[str], tokenizers: Sequence[Tokenizer]
) -> list[dict[str, Any]]:
    """Return a row of the table of paired comparisons for each ordered pair.

    Args:
        family: tokenizers that are compared by one measure of a text.
        names: names of the tokenizers; the first is the baseline.
        tokenizers: the tokenizers.
    """
    of = dict(zip(names, tokenizers, strict=True))
    labels = _pretokenizers(names, tokenizers)

    def differ(a: str, b: str) -> Estimate | None:
        estimate = family.differ(a, b)
        reason = why_sizes((a, of[a]), (b, of[b]))
        return estimate.exclude(reason) if estimate is not None and reason else estimate

    rows = []
    of_sizes = replace(family, differ=differ)
    for (a, b), judged in judge_pairs(of_sizes, dict.fromkeys(names[1:], names[0]), {}).items():
        row = pair_row(family, a, b, judged)
        row |= {"pretokenization_a": labels[a], "pretokenization_b": labels[b]}
        rows += [row, reversed_row(row, relative=family.relative)]
    return rows


def why_sizes(a: tuple[str, Tokenizer], b: tuple[str, Tokenizer]) -> str:
    """Return the reason why two tokenizers, with their names, are not tested because of their sizes; empty if they are.

    Sizes of external tokenizers are not chosen, so these are compared at their own sizes.
    """
    if any(tokenizer.library_name or "imported" in tokenizer.origin for _, tokenizer in (a, b)):
        return ""
    (_, left), (_, right) = a, b
    if left.nominal_size == right.nominal_size and len(left) != len(right):
        return f"{min(a, b, key=lambda named: len(named[1]))[0]} {FEWER}"
    return different_sizes(len(left), len(right))


def _pretokenizers(names: Sequence[str], tokenizers: Sequence[Tokenizer]) -> dict[str, str]:
    return {name: tokenizer.pretokenizer_label for name, tokenizer in zip(names, tokenizers, strict=True)}
