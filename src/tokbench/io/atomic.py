"""Atomic outputs: written under another name in the same folder, then renamed when complete.

An existing output is replaced only if Tokbench wrote it (:mod:`tokbench.io.folder_record`). A partial output has a name
that no other process uses, and a full disk is reported in one line (:mod:`tokbench.io.output_place`). Checksums show
which files were changed (:mod:`tokbench.io.folder_record`).

A file that is the output of two jobs gets a second name, so that nothing is lost if one of them is killed.
"""

import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tokbench.io.folder_record import (
    NOT_CONTENT,
    Kind,
    reject_altered,
    reject_foreign_output,
    remove_written,
    write_record,
)
from tokbench.io.job_record import FOLDER_RECORD
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
NO_SECOND_NAME = (errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOSYS, errno.ENOTSUP)
"""Errors of systems that do not support a second name of a file there."""


@contextmanager
def atomic_file(path: Path | str) -> Iterator[Path]:
    """Return a context with a path to write to, which replaces ``path`` if the block succeeds and is removed otherwise.

    A link is kept and its target replaced; the mode of an existing file is kept. The path ``-`` is standard output,
    which receives the bytes if the block succeeds.

    Raises:
        TokbenchError: ``path`` is something that a file cannot replace, or there is no space left.
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
        place_of_file(path)  # Another process may have written it meanwhile.
        _keep_mode(partial, place)
        os.replace(partial, place)


@contextmanager
def scratch_folder(path: Path | str) -> Iterator[Path]:
    """Return a context with an empty folder next to an output for intermediate files; it is removed when the block
    ends.

    If the process is killed, the next attempt at the same output removes the leftovers.

    Raises:
        TokbenchError: ``path`` is something that a file cannot replace, or there is no space left.
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
    import tempfile

    with ended_by_sigterm(), tempfile.TemporaryDirectory(prefix="tokbench-") as folder:
        yield Path(folder)


@contextmanager
def atomic_folder(path: Path | str, kind: Kind) -> Iterator[Path]:
    """Return a context with an empty folder to fill, which replaces ``path`` if the block succeeds.

    An existing folder at ``path`` stays until then. It is replaced only if Tokbench wrote it as the same kind of
    output, and no files were added to it.

    Raises:
        TokbenchError: ``path`` is something else (checked before the block and after it), or there is no space left.
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
    """Return a context with an empty folder to fill with files, which move to the folder ``path`` if the block
    succeeds.

    Other files in ``path`` are kept. The new files are added to the folder's record.

    Args:
        path: output folder, created if missing.
        kind: kind of output, if the folder has no record yet.
        last: name of the file that is moved last.
        stale: names of files from an earlier block; those that are not written again are removed.

    Raises:
        TokbenchError: ``path`` is a file or a broken link, or there is no space left.
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
            for name in [FOLDER_RECORD, *sorted(names - {FOLDER_RECORD, last}), last]:
                _keep_mode(partial / name, place / name)
                os.replace(partial / name, place / name)


def _put_in_place(partial: Path, place: Path, kind: Kind, named: Path | str) -> None:
    """Rename a folder to its place and remove an older one; of several processes the last one's folder remains.

    The older folder is renamed before it is checked, so that nothing can be added to it under its old name. Its new
    name is not that of a leftover, so it survives if the process is killed.

    Raises:
        TokbenchError: the older folder must not be replaced; the message calls it ``named``. It keeps its name.
    """
    _keep_mode(partial, place)
    while True:
        try:
            os.rename(partial, place)  # Works if the place is missing or an empty folder.
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
    """Copy the mode of the output that will be replaced."""
    with suppress(FileNotFoundError):
        partial.chmod(stat.S_IMODE(place.stat().st_mode))


def link_or_copy(file: Path, path: Path) -> None:
    """Add a second name to a file (a hard link), or copy it where links are not possible."""
    try:
        os.link(file, path)
    except OSError as error:
        if error.errno not in NO_SECOND_NAME:
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
