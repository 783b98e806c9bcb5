"""Outputs that appear complete or not at all: written under another name in the same folder, then renamed.

An existing output is replaced only if Tokbench wrote it (:mod:`tokbench.io.folder_record`). A partial output has a name
that no other process uses (:mod:`tokbench.io.output_place`). A full disk is reported in one line
(:mod:`tokbench.io.output_place`). Checksums show which files were changed (:mod:`tokbench.io.folder_record`).

Context managers that write an output under another name and rename it when it is complete.

Second names for files that are outputs of two jobs, so that nothing is lost where one of them is killed.
"""

import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tokbench.io.folder_record import (
    NOT_CONTENT,
    RECORD,
    Kind,
    reject_altered,
    reject_foreign_output,
    remove_written,
    write_record,
)
from tokbench.io.output_place import (
    ended_by_sigterm,
    failures_reported,
    new_name,
    partial_file,
    partial_folder,
    place_of_file,
    place_of_folder,
    remove,
)

TAKEN = (errno.ENOTEMPTY, errno.EEXIST)


@contextmanager
def atomic_file(path: Path | str) -> Iterator[Path]:
    """Give a path to write to; it takes the place of ``path`` when the block ends well, and goes when it does not.

    A link stays a link, and the file that it leads to is replaced; the mode of a file is kept. The path ``-`` is
    standard output, which gets the bytes when the block ends well.

    Raises:
        TokbenchError: something stands at ``path`` that no file may replace, or there is no space left.
    """
    place = place_of_file(path)
    if place is None:
        with _temporary_folder() as folder:
            with failures_reported(path, folder.parent):
                yield folder / "output"
            with (folder / "output").open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
                sys.stdout.buffer.flush()
        return
    with failures_reported(path, place.parent), partial_file(place) as partial:
        yield partial
        place_of_file(path)  # It may have been taken meanwhile.
        _keep_mode(partial, place)
        os.replace(partial, place)


@contextmanager
def scratch_folder(path: Path | str) -> Iterator[Path]:
    """Give an empty folder next to an output for intermediate files; it is removed when the block ends.

    What a killed process leaves of it, the next attempt at the same output removes.

    Raises:
        TokbenchError: something stands at ``path`` that no file may replace, or there is no space left.
    """
    place = place_of_file(path)
    if place is None:
        with _temporary_folder() as folder, failures_reported(path, folder.parent):
            yield folder
        return
    with failures_reported(path, place.parent), partial_folder(place) as partial:
        yield partial


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    with ended_by_sigterm(), tempfile.TemporaryDirectory(prefix="tokbench-") as folder:
        yield Path(folder)


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
    reject_foreign_output(place, kind, path)
    with failures_reported(path, place.parent), partial_folder(place) as partial:
        yield partial
        write_record(partial, kind)
        place_of_folder(path)
        _put_in_place(partial, place, kind, path)


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
                _keep_mode(partial / name, place / name)
                os.replace(partial / name, place / name)


def _put_in_place(partial: Path, place: Path, kind: Kind, named: Path | str) -> None:
    """Rename a folder to its place and remove an older one; of several processes the last one's folder remains.

    The older folder is renamed first, and checked when nothing can be added to it by its old name. Its new name is not
    that of a leftover, so that it is not lost if the process is killed in between.

    Raises:
        TokbenchError: the older folder must not be replaced; the message calls it as ``named``. It keeps its name.
    """
    _keep_mode(partial, place)
    while True:
        try:
            os.rename(partial, place)  # Over nothing, or an empty folder.
            return
        except OSError as error:
            if error.errno not in TAKEN:
                raise
        reject_foreign_output(place, kind, named)
        aside = new_name(place, "aside")
        try:
            os.rename(place, aside)
        except FileNotFoundError:
            continue  # Another process has moved it.
        try:
            reject_foreign_output(aside, kind, named)
            os.rename(partial, place)
        except BaseException as error:
            if isinstance(error, OSError) and error.errno in TAKEN:
                remove(aside)  # Another process has put its folder there.
                continue
            os.rename(aside, place)
            raise
        remove(aside)
        return


def _keep_mode(partial: Path, place: Path) -> None:
    """Give an output the mode of what it will replace."""
    with suppress(FileNotFoundError):
        partial.chmod(stat.S_IMODE(place.stat().st_mode))


APART = (errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOSYS, errno.ENOTSUP)
"""How systems say that a file cannot have a second name there."""


def link_or_copy(file: Path, path: Path) -> None:
    """Give a file a second name; copy it where it cannot have one."""
    try:
        os.link(file, path)
    except OSError as error:
        if error.errno not in APART:
            raise
        shutil.copyfile(file, path)


__all__ = [
    "NOT_CONTENT",
    "Kind",
    "atomic_file",
    "atomic_files",
    "atomic_folder",
    "failures_reported",
    "link_or_copy",
    "reject_altered",
    "reject_foreign_output",
    "remove_written",
    "scratch_folder",
]
