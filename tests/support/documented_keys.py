"""JSON keys documented in docs/programs.md."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "programs.md"


def documented(section: str) -> set[str]:
    """Keys in the table of a section, such as ``parts[].lines[].name``."""
    text = PAGE.read_text(encoding="utf-8")
    [body] = [part for part in re.split(r"^## ", text, flags=re.MULTILINE) if part.startswith(f"`{section}`")]
    return set(re.findall(r"^\| `([^`]+)` \|", body, re.MULTILINE))


def keys_of(value: Any, within: str = "") -> Iterator[str]:
    """Paths of every key within a value; those of a list's mappings with ``[]``."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield f"{within}{key}"
            yield from keys_of(one, f"{within}{key}.")
    elif isinstance(value, list):
        for one in value:
            yield from keys_of(one, f"{within[:-1]}[].")
