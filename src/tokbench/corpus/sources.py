"""Where a corpus comes from: one class of options per source."""

import glob
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from tokbench.corpus.folders import line_of, read_folder
from tokbench.errors import TokbenchError
from tokbench.inputs.encodings import BYTES, UTF_8, encoding_name
from tokbench.inputs.endings import Kind, has_kind, kind_named, with_endings
from tokbench.inputs.numbers import LARGEST_BYTES
from tokbench.inputs.regular import check_regular
from tokbench.options import Options


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str | Path) else value


def _of_characters(encoding: str) -> str:
    if encoding == BYTES:
        raise ValueError("JSON is text, and cannot be read as 'bytes'; name the encoding of its characters")
    return encoding


Encoding = Annotated[str, AfterValidator(encoding_name)]
"""The encoding of a text, a name that Python knows, or ``bytes``."""
PathList = Annotated[list[str], BeforeValidator(_as_list, json_schema_input_type=str | list[str])]
Paths = PathList | dict[str, PathList]
Unit = Literal["whole", "paragraph", "line"]
BadLines = Literal["reject", "skip"]


class Source(Options):
    """What every source has."""

    max_documents: int | None = Field(None, ge=1, le=LARGEST_BYTES)
    """Read only so many documents from the beginning."""
    max_bytes_per_language: int | None = Field(None, ge=1, le=LARGEST_BYTES)
    """Read documents of a language only until they come to so many bytes, the last one whole."""
    languages: list[str] | None = None
    """Read only documents with these language tags."""
    rename_languages: dict[str, Annotated[str, Field(min_length=1)]] = Field(default_factory=dict)
    """Tags that documents carry, and what to read them as, so that files which name a language differently agree."""
    language: str = ""
    """Language tag of documents that do not carry one. Where this is left out, it is ``und`` (undetermined) if other
    documents of the corpus have a language, and none if no document has one."""


class EmbeddedSource(Source):
    """The English documentation that every CPython carries; needs no file."""

    type: Literal["embedded"]


class FileSource(Source):
    """A source that reads files of the user's."""

    path: Paths = Field(default_factory=list)
    """File, folder or glob pattern, or a list of them; or a mapping of language tags to these, whose tags go before
    those that documents carry. May be left out and given on the command line instead."""


class TextSource(FileSource):
    """Text files (plain or compressed), each one document, or cut into documents at blank lines or line ends."""

    type: Literal["text"]
    documents: Literal["file", "paragraph", "line"] = "file"
    """What is one document: the whole file, a paragraph (blank line between), or a line that is not empty."""
    encoding: Encoding = UTF_8
    """Encoding of the files: ``utf-8``, ``utf-16``, ``latin-1`` or another of Python's, or ``bytes`` for any bytes. A
    file that is not valid is an error."""


class JsonLinesSource(FileSource):
    """JSON Lines (plain or compressed), one document a line, or cut further at blank lines or line ends."""

    type: Literal["jsonl"]
    documents: Unit = "whole"
    """What is one document: the whole text of a line, a paragraph of it (blank line between), or a line of it that is
    not empty."""
    text_field: str = "text"
    """Key of the text. A dot leads into an object, as in ``translation.de``, unless a key has this name."""
    language_field: str | None = "language"
    """Key of the language tag, with dots as in ``text_field``; lines without it take ``language``."""
    bad_lines: BadLines = "reject"
    """What is done about a line that is not JSON, or whose text or language is missing, wrong or given twice:
    ``reject`` is an error, ``skip`` leaves the line out and counts it. Other fields of a line do not matter."""
    encoding: Annotated[Encoding, AfterValidator(_of_characters)] = UTF_8
    """Encoding of the files: ``utf-8``, ``utf-16`` or another of Python's."""


class ParquetSource(FileSource):
    """Parquet files with a column of text (string or binary), one document a row, or cut further."""

    type: Literal["parquet"]
    documents: Unit = "whole"
    """What is one document: the whole text of a row, a paragraph of it (blank line between), or a line of it that is
    not empty."""
    text_field: str = "text"
    """Column of the text. A dot leads into a structure, as in ``translation.de``, unless a column has this name."""
    language_field: str | None = None
    """Column of the language tag, with dots as in ``text_field``."""


class HubDataset(Options):
    """A data set of the Hugging Face hub at a pinned revision."""

    dataset: str
    """Name on the hub, for example ``HuggingFaceFW/fineweb-edu``."""
    revision: str = Field(pattern=r"^[0-9a-f]{40}$")
    """Commit of the data set: 40 hexadecimal digits, so that the corpus can never change under its name."""
    config: str | None = None
    """Configuration (subset) of the data set."""
    split: str = "train"
    """Split of the data set on the hub."""


class HubSource(HubDataset, Source):
    """A data set of the Hugging Face hub, streamed once by its own rule at a pinned revision."""

    type: Literal["hub"]
    text_field: str = "text"
    """Column of the text; a dot leads into a structure, as in ``translation.de``."""
    language_field: str | None = None
    """Column of the language tag."""


class ParallelSource(Source):
    """The training split of a parallel corpus, a sentence a document: all of the first side, then all of the second.

    ``languages`` picks a side; the text of both builds joint vocabularies.
    """

    type: Literal["parallel"]
    corpus: str
    """Name of the parallel corpus."""


class CountsSource(FileSource):
    """Pre-token counts in place of text; tokenizers are built from them and measured on them.

    Either one file of counts (Parquet, or TSV ``hex<TAB>count``) or two: words with single spaces between them, and
    their counts, one a line. They stand for every scheme that a variant names.
    """

    type: Literal["counts"]


AnySource = Annotated[
    EmbeddedSource | TextSource | JsonLinesSource | ParquetSource | HubSource | ParallelSource | CountsSource,
    Field(discriminator="type"),
]
SOURCE_TYPES = ("embedded", "text", "jsonl", "parquet", "counts")
"""Types of source that need no key but their type: paths may be given on the command line."""


def tagged_files(source: FileSource) -> list[tuple[str, Path]]:
    """The source's files with their language tags, empty where the source does not say; sorted within each entry.

    Raises:
        TokbenchError: an entry matches no file, or is a pipe.
    """
    tagged = source.path if isinstance(source.path, dict) else {"": source.path}
    return [(tag, file) for tag, entries in tagged.items() for entry in entries for file in _files(entry, source)]


def files_of(source: FileSource) -> list[Path]:
    """The source's files.

    Raises:
        TokbenchError: an entry matches no file, or is a pipe.
    """
    return [file for _, file in tagged_files(source)]


def left_out(source: FileSource) -> list[str]:
    """Return one line for each folder of a source out of which files are left.

    Raises:
        TokbenchError: a folder cannot be read.
    """
    tagged = source.path if isinstance(source.path, dict) else {"": source.path}
    kind = _kind(source)
    folders = (entry for entries in tagged.values() for entry in entries if Path(entry).is_dir())
    lines = (line_of(entry, kind, read_folder(Path(entry), kind)) for entry in dict.fromkeys(folders))
    return [line for line in lines if line]


def _files(entry: str, source: FileSource) -> list[Path]:
    path = Path(entry)
    check_regular(path)
    if path.is_dir():
        kind = _kind(source)
        folder = read_folder(path, kind)
        if not folder.files:
            why = f" ({folder.left_out()} left out)" if folder.left_out() else ""
            raise TokbenchError(
                f"no file of type '{kind}' in '{entry}'{why}; name files, or a folder with files that end in "
                f"{with_endings(kind)}"
            )
        return folder.files
    found = [path] if path.is_file() else [Path(name) for name in glob.glob(entry, recursive=True)]
    files = sorted(file for file in found if file.is_file())
    if not files:
        home = "; '~' is not replaced by the home folder" if entry.startswith("~") else ""
        raise TokbenchError(f"no file at '{entry}'; name an existing file, folder or pattern{home}")
    for file in files:
        _check_ending(file, source)
    return files


def _check_ending(file: Path, source: FileSource) -> None:
    """Reject a file whose ending contradicts the type of its source.

    Raises:
        TokbenchError: it does.
    """
    kind = _kind(source)
    named = kind_named(file.name)
    if named != "text" and not has_kind(file.name, kind):
        what = {"jsonl": "JSON Lines", "parquet": "Parquet"}[named]
        raise TokbenchError(
            f"{file}: {what} by its ending, and not of type '{kind}'; set 'type: {named}', or rename it"
        )


def _kind(source: FileSource) -> Kind:
    kind: Kind = source.type  # type: ignore[attr-defined]
    return kind
