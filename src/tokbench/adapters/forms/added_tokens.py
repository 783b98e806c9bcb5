"""Added tokens of a ``tokenizer.json``: which are cut out of a text before all else, and which are text like any other.

The library cuts special tokens out of a text as all added ones, and lets that be switched off for special ones alone.
So whatever is to be text is made special, and special tokens are switched off.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tokbench.inputs.numbers import LARGEST_VOCABULARY

MARK = re.compile(r"[<\[{|\uff5c].+", re.DOTALL)
"""What is no word: ``<|user|>``, ``[INST]``, ``<unused7>``. A bracket or a bar at its beginning tells."""


@dataclass(frozen=True)
class Added:
    """The added tokens of a file.

    Attributes:
        entries: as the library gets them.
        special: those that are text, by id, with what they stand for.
        kept: those that are cut out of a text, by id.
    """

    entries: Sequence[Mapping[str, Any]]
    special: Mapping[int, bytes]
    kept: Mapping[int, bytes]


def added_tokens(entries: Sequence[Mapping[str, Any]], choice: Literal["words", "text", "tokens"]) -> Added:
    """Tell tokens from text.

    Raises:
        ValueError: an entry has no content, or an id that is none.
    """
    told: list[Mapping[str, Any]] = []
    special: dict[int, bytes] = {}
    kept: dict[int, bytes] = {}
    for entry in entries:
        number, content = entry["id"], entry["content"]
        if not isinstance(content, str) or type(number) is not int or not 0 <= number < LARGEST_VOCABULARY:
            raise ValueError(f"added token {content!r:.40} has the id {number!r:.20}")
        word = choice == "tokens" or (choice == "words" and not entry.get("special") and not MARK.fullmatch(content))
        (kept if word else special)[number] = content.encode()
        told.append(entry if word else {**entry, "special": True})
    return Added(told, special, kept)
