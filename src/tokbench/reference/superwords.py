"""Superwords: BoundlessBPE in two phases, SuperBPE in both readings, and the encoding of documents.

Every step recounts all pairs. Tokens are bytes, and a document is the list of its pre-tokens.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from tokbench.reference import bpe
from tokbench.reference.segmentation import merge, replace

Pair = tuple[bytes, bytes]
Parts = tuple[bytes, ...]
Words = Iterable[tuple[bytes, int]]
WordMerge = tuple[Pair, int, list[Parts]]
"""Pair, its count, and the parts of the tokens removed after it."""
Event = tuple[bool, Parts]
BYTES = [bytes([byte]) for byte in range(256)]


def separate_pairs(tokens: Sequence[bytes]) -> Iterator[Pair]:
    """Yield adjacent pairs, which do not overlap in a run of equal tokens."""
    skipped = False
    for place, pair in enumerate(pairwise(tokens)):
        skipped = not skipped and place > 0 and pair[0] == pair[1] == tokens[place - 1]
        if not skipped:
            yield pair


def foremost(sequences: Mapping[Parts, int]) -> tuple[Pair, int] | None:
    """Return the most frequent pair and its count; ties: the smallest pair. None if there is no pair."""
    counts: Counter[Pair] = Counter()
    for tokens, times in sequences.items():
        for pair in separate_pairs(tokens):
            counts[pair] += times
    return min(counts.items(), key=lambda item: (-item[1], item[0])) if counts else None


def replaced(sequences: Mapping[Parts, int], old: Parts, new: Parts) -> Counter[Parts]:
    """Replace ``old`` by ``new`` in all sequences, from left to right."""
    done: Counter[Parts] = Counter()
    for tokens, times in sequences.items():
        done[tuple(replace(list(tokens), old, new))] += times
    return done


def train_words(words: Words, size: int, tau: float | None = None, *, into_bytes: bool = True) -> list[WordMerge]:
    """Return phase 1: merges until ``size`` tokens are present, with the removals that follow each."""
    text: Counter[Parts] = Counter()
    for word, times in words:
        text[tuple(bytes([byte]) for byte in word)] += times
    present, halves = set(BYTES), dict[bytes, Pair]()
    merges: list[WordMerge] = []

    def parts(token: bytes) -> Parts:
        return (token,) if token in present else parts(halves[token][0]) + parts(halves[token][1])

    while len(present) < size and (best := foremost(text)) is not None:
        pair, count = best
        token = b"".join(pair)
        before = {part: sum(tokens.count(part) * times for tokens, times in text.items()) for part in pair}
        text = replaced(text, pair, (token,))
        halves.setdefault(token, pair)
        present.add(token)
        removals: list[Parts] = []
        for part, times in before.items():
            if tau is not None and len(part) > 1 and count / times >= tau:
                present.discard(part)
                removals.append(tuple(bytes([byte]) for byte in part) if into_bytes else parts(part))
                text = replaced(text, (part,), removals[-1])
        merges.append((pair, count, removals))
    return merges


def events_of(merges: Iterable[WordMerge]) -> list[Event]:
    """Return the events of phase 1, removals after their merge."""
    return [event for pair, _, removals in merges for event in [(False, pair), *((True, parts) for parts in removals)]]


def left_by(events: Iterable[Event]) -> dict[bytes, None]:
    """Return the tokens that are present after events, in order of their last creation."""
    present = dict.fromkeys(BYTES)
    for split, parts in events:
        if split:
            present.pop(b"".join(parts), None)
        else:
            present.setdefault(b"".join(parts))
    return present


def by_order(word: bytes, events: Sequence[Event]) -> list[bytes]:
    """Replay every event in order, each at every match."""
    cut = [bytes([byte]) for byte in word]
    for split, parts in events:
        whole = (b"".join(parts),)
        cut = replace(cut, whole, parts) if split else replace(cut, parts, whole)
    return cut


def runs_in(document: Sequence[bytes], joins: Callable[[bytes], bool]) -> Iterator[list[bytes]]:
    """Yield the maximal runs of pre-tokens that may join, and every other pre-token by itself."""
    run: list[bytes] = []
    for pretoken in document:
        if joins(pretoken):
            run.append(pretoken)
            continue
        yield from ([run] if run else [])
        yield [pretoken]
        run = []
    yield from ([run] if run else [])


def count_runs(
    documents: Iterable[Sequence[bytes]], events: Sequence[Event], letters: Callable[[bytes], bool]
) -> Counter[Parts]:
    """Count the distinct runs of two or more pre-tokens that are one token after all events and have letters."""
    counts: Counter[Parts] = Counter()
    for document in documents:
        for run in runs_in(document, lambda word: letters(word) and by_order(word, events) == [word]):
            if len(run) > 1:
                counts[tuple(run)] += 1
    return counts


def split_runs(runs: Mapping[Parts, int], min_count: int, max_length: int) -> Counter[Parts]:
    """Split runs into the longest frequent n-grams from the left; leave out pre-tokens that start none."""
    grams: Counter[Parts] = Counter()
    for run, times in runs.items():
        for start in range(len(run)):
            for end in range(start + 2, min(start + max_length, len(run)) + 1):
                grams[run[start:end]] += times
    pieces: Counter[Parts] = Counter()
    for run, times in runs.items():
        start = 0
        while start < len(run):
            ends = [end for end in range(start + 2, len(run) + 1) if grams[run[start:end]] >= min_count]
            if ends:
                pieces[run[start : ends[-1]]] += times
            start = ends[-1] if ends else start + 1
    return pieces


def boundless(
    merges: Sequence[WordMerge], runs: Mapping[Parts, int], size: int
) -> tuple[list[bytes], list[Event], list[Pair]]:
    """Return tokens, replayed events and supermerges of phase 2.

    >>> merges = train_words([(b'ab', 2), (b' c', 1)], 258)
    >>> tokens, _, supermerges = boundless(merges, Counter({(b'ab', b' c'): 1}), 259)
    >>> tokens[256:], supermerges
    ([b'ab', b' c', b'ab c'], [(b'ab', b' c')])
    """
    present, joined, supermerges, replayed_merges = dict.fromkeys(BYTES), set[bytes](), list[Pair](), list[WordMerge]()
    while len(present) < size:
        rest = merges[len(replayed_merges) :]
        best = foremost(runs)
        if best and (not rest or best[1] > rest[0][1]) and all(part in present for part in best[0]):
            token = b"".join(best[0])
            supermerges.append(best[0])
            joined.add(token)
            present.setdefault(token)
            runs = replaced(runs, best[0], (token,))
        elif rest:
            present.setdefault(b"".join(rest[0][0]))
            for parts in rest[0][2]:
                if b"".join(parts) not in joined:
                    present.pop(b"".join(parts), None)
            replayed_merges.append(rest[0])
        else:
            break
    return list(present), events_of(replayed_merges), list(dict.fromkeys(supermerges))


def superbpe_words(merges: Sequence[WordMerge], runs: Mapping[Parts, int], size: int) -> tuple[list[bytes], list[Pair]]:
    """Return tokens and supermerges of reading A: all of phase 1, then supermerges until the size is reached.

    >>> merges = train_words([(b'ab', 2), (b' c', 1)], 258)
    >>> tokens, supermerges = superbpe_words(merges, Counter({(b'ab', b' c'): 1}), 259)
    >>> tokens[256:], supermerges
    ([b'ab', b' c', b'ab c'], [(b'ab', b' c')])
    """
    present, supermerges = left_by(events_of(merges)), list[Pair]()
    while len(present) < size and (best := foremost(runs)) is not None:
        token = b"".join(best[0])
        supermerges.append(best[0])
        present.setdefault(token)
        runs = replaced(runs, best[0], (token,))
    return list(present), list(dict.fromkeys(supermerges))


def encode(document: Sequence[bytes], events: Sequence[Event], supermerges: Sequence[Pair]) -> list[bytes]:
    """Replay the events in each pre-token, then apply supermerges in runs, the earliest first and at all places.

    >>> encode([b'ab', b' c'], [(False, (b'a', b'b')), (False, (b' ', b'c'))], [(b'ab', b' c')])
    [b'ab c']
    """
    sides = {part for pair in supermerges for part in pair}
    tokens: list[bytes] = []
    for run in runs_in(document, lambda word: word in sides and by_order(word, events) == [word]):
        if len(run) == 1:
            tokens += by_order(run[0], events)
            continue
        while joins := [pair for pair in supermerges if pair in set(pairwise(run))]:
            run = replace(run, joins[0], (b"".join(joins[0]),))
        tokens += run
    return tokens


def superbpe(
    words: Words, spans: Words, ranks: Sequence[int], first: int, size: int, barred: Callable[[bytes], bool]
) -> tuple[list[bytes], list[bpe.Merge]]:
    """Return tokens and merges of reading B: BPE of words to ``first`` tokens, then of spans to ``size``.

    >>> tokens, merges = superbpe([(b'ab', 2), (b' c', 1)], [(b'ab c', 1)], range(256), 257, 259, lambda token: False)
    >>> tokens[256:]
    [b'ab', b' c', b'ab c']
    """
    pairs, tokens = bpe.train(list(words), list(ranks), first, 1, 1 << 30)
    merges = [(*pair, 256 + number) for number, pair in enumerate(pairs)]
    text = [(merge(span, merges), times) for span, times in spans]
    order = [*ranks, *range(256, size)]
    while len(tokens) < size:
        counts: Counter[tuple[int, int]] = Counter()
        for ids, times in text:
            for left, right in pairwise(ids):
                if not barred(tokens[left] + tokens[right]):
                    counts[left, right] += times
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], order[pair[0]], order[pair[1]]))
        for ids, _ in text:
            bpe.join(ids, best, len(tokens))
        merges.append((*best, len(tokens)))
        tokens.append(tokens[best[0]] + tokens[best[1]])
    return tokens, merges
