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
from tokbench.corpus.json_rows import REMEDY, fields_of, text_of_line
from tokbench.corpus.long_lines import LONG, decoded
from tokbench.corpus.sources import JsonLinesSource
from tokbench.corpus.streams import PART, Texts, documents_of, line_parts
from tokbench.errors import TokbenchError
from tokbench.inputs.files import Convert, is_packed, opened
from tokbench.inputs.json import parse_json

INSIDE = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
"""What is inside a string, up to its end or to an escape that is not whole."""

HELD = re.compile(r"^[\d: ]+| \(byte \d+\)(?=; mend the line$)")
"""Where in what is held of a line something is wrong, as messages tell it."""


class LongLine:
    """A line without its long strings.

    Args:
        place: file and line, for messages.
        largest: how much of it may be held.

    Attributes:
        rest: the line with a name in place of each long string.
        strings: by these names where they begin and end in the line, without their quotes.
        size: bytes of the line.
    """

    def __init__(self, place: str, largest: Largest | None) -> None:
        self.place = place
        self.rest = bytearray()
        self.strings: dict[str, tuple[int, int]] = {}
        self.size = 0
        self._largest = largest
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
                quote = part.find(b'"', at)
                end = len(part) if quote < 0 else quote
                self.rest += part[at:end]
                if quote >= 0:
                    self._start = self.size + quote + 1
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
        if self._start is not None and end - self._start <= LONG:
            self._string += some

    def _close(self, end: int) -> None:
        if self._start is not None and end - self._start > LONG:
            name = secrets.token_hex(16)  # No string of the line is the same.
            self.strings[name] = self._start, end
            self.rest += b'"' + name.encode() + b'"'
        else:
            self.rest += b'"' + self._string + b'"'
        self._string.clear()
        self._start = None


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
    path: Path, source: JsonLinesSource, largest: Largest | None, longest: int, remedy: str, convert: Convert
) -> Texts:
    """The documents of a file of JSON Lines, long ones in pieces.

    Args:
        path: the file.
        source: tells the fields, and what is one document.
        largest: how much of a line may be held; any where left out.
        longest: bytes of a piece at most.
        remedy: what to do where the file cannot be read.
        convert: converts the open file to UTF-8.

    Raises:
        TokbenchError: a line is not JSON, has no text, or too much of it that is no string; the message names file and
            line.
    """
    cutter = Cutter(longest, largest)
    with opened(path, remedy) as first, opened(path, remedy) as again:
        file, second = convert(first), again
        if file is not first:
            second = convert(again)
        follower = Follower(second, is_packed(second))
        start = 0
        for number, line in enumerate(_lines(file, path, longest, largest), 1):
            if isinstance(line, LongLine):
                cutter.place = line.place
                yield from _documents(line, start, follower, source, cutter)
                start += line.size
                continue
            start += len(line)
            if len(line) > cutter.unchecked and largest is not None:
                largest.check(f"{path}:{number}", len(line))
            if line.strip():
                tag, text = text_of_line(line, source, str(path), number)
                if source.documents == "whole":
                    yield tag, text
                else:
                    yield from documents_of([text], source.documents, cutter, tag)


def _lines(file: io.BufferedIOBase, path: Path, longest: int, largest: Largest | None) -> Iterator[bytes | LongLine]:
    """The lines of a file, without what is long in those of more than ``longest`` bytes."""
    number, long = 1, None
    for part in line_parts(file, longest):
        if long is None and len(part) <= longest:
            yield part
            number += 1
            continue
        long = long or LongLine(f"{path}:{number}", largest)
        long.add(part)
        if part.endswith(b"\n"):
            yield long
            number, long = number + 1, None
    if long is not None:
        yield long


def _documents(line: LongLine, start: int, follower: Follower, source: JsonLinesSource, cutter: Cutter) -> Texts:
    rest = line.end()
    if not rest.strip():
        return
    file, _, number = line.place.rpartition(":")
    try:
        row = parse_json(rest, file, line=int(number), remedy=REMEDY, lenient=True)
    except TokbenchError as error:  # Its column, or byte, is one of what was held.
        told = HELD.sub("", str(error).removeprefix(line.place))
        raise TokbenchError(f"{line.place}: {told}") from None
    tag, text = fields_of(row, source, line.place)
    if tag in line.strings:
        raise TokbenchError(f"{line.place}: the language under '{source.language_field}' is a long text; {REMEDY}")
    for name, (first, last) in line.strings.items():
        parts = _checked(follower.blocks(start + first, start + last), line.place)
        if name == text:
            yield from documents_of(parts, source.documents, cutter, tag)
        else:
            for _ in parts:
                pass
    if text not in line.strings:
        yield from documents_of([text.encode("utf-8", "surrogatepass")], source.documents, cutter, tag)


def _checked(blocks: Iterable[bytes], place: str) -> Iterator[bytes]:
    try:
        yield from decoded(blocks)
    except json.JSONDecodeError as error:
        raise TokbenchError(f"{place}: not JSON ({error.msg} in a long string); {REMEDY}") from None
    except ValueError:
        raise TokbenchError(f"{place}: not UTF-8, or not JSON, in a long string; {REMEDY}") from None
