"""Regular expressions of the kind that pre-tokenization uses, as trees.

The language is that part of the ``regex`` package's (its version 0, without flags) in which a match depends on nothing
before it: characters, sets, groups, alternatives, quantifiers, and looking ahead by one character. Whatever lies
outside, or means something else to another engine and might be meant so, is :class:`LanguageError`.
"""

from dataclasses import dataclass

from tokbench.pretokenization.patterns.characters import (
    Ranges,
    cases_of,
    property_of,
    shorthand,
    single,
    union,
    without,
)

SPECIAL = frozenset("\\[](){}*+?.^$|")
CONTROLS = {"r": "\r", "n": "\n", "t": "\t"}
HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
MOST_REPEATED = 100


class LanguageError(Exception):
    """The pattern is not of the language. Where it was read, the message is the part that is not."""


@dataclass(frozen=True)
class Characters:
    """One character of a set."""

    ranges: Ranges


@dataclass(frozen=True)
class Ahead:
    """The next character is of a set, or there is none.

    Attributes:
        ranges: the set.
        end: whether the text may end here.
        final: whether a line feed may come here that ends the text.
    """

    ranges: Ranges
    end: bool
    final: bool = False


@dataclass(frozen=True)
class Sequence:
    parts: tuple["Node", ...]


@dataclass(frozen=True)
class Choice:
    """The first of the options that leads to a match."""

    options: tuple["Node", ...]


@dataclass(frozen=True)
class Repeat:
    """A node several times.

    Attributes:
        most: None for any number.
        lazy: as few as lead to a match, instead of as many.
        possessive: as many as there are, whether that leads to a match or not.
    """

    node: "Node"
    least: int
    most: int | None
    lazy: bool = False
    possessive: bool = False


Node = Characters | Ahead | Sequence | Choice | Repeat


@dataclass(frozen=True)
class ParsedPattern:
    """A pattern that was parsed.

    Attributes:
        node: the tree.
        sets: the set of each part that stands for one character, by the text of the part.
        caseless: the contents of groups that match letters of either case.
    """

    node: Node
    sets: dict[str, Ranges]
    caseless: tuple[Node, ...]


def parsed(pattern: str) -> Node:
    """The tree of a pattern.

    Raises:
        LanguageError: it is not of the language, or no regular expression.
    """
    return reading_of(pattern).node


def reading_of(pattern: str) -> ParsedPattern:
    """Return the tree of a pattern and the sets of characters that it names.

    Raises:
        LanguageError: the pattern is not of the language, or not a regular expression.
    """
    reader = _Reader(pattern)
    try:
        node = reader.choice(any_case=False)
        if reader.place < len(pattern):
            raise LanguageError
    except LanguageError:
        raise LanguageError(pattern[reader.begun :]) from None
    return ParsedPattern(node, reader.sets, tuple(reader.caseless))


def nullable(node: Node) -> bool:
    """Whether a node may match without any character."""
    match node:
        case Characters():
            return False
        case Ahead():
            return True
        case Sequence(parts):
            return all(map(nullable, parts))
        case Choice(options):
            return any(map(nullable, options))
        case Repeat(inner, least):
            return least == 0 or nullable(inner)


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.place = pattern, 0
        self.begun = 0
        self.sets: dict[str, Ranges] = {}
        self.caseless: list[Node] = []

    def peek(self, count: int = 1) -> str:
        return self.pattern[self.place : self.place + count]

    def take(self, expected: str = "") -> str:
        """The next character, or those that are expected."""
        found = self.peek(len(expected) or 1)
        if not found or (expected and found != expected):
            raise LanguageError
        self.place += len(found)
        return found

    def taken(self, expected: str) -> bool:
        if self.peek(len(expected)) != expected:
            return False
        self.place += len(expected)
        return True

    def choice(self, *, any_case: bool) -> Node:
        options = [self.sequence(any_case=any_case)]
        while self.taken("|"):
            options.append(self.sequence(any_case=any_case))
        if len(options) == 1:
            return options[0]
        sets = [option.ranges for option in options if isinstance(option, Characters)]
        return Characters(union(*sets)) if len(sets) == len(options) else Choice(tuple(options))

    def sequence(self, *, any_case: bool) -> Node:
        parts: list[Node] = []
        while self.peek() not in ("", "|", ")"):
            parts.append(self.quantified(self.atom(any_case=any_case)))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def quantified(self, node: Node) -> Node:
        least: int
        most: int | None
        sign = self.peek()
        if sign not in ("*", "+", "?", "{"):
            return node
        self.begun = self.place
        if sign == "{":
            least, most = self.bounds()
        else:
            self.take()
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        lazy = self.taken("?")
        possessive = not lazy and self.taken("+")
        if self.peek() and self.peek() in "*+?{":
            raise LanguageError
        if nullable(node) or max(least, most or 0) > MOST_REPEATED or most == 0:
            raise LanguageError
        if possessive and not isinstance(node, Characters):
            raise LanguageError
        return Repeat(node, least, most, lazy, possessive)

    def bounds(self) -> tuple[int, int | None]:
        """``{m}``, ``{m,}``, ``{m,n}``."""
        self.take("{")
        least = self.number()
        most: int | None = least
        if self.taken(","):
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
        start = self.begun = self.place
        if self.taken("("):
            return self.group(any_case=any_case)
        node = self.single(any_case=any_case)
        if isinstance(node, Characters):
            source = self.pattern[start : self.place]
            self.sets[f"(?i:{source})" if any_case else source] = node.ranges
        return node

    def single(self, *, any_case: bool) -> Node:
        """A character, a set or the end of the text."""
        if self.taken("["):
            return Characters(self.set(any_case=any_case))
        if self.taken("$"):
            return Ahead((), end=True, final=True)
        if self.taken("."):
            return Characters(without(single("\n")))
        if self.peek() == "\\":
            if self.taken("\\Z"):
                return Ahead((), end=True)
            found = self.escape()
            if isinstance(found, str):
                return Characters(_cased(found, any_case=any_case))
            if any_case:
                raise LanguageError
            return Characters(found)
        if self.peek() in SPECIAL:
            raise LanguageError
        return Characters(_cased(self.take(), any_case=any_case))

    def group(self, *, any_case: bool) -> Node:
        start = self.place - 1
        for sign, negated in (("?=", False), ("?!", True)):
            if self.taken(sign):
                node = self.choice(any_case=any_case)
                self.take(")")
                self.begun = start
                return _ahead(node, negated=negated)
        if self.taken("?i:"):
            any_case = True
        elif not self.taken("?:") and self.peek() == "?":
            raise LanguageError
        node = self.choice(any_case=any_case)
        self.take(")")
        self.begun = start
        if any_case:
            self.caseless.append(node)
        return node

    def escape(self) -> str | Ranges:
        """What follows a backslash: a character or a set."""
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
        found = shorthand(letter)
        if found is not None:
            return found
        if letter.isalnum() or letter == "_" or not letter.isascii():
            raise LanguageError
        return letter

    def property(self, *, negated: bool) -> Ranges:
        if self.taken("{"):
            end = self.pattern.find("}", self.place)
            name = self.pattern[self.place : end] if end >= 0 else ""
            self.take(name + "}")
            if name.startswith("^"):
                name, negated = name[1:], not negated
        else:
            name = self.take()
        found = property_of(name)
        if found is None:
            raise LanguageError
        return without(found) if negated else found

    def set(self, *, any_case: bool) -> Ranges:
        """What stands between brackets, the first of them taken."""
        negated = self.taken("^")
        if negated and any_case:
            raise LanguageError
        parts: list[Ranges] = []
        if self.peek() == "]":
            raise LanguageError
        while not self.taken("]"):
            first = self.member()
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
                    [_cased(chr(code), any_case=True) for code in codes] if any_case else [((codes[0], codes[-1]),)]
                )
            else:
                parts.append(_cased(first, any_case=any_case))
        found = union(*parts)
        return without(found) if negated else found

    def member(self) -> str | Ranges:
        """One of a set. Signs that sets of version 1 give a meaning are not taken, nor the brackets of POSIX."""
        if self.peek() == "[" or self.peek(2) in ("--", "&&", "~~", "||"):
            raise LanguageError
        return self.escape() if self.peek() == "\\" else self.take()


def _cased(character: str, *, any_case: bool) -> Ranges:
    if not any_case:
        return single(character)
    if not character.isascii():
        raise LanguageError
    return cases_of(character) if character.isalpha() else single(character)


def _ahead(node: Node, *, negated: bool) -> Ahead:
    """A look-ahead of one character, or of the end, or of either."""
    options = node.options if isinstance(node, Choice) else (node,)
    ranges: Ranges = ()
    end = final = False
    for option in options:
        if isinstance(option, Characters):
            ranges = union(ranges, option.ranges)
        elif isinstance(option, Ahead):
            ranges, end, final = union(ranges, option.ranges), end or option.end, final or option.final
        else:
            raise LanguageError
    if not negated:
        return Ahead(ranges, end, final)
    if final:
        raise LanguageError
    return Ahead(without(ranges), not end)
