"""Lines of JSON that are too long to be held: what is long in them is read twice, and a part at a time.

A file is opened twice. Of a long line the first reader keeps what is short, and where its long strings stand: the
language may come after the text. The second follows, and reads these alone.
"""

import io
import json
import re
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

from tokbench.allowance import Largest
from tokbench.corpus.cutting import Cutter
from tokbench.corpus.json_rows import REMEDY, BadLineError, LineReader
from tokbench.corpus.long_lines import LONG, Decoder, decoded, value_of
from tokbench.corpus.sources import JsonLinesSource
from tokbench.corpus.streams import PART, Texts, documents_of, line_parts
from tokbench.inputs.encodings import Notes
from tokbench.inputs.files import Convert, is_packed, opened

INSIDE = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
"""What is inside a string, up to its end or to an escape that is not whole."""
BETWEEN = re.compile(rb'(?:[^"]++|"(?:[^"\\]|\\.){0,16}+")*+', re.DOTALL)
"""What is between two strings, very short strings included."""


class LongLine:
    """A line without its long strings.

    Args:
        place: file and line, for messages.
        largest: how much of it may be held.
        checked: whether its long strings are decoded as they come, to know whether they are valid.

    Attributes:
        rest: the line with a name in place of each long string.
        strings: by these names where they begin and end in the line, without their quotes.
        size: bytes of the line.
        wrong: what is wrong with a long string; empty where nothing is, or where they are not checked.
    """

    def __init__(self, place: str, largest: Largest | None, *, checked: bool = False) -> None:
        self.place = place
        self.rest = bytearray()
        self.strings: dict[str, tuple[int, int]] = {}
        self.size = 0
        self.wrong = ""
        self._largest = largest
        self._checked = checked
        self._decoder: Decoder | None = None
        self._string = bytearray()
        self._start: int | None = None
        self._escaped = False

    def add(self, part: bytes) -> None:
        """Take the next part of the line.

        Raises:
            TokbenchError: too much of it is to be held.
        """
        at = 0
        while at < len(part):
            if self._start is None:
                end = BETWEEN.match(part, at).end()  # type: ignore[union-attr]
                self.rest += part[at:end]
                if end < len(part):
                    self._start = self.size + end + 1
                at = end + 1
                continue
            end = at + 1 if self._escaped else INSIDE.match(part, at).end()  # type: ignore[union-attr]
            self._escaped = False
            if part[end : end + 1] == b"\\":
                self._escaped, end = True, end + 1
            self._keep(part[at:end], self.size + end)
            at = end
            if part[end : end + 1] == b'"' and not self._escaped:
                self._close(self.size + end)
                at += 1
        self.size += len(part)
        if self._largest is not None:
            self._largest.check(self.place, len(self.rest), more=True)

    def end(self) -> bytes:
        """What is held of the line once all of it was taken."""
        if self._start is not None:
            self.rest += b'"' + self._string
        return bytes(self.rest)

    def _keep(self, some: bytes, end: int) -> None:
        if self._start is None:
            return
        if end - self._start <= LONG:
            self._string += some
        elif self._checked and not self.wrong:
            if self._decoder is None:
                self._decoder, some = Decoder(), bytes(self._string) + some
            self._check(self._decoder.add(some))

    def _close(self, end: int) -> None:
        if self._start is not None and end - self._start > LONG:
            if self._decoder is not None and not self.wrong:
                self._check(map(Decoder.end, [self._decoder]))
            self._decoder = None
            name = secrets.token_hex(16)  # No string of the line is the same.
            self.strings[name] = self._start, end
            self.rest += b'"' + name.encode() + b'"'
        else:
            self.rest += b'"' + self._string + b'"'
        self._string.clear()
        self._start = None

    def _check(self, pieces: Iterator[bytes]) -> None:
        """Decode pieces of a long string, only to see what is wrong."""
        try:
            for _ in pieces:
                pass
        except ValueError as error:
            self.wrong = _why(error)


class Follower:
    """Reads ranges of a file that follow each other.

    Args:
        file: the file, at its beginning.
        packed: whether it is decompressed while it is read.
    """

    def __init__(self, file: io.BufferedIOBase, packed: bool) -> None:
        self._file, self._packed, self._at = file, packed, 0

    def blocks(self, start: int, end: int) -> Iterator[bytes]:
        """What stands between two places, a part at a time.

        Raises:
            EOFError: the file ends before.
        """
        if not self._packed:
            self._at = self._file.seek(start)
        while self._at < start:
            self._read(start)
        while self._at < end:
            yield self._read(end)

    def _read(self, end: int) -> bytes:
        block = self._file.read(min(PART, end - self._at))
        if not block:
            raise EOFError("it became shorter meanwhile")
        self._at += len(block)
        return block


def texts_of_lines(
    path: Path,
    source: JsonLinesSource,
    largest: Largest | None,
    longest: int,
    remedy: str,
    convert: Convert,
    notes: Notes | None = None,
) -> Texts:
    """The documents of a file of JSON Lines, long ones in pieces.

    Args:
        path: the file.
        source: the fields, what is one document, and what is done about bad lines.
        largest: how much of a line may be held; any where left out.
        longest: bytes of a piece at most.
        remedy: what to do where the file cannot be read.
        convert: converts the open file to UTF-8.
        notes: count bad lines and empty lines that are left out.

    Raises:
        TokbenchError: a line is bad and is not left out, or too much of it is no string; the message names file and
            line.
    """
    cutter = Cutter(longest, largest)
    reader = LineReader(source, notes)
    with opened(path, remedy) as first, opened(path, remedy) as again:
        file, second = convert(first), again
        if file is not first:
            second = convert(again)
        follower = Follower(second, is_packed(second))
        start = 0
        for number, line in enumerate(_lines(file, path, longest, largest, checked=reader.skips), 1):
            if isinstance(line, LongLine):
                cutter.place = line.place
                yield from _documents(line, start, follower, source, cutter, reader, notes)
                start += line.size
                continue
            start += len(line)
            if len(line) > cutter.unchecked and largest is not None:
                largest.check(f"{path}:{number}", len(line))
            if line.strip() and (found := reader.text_of(line, f"{path}:{number}")):
                tag, text = found
                if source.documents == "whole":
                    yield tag, text
                else:
                    yield from documents_of([text], source.documents, cutter, tag, notes)


def _lines(
    file: io.BufferedIOBase, path: Path, longest: int, largest: Largest | None, *, checked: bool
) -> Iterator[bytes | LongLine]:
    """The lines of a file, without what is long in those of more than ``longest`` bytes."""
    number, long = 1, None
    for part in line_parts(file, longest):
        if long is None and len(part) <= longest:
            yield part
            number += 1
            continue
        long = long or LongLine(f"{path}:{number}", largest, checked=checked)
        long.add(part)
        if part.endswith(b"\n"):
            yield long
            number, long = number + 1, None
    if long is not None:
        yield long


def _documents(
    line: LongLine,
    start: int,
    follower: Follower,
    source: JsonLinesSource,
    cutter: Cutter,
    reader: LineReader,
    notes: Notes | None,
) -> Texts:
    rest = line.end()
    if not rest.strip():
        return
    try:
        tag, first, last = reader.places_in(rest, line.place, cut=True)
        if tag in line.strings:
            raise BadLineError(f"{line.place}: the language under '{source.language_field}' is a long text; {REMEDY}")
        if line.wrong:
            raise BadLineError(f"{line.place}: {line.wrong}; {REMEDY}")
    except BadLineError as error:
        reader.leave_out(error)
        return
    text = rest[first + 1 : last - 1].decode("ascii", "replace")
    for name, (begin, end) in line.strings.items():
        parts = _checked(follower.blocks(start + begin, start + end), line.place)
        if name == text:
            yield from documents_of(parts, source.documents, cutter, tag, notes)
        else:
            for _ in parts:
                pass
    if text not in line.strings:
        yield from documents_of([value_of(rest, first + 1, last - 1)], source.documents, cutter, tag, notes)


def _checked(blocks: Iterable[bytes], place: str) -> Iterator[bytes]:
    try:
        yield from decoded(blocks)
    except ValueError as error:
        raise BadLineError(f"{place}: {_why(error)}; {REMEDY}") from None


def _why(error: ValueError) -> str:
    """What is wrong with a long string."""
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON ({error.msg} in a long string)"
    return "not UTF-8, or not JSON, in a long string"
