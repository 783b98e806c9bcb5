"""ByteSpan: the spans of bytes that a byte language model finds predictable.

"ByteSpan: Information-Driven Subword Tokenisation", section 2.2. Algorithm 1 as printed does not advance past a byte
that does not fall and lets neighbouring segments share a byte; the spans here follow the text and figure 1: the
unpredictable byte comes first, the falling ones after it. Under the global constraint a span is the predictable bytes
alone.

Reference: :mod:`tokbench.reference.bytespan`.

An exact percentile of more numbers than memory holds.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from tokbench.candidates import SignalName
from tokbench.construction import construction
from tokbench.construction.bpe_wp import ALPHABET, Form, check_size, merged, vocabulary_of
from tokbench.kernels.bytespan import Segments, SpanCounter
from tokbench.kernels.tally import tally_high, tally_low
from tokbench.kernels.threads import parallel_for, parallel_map
from tokbench.options import Options
from tokbench.pretokenization import pretokenization_of
from tokbench.pretokens.count import count_pretokens
from tokbench.vocabulary import Vocabulary

if TYPE_CHECKING:
    from tokbench.candidates.scored_text import ScoredDocuments


HALF = 1 << 16
"""How many numbers half of the bits can spell."""
Values = Callable[[], Iterable[NDArray[np.float32]]]
"""Gives values, some at a time, each time it is called; all finite."""


def percentile(parts: Sequence[Values], percent: float, threads: int = 1) -> float:
    """An exact percentile of float32 values of any number, in two or three passes and half a megabyte a thread.

    Where it falls between two values it is interpolated linearly, in double precision; with no values it is minus
    infinity. Sixteen bits of the order-preserving integer form are resolved in each pass.

    Args:
        parts: give the values.
        percent: 0 to 100.
        threads: threads that go through parts; they do not show.
    """

    def tallied(count: Callable[[NDArray[np.float32], NDArray[np.int64]], None]) -> NDArray[np.int64]:
        def of(part: Values) -> NDArray[np.int64]:
            found = np.zeros(HALF, np.int64)
            for values in part():
                count(values, found)
            return found

        total = np.zeros(HALF, np.int64)
        for found in parallel_map(of, parts, threads):
            total += found
        return total

    coarse = tallied(tally_high)
    total = int(coarse.sum())
    if not total:
        return -np.inf
    place = percent / 100 * (total - 1)
    ranks = int(place), min(int(place) + 1, total - 1)
    below = np.concatenate(([0], np.cumsum(coarse)))
    bins = [int(np.searchsorted(below, rank, side="right")) - 1 for rank in ranks]
    fine = {top: tallied(partial(tally_low, top)) for top in bins}
    lower, upper = (
        _value(top << 16 | int(np.searchsorted(np.cumsum(fine[top]), rank - below[top], side="right")))
        for top, rank in zip(bins, ranks, strict=True)
    )
    return lower + (upper - lower) * (place - int(place))


def ordered_bits(values: NDArray[np.float32]) -> NDArray[np.uint32]:
    """Integers in the order of the floats: the sign bit flipped, or every bit of a negative number."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return bits ^ np.where(bits >> 31, np.uint32(0xFFFFFFFF), np.uint32(0x80000000))


def _value(ordered: int) -> float:
    bits = ordered ^ (0x80000000 if ordered >> 31 else 0xFFFFFFFF)
    return float(np.array([bits], np.uint32).view(np.float32)[0])


class ByteSpanOptions(Options):
    signal: SignalName = "surprisal"
    """What the byte language model says of each byte."""
    constraint: Literal["combined", "monotonic", "global"] = "combined"
    """Which bytes are grouped: those whose signal falls, those with a low signal (global), or both (combined)."""
    threshold_percentile: float = Field(30.0, ge=0, le=100)
    """For the combined and global constraints: the percentile of all values of the signal below which it is low."""
    monotonic_threshold: float = Field(0.0, allow_inf_nan=False)
    """A signal falls where its change from the byte before is below this, in nats; not 0: approximate monotonic."""
    learning: Literal["frequency", "incremental", "seeding"] = "frequency"
    """How the vocabulary is filled: the most frequent spans, a rising global threshold, or spans and then BPE."""
    seeding_share: float = Field(0.5, ge=0, le=1)
    """For seeding: the share of the vocabulary, base vocabulary included, filled with spans before BPE goes on."""
    min_pair_count: int = Field(20, ge=0)
    """For seeding: pairs seen less often than this are not merged."""
    min_span_count: int = Field(20, ge=1)
    """For incremental learning: segments seen less often than this are no tokens."""
    activations: int = Field(1000, ge=1)
    """For incremental learning: bytes by which the threshold rises between two looks at the vocabulary."""
    balance_languages: bool = False
    """Whether each language of the corpus gives one span in turn, rather than all together the most frequent ones."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.learning == "incremental" and self.constraint != "global":
            raise ValueError("incremental learning raises a global threshold; set constraint to global")
        if self.learning == "incremental" and self.balance_languages:
            raise ValueError("incremental learning cannot balance languages; use frequency or seeding")
        return self


@construction(
    "bytespan",
    options=ByteSpanOptions,
    segmentation="longest_prefix",
    source="scores",
    alphabet=len(ALPHABET),
    continuation=True,
    cites=("goriely2025",),
)
def build(
    scores: "ScoredDocuments", size: int, options: ByteSpanOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """The base vocabulary of 768, then spans by (count descending, bytes, those that start a pre-token first).

    Seeding with share p takes int(p size) - 768 spans, none where that is negative; the rest are merges of BPE on
    pre-tokens cut by them. ``continuation`` is True for the forms that stand inside a pre-token. Fewer than ``size``
    tokens come back when the documents do not hold enough. ``seed`` is not used; ``threads`` count spans side by side,
    which does not show.

    Raises:
        TokbenchError: ``size`` is below 768, or the scores are unreadable or not one for each byte.
    """
    check_size(size)
    if options.learning == "incremental":
        return vocabulary_of(incremental(scores, size, options))
    if options.learning == "frequency":
        return vocabulary_of(most_frequent(scores, size, options, threads))
    seeds = most_frequent(scores, max(int(options.seeding_share * size), len(ALPHABET)), options, threads)
    counts = count_pretokens((item.text for item in scores.documents(options.signal)), scores.scheme)
    return vocabulary_of(merged(counts, seeds, size, options.min_pair_count))


def most_frequent(scores: "ScoredDocuments", size: int, options: ByteSpanOptions, threads: int = 1) -> list[Form]:
    """The base vocabulary and the most frequent spans, of all documents together or of each language in turn."""
    boundaries = pretokenization_of(scores.scheme).boundaries
    threshold = -np.inf
    parts = scores.parts()
    if options.constraint != "monotonic":
        values = [partial(part.signals, options.signal) for part in parts]
        threshold = percentile(values, options.threshold_percentile, threads)
    free: deque[dict[str, SpanCounter]] = deque({} for _ in range(threads))  # What one thread counts at a time.

    def count(part: "ScoredDocuments") -> None:
        counters = free.pop()
        for item in part.documents(options.signal):
            language = item.language if options.balance_languages else ""
            counters.setdefault(language, SpanCounter()).add(
                item.text,
                item.signal,
                boundaries(item.text),
                threshold,
                options.monotonic_threshold,
                options.constraint != "global",
            )
        free.append(counters)

    parallel_for(count, parts, threads)
    counters = free.pop()
    for others in free:
        for language, counter in others.items():
            counters.setdefault(language, SpanCounter()).absorb(counter)
    lists = [
        [(text, inside) for text, inside, _ in counters[language].commonest(size)] for language in sorted(counters)
    ]
    return [*ALPHABET, *interleaved(lists)][:size]


def interleaved(lists: list[list[Form]]) -> Iterator[Form]:
    """Round after round the next form of each list that is new and not in the base vocabulary."""
    known = set(ALPHABET)

    def fresh(forms: list[Form]) -> Iterator[Form]:
        for form in forms:
            if form not in known:
                known.add(form)
                yield form

    for taken in zip_longest(*map(fresh, lists)):
        yield from (form for form in taken if form is not None)


def incremental(scores: "ScoredDocuments", size: int, options: ByteSpanOptions) -> list[Form]:
    """Raise the threshold until the segments below it that are frequent fill the vocabulary.

    Bytes become active in ascending order of their signal, equal ones in the order of the text; a segment is a run of
    active bytes inside a pre-token. Longer segments swallow shorter ones, so a larger vocabulary need not hold a
    smaller one. Where it is never full, it has what is frequent when all bytes are active: the frequent pre-tokens.

    The text is held in memory with about 40 bytes of working space for each byte.
    """
    boundaries = pretokenization_of(scores.scheme).boundaries
    texts, signals, starts = [], [], []
    for item in scores.documents(options.signal):
        first = np.zeros(len(item.text), np.uint8)
        first[boundaries(item.text)[:-1]] = 1
        texts.append(item.text)
        signals.append(item.signal)
        starts.append(first)
    if not texts:
        return list(ALPHABET)
    ordered = ordered_bits(np.concatenate(signals))
    by_low_half = np.argsort((ordered & 0xFFFF).astype(np.uint16), kind="stable")
    order = by_low_half[np.argsort((ordered >> 16).astype(np.uint16)[by_low_half], kind="stable")]
    segments = Segments(b"".join(texts), np.concatenate(starts), options.min_span_count)
    for start in range(0, len(order), options.activations):
        segments.activate(order[start : start + options.activations])
        if len(ALPHABET) + segments.frequent >= size:
            break
    found = segments.commonest(size - len(ALPHABET))
    return [*ALPHABET, *((text, inside) for text, inside, _ in found)]
