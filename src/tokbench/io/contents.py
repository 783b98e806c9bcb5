"""Kind of a file or folder, decided by its content, and by its ending if the content does not decide.

:func:`content_of` is the one rule by which commands, configurations and the Python interface separate tokenizers from
texts. It reads the beginning of a file, and all of it only where the beginning looks like that of a tokenizer.
"""

import base64
import binascii
import codecs
import itertools
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from tokbench.errors import TokbenchError
from tokbench.io.compression import COMPRESSED, plain_name
from tokbench.io.paths import is_source
from tokbench.io.text_files import opened

Kind = Literal["tokenizer", "model", "results", "folder", "marked_up", "text"]
HEAD = 1 << 16
"""Bytes of a file that are read to decide its kind."""
LARGEST_TOKENIZER = 1 << 28
"""Maximum number of bytes of a tokenizer's file; the largest common ones have a tenth of it."""
REMEDY = "pass a complete file of its format"
"""End of messages about damaged tokenizer files."""
LARGEST_LIST = 1 << 24
"""Maximum number of bytes of a list of tokens in hexadecimal that are searched for the 256 bytes."""
FILES = (
    ("tokenizer.json",),
    ("tekken.json",),
    (
        *("tokenizer.model", "tiktoken.model", "spiece.model", "sentencepiece.bpe.model", "sentencepiece.model"),
        *("spm.model", "source.spm"),
    ),
    ("*.tiktoken",),
    ("merges.txt", "vocab.bpe"),
    ("vocab.txt",),
    ("original/tokenizer.model", "original/tiktoken.model"),
    ("tokenizer.model.v*",),
)
"""Names of files that define the tokenizer of a folder, in order of preference. Files of one group are equally good:
they must have the same content."""
SETTINGS = "tokbench.json"
"""Settings in the folder of a tokenizer that Tokbench saved."""
AMBIGUOUS = "vocab.txt"
"""A name in :data:`FILES` that other folders have, too; it is a tokenizer's next to :data:`CONFIGURATION`."""
CONFIGURATION = "tokenizer_config.json"
WEIGHTS = ("*.safetensors", "pytorch_model*.bin", "*.gguf")
"""Files of the weights of a language model."""
RESULTS = ("tables/intrinsic.parquet", "tidy/intrinsic.*", "tokenizers/*/*/tokbench.json")
"""Files of an experiment's folder."""
POINTER = b"version https://git-lfs.github.com/spec/"
"""First bytes of a file that was cloned without its content."""
MARKED_UP: dict[str, tuple[tuple[str, ...], re.Pattern[bytes] | None]] = {
    "HTML": ((".html", ".htm", ".xhtml"), re.compile(rb"\s*(?:<!doctype\s+html|<html[\s>])", re.IGNORECASE)),
    "XML": ((".xml", ".tmx", ".xliff"), re.compile(rb"\s*<\?xml\s")),
    "a web archive": ((".warc", ".wet", ".wat"), re.compile(rb"WARC/\d")),
    "a table": ((".csv", ".tsv"), None),
    "GeoJSON": ((".geojson",), None),
    "a notebook": ((".ipynb",), None),
    "RTF": ((".rtf",), re.compile(rb"\{\\rtf")),
    "subtitles": ((".srt", ".vtt"), re.compile(rb"WEBVTT\s")),
    "a pointer of Git LFS": ((), re.compile(re.escape(POINTER))),
}
"""Formats whose tags, headers or separators are no text: their endings, and first bytes if they are distinctive."""
ENDINGS = tuple(sorted({ending for endings, _ in MARKED_UP.values() for ending in endings} | {*COMPRESSED}))
"""Endings of files whose content is no text, and of compressions."""
MERGES_HEAD = "#version"
"""Beginning of a first line of ``merges.txt`` that is not a merge."""
END = "</w>"
"""Mark of the end of a word in some merges."""
SENTENCEPIECE = re.compile(rb"\n(?:\n\n[\x01-\x08]|[^\n\x80-\xff]\n|[\x80-\xff][\x01-\x7f]\n)")
"""First bytes of a SentencePiece model: the tag of the first piece, its length in one or two bytes, and the tag of its
text. Other forms have no line of one character, and no such bytes after empty lines."""
PIECE = re.compile(
    rb"\n(?:[^\x80-\xff]|[\x80-\xff][\x01-\x7f])\n(?:[^\x80-\xff]|[\x80-\xff][\x01-\x7f]).{0,512}?\x15.{4}(?:\x18.)?\n",
    re.DOTALL,
)
"""The whole first piece of a SentencePiece model: lengths, text, the tag and bytes of its score, and its type."""
UNKNOWN = re.compile(rb"(?m)^\[UNK\]\r?$")
"""The line of the unknown token, which every ``vocab.txt`` of BERT has."""
LINES = 1000
"""Lines that are read to detect the form; a vocabulary with every byte has at least 256."""
FEWEST = 100
"""Fewest lines of a file of ranks or of a vocabulary without another sign: shorter lists may be texts."""
FIRST_KEYS = frozenset(
    {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder"}
    | {"model", "config", "vocab", "special_tokens", "multimodal", "image", "audio", "type"}
)
"""Keys of the objects in tokenizer.json and tekken.json, one of which is the first."""
FIRST_KEY = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(\w+)"\s*:')


class Content(NamedTuple):
    """Content of a file or folder.

    Attributes:
        kind: ``tokenizer``; ``model``, the folder of a language model; ``results``, that of an experiment; ``folder``,
            any other; ``marked_up``, text between tags, headers or separators; or ``text``, any other file, such as one
            of a format of corpora.
        what: noun phrase for messages, with its article.
    """

    kind: Kind
    what: str


PLAIN = Content("text", "a text")


def content_of(path: Path | str) -> Content:
    """Return the kind of a file, a folder or ``FILE.py:FUNCTION``; a missing or unreadable file is a text.

    A file counts as a tokenizer only if it cannot be a text. :func:`tokbench.adapters.forms.transformers.detect_format`
    also accepts files that may be both, such as merges without their first line, where a tokenizer is expected.
    """
    if os.path.isdir(path):
        return _of_folder(Path(path))
    if is_source(os.fspath(path)):
        return Content("tokenizer", "a tokenizer (a Python function)")
    place = Path(path)
    try:
        with opened(place, "") as file:
            head = file.read(HEAD)
            form = _form_of(place, head, file.read(_rest_needed(head)))
    except TokbenchError:
        return PLAIN
    if form is not None:
        return Content("tokenizer", f"a tokenizer (form '{form}')")
    name = plain_name(place.name).lower()
    for what, (endings, first) in MARKED_UP.items():
        if name.endswith(endings) or (first is not None and first.match(head)):
            return Content("marked_up", what)
    return PLAIN


def is_tokenizer(path: Path | str) -> bool:
    """Return whether a file, a folder or ``FILE.py:FUNCTION`` is a tokenizer and cannot be a text."""
    return content_of(path).kind == "tokenizer"


def names_in(folder: Path, name: str) -> list[Path]:
    """Return the files of a name or pattern of :data:`FILES` in a folder, compressed or not."""
    if "*" in name:
        ending = "" if name.endswith("*") else "*"
        return sorted(file for file in folder.glob(name + ending) if not file.is_dir())
    files = (folder / f"{name}{suffix}" for suffix in ("", *COMPRESSED))
    return [file for file in files if file.exists() and not file.is_dir()][:1]


def _of_folder(folder: Path) -> Content:
    if _is_tokenizer_folder(folder):
        return Content("tokenizer", "the folder of a tokenizer")
    if any(any(folder.glob(pattern)) for pattern in RESULTS):
        return Content("results", "the folder of an experiment")
    if (folder / "config.json").is_file() and any(any(folder.glob(pattern)) for pattern in WEIGHTS):
        return Content("model", "the folder of a language model")
    return Content("folder", "a folder")


def _is_tokenizer_folder(folder: Path) -> bool:
    if (folder / SETTINGS).is_file() or any(
        place.parent.name.isdecimal() or place.parent.name == "own" for place in folder.glob(f"*/{SETTINGS}")
    ):
        return True
    names = [name for group in FILES for name in group if name != AMBIGUOUS]
    if (folder / CONFIGURATION).is_file():
        names.append(AMBIGUOUS)
    return any(
        names_in(place, name) for place in (folder, *folder.glob("snapshots/*")) if place.is_dir() for name in names
    )


def _rest_needed(head: bytes) -> int:
    """Return the maximum number of bytes after the head that decide the form of a file; 0 if the head decides."""
    if len(head) < HEAD:
        return 0
    if (first := FIRST_KEY.match(head)) is not None:
        return LARGEST_TOKENIZER if first[1].decode() in FIRST_KEYS and not begins_json_lines(head) else 0
    return LARGEST_LIST if _all(_sample(head), is_token) else 0


def _form_of(place: Path, head: bytes, rest: bytes) -> str | None:
    """Return the form of a tokenizer's file from its head and the rest that :func:`_rest_needed` asks for."""
    if plain_name(place.name).lower().endswith(".tiktoken"):
        return "tiktoken"
    if PIECE.match(head):
        return "sentencepiece"
    if FIRST_KEY.match(head):
        return _form_of_object(head + rest)
    lines = _sample(head)
    if lines and lines[0].startswith(MERGES_HEAD.encode()):
        return "merges" if _all(lines[1:], is_merge) else None
    if len(lines) < FEWEST:
        return None
    if _all(lines, is_rank):
        ranks = [int(line.split(b" ")[1]) for line in lines]
        return "tiktoken" if all(low < high for low, high in itertools.pairwise(ranks)) else None
    if _all(lines, is_token):
        single = {line.strip().lower() for line in (head + rest).split(b"\n") if len(line.strip()) == 2}
        return "tokens" if len(single) == 256 else None
    if _are_merges(lines):
        return "merges"
    return "wordpiece" if _are_words(lines) and UNKNOWN.search(head) else None


def _form_of_object(content: bytes) -> str | None:
    """Return the form of a JSON object that is a whole tokenizer: the model of one has a vocabulary."""
    from tokbench.kernels.json_fields import find_fields

    start = len(codecs.BOM_UTF8) if content.startswith(codecs.BOM_UTF8) else 0
    try:
        places = find_fields(content, start, (b"model", b"config", b"vocab"))
        if places is None:
            return None
        (models, first, _), (configurations, place, _), (vocabularies, tokens, _) = places
        if models == 1 and content[first : first + 1] == b"{":
            inner = find_fields(content, first, (b"vocab",), inner=True)
            return "tokenizer_json" if inner and inner[0][0] else None
    except ValueError:
        return None
    has = configurations == vocabularies == 1 and content[place : place + 1] == b"{"
    return "tekken" if has and content[tokens : tokens + 1] == b"[" else None


def are_json_lines(content: bytes) -> bool:
    """Return whether the first two complete lines that are not blank are JSON objects."""
    lines = _sample(content[:HEAD])[:2]
    return len(lines) == 2 and all(map(_is_object, lines))


def begins_json_lines(head: bytes) -> bool:
    """Return whether the first complete lines of a file, one or two that are not blank, are JSON objects.

    Args:
        head: the first 64 KiB of the file, or all of a shorter one.
    """
    lines = _sample(head)[:2]
    return bool(lines) and all(map(_is_object, lines))


def _is_object(line: bytes) -> bool:
    if not line.lstrip().startswith((b"{", codecs.BOM_UTF8)):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _sample(head: bytes) -> list[bytes]:
    """Return the first complete lines that are not blank, without their ends."""
    lines = head.removeprefix(codecs.BOM_UTF8).split(b"\n")
    lines = lines[: min(LINES, len(lines) - (len(head) == HEAD))]
    return [line.removesuffix(b"\r") for line in lines if line.strip()]


def _all(lines: list[bytes], fits: Callable[[bytes], bool]) -> bool:
    return bool(lines) and all(map(fits, lines))


def _are_merges(lines: list[bytes]) -> bool:
    """Return whether lines are distinct, and their parts are characters or, some of them, merged by a line before."""
    merged: set[str] = set()
    deeper = False
    for line in lines:
        left, blank, right = line.decode("utf-8", "replace").partition(" ")
        if not blank or not all(len(part.removesuffix(END)) == 1 or part in merged for part in (left, right)):
            return False
        deeper = deeper or left in merged or right in merged
        merged.add(left + right)
    return deeper and len(set(lines)) == len(lines)


def _are_words(lines: list[bytes]) -> bool:
    """Return whether lines are distinct and without white space inside, as those of ``vocab.txt``."""
    return len(lines) >= FEWEST and len(set(lines)) == len(lines) and not any(len(line.split()) > 1 for line in lines)


def form_of_lines(content: bytes) -> str | None:
    """Return the form that all of the first lines may have: a token and its rank, a token, or two parts of one."""
    lines = [line.removesuffix(b"\r") for line in content.removeprefix(codecs.BOM_UTF8).split(b"\n", LINES)[:LINES]]
    lines = [line for line in lines if line.strip()]
    if lines and lines[0].startswith(MERGES_HEAD.encode()):
        return "merges"
    return next((form for form, fits in LINE.items() if _all(lines, fits)), None)


def is_rank(line: bytes) -> bool:
    """Return whether a line is a token in base 64 and its rank."""
    token, _, rank = line.partition(b" ")
    try:
        return rank.isdigit() and bool(base64.b64decode(token, validate=True))
    except binascii.Error:
        return False


def is_token(line: bytes) -> bool:
    """Return whether a line is a token in hexadecimal."""
    try:
        return bool(bytes.fromhex(line.decode("ascii")))
    except ValueError:
        return False


def is_merge(line: bytes) -> bool:
    """Return whether a line is the two parts of a token."""
    left, blank, right = line.partition(b" ")
    return bool(left and blank and right) and b" " not in right


LINE = {"tiktoken": is_rank, "tokens": is_token, "merges": is_merge}
"""Tests of a line by form, the stricter ones first."""
