"""Where a corpus comes from: one class of options per source.

The embedded corpus: the English documentation that every CPython carries.

Two parts: the language reference's topics (``pydoc_data.topics``) and the docstrings of the standard library's own
modules, read with ``ast`` and never imported. One document a topic, one a module; about 2 MB together. The text
depends on nothing but the version of CPython.

The limits of a source: which documents they let through is told by their tags and sizes alone, in order.
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
from tokbench.errors import TokbenchError, listed
from tokbench.io.compression import Kind, check_regular, has_kind, kind_named, with_endings
from tokbench.io.encodings import BYTES, UTF_8, encoding_name
from tokbench.io.numbers import LARGEST_BYTES
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


LEFT_OUT = frozenset({"site-packages", "test", "tests", "idle_test", "idlelib", "lib2to3", "pydoc_data", "__pycache__"})
"""Folders of the standard library whose docstrings are not documentation, or not CPython's."""
SHORTEST = 200
"""Bytes; a module with less documentation than that makes no document."""
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
"""Fields that hold statements or what they are in, in the order in which they stand in a source."""
_KINDS: tuple[type[ast.AST], ...] = (ast.Module, *ast.stmt.__subclasses__(), ast.ExceptHandler, ast.match_case)
_BLOCKS_OF = {kind: tuple(block for block in _BLOCKS if block in kind._fields) for kind in _KINDS}
"""Those of each kind of statement: no expression holds a definition."""


@cache
def embedded_texts() -> tuple[bytes, ...]:
    """Topics by name, then modules by path: the documents of the embedded corpus."""
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
    """Those of outer definitions before those of inner ones."""
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
    """Whether a source has limits."""
    return not (source.languages is source.max_bytes_per_language is source.max_documents is None)


class Limits:
    """What a source's limits let through; documents are asked for in the source's order.

    Attributes:
        ended: whether no more can come.
    """

    def __init__(self, source: Source) -> None:
        self.ended = False
        self._source = source
        self._taken = 0
        self._sizes = Counter[str]()
        self._last: str | None = None

    def admit(self, language: str, size: int) -> bool:
        """Whether the next document is let through: its tag, renamed already, and its bytes."""
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
        """As :meth:`admit`, of pieces of documents: one that is no document's first, without a language, goes with the
        document before it."""
        if language is not None:
            return self.admit(language, size)
        if self._last is not None:
            self._sizes[self._last] += size
        return self._last is not None

    def _is_full(self, language: str) -> bool:
        return self._sizes[language] >= (self._source.max_bytes_per_language or 0)


def check_text(source: Source, documents: int, size: int, languages: Callable[[], Iterable[str]]) -> None:
    """Reject a source that has no text, or none in the languages that are asked for.

    Args:
        source: its limits.
        documents: how many documents the limits let through.
        size: bytes of them.
        languages: gives the language of every document of the source, renamed, whether let through or not.

    Raises:
        TokbenchError: there is no text; the message says why.
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
    """The source as its parts are read: all documents, with the tags that they carry."""
    plain = {name: field.get_default(call_default_factory=True) for name, field in Source.model_fields.items()}
    return source.model_copy(update=plain)


def language_of(source: Source, tag: str) -> str:
    """The language tag of a document that carries this one."""
    tag = tag or source.language
    return source.rename_languages.get(tag, tag)
