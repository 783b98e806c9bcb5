"""Segmentation methods, the encoder, token matches, derivations, the trie, and pre-token boundaries.

- Segmentations: greedy and longest prefix; longest suffix; PathPiece's shortest path (algorithm 1 of the paper);
  likelihood; MinGram's likeliest shortest path; merging, also of tuples; rank of the joined token; whole or merge;
  events and post-removal; BPE dropout (algorithm 1 of the paper, and the probability of each outcome); partition
  cover; derivations.
- Counts: matches of tokens at every position, and adjacent byte pairs covered by a token.
- Boundaries: pre-tokens by regular expression, the definition that the scanners implement.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, compress, pairwise, product

import regex

from tokbench.reference.numbers import draws


def pieces(pattern: str, text: str) -> Iterator[str]:
    """Yield the matches of a pattern and the text between them."""
    end = 0
    for match in regex.finditer(pattern, text):
        if match.start() > end:
            yield text[end : match.start()]
        yield match[0]
        end = match.end()
    if end < len(text):
        yield text[end:]


def boundaries(pattern: str | Sequence[str] | None, text: bytes) -> list[int]:
    """Return the pre-token boundaries. Each pattern splits the pieces of the one before (default: one piece).

    >>> boundaries(' ?[^ ]+', b'sea shell')
    [0, 3, 9]
    """
    parts = [text.decode("utf-8", "surrogateescape")] if text else []
    for step in [pattern] if isinstance(pattern, str) else pattern or []:
        parts = [piece for part in parts for piece in pieces(step, part)]
    return [0, *accumulate(len(piece.encode("utf-8", "surrogateescape")) for piece in parts)]


def groups(text: str, size: int) -> list[str]:
    """Split the digits of a number into groups, counted from the right."""
    return [*groups(text[:-size], size), text[-size:]] if len(text) > size else [text]


def greedy(text: bytes, first: dict[bytes, int], rest: dict[bytes, int]) -> list[int]:
    """Match the longest token of ``first``, then the longest of ``rest`` repeatedly.

    >>> ids = {b'a': 0, b'b': 1, b'c': 2, b'ab': 3, b'bc': 4}
    >>> greedy(b'abc', ids, ids)
    [3, 2]
    """
    ids_of_text = []
    ids = first
    while text:
        size = max(size for size in range(1, len(text) + 1) if text[:size] in ids)
        ids_of_text.append(ids[text[:size]])
        text = text[size:]
        ids = rest
    return ids_of_text


def longest_suffix(text: bytes, ids: dict[bytes, int]) -> list[int]:
    """Match the longest token at the end repeatedly.

    >>> longest_suffix(b'abc', {b'a': 0, b'b': 1, b'c': 2, b'ab': 3, b'bc': 4})
    [0, 4]
    """
    numbers = []
    while text:
        size = max(size for size in range(1, len(text) + 1) if text[-size:] in ids)
        numbers.append(ids[text[-size:]])
        text = text[:-size]
    return numbers[::-1]


def longest(text: bytes, ids: dict[bytes, int]) -> list[int]:
    """Return the fewest tokens. Ties among last tokens: the widest.

    >>> longest(b'abcd', {b'a': 0, b'b': 1, b'c': 2, b'd': 3, b'ab': 4, b'bcd': 5})
    [0, 5]
    """
    return _segment(text, ids, None)


def random(text: bytes, ids: dict[bytes, int], seed: int, place: int = 0) -> list[int]:
    """Return the fewest tokens. Ties: the k-th of equal widths replaces the current one with probability 1/k."""
    return _segment(text, ids, draws(text, seed, place))


def _segment(text: bytes, ids: dict[bytes, int], numbers: Iterator[int] | None) -> list[int]:
    lengths, widths = [0], [0]
    for end in range(1, len(text) + 1):
        length, width, equal = len(text) + 1, 0, 0
        for w in range(1, end + 1):
            if text[end - w : end] not in ids:
                continue
            new = lengths[end - w] + 1
            if new < length:
                length, width, equal = new, w, 1
            elif new == length:
                equal += 1
                if numbers is None or (next(numbers) >> 32) * equal < 2**32:
                    width = w
        lengths.append(length)
        widths.append(width)
    ids_backwards = []
    end = len(text)
    while end:
        ids_backwards.append(ids[text[end - widths[end] : end]])
        end -= widths[end]
    return ids_backwards[::-1]


def likelihood(text: bytes, scores: dict[bytes, float]) -> list[bytes]:
    """Return the tokens with the greatest sum of scores. Ties among last tokens: the longest.

    >>> likelihood(b'abc', {b'a': -2.0, b'b': -2.0, b'c': -1.0, b'ab': -1.5, b'bc': -2.0})
    [b'ab', b'c']
    """
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(text) + 1):
        widths = [width for width in range(1, end + 1) if text[end - width : end] in scores]
        best.append(max((scores[text[end - width : end]] + best[end - width][0], width) for width in widths))
    tokens = []
    while text:
        width = best[len(text)][1]
        tokens.append(text[-width:])
        text = text[:-width]
    return tokens[::-1]


def likeliest_shortest(text: bytes, costs: Mapping[bytes, int], ties: str = "leading") -> list[bytes]:
    """Return the fewest tokens, and of these segmentations the least sum of costs.

    Ties among last tokens: the shortest (``leading``) or the longest (``trailing``).

    >>> likeliest_shortest(b'abc', {b'a': 2, b'b': 2, b'c': 1, b'ab': 1, b'bc': 2})
    [b'ab', b'c']
    """
    sign = 1 if ties == "leading" else -1
    best = [(0, 0, 0)]
    for end in range(1, len(text) + 1):
        widths = [width for width in range(1, end + 1) if text[end - width : end] in costs]
        ways = ((best[end - width], costs[text[end - width : end]], width) for width in widths)
        best.append(min((before[0] + 1, before[1] + cost, sign * width) for before, cost, width in ways))
    tokens = []
    while text:
        width = abs(best[len(text)][2])
        tokens.append(text[-width:])
        text = text[:-width]
    return tokens[::-1]


def every_segmentation(text: bytes, tokens: set[bytes]) -> list[list[bytes]]:
    """Return all segmentations of the text into tokens."""
    if not text:
        return [[]]
    return [
        [text[:size], *rest]
        for size in range(1, len(text) + 1)
        if text[:size] in tokens
        for rest in every_segmentation(text[size:], tokens)
    ]


def merge(text: bytes, merges: Sequence[tuple[int, int, int]]) -> list[int]:
    """Join the leftmost pair of the lowest rank until none is left.

    >>> merge(b'abab', [(97, 98, 256), (256, 256, 257)])
    [257]
    """
    ranks: dict[tuple[int, int], int] = {}
    for rank, (left, right, _) in enumerate(merges):
        ranks.setdefault((left, right), rank)
    ids = list(text)
    while candidates := [(ranks[pair], i) for i, pair in enumerate(pairwise(ids)) if pair in ranks]:
        rank, i = min(candidates)
        ids[i : i + 2] = [merges[rank][2]]
    return ids


def ranked(text: bytes, ids: Mapping[bytes, int]) -> list[int]:
    """Return a token unsplit; otherwise repeatedly join the leftmost neighbours with the lowest joined id.

    >>> ranked(b'abc', {b'a': 0, b'b': 1, b'c': 2, b'ab': 3, b'bc': 4})
    [3, 2]
    """
    if text in ids:
        return [ids[text]]
    tokens = [bytes([byte]) for byte in text]
    while candidates := [
        (ids[left + right], i) for i, (left, right) in enumerate(pairwise(tokens)) if left + right in ids
    ]:
        _, i = min(candidates)
        tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]
    return [ids[token] for token in tokens]


def whole_or_merge(text: bytes, ids: Mapping[bytes, int], merges: Sequence[tuple[int, int, int]]) -> list[int]:
    """Return a text that is a token as one token, and merge any other.

    >>> whole_or_merge(b'abc', {b'abc': 257}, [(97, 98, 256)])
    [257]
    """
    return [ids[text]] if text in ids else merge(text, merges)


def characters(text: bytes) -> list[bytes]:
    """Return the UTF-8 characters of a text; a byte outside of valid UTF-8 is one part."""
    return [character.encode("utf-8", "surrogateescape") for character in text.decode("utf-8", "surrogateescape")]


def merge_characters(text: bytes, tokens: Collection[bytes], ranks: Mapping[tuple[bytes, bytes], float]) -> list[bytes]:
    """Join the leftmost pair of the lowest rank, beginning with characters, or their bytes if they are not tokens.

    >>> n, e = b'n', 'é'.encode()
    >>> [token.decode() for token in merge_characters(n + e, {n, e}, {(n, e): 0})]
    ['né']
    """
    cut = [
        part
        for character in characters(text)
        for part in ([character] if character in tokens else [bytes([byte]) for byte in character])
    ]
    return join_by_rank(cut, ranks)


def join_by_rank(parts: Sequence[bytes], ranks: Mapping[tuple[bytes, bytes], float]) -> list[bytes]:
    """Join the leftmost pair of the lowest rank until no pair has one.

    >>> join_by_rank([b'a', b'b', b'c'], {(b'b', b'c'): 0, (b'a', b'b'): 1})
    [b'a', b'bc']
    """
    cut = list(parts)
    while candidates := [(ranks[pair], i) for i, pair in enumerate(pairwise(cut)) if pair in ranks]:
        _, i = min(candidates)
        cut[i : i + 2] = [cut[i] + cut[i + 1]]
    return cut


def symbols_of(text: bytes, alphabet: Collection[bytes]) -> list[bytes]:
    """Return the longest symbols of an alphabet from the left; a byte at which none begins is a symbol.

    >>> symbols_of(b'abcab', {b'ab', b'abd', b'bc'})
    [b'ab', b'c', b'ab']
    """
    cut = []
    while text:
        sizes = (size for size in range(len(text), 1, -1) if text[:size] in alphabet)
        cut.append(text[: next(sizes, 1)])
        text = text[len(cut[-1]) :]
    return cut


def merge_alphabet(text: bytes, tokens: Collection[bytes], merges: Sequence[tuple[bytes, bytes]]) -> list[bytes]:
    """Join the leftmost pair of the lowest rank, beginning with the tokens that no merge makes.

    >>> merge_alphabet(b'abcab', [b'ab', b'abc'], [(b'ab', b'c')])
    [b'abc', b'ab']
    """
    ranks: dict[tuple[bytes, bytes], float] = {}
    for rank, pair in enumerate(merges):
        ranks.setdefault(pair, rank)
    return join_by_rank(symbols_of(text, set(tokens) - {left + right for left, right in merges}), ranks)


def merge_scores(text: bytes, scores: Mapping[bytes, float]) -> list[bytes]:
    """Join the leftmost neighbours whose concatenation has the highest score, beginning with characters.

    >>> merge_scores(b'abc', {b'a': -3.0, b'b': -3.0, b'c': -3.0, b'ab': -2.0, b'bc': -1.0})
    [b'a', b'bc']
    """
    pairs = ((token[:size], token[size:]) for token in scores for size in range(1, len(token)))
    ranks = {pair: -scores[b"".join(pair)] for pair in pairs if not any(map(is_part, pair))}
    return merge_characters(text, scores, ranks)


def is_part(token: bytes) -> bool:
    """Return whether a token is a byte that is no character."""
    return len(token) == 1 and token[0] >= 0x80


def isolated(strings: Collection[str], text: str) -> list[str]:
    """Return a text cut before and after each string, leftmost first, the longest of those.

    >>> isolated({'  ', ' '}, 'a  b')
    ['a', '  ', 'b']
    """
    parts, start = [], 0
    while start < len(text):
        longest = max((string for string in strings if text.startswith(string, start)), key=len, default="")
        if longest:
            parts += [text[:start], longest]
            text, start = text[start + len(longest) :], 0
        else:
            start += 1
    return [part for part in [*parts, text] if part]


def added(text: bytes, tokens: Collection[bytes], others: Callable[[bytes], list[bytes]]) -> list[bytes]:
    """Return a text that is an added token as one token, and split any other by ``others``.

    >>> added(b'<s>', {b'<s>'}, lambda text: [bytes([byte]) for byte in text])
    [b'<s>']
    """
    return [text] if text in tokens else others(text)


Event = tuple[bool, tuple[bytes, ...]]


def cut_by(alphabet: Collection[bytes], text: bytes) -> list[bytes]:
    """Split a text into symbols by longest match from the left."""
    ids = {token: index for index, token in enumerate(alphabet)}
    tokens = list(alphabet)
    return [tokens[index] for index in greedy(text, ids, ids)]


def replace(cut: list[bytes], old: tuple[bytes, ...], new: tuple[bytes, ...]) -> list[bytes]:
    """Replace ``old`` by ``new``, from left to right."""
    result: list[bytes] = []
    while cut:
        is_old = tuple(cut[: len(old)]) == old
        result += new if is_old else cut[:1]
        cut = cut[len(old) if is_old else 1 :]
    return result


def by_events(
    text: bytes, tokens: Collection[bytes], alphabet: Collection[bytes], events: Sequence[Event]
) -> list[bytes]:
    """Replay every event in order, each at every match.

    >>> events = [(False, (b'a', b'b')), (True, (b'a', b'b')), (False, (b'b', b'c'))]
    >>> by_events(b'abc', {b'a', b'bc'}, [b'a', b'b', b'c'], events)
    [b'a', b'bc']
    """
    if text in tokens:
        return [text]
    cut = cut_by(alphabet, text)
    for split, parts in events:
        whole = (b"".join(parts),)
        cut = replace(cut, whole, parts) if split else replace(cut, parts, whole)
    return cut


def post_removal(
    text: bytes, tokens: Collection[bytes], alphabet: Collection[bytes], events: Sequence[Event]
) -> list[bytes]:
    """Join the leftmost pair of the earliest merge until none is left, then split by the last removals.

    >>> post_removal(b'ab', {b'a', b'b'}, [b'a', b'b'], [(False, (b'a', b'b')), (True, (b'a', b'b'))])
    [b'a', b'b']
    """
    cut = cut_by(alphabet, text)
    ranks: dict[tuple[bytes, ...], int] = {}
    for rank, (split, parts) in enumerate(events):
        if not split:
            ranks.setdefault(parts, rank)
    while candidates := [(ranks[pair], i) for i, pair in enumerate(pairwise(cut)) if pair in ranks]:
        i = min(candidates)[1]
        cut[i : i + 2] = [cut[i] + cut[i + 1]]
    removals = {b"".join(parts): parts for split, parts in events if split}
    while removed := [i for i, token in enumerate(cut) if token not in tokens]:
        cut[removed[0] : removed[0] + 1] = removals[cut[removed[0]]]
    return cut


def merge_tuples(text: bytes, merges: Sequence[tuple[bytes, ...]]) -> list[bytes]:
    """Join the leftmost parts of the earliest merge until no merge has all its parts side by side.

    >>> merge_tuples(b'abcd', [(b'a', b'b', b'c')])
    [b'abc', b'd']
    """
    cut = [bytes([byte]) for byte in text]
    while candidates := [
        (rank, i)
        for rank, parts in enumerate(merges)
        for i in range(len(cut))
        if tuple(cut[i : i + len(parts)]) == parts
    ]:
        rank, i = min(candidates)
        cut[i : i + len(merges[rank])] = [b"".join(merges[rank])]
    return cut


Merges = Sequence[tuple[int, int, int]]


def bpe_dropout(text: bytes, merges: Merges, dropout: float, draws: Iterator[int]) -> list[int]:
    """At each step draw for the possible merges, best first, and apply the first that is not dropped."""
    ids = list(text)
    while True:
        applied_merges = (candidate for candidate in possible(ids, merges) if next(draws) >> 11 >= dropout * 2**53)
        best = next(applied_merges, None)
        if best is None:
            return ids
        ids = applied(ids, best, merges)


def outcomes(text: bytes, merges: Merges, dropout: float) -> dict[tuple[int, ...], float]:
    """Return the probability of each segmentation. All possible merges are drawn, as in the published algorithm.

    >>> dict(outcomes(b'ab', [(97, 98, 256)], 0.25))
    {(97, 98): 0.25, (256,): 0.75}
    """

    @cache
    def outcomes_of(ids: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        total: defaultdict[tuple[int, ...], float] = defaultdict(float)
        merges_here = possible(list(ids), merges)
        for choice in product((False, True), repeat=len(merges_here)):
            probability = (1 - dropout) ** sum(choice) * dropout ** (len(choice) - sum(choice))
            if not any(choice):
                total[ids] += probability
                continue
            best = min(compress(merges_here, choice))
            for end, share in outcomes_of(tuple(applied(list(ids), best, merges))).items():
                total[end] += probability * share
        return total

    return outcomes_of(tuple(text))


def possible(ids: list[int], merges: Merges) -> list[tuple[int, int]]:
    """Return rank and position of every possible merge: lowest rank first, then leftmost."""
    ranks: dict[tuple[int, int], int] = {}
    for rank, (left, right, _) in enumerate(merges):
        ranks.setdefault((left, right), rank)
    return sorted((ranks[pair], place) for place, pair in enumerate(pairwise(ids)) if pair in ranks)


def applied(ids: list[int], candidate: tuple[int, int], merges: Merges) -> list[int]:
    """Return the ids after one merge."""
    rank, place = candidate
    return [*ids[:place], merges[rank][2], *ids[place + 2 :]]


def cover(text: bytes, tokens: Sequence[bytes]) -> list[bytes]:
    """Sort all matches by (rank, start); clear the cuts inside each match whose two ends are cuts.

    >>> cover(b'abcd', [b'bc', b'cd'])
    [b'a', b'bc', b'd']
    """
    matches = sorted(
        (rank, start, start + len(token))
        for rank, token in enumerate(tokens)
        for start in range(len(text))
        if text.startswith(token, start)
    )
    cuts = set(range(len(text) + 1))
    for _, start, end in matches:
        if {start, end} <= cuts:
            cuts -= set(range(start + 1, end))
    return [text[start:end] for start, end in pairwise(sorted(cuts))]


def covered_pairs(tokens: list[bytes], counts: list[tuple[bytes, int]]) -> int:
    """Return the adjacent byte pairs of a text that lie in a match of a token.

    >>> covered_pairs([b'ab'], [(b'abab', 2)])
    4
    """
    total = 0
    for text, count in counts:
        marked: set[int] = set()
        for token in tokens:
            for start in range(len(text)):
                if text.startswith(token, start):
                    marked.update(range(start, start + len(token) - 1))
        total += len(marked) * count
    return total


def encode(pattern: str | Sequence[str] | None, text: bytes, cut: Callable[[bytes], list[int]]) -> list[int]:
    """Return the concatenated ids of the pre-tokens.

    >>> encode(' ?[^ ]+', b'ab b', list)
    [97, 98, 32, 98]
    """
    return [index for start, end in pairwise(boundaries(pattern, text)) for index in cut(text[start:end])]


def matches(pretokens: Iterable[tuple[bytes, int]], tokens: Sequence[bytes]) -> list[int]:
    """Return the matches of each token, including overlapping ones, weighted by the pre-tokens' counts.

    >>> matches([(b'banana', 2)], [b'an', b'ana'])
    [4, 4]
    """
    rows = list(pretokens)
    return [
        sum(count for text, count in rows for start in range(len(text)) if text.startswith(token, start))
        for token in tokens
    ]


Parts = dict[bytes, tuple[bytes, bytes]]


def derivations(tokens: Sequence[bytes], merges: Sequence[tuple[int, int, int]]) -> Parts | None:
    """Return the two parts of each reachable token, by rank; None if a token may be made of later ones.

    >>> derivations([*(bytes([byte]) for byte in range(256)), b'ab'], [(97, 98, 256)])
    {b'ab': (b'a', b'b')}
    """
    parts_of: Parts = {}
    present = {bytes([byte]) for byte in range(256)}
    first: dict[tuple[bytes, bytes], bool] = {}
    for left, right, _ in merges:
        pair = tokens[left], tokens[right]
        if pair in first:
            continue
        first[pair] = present >= set(pair)
        if first[pair] and agree(*pair, parts_of):
            parts_of[pair[0] + pair[1]] = pair
            present.add(pair[0] + pair[1])
    late = [pair for pair, in_time in first.items() if not in_time and present >= set(pair)]
    return None if any(agree(*pair, parts_of) for pair in late) else parts_of


def agree(left: bytes, right: bytes, parts_of: Parts) -> bool:
    """Return whether merging the bytes of two tokens results in the same two tokens."""
    numbers = {token: number for number, token in enumerate(parts_of)}
    pairs = {parts: numbers[token] for token, parts in parts_of.items()}
    limit = len(parts_of)
    while pairs.get((left, right), limit) >= limit:
        if max(numbers.get(left, -1), numbers.get(right, -1)) < 0:
            return True
        if numbers.get(left, -1) > numbers.get(right, -1):
            limit, left = numbers[left], parts_of[left][1]
        else:
            limit, right = numbers[right] + 1, parts_of[right][0]
    return False


def cut(text: bytes, parts_of: Parts) -> list[bytes]:
    """Return the only sequence of tokens in which all neighbours agree, found by trying the longest tokens first."""
    present = {bytes([byte]) for byte in range(256)} | set(parts_of)
    tokens: list[bytes] = []

    def behind(start: int) -> bool:
        """Extend ``found`` to the end of the text; return whether that is possible."""
        if start == len(text):
            return True
        for end in range(len(text), start, -1):
            token = text[start:end]
            if token in present and (not tokens or agree(tokens[-1], token, parts_of)):
                tokens.append(token)
                if behind(end):
                    return True
                tokens.pop()
        return False

    behind(0)
    return tokens


def lowest_ids(tokens: Sequence[bytes], included: Sequence[bool] | None = None) -> dict[bytes, int]:
    """Return the tokens of a trie with the lowest id of each."""
    ids: dict[bytes, int] = {}
    for index, token in enumerate(tokens):
        if included is None or included[index]:
            ids.setdefault(token, index)
    return ids


def prefixes(ids: dict[bytes, int], text: bytes) -> list[tuple[int, int]]:
    """Return the tokens at the start of ``text`` as (length, id), shortest first.

    >>> prefixes({b'a': 0, b'ab': 1, b'b': 2}, b'abc')
    [(1, 0), (2, 1)]
    """
    return [(size, ids[text[:size]]) for size in range(1, len(text) + 1) if text[:size] in ids]


def nodes(ids: dict[bytes, int]) -> int:
    """Return the number of distinct prefixes of the tokens, including the empty one."""
    return len({token[:size] for token in ids for size in range(len(token) + 1)} | {b""})
