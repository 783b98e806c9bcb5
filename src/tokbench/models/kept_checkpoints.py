"""Copies of checkpoints in a storage, from which another machine continues a training.

Snakemake copies an output into a storage after its job has succeeded. An interrupted training would lose its
checkpoints with its machine, so the training itself copies each new one, by ``pyarrow``. The place has two folders of
which one is complete, and a file with its name, which is written last.
"""

import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from pyarrow.fs import FileSystem, FileType, copy_files

from tokbench.io.text_files import first_line

CHECKPOINTS = ("states/ba*.pt", "states/ba*.sharded", "step-*")
"""Complete checkpoints in the folder of a training: of language models, and of byte and translation models."""
UNKEPT = ("logs", "stream.u16", "latest.pt")
"""Files of a training that are not part of a checkpoint, or are made from its inputs."""
UNFINISHED = (".partial",)
"""Endings of checkpoints that are being written."""
FIRST = "recipe.json"
"""File that identifies the others as those of a training; it is restored before them."""
NEWEST = "newest"
"""File with the name of the complete copy."""
COPIES = ("0", "1")
SECONDS = 5.0
"""Seconds between looks for a new checkpoint."""

log = logging.getLogger(__name__)


@contextmanager
def kept_checkpoints(folder: Path, place: str | None) -> Iterator[None]:
    """Keep copies of the checkpoints that a training writes within the block, and restore them before it.

    The copies are removed when the block succeeds. If the place fails, one line says so, and the training continues.

    Args:
        folder: folder of the training's checkpoints.
        place: folder of the copies, or an address that ``pyarrow.fs`` reads (``s3://``, ``gs://``, ``abfs://``). None:
            keep no copies.
    """
    if place is None:
        yield
        return
    copies = Copies(folder, place)
    copies.attempt(copies.restore)
    ended = threading.Event()
    watch = threading.Thread(target=copies.watch, args=(ended,), daemon=True)
    watch.start()
    try:
        yield
    except BaseException:
        _join(watch, ended)
        copies.attempt(copies.keep)
        raise
    _join(watch, ended)
    copies.attempt(copies.discard)


def _join(watch: threading.Thread, ended: threading.Event) -> None:
    ended.set()
    watch.join()


class Copies:
    """The copies of a training's checkpoints.

    Args:
        folder: folder of the training's checkpoints.
        place: folder or address of the copies.
    """

    def __init__(self, folder: Path, place: str) -> None:
        self._folder = folder
        self._address = place
        self._kept: list[str] = []
        self._reported = False

    def watch(self, ended: threading.Event) -> None:
        """Copy each new checkpoint until the training has ended."""
        while not ended.wait(SECONDS):
            self.attempt(self.keep)

    def attempt(self, work: Callable[[], None]) -> None:
        """Do some work at the place; report the first failure in one line."""
        try:
            work()
        except Exception as error:
            if not self._reported:
                log.warning("%s: checkpoints are not kept there (%s)", self._address, first_line(error))
            self._reported = True

    def keep(self) -> None:
        """Copy the checkpoints of the training if there are new ones."""
        names = _checkpoints(self._folder)
        if not names or names == self._kept:
            return
        # Links keep the files of a checkpoint that the training deletes. The other files are at least as new as it.
        with TemporaryDirectory(dir=self._folder.parent, prefix=f".{self._folder.name}.") as temporary:
            try:
                _take(self._folder, names, Path(temporary))
            except FileNotFoundError:  # A newer checkpoint has replaced one of these; the next attempt copies it.
                return
            files, place = self._place()
            name = COPIES[(COPIES.index(self._newest(files, place) or COPIES[1]) + 1) % len(COPIES)]
            _remove(files, f"{place}/{name}")
            files.create_dir(f"{place}/{name}", recursive=True)
            copy_files(temporary, f"{place}/{name}", destination_filesystem=files)
            with files.open_output_stream(f"{place}/{NEWEST}") as file:
                file.write(name.encode())
        self._kept = names

    def restore(self) -> None:
        """Copy the kept checkpoints into the training's folder, unless that has a checkpoint."""
        files, place = self._place()
        name = self._newest(files, place)
        if name is None or _checkpoints(self._folder):
            return
        with TemporaryDirectory(dir=_made(self._folder.parent), prefix=f".{self._folder.name}.") as temporary:
            copy_files(f"{place}/{name}", temporary, source_filesystem=files)
            _made(self._folder)
            for entry in sorted(Path(temporary).iterdir(), key=lambda entry: entry.name != FIRST):
                target = self._folder / entry.name
                shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
                os.replace(entry, target)
        self._kept = _checkpoints(self._folder)
        log.info("%s: continued from the checkpoints that are kept in %s", self._folder, self._address)

    def discard(self) -> None:
        """Remove the copies of a finished training."""
        _remove(*self._place())

    def _place(self) -> tuple[FileSystem, str]:
        address = self._address if "://" in self._address else os.path.abspath(self._address)
        files, place = FileSystem.from_uri(address)
        return files, place.rstrip("/")

    def _newest(self, files: FileSystem, place: str) -> str | None:
        """Return the name of the complete copy; None if there is none."""
        if files.get_file_info(f"{place}/{NEWEST}").type != FileType.File:
            return None
        with files.open_input_stream(f"{place}/{NEWEST}") as file:
            name = str(file.read().decode())
        return name if name in COPIES else None


def _remove(files: FileSystem, folder: str) -> None:
    if files.get_file_info(folder).type == FileType.Directory:
        files.delete_dir(folder)


def _checkpoints(folder: Path) -> list[str]:
    """Return the complete checkpoints of a training, relative to its folder."""
    found = (path for pattern in CHECKPOINTS for path in folder.glob(pattern))
    return sorted(path.relative_to(folder).as_posix() for path in found)


def _files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _take(folder: Path, names: list[str], snapshot: Path) -> None:
    """Link the checkpoints of a training, and copy its other files.

    Raises:
        FileNotFoundError: the training has deleted a file meanwhile.
    """
    for name in names:
        _link(folder, name, snapshot)
    _copy_others(folder, snapshot)


def _link(folder: Path, name: str, snapshot: Path) -> None:
    """Link the files of a checkpoint, and its checksums if it has any."""
    path = folder / name
    sums = path.with_name(f"{path.name}.sha256")
    for file in [*(_files_in(path) if path.is_dir() else [path]), *([sums] if sums.exists() else [])]:
        target = snapshot / file.relative_to(folder)
        _made(target.parent)
        os.link(file, target)


def _copy_others(folder: Path, snapshot: Path) -> None:
    """Copy the files of a training that are not part of its checkpoints."""
    for file in _files_in(folder):
        place = file.relative_to(folder)
        other = place.parts[0] in UNKEPT or place.parts[0].startswith(".") or place.suffix in UNFINISHED
        if other or place.parts[0] == "states" or place.parts[0].startswith("step-"):
            continue
        _made((snapshot / place).parent)
        shutil.copyfile(file, snapshot / place)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
