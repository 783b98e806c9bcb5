"""Translation of the regular expressions of other libraries to ours.

``tokenizers`` uses the engine Oniguruma, ``tiktoken`` uses Rust's ``fancy-regex``. A pattern is translated only if it
lies in the language that :mod:`tokbench.patterns` compiles, and only if both engines find the same matches. A file with
any other pattern is read by its library. The sets of characters that a pattern names are returned as well: each engine
has its own edition of Unicode, so the library must be asked which characters are in them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from tokbench.adapters.forms import NotNativeError
from tokbench.errors import shortened
from tokbench.patterns.characters import Ranges, contains
from tokbench.patterns.parse import (
    Ahead,
    Characters,
    Choice,
    LanguageError,
    Node,
    Repeat,
    nullable,
    reading_of,
)
from tokbench.patterns.parse import Sequence as Joined

PARTS = re.compile(r"\\.|\[\^?(?:\\.|[^\]\\])*\]|\$", re.DOTALL)
"""Escapes, sets, and the sign whose meaning differs, as long as it is in neither."""
ESCAPE = re.compile(r"\\.", re.DOTALL)
SEVERAL = ("ff", "fi", "fl", "ss", "st")
"""Pairs of letters that one character stands for if case is ignored, as in U+00DF and in U+FB00 to U+FB06."""
SHOWN = 16
"""Characters of a pattern that a message repeats."""


@dataclass(frozen=True)
class Dialect:
    r"""The regular expressions of a library.

    Attributes:
        library: the name of the library.
        dollar: the meaning of ``$``, as a pattern of ours.
        escapes: escapes that the engine reads in another way than we do.
        repeats: the same for signs of repetition.
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
    re.compile(r"\{\d+(?:,\d*)?\}\+|\{\d+\}\?"),  # "+" repeats what is repeated, and "?" makes {2} optional.
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
class Translation:
    """A pattern of ours that finds the same matches.

    Attributes:
        pattern: the pattern.
        sets: the sets of characters that it names, by the text of the part of the pattern.
        steps: the set of characters that it cuts out, by the type of the step if that is not a regular expression.
        unchanged: whether it is spelled as the library's.
    """

    pattern: str
    sets: Mapping[str, Ranges] = field(default_factory=dict)
    steps: Mapping[str, Ranges] = field(default_factory=dict)
    unchanged: bool = False


def translated(pattern: str, dialect: Dialect) -> Translation:
    """Translate a pattern.

    Raises:
        NotNativeError: the pattern is not in the common language; the message names the part that is not.
    """
    for place, part in _parts(pattern):
        found = dialect.repeats.match(pattern, place)
        for escape in ESCAPE.finditer(part):
            found = found or dialect.escapes.match(pattern, place + escape.start())
        if found:
            raise NotNativeError(f"its pattern has '{found[0]}', which {dialect.library} reads otherwise than we do")
    ours = PARTS.sub(lambda part: dialect.dollar if part[0] == "$" else part[0], pattern)
    try:
        reading = reading_of(ours)
    except (LanguageError, RecursionError) as error:
        part = f" (from '{shortened(str(error), SHOWN)}' on)" if str(error) else ""
        raise NotNativeError(f"its pattern is not one that we compile{part}") from None
    if nullable(reading.node):
        raise NotNativeError("its pattern may match without any character")
    if dialect.folds and any(map(_folds, reading.caseless)):
        raise NotNativeError("its pattern ignores the case of letters that one character may stand for, as ß for ss")
    return Translation(ours, reading.sets, unchanged=ours == pattern)


def _parts(pattern: str) -> Iterator[tuple[int, str]]:
    """Escapes, sets and single signs of a pattern, with their places."""
    place = 0
    while place < len(pattern):
        found = PARTS.match(pattern, place)
        part = found[0] if found else pattern[place]
        yield place, part
        place += len(part)


def _folds(node: Node) -> bool:
    """Whether two letters of a node may be matched by one character. True also if the letters are not neighbours."""
    options: Sequence[Node] = node.options if isinstance(node, Choice) else (node,)
    return any(
        contains(first, ord(pair[0])) and contains(second, ord(pair[1]))
        for option in options
        for first, second in combinations(_sets(option), 2)
        for pair in SEVERAL
    )


def _sets(node: Node) -> Iterator[Ranges]:
    """The sets of a node in order, twice if they are repeated."""
    match node:
        case Characters(ranges) | Ahead(ranges):
            yield ranges
        case Joined(parts) | Choice(parts):
            for part in parts:
                yield from _sets(part)
        case Repeat(inner):
            yield from [*_sets(inner)] * 2
