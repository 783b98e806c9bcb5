"""Reading of a file of any format: its range and limits, and the rule for records without usable text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from tokbench.corpus.languages import is_tag, not_a_tag
from tokbench.errors import TokbenchError, listed
from tokbench.io.encodings import Notes

REMEDY_OF_FILE = "fetch or make the file again"
CORRECT = "correct it"
SKIP = "skip such records (bad_lines: skip, or --bad-lines skip)"
REMEDY = f"{CORRECT}, or {SKIP}"
"""Remedies of a file that cannot be read, and of a bad record."""


class ReadSpan(NamedTuple):
    """Range to read of several consecutive files.

    Attributes:
        begin: fraction of the first file's bytes to skip.
        end: fraction of the last file's bytes at which reading ends.
    """

    begin: Fraction
    end: Fraction


WHOLE_FILE = ReadSpan(Fraction(0), Fraction(1))


class RowFields(NamedTuple):
    """Fields to read of each record.

    Attributes:
        texts: names of fields of text. Dots lead into objects or structures, unless a field has the name with dots.
        language: name of the field of the language tag (default: none).
    """

    texts: tuple[str, ...]
    language: str | None = None


class Row(NamedTuple):
    """A record of a file.

    Attributes:
        place: file and line or row, for messages.
        language: language tag; empty if there is none.
        texts: bytes of each field of text, None for null. A long text may be a view of the reader's memory.
    """

    place: str
    language: str
    texts: tuple[bytes | memoryview | None, ...]


class BadRecordError(TokbenchError):
    """A record that is not valid in its format, or whose text or language cannot be used."""


@dataclass(frozen=True)
class RecordRule:
    """Treatment of bad records, the same for all formats.

    A record is bad if it is not valid in its format, if its text is missing, null or no text, or if its language is no
    tag. An empty text is a document without bytes. A missing or null language is no language.

    Attributes:
        skips: whether bad records are left out and counted; otherwise they are errors (default).
        notes: counter of records that are left out (default: they are not counted).
        skip: remedy that leaves bad records out, for messages; empty if there is no such option.
        other_field: remedy for a missing field, for messages.
    """

    skips: bool = False
    notes: Notes | None = None
    skip: str = SKIP
    other_field: str = "name another field (text_field, or --text-field)"

    def reject(self, place: str, reason: str, remedy: str = CORRECT) -> None:
        """Leave out and count a bad record, or raise the error.

        Args:
            place: file and line or row.
            reason: mistake of the record.
            remedy: remedy, for the message.

        Raises:
            BadRecordError: bad records are errors.
        """
        if not self.skips:
            raise BadRecordError(f"{place}: {reason}; {remedy}" + (self.skip and f", or {self.skip}"))
        if self.notes is not None:
            self.notes.bad_records += 1

    def reject_missing(self, place: str, field: str, others: Callable[[], Sequence[str]] = tuple) -> None:
        """Treat a record as bad that lacks a field of text.

        Args:
            place: file and line or row.
            field: name of the field.
            others: function that returns the names of fields of text in the record; called only for a message.

        Raises:
            BadRecordError: bad records are errors.
        """
        names = () if self.skips else others()
        alternatives = f" (found {listed(names)})" if names else ""
        self.reject(place, f"no field '{field}'{alternatives}", self.other_field)

    def document_of(self, field: str) -> Callable[[Row], tuple[str, bytes | memoryview] | None]:
        """Return a function that returns the language tag and the text of a record, or None if it is left out.

        Args:
            field: name of the field of the text, for messages.
        """

        def document(row: Row) -> tuple[str, bytes | memoryview] | None:
            place, language, (text,) = row
            if text is not None and is_tag(language):
                return language, text
            self.reject(place, f"no text under '{field}'" if text is None else not_a_tag(language))
            return None

        return document


class Reading(NamedTuple):
    """Range, limits and rule by which a file is read.

    Attributes:
        span: range of the file to read (default: all of it).
        longest: bytes above which the caller cuts a text into pieces (default: never).
        notes: counts of text that is changed, left out or not valid.
        rule: treatment of bad records.
    """

    span: ReadSpan = WHOLE_FILE
    longest: int | None = None
    notes: Notes | None = None
    rule: RecordRule = RecordRule()
