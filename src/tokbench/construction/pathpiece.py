"""PathPiece: omit, batch by batch, the tokens whose absence costs the corpus the fewest tokens.

"Tokenization Is More Than Compression", section 3.2 and appendix A.2. Each round segments the corpus into as few tokens
as possible and finds, for every occurrence of a token, how many more there would be without it: the cheapest path with
a boundary inside the token, or with a longer token that holds it. The paper's Algorithm 2 leaves out holders that
start at the first byte; its text, and this module, do not. The order of omission and the sizes of the batches are not
in the paper: they are those that explain the published vocabularies.

Reference: :mod:`tokbench.reference.pathpiece`.
"""

from itertools import compress, pairwise
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from tokbench.candidates.initial import (
    PAPER_INITIAL_SIZE,
    InitialName,
    check_descending,
    check_size,
    fitting,
    own_schedule,
    schedule,
)
from tokbench.candidates.limits import check_longest
from tokbench.construction import construction
from tokbench.inputs.numbers import LARGEST_VOCABULARY
from tokbench.kernels.order import ascending, by_bytes
from tokbench.kernels.pathpiece import MAX_BYTES, MAX_WIDTH, choose_drops, omission_costs
from tokbench.kernels.trie import Trie
from tokbench.options import Options
from tokbench.parallel import shared_by
from tokbench.pretokens import PretokenCounts
from tokbench.slices import gather
from tokbench.tallies import tallied
from tokbench.vocabulary import BYTES, Vocabulary

PARTS = 64


class PathPieceOptions(Options):
    ties: Literal["longest", "random"] = "longest"
    """Which last token of equally short paths is taken: the longest (PathPieceL) or a random one (PathPieceR)."""
    initial: InitialName = "ngram"
    """Construction of the vocabulary to start from."""
    initial_size: int = Field(PAPER_INITIAL_SIZE, ge=256, le=LARGEST_VOCABULARY)
    """Size of the vocabulary to start from, before tokens that are too long are left out."""
    max_token_bytes: int = Field(16, ge=2, le=MAX_WIDTH)
    """Longest token, in bytes; longer ones of the initial vocabulary are left out."""
    schedule: Annotated[tuple[Annotated[int, Field(ge=256)], ...] | None, AfterValidator(check_descending)] = None
    """Sizes after each batch of omissions, descending; by default the published runs' sizes, continued downwards."""


@construction("pathpiece", options=PathPieceOptions, segmentation="shortest_path", initial=True)
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
    tokens = fitting(initial, options.max_token_bytes)
    data, offsets = Vocabulary(tokens).flat()
    lengths = np.diff(offsets)
    order = by_bytes(data, offsets)
    data, offsets = gather(data, offsets[order], lengths[order], threads)
    longer = lengths[order] > 1
    alive = np.ones(len(tokens), np.bool_)
    left = len(tokens)
    sizes = schedule(left, size) if options.schedule is None else own_schedule(options.schedule, left, size)
    for target in sizes:
        while left > target:
            trie = Trie(data, offsets, included=alive, share=shared_by(threads))
            key = _key(seed, left) if options.ties == "random" else None
            increases, occurrences = _costs(counts, trie, len(tokens), key, threads)
            candidates = np.flatnonzero(alive & longer)
            first = candidates[ascending(increases[candidates], occurrences[candidates])]
            alive[choose_drops(trie, data, offsets, first, left - target)] = False
            left = int(alive.sum())
    stays = np.empty(len(tokens), np.bool_)
    stays[order] = alive
    return Vocabulary(tuple(compress(tokens, stays.tolist())))


def _costs(counts: PretokenCounts, trie: Trie, tokens: int, key: int | None, threads: int) -> NDArray[np.int64]:
    """Increase and occurrences of each token over all pre-tokens, int64 [2, tokens]."""
    cuts = np.searchsorted(counts.offsets, np.linspace(0, counts.offsets[-1], PARTS + 1)).tolist()

    def add(edge: tuple[int, int], costs: NDArray[np.int64]) -> None:
        omission_costs(trie, counts.data, counts.offsets, counts.counts, *edge, costs[0], costs[1], key)

    return tallied(add, pairwise(cuts), (2, tokens), threads)


def _key(seed: int, size: int) -> int:
    """The random stream's key in the round that starts from ``size`` tokens."""
    return int(np.random.SeedSequence((seed, size)).generate_state(1, np.uint64)[0])
