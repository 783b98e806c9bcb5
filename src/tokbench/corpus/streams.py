"""Texts read as streams: documents are cut out of a text as it comes, and what is too long of them into pieces."""

import io
from collections.abc import Iterable, Iterator
from functools import partial

from tokbench.corpus.cutting import Cutter, Joined, pieces_of
from tokbench.inputs.encodings import Notes

PART = 1 << 20
"""Bytes that are read at a time."""
GOES_ON = None
"""In place of a language tag: a further piece of the document before it."""
Text = tuple[str | None, bytes]
"""A language tag, empty where nothing tells one, and a text; :data:`GOES_ON` with the further pieces of a long one."""
Texts = Iterator[Text]


def documents_in(
    file: io.BufferedIOBase, documents: str, cutter: Cutter, tag: str = "", notes: Notes | None = None
) -> Texts:
    """The documents of a text, long ones in pieces.

    Args:
        file: the text, opened for reading.
        documents: what is one document: a ``line``, a ``paragraph`` (with the blank line that ends it), else all.
        cutter: cuts what is too long.
        tag: language tag of all.
        notes: count empty lines, which are no documents.
    """
    if documents not in ("line", "paragraph"):
        return _marked(tag, pieces_of(iter(partial(file.read, PART), b""), cutter))
    return _units(file, documents == "line", cutter, tag, notes)


def documents_of(
    parts: Iterable[bytes | memoryview], documents: str, cutter: Cutter, tag: str = "", notes: Notes | None = None
) -> Texts:
    """As :func:`documents_in` of a text that comes in parts."""
    if documents not in ("line", "paragraph"):
        return _marked(tag, pieces_of(parts, cutter))
    return _units(io.BufferedReader(Joined(parts)), documents == "line", cutter, tag, notes)


def _marked(tag: str, pieces: Iterator[bytes]) -> Texts:
    for number, piece in enumerate(pieces):
        yield GOES_ON if number else tag, piece


def _units(file: io.BufferedIOBase, by_line: bool, cutter: Cutter, tag: str, notes: Notes | None) -> Texts:
    lines, begun, blank = 0, False, True
    for part in line_parts(file, cutter.longest):
        ended = part.endswith(b"\n")
        if by_line and not begun and not cutter.held and len(part) <= cutter.longest and not part.strip():
            if notes is not None:
                notes.empty_lines += 1
            continue
        if by_line and ended and not cutter.held and len(part) <= cutter.unchecked:
            yield tag, part
            continue
        for piece in cutter.add(part):
            yield GOES_ON if begun else tag, piece
            begun = True
        blank = blank and not part.strip()
        if ended:
            lines += 1
            if by_line or (blank and lines > 1):
                yield GOES_ON if begun else tag, cutter.end()
                lines, begun = 0, False
            blank = True
    if cutter.held:
        yield GOES_ON if begun else tag, cutter.end()


def line_parts(file: io.BufferedIOBase, most: int) -> Iterator[bytes]:
    """The lines of a file with their ends; one of more than so many bytes may come in several parts.

    The first of them has more than so many bytes, too.

    Whole lines are cut out of what is read at a time by the standard library, which is faster than reading each.
    """
    while block := file.read(PART):
        if not block.endswith(b"\n"):
            block += file.readline(most)
        yield from io.BytesIO(block)
