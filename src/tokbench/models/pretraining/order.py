"""Order in which language models read the documents of a corpus, and the encoding of documents in pieces.

The order is drawn from a seed. A document's place depends only on the seed and its position in the source. Models with
different tokenizers therefore read the same documents in the same order.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, groupby, pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tokbench.corpus.documents import ContinuationPiece, Document
from tokbench.errors import TokbenchError

ENCODE_BYTES = 8 << 20
"""Bytes of text encoded at a time. Short documents are grouped; long ones are split if the tokenizer can split them."""
PLACES = 1 << 64
WORD = PLACES - 1
GAMMA = 0x9E3779B97F4A7C15
FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


class Encoder(Protocol):
    """Methods of a tokenizer that encoding needs."""

    def encode_batch(self, texts: Sequence[bytes]) -> list[NDArray[np.int32]]: ...

    def last_cut(self, text: bytes) -> int: ...


class EncodedDocument(NamedTuple):
    """Tokens of a document or of a piece of it.

    Attributes:
        document: its position in the source; for a document in pieces, that of the first piece.
        ends: True if the document ends here, False if another piece of it follows.
        text_bytes: bytes of its text.
        ids: int32 [tokens].
    """

    document: int
    ends: bool
    text_bytes: int
    ids: NDArray[np.int32]


class _Piece(NamedTuple):
    """Text of a document or of a piece of it; ``ends`` is False if the same text continues."""

    document: int
    begins: bool
    ends: bool
    text: bytes


def encode_documents(tokenizer: Encoder, documents: Iterable[Document]) -> Iterator[EncodedDocument]:
    """Encode documents in their order. A long document is encoded in pieces with the same ids as the full text."""
    first = -1

    def pieces(document: Document) -> Iterator[_Piece]:
        nonlocal first
        begins = not isinstance(document, ContinuationPiece)
        if begins:
            first = document.document
        return _pieces(first, begins, document.text, tokenizer)

    last: EncodedDocument | None = None
    for group in _groups(chain.from_iterable(map(pieces, documents))):
        ids = tokenizer.encode_batch([piece.text for piece in group])
        for piece, piece_ids in zip(group, ids, strict=True):
            if last is not None:
                yield last if piece.begins else last._replace(ends=False)
            last = EncodedDocument(piece.document, piece.ends, len(piece.text), piece_ids)
    if last is not None:
        yield last


def reject_repeated(documents: Iterable[Document]) -> Iterator[Document]:
    """Yield documents that are sorted by number.

    Raises:
        TokbenchError: two documents have the same number, as in shards of two corpora.
    """
    last = -1
    for document in documents:
        if not isinstance(document, ContinuationPiece):
            if document.document == last:
                raise TokbenchError(f"document {last} is in two shards; name each shard of one corpus once")
            last = document.document
        yield document


def _pieces(number: int, begins: bool, text: bytes, tokenizer: Encoder) -> Iterator[_Piece]:
    """Yield a text in pieces."""
    start = 0
    if len(text) > ENCODE_BYTES:
        for first in range(0, len(text), ENCODE_BYTES):
            if cut := tokenizer.last_cut(text[first : first + ENCODE_BYTES]):
                yield _Piece(number, begins and not start, False, text[start : first + cut])
                start = first + cut
    yield _Piece(number, begins and not start, True, text[start:])


def _groups(pieces: Iterable[_Piece]) -> Iterator[list[_Piece]]:
    group: list[_Piece] = []
    size = 0
    for piece in pieces:
        group.append(piece)
        size += len(piece.text)
        if size >= ENCODE_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def place_of(document: int, seed: int) -> int:
    """Return the place of a document in the order of a seed, an unsigned 64-bit integer, unique per document.

    It is SplitMix64's finaliser (Steele, Lea and Flood 2014) of the document's position, shifted by that of the seed.
    """
    return _mix((_mix((seed + 1) * GAMMA & WORD) + document) & WORD)


def _mix(value: int) -> int:
    value = (value ^ (value >> 30)) * FACTORS[0] & WORD
    value = (value ^ (value >> 27)) * FACTORS[1] & WORD
    return value ^ (value >> 31)


class OrderedDocuments(NamedTuple):
    """Documents of a corpus in one order.

    Attributes:
        text_bytes: bytes of all documents.
        pieces: their tokens, with the pieces of a document in sequence. Can be iterated only once.
        bytes_from: function that returns the bytes of the documents at or after a place.
    """

    text_bytes: int
    pieces: Iterable[EncodedDocument]
    bytes_from: Callable[[int], int] = lambda place: 0


def sort_documents(pieces: Iterable[EncodedDocument], seed: int, folder: Path) -> OrderedDocuments:
    """Sort documents into the order of a seed.

    Ids are in a temporary file, four bytes each. Memory contains 40 bytes per piece, and one piece.

    Args:
        pieces: pieces in sequence within a document, documents in any order.
        seed: seed of the order.
        folder: folder of the temporary file, which is deleted with the last reference to it.
    """
    places, rows = array("Q"), array("q")
    file = TemporaryFile(dir=folder)  # noqa: SIM115
    for piece in pieces:
        places.append(place_of(piece.document, seed))
        rows.extend((*piece[:3], len(piece.ids)))
        file.write(np.ascontiguousarray(piece.ids, "<i4").data)
    known = np.frombuffer(rows, np.int64).reshape(-1, 4)
    order = np.argsort(np.frombuffer(places, np.uint64), kind="stable")
    starts = 4 * (np.cumsum(known[:, 3]) - known[:, 3])

    def reread() -> Iterator[EncodedDocument]:
        with file:
            for row in order.tolist():
                document, ends, text_bytes, tokens = known[row].tolist()
                file.seek(int(starts[row]))
                yield EncodedDocument(document, bool(ends), text_bytes, np.frombuffer(file.read(4 * tokens), "<i4"))

    def bytes_from(place: int) -> int:
        return int(known[np.frombuffer(places, np.uint64) >= np.uint64(place), 2].sum())

    return OrderedDocuments(int(known[:, 2].sum()), reread(), bytes_from)


@dataclass(frozen=True, slots=True)
class Slices:
    """Division of an order into slices with similar numbers of documents, each within one phase.

    Attributes:
        seed: seed of the order.
        number: number of slices.
        second_phase: documents of the second phase relative to those of the first. Default: None, one phase.
    """

    seed: int
    number: int
    second_phase: float | None = None

    @classmethod
    def one_per_phase(cls, seed: int, second_phase: float | None = None) -> "Slices":
        """Return one slice for each phase, as one job packs them."""
        return cls(seed, 1 if second_phase is None else 2, second_phase)

    def by_phase(self) -> tuple[range, ...]:
        """Return the slices of each phase.

        Raises:
            TokbenchError: there are fewer slices than phases.
        """
        if self.second_phase is None:
            return (range(self.number),)
        if self.number < 2:
            raise TokbenchError("a second phase needs two slices or more; ask for more")
        second = Fraction(self.second_phase)
        first = self.number - max(1, round(self.number * second / (1 + second)))
        return range(max(1, first)), range(max(1, first), self.number)

    def ends(self) -> list[int]:
        """Return the first place after each slice, see :func:`place_of`."""
        edges = [0, PLACES] if self.second_phase is None else [0, bound_of(self.second_phase), PLACES]
        return [
            begin + (end - begin) * number // len(slices)
            for (begin, end), slices in zip(pairwise(edges), self.by_phase(), strict=True)
            for number in range(1, len(slices) + 1)
        ]


def bound_of(second: float) -> int:
    """Return the first place of the second phase, whose size relative to the first is ``second``."""
    return int(PLACES / (1 + Fraction(second)))


def by_phase(text: OrderedDocuments, slices: Slices) -> tuple[OrderedDocuments, ...]:
    """Split documents into phases.

    A document belongs to the second phase if its place is after a bound. The phases are therefore the same for every
    tokenizer: the beginning of the order, and the rest. Places are random, so the sizes are approximate for few
    documents.

    Args:
        text: all documents in the order of the slices' seed. Iterate over the first phase before the second.
        slices: the seed, and the size of the second phase.

    Raises:
        TokbenchError: a phase has no text.
    """
    if slices.second_phase is None:
        return (text,)
    bound = bound_of(slices.second_phase)
    second_bytes = text.bytes_from(bound)
    require_text(text.text_bytes - second_bytes, second_bytes, slices)
    groups = groupby(text.pieces, lambda piece: place_of(piece.document, slices.seed) >= bound)

    def of(later: bool) -> Iterator[EncodedDocument]:
        for is_later, pieces in groups:
            if is_later == later:
                yield from pieces
                return

    return OrderedDocuments(text.text_bytes - second_bytes, of(False)), OrderedDocuments(second_bytes, of(True))


def require_text(first: int, second: int, slices: Slices) -> None:
    """Reject two phases if one has no text.

    Raises:
        TokbenchError: a phase has no text. The message names it.
    """
    for name, size in (("first", first), ("second", second)):
        if not size:
            raise TokbenchError(
                f"second_phase: {slices.second_phase!r} of the documents in the order of seed {slices.seed} leave the "
                f"{name} phase without text; read a split of more documents, or change second_phase"
            )
