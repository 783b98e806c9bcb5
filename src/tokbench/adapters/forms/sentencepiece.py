"""SentencePiece's ``.model``: always by its own library, which normalises texts and puts a space before them."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tokbench.adapters.forms import REMEDY, Found, ReadOptions, marks_told
from tokbench.adapters.forms.added_tokens import MARK
from tokbench.adapters.forms.charsmap import check_charsmap
from tokbench.adapters.forms.files import read_bounded
from tokbench.adapters.forms.folder_settings import End, FolderSettings, special_to_add
from tokbench.adapters.forms.protobuf import BYTES, FIXED32, VARINT, fields
from tokbench.errors import TokbenchError
from tokbench.inputs.numbers import LARGEST_VOCABULARY

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
