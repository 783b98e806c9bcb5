"""Search for a lower bound on the tokens of a text, and for vocabularies close to it.

A solution of the relaxation is rounded to a vocabulary as in the ConvexTok paper. Local search then exchanges tokens
that save little for substrings that would save more.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.ascent import Ascent
from tokbench.kernels.byte_prices import BytePrices
from tokbench.kernels.exchange import exchanges
from tokbench.kernels.relaxation import Relaxation
from tokbench.kernels.shares import Shares
from tokbench.optimum import MAX_PRETOKEN_BYTES
from tokbench.optimum.graph import Proven, SubstringGraph, TooManyPlacesError, finest, graph_of, proven
from tokbench.pretokens import PretokenCounts

WHOLE = 0.999
"""Smallest share that counts as 1."""


def rounded(graph: SubstringGraph, shares: NDArray[np.float64], rounding: str, seed: int) -> NDArray[np.int64]:
    """Round shares of tokens to a vocabulary.

    Args:
        graph: the text.
        shares: float64 [tokens], from 0 to 1.
        rounding: ``det``, ``bias``, ``int`` or ``prob``.
        seed: seed of ``prob``, which samples with Gumbel noise.

    Returns:
        int64 [at most K], in descending order of share; ties go to the longer token, then to the lesser bytes. If fewer
        than K tokens have a share, others are added by their possible savings, except with ``int``.
    """
    lengths = (graph.places[:, 1] - graph.places[:, 0]).astype(np.int64)
    positive = shares > 0
    keys = shares
    if rounding == "bias":
        keys = shares / lengths
    elif rounding == "prob":
        noise = np.random.default_rng(seed).gumbel(size=len(shares))
        keys = np.full(len(shares), -np.inf)
        keys[positive] = np.log(shares[positive]) + noise[positive]
    order = np.lexsort((-lengths, -keys, -positive.astype(np.int8)))
    if rounding == "int":
        return order[shares[order] > WHOLE][: graph.limit]
    with_share = order[: int(positive.sum())][: graph.limit]
    others = np.flatnonzero(~positive)
    others = others[np.lexsort((-lengths[others], -graph.most_saved[others]))]
    return np.concatenate([with_share, others[: graph.limit - len(with_share)]])


def tokens_of(graph: SubstringGraph, chosen: NDArray[np.bool_], threads: int = 1) -> int:
    """Count tokens of the text by shortest paths; ``chosen``, bool [tokens], marks the vocabulary."""
    total: int = _exchanges(graph, chosen, False, threads)[0]
    return total


def improved(
    graph: SubstringGraph, chosen: NDArray[np.bool_], trials: int, threads: int = 1
) -> tuple[int, NDArray[np.bool_]]:
    """Exchange tokens as long as this reduces the token count.

    Savings are computed for each token separately. The best candidates replace the worst tokens, many at a time. If
    exchanges affect the same words, savings do not add up, and smaller batches are tried.

    Args:
        graph: the text.
        chosen: bool [tokens], initial vocabulary.
        trials: largest number of batches tried.
        threads: number of threads (default: 1); results do not depend on it.

    Returns:
        Tokens of the text, and the vocabulary.
    """
    total, worth = _exchanges(graph, chosen, True, threads)
    batch = graph.limit
    for _ in range(trials):
        least, most = _pairs(worth, chosen, batch)
        if len(least) == 0:
            break
        trial = chosen.copy()
        trial[least], trial[most] = False, True
        found, savings = _exchanges(graph, trial, True, threads)
        if found < total:
            total, worth, chosen = found, savings, trial
            batch = 2 * len(least)
        elif len(least) == 1:
            break
        else:
            batch = len(least) // 4 or 1
    return total, chosen


def _pairs(worth: NDArray[np.int64], chosen: NDArray[np.bool_], batch: int) -> tuple[NDArray[np.int64], ...]:
    """Return tokens to remove and tokens to add, at most ``batch`` pairs, those with the largest gain first."""
    inside = np.flatnonzero(chosen)
    outside = np.flatnonzero(~chosen & (worth > worth[inside].min(initial=worth.max(initial=0))))
    least, most = inside[_least(worth[inside], batch)], outside[_least(-worth[outside], batch)]
    pairs = min(len(least), len(most))
    least, most = least[:pairs], most[:pairs]
    rewarding = worth[most] > worth[least]
    return least[rewarding], most[rewarding]


def _least(values: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """Return indices of the least values in ascending order; ties are in order of index."""
    places = np.arange(len(values))
    if number < len(values):
        places = np.flatnonzero(values <= np.partition(values, number)[number])
    return places[np.argsort(values[places], kind="stable")[:number]]


def _exchanges(
    graph: SubstringGraph, chosen: NDArray[np.bool_], worth: bool, threads: int
) -> tuple[int, NDArray[np.int64]]:
    arrays = graph.bounds, graph.counts.counts, graph.first, graph.starts, graph.tokens
    found: tuple[int, NDArray[np.int64]] = exchanges(*arrays, chosen.astype(np.uint8), worth, threads)
    return found


STRIDE = 20
"""Steps between two roundings."""
SPAN = 100
"""Steps between two computations of the proven bound."""
LOWERED = 20
"""Initial steps, of which every tenth lowers prices to the necessary values."""
TRIED = 200
"""Steps after which prices of bytes are tried instead of prices of edges."""
TRIAL = 40
"""Steps of this trial."""
CLOSED = 0.125
"""Prices of bytes are used if their trial closes this share of the gap between bound and vocabulary. This happens with
long pre-tokens, where most edges are of substrings that are in no good vocabulary."""
SETTLED = 0.0005
"""Prices have converged if a solution by shares is at most this share above the bound; no prices exceed it."""
SLOW = 0.001
"""The search for shares starts if the bound gained less than this share of itself in :data:`SPAN` steps."""
NEARLY = 1.5
"""It does not start if a vocabulary is within this multiple of the requested gap, which is then reached without it."""
STANDING = 2e-6
"""The search ends if the bound gained less than this share."""
SHARE_STEPS = 40
"""Steps of the search for shares at a time."""
LAST_SHARES = 4
"""Largest number of such rounds at the end."""
TRIALS = 40
"""Batches of exchanges tried at the end."""


@dataclass(frozen=True, eq=False)
class BoundResult:
    """A bound, and the best vocabulary found.

    Attributes:
        proven: the bound and its prices.
        tokens: tokens of the text with the best vocabulary and shortest paths.
        chosen: int64 [at most K], tokens of this vocabulary in addition to the 256 bytes, in descending order of price.
        relaxed: tokens of a solution of the linear relaxation, which may contain fractions of tokens, or of the
            vocabulary if it has no more. No prices prove more. The part of the gap below it is due to the search, the
            part above it to relaxation and rounding.
        shares: float64 [tokens], fraction of each token in that solution.
        steps: steps of the ascent.
    """

    proven: Proven
    tokens: int
    chosen: NDArray[np.int64]
    relaxed: float
    shares: NDArray[np.float64]
    steps: int

    @property
    def gap(self) -> float:
        """Relative excess of the vocabulary over the bound; 0 for a text without tokens."""
        return _above(self.tokens, self.proven.bound)

    @property
    def unsettled(self) -> float:
        """Relative excess of the relaxed solution over the bound, the most that better prices could still close."""
        return max(0.0, _above(self.relaxed, self.proven.bound))

    @property
    def unrounded(self) -> float:
        """Relative excess of the vocabulary over the relaxed solution, which no prices close."""
        return _above(self.tokens, self.relaxed)


def _above(tokens: float, least: float) -> float:
    return tokens / least - 1 if least else 0.0


Rounded = tuple[NDArray[np.bool_], int]
"""A vocabulary, bool [tokens], and the token count of the text."""
Start = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Usage of tokens and potentials of nodes, from which the search for shares starts."""
Arrays = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]
Report = Callable[[int, float, int], None]
"""Callback with steps, bound, and tokens of the best vocabulary so far."""


def search(
    graph: SubstringGraph,
    *,
    gap: float,
    steps: int,
    shares: bool = False,
    threads: int = 1,
    report: Report = lambda *_: None,
) -> BoundResult:
    """Raise the bound and search vocabularies until the gap is reached, prices have converged, or steps are used up.

    Args:
        graph: the text.
        gap: target for the relative excess of the vocabulary over the bound.
        steps: largest number of steps.
        shares: search shares even if a vocabulary within ``gap`` was found without them (default: False).
        threads: number of threads (default: 1); results do not depend on it.
        report: callback, called every :data:`STRIDE` steps (default: none).
    """
    ascent: Ascent = Relaxation(*_arrays(graph), len(graph.places), graph.limit, threads, LOWERED)
    relaxed = _Relaxed(graph, threads)
    best, fewest = _rounded(graph, graph.most_saved, threads)
    done, before, result = 0, -np.inf, proven(graph, ascent.potentials(), threads)
    early: Start | None = None
    while done < steps and fewest > result.bound * (1 + gap):
        stride = min(STRIDE, steps - done)
        ascent.advance(stride, float(fewest))
        done += stride
        if done == TRIED and done + TRIAL <= steps:
            further = _tried(graph, ascent, float(fewest), threads)
            if further is not ascent:
                early, ascent, done = _start(ascent), further, done + TRIAL
        for scores in (ascent.token_prices(), ascent.token_usage()):
            best, fewest = min((best, fewest), _rounded(graph, scores, threads), key=_tokens)
        report(done, ascent.lower, fewest)
        if done % SPAN and fewest > ascent.lower * (1 + gap) and done < steps:
            continue
        gained = ascent.lower - before
        far = fewest > ascent.lower * (1 + NEARLY * gap)
        result = max(result, proven(graph, ascent.potentials(), threads), key=lambda one: one.bound)
        exchanged = improved(graph, best, TRIALS // 4, threads)
        wanted = done % SPAN == 0 and far and gained < SLOW * ascent.lower
        if wanted and exchanged[0] > result.bound * (1 + gap):
            if not relaxed.begun:
                relaxed.begin(_start(ascent))
            rounded = relaxed.solved(SHARE_STEPS)
            if rounded[1] < fewest:
                exchanged = improved(graph, rounded[0], TRIALS // 4, threads)
        fewest, best = exchanged
        if relaxed.tokens <= result.bound * (1 + SETTLED) or (done % SPAN == 0 and gained < STANDING * ascent.lower):
            break
        before = ascent.lower if done % SPAN == 0 else before
    open_still = done >= SPAN and fewest > result.bound * (1 + gap)
    last: list[Start | None] = [None] if relaxed.begun else [_start(ascent)]
    if early and not relaxed.begun:
        last.insert(0, early)  # Its shares are further from the bound, but round to fewer tokens.
    for start in last if shares or open_still else []:
        if start:
            relaxed.begin(start)
        for _ in range(LAST_SHARES):
            if relaxed.tokens <= result.bound * (1 + SETTLED):
                break
            best, fewest = min((best, fewest), relaxed.solved(SHARE_STEPS), key=_tokens)
    fewest, best = improved(graph, best, TRIALS, threads)
    tokens_held = np.flatnonzero(best)
    dearest = tokens_held[np.argsort(-ascent.token_prices()[tokens_held], kind="stable")]
    taken = best.astype(np.float64) if relaxed.shares is None else relaxed.shares
    return BoundResult(result, fewest, dearest, min(float(fewest), relaxed.tokens), taken, done)


def _tried(graph: SubstringGraph, ascent: Ascent, upper: float, threads: int) -> Ascent:
    """Return the ascent to continue: prices of bytes if a trial closes enough of the gap, else the current one."""
    trial = BytePrices(*_arrays(graph), len(graph.places), graph.limit, ascent.potentials(), threads)
    trial.advance(1, upper)
    lower = trial.lower
    trial.advance(TRIAL - 1, upper)
    return trial if trial.lower - lower >= CLOSED * (upper - lower) else ascent


class _Relaxed:
    """Best solution of the relaxation so far.

    Attributes:
        tokens: its token count; infinite before the first solution.
        shares: float64 [tokens], its shares; None before the first solution.
    """

    tokens: float
    shares: NDArray[np.float64] | None

    def __init__(self, graph: SubstringGraph, threads: int) -> None:
        self.tokens, self.shares = np.inf, None
        self._graph, self._scale, self._threads = graph, finest(graph), threads
        self._method: Shares | None = None

    @property
    def begun(self) -> bool:
        """True if there is a state to continue from."""
        return self._method is not None

    def begin(self, start: Start) -> None:
        """Start from given usage and potentials; the best solution is retained."""
        self._method = None  # frees its memory first
        self._method = Shares(*_arrays(self._graph), *start, self._graph.limit, self._threads)

    def solved(self, steps: int) -> Rounded:
        """Continue the search, and return the rounded shares."""
        assert self._method is not None
        self._method.advance(steps)
        tokens, shares = self._method.tokens_of(self._scale) / self._scale, self._method.shares()
        if tokens < self.tokens:
            self.tokens, self.shares = tokens, shares
        return _rounded(self._graph, shares, self._threads)


def _start(ascent: Ascent) -> Start:
    return ascent.token_usage(), ascent.potentials()


def _arrays(graph: SubstringGraph) -> Arrays:
    return graph.bounds, graph.counts.counts, graph.first, graph.starts, graph.tokens


def _tokens(rounded: Rounded) -> int:
    return rounded[1]


def _rounded(graph: SubstringGraph, scores: NDArray[np.float64], threads: int) -> Rounded:
    """Return the vocabulary of the highest scores (none is negative; ties in byte order) and its token count."""
    chosen = np.zeros(len(scores), np.bool_)
    if len(scores) <= graph.limit:
        chosen[:] = True
    elif graph.limit:
        positive = scores[scores > 0]  # np.partition is slow with many equal values
        least = np.partition(positive, -graph.limit)[-graph.limit] if len(positive) >= graph.limit else 0.0
        chosen[scores > least] = True
        chosen[np.flatnonzero(scores == least)[: graph.limit - int(chosen.sum())]] = True
    return chosen, tokens_of(graph, chosen, threads)


def bounded(
    counts: PretokenCounts,
    size: int,
    *,
    gap: float,
    steps: int,
    longest: int | None = None,
    max_pretoken_bytes: int | None = MAX_PRETOKEN_BYTES,
    threads: int = 1,
    report: Report = lambda *_: None,
    keep: Callable[[BoundResult], None] = lambda _: None,
) -> dict[str, Any]:
    """Compute a lower bound on the tokens of a text.

    Args:
        counts: pre-tokens of the text.
        size: tokens of the vocabulary, including the 256 bytes.
        gap: the search ends if a vocabulary exceeds the bound by at most this share.
        steps: largest number of steps of the search.
        longest: longest token, in bytes (default: None, no limit).
        max_pretoken_bytes: longest pre-token, in bytes (default: 256); longer ones are left out. None for no limit.
        threads: number of threads (default: 1); results do not depend on it.
        report: callback, see :func:`search` (default: none).
        keep: callback with the full result, including prices (default: none).

    Returns:
        ``bound``, ``tokens`` (of the best vocabulary found), ``gap``, ``relaxed``, ``unsettled``, ``unrounded`` (see
        :class:`BoundResult`), ``candidates``, ``threshold``, ``steps``. ``left_out`` describes pre-tokens longer than
        ``max_pretoken_bytes``: their occurrences (``pretokens``), their share of the text's bytes (``share``), and the
        count of each by its bytes in hexadecimal (``counts``).

    Raises:
        TooManyPlacesError: the pre-tokens are too long to enumerate their substrings.
        TokbenchError: the counts are too large.
    """
    kept, long = counts.split_by_length(max_pretoken_bytes)
    graph = graph_of(kept, size, longest, threads)
    found = search(graph, gap=gap, steps=steps, threads=threads, report=report)
    keep(found)
    return {
        "bound": found.proven.bound,
        "tokens": found.tokens,
        "gap": found.gap,
        "relaxed": found.relaxed,
        "unsettled": found.unsettled,
        "unrounded": found.unrounded,
        "candidates": graph.candidates,
        "threshold": found.proven.threshold,
        "steps": found.steps,
        "left_out": left_out(long, counts.total_bytes),
    }


def left_out(long: PretokenCounts, total_bytes: int) -> dict[str, Any]:
    """Describe the pre-tokens that a bound leaves out of a text with ``total_bytes`` bytes."""
    share = long.total_bytes / total_bytes if total_bytes else 0.0
    return {"pretokens": long.total, "share": share, "counts": {word.hex(): count for word, count in long.items()}}


def line_of_left_out(number: int, share: float, longest: int) -> str:
    """Return a line about pre-tokens that are left out: their number, share of the text, and the limit in bytes."""
    return f"{number:,} pre-tokens of more than {longest:,} bytes are left out, {share:.2%} of the text"


def bounded_or_why(counts: PretokenCounts, size: int, **options: Any) -> dict[str, Any]:
    """Return the result of :func:`bounded`, or ``bound`` None with a ``reason`` if pre-tokens are too long."""
    try:
        return bounded(counts, size, **options)
    except TooManyPlacesError as error:
        return {"bound": None, "reason": str(error)}


def bound_text(
    counts: PretokenCounts,
    by_language: Mapping[str, PretokenCounts],
    size: int,
    *,
    must: bool = False,
    report: Report = lambda *_: None,
    keep: Callable[[BoundResult], None] = lambda _: None,
    **options: Any,
) -> dict[str, Any]:
    """Compute bounds on the tokens of a text, and of each of its languages if there are several.

    Args:
        counts: pre-tokens of the text.
        by_language: pre-tokens of each of its languages.
        size: tokens of the vocabulary, including the 256 bytes.
        must: raise an error if pre-tokens are too long, instead of returning a ``reason`` (default: False).
        report: see :func:`bounded`; called only for the full text.
        keep: see :func:`bounded`; called only for the full text.
        **options: the other options of :func:`bounded`.

    Returns:
        The items of :func:`bounded_or_why` with ``size``, ``longest``, ``max_pretoken_bytes`` and ``scheme``, and
        bounds by language as ``languages``.

    Raises:
        TooManyPlacesError: the pre-tokens are too long to enumerate their substrings, and ``must`` is True.
        TokbenchError: the counts are too large.
    """
    made = bounded if must else bounded_or_why
    found = made(counts, size, **options, report=report, keep=keep)
    found |= {"size": size, "longest": options["longest"], "max_pretoken_bytes": options["max_pretoken_bytes"]}
    found["scheme"] = counts.scheme
    if len(by_language) > 1:
        found["languages"] = {language: bounded_or_why(part, size, **options) for language, part in by_language.items()}
    return found
