"""Pre-token counting: documents to counts, and sums of the counts of shards."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokbench.corpus.languages import by_tag
from tokbench.errors import TokbenchError
from tokbench.kernels.count import Counter
from tokbench.pretokenization import Pretokenization, Setting, pretokenization_of
from tokbench.pretokens import TOO_MUCH, PretokenCounts

NO_COUNTS = "no pre-token counts to merge; name at least one file made with 'tokbench count'"


def count_pretokens(documents: Iterable[bytes], scheme: Setting | Pretokenization) -> PretokenCounts:
    """Split documents into pre-tokens and count them.

    Documents are read one at a time, so memory grows only with the number of unique pre-tokens. The result does not
    depend on the order of the documents.

    Args:
        documents: Texts; they need not be valid UTF-8.
        scheme: Name of a pre-tokenization, or a mapping with its ``method`` and options.

    Raises:
        TokbenchError: there is no such pre-tokenization, its boundaries do not split the text, or the search of a
            pattern does not end.
    """
    pretokenization = pretokenization_of(scheme)
    counts_by_language = count_languages((("", text) for text in documents), pretokenization)
    return counts_by_language.get("", PretokenCounts.from_pairs([], pretokenization.text))


def count_languages(
    documents: Iterable[tuple[str, bytes]], scheme: Setting | Pretokenization
) -> dict[str, PretokenCounts]:
    """Count the pre-tokens of each language separately, as :func:`count_pretokens` does.

    Args:
        documents: Language tags (empty if unknown) and texts.
        scheme: Pre-tokenization, as in :func:`count_pretokens`.

    Returns:
        Counts by language. Documents without a language have the tag of
            :func:`tokbench.corpus.languages.tag_of_untagged`.

    Raises:
        TokbenchError: as :func:`count_pretokens`.
    """
    pretokenization = pretokenization_of(scheme)
    scanner = pretokenization.scanner
    counters: dict[str, Counter] = {}
    for number, (language, text) in enumerate(documents):
        if language not in counters:
            counters[language] = Counter(scanner)
        if scanner is None:
            counters[language].add_pretokens(*cut_by(pretokenization, text, number))
        else:
            counters[language].add(text)
    counts_by_language = {language: _counts_of(counter, pretokenization.text) for language, counter in counters.items()}
    return by_tag(counts_by_language, lambda first, second: merge_counts([first, second]))


def _counts_of(counter: Counter, scheme: str) -> PretokenCounts:
    data, offsets, counts = counter.counts()
    return PretokenCounts(data, offsets, counts, scheme)


def merge_counts(parts: Iterable[PretokenCounts | Path | str]) -> PretokenCounts:
    """Add up the counts of several parts of a text, passed as counts or as files of counts.

    Files are read one at a time. The result does not depend on the order of the parts.

    Raises:
        TokbenchError: there are no parts, one cannot be read, their pre-tokenizations differ, or the sum of the counts
            is too large.
    """
    counter = Counter()
    first: tuple[str, str | None] | None = None
    text_bytes = 0
    normalised = False
    for number, part in enumerate(parts, 1):
        counts = part if isinstance(part, PretokenCounts) else PretokenCounts.read(part)
        name = f"part {number}" if isinstance(part, PretokenCounts) else str(part)
        first = first or (name, counts.scheme)
        check_scheme(name, counts.scheme, first)
        text_bytes += counts.total_bytes if counts.text_bytes is None else counts.text_bytes
        normalised = normalised or counts.text_bytes is not None
        try:
            counter.add_pretokens(counts.data, counts.offsets, counts.counts)
        except OverflowError as error:
            raise TokbenchError(f"{name}: with the parts before it, {error}; {TOO_MUCH}") from None
    if first is None:
        raise TokbenchError(NO_COUNTS)
    data, offsets, totals = counter.counts()
    return PretokenCounts(data, offsets, totals, first[1], text_bytes=text_bytes if normalised else None)


def check_scheme(name: str, scheme: str | None, first: tuple[str, str | None]) -> None:
    """Check that a part has the pre-tokenization of the first part (name and pre-tokenization)."""
    if scheme != first[1]:
        raise TokbenchError(
            f"{name}: pre-tokens of {_quote(scheme)}, but {first[0]} has those of {_quote(first[1])}; "
            "count both with one pre-tokenization"
        )


def _quote(scheme: str | None) -> str:
    return "an unnamed pre-tokenization" if scheme is None else f"'{scheme}'"


def cut_by(scheme: Pretokenization, text: bytes, number: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Split a document with a pre-tokenization that has no kernel scanner.

    Returns:
        The document, uint8 [bytes], and its boundaries, int64 [pre-tokens + 1].

    Raises:
        TokbenchError: the boundaries do not ascend from 0 to the length of the text.
    """
    bounds = np.ascontiguousarray(scheme.boundaries(text), dtype=np.int64)
    if bounds.ndim != 1 or not len(bounds) or bounds[0] != 0 or bounds[-1] != len(text) or (np.diff(bounds) <= 0).any():
        raise TokbenchError(
            f"pre-tokenization '{scheme.label}' ({scheme.method.module}): boundaries of document {number} do not "
            f"ascend from 0 to its {len(text)} bytes; correct the pre-tokenization"
        )
    return np.frombuffer(text, np.uint8), bounds
