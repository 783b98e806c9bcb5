"""Every pre-tokenization as a setting, those that need options with some."""

from typing import Any

from tokbench.pretokenization import pretokenization_of, schemes

OPTIONS: dict[str, dict[str, Any]] = {
    "regex": {"pattern": r"\p{L}+(?=\p{N})|[^\s\p{L}]{1,4}|\s\p{Ll}*"},
    "sequence": {"steps": ["gpt2", {"method": "digits", "group": 2}, "scripts"]},
}
EVERY = [pretokenization_of({"method": name, **OPTIONS.get(name, {})}).text for name in schemes]
"""The settings on one line each."""
