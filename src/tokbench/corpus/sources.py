"""Configuration of corpus sources, one class of options per type; the embedded corpus; and the limits of a source.

The embedded corpus is English documentation that is part of every CPython, about 2 MB: the topics of the language
reference (``pydoc_data.topics``), and the docstrings of the standard library's modules. The modules are parsed with
``ast`` and never imported. Each topic and each module is one document. The text depends only on the version of CPython.

Limits depend only on the tags and sizes of documents, in order.
"""

import ast
import glob
import os
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from tokbench.corpus.folders import line_of, read_folder
from tokbench.corpus.languages import check_tag
from tokbench.errors import TokbenchError, listed
from tokbench.io.compression import Kind, check_regular, has_kind, kind_named, with_endings
from tokbench.io.contents import content_of
from tokbench.io.encodings import BYTES, HOW, UTF_8, encoding_name
from tokbench.io.numbers import LARGEST_BYTES
from tokbench.options import Options


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str | Path) else value


def _of_characters(encoding: str) -> str:
    if encoding == BYTES:
        raise ValueError("JSON is text, and cannot be read as 'bytes'; name the encoding of its characters")
    return encoding


Encoding = Annotated[str, AfterValidator(encoding_name)]
"""The encoding of a text: a name known to Python, or ``bytes``."""
PathList = Annotated[list[str], BeforeValidator(_as_list, json_schema_input_type=str | list[str])]
Tag = Annotated[str, AfterValidator(check_tag)]
"""A language tag, without characters that cannot be printed."""
Paths = PathList | dict[Tag, PathList]
Unit = Literal["whole", "paragraph", "line"]
BadLines = Literal["reject", "skip"]


class Source(Options):
    """Options of all sources."""

    max_documents: int | None = Field(None, ge=1, le=LARGEST_BYTES)
    """Maximum number of documents: the first ones of the source, which are no sample of it. If it is sorted by domain
    or date, shuffle it first (default: no limit)."""
    max_bytes_per_language: int | None = Field(None, ge=1, le=LARGEST_BYTES)
    """Read the first documents of each language until this number of bytes is reached; the last document is complete.
    As with ``max_documents``, they are no sample (default: no limit)."""
    languages: list[str] | None = None
    """Read only documents with these language tags (default: all)."""
    rename_languages: dict[str, Annotated[str, Field(min_length=1), AfterValidator(check_tag)]] = Field(
        default_factory=dict
    )
    """New names of language tags, so that files with different names of a language agree."""
    language: Tag = ""
    """Language tag of documents without one. By default it is ``und`` (undetermined) if other documents of the corpus
    have a language, and empty if no document has one."""


class EmbeddedSource(Source):
    """English documentation that is part of every CPython; needs no file."""

    type: Literal["embedded"]


class FileSource(Source):
    """A source that reads the user's files."""

    path: Paths = Field(default_factory=list)
    """File, folder or glob pattern, or a list of them; or a mapping from language tags to these. The tags of a mapping
    take precedence over those in documents. May be left out and given on the command line instead."""


class TextSource(FileSource):
    """Text files (plain or compressed). Each is one document, or is split into documents at blank lines or line
    ends."""

    type: Literal["text"]
    documents: Literal["file", "paragraph", "line"] = "file"
    """Unit of a document: the file, a paragraph (separated by blank lines), or a non-empty line."""
    encoding: Encoding = UTF_8
    """Encoding of the files: ``utf-8``, ``utf-16``, ``latin-1`` or another of Python's, or ``bytes`` for arbitrary
    bytes. Invalid text is an error."""


class Records(Options):
    """A source of records, one text each. An empty text is a document without bytes."""

    bad_lines: BadLines = "reject"
    """Treatment of a line that is not JSON, or whose text or language is missing, null, wrong or given twice, and of a
    row whose text is null: ``reject`` is an error, ``skip`` leaves it out and counts it. Other fields are ignored."""


class JsonLinesSource(Records, FileSource):
    """JSON Lines (plain or compressed), one document per line, or split further at blank lines or line ends."""

    type: Literal["jsonl"]
    documents: Unit = "whole"
    """Unit of a document: the full text of a line (``whole``), a paragraph of it (separated by blank lines), or a
    non-empty line of it."""
    text_field: str = "text"
    """Key of the text. A dot leads into an object, as in ``translation.de``, unless a key has this name."""
    language_field: str | None = "language"
    """Key of the language tag, with dots as in ``text_field``. Lines without it get the tag of the option
    ``language``."""
    encoding: Annotated[Encoding, AfterValidator(_of_characters)] = UTF_8
    """Encoding of the files: ``utf-8``, ``utf-16`` or another of Python's."""


class ParquetSource(Records, FileSource):
    """Parquet files with a text column (string or binary), one document per row, or split further."""

    type: Literal["parquet"]
    documents: Unit = "whole"
    """Unit of a document: the full text of a row (``whole``), a paragraph of it (separated by blank lines), or a
    non-empty line of it."""
    text_field: str = "text"
    """Column of the text. A dot leads into a structure, as in ``translation.de``, unless a column has this name."""
    language_field: str | None = None
    """Column of the language tag, with dots as in ``text_field``."""


class HubDataset(Options):
    """A data set of the Hugging Face hub at a pinned revision."""

    dataset: str
    """Name on the hub, for example ``HuggingFaceFW/fineweb-edu``."""
    revision: str = Field(pattern=r"^[0-9a-f]{40}$")
    """Commit of the data set, 40 hexadecimal digits, so that the corpus cannot change."""
    config: str | None = None
    """Configuration (subset) of the data set."""
    split: str = "train"
    """Split of the data set on the hub."""


class HubSource(Records, HubDataset, Source):
    """A data set of the Hugging Face hub, streamed once by its own rule at a pinned revision."""

    type: Literal["hub"]
    text_field: str = "text"
    """Column of the text; a dot leads into a structure, as in ``translation.de``."""
    language_field: str | None = None
    """Column of the language tag."""


class ParallelSource(Source):
    """The training split of a parallel corpus, one sentence per document: first all of one side, then all of the other.

    ``languages`` selects a side. By default both are read, which builds joint vocabularies.
    """

    type: Literal["parallel"]
    corpus: str
    """Name of the parallel corpus."""


class CountsSource(FileSource):
    """Pre-token counts instead of text. Tokenizers are built from the counts and measured on them.

    The input is either one file of counts (Parquet, or TSV ``hex<TAB>count``) or two text files: words separated by
    single spaces, and their counts, one per line. The counts are used for every scheme that a variant names.
    """

    type: Literal["counts"]


AnySource = Annotated[
    EmbeddedSource | TextSource | JsonLinesSource | ParquetSource | HubSource | ParallelSource | CountsSource,
    Field(discriminator="type"),
]
SOURCE_TYPES = ("embedded", "text", "jsonl", "parquet", "counts")
"""Types of source without required keys other than the type. Their paths may be given on the command line."""


def tagged_files(source: FileSource) -> list[tuple[str, Path]]:
    """List the source's files with their language tags (empty if not given), sorted within each entry.

    Raises:
        TokbenchError: an entry matches no file, or is a pipe.
    """
    tagged = source.path if isinstance(source.path, dict) else {"": source.path}
    return [(tag, file) for tag, entries in tagged.items() for entry in entries for file in _files(entry, source)]


def files_of(source: FileSource) -> list[Path]:
    """List the source's files.

    Raises:
        TokbenchError: an entry matches no file, or is a pipe.
    """
    return [file for _, file in tagged_files(source)]


def left_out(source: FileSource) -> list[str]:
    """Return one line for each folder of a source with files that are not read.

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
        if kind != "parquet":  # Shards may have other files next to them, as on the hub.
            check_content(path, source)
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
            f"{file}: {what} by its ending, but the source has 'type: {kind}'; set 'type: {named}', or rename it"
        )


def check_content(file: Path, source: FileSource) -> None:
    """Reject a file or folder whose content is no text of its source's type.

    ``encoding: bytes`` accepts any file but a tokenizer as text.

    Raises:
        TokbenchError: there is such content; the message names its kind.
    """
    found = content_of(file)
    if found.kind in NEVER_TEXT:
        raise TokbenchError(f"{file}: {found.what}, and a text is read here; name a file or folder of text")
    if not isinstance(source, TextSource) or source.encoding == BYTES:
        return
    if found.kind == "marked_up":
        how = f"extract its text, or read it as it is ({HOW.format(BYTES)})"
        raise TokbenchError(f"{file}: {found.what}, whose marks would count as text; {how}")
    if found.kind == "jsonl":
        how = f"set 'type: jsonl', rename it to .jsonl, or read it as it is ({HOW.format(BYTES)})"
        raise TokbenchError(f"{file}: JSON Lines by its first lines, and read as text here; {how}")


def _kind(source: FileSource) -> Kind:
    kind: Kind = source.type  # type: ignore[attr-defined]
    return kind


NEVER_TEXT = ("tokenizer", "model", "results")
"""Kinds of content that no source reads."""
LEFT_OUT = frozenset({"site-packages", "test", "tests", "idle_test", "idlelib", "lib2to3", "pydoc_data", "__pycache__"})
"""Folders of the standard library that are excluded: their docstrings are not documentation, or not CPython's."""
SHORTEST = 200
"""Minimum bytes of documentation; a module with less is skipped."""
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
"""AST fields that contain statements, in source order."""
_KINDS: tuple[type[ast.AST], ...] = (ast.Module, *ast.stmt.__subclasses__(), ast.ExceptHandler, ast.match_case)
_BLOCKS_OF = {kind: tuple(block for block in _BLOCKS if block in kind._fields) for kind in _KINDS}
"""Such fields by type of statement. Expressions need not be searched, as they contain no definitions."""


@cache
def embedded_texts() -> tuple[bytes, ...]:
    """Return the documents of the embedded corpus: topics by name, then modules by path."""
    return tuple(_texts())


def _texts() -> Iterator[bytes]:
    from pydoc_data.topics import topics

    for name in sorted(topics):
        yield topics[name].encode()
    library = Path(sysconfig.get_paths()["stdlib"])
    for module in sorted(_modules(library), key=lambda path: path.as_posix()):
        text = "\n\n".join(_docstrings(module.read_bytes())).encode()
        if len(text) >= SHORTEST:
            yield text


def _modules(library: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(library):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        yield from (Path(folder, name) for name in files if name.endswith(".py"))


def _docstrings(source: bytes) -> Iterator[str]:
    """Yield docstrings level by level, outer definitions before inner ones."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    level: list[ast.AST] = [tree]
    while level:
        for node in level:
            if isinstance(node, _DOCUMENTED) and (docstring := ast.get_docstring(node)):
                yield docstring
        level = [inner for node in level for block in _BLOCKS_OF[type(node)] for inner in getattr(node, block)]


def is_limited(source: Source) -> bool:
    """Return whether a source has limits."""
    return not (source.languages is source.max_bytes_per_language is source.max_documents is None)


class Limits:
    """State of a source's limits. Documents must be passed in the source's order.

    Attributes:
        ended: whether no further document can be admitted.
    """

    def __init__(self, source: Source) -> None:
        self.ended = False
        self._source = source
        self._taken = 0
        self._sizes = Counter[str]()
        self._last: str | None = None

    def admit(self, language: str, size: int) -> bool:
        """Return whether the next document is admitted, from its renamed tag and its size in bytes."""
        source = self._source
        self._last = None
        if self.ended or (source.languages is not None and language not in source.languages):
            return False
        if source.max_bytes_per_language is not None and self._sizes[language] >= source.max_bytes_per_language:
            self.ended = source.languages is not None and all(map(self._is_full, source.languages))
            return False
        if source.max_documents is not None and self._taken >= source.max_documents:
            self.ended = True
            return False
        self._sizes[language] += size
        self._taken += 1
        self._last = language
        return True

    def admit_piece(self, language: str | None, size: int) -> bool:
        """Return whether the next document or piece is admitted; a piece without a language belongs to the previous
        document."""
        if language is not None:
            return self.admit(language, size)
        if self._last is not None:
            self._sizes[self._last] += size
        return self._last is not None

    def _is_full(self, language: str) -> bool:
        return self._sizes[language] >= (self._source.max_bytes_per_language or 0)


def check_text(source: Source, documents: int, size: int, languages: Callable[[], Iterable[str]]) -> None:
    """Reject a source that has no text, or no text in the configured languages.

    Args:
        source: the source, for its limits.
        documents: number of documents within the limits.
        size: their bytes.
        languages: function that returns the renamed language of every document of the source, within the limits or not.

    Raises:
        TokbenchError: there is no text; the message gives the reason.
    """
    if size:
        return
    if documents:
        which = "the one document" if documents == 1 else f"each of the {documents:,} documents"
        raise TokbenchError(f"source: {which} is empty; name files with text")
    found = sorted(set(languages()))
    if not found:
        raise TokbenchError("source: there are no documents; name files with text")
    named = [language or "documents without a language" for language in found]
    raise TokbenchError(
        f"source.languages: no document has one of the languages {', '.join(source.languages or [])} "
        f"(found: {listed(named)}); name one of these, or leave the key out"
    )


def without_limits(source: Source) -> Source:
    """Return a source without limits and renamed tags, as its parts are read."""
    plain = {name: field.get_default(call_default_factory=True) for name, field in Source.model_fields.items()}
    return source.model_copy(update=plain)


def language_of(source: Source, tag: str) -> str:
    """Return the language of a document with this tag, after defaults and renaming."""
    tag = tag or source.language
    return source.rename_languages.get(tag, tag)
