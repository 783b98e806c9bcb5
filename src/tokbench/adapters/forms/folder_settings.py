"""Settings files of a ``transformers`` folder: added tokens and the end of text.

The tokenizer's file has precedence. The settings add the tokens that it lacks, and name the end of text.

For a ``tokenizer.json``, the flag ``special`` of an added token decides whether the library recognises it in a text: it
skips special tokens. Special tokens of white space only are recognised, too, as ordinary texts contain them.

Ids are the library's, not the file's. The library ignores the id of an added token in the file: a token of the model
keeps the model's id, any other token gets the next id that the library counts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tokbench.adapters.forms.files import named_file, read_bounded
from tokbench.adapters.forms.folder_classes import class_key
from tokbench.adapters.forms.parsed import End
from tokbench.errors import TokbenchError, shortened
from tokbench.io.json import parse_json
from tokbench.io.numbers import LARGEST_VOCABULARY
from tokbench.tokenizer.libraries import Library, library_errors

Choice = Literal["words", "text", "tokens"]
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
    return AddedTokenSettings(special, kept, given, told)


def _is_given(content: str, number: int, library: Library, model: Model) -> bool:
    """Return whether encoding can return the id of a special token of the model."""
    if number == model.unknown or content not in model.ids:
        return False
    if model.byte_fallback and BYTE.fullmatch(content):
        return True
    with library_errors("tokenizers fails on the name of an added token"):
        return any(number in library.encode(context.format(content)) for context in CONTEXTS)


TOKENIZER, ADDED, SPECIAL = "tokenizer_config.json", "added_tokens.json", "special_tokens_map.json"
GENERATION, MODEL = "generation_config.json", "config.json"
FILES = (TOKENIZER, ADDED, SPECIAL, GENERATION, MODEL)
"""Names of the settings files; each is optional."""
ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
FLAGS = ("special", "single_word", "lstrip", "rstrip", "normalized")
MEND = "correct the file or remove it"


@dataclass(frozen=True)
class FolderSettings:
    """The settings of a folder.

    Attributes:
        added: Added tokens in the form of ``tokenizer.json``, by id.
        source: File of the added tokens.
        ends: Ends of text, the preferred one first.
        folder: The folder, None for a file without one.
        named: Name of the tokenizer class or model type; empty if no file has it.
        options: Content of ``tokenizer_config.json``.
        names: Special tokens by role, such as ``unk_token``.
    """

    added: Sequence[Mapping[str, Any]] = ()
    source: str = ""
    ends: Sequence[End] = ()
    folder: Path | None = None
    named: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def ordinary(self) -> set[int]:
        """Ids of the added tokens that are not special."""
        return {entry["id"] for entry in self.added if not entry["special"]}

    @property
    def kind(self) -> str:
        """Key of the class, see :mod:`tokbench.adapters.forms.folder_classes`; empty if no file has it."""
        return class_key(self.named)


NONE = FolderSettings()
"""No settings, for a file without a folder."""


def folder_settings(folder: Path) -> FolderSettings:
    """Read the settings of a folder.

    ``added_tokens_decoder`` of ``tokenizer_config.json`` replaces ``added_tokens.json``. The end of text is the
    ``eos_token`` of ``tokenizer_config.json``, then of ``special_tokens_map.json``, then the ``eos_token_id`` of
    ``generation_config.json``, then of ``config.json``.

    Raises:
        TokbenchError: A file is damaged.
    """
    values = {name: _read(folder, name) for name in FILES}
    ends = [
        End(name, f"eos_token of {file}")
        for file in (TOKENIZER, SPECIAL)
        if (name := _name(values[file].get("eos_token"))) is not None
    ]
    for file in (GENERATION, MODEL):
        given = values[file].get("eos_token_id")
        numbers = given if isinstance(given, list) else [given]
        ends += [End(number, f"eos_token_id of {file}") for number in numbers if type(number) is int]
    special = {name for file in (TOKENIZER, SPECIAL) for name in _special_names(values[file])}
    if decoder := values[TOKENIZER].get("added_tokens_decoder"):
        source, entries = TOKENIZER, list(_decoder(decoder, folder / TOKENIZER))
    else:
        source, entries = ADDED, list(_names_with_ids(values[ADDED], special, folder / ADDED))
    named = (
        values[TOKENIZER].get("tokenizer_class"),
        values[MODEL].get("tokenizer_class"),
        values[MODEL].get("model_type"),
    )
    return FolderSettings(
        sorted(entries, key=lambda entry: entry["id"]),
        source,
        ends,
        folder,
        next((name for name in named if isinstance(name, str) and name), ""),
        values[TOKENIZER],
        {role: name for file in (SPECIAL, TOKENIZER) for role in ROLES if (name := _name(values[file].get(role)))},
    )


def flag_of(options: Mapping[str, Any], key: str, default: bool | None) -> bool | None:
    """Return a flag of ``tokenizer_config.json``.

    Raises:
        TokbenchError: It is neither true, false nor null.
    """
    value = options.get(key, default)
    if value is not None and not isinstance(value, bool):
        raise TokbenchError(f"{TOKENIZER}: {key} is {value!r:.20}, not true or false; {MEND}")
    return value


def tokens_to_add(settings: FolderSettings, present: set[str]) -> list[Mapping[str, Any]]:
    """Return the added tokens whose content is not in ``present``."""
    return [entry for entry in settings.added if entry["content"] not in present]


def special_to_add(
    settings: FolderSettings, names: Mapping[int, bytes], choice: Choice, place: str
) -> tuple[dict[int, bytes], list[str]]:
    """Return special tokens to add to a tokenizer whose library has no added tokens, and notes.

    Args:
        settings: The settings of the folder.
        names: Ids of the tokenizer with the names of their tokens.
        choice: Which added tokens should be recognised in a text.
        place: The file, for messages.

    Raises:
        TokbenchError: Tokens should be recognised in texts, which the library cannot do.
    """
    taken = set(names.values())
    more: dict[int, bytes] = {}
    words: list[str] = []
    others: list[str] = []
    for entry in settings.added:
        number, name = entry["id"], entry["content"].encode()
        if names.get(number) == name:
            continue
        quoted = f"'{shortened(entry['content'])}'"
        if number in names or name in taken:
            others.append(f"{quoted}, id {number}")
            continue
        if choice == "tokens":
            raise TokbenchError(
                f"{place}: the added token {quoted} of {settings.source} cannot be cut out of texts by the library of "
                "this file; choose --added words or --added text"
            )
        if choice == "words" and not entry["special"]:
            words.append(quoted)
        more[number] = name
    notes = {
        f"added tokens of {settings.source} that have another id or name in the tokenizer, which is kept": others,
        f"added tokens of {settings.source} that stay text, as the library cannot cut them out": words,
    }
    return more, [f"{what}: {len(which):,} (first: {which[0]})" for what, which in notes.items() if which]


def _read(folder: Path, name: str) -> dict[str, Any]:
    """Return the values of a file, empty if the folder lacks it."""
    file = named_file(folder, name)
    if file is None:
        return {}
    values = parse_json(read_bounded(file), str(file), remedy=MEND, lenient=True)
    if not isinstance(values, dict):
        raise TokbenchError(f"{file}: expected a JSON object ({type(values).__name__}); {MEND}")
    return values


def _name(value: Any) -> str | None:
    """Return the name of a token, which may be a string or an object with its ``content``."""
    name = value.get("content") if isinstance(value, dict) else value
    return name if isinstance(name, str) and name else None


def _special_names(values: Mapping[str, Any]) -> Iterator[str]:
    more = values.get("additional_special_tokens")
    for value in (*(values.get(role) for role in ROLES), *(more if isinstance(more, list) else ())):
        if (name := _name(value)) is not None:
            yield name


def _decoder(decoder: Any, file: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of ``added_tokens_decoder``, whose keys are ids."""
    if not isinstance(decoder, dict):
        raise TokbenchError(f"{file}: added_tokens_decoder is not an object; {MEND}")
    for key, value in decoder.items():
        place = f"{file}: added_tokens_decoder.{key:.20}"
        number = int(key) if key.isascii() and key.isdigit() and len(key) < 20 else None
        yield _entry(number, _name(value), value if isinstance(value, dict) else {}, place)


def _names_with_ids(values: Mapping[str, Any], special: set[str], file: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of ``added_tokens.json``, whose keys are names."""
    for name, number in values.items():
        yield _entry(number, name, {"special": name in special}, f"{file}: '{shortened(name)}'")


def _entry(number: Any, name: str | None, flags: Mapping[str, Any], place: str) -> dict[str, Any]:
    if not name or type(number) is not int or not 0 <= number < LARGEST_VOCABULARY:
        raise TokbenchError(f"{place}: expected a name and an id below {LARGEST_VOCABULARY} ({number!r:.20}); {MEND}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise TokbenchError(f"{place}: the name is not text ({name!a:.40}); {MEND}") from None
    return {"id": number, "content": name, **{flag: flags.get(flag) is True for flag in FLAGS}}
