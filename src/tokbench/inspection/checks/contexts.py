"""Contexts in which a token may be produced, and proofs that patterns always split it.

Built-in pre-tokenizations: splits within a stretch of text depend on its characters, on the state before it, and on the
next character. One or two characters before it (:data:`BEFORE`) reach every state, and only the class of each
character matters. So the contexts are exhaustive: a token that is split in all of them is split in every text. A token
that begins or ends within a character is completed with characters of every class.

Compiled patterns (:mod:`tokbench.pretokenization.patterns`): :class:`PretokenAutomaton` follows matches through the
automaton. A match may begin anywhere before the token, so all states are starting states. If none of them survives the
token's characters and can still accept, no match contains the token. Text between matches contains no character at
which every match succeeds. So a negative answer is a proof. A positive answer is not: the text that leads to a state
may be impossible before the token.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import regex

from tokbench.kernels import unicode_classes
from tokbench.pretokenization.patterns.automaton import DEAD, START, Automaton
from tokbench.pretokenization.patterns.borders import Steps
from tokbench.pretokenization.patterns.sequence import able

LEFT_CONTEXTS: tuple[bytes, ...] = (b"", b" ", b"a", b"\n", b"1", b"!", b"'", b"'l", b"'r", b"'v", b"!'")
RIGHT_CONTEXTS: tuple[bytes, ...] = (b"", b"a", b" ", b"\n", b"1", b"!", b"s", b"l", b"e")
RARE = tuple(map(str.encode, ("\U0003134a", "\U0001fbf9", "\U0001ed3d", "\u205f", "\U0010fffd")))
"""Rare characters of each class, which are unlikely to be part of longer tokens."""
LONGEST = 3
"""Maximum number of bytes of an incomplete character."""
SPREAD = 6
"""Number of characters of each class that complete a token, spread over the class."""
CLASSES = ("LETTERS", "DIGITS", "NUMERALS", "BLANKS")
_LIKE = regex.compile(r"(?P<letter>\p{L})|(?P<number>\p{Nd})|(?P<numeral>\p{N})|(?P<blank>[^\S ])|(?P<other>[^ '])")
_STANDS = {"letter": "a", "number": "1", "numeral": "\u00bd", "blank": "\n", "other": "!"}


def contexts(token: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield bytes before and after a token that reach every state of a built-in pre-tokenization, likeliest first."""
    before, after = LEFT_CONTEXTS, RIGHT_CONTEXTS
    if tail := _tail(token):
        leads = heads_of(tail)
        before = (*leads, *(b" " + lead for lead in leads[: len(CLASSES) + 1]), *before)
    if head := head_of(token):
        after = (*tails_of(head), *after)
    return _pairs_by_distance(before, after)


def rare_contexts(token: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield contexts of rare characters, for segmentations that depend on the bytes around a token."""
    before, after = (b"", b" ", *RARE, *(b" " + character for character in RARE)), (b"", *RARE)
    if tail := _tail(token):
        before = tuple(b"".join((character, lead)) for lead in heads_of(tail) for character in (b"", RARE[0], RARE[-1]))
    if head := head_of(token):
        after = tails_of(head)
    return _pairs_by_distance(before, after)


def _pairs_by_distance(before: Sequence[bytes], after: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield all pairs, ordered by the sum of their indices."""
    for total in range(len(before) + len(after) - 1):
        for place in range(max(0, total - len(after) + 1), min(total + 1, len(before))):
            yield before[place], after[total - place]


def likeness(token: bytes) -> bytes:
    """Return a text that built-in pre-tokenizations split like a token: one representative for each character's class.

    Letters that may belong to a contraction are kept: the first two, and two after an apostrophe. A token that is not
    UTF-8 is returned unchanged.
    """
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return token
    alike = _LIKE.sub(lambda match: _STANDS[str(match.lastgroup)], text)
    kept = (
        own if place < 2 or "'" in text[max(0, place - 2) : place] else other
        for place, (own, other) in enumerate(zip(text, alike, strict=True))
    )
    return "".join(kept).encode()


def _tail(token: bytes) -> bytes:
    """Return leading continuation bytes; empty if there are none, or more than one character can have."""
    size = next((place for place, byte in enumerate(token) if byte & 0xC0 != 0x80), len(token))
    return token[:size] if size <= LONGEST else b""


def head_of(token: bytes) -> bytes:
    """Return trailing bytes that begin an incomplete character; empty if there are none."""
    for size in range(1, min(LONGEST, len(token)) + 1):
        byte = token[-size]
        if byte & 0xC0 != 0x80:
            return token[-size:] if size < _length(byte) else b""
    return b""


def _length(lead: int) -> int:
    """Return the number of bytes of a character from its lead byte; 1 for any other byte."""
    spans = ((2, 0xC2, 0xDF), (3, 0xE0, 0xEF), (4, 0xF0, 0xF4))
    return next((size for size, low, high in spans if low <= lead <= high), 1)


@cache
def heads_of(tail: bytes) -> tuple[bytes, ...]:
    """Return prefixes that complete the last bytes of a character: up to six per class, one of each class first."""
    step = 64 ** len(tail)
    rest = 0
    for byte in tail:
        rest = rest * 64 + (byte & 0x3F)
    least = (0x80, 0x800, 0x10000)[len(tail) - 1]
    first = rest + -(-max(0, least - rest) // step) * step
    return tuple(dict.fromkeys(chr(code).encode()[: -len(tail)] for code in _spread(range(first, 0x110000, step))))


@cache
def tails_of(head: bytes) -> tuple[bytes, ...]:
    """Return suffixes that complete a character's first bytes: all if one byte is missing, else up to six per class."""
    missing = _length(head[0]) - len(head)
    low, high = (_code(head + bytes([byte]) * missing) for byte in (0x80, 0xBF))
    least = (0, 0x80, 0x800, 0x10000)[_length(head[0]) - 1]
    codes = range(max(low, least), min(high, 0x10FFFF) + 1)
    last_codes = [*_spread(codes), *(code for code in codes if missing == 1 and not 0xD800 <= code < 0xE000)]
    return tuple(dict.fromkeys(chr(code).encode()[len(head) :] for code in last_codes))


def _code(character: bytes) -> int:
    """Decode the code point of a character's bytes, which may be outside Unicode."""
    code = character[0] & (0x7F >> len(character))
    for byte in character[1:]:
        code = code * 64 + (byte & 0x3F)
    return code


def _spread(codes: range) -> list[int]:
    """Return code points spread over each class, the first of every class first."""
    chosen = []
    for ranges in _ranges():
        inside = [part for low, high in ranges if (part := _inside(codes, low, high))]
        total = sum(map(len, inside))
        places = dict.fromkeys(place * (total - 1) // (SPREAD - 1) for place in range(SPREAD)) if total else ()
        chosen.append([_nth(inside, place) for place in places])
    return [code for rank in range(SPREAD) for part in chosen for code in part[rank : rank + 1]]


def _inside(codes: range, low: int, high: int) -> range:
    """Return the part of an ascending range from ``low`` to ``high``, both included."""
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
    """Return the code points of each class, and of no class, as sorted ranges without surrogates."""
    classes = [_read(getattr(unicode_classes, name)) for name in CLASSES]
    taken = sorted([*(bounds for ranges in classes for bounds in ranges), (0xD800, 0xDFFF), (0x110000, 0x110000)])
    others, start = [], 0
    for low, high in taken:
        if start < low:
            others.append((start, low - 1))
        start = max(start, high + 1)
    return (*map(tuple, classes), tuple(others))


def _read(text: str) -> list[tuple[int, int]]:
    ends = (item.partition("-") for item in text.split())
    return [(int(low, 16), int(high or low, 16)) for low, _, high in ends]


class PretokenAutomaton:
    """Possible pre-tokens of compiled patterns.

    Args:
        automaton: automaton of the patterns.
    """

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self._sure, self._able = Steps(automaton).sure, able(automaton)
        self._starts = [first for first, _ in automaton.symbols.classes.runs]
        self._reached = self._reachable_states({START})

    def fits_pretoken(self, token: bytes) -> bool:
        """Return False if every text is split within the token's bytes.

        Incomplete characters at its ends are ignored: a split within the rest is a split within the token.
        """
        classes = self._classes(_complete_characters(token))
        if len(classes) < 2 or not any(self._sure >> number & 1 for number in classes):
            return True
        return any(self._able >> state & 1 for state in self._states_after(self._reached, classes))

    def is_pretoken(self, token: bytes) -> bool:
        """Return False if the token is not a complete pre-token of any text."""
        rest = _complete_characters(token)
        classes = self._classes(rest)
        if rest != token or not any(self._sure >> number & 1 for number in classes):
            return self.fits_pretoken(token)
        return any(self._automaton.ends[state] for state in self._states_after({START}, classes))

    def _classes(self, text: bytes) -> list[int]:
        runs = self._automaton.symbols.classes.runs
        codes = map(ord, text.decode("utf-8", "surrogateescape"))
        return [runs[bisect_right(self._starts, code) - 1][1] for code in codes]

    def _states_after(self, states: set[int], classes: Iterable[int]) -> set[int]:
        for number in classes:
            states = self._successors(states, self._automaton.symbols.of_class(number))
        return states

    def _successors(self, states: Iterable[int], symbols: Iterable[int]) -> set[int]:
        return {self._automaton.targets[state][symbol] for state in states for symbol in symbols} - {DEAD}

    def _reachable_states(self, states: set[int]) -> set[int]:
        while more := self._successors(states, range(self._automaton.symbols.count)) - states:
            states = states | more
        return states


def _complete_characters(token: bytes) -> bytes:
    """Return a token without incomplete characters at its ends."""
    start = 0
    while start < min(LONGEST, len(token)) and token[start] & 0xC0 == 0x80:
        start += 1
    return token[start : len(token) - len(head_of(token))]
