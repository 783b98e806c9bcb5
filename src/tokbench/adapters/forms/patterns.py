"""Patterns by which a file cuts texts, as settings of our own schemes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tokbench.adapters.patterns import WHOLE
from tokbench.errors import TokbenchError, unknown
from tokbench.pretokenization import pretokenization_of, schemes

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
    """How a file's texts are cut.

    Attributes:
        setting: of our scheme.
        expression: one regular expression that does the same; None where it takes several.
    """

    setting: str | dict[str, Any]
    expression: str | None


def named_pattern(given: str, key: str) -> Pattern:
    """The pattern of a name or a regular expression.

    Raises:
        TokbenchError: neither; the message lists the names.
    """
    name = ALSO.get(given, given)
    method = schemes.find(name) if not SIGNS & set(given) else None
    if method is not None:
        splits = pretokenization_of(name).splits
        return Pattern(name, splits[0] if splits and len(splits) == 1 else None)
    if not SIGNS & set(given):
        raise TokbenchError(f"{key}: {unknown(given, 'pattern', [*schemes, *ALSO])}")
    return expressed(given, key)


def expressed(expression: str, key: str) -> Pattern:
    """The pattern of a regular expression.

    Raises:
        TokbenchError: it is none.
    """
    setting = setting_of([expression])
    try:
        pretokenization_of(setting)
    except TokbenchError as error:
        raise TokbenchError(f"{key}: {error}") from None
    return Pattern(setting, expression)


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
