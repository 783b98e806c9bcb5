"""Folders of ``transformers``, and detection of a file's form from its content. No code in a folder is ever run."""

import codecs
import hashlib
import os
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from tokbench.adapters.forms import FORMS, read_form
from tokbench.adapters.forms.conversion import converted
from tokbench.adapters.forms.files import read_bounded
from tokbench.adapters.forms.folder_classes import WORDPIECE, needs_conversion
from tokbench.adapters.forms.folder_settings import TOKENIZER, FolderSettings, folder_settings
from tokbench.adapters.forms.parsed import ParsedTokenizer, ReadOptions
from tokbench.adapters.forms.tokenizer_json import parse_values
from tokbench.errors import TokbenchError, listed
from tokbench.io.compression import plain_name
from tokbench.io.contents import (
    FILES,
    MERGES_HEAD,
    REMEDY,
    SENTENCEPIECE,
    UNKNOWN,
    are_json_lines,
    content_of,
    form_of_lines,
    names_in,
)
from tokbench.io.json import parse_json
from tokbench.io.paths import is_source
from tokbench.tokenizer.folder import SETTINGS
from tokbench.tokenizer.hugging_face import names_another_class

FORMS_OF_FILES = ("tokenizer_json", "tekken", "sentencepiece", "tiktoken", "merges", "wordpiece")
"""Forms of these files."""
TOKBENCH_FILES = ("tokens.vocab", "adapted")
"""Files of which every folder written by Tokbench has one."""
ORIGINAL = "original"
"""Subfolder of the files in their maker's format; the settings are in the folder above."""
BY_NAME = {"tokenizer.json": "tokenizer_json", "tekken.json": "tekken", "merges.txt": "merges", "vocab.bpe": "merges"}
"""Forms of files whose content is not known; their parsers name the mistake."""
RANKS = "tiktoken"


def read(path: Path, options: ReadOptions, settings: FolderSettings) -> ParsedTokenizer:
    """Parse the tokenizer of a folder, or one file of it, with the settings in the folder.

    Raises:
        TokbenchError: no file in it is known, or there is no such folder.
    """
    if os.path.isfile(path):
        return _read_file(path, detect_format(path), options)
    if not os.path.isdir(path):
        raise TokbenchError(
            f"{path}: not a folder of transformers; name one, or a name on the hub with --revision, its full hash"
        )
    file = file_in(path)
    if file is None and (path / SETTINGS).is_file():
        raise TokbenchError(f"{path}: is already a tokenizer's folder; use it without an import")
    if file is None:
        names = [name for group in FILES for name in group]
        raise TokbenchError(f"{path}: no known tokenizer; it has none of {', '.join(names)}{_subfolders(path)}")
    return _read_file(*file, options)


def _read_file(file: Path, form: str, options: ReadOptions) -> ParsedTokenizer:
    """Parse a file with the settings of its folder, and with the rules of the class that these name."""
    settings = folder_settings(settings_folder(file.parent))
    if not needs_conversion(settings.kind, form) or (form == "merges" and options.pattern is not None):
        return read_form(file, form, options, settings)
    if options.pattern is not None:
        raise TokbenchError(f"{file}: its class '{settings.named}' has its own pre-tokenization; leave --pattern out")
    parsed = parse_values(converted(file.parent, settings.named, form), str(file), options, settings)
    return replace(parsed, notes=[f"ids are those of '{settings.named}' of transformers", *parsed.notes])


def settings_folder(folder: Path) -> Path:
    """Return the folder of the settings of a file in a folder: that above ``original``, otherwise the folder."""
    return folder.parent if folder.name == ORIGINAL and (folder.parent / TOKENIZER).is_file() else folder


def file_in(folder: Path) -> tuple[Path, str] | None:
    """Return the file that defines a folder's tokenizer, and its form; None if there is none.

    A folder of the hub's cache, with ``snapshots``, is that of its current snapshot.

    Raises:
        TokbenchError: the folder has several such files of different content, or Tokbench wrote it and its settings are
            missing.
    """
    folder = snapshot(folder)
    _check_complete(folder)
    for group in FILES:
        files = [(file, form) for name in group for file in names_in(folder, name) if (form := form_in_folder(file))]
        if len(files) > 1 and len({_digest(file) for file, _ in files}) > 1:
            names = listed(str(file.relative_to(folder)) for file, _ in files)
            kind = "files of ranks" if {form for _, form in files} == {RANKS} else "tokenizer files"
            raise TokbenchError(f"{folder}: several {kind} ({names}); name one of them, with from: transformers")
        if files:
            return files[0]
    return None


def snapshot(folder: Path) -> Path:
    """Return the current snapshot of a folder of the hub's cache; any other folder as it is.

    Raises:
        TokbenchError: it has several snapshots, and none is current.
    """
    places = sorted(place for place in folder.glob("snapshots/*") if place.is_dir())
    if not places:
        return folder
    main = folder / "refs" / "main"
    current = main.read_text("utf-8", "replace").strip() if main.is_file() else ""
    if (revision := next((place for place in places if place.name == current), None)) is not None:
        return revision
    if len(places) > 1:
        raise TokbenchError(f"{folder}: several snapshots ({listed(place.name for place in places)}); name one of them")
    return places[0]


def _subfolders(folder: Path) -> str:
    """Return a hint at subfolders that have a tokenizer file."""
    names = [name for group in FILES for name in group if "/" not in name]
    inner = sorted(place for place in folder.iterdir() if place.is_dir() and not place.name.startswith("."))
    folders = [place.name for place in inner if any(names_in(place, name) for name in names)]
    return f"; {listed(folders)} in it {'have' if len(folders) > 1 else 'has'} one: name that folder" if folders else ""


def _check_complete(folder: Path) -> None:
    """Reject a folder that Tokbench wrote without its settings: another file in it may be of another tokenizer."""
    own = next((name for name in TOKBENCH_FILES if (folder / name).is_file()), None)
    if own is not None and not (folder / SETTINGS).exists() and not names_another_class(folder):
        raise TokbenchError(
            f"{folder}: {SETTINGS} is missing next to {own}, a file of a tokenizer that Tokbench saved; restore it, or "
            "name another file in the folder"
        )


def form_in_folder(file: Path) -> str | None:
    """Return the form of a file in a folder by its content; if that is not known, by its name, or None."""
    status = file.stat()
    return _form_of_file(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _form_of_file(file: Path, changed: int, size: int) -> str | None:
    name = plain_name(file.name)
    if name.endswith(f".{RANKS}"):
        return RANKS
    expected = BY_NAME.get(name)
    if expected == "merges":
        return expected
    try:
        return detect_format(file)
    except TokbenchError:
        return expected or (None if name == "vocab.txt" and not _is_vocabulary(file) else _of_name(name))


def _of_name(name: str) -> str:
    """Return the form that a file of this name has most often."""
    return "wordpiece" if name == "vocab.txt" else RANKS if name == "tiktoken.model" else "sentencepiece"


def _is_vocabulary(file: Path) -> bool:
    """Return whether a folder's class reads a vocab.txt; otherwise it may be of anything."""
    return folder_settings(file.parent).kind in WORDPIECE


def _digest(file: Path) -> str:
    return hashlib.sha256(read_bounded(file)).hexdigest()


def detect_format(path: Path) -> str:
    """Detect the form of a file; ``transformers`` for a folder.

    Raises:
        TokbenchError: the form is not known.
    """
    if path.is_dir():
        return "transformers"
    if is_source(str(path)):
        return "python"
    content = read_bounded(path)
    lines = are_json_lines(content)
    if content.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{"):
        form = None if lines else _of_json(content, path)
    else:
        form = "sentencepiece" if SENTENCEPIECE.match(content) else form_of_lines(content)
    form = form or ("wordpiece" if UNKNOWN.search(content) else None)
    if form is None:
        known_content = content_of(path)
        text = "JSON Lines" if lines else known_content.what
        known = f"{text}, not a tokenizer" if lines or known_content.kind == "marked_up" else "not a known format"
        raise TokbenchError(f"{path}: {known}; name it with --from, one of {', '.join(FORMS)}")
    return form


def starts_as_merges(path: Path) -> bool:
    """Return whether a file begins with the first line of a merges.txt."""
    return read_bounded(path).removeprefix(codecs.BOM_UTF8).startswith(MERGES_HEAD.encode())


def _of_json(content: bytes, path: Path) -> str | None:
    values = parse_json(content, str(path), remedy=REMEDY, lenient=True)  # Readers are strict.
    if isinstance(values.get("model"), dict):
        return "tokenizer_json"
    return "tekken" if isinstance(values.get("config"), dict) and isinstance(values.get("vocab"), list) else None
