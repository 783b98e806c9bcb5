"""File formats of corpora, one module each, and detection of the format of a file.

A format is a decorated function that reads one file: its documents, or its rows with their fields. Configuration, JSON
schema, checks, command line, pairs of parallel corpora and documentation follow from it. The endings of a file's name
decide its format, and its first bytes where the name has no known ending. All other files are text.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, get_args

from tokbench.corpus.folders import read_folder
from tokbench.corpus.long_documents import Texts
from tokbench.corpus.reading import Reading, Row, RowFields
from tokbench.corpus.sources import FileSource, RecordSource, type_of
from tokbench.errors import TokbenchError
from tokbench.io.compression import has_ending
from tokbench.io.contents import HEAD, content_of
from tokbench.io.text_files import opened
from tokbench.registry import Method, Registry

TEXT = "text"
"""Name of the format of files that have no other."""
Function = TypeVar("Function", bound=Callable[..., Iterator[Any]])


class ReadTexts(Protocol):
    """Signature of the reader of a format without fields."""

    def __call__(self, path: Path, source: Any, reading: Reading) -> Texts:
        """Yield tags and texts of the documents of one file, in order.

        Args:
            path: the file.
            source: an instance of the format's class of options.
            reading: range and limits.
        """
        ...


class ReadRows(Protocol):
    """Signature of the reader of a format of records with fields."""

    def __call__(self, path: Path, fields: RowFields, source: Any, reading: Reading) -> Iterator[Row]:
        """Yield the records of one file, in order.

        A record that is not valid, or lacks a field of text, goes to ``reading.rule.reject``. Null is yielded as None.

        Args:
            path: the file.
            fields: names of the fields to read.
            source: an instance of the format's class of options.
            reading: range, limits and rule.

        Raises:
            TokbenchError: the file cannot be read, or no record can have one of the fields. The message names file and
                record.
        """
        ...


@dataclass(frozen=True, kw_only=True, repr=False)
class CorpusFormat(Method):
    """A file format of corpora.

    Attributes:
        label: name of the format in messages, such as ``JSON Lines``.
        endings: endings of file names, in lower case, without that of a compression.
        rows: whether a file has records with fields, which the function yields. Otherwise it yields documents.
        begins: function that returns whether the first bytes of a file are those of the format; None if any bytes may
            be (default).
        compressed: whether a file may be compressed as a whole (default: no).
        divisible: whether a part of a file can be read (default: no).
        belongs: function that returns whether a file with the right ending in a folder is data (default: every one is).
        fields_in: function that returns the fields of all records of a file; None if records may have others (default).
    """

    function: ReadTexts | ReadRows
    options_class: type[FileSource]
    label: str
    endings: tuple[str, ...]
    rows: bool
    begins: Callable[[bytes], bool] | None = field(default=None, repr=False)
    compressed: bool = False
    divisible: bool = False
    belongs: Callable[[Path], bool] | None = field(default=None, repr=False)
    fields_in: Callable[[Path], list[str]] | None = field(default=None, repr=False)

    def source(self, **options: Any) -> FileSource:
        """Return a source of this format.

        Raises:
            pydantic.ValidationError: an option is unknown or invalid.
        """
        return self.options_class.model_validate({"type": self.name, **options})


corpus_formats: Registry[CorpusFormat] = Registry("corpus format", "tokbench.corpus.formats", ReadRows, named_by="type")


def corpus_format(
    name: str,
    *,
    label: str,
    endings: tuple[str, ...],
    options: type[FileSource],
    begins: Callable[[bytes], bool] | None = None,
    compressed: bool = False,
    divisible: bool = False,
    belongs: Callable[[Path], bool] | None = None,
    fields_in: Callable[[Path], list[str]] | None = None,
    cites: tuple[str, ...] | None = None,
) -> Callable[[Function], Function]:
    """Register a file format of corpora; the arguments are the attributes of :class:`CorpusFormat`.

    The function reads rows if the options are a subclass of :class:`~tokbench.corpus.sources.RecordSource`.

    Raises:
        TokbenchError: the name is not valid, an ending is not of the form ``.ending`` or belongs to another format, the
            options do not extend :class:`~tokbench.corpus.sources.FileSource` by ``type: Literal[name]``, or the
            function does not have the signature of :class:`ReadTexts` or :class:`ReadRows`.
    """
    corpus_formats.check_name(name)

    def decorate(function: Function) -> Function:
        check = corpus_formats.check
        is_source = isinstance(options, type) and issubclass(options, FileSource)
        check(is_source, name, f"its options are {options!r}; pass a subclass of tokbench.corpus.sources.FileSource")
        key = options.model_fields.get("type")
        check(
            key is not None and get_args(key.annotation) == (name,),
            name,
            f"its options have another type; annotate it, as in type: Literal['{name}']",
        )
        for ending in endings:
            valid = isinstance(ending, str) and ending.startswith(".") and ending == ending.lower()
            check(valid, name, f"its ending is {ending!r}; pass one such as '.ending', in lower case")
            owner = next(
                (method for method in corpus_formats.registered() if ending in method.endings),
                None,
            )
            is_free = owner is None or owner.name == name
            check(is_free, name, f"'{ending}' is an ending of '{owner and owner.name}'; choose another")
        rows = issubclass(options, RecordSource)
        method = CorpusFormat(
            name=name, function=function, options_class=options, label=label, endings=endings, rows=rows, begins=begins,
            compressed=compressed, divisible=divisible, belongs=belongs, fields_in=fields_in, cites=cites,
        )  # fmt: skip
        corpus_formats.add(method, protocol=ReadRows if rows else ReadTexts)
        return function

    return decorate


def format_of(source: FileSource) -> CorpusFormat:
    """Return the format of a source."""
    return corpus_formats[type_of(source)]


def endings_of_formats() -> tuple[str, ...]:
    """Return the endings of all formats."""
    return tuple(ending for method in corpus_formats.methods() for ending in method.endings)


def format_by_ending(name: str) -> CorpusFormat | None:
    """Return the format that the ending of a file name belongs to; None if no format has it."""
    return next((method for method in corpus_formats.methods() if has_ending(name, method.endings)), None)


def format_by_content(path: Path) -> CorpusFormat | None:
    """Return the format that the first bytes of a file are of; None if they decide none, or cannot be read."""
    head = b""
    try:
        with opened(path, "") as file:
            head = file.read(HEAD)
    except TokbenchError:  # An archive or damaged data, which the reader reports; it may still be of a format.
        if os.path.isfile(path):
            with path.open("rb") as file:
                head = file.read(HEAD)
    begun = (method for method in corpus_formats.methods() if method.begins is not None and method.begins(head))
    return next(begun, None) if head else None


def format_of_file(path: Path) -> CorpusFormat:
    """Return the format of a file by its ending, by its first bytes if no format has the ending, or else text."""
    method = format_by_ending(path.name)
    if method is None and content_of(path).kind == "text":
        method = format_by_content(path)
    return method or corpus_formats[TEXT]


def format_of_folder(path: Path) -> CorpusFormat:
    """Return the format of the files of a folder: text if there is a file of it, otherwise another that has files.

    Formats whose files are not compressed come first, as JSON next to their files describes these.

    Raises:
        TokbenchError: a folder in it cannot be read.
    """
    order = sorted(corpus_formats.methods(), key=lambda method: (method.name != TEXT, method.compressed))
    matching = (method for method in order if read_folder(path, method.endings, method.belongs).files)
    return next(matching, corpus_formats[TEXT])
