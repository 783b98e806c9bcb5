"""Search for prices that prove a high lower bound, and for a vocabulary close to it.

A solution of the relaxation is rounded to a vocabulary as in the ConvexTok paper. Local search then exchanges tokens
that save little for substrings that would save more.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.ascent import Ascent
from tokbench.kernels.byte_prices import BytePrices
from tokbench.kernels.relaxation import Relaxation
from tokbench.kernels.shares import Shares
from tokbench.optimum.graph import ProvenBound, SubstringGraph, price_scale, prove_bound
from tokbench.optimum.local_search import CountedVocabulary, improve, take_highest

STRIDE = 20
"""Steps between two roundings."""
SPAN = 100
"""Steps between two computations of the proven bound."""
LOWERING_STEPS = 20
"""Initial steps, of which every tenth lowers prices to the necessary values."""
TRIAL_START = 200
"""Steps after which prices of bytes are tried instead of prices of edges."""
TRIAL_STEPS = 40
"""Steps of this trial."""
MIN_CLOSED_SHARE = 0.125
"""Prices of bytes are used if their trial closes this share of the gap between bound and vocabulary. This happens with
long pre-tokens, where most edges are of substrings that are in no good vocabulary."""
CONVERGENCE = 0.0005
"""Prices have converged if a solution by shares is at most this share above the bound; no prices exceed it."""
SLOW_GAIN = 0.001
"""The search for shares starts if the bound gained less than this share of itself in :data:`SPAN` steps."""
NEAR_GAP = 1.5
"""It does not start if a vocabulary is within this multiple of the requested gap, which is then reached without it."""
MIN_GAIN = 2e-6
"""The search ends if the bound gained less than this share."""
SHARE_STEPS = 40
"""Steps of the search for shares at a time."""
LAST_ROUNDS = 4
"""Largest number of such rounds at the end."""
TRIALS = 40
"""Batches of exchanges tried at the end."""


@dataclass(frozen=True, eq=False)
class BoundResult:
    """A bound, and the best vocabulary found.

    Attributes:
        proof: the bound and its prices.
        tokens: tokens of the text with the best vocabulary and shortest paths.
        vocabulary: int64 [at most K], its tokens in addition to the 256 bytes, in descending order of price.
        relaxation: tokens of a solution of the linear relaxation, which may contain fractions of tokens, or of the
            vocabulary if it has no more. No prices prove more. The part of the gap below it is due to the search, the
            part above it to relaxation and rounding.
        shares: float64 [tokens], fraction of each token in that solution.
        steps: steps of the ascent.
    """

    proof: ProvenBound
    tokens: int
    vocabulary: NDArray[np.int64]
    relaxation: float
    shares: NDArray[np.float64]
    steps: int

    @property
    def gap(self) -> float:
        """Relative excess of the vocabulary over the bound; 0 for a text without tokens."""
        return _excess(self.tokens, self.proof.bound)

    @property
    def search_excess(self) -> float:
        """Relative excess of the relaxed solution over the bound, the most that better prices could still close."""
        return max(0.0, _excess(self.relaxation, self.proof.bound))

    @property
    def rounding_excess(self) -> float:
        """Relative excess of the vocabulary over the relaxed solution, which no prices close."""
        return _excess(self.tokens, self.relaxation)


def _excess(tokens: float, least: float) -> float:
    return tokens / least - 1 if least else 0.0


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
    ascent: Ascent = Relaxation(*_arrays(graph), len(graph.places), graph.limit, threads, LOWERING_STEPS)
    relaxation = _RelaxationSearch(graph, threads)
    best, fewest = take_highest(graph, graph.possible_savings, threads)
    done, before, result = 0, -np.inf, prove_bound(graph, ascent.potentials(), threads)
    early: Start | None = None
    while done < steps and fewest > result.bound * (1 + gap):
        stride = min(STRIDE, steps - done)
        ascent.advance(stride, float(fewest))
        done += stride
        # Long pre-tokens may need prices of bytes.
        if done == TRIAL_START and done + TRIAL_STEPS <= steps:
            further = _choose_ascent(graph, ascent, float(fewest), threads)
            if further is not ascent:
                early, ascent, done = _start(ascent), further, done + TRIAL_STEPS
        # Rounding is cheap; the proof, exchanges and shares follow only every SPAN steps or at the end.
        for scores in (ascent.token_prices(), ascent.token_usage()):
            best, fewest = min((best, fewest), take_highest(graph, scores, threads), key=_token_count)
        report(done, ascent.lower, fewest)
        if done % SPAN and fewest > ascent.lower * (1 + gap) and done < steps:
            continue
        gained = ascent.lower - before
        is_far = fewest > ascent.lower * (1 + NEAR_GAP * gap)
        result = max(result, prove_bound(graph, ascent.potentials(), threads), key=lambda proof: proof.bound)
        improvement = improve(graph, best, TRIALS // 4, threads)
        is_slow = done % SPAN == 0 and is_far and gained < SLOW_GAIN * ascent.lower
        if is_slow and improvement[0] > result.bound * (1 + gap):
            if not relaxation.has_begun:
                relaxation.begin(_start(ascent))
            candidate = relaxation.advance(SHARE_STEPS)
            if candidate[1] < fewest:
                improvement = improve(graph, candidate[0], TRIALS // 4, threads)
        fewest, best = improvement
        if relaxation.tokens <= result.bound * (1 + CONVERGENCE) or (
            done % SPAN == 0 and gained < MIN_GAIN * ascent.lower
        ):
            break
        before = ascent.lower if done % SPAN == 0 else before
    # A last search for shares, if the gap is not reached.
    is_open = done >= SPAN and fewest > result.bound * (1 + gap)
    last: list[Start | None] = [None] if relaxation.has_begun else [_start(ascent)]
    if early and not relaxation.has_begun:
        last.insert(0, early)  # Its shares are further from the bound, but round to fewer tokens.
    for start in last if shares or is_open else []:
        if start:
            relaxation.begin(start)
        for _ in range(LAST_ROUNDS):
            if relaxation.tokens <= result.bound * (1 + CONVERGENCE):
                break
            best, fewest = min((best, fewest), relaxation.advance(SHARE_STEPS), key=_token_count)
    # The last exchanges, and the tokens in order of price.
    fewest, best = improve(graph, best, TRIALS, threads)
    members = np.flatnonzero(best)
    by_price = members[np.argsort(-ascent.token_prices()[members], kind="stable")]
    final_shares = best.astype(np.float64) if relaxation.shares is None else relaxation.shares
    return BoundResult(result, fewest, by_price, min(float(fewest), relaxation.tokens), final_shares, done)


def _choose_ascent(graph: SubstringGraph, ascent: Ascent, upper: float, threads: int) -> Ascent:
    """Return the ascent to continue: prices of bytes if a trial closes enough of the gap, else the current one."""
    trial = BytePrices(*_arrays(graph), len(graph.places), graph.limit, ascent.potentials(), threads)
    trial.advance(1, upper)
    lower = trial.lower
    trial.advance(TRIAL_STEPS - 1, upper)
    return trial if trial.lower - lower >= MIN_CLOSED_SHARE * (upper - lower) else ascent


class _RelaxationSearch:
    """Best solution of the relaxation so far.

    Attributes:
        tokens: its token count; infinite before the first solution.
        shares: float64 [tokens], its shares; None before the first solution.
    """

    tokens: float
    shares: NDArray[np.float64] | None

    def __init__(self, graph: SubstringGraph, threads: int) -> None:
        self.tokens, self.shares = np.inf, None
        self._graph, self._scale, self._threads = graph, price_scale(graph), threads
        self._method: Shares | None = None

    @property
    def has_begun(self) -> bool:
        """True if there is a state to continue from."""
        return self._method is not None

    def begin(self, start: Start) -> None:
        """Start from given usage and potentials; the best solution is retained."""
        self._method = None  # frees its memory first
        self._method = Shares(*_arrays(self._graph), *start, self._graph.limit, self._threads)

    def advance(self, steps: int) -> CountedVocabulary:
        """Continue the search, and return the rounded shares."""
        assert self._method is not None
        self._method.advance(steps)
        tokens, shares = self._method.tokens_of(self._scale) / self._scale, self._method.shares()
        if tokens < self.tokens:
            self.tokens, self.shares = tokens, shares
        return take_highest(self._graph, shares, self._threads)


def _start(ascent: Ascent) -> Start:
    return ascent.token_usage(), ascent.potentials()


def _arrays(graph: SubstringGraph) -> Arrays:
    return graph.bounds, graph.counts.counts, graph.first, graph.starts, graph.tokens


def _token_count(candidate: CountedVocabulary) -> int:
    return candidate[1]
