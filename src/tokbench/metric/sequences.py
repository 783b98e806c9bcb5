"""Sequences of tokens: entropy of the token after one or two others, and the moving-average type-token ratio.

The entropy of the followers of a context is divided by the logarithm of their number. TokEval divides by the logarithm
of the context's distinct followers and weights contexts by their followers. Poelman et al. 2025 divide by the logarithm
of all distinct followers of the text and do not weight. Contexts with fewer than three followers are left out; values
depend on that threshold. Contexts do not cross documents.

The moving-average type-token ratio (Covington and McFall 2010) is the share of distinct tokens in windows of 500
successive tokens, the mean over all windows within documents.

Reference: the tests count followers and windows one by one.
"""

from math import log, log2

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.kernels.elementary import logs_of
from tokbench.kernels.exact import exact_sum
from tokbench.metric import Shown, metric
from tokbench.metric.documents import Documents
from tokbench.metric.measurement import Measurement
from tokbench.options import Options

BIT = log(2)
"""Nats of a bit."""
AT_ONCE = 1 << 22
"""Number of pairs that are merged at once."""
NAMES = {1: "bigram", 2: "trigram"}


class SequenceOptions(Options):
    least: int = Field(3, ge=1)
    """Fewest followers of a context. Default: 3, as TokEval."""

    window: int = Field(500, ge=2)
    """Tokens of a window of the moving-average type-token ratio. Default: 500."""


class FollowerCounts:
    """Counts of the tokens that follow a context of one token or two.

    A context with its follower is one number of 63 bits.

    Args:
        order: tokens of a context, 1 or 2.

    Attributes:
        bits: largest number of bits of an id: 31 after one token, 21 after two.
    """

    def __init__(self, order: int) -> None:
        self.order = order
        self.bits = 63 // (order + 1)
        self._grams = np.zeros(0, np.int64)
        self._counts = np.zeros(0, np.int64)
        self._new: list[NDArray[np.int64]] = []
        self._size = 0

    def add(self, ids: NDArray[np.int32]) -> None:
        """Count the followers in a document. Ids have at most ``bits`` bits."""
        wide = ids.astype(np.int64)
        grams = wide[: len(wide) - self.order]
        for place in range(1, self.order + 1):
            grams = grams << self.bits | wide[place : place + len(grams)]
        self._new.append(grams)
        self._size += len(grams)
        if self._size > AT_ONCE:
            self._merge()

    def _merge(self) -> None:
        grams, counts = np.unique(np.concatenate([*self._new, self._grams[:0]]), return_counts=True)
        self._new, self._size = [], 0
        if len(self._grams):
            all_grams = np.concatenate([self._grams, grams])
            order = np.argsort(all_grams, kind="stable")
            all_grams, all_counts = all_grams[order], np.concatenate([self._counts, counts])[order]
            starts = np.flatnonzero(np.append(True, all_grams[1:] != all_grams[:-1]))
            grams, counts = all_grams[starts], np.add.reduceat(all_counts, starts)
        self._grams, self._counts = grams, counts

    def entropies(self, min_followers: int) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], int]:
        """Return entropy in bits, followers and distinct followers of each context, and distinct followers of all.

        Args:
            min_followers: fewest followers of a context.
        """
        self._merge()
        if not len(self._grams):
            return np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64), 0
        contexts, counts = self._grams >> self.bits, self._counts
        starts = np.flatnonzero(np.append(True, contexts[1:] != contexts[:-1]))
        totals = np.add.reduceat(counts, starts)
        distinct = np.diff(np.append(starts, len(counts)))
        logs = np.add.reduceat(counts * logs_of(counts) / BIT, starts)
        entropies = logs_of(totals) / BIT - logs / totals
        chosen = totals >= min_followers
        followers = len(np.unique(self._grams & ((1 << self.bits) - 1)))
        return entropies[chosen], totals[chosen], distinct[chosen], followers


def weighted_entropy(
    entropies: NDArray[np.float64], totals: NDArray[np.int64], distinct: NDArray[np.int64]
) -> float | None:
    """Return the mean, weighted by followers, of entropy / log2(distinct followers of the context), 0 for one."""
    if not len(totals):
        return None
    shares = np.divide(entropies * BIT, logs_of(distinct), out=np.zeros(len(totals)), where=distinct > 1)
    return exact_sum(np.asarray(shares * totals, np.float64)) / int(totals.sum())


def unweighted_entropy(entropies: NDArray[np.float64], followers: int) -> float | None:
    """Return the mean of entropy / log2(distinct followers of the text); None for fewer than two."""
    return exact_sum(entropies) / len(entropies) / log2(followers) if len(entropies) and followers > 1 else None


def window_types(ids: NDArray[np.int32], window: int) -> tuple[int, int]:
    """Return the sum over windows of successive tokens of their distinct tokens, and the number of windows."""
    size = len(ids)
    if size < window:
        return 0, 0
    placed = np.sort(ids.astype(np.int64) << 32 | np.arange(size))
    places = placed & 0xFFFFFFFF
    # A token counts in the windows that contain its place and do not contain the place of the same token before.
    first = np.maximum(places - window + 1, 0)
    repeats = placed[1:] >> 32 == placed[:-1] >> 32
    first[1:] = np.maximum(first[1:], np.where(repeats, places[:-1] + 1, 0))
    last = np.minimum(places, size - window)
    return int(np.maximum(last - first + 1, 0).sum()), size - window + 1


@metric(
    "sequences",
    options=SequenceOptions,
    of="documents",
    cites=("poelman2025", "covington2010", "dagan2024"),
    better={"normalised_sequence_length": "lowest"},
    shown=(
        Shown("normalised_sequence_length", "compression", "NSL, over the text", "tokens / tokens of"),
        Shown("normalised_sequence_length", "compression", "NSL, mean over documents", "mean over documents of tokens"),
        Shown("normalised_sequence_length_low", "compression", "NSL, text, low", "documents: tokens"),
        Shown("normalised_sequence_length_high", "compression", "NSL, text, high", "documents: tokens"),
        Shown("normalised_sequence_length_low", "compression", "NSL, mean, low", "documents: mean"),
        Shown("normalised_sequence_length_high", "compression", "NSL, mean, high", "documents: mean"),
        Shown("bigram_entropy", "sequences", "bigram entropy (TokEval)", "weighted"),
        Shown("bigram_entropy", "sequences", "bigram entropy (Poelman et al.)", "distinct followers of the text"),
        Shown("trigram_entropy", "sequences", "trigram entropy", "weighted"),
        Shown("moving_type_token_ratio", "sequences", "moving-average types / tokens"),
    ),
)
def sequences(documents: Documents, options: SequenceOptions) -> list[Measurement]:
    """Return the entropy of followers of one token and of two, and the moving-average type-token ratio."""
    counts = {order: FollowerCounts(order) for order in NAMES}
    types = windows = 0
    # Count followers of each order, and distinct tokens in windows.
    for document in documents:
        for follower_counts in [*counts.values()]:
            if int(document.ids.max(initial=0)) >> follower_counts.bits:
                del counts[follower_counts.order]
            else:
                follower_counts.add(document.ids)
        more, number = window_types(document.ids, options.window)
        types, windows = types + more, windows + number
    rows = []
    nothing = np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64), 0
    # Entropy in both normalisations: by context (TokEval), and by text (Poelman et al. 2025).
    for order, name in NAMES.items():
        too_large = "" if order in counts else "ids of 2^21 or more cannot be counted after two tokens"
        entropies, totals, distinct, followers = nothing if too_large else counts[order].entropies(options.least)
        contexts = f"over contexts of {order} token{'s' * (order > 1)} with {options.least} followers or more"
        own = f"entropy of followers / log2(distinct followers), mean weighted by followers, {contexts}"
        of_text = f"entropy of followers / log2(distinct followers of the text), mean {contexts}"
        weighted = weighted_entropy(entropies, totals, distinct)
        rows.append(_row(f"{name}_entropy", own, weighted, len(totals), too_large))
        if order == 1:
            rows.append(_row(f"{name}_entropy", of_text, unweighted_entropy(entropies, followers), len(totals)))
    # Moving-average type-token ratio (Covington and McFall 2010).
    definition = f"mean over windows of {options.window} successive tokens of a document of distinct tokens / tokens"
    value = types / (windows * options.window) if windows else None
    reason = f"no document has {options.window} tokens"
    return [*rows, _row("moving_type_token_ratio", definition, value, windows, reason)]


def _row(name: str, definition: str, value: float | None, n: int, reason: str = "") -> Measurement:
    if value is None:
        return Measurement(name, definition, None, 0, reason or "no context has so many followers")
    return Measurement(name, definition, value, n)
