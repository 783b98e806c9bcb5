"""Files of a tokenizer on the Hugging Face hub: the one place where a tokenizer is fetched, and only where it is asked
for by name and revision. No code is fetched, and none is run."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from pydantic import Field

from tokbench.adapters.forms.folder_settings import FILES as SETTINGS
from tokbench.errors import TokbenchError, shortened
from tokbench.inputs.files import first_line
from tokbench.options import Options

FILES = (
    *("tokenizer.json", "tekken.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model"),
    *("merges.txt", "vocab.json", "*.tiktoken", "tiktoken.json"),
    *SETTINGS,
)
"""What is fetched of a repository."""
REVISION = re.compile("[0-9a-f]{40}")
RECORD = "fetched.json"
"""Says in a folder of fetched files which they are."""


class HubTokenizer(Options):
    """A tokenizer on the hub."""

    path: str = Field(min_length=1)
    """Its name."""
    revision: Annotated[str, Field(pattern=f"^{REVISION.pattern}$")]
    """Its commit."""


@contextmanager
def fetched(path: str, form: str, revision: str | None) -> Iterator[Path]:
    """A path as it is; with a revision, a folder of the files of that name on the hub, while the block lasts.

    Raises:
        TokbenchError: the revision is no full hash, the form is no folder's, or the hub does not give the files.
    """
    if revision is None:
        if not Path(path).exists():
            hub = ", or a name on the hub with its --revision" * (form == "transformers")
            raise TokbenchError(f"{path}: no such file or folder; name one{hub}")
        yield Path(path)
        return
    if form != "transformers":
        raise TokbenchError(f"--revision: only --from transformers takes a name on the hub, not '{form}'")
    with TemporaryDirectory() as folder:
        fetch_files(path, revision, Path(folder))
        yield Path(folder)


def fetch_files(path: str, revision: str, folder: Path) -> None:
    """Fetch the files of a name on the hub into a folder that there is, with a record of what they are.

    Raises:
        TokbenchError: the revision is no full hash, or the hub does not give the files.
    """
    if not REVISION.fullmatch(revision):
        raise TokbenchError(f"--revision {shortened(revision)}: give the full hash, 40 hexadecimal digits")
    from huggingface_hub import snapshot_download

    try:
        snapshot_download(path, revision=revision, allow_patterns=list(FILES), local_dir=folder)
    except Exception as error:
        raise TokbenchError(f"{path} at {revision[:8]}: cannot be fetched ({first_line(error)})") from None
    shutil.rmtree(folder / ".cache", ignore_errors=True)  # When the library fetched what, for its next time.
    (folder / RECORD).write_text(json.dumps({"path": path, "revision": revision}) + "\n", encoding="utf-8")


def fetched_record(folder: Path) -> dict[str, str]:
    """Which files of the hub a folder holds; nothing where they are none."""
    try:
        return dict(json.loads((folder / RECORD).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}
