"""Picky BPE: count every pair anew, merge the best one everywhere, remove what that makes redundant, again."""

from collections import Counter
from itertools import pairwise

Word = list[str]
Event = tuple[bool, tuple[str, ...]]


def replace(word: Word, old: tuple[str, ...], new: tuple[str, ...]) -> Word:
    """Put ``new`` wherever ``old`` stands, from left to right."""
    done: Word = []
    while word:
        found = tuple(word[: len(old)]) == old
        done += new if found else word[:1]
        word = word[len(old) if found else 1 :]
    return done


def train(
    words: list[tuple[Word, int]], alphabet: list[str], size: int, threshold: float
) -> tuple[list[str], list[Event], dict[str, int]]:
    """The present tokens in order of first creation, the events, and the frequencies; "" takes no part in merges."""
    made: dict[str, tuple[str, str]] = {}
    present = dict.fromkeys(alphabet)
    events: list[Event] = []
    count = Counter({token: sum(word.count(token) * times for word, times in words) for token in alphabet})

    def parts(token: str) -> tuple[str, ...]:
        return (token,) if token in present else parts(made[token][0]) + parts(made[token][1])

    def judge(token: str, merged: int) -> None:
        nonlocal words
        if token in made and merged / (count[token] + merged) > threshold:
            del present[token]
            pieces = parts(token)
            events.append((True, pieces))
            for piece in pieces:
                count[piece] += count[token]
            words = [(replace(word, (token,), pieces), times) for word, times in words]
            count[token] = 0

    while len(present) < size:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, times in words:
            for pair in pairwise(word):
                pairs[pair] += times * all(pair)
        if not pairs or max(pairs.values()) == 0:
            break
        rank = {token: place for place, token in enumerate(["", *alphabet, *made])}
        left, right = min(pairs, key=lambda pair: (-pairs[pair], rank[pair[0]], rank[pair[1]]))
        token = left + right
        merged = sum(times * (len(word) - len(replace(word, (left, right), (token,)))) for word, times in words)
        words = [(replace(word, (left, right), (token,)), times) for word, times in words]
        made.setdefault(token, (left, right))
        present[token] = None
        events.append((False, (left, right)))
        count[token] += merged
        for part in dict.fromkeys((left, right)):
            count[part] -= merged * (left, right).count(part)
            judge(part, merged)
    return [token for token in [*alphabet, *made] if token in present], events, {t: count[t] for t in present}
