"""Tokenizers on the Hugging Face hub: names, revisions and downloads.

A name ``hf:OWNER/NAME`` asks for the network. Its revision is resolved once and kept in the user's cache with the
files, so that later commands read the same files without the network. ``hf:OWNER/NAME@REVISION`` names a commit, a
branch or a tag; a branch or tag is resolved again. No code is downloaded or run.
"""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import gaierror
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tokbench.adapters.cache import FILES
from tokbench.errors import TokbenchError, shortened
from tokbench.io.paths import HUB
from tokbench.io.text_files import first_line
from tokbench.io.user_cache import user_cache
from tokbench.runtime.progress import note

NAME = re.compile(r"(?![.-])[\w.-]+(/(?![.-])[\w.-]+)?", re.ASCII)
REVISION = re.compile("[0-9a-f]{40}")
RECORD = "fetched.json"
"""Record of the source in a folder of downloaded files."""
KEPT = "revision.json"
"""Record of the resolved revision of a repository in the cache."""


class HubName(NamedTuple):
    """A name on the hub.

    Attributes:
        repository: ``OWNER/NAME``.
        revision: commit, branch or tag; empty if none is named.
    """

    repository: str
    revision: str


def hub_name(text: str) -> HubName:
    """Parse ``hf:OWNER/NAME`` or ``hf:OWNER/NAME@REVISION``.

    Raises:
        TokbenchError: the name has characters that no repository has.
    """
    repository, _, revision = text.removeprefix(HUB).partition("@")
    if not NAME.fullmatch(repository):
        raise TokbenchError(f"{shortened(text)}: not a name on the hub; write hf:OWNER/NAME or hf:OWNER/NAME@REVISION")
    return HubName(repository, revision)


def hub_folder(name: HubName) -> Path:
    """Return the folder of a tokenizer's files in the user's cache, which are downloaded if they are not there.

    A note says the revision when it is resolved, and that it is kept.

    Raises:
        TokbenchError: the hub does not return the revision or the files, or the user has no cache.
    """
    downloads = user_cache("hub")
    if downloads is None:
        raise TokbenchError(f"{HUB}{name.repository}: no folder for downloads; set XDG_CACHE_HOME to one")
    place = downloads / name.repository.replace("/", "--")
    revision = name.revision or _kept_revision(place)
    if not REVISION.fullmatch(revision):
        revision = _resolve(name.repository, revision)
        place.mkdir(parents=True, exist_ok=True)
        (place / KEPT).write_text(json.dumps({"revision": revision}) + "\n", encoding="utf-8")
        again = f"{HUB}{name.repository}@main resolves it again"
        note(f"{HUB}{name.repository}: revision {revision}, kept for later commands; {again}")
    folder = place / revision / place.name
    if not (folder / RECORD).is_file():
        with TemporaryDirectory(dir=_made(place)) as temporary:
            partial = Path(temporary, place.name)
            partial.mkdir()
            fetch_files(name.repository, revision, partial)
            shutil.rmtree(folder.parent, ignore_errors=True)
            folder.parent.mkdir()
            partial.rename(folder)
    return folder


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _kept_revision(place: Path) -> str:
    """Return the revision that was resolved before; empty if there is none."""
    try:
        revision = json.loads((place / KEPT).read_text(encoding="utf-8"))["revision"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return revision if isinstance(revision, str) and REVISION.fullmatch(revision) else ""


def _resolve(repository: str, revision: str) -> str:
    """Return the commit of a branch or a tag; of the main branch if it is empty."""
    from huggingface_hub import HfApi

    try:
        commit = HfApi().model_info(repository, revision=revision or None).sha
    except Exception as error:
        raise TokbenchError(f"{HUB}{repository}: cannot be resolved ({_reason(error)})") from None
    if commit is None or not REVISION.fullmatch(commit):
        raise TokbenchError(f"{HUB}{repository}: the hub names no commit; name one with @REVISION")
    return commit


def _reason(error: BaseException) -> str:
    """Return the reason of a failed request: that of the system if there is no connection, else that of the library."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, gaierror | ConnectionError | TimeoutError) and isinstance(cause.strerror, str):
            return f"no connection to the hub: {cause.strerror}"
        cause = cause.__cause__ or cause.__context__
    return first_line(error)


@contextmanager
def fetched_folder(path: str, revision: str) -> Iterator[Path]:
    """Yield a temporary folder of the files of a name on the hub.

    Raises:
        TokbenchError: see :func:`fetch_files`.
    """
    with TemporaryDirectory() as temporary:
        folder = Path(temporary, path.replace("/", "--"))
        folder.mkdir()
        fetch_files(path, revision, folder)
        yield folder


def fetch_files(path: str, revision: str, folder: Path) -> None:
    """Download the files of a name on the hub into an existing folder, with a record of their source.

    Raises:
        TokbenchError: the revision is not a full hash, or the hub does not return the files.
    """
    if not REVISION.fullmatch(revision):
        raise TokbenchError(f"--revision {shortened(revision)}: pass the full hash, 40 hexadecimal digits")
    from huggingface_hub import snapshot_download

    try:
        snapshot_download(path, revision=revision, allow_patterns=list(FILES), local_dir=folder)
    except Exception as error:
        raise TokbenchError(f"{path} at {revision[:8]}: cannot be fetched ({_reason(error)})") from None
    shutil.rmtree(folder / ".cache", ignore_errors=True)  # the library's record for later downloads
    (folder / RECORD).write_text(json.dumps({"path": path, "revision": revision}) + "\n", encoding="utf-8")


def fetched_record(folder: Path) -> dict[str, str]:
    """Return the record of downloaded files in a folder; empty if there is none."""
    try:
        return dict(json.loads((folder / RECORD).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}
