"""Google's ``sentencepiece``: a ``.model`` file."""

from collections.abc import Mapping
from itertools import groupby, pairwise

import numpy as np
import sentencepiece
from sentencepiece.sentencepiece_pb2 import SentencePieceText  # type: ignore[attr-defined,unused-ignore]

from tokbench.tokenizer.libraries import characters_changed

BLANK = "\u2581"
"""Character that represents a space in pieces."""
CONTINUATION_BITS, CONTINUATION = 0xC0, 0x80
"""Mask and value of the bytes of UTF-8 that continue a character."""


class SentencePiece:
    """A model, without the ids that begin and end a text.

    Args:
        processor: the library's object.
        limit: number of ids; pieces from there on become the unknown token. Default: the number of pieces.
    """

    def __init__(self, processor: sentencepiece.SentencePieceProcessor, limit: int | None = None) -> None:
        self.processor = processor
        self.size: int = processor.get_piece_size() if limit is None else limit
        self.unknown: int | None = processor.unk_id()

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self.processor.encode(text, out_type=int)
        return [token_id if token_id < self.size else self.processor.unk_id() for token_id in ids]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the library's spans; a character in several pieces belongs to the last, the others are empty."""
        pieces = _message(self.processor.encode(text, out_type="serialized_proto")).pieces
        starts = (np.frombuffer(text.encode(), np.uint8) & CONTINUATION_BITS) != CONTINUATION
        characters = [0, *starts.cumsum().tolist()]
        return [(characters[piece.begin], characters[piece.end]) for piece in pieces]

    def decode(self, ids: list[int], names: Mapping[int, bytes]) -> bytes:
        """See :meth:`Library.decode`. A model with a denormaliser decodes the ids between names one run at a time."""
        known = [token_id for token_id in ids if token_id < self.size]
        for token_id in ids:
            if token_id >= self.size and token_id not in names:
                raise KeyError(token_id)
        if not known:
            return b"".join(names[token_id] for token_id in ids)
        if names.keys().isdisjoint(ids):
            return str(self.processor.decode(ids)).encode()
        whole = _message(self.processor.decode(known, out_type="serialized_proto"))
        surfaces = [piece.surface for piece in whole.pieces]
        if "".join(surfaces) == whole.text:
            written = iter(surfaces)
            spelt = [(next(written) if token_id < self.size else "").encode() for token_id in ids]
            return b"".join(names.get(token_id, surface) for token_id, surface in zip(ids, spelt, strict=True))
        runs = [(named, list(run)) for named, run in groupby(ids, names.__contains__)]
        return b"".join(b"".join(map(names.__getitem__, run)) if named else self.decode(run, {}) for named, run in runs)

    def name(self, token_id: int) -> bytes:
        return str(self.processor.id_to_piece(token_id)).encode() if token_id < self.size else b""

    def id_of(self, name: str) -> int | None:
        number = int(self.processor.piece_to_id(name))
        return number if self.name(number) == name.encode() else None

    def bytes_of(self, token_id: int) -> bytes:
        if token_id >= self.size:
            raise KeyError(token_id)
        piece = str(self.processor.id_to_piece(token_id))
        if self.processor.is_byte(token_id):  # Its name is <0x41>.
            return bytes([int(piece[1:-1], 16)])
        return piece.replace(BLANK, " ").encode()

    def form(self, token_id: int) -> tuple[bytes, bool]:
        return (self.bytes_of(token_id) if token_id < self.size else b""), False

    def normalized(self, text: str) -> str:
        changed = str(self.processor.normalize(text)).replace(BLANK, " ")
        return changed if text.startswith(" ") else changed.removeprefix(" ")

    def changed(self, text: str) -> int:
        normalised, starts = self.processor.normalize(text, with_offsets=True)
        signs = normalised.replace(BLANK, " ")
        borders = [0, *(place for place in range(1, len(signs)) if starts[place] > starts[place - 1]), len(signs)]
        parts = ((signs[first:last], starts[first], starts[last]) for first, last in pairwise(borders) if first < last)
        return characters_changed(text, parts)


def open(content: bytes, limit: int | None = None) -> SentencePiece:
    """Open the tokenizer of a model; an invalid file raises an exception of the library.

    Args:
        content: the file.
        limit: number of ids; pieces from there on become the unknown token. Default: the number of pieces.
    """
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(content)
    return SentencePiece(processor, limit)


def _message(serialized: bytes) -> SentencePieceText:
    """Parse a segmented text. Its offsets are in bytes. All versions of the library have this form."""
    return SentencePieceText.FromString(serialized)
