"""Parser of the regular expressions used for pre-tokenization.

The language is a part of the ``regex`` package's (version 0, without flags): a match depends on nothing before it. It
has characters, sets, groups, alternatives, quantifiers, and look-ahead by one character. Other syntax raises
:class:`LanguageError`; so does syntax that other engines interpret differently.
"""

from dataclasses import dataclass

from tokbench.pretokenization.patterns.characters import (
    Ranges,
    cases_of,
    complement,
    property_of,
    shorthand,
    single,
    union,
)

SPECIAL = frozenset("\\[](){}*+?.^$|")
CONTROLS = {"r": "\r", "n": "\n", "t": "\t"}
HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
MAX_REPETITIONS = 100


class LanguageError(Exception):
    """The pattern is outside the compiled language. If a part of it is the reason, the message is that part."""


@dataclass(frozen=True)
class Characters:
    """One character of a set."""

    ranges: Ranges


@dataclass(frozen=True)
class LookAhead:
    """A look-ahead: the next character is in a set, or the text ends.

    Attributes:
        ranges: the set.
        end: whether the end of the text is accepted.
        final: whether a line feed at the end of the text is accepted.
    """

    ranges: Ranges
    end: bool
    final: bool = False


@dataclass(frozen=True)
class Sequence:
    parts: tuple["Node", ...]


@dataclass(frozen=True)
class Choice:
    """Alternatives; the first one that leads to a match is chosen."""

    options: tuple["Node", ...]


@dataclass(frozen=True)
class Repeat:
    """A repeated node.

    Attributes:
        least: minimum number of repetitions.
        most: maximum number; None for no limit.
        lazy: match as few as possible, instead of as many.
        possessive: match as many as there are, without backtracking.
    """

    node: "Node"
    least: int
    most: int | None
    lazy: bool = False
    possessive: bool = False


Node = Characters | LookAhead | Sequence | Choice | Repeat


@dataclass(frozen=True)
class ParsedPattern:
    """A parsed pattern.

    Attributes:
        node: syntax tree.
        sets: set of characters by source text, for each part that matches one character.
        caseless: contents of case-insensitive groups.
    """

    node: Node
    sets: dict[str, Ranges]
    caseless: tuple[Node, ...]


def parse(pattern: str) -> Node:
    """Parse a pattern and return its syntax tree.

    Raises:
        LanguageError: it is outside the compiled language, or not a regular expression.
    """
    return reading_of(pattern).node


def reading_of(pattern: str) -> ParsedPattern:
    """Parse a pattern and return its syntax tree and sets of characters.

    Raises:
        LanguageError: it is outside the compiled language, or not a regular expression.
    """
    reader = _Reader(pattern)
    try:
        node = reader.choice(any_case=False)
        if reader.place < len(pattern):
            raise LanguageError
    except LanguageError:
        raise LanguageError(pattern[reader.start :]) from None
    return ParsedPattern(node, reader.sets, tuple(reader.caseless))


def nullable(node: Node) -> bool:
    """Return whether a node may match the empty string."""
    match node:
        case Characters():
            return False
        case LookAhead():
            return True
        case Sequence(parts):
            return all(map(nullable, parts))
        case Choice(options):
            return any(map(nullable, options))
        case Repeat(inner, least):
            return least == 0 or nullable(inner)


class _Reader:
    """Recursive-descent parser of one pattern."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.place = pattern, 0
        self.start = 0
        self.sets: dict[str, Ranges] = {}
        self.caseless: list[Node] = []

    def peek(self, count: int = 1) -> str:
        return self.pattern[self.place : self.place + count]

    def take(self, expected: str = "") -> str:
        """Return the next character, or the expected text, and move past it."""
        text = self.peek(len(expected) or 1)
        if not text or (expected and text != expected):
            raise LanguageError
        self.place += len(text)
        return text

    def accept(self, expected: str) -> bool:
        if self.peek(len(expected)) != expected:
            return False
        self.place += len(expected)
        return True

    def choice(self, *, any_case: bool) -> Node:
        options = [self.sequence(any_case=any_case)]
        while self.accept("|"):
            options.append(self.sequence(any_case=any_case))
        if len(options) == 1:
            return options[0]
        sets = [option.ranges for option in options if isinstance(option, Characters)]
        return Characters(union(*sets)) if len(sets) == len(options) else Choice(tuple(options))

    def sequence(self, *, any_case: bool) -> Node:
        parts: list[Node] = []
        while self.peek() not in ("", "|", ")"):
            parts.append(self.quantify(self.atom(any_case=any_case)))
            if len(parts) > 1:
                parts[-2:] = _fuse(*parts[-2:])
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def quantify(self, node: Node) -> Node:
        least: int
        most: int | None
        sign = self.peek()
        if sign not in ("*", "+", "?", "{"):
            return node
        self.start = self.place
        if sign == "{":
            least, most = self.bounds()
        else:
            self.take()
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        lazy = self.accept("?")
        possessive = not lazy and self.accept("+")
        if self.peek() and self.peek() in "*+?{":
            raise LanguageError
        if nullable(node) or max(least, most or 0) > MAX_REPETITIONS or most == 0:
            raise LanguageError
        if possessive and not isinstance(node, Characters):
            raise LanguageError
        return Repeat(node, least, most, lazy, possessive)

    def bounds(self) -> tuple[int, int | None]:
        """Parse ``{m}``, ``{m,}`` or ``{m,n}``."""
        self.take("{")
        least = self.number()
        most: int | None = least
        if self.accept(","):
            most = self.number() if self.peek() != "}" else None
        self.take("}")
        if most is not None and most < least:
            raise LanguageError
        return least, most

    def number(self) -> int:
        digits = ""
        while self.peek() and self.peek() in "0123456789":
            digits += self.take()
        if not digits or len(digits) > 4:
            raise LanguageError
        return int(digits)

    def atom(self, *, any_case: bool) -> Node:
        start = self.start = self.place
        if self.accept("("):
            return self.group(any_case=any_case)
        node = self.single(any_case=any_case)
        if isinstance(node, Characters):
            source = self.pattern[start : self.place]
            self.sets[f"(?i:{source})" if any_case else source] = node.ranges
        return node

    def single(self, *, any_case: bool) -> Node:
        """Parse a character, a set or the end of the text."""
        if self.accept("["):
            return Characters(self.set(any_case=any_case))
        if self.accept("$"):
            return LookAhead((), end=True, final=True)
        if self.accept("."):
            return Characters(complement(single("\n")))
        if self.peek() == "\\":
            if self.accept("\\Z"):
                return LookAhead((), end=True)
            escaped = self.escape()
            if isinstance(escaped, str):
                return Characters(_cases_of(escaped, any_case=any_case))
            if any_case:
                raise LanguageError
            return Characters(escaped)
        if self.peek() in SPECIAL:
            raise LanguageError
        return Characters(_cases_of(self.take(), any_case=any_case))

    def group(self, *, any_case: bool) -> Node:
        start = self.place - 1
        for sign, negated in (("?=", False), ("?!", True)):
            if self.accept(sign):
                node = self.choice(any_case=any_case)
                self.take(")")
                self.start = start
                return _look_ahead(node, negated=negated)
        if self.accept("?i:"):
            any_case = True
        elif not self.accept("?:") and self.peek() == "?":
            raise LanguageError
        node = self.choice(any_case=any_case)
        self.take(")")
        self.start = start
        if any_case:
            self.caseless.append(node)
        return node

    def escape(self) -> str | Ranges:
        """Parse an escape: return a character or a set."""
        self.take("\\")
        letter = self.take()
        if letter in CONTROLS:
            return CONTROLS[letter]
        if letter in HEX_DIGITS:
            digits = self.peek(HEX_DIGITS[letter])
            if len(digits) < HEX_DIGITS[letter] or not set(digits) <= set("0123456789abcdefABCDEF"):
                raise LanguageError
            self.take(digits)
            if int(digits, 16) > 0x10FFFF:
                raise LanguageError
            return chr(int(digits, 16))
        if letter in "pP":
            return self.property(negated=letter == "P")
        ranges = shorthand(letter)
        if ranges is not None:
            return ranges
        if letter.isalnum() or letter == "_" or not letter.isascii():
            raise LanguageError
        return letter

    def property(self, *, negated: bool) -> Ranges:
        if self.accept("{"):
            end = self.pattern.find("}", self.place)
            name = self.pattern[self.place : end] if end >= 0 else ""
            self.take(name + "}")
            if name.startswith("^"):
                name, negated = name[1:], not negated
        else:
            name = self.take()
        ranges = property_of(name)
        if ranges is None:
            raise LanguageError
        return complement(ranges) if negated else ranges

    def set(self, *, any_case: bool) -> Ranges:
        """Parse a set after its opening bracket."""
        negated = self.accept("^")
        if negated and any_case:
            raise LanguageError
        parts: list[Ranges] = []
        if self.peek() == "]":
            raise LanguageError
        while not self.accept("]"):
            first = self.member()
            # A class such as \\d, a range, or a character.
            if not isinstance(first, str):
                if any_case or (self.peek() == "-" and self.peek(2) != "-]"):
                    raise LanguageError
                parts.append(first)
            elif self.peek() == "-" and self.peek(2) != "-]":
                self.take("-")
                last = self.member()
                if not isinstance(last, str) or last < first:
                    raise LanguageError
                codes = range(ord(first), ord(last) + 1)
                if any_case and not last.isascii():
                    raise LanguageError
                parts += (
                    [_cases_of(chr(code), any_case=True) for code in codes] if any_case else [((codes[0], codes[-1]),)]
                )
            else:
                parts.append(_cases_of(first, any_case=any_case))
        ranges = union(*parts)
        return complement(ranges) if negated else ranges

    def member(self) -> str | Ranges:
        """Parse a member of a set. Operators of version-1 sets and POSIX brackets are rejected."""
        if self.peek() == "[" or self.peek(2) in ("--", "&&", "~~", "||"):
            raise LanguageError
        return self.escape() if self.peek() == "\\" else self.take()


def _fuse(before: Node, node: Node) -> tuple[Node, ...]:
    """Return a look-ahead and the character after it as one set, any other two nodes as they are."""
    if isinstance(before, LookAhead) and isinstance(node, Characters) and not before.final:
        return (Characters(complement(union(complement(before.ranges), complement(node.ranges)))),)
    return before, node


def _cases_of(character: str, *, any_case: bool) -> Ranges:
    if not any_case:
        return single(character)
    if not character.isascii():
        raise LanguageError
    return cases_of(character) if character.isalpha() else single(character)


def _look_ahead(node: Node, *, negated: bool) -> LookAhead:
    """Return a look-ahead of one character, of the end, or of both."""
    options = node.options if isinstance(node, Choice) else (node,)
    ranges: Ranges = ()
    end = final = False
    for option in options:
        if isinstance(option, Characters):
            ranges = union(ranges, option.ranges)
        elif isinstance(option, LookAhead):
            ranges, end, final = union(ranges, option.ranges), end or option.end, final or option.final
        else:
            raise LanguageError
    if not negated:
        return LookAhead(ranges, end, final)
    if final:
        raise LanguageError
    return LookAhead(complement(ranges), not end)
