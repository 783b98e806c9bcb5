"""Added tokens of a ``tokenizer.json``: those that the library cuts out of a text first, and those that stay text.

The library cuts out all added tokens, and can be asked to skip only the special ones. An added token that is to stay
text is therefore marked as special, and special tokens are skipped.

The ids are the library's, not the file's. The library ignores the id of an added token in the file: a token of the
model keeps the model's id, any other token gets the next id that the library counts.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tokbench.adapters import libraries
from tokbench.adapters.libraries import Library
from tokbench.errors import shortened
from tokbench.inputs.numbers import LARGEST_VOCABULARY

Choice = Literal["words", "text", "tokens"]
MARK = re.compile(r"[<\[{|\uff5c].+", re.DOTALL)
"""Spelling of a mark such as ``<|user|>``, ``[INST]`` or ``<unused7>``: a bracket or a bar begins it."""
BYTE = re.compile("<0x[0-9A-F]{2}>")
"""Name of a byte in models with byte fallback."""
CONTEXTS = ("{}", "a{}", "{}a", "a {} a", "\n{}\n")
"""Texts in which a special token is tried, with the token's name in place of the braces."""


@dataclass(frozen=True)
class Model:
    """The parts of a model that decide which ids a text can give.

    Attributes:
        ids: Tokens with their ids.
        unknown: Id of the unknown token, None if there is none.
        byte_fallback: Whether characters that are not tokens become tokens of their bytes.
    """

    ids: Mapping[str, int]
    unknown: int | None
    byte_fallback: bool


@dataclass(frozen=True)
class Added:
    """The added tokens of a file, by the id that the library gives them.

    Attributes:
        special: Tokens that stay text and whose id no text gives, with their names.
        kept: Tokens that the library cuts out of a text.
        given: Special tokens whose id a text can give.
        notes: Differences from the file, one sentence each without a full stop.
    """

    special: Mapping[int, bytes]
    kept: Mapping[int, bytes]
    given: Mapping[int, bytes]
    notes: Sequence[str] = ()


def added_entries(entries: Sequence[Mapping[str, Any]], choice: Choice) -> list[Mapping[str, Any]]:
    """Return the added tokens as the library gets them: those that are to stay text are marked as special.

    Raises:
        ValueError: An entry has no content, or its id is out of range.
    """
    marked: list[Mapping[str, Any]] = []
    for entry in entries:
        number, content = entry["id"], entry["content"]
        if not isinstance(content, str) or type(number) is not int or not 0 <= number < LARGEST_VOCABULARY:
            raise ValueError(f"added token {content!r:.40} has the id {number!r:.20}")
        word = choice == "tokens" or (choice == "words" and not entry.get("special") and not MARK.fullmatch(content))
        marked.append(entry if word else {**entry, "special": True})
    return marked


def added_tokens(entries: Sequence[Mapping[str, Any]], choice: Choice, library: Library, model: Model) -> Added:
    """Return the added tokens by the ids of the library.

    A special token is a token like any other if a text can give its id. This is so for the bytes of a model with byte
    fallback, and for a token of the model that the library makes from the token's own name.

    Args:
        entries: The added tokens as :func:`added_entries` returns them.
        choice: The choice that they were marked by.
        library: The tokenizer that the library read.
        model: The model of the file.

    Raises:
        TokbenchError: The library fails on the name of a token.
    """
    names = {number: spelt for spelt, number in model.ids.items()}
    special: dict[int, bytes] = {}
    kept: dict[int, bytes] = {}
    given: dict[int, bytes] = {}
    moved: list[str] = []
    shared: list[str] = []
    ignored: list[str] = []
    for entry in entries:
        content, number = entry["content"], library.id_of(entry["content"])
        quoted = f"'{shortened(content)}'"
        if number is None:
            ignored.append(quoted)
            continue
        if number != entry["id"]:
            moved.append(f"{quoted} has {number}, not {entry['id']}")
        is_shared = names.get(number, content) != content
        if is_shared:
            shared.append(f"{quoted}, id {number}")
        if choice == "tokens" or not entry.get("special"):
            kept[number] = content.encode()
        elif _is_given(content, number, library, model):
            given[number] = content.encode()
        elif not is_shared:
            special[number] = content.encode()
    notes = {
        "added tokens whose id in the file is ignored by tokenizers": moved,
        "special tokens that texts can give, counted as tokens of text": [
            f"'{shortened(name.decode())}'" for name in given.values()
        ],
        "added tokens that share the id of another token of the model": shared,
        "added tokens that tokenizers does not read": ignored,
    }
    told = [f"{what}: {len(which):,} (first: {which[0]})" for what, which in notes.items() if which]
    return Added(special, kept, given, told)


def _is_given(content: str, number: int, library: Library, model: Model) -> bool:
    """Return whether a text can give the id of a special token of the model."""
    if number == model.unknown or content not in model.ids:
        return False
    if model.byte_fallback and BYTE.fullmatch(content):
        return True
    with libraries.told("tokenizers fails on the name of an added token"):
        return any(number in library.encode(context.format(content)) for context in CONTEXTS)
