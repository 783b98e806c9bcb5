"""Parts of a source: contiguous ranges of its files, of about as many bytes each, that jobs read side by side.

A text file or one of JSON Lines is in one part as a whole. A Parquet file is cut between its row groups where it is
larger than a part; where exactly is seen when it is read, so that a file may be cut that is yet to be fetched.
"""

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tokbench.corpus.sources import FileSource, HubSource, ParquetSource, Source, tagged_files


class Span(NamedTuple):
    """How much is read of several files.

    Attributes:
        begin: share of the first file's bytes that is left out before what is read.
        end: share of the last file's bytes at which reading ends.
    """

    begin: Fraction
    end: Fraction


WHOLE = Span(Fraction(0), Fraction(1))


class Part(NamedTuple):
    """A part of a source: files with their language tags, and how much is read of them."""

    files: list[tuple[str, Path]]
    span: Span


def parts_of(source: Source, parts: int) -> list[Part]:
    """The parts of a source, in its order; the files of a hub source are left out, which may not be there yet.

    Raises:
        TokbenchError: an entry of the source's paths matches no file.
    """
    if isinstance(source, HubSource):
        return [Part([], Span(Fraction(part, parts), Fraction(part + 1, parts))) for part in range(parts)]
    if not isinstance(source, FileSource):
        return [Part([], WHOLE)]
    files = tagged_files(source)
    sizes = [file.stat().st_size for _, file in files]
    slices = _slices(sizes, parts) if isinstance(source, ParquetSource) else [1] * len(files)
    units = [(file, part, number) for file, number in enumerate(slices) for part in range(number)]
    found = []
    for first, last in pairwise(_cuts([sizes[file] / number for file, _, number in units], parts)):
        (begins, begin, of), (ends, end, into) = units[first], units[last - 1]
        found.append(Part(files[begins : ends + 1], Span(Fraction(begin, of), Fraction(end + 1, into))))
    return found


def row_groups(about: Any, span: Span) -> range:
    """The row groups of a Parquet file, by its metadata, that lie between two shares of its bytes.

    A group belongs to the span in which it begins, so that spans that follow each other share none and leave none out.
    """
    groups = about.num_row_groups
    ends = list(accumulate((about.row_group(group).total_byte_size for group in range(groups)), initial=0))
    first, last = (
        groups if share == 1 else min(groups, bisect_left(ends, share * ends[-1])) for share in (span.begin, span.end)
    )
    return range(first, last)


def _slices(sizes: Sequence[int], parts: int) -> list[int]:
    """Into how many slices each file is cut, none larger than a part; in all they are no fewer than the parts."""
    total = sum(sizes)
    return [max(1, -(-size * parts // total)) if total else 1 for size in sizes]


def _cuts(sizes: Sequence[float], parts: int) -> list[int]:
    """Where to cut a sequence so that parts are about as large, and none is empty where it is long enough."""
    reached = list(accumulate(sizes, initial=0.0))
    cuts = [0]
    for part in range(1, parts):
        ideal = reached[-1] * part / parts
        cut = bisect_left(reached, ideal)
        if cut and ideal - reached[cut - 1] < reached[cut] - ideal:
            cut -= 1
        cuts.append(max(cuts[-1] + 1, min(cut, len(sizes) - (parts - part))))
    return [*cuts, len(sizes)]


def groups_of(places: int, parts: int) -> list[range]:
    """The shards, numbered over all splits, that are written together: as many groups as parts, where there are."""
    each = -(-places // parts)
    return [range(first, min(first + each, places)) for first in range(0, places, each)]
