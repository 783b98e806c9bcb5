"""Training by merging: BPE, continued and pruned BPE, Scaffold-BPE, Picky BPE and WordPiece.

Each step recounts every pair and merges the best one from left to right. Scaffold-BPE also checks the parts of the last
merge or brings a scaffold back. Picky BPE also removes tokens made redundant by the merge. WordPiece scores the pairs.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise


def train(
    words: list[tuple[bytes, int]], ranks: list[int], size: int, min_count: int, max_length: int
) -> tuple[list[tuple[int, int]], list[bytes]]:
    """Return the merged pairs in order, and all tokens, the 256 bytes first.

    >>> merges, tokens = train([(b'abab', 2)], list(range(256)), 258, 1, 16)
    >>> merges, tokens[256:]
    ([(97, 98), (256, 256)], [b'ab', b'abab'])
    """
    tokens = [bytes([byte]) for byte in range(256)]
    ranks = ranks + list(range(256, size))
    spelt = [(list(word), count) for word, count in words]
    merges: list[tuple[int, int]] = []
    while len(tokens) < size:
        best = best_pair(spelt, tokens, ranks, min_count, max_length)
        if best is None:
            break
        for word, _ in spelt:
            join(word, best, len(tokens))
        tokens.append(tokens[best[0]] + tokens[best[1]])
        merges.append(best)
    return merges, tokens


def best_pair(
    words: list[tuple[list[int], int]],
    tokens: list[bytes],
    ranks: Sequence[int] | Mapping[int, int],
    min_count: int,
    max_length: int,
) -> tuple[int, int] | None:
    """Return the most frequent pair of ids, ties by the ranks of the two; None if no pair may be merged."""
    pairs: Counter[tuple[int, int]] = Counter()
    for word, count in words:
        for left, right in pairwise(word):
            if len(tokens[left] + tokens[right]) <= max_length:
                pairs[left, right] += count
    if not pairs or max(pairs.values()) < min_count:
        return None
    return min(pairs, key=lambda pair: (-pairs[pair], ranks[pair[0]], ranks[pair[1]]))


def join(ids: list[int], pair: tuple[int, int], result: int) -> None:
    """Replace a pair by a result at every place, from left to right."""
    at = 0
    while at + 1 < len(ids):
        if (ids[at], ids[at + 1]) == pair:
            ids[at : at + 2] = [result]
        at += 1


Merge = tuple[int, int, int]


def split_by(word: bytes, merges: list[Merge], tokens: list[bytes]) -> list[int]:
    """Return the ids of a word after all merges, in order, each from left to right."""
    ids = [tokens.index(bytes([byte])) for byte in word]
    for left, right, result in merges:
        join(ids, (left, right), result)
    return ids


def continue_training(
    words: list[tuple[bytes, int]],
    tokens: list[bytes],
    merges: list[Merge],
    ranks: list[int],
    size: int,
    min_count: int,
    max_length: int,
) -> tuple[list[Merge], list[bytes]]:
    """Return the existing and new merges, and all tokens. ``ranks`` are those of the existing tokens.

    >>> alphabet = [bytes([byte]) for byte in range(256)]
    >>> tokens, ranks = [*alphabet, b'ab'], list(range(257))
    >>> merges, tokens = continue_training([(b'abab', 2)], tokens, [(97, 98, 256)], ranks, 258, 1, 16)
    >>> merges, tokens[256:]
    ([(97, 98, 256), (256, 256, 257)], [b'ab', b'abab'])
    """
    tokens, merges, order = list(tokens), list(merges), dict(enumerate(ranks))
    spellings = [(split_by(word, merges, tokens), count) for word, count in words]
    while len(tokens) < size:
        best = best_pair(spellings, tokens, order, min_count, max_length)
        if best is None:
            break
        token = tokens[best[0]] + tokens[best[1]]
        if token not in tokens:
            tokens.append(token)
        index = tokens.index(token)
        order[index] = len(ranks) + len(merges)
        for word, _ in spellings:
            join(word, best, index)
        merges.append((*best, index))
    return merges, tokens


def prune(words: list[tuple[bytes, int]], tokens: list[bytes], merges: list[Merge], size: int) -> list[bytes]:
    """Drop the least used leaf repeatedly; ties: the latest merge. Return the remaining tokens in their order.

    >>> prune([(b'abab', 2), (b'cb', 1)], [b'a', b'b', b'c', b'ab', b'cb'], [(0, 1, 3), (2, 1, 4)], 4)
    [b'a', b'b', b'c', b'ab']
    """
    uses: Counter[bytes] = Counter()
    for word, count in words:
        for index in split_by(word, merges, tokens):
            uses[tokens[index]] += count
    remaining = list(tokens)
    rows = [(tokens[a], tokens[b]) for a, b, _ in merges]
    results = [a + b for a, b in rows]
    while len(remaining) > size:
        needed = {part for pair in rows if pair[0] + pair[1] in remaining for part in pair}
        leaves = [token for token in remaining if len(token) > 1 and token not in needed]
        if not leaves:
            break
        order = {
            token: results.index(token) if token in results else len(results) + remaining.index(token)
            for token in leaves
        }
        rarest = min(leaves, key=lambda token: (uses[token], -order[token]))
        remaining.remove(rarest)
        if rarest in results:
            for part in rows[results.index(rarest)]:
                uses[part] += uses[rarest]
    return remaining


Word = list[str]
Event = tuple[bool, tuple[str, ...]]


def replace(word: Word, old: tuple[str, ...], new: tuple[str, ...]) -> Word:
    """Replace ``old`` by ``new``, from left to right."""
    done: Word = []
    while word:
        is_old = tuple(word[: len(old)]) == old
        done += new if is_old else word[:1]
        word = word[len(old) if is_old else 1 :]
    return done


def train_picky_bpe(
    words: list[tuple[Word, int]], alphabet: list[str], size: int, threshold: float, *, inclusive: bool = False
) -> tuple[list[str], list[Event], dict[str, int]]:
    """Return the present tokens in order of first creation, the events, and the frequencies. "" is never merged.

    >>> tokens, events, _ = train_picky_bpe([(list('abc'), 3)], ['a', 'b', 'c'], 5, 0.6)
    >>> tokens
    ['a', 'b', 'c', 'abc']
    >>> events
    [(False, ('a', 'b')), (False, ('ab', 'c')), (True, ('a', 'b'))]
    """
    halves: dict[str, tuple[str, str]] = {}
    present = dict.fromkeys(alphabet)
    events: list[Event] = []
    count = Counter({token: sum(word.count(token) * times for word, times in words) for token in alphabet})

    def parts(token: str) -> tuple[str, ...]:
        return (token,) if token in present else parts(halves[token][0]) + parts(halves[token][1])

    def judge(token: str, merged: int) -> None:
        nonlocal words
        share = merged / (count[token] + merged)
        if token in halves and (share > threshold or (inclusive and share == threshold)):
            del present[token]
            pieces = parts(token)
            events.append((True, pieces))
            for piece in pieces:
                count[piece] += count[token]
            words = [(replace(word, (token,), pieces), times) for word, times in words]
            count[token] = 0

    # The most frequent pair is merged, then both parts are judged.
    while len(present) < size:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, times in words:
            for pair in pairwise(word):
                pairs[pair] += times * all(pair)
        if not pairs or max(pairs.values()) == 0:
            break
        rank = {token: place for place, token in enumerate(["", *alphabet, *halves])}
        left, right = min(pairs, key=lambda pair: (-pairs[pair], rank[pair[0]], rank[pair[1]]))
        token = left + right
        merged = sum(times * (len(word) - len(replace(word, (left, right), (token,)))) for word, times in words)
        words = [(replace(word, (left, right), (token,)), times) for word, times in words]
        halves.setdefault(token, (left, right))
        present[token] = None
        events.append((False, (left, right)))
        count[token] += merged
        for part in dict.fromkeys((left, right)):
            count[part] -= merged * (left, right).count(part)
            judge(part, merged)
    return [token for token in [*alphabet, *halves] if token in present], events, {t: count[t] for t in present}


def train_scaffold_bpe(words: list[tuple[Word, int]], alphabet: list[str], size: int) -> tuple[list[str], list[str]]:
    """Return the tokens beyond the alphabet that are not scaffolds, and the scaffolds, both in order of creation.

    >>> train_scaffold_bpe([(list('abc'), 3), (list('de'), 2)], list('abcde'), 7)
    (['abc', 'de'], ['ab'])
    """
    frequency: dict[str, int] = {}
    scaffolds: set[str] = set()
    merged: tuple[str, ...] = ()
    while True:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, times in words:
            for pair in pairwise(word):
                pairs[pair] += times
        # Parts of the last merge that are rarer than the head of the queue are scaffolds.
        highest = max(pairs.values(), default=0)
        head = max([highest, *(frequency[token] for token in scaffolds)])
        scaffolds |= {part for part in merged if part in frequency and frequency[part] < head}
        if len(alphabet) + len(frequency) - len(scaffolds) >= size or head == 0:
            return [token for token in frequency if token not in scaffolds], [t for t in frequency if t in scaffolds]
        # The head is a scaffold, which becomes a token again, or a pair, which is merged.
        if head > highest:
            scaffolds.remove(next(token for token in frequency if token in scaffolds and frequency[token] == head))
            merged = ()
            continue
        rank = {token: place for place, token in enumerate([*alphabet, *frequency])}
        left, right = min(pairs, key=lambda pair: (-pairs[pair], rank[pair[0]], rank[pair[1]]))
        merged = left, right
        replaced = sum(times * (len(word) - len(replace(word, merged, ("",)))) for word, times in words)
        words = [(replace(word, merged, (left + right,)), times) for word, times in words]
        for part in merged:
            if part in frequency:
                frequency[part] -= replaced
        frequency[left + right] = replaced


Piece = tuple[bytes, bool]


def train_wordpiece(
    words: list[tuple[bytes, int]], ranks: list[int], size: int, min_count: int, max_length: int, objective: str
) -> list[Piece]:
    """Return (bytes, inside a pre-token) of every piece, the 512 of the alphabet first.

    >>> train_wordpiece([(b'abab', 2)], list(range(256)), 514, 1, 16, 'frequency')[512:]
    [(b'ab', False), (b'ab', True)]
    """
    pieces = [(bytes([byte]), inside) for inside in (False, True) for byte in range(256)]
    ranks = ranks + [256 + rank for rank in ranks] + list(range(512, size))
    spelt = [([word[0], *(256 + byte for byte in word[1:])], count) for word, count in words]
    while len(pieces) < size:
        pairs: Counter[tuple[int, int]] = Counter()
        single: Counter[int] = Counter()
        for word, count in spelt:
            for symbol in word:
                single[symbol] += count
            for left, right in pairwise(word):
                if len(pieces[left][0] + pieces[right][0]) <= max_length:
                    pairs[left, right] += count
        allowed = [pair for pair in pairs if pairs[pair] >= min_count]
        if not allowed:
            break
        score = {
            (a, b): Fraction(pairs[a, b], single[a] * single[b]) if objective == "likelihood" else 0 for a, b in allowed
        }
        best = min(allowed, key=lambda pair: (-score[pair], -pairs[pair], ranks[pair[0]], ranks[pair[1]]))
        for word, _ in spelt:
            join(word, best, len(pieces))
        left, right = best
        pieces.append((pieces[left][0] + pieces[right][0], pieces[left][1]))
    return pieces
