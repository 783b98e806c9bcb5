"""PathPiece: remove, in batches, the tokens whose absence adds the fewest tokens to the corpus.

"Tokenization Is More Than Compression", section 3.2 and appendix A.2. Each round segments the corpus into as few tokens
as possible. For every occurrence of a token it finds the cost of removing it: the additional tokens of the cheapest
path with a boundary inside the token, or with a longer token that contains it. The paper's Algorithm 2 ignores longer
tokens that start at the first byte. Its text, and this module, do not. The paper does not specify the order of removal
and the batch sizes. Those used here reproduce the published vocabularies.

Reference: :mod:`tokbench.reference.pathpiece`.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from tokbench.candidates.initial import (
    PAPER_INITIAL_SIZE,
    check_descending,
    check_longest,
    check_size,
    fitting_tokens,
    own_schedule,
    schedule,
)
from tokbench.construction import InitialName, construction
from tokbench.io.numbers import LARGEST_VOCABULARY
from tokbench.kernels.flat_arrays import argsort_bytes, gather
from tokbench.kernels.order import ascending
from tokbench.kernels.pathpiece import MAX_BYTES, MAX_WIDTH, choose_drops, inner_tokens, omission_costs
from tokbench.kernels.threads import parallel_for_with, parallel_map, parallel_sum
from tokbench.kernels.trie import Trie
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES, Vocabulary

PARTS = 64
"""Number of parts that the pre-tokens are processed in."""
DROP_PARTS, BLOCK, LEAST = 8, 1 << 14, 1 << 10
"""Number of parts of a block of tokens whose substrings are looked up before any token is dropped, and the block's
largest and smallest size."""


class PathPieceOptions(Options):
    ties: Literal["longest", "random"] = "longest"
    """Last token among equally short paths: the longest (PathPieceL, the default) or a random one (PathPieceR)."""
    initial: InitialName = "ngram"
    """Construction of the initial vocabulary, or a mapping with its ``method`` and options."""
    initial_size: int = Field(PAPER_INITIAL_SIZE, ge=256, le=LARGEST_VOCABULARY)
    """Size of the initial vocabulary, before tokens that are too long are removed."""
    max_token_bytes: int = Field(16, ge=2, le=MAX_WIDTH)
    """Longest token, in bytes. Longer tokens of the initial vocabulary are removed."""
    schedule: Annotated[tuple[Annotated[int, Field(ge=256)], ...] | None, AfterValidator(check_descending)] = None
    """Descending sizes after each batch. Default: the sizes of the published runs, continued downwards."""


@construction("pathpiece", options=PathPieceOptions, segmentation="shortest_path", initial=True, cites=("schmidt2024",))
def build(
    counts: PretokenCounts,
    size: int,
    options: PathPieceOptions,
    *,
    seed: int = 0,
    threads: int = 1,
    initial: Vocabulary,
) -> Vocabulary:
    """Remove tokens of ``initial`` until ``size`` are left: the 256 bytes, then the others in their initial order.

    A batch removes tokens in order of (increase, occurrences, bytes). It skips single bytes and substrings of tokens
    already removed in the batch. If too few tokens are left to remove, another round continues towards the same size.
    ``seed`` matters only for random ties.

    Raises:
        TokbenchError: ``size`` is below 256, or a pre-token has a GiB or more.
    """
    check_size(size)
    check_longest(counts, MAX_BYTES, "pathpiece")
    if initial.continuation is not None:
        Vocabulary(fitting_tokens(initial, options.max_token_bytes))  # Raises if a token occurs in both forms.
    spelling, edges = initial.flat()
    lengths = np.diff(edges)
    fits = np.flatnonzero((lengths > 1) & (lengths <= options.max_token_bytes))
    alphabet = np.arange(len(BYTES))
    data, offsets = gather(
        np.concatenate([alphabet.astype(np.uint8), spelling]),
        np.concatenate([alphabet, len(BYTES) + edges[fits]]),
        np.concatenate([np.ones_like(alphabet), lengths[fits]]),
        threads,
    )
    order = argsort_bytes(data, offsets, threads)
    data, offsets = gather(data, offsets[order], np.diff(offsets)[order], threads)
    sizes = schedule(len(order), size) if options.schedule is None else own_schedule(options.schedule, len(order), size)
    for target in sizes:
        while len(order) > target:
            trie = Trie(data, offsets, share=parallel_for_with(threads))
            key = _key(seed, len(order)) if options.ties == "random" else None
            increases, occurrences = _costs(counts, trie, len(order), key, threads)
            stays = np.ones(len(order), np.bool_)
            stays[_drops(trie, data, offsets, increases, occurrences, len(order) - target, threads)] = False
            order = order[stays]
            data, offsets = gather(data, offsets[:-1][stays], np.diff(offsets)[stays], threads)
    remaining = np.sort(fits[order[order >= len(BYTES)] - len(BYTES)]).tolist()
    return Vocabulary((*BYTES, *[initial.tokens[place] for place in remaining]))


def _drops(
    trie: Trie,
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    increases: NDArray[np.int64],
    occurrences: NDArray[np.int64],
    limit: int,
    threads: int,
) -> NDArray[np.int64]:
    """Return the first tokens by increase, occurrences and id, without single bytes and substrings of earlier ones."""
    is_fixed = (np.diff(offsets) == 1).astype(np.uint8)
    drops: list[NDArray[np.int64]] = []

    def inner(edge: tuple[NDArray[np.int64], int, int]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        return inner_tokens(trie, data, offsets, is_fixed, *edge)

    for order in _in_order(increases, occurrences, limit):
        place = 0
        while place < len(order) and limit > 0:
            last = min(place + max(min(limit, BLOCK), LEAST), len(order))
            edges = np.linspace(place, last, DROP_PARTS + 1).astype(np.int64).tolist()
            parts = list(parallel_map(inner, [(order, *edge) for edge in pairwise(edges)], threads))
            for first, (tokens, bounds) in zip(edges, parts, strict=False):
                drops.append(choose_drops(order, first, tokens, bounds, is_fixed, limit))
                limit -= len(drops[-1])
            place = last
        if limit == 0:
            break
    return np.concatenate(drops)


def _in_order(increases: NDArray[np.int64], occurrences: NDArray[np.int64], limit: int) -> Iterator[NDArray[np.int64]]:
    """Yield all tokens in order, in pieces, so that no more are sorted than needed.

    The first piece precedes rank ``limit``. The second is tied with it. In an early round the tie has most tokens:
    those that the text does not use.
    """
    after = np.arange(len(increases))
    if limit < len(increases):
        increase = _of_rank(increases, limit - 1)
        tied = np.flatnonzero(increases == increase)
        often = _of_rank(occurrences[tied], limit - 1 - int(np.count_nonzero(increases < increase)))
        before = (increases < increase) | ((increases == increase) & (occurrences < often))
        less = np.flatnonzero(before)
        yield less[ascending(increases[less], occurrences[less])]
        same = tied[occurrences[tied] == often]
        yield same
        before[same] = True
        after = np.flatnonzero(~before)
    yield after[ascending(increases[after], occurrences[after])]


def _of_rank(values: NDArray[np.int64], rank: int) -> int:
    """Return the value at a rank of the sorted values.

    The minimum is a special case, because partitioning is slow if it is common.
    """
    least = values.min()
    return int(least if np.count_nonzero(values == least) > rank else np.partition(values, rank)[rank])


def _costs(counts: PretokenCounts, trie: Trie, tokens: int, key: int | None, threads: int) -> NDArray[np.int64]:
    """Return increase and occurrences of each token over all pre-tokens, int64 [2, tokens]."""
    cuts = np.searchsorted(counts.offsets, np.linspace(0, counts.offsets[-1], PARTS + 1)).tolist()

    def add(edge: tuple[int, int], costs: NDArray[np.int64]) -> None:
        omission_costs(trie, counts.data, counts.offsets, counts.counts, *edge, costs[0], costs[1], key)

    return parallel_sum(add, pairwise(cuts), (2, tokens), threads)


def _key(seed: int, size: int) -> int:
    """Return the key of the random stream for the round that starts from ``size`` tokens."""
    return int(np.random.SeedSequence((seed, size)).generate_state(1, np.uint64)[0])
