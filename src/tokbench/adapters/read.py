"""Tokenizers made elsewhere, read and held against the library that they were made for.

Files of a tokenizer on the Hugging Face hub: the one place where a tokenizer is fetched, and only where it is asked
for by name and revision. No code is fetched, and none is run.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from pydantic import Field

from tokbench.adapters.adapted_tokenizer import AdaptedTokenizer
from tokbench.adapters.added_tokens import end_of_text
from tokbench.adapters.export_hugging_face import differing
from tokbench.adapters.forms import NotNativeError, ParsedTokenizer, ReadOptions, read_form
from tokbench.adapters.forms.folder_settings import FILES as SETTINGS
from tokbench.adapters.libraries import Library, open_library
from tokbench.adapters.loss import FirstDifference, Loss, first_difference, loss_of
from tokbench.adapters.probes import probes
from tokbench.errors import TokbenchError, on_one_line, shortened
from tokbench.io.text_files import first_line
from tokbench.options import Options
from tokbench.pretokenization.patterns.coverage import access_texts
from tokbench.tokenizer import Tokenizer

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


def read_tokenizer(
    path: Path | str,
    form: str,
    options: ReadOptions | None = None,
    *,
    name: str = "",
    texts: Iterable[bytes] | None = None,
) -> Tokenizer:
    """A tokenizer made elsewhere: in our three phases where these give its ids, else through its own library.

    Args:
        path: its file or folder.
        form: of which form that is, see :data:`tokbench.adapters.forms.FORMS`.
        options: what the file does not say.
        name: what tables call it; that of the file where left out.
        texts: documents on which ours must give the ids of its library, beside the probes of
            :mod:`tokbench.adapters.probes`, as they must on those.

    Returns:
        A :class:`~tokbench.tokenizer.Tokenizer` of ours, or an
        :class:`~tokbench.adapters.adapted_tokenizer.AdaptedTokenizer`. Its ``origin["imported"]`` says which and why,
        and what was done with the file.

    Raises:
        TokbenchError: the file is damaged or is none of its form, an option is missing, or a library is.
    """
    try:
        return _read(Path(path), form, options or ReadOptions(), name, texts)
    except TokbenchError as error:
        raise error if str(path) in str(error) else TokbenchError(f"{path}: {error}") from None


def import_tokenizer(
    path: str, form: str, options: ReadOptions, *, name: str = "", texts: Iterable[bytes] | None = None
) -> tuple[Tokenizer, Loss | None]:
    """Read a tokenizer as :func:`read_tokenizer` does, fetch it first where a revision is named, and measure its loss.

    Args:
        path: its file or folder, or its name on the Hugging Face hub.
        form: its form.
        options: what the file does not say.
        name: what tables call it.
        texts: documents to compare ids and measure the loss on.

    Returns:
        The tokenizer, and what it loses of ``texts``; None without texts.
    """
    with fetched(path, form, options.revision) as place:
        tokenizer = read_tokenizer(place, form, options, name=name, texts=texts)
        record = fetched_record(place)
    imported = tokenizer.origin["imported"]
    if record:
        imported["file"] = record["path"]
        imported["options"] |= {"revision": record["revision"]}
    loss = None if texts is None else loss_of(tokenizer, texts)
    imported["loss"] = loss.record() if loss else None
    return tokenizer, loss


def _read(path: Path, form: str, options: ReadOptions, name: str, texts: Iterable[bytes] | None) -> Tokenizer:
    source = found = read_form(path, form, options)
    name = name or on_one_line(path.name).partition(".")[0]
    library = found.opened
    if library is None and found.library is not None:
        library = open_library(found.library, found.content, found.settings, str(path))
    imported: dict[str, Any] = {
        "form": form,
        "file": on_one_line(path.name),
        "sha256": _digest(path),
        "options": options.model_dump(exclude_none=True),
        "how": "native",
        "why": "",
        "told": list(found.told),
        "ids": found.ids,
    }
    if found.native is not None:
        tokenizer = Tokenizer(
            found.native.vocabulary,
            found.native.pretokenization,
            found.native.segmentation,
            name=name,
            origin={"imported": imported},
        )
        found, compared = _held_against(found, tokenizer, library, options, texts)
        if found.native is not None:
            imported["why"] = compared
            _record_end(imported, source, tokenizer.vocabulary.special, options, path)
            return tokenizer
    if found.library is None or library is None:
        raise TokbenchError(f"{path}: {found.reason}; there is no library that reads this form")
    if options.segmentation is not None:
        raise TokbenchError(
            f"--segmentation {options.segmentation}: needs a native tokenizer; {found.library} reads this file "
            f"({found.reason}); leave it out"
        )
    imported |= {"how": found.library, "why": found.reason}
    _record_end(imported, source, found.special, options, path)
    return AdaptedTokenizer(
        found.library,
        found.content,
        dict(found.settings),
        special=dict(found.special),
        tokens=found.tokens,
        ids=found.ids,
        name=name,
        origin={"imported": imported},
    )


def _record_end(
    imported: dict[str, Any], found: ParsedTokenizer, special: Mapping[int, bytes], options: ReadOptions, path: Path
) -> None:
    """Record the end of text."""
    imported["end_of_text"], skipped = end_of_text(found, special, options.end_of_text, str(path))
    imported["told"] += skipped


def _held_against(
    found: ParsedTokenizer,
    tokenizer: Tokenizer,
    library: Library | None,
    options: ReadOptions,
    texts: Iterable[bytes] | None,
) -> tuple[ParsedTokenizer, str]:
    """What was found, native no more where the library gives other ids, and what was compared."""
    if options.segmentation is not None:
        return found, f"segmentation '{options.segmentation}' was chosen here, so no library has its ids"
    if library is None or found.library is None or found.native is None:
        return found, "no library has its ids"
    try:
        others = differing(found.native, found.library)
    except NotNativeError as error:
        return replace(found, native=None, reason=str(error)), ""
    splits = tokenizer.scheme.splits
    derived = [] if not splits else [text.encode() for text in access_texts(splits, others.codes)]
    compared = {}
    for what, given in (("probes", probes()), ("texts made from its pattern", derived), ("documents", texts or ())):
        equal = first_difference(tokenizer, library, given)
        if isinstance(equal, FirstDifference):
            return replace(
                found, native=None, reason=f"ids of ours differ from those of {found.library} on {equal}"
            ), ""
        compared[what] = equal
    *others_told, last = [f"{number:,} {what}" for what, number in compared.items() if number]
    told = " and ".join([", ".join(others_told), last] if others_told else [last])
    return found, f"ids equal those of {found.library} on {told}" + (f"; {others}" if others.codes else "")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
