"""Patterns of tokenizer files as settings of Tokbench's schemes, and the reverse for exports.

``tokenizers`` uses the engine Oniguruma, ``tiktoken`` uses Rust's ``fancy-regex``. A pattern is translated only if it
is in the language that :mod:`tokbench.pretokenization.patterns` compiles, and only if both engines find the same
matches. A file with any other pattern is read by its library. The sets of characters in a pattern are returned as well:
each engine has its own version of Unicode, so they are compared with the library's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from tokbench.adapters.forms import NotNativeError
from tokbench.errors import TokbenchError, shortened, unknown
from tokbench.pretokenization import Pretokenization, pretokenization_of, schemes
from tokbench.pretokenization.patterns.characters import Ranges, contains
from tokbench.pretokenization.patterns.parse import (
    Ahead,
    Characters,
    Choice,
    LanguageError,
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
SHOWN = 16
"""Characters of a pattern that a message shows."""


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


def translated(pattern: str, dialect: Dialect) -> TranslatedPattern:
    """Translate a pattern. An intersection of sets becomes a set after look-aheads, with the same characters.

    Raises:
        NotNativeError: the pattern is not in the common language; the message has the part that is not.
    """
    given, pattern = pattern, INTERSECTION.sub(_intersected, pattern)
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
    return TranslatedPattern(ours, reading.sets, unchanged=ours == given)


def _intersected(part: re.Match[str]) -> str:
    """Return an intersection of sets as a set after look-aheads; any other part as it is."""
    if part["first"] is None:
        return part[0]
    return f"(?:{part['others'].replace('&&[', '(?=[').replace(']', '])')}[{part['first']}])"


def _parts(pattern: str) -> Iterator[tuple[int, str]]:
    """Yield escapes, sets and single characters of a pattern, with their places."""
    place = 0
    while place < len(pattern):
        found = PARTS.match(pattern, place)
        part = found[0] if found else pattern[place]
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
        case Characters(ranges) | Ahead(ranges):
            yield ranges
        case Joined(parts) | Choice(parts):
            for part in parts:
                yield from _sets(part)
        case Repeat(inner):
            yield from [*_sets(inner)] * 2


WHOLE = r"[\s\S]+"
"""Pattern for no pre-tokenization: each text is one pre-token."""
PUBLISHED: dict[tuple[str, ...], str] = {
    (r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",): "gpt2",
    (r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",): "gpt2",
    (r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++\Z|\s+(?!\S)|\s",): "gpt2",
    (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
        r"|\s*[\r\n]|\s+(?!\S)|\s+",
    ): "cl100k",
}
"""Other spellings of schemes with the same matches, as in later releases of tiktoken."""
ESCAPES = str.maketrans(
    {"\r": r"\r", "\n": r"\n"} | {code: rf"\u{code:04x}" for code in (0x3040, 0x309F, 0x30A0, 0x30FF)}
)
"""Escapes for characters that patterns contain literally, as in DeepSeek's file, or as escapes."""


def pattern_of(scheme: Pretokenization) -> str | None:
    """Return the regular expression of a scheme; None if each text is one pre-token.

    Raises:
        TokbenchError: the scheme is not equivalent to one regular expression.
    """
    if scheme.splits is None or len(scheme.splits) > 1:
        raise TokbenchError(f"pre-tokenization '{scheme.label}' is not equivalent to one regular expression")
    return scheme.splits[0] if scheme.splits else None


ALSO = {
    "r50k": "gpt2",
    "p50k": "gpt2",
    "r50k_base": "gpt2",
    "p50k_base": "gpt2",
    "p50k_edit": "gpt2",
    "cl100k_base": "cl100k",
    "o200k_base": "o200k",
    "o200k_harmony": "o200k",
    "olmo": "gpt2",
    "olmo2": "cl100k",
    "qwen": "qwen2",
    "qwen3_6": "qwen3_5",
    "kimi": "kimi_k2",
}
"""Encodings and models whose pre-tokenization is a scheme of another name."""
SIGNS = frozenset("\\[](){}|+*?^$. ")
"""Characters that occur in regular expressions, not in names."""


@dataclass(frozen=True)
class Pattern:
    """A pattern as given by the user or a file.

    Attributes:
        name: name of the scheme; None if it was given as a regular expression.
        expression: one equivalent regular expression; None if several are needed.
    """

    name: str | None
    expression: str | None


def pattern_setting(given: str, key: str) -> str | dict[str, Any]:
    """Return the setting of a name, or of a regular expression in our syntax.

    Raises:
        TokbenchError: it is neither; the message lists the names.
    """
    pattern = named_pattern(given, key)
    if pattern.name is not None:
        return pattern.name
    setting = setting_of([given])
    try:
        pretokenization_of(setting)
    except TokbenchError as error:
        raise TokbenchError(f"{key}: {error}") from None
    return setting


def named_pattern(given: str, key: str, library: str | None = None) -> Pattern:
    """Return the pattern of a name or a regular expression.

    Args:
        given: the name or the expression.
        key: name of the option in messages.
        library: library that reads the expression.

    Raises:
        TokbenchError: it is neither; the message lists the names.
    """
    name = ALSO.get(given, given)
    method = schemes.find(name) if not SIGNS & set(given) else None
    if method is not None:
        splits = pretokenization_of(name).splits
        return Pattern(name, splits[0] if splits and len(splits) == 1 else None)
    if not SIGNS & set(given):
        raise TokbenchError(f"{key}: {unknown(given, 'pattern', [*schemes, *ALSO])}")
    if library is not None:
        check_expression(given, key, library)
    return Pattern(None, given)


def check_expression(expression: str, key: str, library: str) -> None:
    """Check that a library can use a regular expression. The library is called only if our engine cannot read it.

    Raises:
        TokbenchError: it is not a regular expression, or matches the empty string, which ``tiktoken`` cannot encode.
    """
    from tokbench.adapters.libraries import sets_of, told
    from tokbench.pretokenization.patterns.cut import expression_of, matches_nothing

    try:
        made = expression_of(expression)
    except ValueError as error:
        try:
            with told(library):
                sets_of(library).unmatched(expression, "")
        except (TokbenchError, ModuleNotFoundError):
            raise TokbenchError(f"{key}: {error}") from None
        return
    if library == "tiktoken" and matches_nothing(made):
        raise TokbenchError(f"{key}: matches the empty string, which tiktoken cannot encode; let it match a character")


def native_setting(translations: "Sequence[TranslatedPattern]", name: str | None = None) -> str | dict[str, Any]:
    """Return the setting equivalent to the patterns of a library.

    Args:
        translations: patterns in our syntax, each applied to the pieces of the one before.
        name: scheme with the patterns of the library, if one is known.

    Raises:
        NotNativeError: a pattern is not compiled.
    """
    from tokbench.pretokenization.patterns.scanner import compile_scanner

    for one in translations:
        if compile_scanner(one.pattern) is None:
            raise NotNativeError("its pattern has too many states for us, or may take more than linear time")
    if name is not None and all(one.unchanged for one in translations):
        return name
    return setting_of([one.pattern for one in translations])


def setting_of(expressions: Sequence[str]) -> str | dict[str, Any]:
    """Return the setting of regular expressions, each applied to the pieces of the one before.

    It is a name if a scheme is published in this spelling, otherwise the expressions themselves.
    """
    if not expressions:
        return "none"
    spelling = _escaped(expressions)
    if name := PUBLISHED.get(spelling):
        return name
    for method in schemes.methods():
        if not any(option.is_required() for option in method.options.model_fields.values()):
            splits = pretokenization_of(method.name).splits
            if splits is not None and spelling == _escaped(splits or (WHOLE,)):
                return method.name
    steps: list[str | dict[str, Any]] = [{"method": "regex", "pattern": pattern} for pattern in expressions]
    return steps[0] if len(steps) == 1 else {"method": "sequence", "steps": steps}


def _escaped(patterns: Sequence[str]) -> tuple[str, ...]:
    return tuple(pattern.translate(ESCAPES) for pattern in patterns)
