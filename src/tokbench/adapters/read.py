"""Tokenizers made elsewhere, read and held against the library that they were made for."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokbench.adapters.adapted import AdaptedTokenizer
from tokbench.adapters.agreement import Difference, first_difference
from tokbench.adapters.character_sets import differing
from tokbench.adapters.end_of_text import end_of_text
from tokbench.adapters.forms import Found, NotNativeError, ReadOptions, read_form
from tokbench.adapters.hub import fetched, fetched_record
from tokbench.adapters.libraries import Library, open_library
from tokbench.adapters.loss import Loss, loss_of
from tokbench.adapters.probes import probes
from tokbench.errors import TokbenchError, on_one_line
from tokbench.patterns.access import access_texts
from tokbench.tokenizer import Tokenizer


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
        A :class:`~tokbench.tokenizer.Tokenizer` of ours, or an :class:`~tokbench.adapters.adapted.AdaptedTokenizer`.
        Its ``origin["imported"]`` says which and why, and what was done with the file.

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
    imported: dict[str, Any], found: Found, special: Mapping[int, bytes], options: ReadOptions, path: Path
) -> None:
    """Record the end of text."""
    imported["end_of_text"], skipped = end_of_text(found, special, options.end_of_text, str(path))
    imported["told"] += skipped


def _held_against(
    found: Found, tokenizer: Tokenizer, library: Library | None, options: ReadOptions, texts: Iterable[bytes] | None
) -> tuple[Found, str]:
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
        if isinstance(equal, Difference):
            return replace(
                found, native=None, reason=f"ids of ours differ from those of {found.library} on {equal}"
            ), ""
        compared[what] = equal
    *others_told, last = [f"{number:,} {what}" for what, number in compared.items() if number]
    told = " and ".join([", ".join(others_told), last] if others_told else [last])
    return found, f"ids equal those of {found.library} on {told}" + (f"; {others}" if others.codes else "")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
