"""The search for prices and for the vocabulary that they lead to, closing in on each other."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.relaxation import Relaxation
from tokbench.optimum.exchange import improved, tokens_of
from tokbench.optimum.graph import Graph
from tokbench.optimum.prices import Proven, proven

STRIDE = 20
"""Steps between two roundings."""
SPAN = 100
"""Steps between two looks at what is proven."""
LOWERED = 20
"""Steps in which prices are lowered to what is needed, every tenth of them."""
SETTLED = 2e-6
"""The bound has settled where it gains less than this share of itself in :data:`SPAN` steps."""
TRIALS = 40
"""Exchanges that are tried at the end."""


@dataclass(frozen=True, eq=False)
class Found:
    """A bound, and the best vocabulary found.

    Attributes:
        proven: the bound and its prices.
        tokens: tokens of the text by the best vocabulary and shortest paths.
        chosen: int64 [at most K], its tokens beside the 256 bytes, the dearest first.
        shares: float64 [tokens], how often each was let in of late.
        steps: steps of the ascent.
    """

    proven: Proven
    tokens: int
    chosen: NDArray[np.int64]
    shares: NDArray[np.float64]
    steps: int

    @property
    def gap(self) -> float:
        """How far the vocabulary is above the bound, as a share of the bound; 0 for a text without tokens."""
        return self.tokens / self.proven.bound - 1 if self.proven.bound else 0.0


Report = Callable[[int, float, int], None]
"""Told of steps, the bound and the tokens of the best vocabulary so far."""


def search(graph: Graph, *, gap: float, steps: int, report: Report = lambda *_: None) -> Found:
    """Raise the bound and look for vocabularies until they are within ``gap``, the bound settles or steps are spent.

    Args:
        graph: the text.
        gap: share of the bound by which the vocabulary may exceed it.
        steps: most steps.
        report: called every :data:`STRIDE` steps.
    """
    ascent = Relaxation(
        graph.bounds, graph.counts.counts, graph.first, graph.starts, graph.tokens, len(graph.places), graph.limit
    )
    best, fewest = _rounded(graph, graph.most_saved)
    done, settled, result = 0, -np.inf, proven(graph, ascent.potentials())
    while done < steps and fewest > result.bound * (1 + gap):
        stride = min(STRIDE, steps - done)
        ascent.advance(stride, float(fewest), LOWERED)
        done += stride
        for scores in (ascent.token_prices(), ascent.token_usage()):
            chosen, tokens = _rounded(graph, scores)
            if tokens < fewest:
                best, fewest = chosen, tokens
        report(done, ascent.lower, fewest)
        if done % SPAN and fewest > ascent.lower * (1 + gap) and done < steps:
            continue
        if done % SPAN == 0 or done == steps:
            fewest, best = improved(graph, best, TRIALS if done >= steps else TRIALS // 4)
        result = max(result, proven(graph, ascent.potentials()), key=lambda one: one.bound)
        if done % SPAN == 0 and result.bound - settled < SETTLED * result.bound:
            break
        settled = result.bound if done % SPAN == 0 else settled
    fewest, best = improved(graph, best, TRIALS)
    tokens_held = np.flatnonzero(best)
    dearest = tokens_held[np.argsort(-ascent.token_prices()[tokens_held], kind="stable")]
    return Found(result, fewest, dearest, ascent.token_usage(), done)


def _rounded(graph: Graph, scores: NDArray[np.float64]) -> tuple[NDArray[np.bool_], int]:
    """The vocabulary of the highest scores, ties in byte order, and its tokens."""
    chosen = np.zeros(len(scores), np.bool_)
    if len(scores) <= graph.limit:
        chosen[:] = True
    elif graph.limit:
        least = np.partition(scores, -graph.limit)[-graph.limit]
        chosen[scores > least] = True
        chosen[np.flatnonzero(scores == least)[: graph.limit - int(chosen.sum())]] = True
    return chosen, tokens_of(graph, chosen)
