"""Long documents are cut into pieces: a document of gigabytes as one value would be held whole by whatever reads it.

A cut stands where pre-tokenizations begin a pre-token anyway. That is before a single space between two letters, so
that a piece begins with " word"; only the schemes whose pre-tokens run across such a space (``none``, ``digit``,
``digits``, ``scripts``, ``superbpe_2``) have one pre-token more for a cut there. Where a text has none in the second
half of a piece, it is cut after a line end between what is no blank and a letter; failing that, between two characters.
Where cuts stand depends on the text and the longest piece alone.

Texts read as streams: documents are cut out of a text as it comes, and what is too long of them into pieces.
"""

import io
import re
from collections.abc import Iterable, Iterator
from functools import partial

from tokbench.io.encodings import Notes
from tokbench.runtime.memory_limit import DocumentLimit

FIRST_WINDOW, WINDOW = 1 << 8, 1 << 16
"""Bytes in which a place is looked for at a time, from the end backwards: few at first, as prose has one there."""
SPACE = re.compile(rb"[A-Za-z\x80-\xff] (?=[A-Za-z\xc2-\xf4])")
LINE_END = re.compile(rb"[^\s]\n(?=[A-Za-z\xc2-\xf4])")
BEGINS = re.compile(rb"[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
CHARACTER = 4
"""Bytes of the longest character."""


def cut_of(text: bytes | bytearray, longest: int) -> int:
    """Where to cut a text that is longer than its pieces may be.

    Args:
        text: more than ``longest`` bytes; what comes after these decides nothing.
        longest: bytes of a piece at most.

    Returns:
        Bytes of the first piece, at least one.
    """
    for places, after in ((SPACE, False), (LINE_END, True)):
        begin, window = longest, min(FIRST_WINDOW, WINDOW)
        while begin > longest // 2:
            begin, end, window = max(longest // 2, begin - window), begin, min(4 * window, WINDOW)
            for found in reversed(list(places.finditer(text, begin, min(longest, end + 2)))):
                mark = found.end() - 1
                if _stands(text, mark, longest, after):
                    return mark + after
    return _between_characters(text, longest)


def _stands(text: bytes | bytearray, mark: int, longest: int, line_end: bool) -> bool:
    """Whether a space stands between letters, or a line end between what is no blank and a letter."""
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
    """Cuts documents that come a part at a time.

    Args:
        longest: bytes of a piece at most.
        largest: the longest text for which there is memory; any where it is None.
        place: where the text stands, for what is told of one that is longer.

    Attributes:
        longest: as given.
        unchecked: bytes of a text that is neither cut nor too long for the memory.
        held: what waits for being cut.
        place: as given.
    """

    def __init__(self, longest: int, largest: DocumentLimit | None = None, place: str = "") -> None:
        self.longest = longest
        self.unchecked = longest if largest is None else min(longest, largest.size)
        self.held = bytearray()
        self.place = place
        self._largest = largest

    def add(self, part: bytes | memoryview) -> Iterable[bytes]:
        """Take a part of a document; gives the pieces that are whole, after which there is always more to come.

        Raises:
            TokbenchError: there is not enough memory for a piece.
        """
        self.held += part
        return self._cut() if len(self.held) > self.unchecked else ()

    def end(self) -> bytes:
        """The document's last piece, all of it where it is short; the next part is of another document."""
        piece = bytes(self.held)
        self.held.clear()
        return piece

    def _cut(self) -> Iterator[bytes]:
        if self._largest is not None:
            self._largest.check(self.place, min(self.longest, len(self.held)), more=True)
        while len(self.held) > self.longest:
            cut = cut_of(self.held, self.longest)
            piece = bytes(memoryview(self.held)[:cut])
            del self.held[:cut]
            yield piece


def pieces_of(parts: Iterable[bytes | memoryview], cutter: Cutter) -> Iterator[bytes]:
    """The pieces of one document, of which there is always one."""
    for part in parts:
        yield from cutter.add(part)
    yield cutter.end()


class Joined(io.RawIOBase):
    """A file whose bytes come in parts."""

    def __init__(self, parts: Iterable[bytes | memoryview]) -> None:
        self._parts = iter(parts)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, into: "bytearray | memoryview") -> int:  # type: ignore[override]
        """Fill a buffer as far as the next part goes."""
        while not len(self._left):
            part = next(self._parts, None)
            if part is None:
                return 0
            self._left = memoryview(part)
        size = min(len(into), len(self._left))
        into[:size] = self._left[:size]
        self._left = self._left[size:]
        return size


PART = 1 << 20
"""Bytes that are read at a time."""
GOES_ON = None
"""In place of a language tag: a further piece of the document before it."""
Text = tuple[str | None, bytes]
"""A language tag, empty where nothing tells one, and a text; :data:`GOES_ON` with the further pieces of a long one."""
Texts = Iterator[Text]


def split_stream(
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
    margin = b""
    for part in line_parts(file, cutter.longest):
        ended = part.endswith(b"\n")
        if by_line and not begun and not cutter.held:
            part, margin = margin + part, b""
            if not part.strip():
                if ended:
                    _count_empty_line(notes)
                else:
                    margin = part
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
    if margin:
        _count_empty_line(notes)
    if cutter.held:
        yield GOES_ON if begun else tag, cutter.end()


def _count_empty_line(notes: Notes | None) -> None:
    if notes is not None:
        notes.empty_lines += 1


def line_parts(file: io.BufferedIOBase, most: int) -> Iterator[bytes]:
    """The lines of a file with their ends; one of more than so many bytes may come in several parts.

    The first of them has more than so many bytes, too.

    Whole lines are cut out of what is read at a time by the standard library, which is faster than reading each.
    """
    while block := file.read(PART):
        if not block.endswith(b"\n"):
            block += file.readline(most)
        yield from io.BytesIO(block)
