"""PathPiece: omit, batch by batch, the tokens whose absence costs the corpus the fewest tokens.

"Tokenization Is More Than Compression", section 3.2 and appendix A.2. Each round segments the corpus into as few tokens
as possible and finds, for every occurrence of a token, how many more there would be without it: the cheapest path with
a boundary inside the token, or with a longer token that holds it. The paper's Algorithm 2 leaves out holders that
start at the first byte; its text, and this module, do not. The order of omission and the sizes of the batches are not
in the paper: they are those that explain the published vocabularies.

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
    fitting,
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
"""Parts in which pre-tokens are gone through."""
DROP_PARTS, BLOCK, LEAST = 8, 1 << 14, 1 << 10
"""Parts of a block of tokens that are looked at for their substrings before any is dropped, and its size."""


class PathPieceOptions(Options):
    ties: Literal["longest", "random"] = "longest"
    """Which last token of equally short paths is taken: the longest (PathPieceL) or a random one (PathPieceR)."""
    initial: InitialName = "ngram"
    """Construction of the vocabulary to start from, or a mapping with its ``method`` and options."""
    initial_size: int = Field(PAPER_INITIAL_SIZE, ge=256, le=LARGEST_VOCABULARY)
    """Size of the vocabulary to start from, before tokens that are too long are left out."""
    max_token_bytes: int = Field(16, ge=2, le=MAX_WIDTH)
    """Longest token, in bytes; longer ones of the initial vocabulary are left out."""
    schedule: Annotated[tuple[Annotated[int, Field(ge=256)], ...] | None, AfterValidator(check_descending)] = None
    """Sizes after each batch of omissions, descending; by default the published runs' sizes, continued downwards."""


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
    """Omit tokens of ``initial`` until ``size`` are left: the 256 bytes, then the others in their initial order.

    A batch takes tokens in order of (increase, occurrences, bytes), passing over single bytes and over substrings of
    a token already taken in the batch; where that leaves too few, another round goes to the same size. ``seed`` is
    for random ties only.

    Raises:
        TokbenchError: ``size`` is below 256, or a pre-token has a GiB or more.
    """
    check_size(size)
    check_longest(counts, MAX_BYTES, "pathpiece")
    if initial.continuation is not None:
        Vocabulary(fitting(initial, options.max_token_bytes))  # Bytes that stand twice are an error.
    spelt, edges = initial.flat()
    lengths = np.diff(edges)
    fits = np.flatnonzero((lengths > 1) & (lengths <= options.max_token_bytes))
    alphabet = np.arange(len(BYTES))
    data, offsets = gather(
        np.concatenate([alphabet.astype(np.uint8), spelt]),
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
    kept = np.sort(fits[order[order >= len(BYTES)] - len(BYTES)]).tolist()
    return Vocabulary((*BYTES, *[initial.tokens[place] for place in kept]))


def _drops(
    trie: Trie,
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    increases: NDArray[np.int64],
    occurrences: NDArray[np.int64],
    limit: int,
    threads: int,
) -> NDArray[np.int64]:
    """The first tokens, by increase, occurrences and number, that are no single byte and no substring of one before."""
    held = (np.diff(offsets) == 1).astype(np.uint8)
    chosen: list[NDArray[np.int64]] = []

    def inner(edge: tuple[NDArray[np.int64], int, int]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        return inner_tokens(trie, data, offsets, held, *edge)

    for order in _in_order(increases, occurrences, limit):
        place = 0
        while place < len(order) and limit > 0:
            last = min(place + max(min(limit, BLOCK), LEAST), len(order))
            edges = np.linspace(place, last, DROP_PARTS + 1).astype(np.int64).tolist()
            parts = list(parallel_map(inner, [(order, *edge) for edge in pairwise(edges)], threads))
            for first, (tokens, bounds) in zip(edges, parts, strict=False):
                chosen.append(choose_drops(order, first, tokens, bounds, held, limit))
                limit -= len(chosen[-1])
            place = last
        if limit == 0:
            break
    return np.concatenate(chosen)


def _in_order(increases: NDArray[np.int64], occurrences: NDArray[np.int64], limit: int) -> Iterator[NDArray[np.int64]]:
    """All tokens in order, piece by piece: no more is sorted than is asked for.

    First what comes before the one of rank ``limit``, then what ties with it, which is most of an early round: tokens
    that the text does without.
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
    """The value before which ``rank`` others stand in order; partitioning takes long where most are the least."""
    least = values.min()
    return int(least if np.count_nonzero(values == least) > rank else np.partition(values, rank)[rank])


def _costs(counts: PretokenCounts, trie: Trie, tokens: int, key: int | None, threads: int) -> NDArray[np.int64]:
    """Increase and occurrences of each token over all pre-tokens, int64 [2, tokens]."""
    cuts = np.searchsorted(counts.offsets, np.linspace(0, counts.offsets[-1], PARTS + 1)).tolist()

    def add(edge: tuple[int, int], costs: NDArray[np.int64]) -> None:
        omission_costs(trie, counts.data, counts.offsets, counts.counts, *edge, costs[0], costs[1], key)

    return parallel_sum(add, pairwise(cuts), (2, tokens), threads)


def _key(seed: int, size: int) -> int:
    """The random stream's key in the round that starts from ``size`` tokens."""
    return int(np.random.SeedSequence((seed, size)).generate_state(1, np.uint64)[0])
