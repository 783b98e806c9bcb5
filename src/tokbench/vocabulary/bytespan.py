"""ByteSpan: the most frequent spans of bytes that a byte language model finds predictable.

"ByteSpan: Information-Driven Subword Tokenisation", section 2.2, the frequency method. Algorithm 1 as printed does not
advance past a byte that does not fall and lets neighbouring segments share a byte; the spans here follow the text and
figure 1: the unpredictable byte comes first, the falling ones after it.
"""

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.kernels.bytespan import SpanCounter, find_spans
from tokbench.pretokenization import schemes
from tokbench.registry import Options, TokbenchError
from tokbench.tokens import BYTES, Vocabulary
from tokbench.vocabulary import construction
from tokbench.vocabulary.scores import ScoredDocuments, SignalName

ALPHABET: tuple[tuple[bytes, bool], ...] = (
    *((byte, False) for byte in BYTES),
    *((byte, True) for byte in BYTES),
    *((b" " + byte, False) for byte in BYTES),
)
"""The base vocabulary, (bytes, inside a pre-token): each byte plain, as continuation, and after a word's space."""


class ByteSpanOptions(Options):
    signal: SignalName = "surprisal"
    """What the byte language model says of each byte."""
    constraint: Literal["combined", "monotonic"] = "combined"
    """Which bytes are grouped: those whose signal falls, or (combined) those with a low signal as well."""
    threshold_percentile: float = Field(30.0, ge=0, le=100)
    """For the combined constraint: the percentile of all values of the signal below which a signal is low."""
    monotonic_threshold: float = Field(0.0, allow_inf_nan=False)
    """A signal falls where its change from the byte before is below this, in nats; not 0: approximate monotonic."""
    method: Literal["frequency"] = "frequency"
    """How the vocabulary is filled: with the most frequent spans."""


@construction(
    "bytespan", options=ByteSpanOptions, segmentation="longest_prefix", source="scores", alphabet=len(ALPHABET)
)
def build(
    scores: ScoredDocuments, size: int, options: ByteSpanOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """The base vocabulary of 768, then spans by (count descending, bytes, those that start a pre-token first).

    ``continuation`` is True for the forms that stand inside a pre-token. Fewer than ``size`` tokens come back when the
    documents do not hold enough different spans. One pass of little work for each byte: ``threads`` is not used.

    Raises:
        TokbenchError: ``size`` is below 768, or the scores are unreadable or not one for each byte.
    """
    if size < len(ALPHABET):
        raise TokbenchError(f"vocabulary size {size} is below ByteSpan's base vocabulary; ask for 768 or more")
    boundaries = schemes[scores.scheme].function
    threshold = -np.inf
    if options.constraint == "combined":
        threshold = percentile(lambda: scores.signals(options.signal), options.threshold_percentile)
    counter = SpanCounter()
    for item in scores.documents(options.signal):
        bounds = boundaries(item.text)
        counter.add(item.text, find_spans(item.text, item.signal, bounds, threshold, options.monotonic_threshold))
    known = set(ALPHABET)
    commonest = ((text, inside) for text, inside, _ in counter.commonest(size))
    forms = [*ALPHABET, *(form for form in commonest if form not in known)][:size]
    return Vocabulary(
        tuple(text for text, _ in forms), continuation=np.array([inside for _, inside in forms], np.bool_)
    )


def percentile(passes: Callable[[], Iterable[NDArray[np.float32]]], percent: float) -> float:
    """An exact percentile of float32 values of any number, in two passes and half a megabyte.

    Where it falls between two values it is interpolated linearly, in double precision; with no values it is minus
    infinity. Sixteen bits of the order-preserving integer form are resolved in each pass.

    Args:
        passes: gives the values, some at a time, each time it is called; all finite.
        percent: 0 to 100.
    """
    coarse = np.zeros(1 << 16, np.int64)
    for values in passes():
        coarse += np.bincount(_ordered(values) >> 16, minlength=1 << 16)
    total = int(coarse.sum())
    if not total:
        return -np.inf
    place = percent / 100 * (total - 1)
    ranks = int(place), min(int(place) + 1, total - 1)
    below = np.concatenate(([0], np.cumsum(coarse)))
    bins = [int(np.searchsorted(below, rank, side="right")) - 1 for rank in ranks]
    fine = {top: np.zeros(1 << 16, np.int64) for top in bins}
    for values in passes():
        ordered = _ordered(values)
        for top, tally in fine.items():
            tally += np.bincount(ordered[ordered >> 16 == top] & 0xFFFF, minlength=1 << 16)
    lower, upper = (
        _value(top << 16 | int(np.searchsorted(np.cumsum(fine[top]), rank - below[top], side="right")))
        for top, rank in zip(bins, ranks, strict=True)
    )
    return lower + (upper - lower) * (place - int(place))


def _ordered(values: NDArray[np.float32]) -> NDArray[np.uint32]:
    """Integers in the order of the floats: the sign bit flipped, or every bit of a negative number."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return bits ^ np.where(bits >> 31, np.uint32(0xFFFFFFFF), np.uint32(0x80000000))


def _value(ordered: int) -> float:
    bits = ordered ^ (0x80000000 if ordered >> 31 else 0xFFFFFFFF)
    return float(np.array([bits], np.uint32).view(np.float32)[0])
