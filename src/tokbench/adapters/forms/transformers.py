"""Folders of ``transformers``, and detection of a file's form from its content. No code in a folder is ever run."""

import base64
import binascii
import codecs
import re
from pathlib import Path

from tokbench.adapters.forms import FORMS, REMEDY, ParsedTokenizer, ReadOptions, named_file, read_bounded, read_form
from tokbench.adapters.forms.folder_settings import FolderSettings, folder_settings
from tokbench.adapters.forms.merges import FIRST
from tokbench.errors import TokbenchError, listed
from tokbench.io.json import parse_json
from tokbench.io.paths import is_source
from tokbench.tokenizer.folder import SETTINGS
from tokbench.tokenizer.hugging_face import names_another_class

FILES = {
    "tokenizer.json": "tokenizer_json",
    "tekken.json": "tekken",
    "tokenizer.model": "sentencepiece",
    "spiece.model": "sentencepiece",
    "sentencepiece.bpe.model": "sentencepiece",
    "merges.txt": "merges",
}
"""Files that define a folder's tokenizer, in order of preference, with their forms."""
OWN = ("tokens.vocab", "adapted")
"""Files of which every folder written by Tokbench has one."""
RANKS = "tiktoken"
"""Form of a folder that has none of these files, but one file of ranks."""


def read(path: Path, options: ReadOptions, settings: FolderSettings) -> ParsedTokenizer:
    """Parse the tokenizer of a folder, with the settings in it.

    Raises:
        TokbenchError: no file in it is known, or the path is not a folder.
    """
    if not path.is_dir():
        raise TokbenchError(
            f"{path}: not a folder of transformers; name one, or a name on the hub with --revision, its full hash"
        )
    found = file_in(path)
    if found is None and (path / SETTINGS).is_file():
        raise TokbenchError(f"{path}: is already a tokenizer's folder; use it without an import")
    if found is None:
        raise TokbenchError(f"{path}: no known tokenizer; it has none of {', '.join(FILES)} and *.tiktoken")
    file, form = found
    return read_form(file, form, options, folder_settings(path))


def file_in(folder: Path) -> tuple[Path, str] | None:
    """Return the file that defines a folder's tokenizer, and its form; None if there is none.

    Raises:
        TokbenchError: the folder has several files of ranks and no other, or Tokbench wrote it and its settings are
            missing.
    """
    _check_complete(folder)
    for name, form in FILES.items():
        if file := named_file(folder, name):
            return file, form
    ranks = _ranks(folder)
    if len(ranks) > 1:
        raise TokbenchError(
            f"{folder}: several files of ranks ({listed(file.name for file in ranks)}); name one of them"
        )
    return (ranks[0], RANKS) if ranks else None


def _check_complete(folder: Path) -> None:
    """Reject a folder that Tokbench wrote without its settings: another file in it may be of another tokenizer."""
    own = next((name for name in OWN if (folder / name).is_file()), None)
    if own is not None and not (folder / SETTINGS).exists() and not names_another_class(folder):
        raise TokbenchError(
            f"{folder}: {SETTINGS} is missing next to {own}, a file of a tokenizer that Tokbench saved; restore it, or "
            "name another file in the folder"
        )


def _ranks(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob("*.tiktoken*") if not file.is_dir())


MODEL = re.compile(rb"\n(?:\n\n[\x01-\x08]|[^\n\x80-\xff]\n|[\x80-\xff][\x01-\x7f]\n)")
"""First bytes of a SentencePiece model: the tag of the first piece, its length in one or two bytes, and the tag of its
text. Other forms have no line of one character, and no such bytes after empty lines."""
LINES = 1000
"""Lines that are read to detect the form; a vocabulary with every byte has at least 256."""


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
    is_json = content.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{")
    form = _of_json(content, path) if is_json else "sentencepiece" if MODEL.match(content) else _of_lines(content)
    if form is None:
        raise TokbenchError(f"{path}: not a known format; name it with --from, one of {', '.join(FORMS)}")
    return form


def starts_as_merges(path: Path) -> bool:
    """Return whether a file begins with the first line of a merges.txt."""
    return read_bounded(path).startswith(FIRST.encode())


def _of_json(content: bytes, path: Path) -> str | None:
    values = parse_json(content, str(path), remedy=REMEDY)
    if isinstance(values.get("model"), dict):
        return "tokenizer_json"
    return "tekken" if isinstance(values.get("config"), dict) and isinstance(values.get("vocab"), list) else None


def _of_lines(content: bytes) -> str | None:
    """Return the form that all of the first lines have: a token and its rank, a token, or two parts of one."""
    lines = [line.removesuffix(b"\r") for line in content.split(b"\n", LINES)[:LINES]]
    lines = [line for line in lines if line.strip()]
    if lines and lines[0].startswith(FIRST.encode()):
        return "merges"
    return next((form for form, fits in LINE.items() if lines and all(map(fits, lines))), None)


def _is_rank(line: bytes) -> bool:
    token, _, rank = line.partition(b" ")
    try:
        return rank.isdigit() and bool(base64.b64decode(token, validate=True))
    except binascii.Error:
        return False


def _is_token(line: bytes) -> bool:
    try:
        return bool(bytes.fromhex(line.decode("ascii")))
    except ValueError:
        return False


def _is_merge(line: bytes) -> bool:
    left, blank, right = line.partition(b" ")
    return bool(left and blank and right) and b" " not in right


LINE = {"tiktoken": _is_rank, "tokens": _is_token, "merges": _is_merge}
"""Tests of a line by form, the stricter ones first."""
