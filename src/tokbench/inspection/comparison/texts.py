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

from tokbench.corpus.languages import tag_of_untagged
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
        losses: upper bound on the lost bytes of each document that is not restored, by its number.
    """

    tokens: list[int]
    losses: dict[int, int]

    @property
    def changed(self) -> int:
        """Number of documents that are not restored."""
        return len(self.losses)

    @property
    def bytes_lost(self) -> int:
        """Upper bound on the lost bytes."""
        return sum(self.losses.values())

    def of(self, documents: Sequence[int]) -> "DocumentCounts":
        """Return the counts of some documents, by their numbers."""
        losses = {place: self.losses[number] for place, number in enumerate(documents) if number in self.losses}
        return DocumentCounts([self.tokens[number] for number in documents], losses)


def count_documents(tokenizer: Tokenizer, texts: Sequence[bytes], threads: int = 1) -> DocumentCounts:
    """Count the tokens of documents, and the documents that decoding does not restore."""
    if tokenizer.lossless:
        return DocumentCounts([tokenizer.count(text, threads) for text in texts], {})
    from tokbench.kernels.loss import bytes_lost

    tokens, losses = [], {}
    for number, text in enumerate(texts):
        ids = tokenizer.encode(text, threads)
        tokens.append(len(ids))
        if (decoded := tokenizer.restored(ids)) != text:
            losses[number] = bytes_lost(text, decoded)
    return DocumentCounts(tokens, losses)


@dataclass(frozen=True)
class TextComparison:
    """Tokenizers compared on the same documents.

    Attributes:
        names: names of the tokenizers, distinct.
        tokenizers: the tokenizers.
        counts: token counts and losses of each.
        sizes: bytes of each document.
        units: number of the unit of each document; copies share one.
        sentences: number of lines of each document that are not blank.
        languages: language of each document; empty if it has none.
    """

    names: Sequence[str]
    tokenizers: Sequence[Tokenizer]
    counts: Sequence[DocumentCounts]
    sizes: Sequence[int]
    units: Sequence[int]
    sentences: Sequence[int]
    languages: Sequence[str]

    @property
    def documents(self) -> int:
        """Number of documents with content; copies count once."""
        return len({unit for unit, size in zip(self.units, self.sizes, strict=True) if size})

    @cached_property
    def by_language(self) -> "dict[str, TextComparison]":
        """The same tokenizers on the documents of each language; empty if these are fewer than two languages."""
        untagged = tag_of_untagged(self.languages)
        places: dict[str, list[int]] = {}
        for number, (language, size) in enumerate(zip(self.languages, self.sizes, strict=True)):
            if size:
                places.setdefault(language or untagged, []).append(number)
        return {language: self._of(places[language]) for language in sorted(places)} if len(places) > 1 else {}

    def _of(self, documents: Sequence[int]) -> "TextComparison":
        columns = (self.sizes, self.units, self.sentences, self.languages)
        counts = [one.of(documents) for one in self.counts]
        sizes, units, sentences, languages = ([column[number] for number in documents] for column in columns)
        return TextComparison(self.names, self.tokenizers, counts, sizes, units, sentences, languages)  # type: ignore[arg-type]

    @property
    def bytes(self) -> int:
        """Total size of the documents."""
        return sum(self.sizes)

    @property
    def copies(self) -> int:
        """Number of documents with content that are copies of an earlier one."""
        filled = [unit for unit, size in zip(self.units, self.sizes, strict=True) if size]
        return len(filled) - len(set(filled))

    @property
    def tokens(self) -> dict[str, int]:
        """Number of tokens of all documents, by tokenizer."""
        return {name: sum(counts.tokens) for name, counts in zip(self.names, self.counts, strict=True)}

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
    names: Sequence[str],
    tokenizers: Sequence[Tokenizer],
    texts: Sequence[bytes],
    threads: int = 1,
    languages: Sequence[str] | None = None,
) -> TextComparison:
    """Count the tokens of the same documents with each tokenizer.

    Args:
        names: names of the tokenizers, distinct; the first is the baseline.
        tokenizers: the tokenizers.
        texts: the documents.
        threads: number of threads (default: 1).
        languages: language of each document, empty if it has none. Default: no document has one.
    """
    number: dict[bytes, int] = {}
    units = [number.setdefault(text, len(number)) for text in texts]
    counts = [count_documents(tokenizer, texts, threads) for tokenizer in tokenizers]
    sentences = [sum(1 for line in text.split(b"\n") if line.strip()) for text in texts]
    sizes = [len(text) for text in texts]
    return TextComparison(names, tokenizers, counts, sizes, units, sentences, languages or [""] * len(texts))


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
    """Return a row of the table of paired comparisons, with both sizes, for each ordered pair.

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
        row |= {"size_a": of[a].nominal_size or None, "size_b": of[b].nominal_size or None}
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
