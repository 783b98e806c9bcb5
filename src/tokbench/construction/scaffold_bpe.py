"""Scaffold-BPE: byte-pair encoding whose vocabulary omits the tokens that only serve to build others.

Lian et al., "Scaffold-BPE: Enhancing Byte Pair Encoding for Large Language Models with Simple and Effective Scaffold
Token Removal" (2024), algorithms 1 and 2. The merges are those of BPE, because a scaffold token remains in the text and
is merged further. After a merge, the remaining frequency of a token is compared with the head of the queue. If the head
is more frequent, the token becomes a scaffold and enters the queue. It returns to the vocabulary when it reaches the
head.

Reference: ``train_scaffold_bpe`` in :mod:`tokbench.reference.bpe`.
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
    """Merge as BPE until ``size`` tokens are not scaffolds, including the 256 bytes and the alphabet's characters.

    After a merge the left part is tested, then the right one. The alphabet is never tested. The head of the queue is
    the greatest of the next pair's count and the scaffolds' frequencies. A pair precedes a scaffold of equal frequency.
    Equally frequent scaffolds are in order of creation.

    Args:
        counts: pre-tokens. No merge crosses their boundaries.
        size: number of tokens wanted. Fewer are returned if neither a pair nor a scaffold is left.
        options: alphabet.
        seed: not used; nothing is random.
        threads: not used; training is single-threaded.

    Returns:
        The tokens in order of creation. The events are all merges, then the split of each scaffold into the fewest
        tokens. Of equally short splits the one with the longest last token is used.

    Raises:
        TokbenchError: the unique pre-tokens have 2 GiB or more, or the alphabet is larger than ``size``.
    """
    training_size = size
    alphabet, training = train(counts, training_size, options, 1.0, "scaffold_bpe")
    merged, scaffolds, complete = choose_scaffolds(training, len(alphabet), size)
    while not complete and len(training.state()[0]) == training_size:
        training_size += len(scaffolds) + 1
        training.run(training_size)
        merged, scaffolds, complete = choose_scaffolds(training, len(alphabet), size)
    all_tokens, merges = spell_out(training, alphabet)
    tokens = tuple(token for index, token in enumerate(all_tokens[: len(alphabet) + merged]) if index not in scaffolds)
    splits = fewest_parts(tokens, [all_tokens[index] for index in sorted(scaffolds)])
    return Vocabulary(tokens, events=merges[:merged] + splits)


def choose_scaffolds(training: Training, alphabet: int, size: int) -> tuple[int, set[int], bool]:
    """Follow the vocabulary through the merges of a training run.

    Returns:
        merged: number of merges when the vocabulary is full, or of all merges.
        scaffolds: ids of the scaffolds at that point.
        complete: True if the vocabulary is full and the merge after the last one is known. If False and the text has
            more merges, the result is not final.
    """
    rows, _, parts = training.history()
    merges = list(zip(*rows[:, 1:].T.tolist(), parts.reshape(-1, 2).tolist(), strict=True))
    frequencies: dict[int, int] = {}
    scaffolds: set[int] = set()
    queue: list[tuple[int, int]] = []

    def head() -> int:
        """Return the greatest frequency of a scaffold, or 0. Outdated entries at the head are dropped."""
        while queue and (queue[0][1] not in scaffolds or -queue[0][0] != frequencies[queue[0][1]]):
            heapq.heappop(queue)
        return -queue[0][0] if queue else 0

    for merged, (token, _, replaced, used) in enumerate(merges):
        if alphabet + merged - len(scaffolds) >= size:
            return merged, scaffolds, True
        # Parts that are rarer than the next pair become scaffolds.
        next_count = merges[merged + 1][1] if merged + 1 < len(merges) else 0
        frequencies[token] = replaced
        for part in used:
            if part in frequencies:
                frequencies[part] -= replaced
        for part in dict.fromkeys(used):
            if part in frequencies and (part in scaffolds or frequencies[part] < max(next_count, head())):
                scaffolds.add(part)
                heapq.heappush(queue, (-frequencies[part], part))
        # Scaffolds that are more frequent than the next pair become tokens again.
        while head() > next_count and alphabet + merged + 1 - len(scaffolds) < size:
            scaffolds.discard(heapq.heappop(queue)[1])
    return len(merges), scaffolds, False


def fewest_parts(tokens: tuple[bytes, ...], removed: list[bytes]) -> tuple[Event, ...]:
    """Split each removed token into the fewest tokens; ties go to the split with the longest last token."""
    trie = Trie(*Vocabulary(tokens).flat(), None, backwards=True)
    offsets = np.zeros(len(removed) + 1, np.int64)
    np.cumsum([len(token) for token in removed], out=offsets[1:])
    ids, bounds = ShortestPathSegmenter(trie, False, 0).segment(np.frombuffer(b"".join(removed), np.uint8), offsets)
    cuts = pairwise(bounds.tolist())
    return tuple(Event(True, tuple(tokens[index] for index in ids[start:end].tolist())) for start, end in cuts)
