"""JSON Lines: a line is a record, a key a field. Values of other fields are not decoded."""

import io
import json
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator

from tokbench.corpus.formats import corpus_format
from tokbench.corpus.reading import REMEDY_OF_FILE, BadRecordError, Reading, Row, RowFields
from tokbench.corpus.sources import Encoding, RecordSource
from tokbench.io.contents import begins_json_lines
from tokbench.io.encodings import BYTES, UTF_8, Notes, as_utf8, reject_mark
from tokbench.io.json import HALF_PAIR
from tokbench.io.text_files import read_lines
from tokbench.kernels.json_fields import find_fields

LONG = 1 << 20
"""Bytes of a line above which messages give no column; also the maximum length of a language tag."""
PIECE = 1 << 18
"""Bytes of a text that are decoded at a time, which limits memory: decoded text may be four times larger."""
Place = tuple[int, int]
"""Start and end of a value in its line."""


def _of_characters(encoding: str) -> str:
    if encoding == BYTES:
        raise ValueError("JSON is text, and cannot be read as 'bytes'; name the encoding of its characters")
    return encoding


class JsonLinesSource(RecordSource):
    """JSON Lines (plain or compressed), one document per line, or split further at blank lines or line ends."""

    type: Literal["jsonl"]
    language_field: str | None = "language"
    """Key of the language tag, with dots as in ``text_field``. Lines without it get the tag of the option
    ``language``."""
    encoding: Annotated[Encoding, AfterValidator(_of_characters)] = UTF_8
    """Encoding of the files: ``utf-8``, ``utf-16`` or another of Python's."""


@corpus_format(
    "jsonl",
    label="JSON Lines",
    endings=(".jsonl", ".jsonlines", ".json", ".ndjson"),
    options=JsonLinesSource,
    begins=begins_json_lines,
    compressed=True,
    cites=(),
)
def read_json_lines(path: Path, fields: RowFields, source: JsonLinesSource, reading: Reading) -> Iterator[Row]:
    """Read the lines of a file of JSON Lines. Blank lines are not records.

    A line is bad if it is not a JSON object in valid UTF-8, or if a field that is read is given twice. Only fields that
    are read can be given twice, and numbers may be NaN or of any size. A language may be an integer.
    """
    reader = LineReader(fields, reading)

    def row(number: int, line: bytes) -> Row | None:
        return reader.row(line, f"{path}:{number}") if line.strip() else None

    if source.encoding == UTF_8:
        text = partial(_without_mark, place=str(path), notes=reading.notes)
    else:
        text = partial(as_utf8, place=str(path), encoding=source.encoding, notes=reading.notes)
    yield from filter(None, map(row, count(1), read_lines(path, REMEDY_OF_FILE, text)))


def _without_mark(file: io.BufferedReader, place: str, notes: Notes | None) -> io.BufferedReader:
    """Count a byte-order mark of UTF-8, which the search for fields skips, and reject those of other encodings."""
    head = file.peek(len(BOM_UTF8))
    reject_mark(head, place)
    if notes is not None and head.startswith(BOM_UTF8):
        notes.marks += 1
    return file


class _MissingFieldError(BadRecordError):
    """A line without a field of text, which the message names."""


class LineReader:
    """Reader of the fields of JSON lines.

    Args:
        fields: names of the fields.
        reading: rule for bad lines.
    """

    def __init__(self, fields: RowFields, reading: Reading) -> None:
        self._fields = fields
        self._finder = JsonFields([*fields.texts, *([fields.language] if fields.language else [])])
        self._rule = reading.rule

    def row(self, line: bytes, place: str) -> Row | None:
        """Return the record of a line; None if the line is left out.

        Args:
            line: the line.
            place: file and line, for messages.

        Raises:
            BadRecordError: the line is bad, and bad records are errors.
        """
        try:
            return self._read(line, place)
        except ValueError as error:
            column, reason = mistake_at(line, error.args[0])
            self._rule.reject(place + column, reason)
        except _MissingFieldError as error:
            self._rule.reject_missing(place, str(error), partial(_keys_of_text, line))
        except BadRecordError as error:
            self._rule.reject(place, str(error))
        return None

    def _read(self, line: bytes, place: str) -> Row:
        places = self._finder.find(line)
        if places is None:
            raise BadRecordError("not a JSON object")
        texts = tuple(map(partial(_text, line), places, self._fields.texts))
        return Row(place, _tag(line, places[-1], self._fields.language), texts)


class JsonFields:
    """Search for named fields in lines of JSON.

    A field is a key of the line's object. A name with dots that is not a key leads into nested objects:
    ``translation.en`` is the key ``en`` of the object under ``translation``.

    Args:
        fields: names of the fields.
    """

    def __init__(self, fields: Sequence[str]) -> None:
        paths = {field.encode(): field.encode().split(b".") for field in fields}
        self._names = tuple(dict.fromkeys(name for field, path in paths.items() for name in (field, path[0])))
        places = (self._names.index(field.encode()) for field in fields)
        self._paths = [(place, paths[self._names[place]]) for place in places]

    def find(self, line: bytes) -> list[Place | None] | None:
        """Return start and end of each field's value, or None for a missing field; None if the line is not an object.

        Raises:
            ValueError: the line is not JSON; the exception's argument is the byte of the mistake.
            BadRecordError: a field is given twice; the message has no place and no remedy.
        """
        start = len(BOM_UTF8) if line.startswith(BOM_UTF8) else 0
        members = find_fields(line, start, self._names)
        if members is None:
            return None
        return [self._place(line, members, place, path) for place, path in self._paths]

    def _place(
        self, line: bytes, members: list[tuple[int, int, int]], place: int, path: Sequence[bytes]
    ) -> Place | None:
        """Return the place of a field: of the key with its whole name, or at the end of its path."""
        if members[place][0] or len(path) == 1:
            return _single_place(self._names[place], members[place])
        value = _single_place(path[0], members[self._names.index(path[0])])
        for step in path[1:]:
            inner = find_fields(line, value[0], (step,), inner=True) if value else None
            value = _single_place(step, inner[0]) if inner else None
        return value


def _single_place(key: bytes, member: tuple[int, int, int]) -> Place | None:
    times, first, last = member
    if times > 1:
        raise BadRecordError(f"the key '{key.decode()}' is given twice in one object")
    return (first, last) if times else None


def value_of(line: bytes, start: int, end: int) -> bytes:
    """Return the value of a JSON string as UTF-8; unpaired surrogates become their three bytes.

    Args:
        line: text of JSON in which it is a valid string.
        start: first byte after the opening quote.
        end: position of the closing quote.
    """
    if line.find(b"\\", start, end) < 0:
        return line[start:end]
    parts = []
    while start < end:
        last = line.find(b" ", start + PIECE, end) + 1 or end
        value: str = json.loads('"' + line[start:last].decode("utf-8", "surrogatepass") + '"')
        parts.append(value.encode("utf-8", "surrogatepass"))
        start = last
    return b"".join(parts)


def _keys_of_text(line: bytes) -> list[str]:
    """Return the keys whose values are text; empty for a long line."""
    try:
        values = json.loads(line) if len(line) < LONG else None
    except (ValueError, RecursionError):
        return []
    return [key for key, value in values.items() if isinstance(value, str)] if isinstance(values, dict) else []


def mistake_at(line: bytes, byte: int) -> tuple[str, str]:
    """Return the column of a mistake in a line that is not JSON, as ``:column`` or empty, and the mistake.

    Args:
        line: the line.
        byte: the byte of the mistake.
    """
    if len(line) < LONG:
        try:
            json.loads(line.decode("utf-8-sig", "surrogatepass").rstrip())
        except UnicodeDecodeError as error:
            return "", f"not UTF-8 (byte {error.start})"
        except json.JSONDecodeError as error:
            return f":{error.colno}", f"not JSON ({error.msg})"
        except (RecursionError, ValueError):
            pass  # Deeply nested lists or long numbers before the mistake stop Python's parser.
    return "", f"not JSON (byte {byte})"


def _text(line: bytes, place: Place | None, field: str) -> bytes | None:
    """Return the text at a place as UTF-8, None for null.

    Raises:
        BadRecordError: it is neither, or the field is missing.
    """
    if place is None:
        raise _MissingFieldError(field)
    first, last = place
    if line[first] == ord('"'):
        return value_of(line, first + 1, last - 1)
    if line[first:last] != b"null":
        raise BadRecordError(f"no text under '{field}'")
    return None


def _tag(line: bytes, place: Place | None, field: str | None) -> str:
    """Return the language tag at a place; empty for null, or if there is no tag or no field of it.

    Raises:
        BadRecordError: it is neither a short text nor an integer.
    """
    if place is None or field is None:
        return ""
    first, last = place
    value: object = []
    if line[first] == ord('"') and last - first <= LONG:
        value = value_of(line, first + 1, last - 1).decode("utf-8", "surrogatepass")
    elif line[first : first + 1] not in b"{[" and last - first <= LONG:
        with suppress(ValueError):  # An integer may have too many digits.
            value = json.loads(line[first:last])
    tag = str(value or "") if isinstance(value, str | int | None) else None
    if tag is None or not (tag.isascii() or HALF_PAIR.search(tag) is None):
        raise BadRecordError(f"the language under '{field}' is not text")
    return tag
