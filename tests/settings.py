"""Every pre-tokenization as a setting, those that need options with some; settings with options, and where they cut."""

from itertools import pairwise
from typing import Any

from tokbench.pretokenization import pretokenization_of, schemes

OPTIONS: dict[str, dict[str, Any]] = {
    "regex": {"pattern": r"\p{L}+(?=\p{N})|[^\s\p{L}]{1,4}|\s\p{Ll}*"},
    "sequence": {"steps": ["gpt2", {"method": "digits", "group": 2}, "scripts"]},
}
EVERY = [pretokenization_of({"method": name, **OPTIONS.get(name, {})}).text for name in schemes]
"""The settings on one line each."""
GROUPED = {"method": "sequence", "steps": ["gpt2", {"method": "digits", "group": 3}]}


def by(pattern: str) -> dict[str, Any]:
    return {"method": "regex", "pattern": pattern}


def pieces(setting: Any, text: str) -> list[str]:
    written = text.encode()
    bounds = pretokenization_of(setting).boundaries(written).tolist()
    return [written[start:end].decode() for start, end in pairwise(bounds)]
