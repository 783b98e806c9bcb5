"""ByteSpan: spans of bytes that a byte language model finds predictable.

Method of "ByteSpan: Information-Driven Subword Tokenisation", section 2.2. Algorithm 1 as printed does not advance past
a byte whose signal does not fall, and neighbouring segments share a byte. The spans here follow the text and figure 1:
the unpredictable byte comes first, then the bytes with falling signal. Under the global constraint a span contains only
predictable bytes.

Reference: :mod:`tokbench.reference.bytespan`.
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
from tokbench.construction.bpe_wp import ALPHABET, Form, check_size, continue_merges, vocabulary_of
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
"""Number of values of 16 bits."""
Values = Callable[[], Iterable[NDArray[np.float32]]]
"""Function that returns the values in chunks, from the start on each call. All values are finite."""


def percentile(parts: Sequence[Values], percent: float, threads: int = 1) -> float:
    """Return an exact percentile of any number of float32 values, in two or three passes.

    Percentiles between two values are interpolated linearly in double precision. The result is minus infinity if there
    are no values. Each pass resolves sixteen bits of the order-preserving integer form and needs half a megabyte per
    thread.

    Args:
        parts: sources of the values.
        percent: 0 to 100.
        threads: number of threads that read parts. The result does not depend on it.
    """

    def tally_parts(count: Callable[[NDArray[np.float32], NDArray[np.int64]], None]) -> NDArray[np.int64]:
        def of(part: Values) -> NDArray[np.int64]:
            occurrences = np.zeros(HALF, np.int64)
            for values in part():
                count(values, occurrences)
            return occurrences

        total = np.zeros(HALF, np.int64)
        for occurrences in parallel_map(of, parts, threads):
            total += occurrences
        return total

    # The upper halves give the bin of each rank, a second pass the lower half.
    coarse = tally_parts(tally_high)
    total = int(coarse.sum())
    if not total:
        return -np.inf
    place = percent / 100 * (total - 1)
    ranks = int(place), min(int(place) + 1, total - 1)
    below = np.concatenate(([0], np.cumsum(coarse)))
    bins = [int(np.searchsorted(below, rank, side="right")) - 1 for rank in ranks]
    fine = {top: tally_parts(partial(tally_low, top)) for top in bins}
    lower, upper = (
        _value(top << 16 | int(np.searchsorted(np.cumsum(fine[top]), rank - below[top], side="right")))
        for top, rank in zip(bins, ranks, strict=True)
    )
    return lower + (upper - lower) * (place - int(place))


def ordered_bits(values: NDArray[np.float32]) -> NDArray[np.uint32]:
    """Return integers in the order of the floats: the sign bit is flipped, or all bits of a negative number."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return bits ^ np.where(bits >> 31, np.uint32(0xFFFFFFFF), np.uint32(0x80000000))


def _value(ordered: int) -> float:
    bits = ordered ^ (0x80000000 if ordered >> 31 else 0xFFFFFFFF)
    return float(np.array([bits], np.uint32).view(np.float32)[0])


class ByteSpanOptions(Options):
    signal: SignalName = "surprisal"
    """Signal of the byte language model for each byte."""
    constraint: Literal["combined", "monotonic", "global"] = "combined"
    """Bytes that are grouped: those whose signal falls (monotonic), those with a low signal (global), or both
    (combined, the default)."""
    threshold_percentile: float = Field(30.0, ge=0, le=100)
    """For the combined and global constraints: a signal is low below this percentile of all values."""
    monotonic_threshold: float = Field(0.0, allow_inf_nan=False)
    """A signal falls if its change from the previous byte is below this value, in nats. Nonzero values give the
    approximate monotonic constraint."""
    learning: Literal["frequency", "incremental", "seeding"] = "frequency"
    """How the vocabulary is filled: with the most frequent spans (``frequency``, the default), by a rising global
    threshold (``incremental``), or with spans and then BPE merges (``seeding``)."""
    seeding_share: float = Field(0.5, ge=0, le=1)
    """For seeding: share of the vocabulary, including the base vocabulary, that is filled before BPE starts."""
    min_pair_count: int = Field(20, ge=0)
    """For seeding: smallest count of a pair that is merged."""
    min_span_count: int = Field(20, ge=1)
    """For incremental learning: smallest count of a segment that becomes a token."""
    activations: int = Field(1000, ge=1)
    """For incremental learning: number of bytes activated between two checks of the vocabulary's size."""
    balance_languages: bool = False
    """True if the languages of the corpus add one span each in turn. Default: False, the most frequent spans of all
    languages together."""

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
    """Extend the base vocabulary of 768 tokens by spans: count descending, then bytes, then starts of pre-tokens first.

    Seeding with share p adds int(p size) - 768 spans, or none if that is negative. The rest are BPE merges on
    pre-tokens split by those spans. ``continuation`` is True for forms inside a pre-token. Fewer than ``size`` tokens
    are returned if the documents do not contain enough spans. ``seed`` is not used. The result does not depend on
    ``threads``.

    Raises:
        TokbenchError: ``size`` is below 768, the scores are unreadable, or they are not one per byte.
    """
    check_size(size)
    if options.learning == "incremental":
        return vocabulary_of(incremental(scores, size, options))
    if options.learning == "frequency":
        return vocabulary_of(most_frequent(scores, size, options, threads))
    seeds = most_frequent(scores, max(int(options.seeding_share * size), len(ALPHABET)), options, threads)
    counts = count_pretokens((item.text for item in scores.documents(options.signal)), scores.scheme)
    return vocabulary_of(continue_merges(counts, seeds, size, options.min_pair_count))


def most_frequent(scores: "ScoredDocuments", size: int, options: ByteSpanOptions, threads: int = 1) -> list[Form]:
    """Return the base vocabulary and the most frequent spans, of all documents together or of each language in turn."""
    boundaries = pretokenization_of(scores.scheme).boundaries
    threshold = -np.inf
    parts = scores.parts()
    if options.constraint != "monotonic":
        values = [partial(part.signals, options.signal) for part in parts]
        threshold = percentile(values, options.threshold_percentile, threads)
    free: deque[dict[str, SpanCounter]] = deque({} for _ in range(threads))  # One entry per thread that counts.

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
    return [*ALPHABET, *interleave(lists)][:size]


def interleave(lists: list[list[Form]]) -> Iterator[Form]:
    """Yield in rounds the next form of each list that is new and not in the base vocabulary."""
    present = set(ALPHABET)

    def fresh(forms: list[Form]) -> Iterator[Form]:
        for form in forms:
            if form not in present:
                present.add(form)
                yield form

    for forms_of_rank in zip_longest(*map(fresh, lists)):
        yield from (form for form in forms_of_rank if form is not None)


def incremental(scores: "ScoredDocuments", size: int, options: ByteSpanOptions) -> list[Form]:
    """Raise the threshold until the frequent segments below it fill the vocabulary.

    Bytes become active in ascending order of their signal, ties in text order. A segment is a run of active bytes
    inside a pre-token. Longer segments absorb shorter ones, so a larger vocabulary need not contain a smaller one. If
    it never fills up, the vocabulary contains the segments that are frequent once all bytes are active: the frequent
    pre-tokens.

    The text is in memory, with about 40 bytes of working space per byte.
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
    commonest = segments.commonest(size - len(ALPHABET))
    return [*ALPHABET, *((text, inside) for text, inside, _ in commonest)]
