"""Texts around a token's bytes in which it may come out, where it does not by itself.

The built-in pre-tokenizations decide whether they cut within a stretch of text by its own characters, by the state in
which they come to it and by the one character after it. Every such state is reached by one or two characters before it
(:data:`BEFORE`), and characters count by their class alone. So these contexts stand for all, and a token that they all
cut is cut in every text. Where a token begins or ends within a character, characters of every class that have those
bytes complete it.

Whether some text has a token within a pre-token, or as one by itself, where patterns that are compiled cut texts.

A match is followed through the automaton of the patterns (:mod:`tokbench.pretokenization.patterns`). It may have begun
anywhere before the token, so it comes to it in any state that there is; where none of these lives through the token's
characters with an end still to come, no match holds the token. What lies between matches holds none of the characters
at which every match succeeds. So a no is a proof. A yes is none: what a state has read before may be what no text has
there.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import regex

from tokbench.kernels import unicode_classes
from tokbench.pretokenization.patterns.automaton import DEAD, START, Automaton
from tokbench.pretokenization.patterns.borders import Steps
from tokbench.pretokenization.patterns.sequence import able

BEFORE: tuple[bytes, ...] = (b"", b" ", b"a", b"\n", b"1", b"!", b"'", b"'l", b"'r", b"'v", b"!'")
AFTER: tuple[bytes, ...] = (b"", b"a", b" ", b"\n", b"1", b"!", b"s", b"l", b"e")
RARE = tuple(map(str.encode, ("\U0003134a", "\U0001fbf9", "\U0001ed3d", "\u205f", "\U0010fffd")))
"""A character of each class that no vocabulary is likely to have joined with anything."""
LONGEST = 3
"""Bytes of a character that a token can begin or end without the rest of."""
SPREAD = 6
"""Characters of a class, from the first to the last, that complete a token."""
CLASSES = ("LETTERS", "DIGITS", "NUMERALS", "BLANKS")
_LIKE = regex.compile(r"(?P<letter>\p{L})|(?P<number>\p{Nd})|(?P<numeral>\p{N})|(?P<blank>[^\S ])|(?P<other>[^ '])")
_STANDS = {"letter": "a", "number": "1", "numeral": "\u00bd", "blank": "\n", "other": "!"}


def contexts(token: bytes) -> Iterator[tuple[bytes, bytes]]:
    """What to put before and after a token to meet every state of a built-in pre-tokenization, likeliest first."""
    before, after = BEFORE, AFTER
    if tail := _tail(token):
        leads = heads_of(tail)
        before = (*leads, *(b" " + lead for lead in leads[: len(CLASSES) + 1]), *before)
    if head := head_of(token):
        after = (*tails_of(head), *after)
    return _diagonally(before, after)


def rare_contexts(token: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Further ones, of characters that join with nothing, for segmentations that look beyond a token."""
    before, after = (b"", b" ", *RARE, *(b" " + one for one in RARE)), (b"", *RARE)
    if tail := _tail(token):
        before = tuple(b"".join((one, lead)) for lead in heads_of(tail) for one in (b"", RARE[0], RARE[-1]))
    if head := head_of(token):
        after = tails_of(head)
    return _diagonally(before, after)


def _diagonally(before: Sequence[bytes], after: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """All pairs, those of first ones first."""
    for total in range(len(before) + len(after) - 1):
        for place in range(max(0, total - len(after) + 1), min(total + 1, len(before))):
            yield before[place], after[total - place]


def likeness(token: bytes) -> bytes:
    """A text that built-in pre-tokenizations cut as they cut a token: another character of the same class for each.

    Letters stay that may belong to a contraction: the first two, and two after an apostrophe. A token that is not UTF-8
    is like itself alone.
    """
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return token
    alike = _LIKE.sub(lambda found: _STANDS[str(found.lastgroup)], text)
    kept = (
        own if place < 2 or "'" in text[max(0, place - 2) : place] else other
        for place, (own, other) in enumerate(zip(text, alike, strict=True))
    )
    return "".join(kept).encode()


def _tail(token: bytes) -> bytes:
    """The bytes at its beginning that end a character; empty where there are none, or more than a character has."""
    size = next((place for place, byte in enumerate(token) if byte & 0xC0 != 0x80), len(token))
    return token[:size] if size <= LONGEST else b""


def head_of(token: bytes) -> bytes:
    """The bytes at its end that begin a character without ending it."""
    for size in range(1, min(LONGEST, len(token)) + 1):
        byte = token[-size]
        if byte & 0xC0 != 0x80:
            return token[-size:] if size < _length(byte) else b""
    return b""


def _length(lead: int) -> int:
    """Bytes of the character that a byte leads; 1 for one that leads none."""
    spans = ((2, 0xC2, 0xDF), (3, 0xE0, 0xEF), (4, 0xF0, 0xF4))
    return next((size for size, low, high in spans if low <= lead <= high), 1)


@cache
def heads_of(tail: bytes) -> tuple[bytes, ...]:
    """What makes a whole character of its last bytes: some of every class that has any, one of each first."""
    step = 64 ** len(tail)
    rest = 0
    for byte in tail:
        rest = rest * 64 + (byte & 0x3F)
    least = (0x80, 0x800, 0x10000)[len(tail) - 1]
    first = rest + -(-max(0, least - rest) // step) * step
    return tuple(dict.fromkeys(chr(code).encode()[: -len(tail)] for code in _spread(range(first, 0x110000, step))))


@cache
def tails_of(head: bytes) -> tuple[bytes, ...]:
    """What makes a whole character of its first bytes: all where one byte is missing, else some of every class."""
    missing = _length(head[0]) - len(head)
    low, high = (_code(head + bytes([byte]) * missing) for byte in (0x80, 0xBF))
    least = (0, 0x80, 0x800, 0x10000)[_length(head[0]) - 1]
    codes = range(max(low, least), min(high, 0x10FFFF) + 1)
    found = [*_spread(codes), *(code for code in codes if missing == 1 and not 0xD800 <= code < 0xE000)]
    return tuple(dict.fromkeys(chr(code).encode()[len(head) :] for code in found))


def _code(character: bytes) -> int:
    """The number that the bytes of a character spell, be it one of Unicode's or not."""
    code = character[0] & (0x7F >> len(character))
    for byte in character[1:]:
        code = code * 64 + (byte & 0x3F)
    return code


def _spread(codes: range) -> list[int]:
    """The first of these in each class, then more of each up to its last."""
    chosen = []
    for ranges in _ranges():
        inside = [found for low, high in ranges if (found := _inside(codes, low, high))]
        total = sum(map(len, inside))
        places = dict.fromkeys(place * (total - 1) // (SPREAD - 1) for place in range(SPREAD)) if total else ()
        chosen.append([_nth(inside, place) for place in places])
    return [one for rank in range(SPREAD) for found in chosen for one in found[rank : rank + 1]]


def _inside(codes: range, low: int, high: int) -> range:
    """Those of an ascending range that lie between two, both included."""
    first = max(0, -(-(low - codes.start) // codes.step))
    return codes[first : max(first, (high - codes.start) // codes.step + 1)]


def _nth(parts: Sequence[range], place: int) -> int:
    for part in parts:
        if place < len(part):
            return part[place]
        place -= len(part)
    raise IndexError(place)


@cache
def _ranges() -> tuple[tuple[tuple[int, int], ...], ...]:
    """Code points of each class, and of none, as ranges in order; surrogates, which have no bytes, in none of them."""
    classes = [_read(getattr(unicode_classes, name)) for name in CLASSES]
    taken = sorted([*(one for ranges in classes for one in ranges), (0xD800, 0xDFFF), (0x110000, 0x110000)])
    others, start = [], 0
    for low, high in taken:
        if start < low:
            others.append((start, low - 1))
        start = max(start, high + 1)
    return (*map(tuple, classes), tuple(others))


def _read(text: str) -> list[tuple[int, int]]:
    ends = (one.partition("-") for one in text.split())
    return [(int(low, 16), int(high or low, 16)) for low, _, high in ends]


class PretokenAutomaton:
    """The pre-tokens of an automaton.

    Args:
        automaton: what cuts texts.
    """

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self._sure, self._able = Steps(automaton).sure, able(automaton)
        self._starts = [first for first, _ in automaton.symbols.classes.runs]
        self._reached = self._from({START})

    def within(self, token: bytes) -> bool:
        """False where every text is cut within the token's bytes.

        Bytes at its ends that may belong to a character with others around them are left out: what is cut within the
        rest is cut within the token.
        """
        classes = self._classes(_whole_characters(token))
        if len(classes) < 2 or not any(self._sure >> number & 1 for number in classes):
            return True
        return any(self._able >> state & 1 for state in self._through(self._reached, classes))

    def alone(self, token: bytes) -> bool:
        """False where no text has the token as a pre-token by itself."""
        rest = _whole_characters(token)
        classes = self._classes(rest)
        if rest != token or not any(self._sure >> number & 1 for number in classes):
            return self.within(token)
        return any(self._automaton.ends[state] for state in self._through({START}, classes))

    def _classes(self, text: bytes) -> list[int]:
        runs = self._automaton.symbols.classes.runs
        codes = map(ord, text.decode("utf-8", "surrogateescape"))
        return [runs[bisect_right(self._starts, code) - 1][1] for code in codes]

    def _through(self, states: set[int], classes: Iterable[int]) -> set[int]:
        for number in classes:
            states = self._after(states, self._automaton.symbols.of_class(number))
        return states

    def _after(self, states: Iterable[int], symbols: Iterable[int]) -> set[int]:
        return {self._automaton.targets[state][symbol] for state in states for symbol in symbols} - {DEAD}

    def _from(self, states: set[int]) -> set[int]:
        while more := self._after(states, range(self._automaton.symbols.count)) - states:
            states = states | more
        return states


def _whole_characters(token: bytes) -> bytes:
    """A token without the bytes at its ends that may be a part of a character."""
    start = 0
    while start < min(LONGEST, len(token)) and token[start] & 0xC0 == 0x80:
        start += 1
    return token[start : len(token) - len(head_of(token))]
