"""Fast extraction of text fields from JSON Lines. Values of other fields are not decoded."""

import json
from codecs import BOM_UTF8
from collections.abc import Sequence

from tokbench.corpus.languages import is_tag, not_a_tag
from tokbench.corpus.sources import JsonLinesSource
from tokbench.errors import TokbenchError, listed
from tokbench.io.encodings import Notes
from tokbench.io.json import HALF_PAIR
from tokbench.kernels.json_fields import find_fields

MEND = "correct the line"
SKIP = "skip such records (bad_lines: skip, or --bad-lines skip)"
REMEDY = f"{MEND}, or {SKIP}"
LONG = 1 << 20
"""Bytes of a line above which messages give no column; also the maximum length of a language tag."""
PIECE = 1 << 18
"""Bytes of a text that are decoded at a time, which limits memory: decoded text may be four times larger."""
Place = tuple[int, int]
"""Start and end of a value in its line."""


class BadLineError(TokbenchError):
    """A line that is not JSON, or in which a field is missing, wrong or given twice."""


class JsonFields:
    """Search for named fields in lines of JSON.

    A field is a key of the line's object. A name with dots that is not a key leads into nested objects:
    ``translation.en`` is the key ``en`` of the object under ``translation``.

    Args:
        fields: names of the fields.
    """

    def __init__(self, fields: Sequence[str]) -> None:
        self._fields = [(field, [step.encode() for step in field.split(".")]) for field in fields]
        names = ((field.encode(), steps[0]) for field, steps in self._fields)
        self._names = tuple(dict.fromkeys(name for pair in names for name in pair))

    def find(self, line: bytes) -> list[Place | None] | None:
        """Return start and end of each field's value, or None for a missing field; None if the line is not an object.

        Raises:
            ValueError: the line is not JSON; the exception's argument is the byte of the mistake.
            BadLineError: a field is given twice; the message has no place and no remedy.
        """
        start = len(BOM_UTF8) if line.startswith(BOM_UTF8) else 0
        members = find_fields(line, start, self._names)
        if members is None:
            return None
        found = dict(zip(self._names, members, strict=True))
        return [self._place(line, found, field, steps) for field, steps in self._fields]

    def _place(
        self, line: bytes, found: dict[bytes, tuple[int, int, int]], field: str, steps: Sequence[bytes]
    ) -> Place | None:
        whole = field.encode()
        path = [whole] if found[whole][0] else steps
        place = _once(path[0], found[path[0]])
        for step in path[1:]:
            inner = find_fields(line, place[0], (step,), inner=True) if place else None
            place = _once(step, inner[0]) if inner else None
        return place


def _once(key: bytes, member: tuple[int, int, int]) -> Place | None:
    times, first, last = member
    if times > 1:
        raise BadLineError(f"the key '{key.decode()}' is given twice in one object")
    return (first, last) if times else None


class LineReader:
    """Reader of the text and language of JSON lines.

    Args:
        source: the fields, and the treatment of bad lines.
        notes: counter of bad lines that are left out.
    """

    def __init__(self, source: JsonLinesSource, notes: Notes | None = None) -> None:
        self._text, self._language = source.text_field, source.language_field
        self._fields = JsonFields([self._text] + ([self._language] if self._language else []))
        self._notes = notes
        self._skips = source.bad_lines == "skip"

    def text_of(self, line: bytes, place: str) -> tuple[str, bytes] | None:
        """Return language tag (empty if the line has none) and text of a line; None if the line is left out.

        Args:
            line: the line.
            place: file and line, for messages.

        Raises:
            BadLineError: the line is bad, and the source rejects bad lines; the message names file and line.
        """
        try:
            tag, first, last = self._places_in(line, place)
        except BadLineError:
            if not self._skips:
                raise
            if self._notes is not None:
                self._notes.bad_lines += 1
            return None
        return tag, value_of(line, first + 1, last - 1)

    def _places_in(self, line: bytes, place: str) -> tuple[str, int, int]:
        """Return the language tag of a line, and start and end of its text including the quotes."""
        try:
            found = self._fields.find(line)
        except ValueError as error:
            raise not_json(line, place, error.args[0]) from None
        except BadLineError as error:
            raise BadLineError(f"{place}: {error}; {REMEDY}") from None
        text, *languages = found or [None]
        if text is None or line[text[0]] != ord('"'):
            if not self._skips and "." not in self._text and (keys := _keys_of_text(line, self._text)):
                name = f"name the key of the text (text_field: {keys[0]}, or --text-field {keys[0]}), or {SKIP}"
                raise BadLineError(f"{place}: no key '{self._text}' (found {listed(keys)}); {name}")
            raise BadLineError(f"{place}: not a JSON object with a string under '{self._text}'; {REMEDY}")
        tag = _tag(line, languages[0]) if languages and languages[0] else ""
        if tag is not None and not is_tag(tag):
            raise BadLineError(f"{place}: {not_a_tag(tag)}; {REMEDY}")
        if tag is None:
            raise BadLineError(f"{place}: the language under '{self._language}' is not text; {REMEDY}")
        return tag, *text


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


def _keys_of_text(line: bytes, without: str) -> list[str]:
    """Return the keys whose values are text; empty for a long line, or a line that has the key ``without``."""
    try:
        values = json.loads(line) if len(line) < LONG else None
    except (ValueError, RecursionError):
        return []
    if not isinstance(values, dict) or without in values:
        return []
    return [key for key, value in values.items() if isinstance(value, str)]


def not_json(line: bytes, place: str, byte: int, remedy: str = REMEDY) -> BadLineError:
    """Return the error for a line that is not JSON, given the byte of the mistake."""
    column, why = "", f"not JSON (byte {byte})"
    if len(line) < LONG:
        try:
            json.loads(line.decode("utf-8-sig", "surrogatepass").rstrip())
        except UnicodeDecodeError as error:
            why = f"not UTF-8 (byte {error.start})"
        except json.JSONDecodeError as error:
            column, why = f":{error.colno}", f"not JSON ({error.msg})"
        except (RecursionError, ValueError):
            pass  # Deeply nested lists or long numbers before the mistake stop Python's parser.
    return BadLineError(f"{place}{column}: {why}; {remedy}")


def _tag(line: bytes, place: Place) -> str | None:
    """Return the language tag at a place, empty for null; None unless it is a short text or an integer."""
    first, last = place
    if line[first : first + 1] in b"{[" or last - first > LONG:
        return None
    try:
        value = json.loads(line[first:last].decode("utf-8", "surrogatepass"))
        tag = str(value or "")
    except ValueError:
        return None
    return tag if isinstance(value, str | int | None) and not HALF_PAIR.search(tag) else None
