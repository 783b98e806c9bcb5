"""Settings files of a ``transformers`` folder: added tokens and the end of text.

The tokenizer's file has precedence. The settings add the tokens that it lacks, and name the end of text.
"""

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

Choice = Literal["words", "text", "tokens"]
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


NO_SETTINGS = FolderSettings()
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
    # Ends of text, the preferred one first.
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
    # Added tokens with their ids.
    if decoder := values[TOKENIZER].get("added_tokens_decoder"):
        source, entries = TOKENIZER, list(_decoder(decoder, folder / TOKENIZER))
    else:
        source, entries = ADDED, list(_names_with_ids(values[ADDED], special, folder / ADDED))
    # The class of the tokenizer, or the type of its model.
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
