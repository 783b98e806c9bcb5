"""Patterns by which a file cuts texts, as settings of our own schemes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.adapters.forms import NotNativeError
from tokbench.adapters.patterns import WHOLE
from tokbench.errors import TokbenchError, unknown
from tokbench.pretokenization import pretokenization_of, schemes

if TYPE_CHECKING:
    from tokbench.adapters.forms.dialects import Translation

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
}
"""Names of encodings and models that cut as a scheme of another name does."""
SIGNS = frozenset("\\[](){}|+*?^$. ")
"""What tells a regular expression from a name."""


@dataclass(frozen=True)
class Pattern:
    """A pattern as it was given.

    Attributes:
        name: the scheme that has it; None if it was given as a regular expression.
        expression: one regular expression that does the same; None if it takes several.
    """

    name: str | None
    expression: str | None


def pattern_setting(given: str, key: str) -> str | dict[str, Any]:
    """Return the setting of a name or of a regular expression that our own engine reads.

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
        key: the name of the option in messages.
        library: the library that reads the expression.

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
        TokbenchError: it is no regular expression, or matches the empty string, which ``tiktoken`` cannot encode.
    """
    from tokbench.adapters.libraries import sets_of, told
    from tokbench.splitting import expression_of, matches_nothing

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


def native_setting(translations: "Sequence[Translation]", name: str | None = None) -> str | dict[str, Any]:
    """Return the setting that cuts as the patterns of a library do.

    Args:
        translations: the patterns in our language, each applied to the pieces of the one before.
        name: the scheme that has the patterns of the library, if one is known.

    Raises:
        NotNativeError: a pattern is not compiled.
    """
    from tokbench.patterns import scanner_of

    for one in translations:
        if scanner_of(one.pattern) is None:
            raise NotNativeError("its pattern has too many states for us, or may take more than linear time")
    if name is not None and all(one.unchanged for one in translations):
        return name
    return setting_of([one.pattern for one in translations])


def setting_of(expressions: Sequence[str]) -> str | dict[str, Any]:
    """The setting of regular expressions, each applied to what the one before left: a name where a scheme that is known
    cuts every text alike, however its patterns are written."""
    from tokbench.patterns.same import cut_alike

    if not expressions:
        return "none"
    named = {
        method.name: pretokenization_of(method.name).splits
        for method in schemes.methods()
        if not any(option.is_required() for option in method.options.model_fields.values())
    }
    for same in (_spelt_alike, cut_alike):
        for name, splits in named.items():
            if splits is not None and same(expressions, splits or (WHOLE,)):
                return name
    steps: list[str | dict[str, Any]] = [{"method": "regex", "pattern": one} for one in expressions]
    return steps[0] if len(steps) == 1 else {"method": "sequence", "steps": steps}


def _spelt_alike(first: Sequence[str], second: Sequence[str]) -> bool:
    return tuple(first) == tuple(second)
