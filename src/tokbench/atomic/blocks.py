"""The blocks in which outputs are written."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tokbench.atomic.exchange import keep_mode, put_in_place
from tokbench.atomic.partial import partial_file, partial_folder
from tokbench.atomic.places import place_of_file, place_of_folder, pour, spool
from tokbench.atomic.record import RECORD, Kind, reject_foreign, write_record
from tokbench.atomic.space import failures_reported


@contextmanager
def atomic_file(path: Path | str) -> Iterator[Path]:
    """Give a path to write to; it takes the place of ``path`` when the block ends well, and goes when it does not.

    A link stays one, and what it leads to is replaced; a file's mode is kept. What is no file (a device, a pipe, an
    open descriptor such as ``/dev/stdout``) stays too: the bytes are handed on to it when the block ends well.

    Raises:
        TokbenchError: something stands at ``path`` that no file may replace, or there is no space left.
    """
    place = place_of_file(path)
    if place is None:
        with spool() as (partial, folder):
            with failures_reported(path, folder):
                yield partial
            with failures_reported(path, Path(path).parent):
                pour(partial, path)
        return
    with failures_reported(path, place.parent), partial_file(place) as partial:
        yield partial
        place_of_file(path)  # It may have been taken meanwhile.
        keep_mode(partial, place)
        os.replace(partial, place)


@contextmanager
def scratch_folder(path: Path | str) -> Iterator[Path]:
    """Give an empty folder beside an output for what is only needed to make it; it goes when the block ends.

    What a killed process leaves of it, the next attempt at the same output removes.

    Raises:
        TokbenchError: something stands at ``path`` that no file may replace, or there is no space left.
    """
    place = place_of_file(path)
    if place is None:
        with spool() as (partial, folder), failures_reported(path, folder):
            partial.mkdir()
            yield partial
        return
    with failures_reported(path, place.parent), partial_folder(place) as partial:
        yield partial


@contextmanager
def atomic_folder(path: Path | str, kind: Kind) -> Iterator[Path]:
    """Give an empty folder to fill; it takes the place of ``path`` when the block ends well.

    An older folder at ``path`` stays until then. It is replaced only if Tokbench wrote it, as the same kind of output,
    and nothing has been added to it since.

    Raises:
        TokbenchError: something else stands at ``path``, or there is no space left. The first is told before the
            block begins, too.
    """
    place = place_of_folder(path)
    reject_foreign(place, kind, path)
    with failures_reported(path, place.parent), partial_folder(place) as partial:
        yield partial
        write_record(partial, kind)
        place_of_folder(path)
        put_in_place(partial, place, kind, path)


@contextmanager
def atomic_files(path: Path | str, kind: Kind, *, last: str, stale: Sequence[str] = ()) -> Iterator[Path]:
    """Give an empty folder to fill with files; they go into the folder ``path`` when the block ends well.

    Other files in ``path`` stay as they are. What was written is added to the folder's record.

    Args:
        path: the folder, made if it is missing.
        kind: what the files are, if the folder has no record yet.
        last: the file that goes in when all others have.
        stale: names of files that an earlier block left there; those not written again are removed.

    Raises:
        TokbenchError: a file or a link to nowhere stands at ``path``, or there is no space left.
    """
    place = place_of_folder(path)
    with failures_reported(path, place):
        place.mkdir(parents=True, exist_ok=True)
        with partial_folder(place / kind) as partial:
            yield partial
            write_record(partial, kind, place)
            names = {file.name for file in partial.iterdir()}
            for name in set(stale) - names:
                (place / name).unlink(missing_ok=True)
            for name in [RECORD, *sorted(names - {RECORD, last}), last]:
                keep_mode(partial / name, place / name)
                os.replace(partial / name, place / name)
