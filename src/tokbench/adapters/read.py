"""Import of external tokenizers, with a comparison with the library that they were made for.

Names on the Hugging Face hub are those of :mod:`tokbench.adapters.hub`.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from tokbench.adapters.cache import cached
from tokbench.adapters.end_of_text import end_of_text
from tokbench.adapters.export_hugging_face import differing
from tokbench.adapters.forms import FORMS, read_form
from tokbench.adapters.forms.parsed import ParsedTokenizer, ReadOptions
from tokbench.adapters.forms.transformers import detect_format, file_in, starts_as_merges
from tokbench.adapters.hub import REVISION, fetched_folder, fetched_record
from tokbench.adapters.loss import FirstDifference, Loss, first_difference, loss_of
from tokbench.adapters.probes import probes, texts_with
from tokbench.errors import TokbenchError, on_one_line, unknown
from tokbench.io.paths import is_source
from tokbench.options import Options, validated
from tokbench.pretokenization import pretokenization_of
from tokbench.pretokenization.patterns.coverage import access_texts
from tokbench.pretokenization.patterns.dialects import NotNativeError
from tokbench.tokenizer import SETTINGS as OWN_SETTINGS
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.adapted import AdaptedTokenizer
from tokbench.tokenizer.libraries import Library, open_library
from tokbench.tokenizer.libraries.python import source_of
from tokbench.tokenizer.libraries.python_functions import PythonTokenizer
from tokbench.tokenizer.roundtrip import readable

FLAGS = {"special_tokens": "special", "end_of_text": "end-of-text"}
"""Flags of the command line whose names differ from those of the options."""


class HubTokenizer(Options):
    """A tokenizer on the hub."""

    path: str = Field(min_length=1)
    """Name of the repository."""
    revision: Annotated[str, Field(pattern=f"^{REVISION.pattern}$")]
    """Commit of the repository, a full hash."""


@contextmanager
def fetched(path: str, form: str, revision: str | None) -> Iterator[Path]:
    """Yield a path unchanged; with a revision, a temporary folder of the files of that name on the hub.

    Raises:
        TokbenchError: the path does not exist, the revision is not a full hash, the form is not ``transformers``, or
            the hub does not return the files.
    """
    if revision is None:
        _require_path(path, form)
        yield Path(path)
        return
    if form != "transformers":
        raise TokbenchError(f"--revision: only --from transformers accepts a name on the hub, not '{form}'")
    with fetched_folder(path, revision) as folder:
        yield folder


def _require_path(path: str, form: str | None) -> None:
    """Reject a path that does not exist, unless it is a function of Python."""
    if form != "python" and not is_source(path) and not os.path.exists(path):
        raise TokbenchError(
            f"{path}: no such file or folder; name that of a tokenizer, or add --revision for a name on the hub"
        )


def read_tokenizer(
    path: Path | str,
    form: str,
    options: ReadOptions | None = None,
    *,
    name: str = "",
    texts: Iterable[bytes] | None = None,
    again: bool = False,
) -> Tokenizer:
    """Read an external tokenizer: native if Tokbench's three phases return its ids, otherwise run by its library.

    Args:
        path: its file or folder.
        form: its form, see :data:`tokbench.adapters.forms.FORMS`.
        options: settings that the file lacks; default: none.
        name: name in tables; default: that of the file.
        texts: documents on which our ids must equal those of the library, in addition to the texts of
            :mod:`tokbench.adapters.probes` and to texts made from its pattern.
        again: read and compare again, even if the tokenizer is in the user's cache, see :mod:`tokbench.adapters.cache`
            (default: False). With ``texts``, it is always read again.

    Returns:
        A native :class:`~tokbench.tokenizer.tokenizer.Tokenizer`, or an
        :class:`~tokbench.tokenizer.adapted.AdaptedTokenizer`. Its ``origin["imported"]`` says which and why,
        with notes about the file.

    Raises:
        TokbenchError: the file is damaged or not of the form, or an option or a library is missing.
    """
    path, options = Path(path), options or ReadOptions()

    def read() -> Tokenizer:
        return _read(path, form, options, name, texts)

    try:
        if texts is not None or form == "python":  # Functions may use other files.
            return read()
        return cached(path, f"{form}\n{options.model_dump_json()}\n{name}", read, again=again)
    except TokbenchError as error:
        raise error if str(path) in str(error) else TokbenchError(f"{path}: {error}") from None


def import_tokenizer(
    path: str,
    form: str | None,
    options: Mapping[str, Any],
    *,
    name: str = "",
    texts: Iterable[bytes] | None = None,
    again: bool = False,
) -> tuple[Tokenizer, Loss | None]:
    """Read a tokenizer as :func:`read_tokenizer` does, after a download if a revision is given, and measure its losses.

    Args:
        path: its file or folder, or its name on the Hugging Face hub.
        form: its form; None to detect it from the content.
        options: settings that the file lacks, see :class:`ReadOptions`.
        name: name in tables.
        texts: documents to compare ids and measure losses on.
        again: as for :func:`read_tokenizer`.

    Returns:
        The tokenizer, and its losses on ``texts`` (None without texts).
    """
    chosen = validated({key: value for key, value in options.items() if value is not None}, ReadOptions, "import")
    if form is None and chosen.revision is None:
        _require_path(path, form)
    known = form or (detect_format(Path(path)) if chosen.revision is None else "transformers")
    if known not in FORMS:
        raise TokbenchError(f"--from: {unknown(known, 'form', FORMS)}")
    try:
        with fetched(path, known, chosen.revision) as place:
            tokenizer = read_tokenizer(place, known, chosen, name=name, texts=texts, again=again)
            record = fetched_record(place)
    except TokbenchError as error:
        raise (_unrecognised(error, Path(path)) if form is None and known == "merges" else error) from None
    imported = tokenizer.origin["imported"]
    if record:
        imported["file"] = record["path"]
        imported["options"] |= {"revision": record["revision"]}
    loss = None if texts is None else loss_of(tokenizer, texts)
    imported["loss"] = loss.record() if loss else None
    return tokenizer, loss


def open_tokenizer(
    path: str, form: str | None, options: Mapping[str, Any], *, name: str = "", again: bool = False
) -> Tokenizer:
    """Open the tokenizer in a folder of Tokbench, or in a file or a folder of another library.

    Args:
        path: as for :func:`import_tokenizer`.
        form: likewise.
        options: likewise; none for a folder of Tokbench.
        name: name in tables.
        again: likewise.

    Raises:
        TokbenchError: there is no tokenizer, or options are given for a folder of Tokbench.
    """
    place = Path(path)
    if form is None and options.get("revision") is None and os.path.isdir(place):
        ours = (place / OWN_SETTINGS).is_file()
        flag = next((FLAGS.get(key, key) for key, value in options.items() if value is not None), None)
        if ours and flag is not None:
            raise TokbenchError(f"{path}: the folder contains all settings; leave --{flag} out")
        if ours or file_in(place) is None:
            return Tokenizer.load(place)  # Its error names a missing file.
    return import_tokenizer(path, form, options, name=name, again=again)[0]


def _unrecognised(error: TokbenchError, place: Path) -> TokbenchError:
    """Return the error of a file that was read as merges, by a guess: one that says so, if the file has no head."""
    if not place.is_file() or starts_as_merges(place):
        return error
    tried = str(error).removeprefix(f"{place}:").partition(";")[0]
    why = f"not a known tokenizer format (tried merges, line {tried}); name the format with --from"
    return TokbenchError(f"{place}: {why}")


def _read(path: Path, form: str, options: ReadOptions, name: str, texts: Iterable[bytes] | None) -> Tokenizer:
    source = parsed = read_form(path, form, options)
    name = name or on_one_line(path.name).partition(".")[0].partition(":")[0]
    # The library of the file.
    library = parsed.opened
    if library is None and parsed.library is not None:
        library = open_library(parsed.library, parsed.content, parsed.settings, str(path))
    if not parsed.tokens and isinstance(library, PythonTokenizer):
        parsed = _with_size(parsed, library, texts)
    # The record of the import, see docs/existing.md.
    imported: dict[str, Any] = {
        "form": form,
        "file": on_one_line(path.name),
        "sha256": _digest(source_of(str(path))[0] if form == "python" else path),
        "options": options.model_dump(exclude_none=True),
        "how": "native",
        "why": "",
        "told": list(parsed.notes),
        "ids": parsed.ids,
    }
    # Native, if our ids equal those of the library.
    if parsed.native is not None:
        tokenizer = Tokenizer(
            parsed.native.vocabulary,
            parsed.native.pretokenization,
            parsed.native.segmentation,
            name=name,
            origin={"imported": imported},
            normalization=parsed.native.normalization,
        )
        parsed, compared = _compared_with_library(parsed, tokenizer, library, options, texts)
        if parsed.native is not None:
            imported["why"] = compared
            _record_end(imported, source, tokenizer.vocabulary.special, options, path)
            return tokenizer
    # Otherwise by its library.
    if parsed.library is None or library is None:
        raise TokbenchError(f"{path}: {parsed.reason}; there is no library that reads this form")
    if options.segmentation is not None:
        raise TokbenchError(
            f"--segmentation {options.segmentation}: needs a native tokenizer; {parsed.library} reads this file "
            f"({parsed.reason}); leave it out"
        )
    imported |= {"how": parsed.library, "why": parsed.reason}
    _record_end(imported, source, parsed.special, options, path)
    return AdaptedTokenizer(
        parsed.library,
        parsed.content,
        dict(parsed.settings),
        special=dict(parsed.special),
        tokens=parsed.tokens,
        ids=parsed.ids,
        name=name,
        origin={"imported": imported},
    )


def _with_size(parsed: ParsedTokenizer, library: PythonTokenizer, texts: Iterable[bytes] | None) -> ParsedTokenizer:
    """Return the tokenizer with one more than the largest id of the probes and the texts as its number of ids."""
    ids = (library.encode(readable(text)) for text in chain(probes(), texts or ()))
    size = max(map(max, filter(None, ids)), default=0) + 1
    reason = f"no vocab_size: {size:,}, by the largest id of the probes and the documents of --check"
    return replace(parsed, tokens=size, ids=size, settings={"ids": size}, notes=[*parsed.notes, reason])


def _record_end(
    imported: dict[str, Any], parsed: ParsedTokenizer, special: Mapping[int, bytes], options: ReadOptions, path: Path
) -> None:
    """Record the end of text and notes about it."""
    imported["end_of_text"], skipped = end_of_text(parsed, special, options.end_of_text, str(path))
    imported["told"] += skipped


def _compared_with_library(
    parsed: ParsedTokenizer,
    tokenizer: Tokenizer,
    library: Library | None,
    options: ReadOptions,
    texts: Iterable[bytes] | None,
) -> tuple[ParsedTokenizer, str]:
    """Compare ids; return the parsed file, no longer native if ids differ, and a sentence about the comparison."""
    if options.segmentation is not None:
        return parsed, f"segmentation '{options.segmentation}' was chosen here, so no library has its ids"
    if library is None or parsed.library is None or parsed.native is None:
        return parsed, "no library has its ids"
    try:
        others = differing(parsed.native, parsed.library)
    except NotNativeError as error:
        return replace(parsed, native=None, reason=str(error)), ""
    between = getattr(tokenizer.scheme.options, "others", None)  # Of added tokens, which have texts of their own.
    splits = (tokenizer.scheme if between is None else pretokenization_of(between)).splits
    derived = [] if not splits else [text.encode() for text in access_texts(splits, others.codes)]
    named = [name.decode("utf-8", "ignore") for name in {**parsed.special, **parsed.added}.values()]
    compared = {}
    for what, given in (
        ("probes", probes()),
        ("texts made from its pattern", derived),
        ("texts with its added tokens", texts_with(named)),
        ("documents", texts or ()),
    ):
        equal = first_difference(tokenizer, library, given)
        if isinstance(equal, FirstDifference):
            return replace(
                parsed, native=None, reason=f"ids of ours differ from those of {parsed.library} on {equal}"
            ), ""
        compared[what] = equal
    *others_told, last = [f"{number:,} {what}" for what, number in compared.items() if number]
    message = " and ".join([", ".join(others_told), last] if others_told else [last])
    return parsed, f"ids equal those of {parsed.library} on {message}" + (f"; {others}" if others.codes else "")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
