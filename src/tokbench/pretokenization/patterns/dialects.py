"""Regular expressions of other libraries in Tokbench's syntax.

``tokenizers`` uses the engine Oniguruma, ``tiktoken`` uses Rust's ``fancy-regex``. A pattern is translated only if it
is in the language that :mod:`tokbench.pretokenization.patterns` compiles, and only if both engines find the same
matches. The sets of characters in a pattern are returned as well: each engine has its own version of Unicode, so that
they can be compared with the library's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from tokbench.errors import shortened
from tokbench.pretokenization.patterns.characters import Ranges, contains
from tokbench.pretokenization.patterns.parse import (
    Characters,
    Choice,
    LanguageError,
    LookAhead,
    Node,
    Repeat,
    nullable,
    reading_of,
)
from tokbench.pretokenization.patterns.parse import Sequence as Joined

PARTS = re.compile(r"\\.|\[\^?(?:\\.|[^\]\\])*\]|\$", re.DOTALL)
"""Escapes, sets, and the dollar sign outside of both, whose meaning differs."""
ESCAPE = re.compile(r"\\.", re.DOTALL)
MEMBERS = r"(?:\\.|[^\[\]\\&])+"
INTERSECTION = re.compile(
    rf"\\.|\[(?!\^)(?P<first>{MEMBERS})(?P<others>(?:&&\[{MEMBERS}\])+)\]|\[\^?(?:\\.|[^\]\\])*\]", re.DOTALL
)
"""Escapes, intersections of sets, and other sets. Both engines have intersections; the ``regex`` package does not."""
SEVERAL = ("ff", "fi", "fl", "ss", "st")
"""Pairs of letters that match one character if case is ignored, as in U+00DF and in U+FB00 to U+FB06."""
MAX_SHOWN = 16
"""Characters of a pattern that a message shows."""


class NotNativeError(Exception):
    """Tokbench's three phases are not equivalent to another library's tokenizer; the message is the reason."""


@dataclass(frozen=True)
class Dialect:
    r"""The regular expressions of a library.

    Attributes:
        library: name of the library.
        dollar: equivalent of ``$`` in our syntax.
        escapes: escapes that the engine interprets differently.
        repeats: quantifiers that the engine interprets differently.
        folds: whether one character may match several letters if case is ignored.
    """

    library: str
    dollar: str
    escapes: re.Pattern[str]
    repeats: re.Pattern[str]
    folds: bool


ONIGURUMA = Dialect(
    "tokenizers",
    r"(?=\n|\Z)",
    re.compile(r"\\(?:[ZU]|x[89a-fA-F])"),  # \Z may precede a line feed, \U is a letter, and \x80 is a byte.
    re.compile(r"\{\d+(?:,\d*)?\}\+|\{\d+\}\?"),  # "+" repeats the repetition, and "?" makes {2} optional.
    folds=True,
)
FANCY_REGEX = Dialect(
    "tiktoken",
    r"\Z",
    re.compile(r"\\Z"),  # It may precede a line feed.
    re.compile(r"(?!)"),
    folds=False,
)


@dataclass(frozen=True)
class TranslatedPattern:
    """An equivalent pattern in our syntax.

    Attributes:
        pattern: the pattern.
        sets: sets of characters in it, by the text of the part of the pattern.
        steps: set of characters that it splits, by the type of the step, if that is not a regular expression.
        unchanged: whether its spelling equals the library's.
    """

    pattern: str
    sets: Mapping[str, Ranges] = field(default_factory=dict)
    steps: Mapping[str, Ranges] = field(default_factory=dict)
    unchanged: bool = False


def translate(pattern: str, dialect: Dialect) -> TranslatedPattern:
    """Translate a pattern. An intersection of sets becomes a set after look-aheads, with the same characters.

    Raises:
        NotNativeError: the pattern is not in the common language; the message has the part that is not.
    """
    original, pattern = pattern, INTERSECTION.sub(_rewrite_intersection, pattern)
    for place, part in _parts(pattern):
        match = dialect.repeats.match(pattern, place)
        for escape in ESCAPE.finditer(part):
            match = match or dialect.escapes.match(pattern, place + escape.start())
        if match:
            raise NotNativeError(f"its pattern has '{match[0]}', which {dialect.library} reads otherwise than we do")
    ours = PARTS.sub(lambda part: dialect.dollar if part[0] == "$" else part[0], pattern)
    try:
        reading = reading_of(ours)
    except (LanguageError, RecursionError) as error:
        part = f" (from '{shortened(str(error), MAX_SHOWN)}' on)" if str(error) else ""
        raise NotNativeError(f"its pattern is not one that we compile{part}") from None
    if nullable(reading.node):
        raise NotNativeError("its pattern may match without any character")
    if dialect.folds and any(map(_folds, reading.caseless)):
        raise NotNativeError("its pattern ignores the case of letters that one character may stand for, as ß for ss")
    return TranslatedPattern(ours, reading.sets, unchanged=ours == original)


def _rewrite_intersection(part: re.Match[str]) -> str:
    """Return an intersection of sets as a set after look-aheads; any other part as it is."""
    if part["first"] is None:
        return part[0]
    return f"(?:{part['others'].replace('&&[', '(?=[').replace(']', '])')}[{part['first']}])"


def _parts(pattern: str) -> Iterator[tuple[int, str]]:
    """Yield escapes, sets and single characters of a pattern, with their places."""
    place = 0
    while place < len(pattern):
        match = PARTS.match(pattern, place)
        part = match[0] if match else pattern[place]
        yield place, part
        place += len(part)


def _folds(node: Node) -> bool:
    """Return whether one character may match two letters of a node; also True if the letters are not neighbours."""
    options: Sequence[Node] = node.options if isinstance(node, Choice) else (node,)
    return any(
        contains(first, ord(pair[0])) and contains(second, ord(pair[1]))
        for option in options
        for first, second in combinations(_sets(option), 2)
        for pair in SEVERAL
    )


def _sets(node: Node) -> Iterator[Ranges]:
    """Yield the sets of a node in order, twice if they are repeated."""
    match node:
        case Characters(ranges) | LookAhead(ranges):
            yield ranges
        case Joined(parts) | Choice(parts):
            for part in parts:
                yield from _sets(part)
        case Repeat(inner):
            yield from [*_sets(inner)] * 2
