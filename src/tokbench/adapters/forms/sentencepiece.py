"""SentencePiece's ``.model``: always by its own library, which normalises texts and puts a space before them.

SentencePiece's table of normalisations, checked before a library walks it: none of them looks where it steps.

The table is a double array (``darts-clone``) of 32-bit units behind its length in bytes, then the strings that units
point into, each ended by a NUL byte.

Messages of protocol buffers, field by field, as far as a SentencePiece model needs them.

Source: the wire format in the documentation of protocol buffers.
"""

import base64
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tokbench.adapters.forms import REMEDY, Found, ReadOptions, marks_told, read_bounded
from tokbench.adapters.forms.folder_settings import MARK, End, FolderSettings, special_to_add
from tokbench.errors import TokbenchError
from tokbench.io.numbers import LARGEST_VOCABULARY

LABEL = 0x800000FF
LEAF = 0x100
LONGEST = 256
"""Characters that a table may make of one. Those of SentencePiece make up to 18."""


def check_charsmaps(normalizer: Any) -> None:
    """Check every table in the ``normalizer`` of a ``tokenizer.json``.

    Raises:
        ValueError: one is damaged.
    """
    if not isinstance(normalizer, dict):
        return
    for inner in normalizer.get("normalizers") or []:
        check_charsmaps(inner)
    if normalizer.get("type") == "Precompiled" or "precompiled_charsmap" in normalizer:
        if not isinstance(table := normalizer.get("precompiled_charsmap"), str):
            raise ValueError("a normalizer of type Precompiled has no table")
        check_charsmap(base64.b64decode(table, validate=True))


def longest_string(table: bytes) -> int:
    """Return the number of characters of the longest string in a table."""
    strings = table[4 + int.from_bytes(table[:4], "little") :].split(b"\0")
    return max(len(string.decode("utf-8", "replace")) for string in strings)


def check_charsmap(table: bytes) -> None:
    """Walk all of a table.

    Raises:
        ValueError: it is cut short, a unit leads out of it, or a string is longer than :data:`LONGEST`.
    """
    if not table:
        return
    size = int.from_bytes(table[:4], "little")
    if len(table) < 4 + size or size % 4 or size < 1024:
        raise ValueError("its table of normalisations is cut short")
    units = np.frombuffer(table, "<u4", size // 4, 4).astype(np.int64)
    strings = table[4 + size :]
    nodes = np.zeros(1, np.int64)
    seen = np.zeros(len(units), np.bool_)
    labels = np.arange(1, 256)
    while len(nodes):
        seen[nodes] = True
        unit = units[nodes]
        base = nodes ^ ((unit >> 10) << ((unit & 0x200) >> 6))
        if (base | 0xFF).max() >= len(units):
            raise ValueError("its table of normalisations leads out of itself")
        leaves = units[base[(unit & LEAF) > 0]] & 0x7FFFFFFF
        if len(leaves) and leaves.max() >= len(strings):
            raise ValueError("its table of normalisations leads out of its strings")
        children = base[:, None] ^ labels
        nodes = np.unique(children[(units[children] & LABEL) == labels])
        nodes = nodes[~seen[nodes]]  # Equal ends are stored once.
    if not strings.endswith(b"\0"):
        raise ValueError("its table of normalisations has no end")
    if (longest := longest_string(table)) > LONGEST:
        raise ValueError(f"its table of normalisations makes {longest:,} characters of one, and {LONGEST} are the most")


VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """A field of a message.

    Attributes:
        number: which field it is.
        kind: how it is written.
        start: where its content starts in the message.
        end: where that ends.
        value: the number of a varint, else 0.
    """

    number: int
    kind: int
    start: int
    end: int
    value: int


def fields(message: bytes, start: int = 0, end: int | None = None) -> Iterator[Field]:
    """The fields of a message, or of the part of one.

    Raises:
        ValueError: it is cut short, or no message.
    """
    end = len(message) if end is None else end
    while start < end:
        key, start = _varint(message, start, end)
        number, kind = key >> 3, key & 7
        value, length = 0, 0
        if kind == VARINT:
            value, after = _varint(message, start, end)
            length = after - start
        elif kind == BYTES:
            length, start = _varint(message, start, end)
        elif kind in (FIXED64, FIXED32):
            length = 8 if kind == FIXED64 else 4
        else:
            raise ValueError(f"a field of kind {kind}")
        if not number or start + length > end:
            raise ValueError("a field that goes beyond the end")
        yield Field(number, kind, start, start + length, value)
        start += length


def _varint(message: bytes, start: int, end: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if start >= end:
            break
        byte = message[start]
        start += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, start
    raise ValueError("a number that is cut short")


NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
MODELS = {1: "unigram", 2: "BPE", 3: "words", 4: "characters"}
PIECES, TRAINER, NORMALIZER, DENORMALIZER = 1, 2, 3, 5
EOS_PIECE = 47
"""Number of the field of the trainer that names the end of text."""


class Piece(NamedTuple):
    """An entry of the vocabulary.

    Attributes:
        text: what it is.
        kind: one of the six.
        place: where its kind stands in the file, -1 where it is not said.
    """

    text: bytes
    kind: int
    place: int


def read(path: Path, options: ReadOptions, settings: FolderSettings) -> Found:
    """A model; control tokens in a text are text, and so are symbols of the user's that are marks.

    Raises:
        TokbenchError: the file is damaged.
    """
    for flag, given in (("--pattern", options.pattern), ("--segmentation", options.segmentation)):
        if given is not None:
            raise TokbenchError(f"{path}: a model of SentencePiece says how it cuts; leave {flag} out")
    content = bytearray(read_bounded(path))
    try:
        pieces = list(_pieces(bytes(content)))
        kind, end = _checked(bytes(content))
        if not pieces or len(pieces) > LARGEST_VOCABULARY:
            raise ValueError(f"{len(pieces)} pieces")
    except (ValueError, struct.error) as error:
        raise TokbenchError(f"{path}: not a model of SentencePiece ({error}); {REMEDY}") from None
    special = {number: piece.text for number, piece in enumerate(pieces) if piece.kind in (CONTROL, UNUSED)}
    kept: dict[int, bytes] = {}
    for number, piece in enumerate(pieces):
        if piece.kind == USER_DEFINED:
            if options.added == "text" or (options.added == "words" and MARK.fullmatch(piece.text.decode())):
                content[piece.place] = CONTROL
                special[number] = piece.text
            else:
                kept[number] = piece.text
    tokens = sum(piece.kind in (NORMAL, USER_DEFINED, BYTE) for piece in pieces) - (len(special) - _others(pieces))
    told = [marks_told(len(special), "control")] if special else []
    told += [f"{len(kept):,} symbols of the user's are cut out of texts first"] if kept else []
    own = [End(end, "eos_piece of the model")] if end.encode() in special.values() else []
    names = {number: piece.text for number, piece in enumerate(pieces)}
    more, notes = special_to_add(settings, names, options.added, str(path))
    told += [f"{len(more):,} added tokens are from {settings.source}"] if more else []
    special |= more
    return Found(
        None,
        reason=f"SentencePiece ({kind}) normalises texts and merges across words",
        library="sentencepiece",
        content=bytes(content),
        special=special,
        added=kept,
        ends=[*settings.ends, *own],
        tokens=tokens,
        ids=max([len(pieces) - 1, *more]) + 1,
        told=[*told, *notes],
    )


def _others(pieces: list[Piece]) -> int:
    return sum(piece.kind in (CONTROL, UNUSED) for piece in pieces)


def _pieces(model: bytes) -> Iterator[Piece]:
    for one in fields(model):
        if one.number != PIECES:
            continue
        if one.kind != BYTES:
            raise ValueError("a piece that is no message")
        text, kind, place = b"", NORMAL, -1
        for part in fields(model, one.start, one.end):
            if part.number == 1 and part.kind == BYTES:
                text = model[part.start : part.end]
                text.decode()
            elif part.number == 2 and part.kind == FIXED32:
                [score] = struct.unpack_from("<f", model, part.start)
                if score != score or score in (float("inf"), float("-inf")):
                    raise ValueError("a score that is no number")
            elif part.number == 3 and part.kind == VARINT and NORMAL <= part.value <= BYTE:
                kind, place = part.value, part.start
            elif part.number in (1, 2, 3):
                raise ValueError("a piece of another form")
        if not text:
            raise ValueError("a piece that is empty")
        yield Piece(text, kind, place)


def _checked(model: bytes) -> tuple[str, str]:
    """Return the kind of model and its end of text, after its tables of normalisations have been walked."""
    kind, end = MODELS[1], "</s>"
    for one in fields(model):
        if one.number == TRAINER and one.kind == BYTES:
            for part in fields(model, one.start, one.end):
                if part.number == 3 and part.kind == VARINT:
                    kind = MODELS.get(part.value, "of a kind of its own")
                elif part.number == EOS_PIECE and part.kind == BYTES:
                    end = model[part.start : part.end].decode()
        elif one.number in (NORMALIZER, DENORMALIZER) and one.kind == BYTES:
            for part in fields(model, one.start, one.end):
                if part.number == 2 and part.kind == BYTES:
                    check_charsmap(model[part.start : part.end])
    return kind, end
