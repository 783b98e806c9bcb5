"""``tokenizer.json`` of Hugging Face's ``tokenizers``."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokbench.adapters.forms import REMEDY, Found, NotNativeError, ReadOptions, marks_told
from tokbench.adapters.forms.added_tokens import Added, Model, added_entries, added_tokens
from tokbench.adapters.forms.byte_level import native_model
from tokbench.adapters.forms.charsmap import check_charsmaps
from tokbench.adapters.forms.files import read_bounded
from tokbench.adapters.forms.folder_settings import FolderSettings, tokens_to_add
from tokbench.adapters.libraries import open_library
from tokbench.errors import TokbenchError
from tokbench.inputs.json import parse_json
from tokbench.inputs.numbers import LARGEST_VOCABULARY


def read(path: Path, options: ReadOptions, settings: FolderSettings) -> Found:
    """A file of that library, ours where it works on bytes and changes nothing of a text.

    Truncation, padding and dropout are switched off.

    Raises:
        TokbenchError: the file is no JSON object with a model.
    """
    if options.pattern is not None:
        raise TokbenchError(f"{path}: how it cuts texts is in the file; leave --pattern out")
    values = parse_json(read_bounded(path), str(path), remedy=REMEDY)
    return found_in(values, str(path), options, settings)


def found_in(values: Any, place: str, options: ReadOptions, folder: FolderSettings) -> Found:
    """What the values of such a file hold."""
    try:
        model = values["model"]
        own = values.get("added_tokens") or []
        more = tokens_to_add(folder, {entry["content"] for entry in own})
        entries = added_entries([*own, *more], options.added)
        dropout, model["dropout"] = model.get("dropout"), None
        values |= {"added_tokens": entries, "truncation": None, "padding": None}
        ids = _ids(model)
        check_charsmaps(values.get("normalizer"))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TokbenchError(f"{place}: not a tokenizer.json ({type(error).__name__}: {error}); {REMEDY}") from None
    unknown = _unknown(model, ids)
    content = json.dumps(values, ensure_ascii=False).encode()
    settings = {"special": options.added == "tokens", "unknown": unknown}
    opened = open_library("tokenizers", content, settings, place)
    added = added_tokens(entries, options.added, opened, Model(ids, unknown, bool(model.get("byte_fallback"))))
    limit = max([*ids.values(), *added.special, *added.kept], default=-1) + 1
    taken = {number for number in ids.values() if number in added.special or number == unknown}
    found = Found(
        None,
        library="tokenizers",
        content=content,
        settings=settings,
        opened=opened,
        special=added.special,
        added={**added.kept, **added.given},
        ends=folder.ends,
        tokens=len({*ids.values(), *added.kept} - taken),
        ids=limit,
        told=[*_told(added), *_added_told(folder, len(more)), *(["dropout is off"] if dropout else [])],
    )
    try:
        native = native_model(values, added, options.segmentation)
    except NotNativeError as error:
        return replace(found, reason=str(error))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return replace(found, reason="parts of it are of a form that is not known here")
    return replace(found, native=native, tokens=len(native.vocabulary))


def _ids(model: dict[str, Any]) -> dict[str, int]:
    """The strings of a model with their ids."""
    vocabulary = model["vocab"]
    if isinstance(vocabulary, list):
        vocabulary = {spelt: number for number, (spelt, _) in enumerate(vocabulary)}
    for spelt, number in vocabulary.items():
        if not isinstance(spelt, str) or type(number) is not int or not 0 <= number < LARGEST_VOCABULARY:
            raise ValueError(f"{spelt!r:.40} has the id {number!r:.20}")
    found: dict[str, int] = vocabulary
    return found


def _unknown(model: dict[str, Any], ids: dict[str, int]) -> int | None:
    """The id of what the vocabulary cannot spell: Unigram names it by number, the other models by token."""
    number, token = model.get("unk_id"), model.get("unk_token")
    return number if type(number) is int else ids.get(token) if isinstance(token, str) else None


def _added_told(folder: FolderSettings, number: int) -> list[str]:
    return [f"{number:,} added tokens are from {folder.source}"] if number else []


def _told(added: Added) -> list[str]:
    told = []
    if added.special:
        told.append(marks_told(len(added.special), "special"))
    if added.kept:
        told.append(f"{len(added.kept):,} added tokens are cut out of texts first")
    return [*told, *added.notes]
