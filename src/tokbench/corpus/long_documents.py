"""Long documents, cut into pieces so that no reader needs a document of gigabytes in memory.

A cut is placed at a pre-token boundary: before a single space between two letters, so that a piece begins with " word".
Only schemes whose pre-tokens cross such a space (``none``, ``digit``, ``digits``, ``scripts``, ``superbpe_2``) get one
additional pre-token per cut. If the second half of a piece has no such space, the cut follows a line end between a
non-blank character and a letter; failing that, it is placed between two characters. Cuts depend only on the text and
the maximum length.

Texts are read as streams: documents are split off as the text is read, and long ones are cut into pieces.
"""

import io
import re
from collections.abc import Iterable, Iterator
from functools import partial

from tokbench.io.encodings import Notes

FIRST_WINDOW, WINDOW = 1 << 8, 1 << 16
"""Bytes that are searched at a time, from the end backwards. The first window is small: prose has a cut there."""
SPACE = re.compile(rb"[A-Za-z\x80-\xff] (?=[A-Za-z\xc2-\xf4])")
LINE_END = re.compile(rb"[^\s]\n(?=[A-Za-z\xc2-\xf4])")
BEGINS = re.compile(rb"[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
CHARACTER = 4
"""Maximum bytes of a UTF-8 character."""
PART = 1 << 20
"""Bytes that are read at a time."""
GOES_ON = None
"""Marker in place of a language tag: a continuation of the previous document."""
Text = tuple[str | None, bytes]
"""A language tag (empty if unknown) and a text; :data:`GOES_ON` marks continuations of a long text."""
Texts = Iterator[Text]


def cut_of(text: bytes | bytearray, longest: int) -> int:
    """Return the position of the first cut in a text that is longer than the limit.

    Args:
        text: more than ``longest`` bytes; the bytes after these do not change the result.
        longest: maximum bytes of a piece.

    Returns:
        Bytes of the first piece, at least 1.
    """
    for places, after in ((SPACE, False), (LINE_END, True)):
        begin, window = longest, min(FIRST_WINDOW, WINDOW)
        while begin > longest // 2:
            begin, end, window = max(longest // 2, begin - window), begin, min(4 * window, WINDOW)
            for match in reversed(list(places.finditer(text, begin, min(longest, end + 2)))):
                mark = match.end() - 1
                if _is_boundary(text, mark, longest, after):
                    return mark + after
    return _between_characters(text, longest)


def _is_boundary(text: bytes | bytearray, mark: int, longest: int, line_end: bool) -> bool:
    """Return whether a mark is a space between letters, or a line end between a non-blank character and a letter."""
    before = bytes(text[max(0, mark - CHARACTER) : mark]).decode("utf-8", "replace")[-1]
    following = BEGINS.match(text, mark + 1, longest)
    if before == "\ufffd" or following is None:
        return False
    after = following[0].decode("utf-8", "replace")[0]
    return after.isalpha() and (not before.isspace() if line_end else before.isalpha())


def _between_characters(text: bytes | bytearray, longest: int) -> int:
    for place in range(longest, max(0, longest - CHARACTER), -1):
        if text[place] & 0xC0 != 0x80:
            return place
    return longest


class Cutter:
    """Incremental cutting of documents that are read in parts.

    Args:
        longest: maximum bytes of a piece.

    Attributes:
        longest: maximum bytes of a piece.
        pending: bytes that are not cut yet.
    """

    def __init__(self, longest: int) -> None:
        self.longest = longest
        self.pending = bytearray()

    def add(self, part: bytes | memoryview) -> Iterable[bytes]:
        """Add a part of a document; return the pieces that are complete. More of the document always follows them."""
        self.pending += part
        return self._cut() if len(self.pending) > self.longest else ()

    def end(self) -> bytes:
        """Return the document's last piece (all of a short document). The next part begins another document."""
        piece = bytes(self.pending)
        self.pending.clear()
        return piece

    def _cut(self) -> Iterator[bytes]:
        while len(self.pending) > self.longest:
            cut = cut_of(self.pending, self.longest)
            piece = bytes(memoryview(self.pending)[:cut])
            del self.pending[:cut]
            yield piece


def pieces_of(parts: Iterable[bytes | memoryview], cutter: Cutter) -> Iterator[bytes]:
    """Yield the pieces of one document, at least one."""
    for part in parts:
        yield from cutter.add(part)
    yield cutter.end()


class JoinedParts(io.RawIOBase):
    """A binary file made of consecutive parts."""

    def __init__(self, parts: Iterable[bytes | memoryview]) -> None:
        self._parts = iter(parts)
        self._part = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: "bytearray | memoryview") -> int:  # type: ignore[override]
        """Fill a buffer from the next part."""
        while not len(self._part):
            part = next(self._parts, None)
            if part is None:
                return 0
            self._part = memoryview(part)
        size = min(len(into), len(self._part))
        into[:size] = self._part[:size]
        self._part = self._part[size:]
        return size


def split_stream(
    file: io.BufferedIOBase, documents: str, cutter: Cutter, tag: str = "", notes: Notes | None = None
) -> Texts:
    """Split a text into documents, long ones in pieces.

    Args:
        file: the text, opened for reading.
        documents: unit of a document: ``line``, ``paragraph`` (with the blank line that ends it), otherwise the full
            text.
        cutter: cuts long documents.
        tag: language tag of all documents (default: none).
        notes: counter of empty lines, which are not documents.
    """
    if documents not in ("line", "paragraph"):
        return _mark_pieces(tag, pieces_of(iter(partial(file.read, PART), b""), cutter))
    return _units(file, documents == "line", cutter, tag, notes)


def documents_of(
    parts: Iterable[bytes | memoryview], documents: str, cutter: Cutter, tag: str = "", notes: Notes | None = None
) -> Texts:
    """Split a text that comes in parts, like :func:`split_stream`."""
    if documents not in ("line", "paragraph"):
        return _mark_pieces(tag, pieces_of(parts, cutter))
    return _units(io.BufferedReader(JoinedParts(parts)), documents == "line", cutter, tag, notes)


def _mark_pieces(tag: str, pieces: Iterator[bytes]) -> Texts:
    for number, piece in enumerate(pieces):
        yield GOES_ON if number else tag, piece


def _units(file: io.BufferedIOBase, by_line: bool, cutter: Cutter, tag: str, notes: Notes | None) -> Texts:
    lines, begun, blank = 0, False, True
    margin = b""
    for part in line_parts(file, cutter.longest):
        ended = part.endswith(b"\n")
        # Blank lines are no documents; their parts are collected, as they may belong to a long line.
        if by_line and not begun and not cutter.pending:
            part, margin = margin + part, b""
            if not part.strip():
                if ended:
                    _count_empty_line(notes)
                else:
                    margin = part
                continue
        # A short line is a document, without the cutter.
        if by_line and ended and not cutter.pending and len(part) <= cutter.longest:
            yield tag, part
            continue
        # Otherwise the cutter yields pieces until the line or the paragraph ends.
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
    if margin:
        _count_empty_line(notes)
    if cutter.pending:
        yield GOES_ON if begun else tag, cutter.end()


def _count_empty_line(notes: Notes | None) -> None:
    if notes is not None:
        notes.empty_lines += 1


def line_parts(file: io.BufferedIOBase, most: int) -> Iterator[bytes]:
    """Yield the lines of a file with their ends; a line of more than ``most`` bytes may come in several parts.

    In that case the first part has more than ``most`` bytes, too. Blocks are split into lines by the standard library,
    which is faster than reading each line.
    """
    while block := file.read(PART):
        if not block.endswith(b"\n"):
            block += file.readline(most)
        yield from io.BytesIO(block)
