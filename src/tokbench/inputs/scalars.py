"""Plain values: what a word without quotes stands for, and how text is written so that it stays text.

The rule is the part on which every edition of YAML and JSON agree: ``true`` and ``false``, ``null``, decimal numbers.
What one edition reads as a number or a truth value and another as text (``1_000``, ``+5``, ``017``, ``0x1f``,
``1:30``, ``yes``, ``off``) is text here: an option that takes a number rejects it, and the tag of Norwegian may be
written ``no``.
"""

import math
import re
from typing import Any

import yaml

from tokbench.errors import shortened
from tokbench.inputs.numbers import DIGITS, LARGEST_SEED, REAL, WHOLE

WORDS: dict[str, bool | float | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
BREAKS = re.compile("[\r\x85\u2028\u2029]")


def plain_value(text: str) -> Any:
    """What a word without quotes stands for.

    Raises:
        ValueError: a number beyond all bounds.
    """
    if text in WORDS:
        return WORDS[text]
    if WHOLE.fullmatch(text):
        if len(text.lstrip("-")) > DIGITS or abs(value := int(text)) > LARGEST_SEED:
            raise ValueError(f"{shortened(text)} is a number of more than 64 bits; write a smaller one")
        return value
    if REAL.fullmatch(text) and not _octal(text):
        if math.isinf(number := float(text)):
            raise ValueError(f"{shortened(text)} is too large for a number; write a smaller one")
        return number
    return text


def _octal(text: str) -> bool:
    """Digits with a nought before them: octal in one edition of YAML, decimal in another."""
    digits = text.lstrip("-")
    return digits.isdigit() and digits.startswith("0")


def reread(value: Any) -> Any:
    """A value whose words were all taken as text, read again: Snakemake reads lists on its command line so."""
    if isinstance(value, dict):
        return {key: reread(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [reread(inner) for inner in value]
    return plain_value(value) if isinstance(value, str) else value


class _Dumper(yaml.SafeDumper):
    """Writes text in quotes where it would be read as something else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = None
    try:
        if not isinstance(plain_value(text), str):
            style = "'"
    except ValueError:
        style = "'"
    if BREAKS.search(text):
        style = '"'  # Elsewhere the parser takes these for ends of lines.
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def dump_yaml(value: Any) -> str:
    """Values as YAML that is read back the same."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text
