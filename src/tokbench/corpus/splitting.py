"""Splitting of texts into documents: paragraphs and non-empty lines."""

import io
from collections.abc import Iterable, Iterator
from itertools import chain, repeat

from tokbench.corpus.long_documents import PART, Cutter, Text, Texts, documents_of
from tokbench.io.encodings import Notes


def with_tag(tag: str, text: bytes) -> Text:
    """Return a text with its language tag."""
    return tag, text


def split_rows(
    rows: Iterator[tuple[str, bytes | memoryview]], documents: str, cutter: Cutter | None, notes: Notes | None = None
) -> Texts:
    """Split the text of each row into documents, in pieces if they are long.

    Args:
        rows: language tags and texts.
        documents: unit of a document: ``line``, ``paragraph`` or ``whole``.
        cutter: cuts long documents (default: none does).
        notes: counter of empty lines, which are not documents.
    """

    def units(row: tuple[str, bytes | memoryview]) -> Texts:
        tag, text = row
        if cutter is not None and len(text) > cutter.longest:
            view = memoryview(text)
            parts = (view[at : at + PART] for at in range(0, len(view), PART))
            return documents_of(parts, documents, cutter, tag, notes)
        whole = bytes(text)  # No copy if text is bytes.
        if documents == "whole":
            return iter([(tag, whole)])
        return map(with_tag, repeat(tag), split_lines(io.BytesIO(whole), documents, notes))

    return chain.from_iterable(map(units, rows))


def split_lines(lines: Iterable[bytes], documents: str, notes: Notes | None) -> Iterator[bytes]:
    """Yield the non-empty lines, or the paragraphs with the blank line that ends them."""
    paragraph: list[bytes] = []
    for line in lines:
        if documents == "line":
            if line.strip():
                yield line
            elif notes is not None:
                notes.empty_lines += 1
            continue
        paragraph.append(line)
        if not line.strip() and len(paragraph) > 1:
            yield b"".join(paragraph)
            paragraph = []
    if paragraph:
        yield b"".join(paragraph)
