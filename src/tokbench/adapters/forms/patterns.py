"""Patterns of tokenizer files as settings of Tokbench's schemes, and the reverse for exports.

A pattern is a scheme's name, or a regular expression. Schemes are found by their published spellings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tokbench.errors import TokbenchError, unknown
from tokbench.pretokenization import Pretokenization, pretokenization_of, schemes
from tokbench.pretokenization.patterns.dialects import NotNativeError, TranslatedPattern

WHOLE_TEXT = r"[\s\S]+"
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
SAME_PATTERNS = {
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


def pattern_of(scheme: Pretokenization) -> str | None:
    """Return the regular expression of a scheme; None if each text is one pre-token.

    Raises:
        TokbenchError: the scheme is not equivalent to one regular expression.
    """
    if scheme.splits is None or len(scheme.splits) > 1:
        raise TokbenchError(f"pre-tokenization '{scheme.label}' is not equivalent to one regular expression")
    return scheme.splits[0] if scheme.splits else None


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
    name = SAME_PATTERNS.get(given, given)
    method = schemes.find(name) if not SIGNS & set(given) else None
    if method is not None:
        splits = pretokenization_of(name).splits
        return Pattern(name, splits[0] if splits and len(splits) == 1 else None)
    if not SIGNS & set(given):
        raise TokbenchError(f"{key}: {unknown(given, 'pattern', [*schemes, *SAME_PATTERNS])}")
    if library is not None:
        check_expression(given, key, library)
    return Pattern(None, given)


def check_expression(expression: str, key: str, library: str) -> None:
    """Check that a library can use a regular expression. The library is called only if our engine cannot read it.

    Raises:
        TokbenchError: it is not a regular expression, or matches the empty string, which ``tiktoken`` cannot encode.
    """
    from tokbench.pretokenization.patterns.cut import expression_of, matches_nothing
    from tokbench.tokenizer.libraries import library_errors, sets_of

    try:
        made = expression_of(expression)
    except ValueError as error:
        try:
            with library_errors(library):
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

    for translation in translations:
        if compile_scanner(translation.pattern) is None:
            raise NotNativeError("its pattern has too many states for us, or may take more than linear time")
    if name is not None and all(translation.unchanged for translation in translations):
        return name
    return setting_of([translation.pattern for translation in translations])


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
            if splits is not None and spelling == _escaped(splits or (WHOLE_TEXT,)):
                return method.name
    steps: list[str | dict[str, Any]] = [{"method": "regex", "pattern": pattern} for pattern in expressions]
    return steps[0] if len(steps) == 1 else {"method": "sequence", "steps": steps}


def _escaped(patterns: Sequence[str]) -> tuple[str, ...]:
    return tuple(pattern.translate(ESCAPES) for pattern in patterns)
