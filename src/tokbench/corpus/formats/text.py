"""Text files: each is one document, or its paragraphs or lines are."""

from collections.abc import Iterator
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Literal

from tokbench.corpus.formats import TEXT, corpus_format
from tokbench.corpus.long_documents import Cutter, Texts, split_stream
from tokbench.corpus.reading import REMEDY_OF_FILE, Reading
from tokbench.corpus.sources import Encoding, FileSource
from tokbench.corpus.splitting import split_lines, with_tag
from tokbench.io.encodings import UTF_8, as_utf8
from tokbench.io.text_files import opened, read_bytes, read_lines


class TextSource(FileSource):
    """Text files (plain or compressed). Each is one document, or is split into documents at blank lines or line
    ends."""

    type: Literal["text"]
    documents: Literal["file", "paragraph", "line"] = "file"
    """Unit of a document: the file, a paragraph (separated by blank lines), or a non-empty line."""
    encoding: Encoding = UTF_8
    """Encoding of the files: ``utf-8``, ``utf-16``, ``latin-1`` or another of Python's, or ``bytes`` for arbitrary
    bytes. Invalid text is an error."""


@corpus_format(TEXT, label="text", endings=(".txt", ".text", ".md"), options=TextSource, compressed=True, cites=())
def read_text(path: Path, source: TextSource, reading: Reading) -> Texts:
    """Read the documents of a text file.

    A file that is not cut, or a line of it, is in memory at once.
    """
    text = partial(as_utf8, place=str(path), encoding=source.encoding, notes=reading.notes)
    if reading.longest is not None:
        cutter = Cutter(reading.longest)
        with opened(path, REMEDY_OF_FILE) as file:
            yield from split_stream(text(file), source.documents, cutter, notes=reading.notes)
        return
    texts: Iterator[bytes]
    if source.documents == "file":
        texts = (read_bytes(path, REMEDY_OF_FILE, text) for _ in range(1))
    else:
        texts = split_lines(read_lines(path, REMEDY_OF_FILE, text), source.documents, reading.notes)
    yield from map(with_tag, repeat(""), texts)
