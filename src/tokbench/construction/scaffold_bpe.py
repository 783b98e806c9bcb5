"""Scaffold-BPE: byte-pair encoding whose vocabulary leaves out the tokens that only serve to build others.

Lian et al., "Scaffold-BPE: Enhancing Byte Pair Encoding for Large Language Models with Simple and Effective Scaffold
Token Removal" (2024), algorithms 1 and 2. Merges are those of BPE, since a scaffold token stays in the text and goes on
being merged. What a merge leaves of a token is compared with the head of the queue; where that is more frequent, the
token becomes a scaffold and waits in the queue itself, to come back to the vocabulary should its turn come.

Reference: ``scaffold_bpe`` in :mod:`tokbench.reference.bpe`.
"""

import heapq
from itertools import pairwise

import numpy as np

from tokbench.construction import construction
from tokbench.construction.picky_bpe import AlphabetOptions, spell_out, train
from tokbench.kernels.picky import Training
from tokbench.kernels.shortest_path import ShortestPathSegmenter
from tokbench.kernels.trie import Trie
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import Event, Vocabulary


@construction("scaffold_bpe", options=AlphabetOptions, segmentation="post_removal", cites=("lian2024",))
def build(
    counts: PretokenCounts, size: int, options: AlphabetOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Merge as BPE until ``size`` tokens are no scaffolds, the 256 bytes and the alphabet's characters included.

    After a merge the left part is judged, then the right one; the alphabet is never judged. The head of the queue is
    the greatest of the next pair's count and the scaffolds' frequencies; of a pair and a scaffold with equal ones the
    pair comes first, of scaffolds the one made first.

    Args:
        counts: pre-tokens; no merge crosses them.
        size: tokens wanted. Fewer are returned when neither a pair nor a scaffold is left.
        options: the alphabet.
        seed: not used; nothing is random.
        threads: not used; training takes one thread.

    Returns:
        The tokens in order of creation, with all merges and, after them, each scaffold's split into the fewest
        tokens, of equally few those with the longest last one.

    Raises:
        TokbenchError: the unique pre-tokens come to 2 GiB or more, or the alphabet is larger than ``size``.
    """
    trained = size
    alphabet, training = train(counts, trained, options, 1.0, "scaffold_bpe")
    merged, scaffolds, complete = choose_scaffolds(training, len(alphabet), size)
    while not complete and len(training.state()[0]) == trained:
        trained += len(scaffolds) + 1
        training.run(trained)
        merged, scaffolds, complete = choose_scaffolds(training, len(alphabet), size)
    every, merges = spell_out(training, alphabet)
    tokens = tuple(token for index, token in enumerate(every[: len(alphabet) + merged]) if index not in scaffolds)
    splits = fewest_parts(tokens, [every[index] for index in sorted(scaffolds)])
    return Vocabulary(tokens, events=merges[:merged] + splits)


def choose_scaffolds(training: Training, alphabet: int, size: int) -> tuple[int, set[int], bool]:
    """Follow the vocabulary through the merges of a training run.

    Returns:
        merged: merges done when the vocabulary is full, or all of them.
        scaffolds: ids of the scaffolds at that moment.
        complete: whether the vocabulary is full and the merge after the last one known. Where it is not, and the text
            has more merges, the last verdicts are void.
    """
    rows, _, parts = training.history()
    merges = list(zip(*rows[:, 1:].T.tolist(), parts.reshape(-1, 2).tolist(), strict=True))
    frequencies: dict[int, int] = {}
    scaffolds: set[int] = set()
    queue: list[tuple[int, int]] = []

    def head() -> int:
        """Greatest frequency of a scaffold, 0 where there is none; outdated entries above it are dropped."""
        while queue and (queue[0][1] not in scaffolds or -queue[0][0] != frequencies[queue[0][1]]):
            heapq.heappop(queue)
        return -queue[0][0] if queue else 0

    for merged, (token, _, replaced, used) in enumerate(merges):
        if alphabet + merged - len(scaffolds) >= size:
            return merged, scaffolds, True
        next_count = merges[merged + 1][1] if merged + 1 < len(merges) else 0
        frequencies[token] = replaced
        for part in used:
            if part in frequencies:
                frequencies[part] -= replaced
        for part in dict.fromkeys(used):
            if part in frequencies and (part in scaffolds or frequencies[part] < max(next_count, head())):
                scaffolds.add(part)
                heapq.heappush(queue, (-frequencies[part], part))
        while head() > next_count and alphabet + merged + 1 - len(scaffolds) < size:
            scaffolds.discard(heapq.heappop(queue)[1])
    return len(merges), scaffolds, False


def fewest_parts(tokens: tuple[bytes, ...], removed: list[bytes]) -> tuple[Event, ...]:
    """The split of each removed token into the fewest tokens, of equally few those with the longest last one."""
    trie = Trie(*Vocabulary(tokens).flat(), None, backwards=True)
    offsets = np.zeros(len(removed) + 1, np.int64)
    np.cumsum([len(token) for token in removed], out=offsets[1:])
    ids, bounds = ShortestPathSegmenter(trie, False, 0).segment(np.frombuffer(b"".join(removed), np.uint8), offsets)
    cuts = pairwise(bounds.tolist())
    return tuple(Event(True, tuple(tokens[index] for index in ids[start:end].tolist())) for start, end in cuts)
