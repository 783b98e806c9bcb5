"""The bound on the tokens of a text: the search for prices, and vocabularies that come near the bound.

A solution of the relaxation is rounded to a vocabulary as in the ConvexTok paper. Local search improves it: tokens that
save little give way to substrings that would save more.
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
"""A share that counts as whole."""


def rounded(graph: SubstringGraph, shares: NDArray[np.float64], rounding: str, seed: int) -> NDArray[np.int64]:
    """The tokens that a rounding takes.

    Args:
        graph: the text.
        shares: float64 [tokens], from 0 to 1.
        rounding: ``det``, ``bias``, ``int`` or ``prob``.
        seed: of ``prob``, which draws by Gumbel's keys.

    Returns:
        int64 [at most K], the greatest first; ties go to the longer, then to the lesser bytes. Where fewer than K have
        a share, the others follow by what they could save, except by ``int``.
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
    """Tokens of the text by shortest paths under a vocabulary; bool [tokens] says which substrings it holds."""
    total: int = _exchanges(graph, chosen, False, threads)[0]
    return total


def improved(
    graph: SubstringGraph, chosen: NDArray[np.bool_], trials: int, threads: int = 1
) -> tuple[int, NDArray[np.bool_]]:
    """Exchange tokens as long as the text gets shorter by it.

    What a token saves is told by itself, and the best are exchanged for the worst, many at a time; where many change
    the same words the sum is not what was told, and fewer are tried.

    Args:
        graph: the text.
        chosen: bool [tokens], the vocabulary to begin with.
        trials: exchanges tried at most.
        threads: threads to use; they do not show.

    Returns:
        Tokens of the text, and the vocabulary that gives them.
    """
    total, worth = _exchanges(graph, chosen, True, threads)
    batch = graph.limit
    for _ in range(trials):
        least, most = _pairs(worth, chosen, batch)
        if len(least) == 0:
            break
        trial = chosen.copy()
        trial[least], trial[most] = False, True
        found, told = _exchanges(graph, trial, True, threads)
        if found < total:
            total, worth, chosen = found, told, trial
            batch = 2 * len(least)
        elif len(least) == 1:
            break
        else:
            batch = len(least) // 4 or 1
    return total, chosen


def _pairs(worth: NDArray[np.int64], chosen: NDArray[np.bool_], batch: int) -> tuple[NDArray[np.int64], ...]:
    """Tokens to leave out and tokens to take instead, at most ``batch`` pairs, the most rewarding first."""
    inside = np.flatnonzero(chosen)
    outside = np.flatnonzero(~chosen & (worth > worth[inside].min(initial=worth.max(initial=0))))
    least, most = inside[_least(worth[inside], batch)], outside[_least(-worth[outside], batch)]
    pairs = min(len(least), len(most))
    least, most = least[:pairs], most[:pairs]
    rewarding = worth[most] > worth[least]
    return least[rewarding], most[rewarding]


def _least(values: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """Places of the least values, in order; of those that are equal the first come first."""
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
"""Steps between two looks at what is proven."""
LOWERED = 20
"""Steps in which prices are lowered to what is needed, every tenth of them."""
TRIED = 200
"""Steps after which prices of bytes are tried in place of prices of edges."""
TRIAL = 40
"""Steps of the trial."""
CLOSED = 0.125
"""Prices of bytes take over where their trial closes this part of what is open between bound and vocabulary: where
pre-tokens are long, and most edges are of substrings that no vocabulary would hold."""
SETTLED = 0.0005
"""Prices have settled where a solution by shares, which no prices exceed, needs no more than this above the bound."""
SLOW = 0.001
"""Shares are looked for where the bound gained less than this part of itself in :data:`SPAN` steps."""
NEARLY = 1.5
"""They are not where a vocabulary is within so many times the gap that is asked for: that is reached without them."""
STANDING = 2e-6
"""The search ends where it gained less than this."""
SHARE_STEPS = 40
"""Steps towards shares at a time."""
LAST_SHARES = 4
"""How many times as many at the end, at most."""
TRIALS = 40
"""Exchanges that are tried at the end."""


@dataclass(frozen=True, eq=False)
class BoundResult:
    """A bound, and the best vocabulary found.

    Attributes:
        proven: the bound and its prices.
        tokens: tokens of the text by the best vocabulary and shortest paths.
        chosen: int64 [at most K], its tokens beside the 256 bytes, the dearest first.
        relaxed: tokens of a solution of the linear relaxation, in which tokens may be in the vocabulary in part, or of
            the vocabulary where that has no more. No prices prove more: what the bound lacks of it is the search's,
            what the vocabulary has above it is the relaxation's and the rounding's.
        shares: float64 [tokens], how much of each is in the vocabulary of that solution.
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
        """How far the vocabulary is above the bound, as a share of the bound; 0 for a text without tokens."""
        return _above(self.tokens, self.proven.bound)

    @property
    def unsettled(self) -> float:
        """The part of it that better prices could still close, at most: the relaxed solution above the bound."""
        return max(0.0, _above(self.relaxed, self.proven.bound))

    @property
    def unrounded(self) -> float:
        """The rest, which no prices close: the vocabulary above the relaxed solution."""
        return _above(self.tokens, self.relaxed)


def _above(tokens: float, least: float) -> float:
    return tokens / least - 1 if least else 0.0


Rounded = tuple[NDArray[np.bool_], int]
"""A vocabulary, and the tokens of the text by it."""
Start = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Usage of tokens and potentials of nodes by some prices, from which shares are looked for."""
Arrays = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]
Report = Callable[[int, float, int], None]
"""Told of steps, the bound and the tokens of the best vocabulary so far."""


def search(
    graph: SubstringGraph,
    *,
    gap: float,
    steps: int,
    shares: bool = False,
    threads: int = 1,
    report: Report = lambda *_: None,
) -> BoundResult:
    """Raise the bound and look for vocabularies until they are within ``gap``, prices have settled or steps are spent.

    Args:
        graph: the text.
        gap: share of the bound by which the vocabulary may exceed it.
        steps: most steps.
        shares: whether to look for shares where a vocabulary within ``gap`` is found without them.
        threads: threads to use; they do not show.
        report: called every :data:`STRIDE` steps.
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
        last.insert(0, early)  # Their shares are further from the bound, and round to fewer tokens.
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
    """The ascent to go on with: by prices of bytes where some steps of them close much, else the one that there is."""
    trial = BytePrices(*_arrays(graph), len(graph.places), graph.limit, ascent.potentials(), threads)
    trial.advance(1, upper)
    lower = trial.lower
    trial.advance(TRIAL - 1, upper)
    return trial if trial.lower - lower >= CLOSED * (upper - lower) else ascent


class _Relaxed:
    """The best solution of the relaxation so far.

    Attributes:
        tokens: its tokens; infinitely many before there is one.
        shares: float64 [tokens], its shares.
    """

    tokens: float
    shares: NDArray[np.float64] | None

    def __init__(self, graph: SubstringGraph, threads: int) -> None:
        self.tokens, self.shares = np.inf, None
        self._graph, self._scale, self._threads = graph, finest(graph), threads
        self._method: Shares | None = None

    @property
    def begun(self) -> bool:
        """Whether there is somewhere to go on from."""
        return self._method is not None

    def begin(self, start: Start) -> None:
        """Begin there, whatever has been found."""
        self._method = None  # Its room is wanted.
        self._method = Shares(*_arrays(self._graph), *start, self._graph.limit, self._threads)

    def solved(self, steps: int) -> Rounded:
        """Go on from where it was, and round the shares."""
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
    """The vocabulary of the highest scores, of which none is negative, ties in byte order, and its tokens."""
    chosen = np.zeros(len(scores), np.bool_)
    if len(scores) <= graph.limit:
        chosen[:] = True
    elif graph.limit:
        positive = scores[scores > 0]  # Partitions of many that are equal take long.
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
    """Bound the tokens of a text.

    Args:
        counts: its pre-tokens.
        size: tokens of the vocabulary, the 256 bytes included.
        gap: the search ends where a vocabulary exceeds the bound by this share at most.
        steps: most steps of the search.
        longest: longest token, in bytes; no limit when None.
        max_pretoken_bytes: longest pre-token; longer ones are left out. No limit when None.
        threads: threads to use; they do not show.
        report: see :func:`tokbench.optimum.bound.search`.
        keep: given what was found, prices and all.

    Returns:
        ``bound``, ``tokens`` (of the best vocabulary found), ``gap``, ``relaxed``, ``unsettled``, ``unrounded`` (see
        :class:`BoundResult`), ``candidates``, ``threshold``, ``steps``; ``left_out``, the pre-tokens
        that are longer than ``max_pretoken_bytes``: their occurrences (``pretokens``), the share of the text's bytes
        (``share``), and the count of each in hexadecimal (``counts``).

    Raises:
        TooManyPlacesError: the pre-tokens are too long to look at every substring.
        TokbenchError: the counts are too great.
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
    """Describe the pre-tokens that a bound leaves out of a text with this number of bytes."""
    share = long.total_bytes / total_bytes if total_bytes else 0.0
    return {"pretokens": long.total, "share": share, "counts": {word.hex(): count for word, count in long.items()}}


def bounded_or_why(counts: PretokenCounts, size: int, **options: Any) -> dict[str, Any]:
    """The same; where pre-tokens are too long, ``bound`` is None and ``reason`` says so."""
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
    """Bound the tokens of a text, and of each of its languages where there are several.

    Args:
        counts: the pre-tokens of the text.
        by_language: those of each of its languages.
        size: tokens of the vocabulary, the 256 bytes included.
        must: fail where pre-tokens are too long, in place of a ``reason``.
        report: as for :func:`bounded`, of the text.
        keep: likewise.
        **options: the other options of :func:`bounded`.

    Returns:
        As :func:`bounded_or_why`, with ``size``, ``longest``, ``max_pretoken_bytes`` and ``scheme``, and bounds by
        language under ``languages``.

    Raises:
        TooManyPlacesError: the pre-tokens are too long to look at every substring, and ``must`` is true.
        TokbenchError: the counts are too great.
    """
    made = bounded if must else bounded_or_why
    found = made(counts, size, **options, report=report, keep=keep)
    found |= {"size": size, "longest": options["longest"], "max_pretoken_bytes": options["max_pretoken_bytes"]}
    found["scheme"] = counts.scheme
    if len(by_language) > 1:
        found["languages"] = {language: bounded_or_why(part, size, **options) for language, part in by_language.items()}
    return found
