"""The order in which language models read the documents of a corpus: drawn from a seed, the same for every tokenizer.

A document's place follows from the seed and its position in the source alone. So models with different tokenizers read
the same documents in the same order, however long their tokens are, and whoever encoded them.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

import numpy as np

from tokbench.errors import TokbenchError
from tokbench.pretraining.encoded import Encoded, read_encoded, text_bytes_of

WORD = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15
FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def place_of(document: int, seed: int) -> int:
    """The place of a document in the order of a seed, an unsigned number of 64 bits; no two documents share one.

    SplitMix64's finaliser (Steele, Lea and Flood 2014) of the document's position, shifted by the seed's own.
    """
    return _mixed((_mixed((seed + 1) * GAMMA & WORD) + document) & WORD)


def _mixed(value: int) -> int:
    value = (value ^ (value >> 30)) * FACTORS[0] & WORD
    value = (value ^ (value >> 27)) * FACTORS[1] & WORD
    return value ^ (value >> 31)


class Text(NamedTuple):
    """The documents of a corpus in one order.

    Attributes:
        text_bytes: bytes of all of them.
        pieces: their tokens, those of one document as they follow each other; to be iterated over once.
        bytes_from: bytes of the documents whose place is at least a given one.
    """

    text_bytes: int
    pieces: Iterable[Encoded]
    bytes_from: Callable[[int], int] = lambda place: 0


def in_order(pieces: Iterable[Encoded], seed: int, folder: Path) -> Text:
    """Documents in the order of a seed.

    Ids wait in a temporary file, four bytes each; memory holds 40 bytes for each piece, and one piece.

    Args:
        pieces: those of a document in a row, documents in any order.
        seed: decides the order.
        folder: where the temporary file lies; it goes with the last reference to it.
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

    def reread() -> Iterator[Encoded]:
        with file:
            for row in order.tolist():
                document, ends, text_bytes, tokens = known[row].tolist()
                file.seek(int(starts[row]))
                yield Encoded(document, bool(ends), text_bytes, np.frombuffer(file.read(4 * tokens), "<i4"))

    def bytes_from(place: int) -> int:
        return int(known[np.frombuffer(places, np.uint64) >= np.uint64(place), 2].sum())

    return Text(int(known[:, 2].sum()), reread(), bytes_from)


def merged(paths: Sequence[Path | str], seed: int) -> Text:
    """Documents of files that hold theirs in the order of a seed.

    Raises:
        TokbenchError: a file is missing or holds no tokens; the message names it.
    """

    def bytes_from(place: int) -> int:
        return text_bytes_of(paths, lambda document: place_of(document, seed) >= place)

    return Text(text_bytes_of(paths), read_encoded(paths, lambda document: place_of(document, seed)), bytes_from)


def by_phase(text: Text, seed: int, second: float) -> tuple[Text, Text]:
    """The documents of two phases, those of the second as large a part of the first's as is asked for.

    A document belongs to the second phase by its place in the order of the seed, so that both are the same for every
    tokenizer: the first phase is the beginning of the order, the second the rest. Places are drawn, so that of few
    documents the parts are only about as large as asked for.

    Args:
        text: all documents in that order; the first phase is to be iterated over before the second.
        seed: that of the order.
        second: documents of the second phase over those of the first.

    Raises:
        TokbenchError: a phase has no text.
    """
    bound = int((1 << 64) / (1 + Fraction(second)))
    aside = text.bytes_from(bound)
    for name, size in (("first", text.text_bytes - aside), ("second", aside)):
        if not size:
            raise TokbenchError(
                f"second_phase: {second!r} of the documents in the order of seed {seed} leave the {name} phase without "
                "text; read a split of more documents, or change second_phase"
            )
    groups = groupby(text.pieces, lambda piece: place_of(piece.document, seed) >= bound)

    def of(later: bool) -> Iterator[Encoded]:
        for is_later, pieces in groups:
            if is_later == later:
                yield from pieces
                return

    return Text(text.text_bytes - aside, of(False)), Text(aside, of(True))
