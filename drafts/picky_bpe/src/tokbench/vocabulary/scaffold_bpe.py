"""Scaffold-BPE: byte-pair encoding whose vocabulary leaves out the tokens that only serve to build others.

Lian et al., "Scaffold-BPE: Enhancing Byte Pair Encoding with Simple and Effective Scaffold Token Removal" (2024),
section 3. Merges are those of vanilla BPE, since a scaffold token stays in the text and goes on being merged. What
remains of a token after a merge is compared with the head of the queue; where it is rarer, the token becomes a scaffold
and waits in the queue with that frequency, to come back to the vocabulary should its turn come.
"""

import heapq
from itertools import pairwise

import numpy as np

from tokbench.kernels.picky import Training
from tokbench.kernels.shortest_path import ShortestPathSegmenter
from tokbench.kernels.trie import Trie
from tokbench.pretokens import PretokenCounts
from tokbench.registry import Options
from tokbench.tokens import BYTES, Event, Vocabulary
from tokbench.vocabulary import construction
from tokbench.vocabulary.picky_bpe import spell_out, train_without_removal


@construction("scaffold_bpe", segmentation="post_removal")
def build(counts: PretokenCounts, size: int, options: Options, *, seed: int = 0, threads: int = 1) -> Vocabulary:
    """Merge as vanilla BPE until ``size`` tokens are no scaffolds, the 256 bytes included.

    After a merge the left part is judged, then the right one; bytes are never scaffolds. The head of the queue is the
    greatest of the next pair's count and the scaffolds' frequencies; of a pair and a scaffold with equal ones the pair
    comes first, of scaffolds the one made first.

    Args:
        counts: pre-tokens; no merge crosses them.
        size: tokens wanted. Fewer are returned when neither a pair nor a scaffold is left.
        options: there are none.
        seed: not used; nothing is random.
        threads: not used; training takes one thread.

    Returns:
        The tokens in order of creation, with all merges and, after them, each scaffold's split into the fewest
        tokens, of equally few those with the longest last one.

    Raises:
        TokbenchError: the unique pre-tokens come to 2 GiB or more.
    """
    trained = size + 1
    training = train_without_removal(counts, trained, "scaffold_bpe")
    merged, scaffolds, complete = choose_scaffolds(training, size)
    while not complete and len(training.state()[0]) == trained:
        trained += len(scaffolds) + 1
        training.run(trained)
        merged, scaffolds, complete = choose_scaffolds(training, size)
    every, events = spell_out(training, BYTES)
    tokens = tuple(token for index, token in enumerate(every[: len(BYTES) + merged]) if index not in scaffolds)
    return Vocabulary(tokens, events=events[:merged] + _splits(tokens, [every[index] for index in sorted(scaffolds)]))


def choose_scaffolds(training: Training, size: int) -> tuple[int, set[int], bool]:
    """Follow the vocabulary through the merges of a training run.

    Returns:
        merged: merges done when the vocabulary is full, or all of them.
        scaffolds: ids of the scaffolds at that moment.
        complete: whether the vocabulary is full, and the merge after the last one is known; where it is not and the
            text has more merges, the last verdicts are void.
    """
    rows, parts = training.history()
    merges = list(zip(*rows[:, (1, 4, 5)].T.tolist(), *parts.reshape(-1, 2).T.tolist(), strict=True))
    frequencies: dict[int, int] = {}
    scaffolds: set[int] = set()
    queue: list[tuple[int, int]] = []
    for merged, (merge, following) in enumerate(pairwise([*merges, None])):
        if len(BYTES) + merged - len(scaffolds) >= size:
            return merged, scaffolds, True
        token, _, replaced, *used = merge
        frequencies[token] = replaced
        next_count = following[1] if following else 0
        for part in used:
            if part in frequencies:
                frequencies[part] -= replaced
                if part in scaffolds:
                    heapq.heappush(queue, (-frequencies[part], part))
        for part in dict.fromkeys(used):
            head = max(next_count, _head(queue, scaffolds, frequencies))
            if part in frequencies and part not in scaffolds and frequencies[part] < head:
                scaffolds.add(part)
                heapq.heappush(queue, (-frequencies[part], part))
        while _head(queue, scaffolds, frequencies) > next_count and len(BYTES) + merged + 1 - len(scaffolds) < size:
            scaffolds.discard(heapq.heappop(queue)[1])
    return len(merges), scaffolds, False


def _head(queue: list[tuple[int, int]], scaffolds: set[int], frequencies: dict[int, int]) -> int:
    """Greatest frequency of a scaffold, 0 where there is none; drops outdated entries above it."""
    while queue and (queue[0][1] not in scaffolds or -queue[0][0] != frequencies[queue[0][1]]):
        heapq.heappop(queue)
    return -queue[0][0] if queue else 0


def _splits(tokens: tuple[bytes, ...], scaffolds: list[bytes]) -> tuple[Event, ...]:
    trie = Trie(*Vocabulary(tokens).flat(), None, backwards=True)
    offsets = np.zeros(len(scaffolds) + 1, np.int64)
    np.cumsum([len(token) for token in scaffolds], out=offsets[1:])
    data = np.frombuffer(b"".join(scaffolds), np.uint8)
    ids, bounds = ShortestPathSegmenter(trie, False, 0).segment(data, offsets)
    return tuple(
        Event(True, tuple(tokens[index] for index in ids[start:end].tolist()))
        for start, end in pairwise(bounds.tolist())
    )
