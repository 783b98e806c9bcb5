"""Lines and fields of the files in which gold data come: plain or compressed, in UTF-8."""

import csv
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path

from tokbench.errors import TokbenchError, listed
from tokbench.inputs.files import read_lines

REMEDY = "name the resource's own file"


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not blank, without their ends, numbered from 1.

    Raises:
        TokbenchError: the file cannot be read or is not UTF-8.
    """
    number = 0
    for data in read_lines(path, REMEDY):
        try:
            text = data.decode("utf-8" if number else "utf-8-sig")
        except UnicodeDecodeError as error:
            raise TokbenchError(f"{path}:{number + 1}: cannot be read ({error}); {REMEDY}") from None
        for number, line in enumerate(StringIO(text, newline=""), number + 1):  # noqa: B020 (lines may end in CR alone)
            if line.strip():
                yield number, line.rstrip("\r\n")


def fields(path: Path, least: int, form: str) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line of a file without a head, cut at tabs.

    Args:
        path: the file.
        least: fields that every line must have.
        form: what a line should look like, for messages.

    Raises:
        TokbenchError: a line has fewer fields; the message names file and line.
    """
    for number, line in lines(path):
        found = line.split("\t")
        if len(found) < least:
            raise TokbenchError(f"{path}:{number}: expected '{form}', found {line[:60]!r}; mend the line")
        yield number, found


def records(path: Path, columns: Sequence[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The named columns of a table with a head, in the order of ``columns``.

    Args:
        path: the file.
        columns: names that the head must hold; others are passed over.
        delimiter: what stands between fields; they may be quoted.

    Raises:
        TokbenchError: a column is missing, or a line has another number of fields than the head.
    """
    last = [0]

    def counted() -> Iterator[str]:
        for last[0], line in lines(path):
            yield line

    try:
        reader = csv.reader(counted(), delimiter=delimiter)
        head = next(reader, [])
        absent = [column for column in columns if column not in head]
        if absent:
            raise TokbenchError(f"{path}: no column '{absent[0]}' (there are {listed(head)})")
        places = [head.index(column) for column in columns]
        for row in reader:
            if len(row) != len(head):
                raise TokbenchError(f"{path}:{last[0]}: {len(row)} fields, the head has {len(head)}; mend the line")
            yield last[0], [row[place].strip() for place in places]
    except csv.Error as error:
        raise TokbenchError(f"{path}:{last[0]}: not a table ({error}); name the resource's own file") from None


def language_tag(path: Path, end: str) -> str:
    """The language that a file's name begins with, up to ``end``: ``eng`` of ``eng.word.dev.tsv`` for ``.``."""
    return path.name.partition(end)[0]
