"""Added tokens of a ``tokenizer.json``, by the ids of its library.

The flag ``special`` of an added token decides whether the library recognises it in a text: it skips special tokens.
Special tokens of white space only are recognised, too, as ordinary texts contain them.

Ids are the library's, not the file's. The library ignores the id of an added token in the file: a token of the model
keeps the model's id, any other token gets the next id that the library counts.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokbench.adapters.forms.folder_settings import Choice
from tokbench.errors import shortened
from tokbench.io.numbers import LARGEST_VOCABULARY
from tokbench.tokenizer.libraries import Library, library_errors

BYTE = re.compile("<0x[0-9A-F]{2}>")
"""Name of a byte in models with byte fallback."""
CONTEXTS = ("{}", "a{}", "{}a", "a {} a", "\n{}\n")
"""Texts on which a special token is tested, with braces for its name."""


@dataclass(frozen=True)
class Model:
    """Parts of a model that decide which ids encoding can return.

    Attributes:
        ids: Tokens with their ids.
        unknown: Id of the unknown token, None if there is none.
        byte_fallback: Whether characters that are not tokens become tokens of their bytes.
    """

    ids: Mapping[str, int]
    unknown: int | None
    byte_fallback: bool


@dataclass(frozen=True)
class AddedTokenSettings:
    """The added tokens of a file, by the ids of the library.

    Attributes:
        special: Tokens that stay text and whose id encoding never returns, with their names.
        kept: Tokens that the library recognises in a text.
        given: Special tokens whose id encoding can return.
        notes: Differences from the file, one sentence each without a full stop.
    """

    special: Mapping[int, bytes]
    kept: Mapping[int, bytes]
    given: Mapping[int, bytes]
    notes: Sequence[str] = ()


def added_entries(entries: Sequence[Mapping[str, Any]], choice: Choice) -> list[Mapping[str, Any]]:
    """Return the added tokens for the library: those that should stay text are special, all others are not.

    Args:
        entries: The added tokens of the file.
        choice: Which of them to recognise in a text: all but special ones (``words``), none (``text``), or all
            (``tokens``). With ``words``, special tokens of white space only are recognised.

    Raises:
        ValueError: An entry has no content, or its id is out of range.
    """
    marked: list[Mapping[str, Any]] = []
    for entry in entries:
        number, content = entry["id"], entry["content"]
        if not isinstance(content, str) or type(number) is not int or not 0 <= number < LARGEST_VOCABULARY:
            raise ValueError(f"added token {content!r:.40} has the id {number!r:.20}")
        stays_text = choice == "text" or (bool(entry.get("special")) and not content.isspace())
        marked.append(entry if choice == "tokens" else {**entry, "special": stays_text})
    return marked


def added_tokens(
    entries: Sequence[Mapping[str, Any]], choice: Choice, library: Library, model: Model
) -> AddedTokenSettings:
    """Return the added tokens by the ids of the library.

    A special token counts as a normal token if encoding can return its id. That is true of the bytes of a model with
    byte fallback, and of a token of the model that the library produces from the token's own name.

    Args:
        entries: The added tokens as returned by :func:`added_entries`.
        choice: The choice that they were marked by.
        library: The tokenizer opened by the library.
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
    # A token is kept, given by texts or special; its id is the one that the library uses.
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
    # One line for each kind of deviation from the file.
    notes = {
        "added tokens whose id in the file is ignored by tokenizers": moved,
        "special tokens that texts can give, counted as tokens of text": [
            f"'{shortened(name.decode())}'" for name in given.values()
        ],
        "added tokens that share the id of another token of the model": shared,
        "added tokens that tokenizers does not read": ignored,
    }
    lines = [f"{what}: {len(which):,} (first: {which[0]})" for what, which in notes.items() if which]
    return AddedTokenSettings(special, kept, given, lines)


def _is_given(content: str, number: int, library: Library, model: Model) -> bool:
    """Return whether encoding can return the id of a special token of the model."""
    if number == model.unknown or content not in model.ids:
        return False
    if model.byte_fallback and BYTE.fullmatch(content):
        return True
    with library_errors("tokenizers fails on the name of an added token"):
        return any(number in library.encode(context.format(content)) for context in CONTEXTS)
