"""Conversion of text to UTF-8: invalid text is rejected with its position, and byte-order marks are removed."""

import codecs
import io
from dataclasses import asdict, dataclass
from typing import Any

from tokbench.errors import TokbenchError

UTF_8, BYTES = "utf-8", "bytes"
PIECE = 1 << 18
"""Bytes that are decoded at a time."""
LOOKED_AT = 1 << 12
"""First bytes of a text in which NUL bytes are counted."""
LEAST_NULS = 8
"""Minimum bytes of a text for the count of NUL bytes to be meaningful."""
MARKS = {
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
"""Byte-order marks other than UTF-8's. UTF-32 is first: its mark begins with that of UTF-16."""
ENCODING_SYNTAX = "encoding: {0}, or --encoding {0}"
"""Syntax of an encoding, in a configuration and on the command line."""
REMEDY = "save it as UTF-8, name its encoding ({}), or read it as it is with 'bytes'"


def encoding_name(name: str) -> str:
    """Return Python's canonical name of an encoding, or ``bytes``.

    Raises:
        ValueError: the encoding does not exist or is not for text.
    """
    if name == BYTES:
        return name
    try:
        codec = codecs.lookup(name)
        "a".encode(name)
        if codec.incrementaldecoder is None:
            raise LookupError
    except (LookupError, ValueError):
        raise ValueError(f"'{name}' is not an encoding; use utf-8, bytes, latin-1 or another of Python's") from None
    return codec.name


@dataclass
class Notes:
    """Counts of text that is changed, left out, or accepted although it is not valid.

    Attributes:
        marks: number of files whose byte-order mark is removed.
        inner_marks: number of byte-order marks after the beginning of a text, as in files that were joined; they stay.
        bytes: bytes that are read without conversion (encoding ``bytes``).
        invalid: number of these that are not part of valid UTF-8.
        bad_records: number of records without usable text that are left out.
        empty_lines: number of empty lines that are left out, if each line is a document.
        normalized: number of documents that normalization changes.
    """

    marks: int = 0
    inner_marks: int = 0
    bytes: int = 0
    invalid: int = 0
    bad_records: int = 0
    empty_lines: int = 0
    normalized: int = 0

    def add(self, counts: dict[str, int]) -> None:
        """Add the counts of other notes, as :meth:`counts` returns them."""
        for name, count in counts.items():
            setattr(self, name, getattr(self, name) + count)

    def counts(self) -> dict[str, int]:
        """Return the counts that are not 0."""
        return {name: count for name, count in asdict(self).items() if count}

    def lines(self) -> dict[str, str]:
        """Return one line per finding, keyed as in a corpus's manifest."""
        notes = {}
        if self.marks:
            notes["byte_order_marks"] = f"byte-order mark removed from {self.marks:,} file{'s' * (self.marks > 1)}"
        if self.inner_marks:
            marks = f"{self.inner_marks:,} byte-order mark{'s' * (self.inner_marks > 1)}"
            notes["inner_byte_order_marks"] = f"{marks} within texts, as of joined files; kept as text"
        if self.invalid:
            share = 100 * self.invalid / self.bytes
            notes["not_utf8"] = f"{self.invalid:,} of {self.bytes:,} bytes ({share:.2g} %) are not UTF-8; read as bytes"
        left_out = (("bad_records", self.bad_records, "bad record"), ("empty_lines", self.empty_lines, "empty line"))
        for key, count, what in left_out:
            if count:
                notes[key] = f"{count:,} {what}{'s' * (count > 1)} left out"
        if self.normalized:
            some = "1 document is" if self.normalized == 1 else f"{self.normalized:,} documents are"
            notes["normalized"] = f"{some} changed by normalization (NFC)"
        return notes


def reject_mark(head: bytes, place: str) -> None:
    """Reject a text that begins with the byte-order mark of UTF-16 or UTF-32.

    Args:
        head: first bytes of the text.
        place: the file, for messages.

    Raises:
        TokbenchError: it does.
    """
    for name, marks in MARKS.items():
        if head.startswith(marks):
            remedy = f"give its encoding ({ENCODING_SYNTAX.format(name)})"
            raise TokbenchError(f"{place}: not UTF-8, but {name.upper()} by its byte-order mark; {remedy}")


class Utf8(io.RawIOBase):
    """A stream of text converted to UTF-8.

    Valid UTF-8 is unchanged except for a byte-order mark at its beginning.

    Args:
        file: the text, positioned at its beginning.
        place: the file, for messages.
        encoding: its encoding; ``bytes`` means no conversion.
        notes: counts of changes and invalid bytes.
    """

    def __init__(self, file: io.BufferedIOBase, place: str, encoding: str, notes: Notes | None = None) -> None:
        self._file = file
        self._place = place
        self._encoding = encoding
        self._notes = Notes() if notes is None else notes
        errors = "ignore" if encoding == BYTES else "strict"
        self._decoder = codecs.getincrementaldecoder(UTF_8 if encoding == BYTES else encoding)(errors)
        self._read = self._lines = 0
        self._begun = self._ended = False
        self._ready = memoryview(b"")
        self._end = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            if self._ended:
                return 0
            block = self._file.read(PIECE)
            self._ended = not block
            self._ready = memoryview(self._converted(block))
        number = min(len(buffer), len(self._ready))
        buffer[:number], self._ready = self._ready[:number], self._ready[number:]
        return number

    def _converted(self, block: bytes) -> bytes:
        """Convert the next bytes of the text to UTF-8."""
        if self._encoding == BYTES:
            self._notes.bytes += len(block)
            self._notes.invalid += len(block) - self._valid(block)
            return block
        if not self._begun and self._encoding == UTF_8:
            self._check_beginning(block)
        text = self._decoded(block)
        self._read += len(block)
        self._lines += block.count(b"\n")
        spelt = block if self._encoding == UTF_8 else text.encode()
        if not self._begun and text:
            self._begun = True
            if text.startswith("\ufeff"):
                self._notes.marks += 1
                spelt = spelt[len(codecs.BOM_UTF8) :]
        if not spelt.isascii():
            self._notes.inner_marks += (self._end + spelt).count(codecs.BOM_UTF8)
        self._end = spelt[-len(codecs.BOM_UTF8) + 1 :]
        return spelt

    def _valid(self, block: bytes) -> int:
        """Return the number of bytes that are part of valid UTF-8; a character counts in the block in which it ends."""
        if block.isascii() and block and not self._decoder.getstate()[0]:
            return len(block)
        return len(self._decoder.decode(block, final=not block).encode())

    def _decoded(self, block: bytes) -> str:
        waiting = self._decoder.getstate()[0]
        if self._encoding == UTF_8 and self._begun and not waiting and block.isascii():
            return ""
        try:
            return self._decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            data, start = error.object, error.start
            offset = self._read - len(waiting) + start
            line = 1 + self._lines + block.count(b"\n", 0, max(0, start - len(waiting)))
            position = (
                f"byte 0x{data[start]:02x} at offset {offset:,}" if start < len(data) else f"at offset {offset:,}"
            )
            place = f"{self._place}:{line}" if self._encoding == UTF_8 else self._place
            raise TokbenchError(f"{place}: not {self._encoding.upper()} ({position}); {self._remedy()}") from None
        except UnicodeError as error:
            raise TokbenchError(f"{self._place}: not {self._encoding.upper()} ({error}); {self._remedy()}") from None

    def _check_beginning(self, block: bytes) -> None:
        reject_mark(block, self._place)
        head = block[:LOOKED_AT]
        if len(head) >= LEAST_NULS and head.count(0) * 4 >= len(head):
            raise TokbenchError(
                f"{self._place}: {head.count(0):,} of the first {len(head):,} bytes are 0, so it is UTF-16 without a "
                "byte-order mark, or not text; give its encoding "
                f"({ENCODING_SYNTAX.format('utf-16-le')}), or read it with 'bytes'"
            )

    def _remedy(self) -> str:
        return REMEDY.format(ENCODING_SYNTAX.format("latin-1"))


def as_utf8(
    file: io.BufferedIOBase, place: str, encoding: str = UTF_8, notes: Notes | None = None
) -> io.BufferedReader:
    """Return a stream of a text converted to UTF-8, see :class:`Utf8`."""
    return io.BufferedReader(Utf8(file, place, encoding, notes), PIECE)
