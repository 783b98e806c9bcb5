"""Passages of plain text: paragraphs of words, and the sentences in them.

Only white space and full stops are relied on, so that any language that writes both will do.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

SENTENCE_END = re.compile(r"[.!?…。।؟]+[\"'”’»)\]]*$")
ABBREVIATION = re.compile(r"[^\W\d_a-z]\w{0,2}\.$")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """The words of successive lines of a document, up to a blank line or one that is not text."""

    document: int
    words: tuple[str, ...]


def read_paragraphs(documents: Iterable[tuple[int, bytes]], max_bytes: int) -> tuple[list[Paragraph], int]:
    """Cut documents into paragraphs, in order, until ``max_bytes`` have been read.

    The last document is cut at white space. Words lose the white space between them, line ends included: passages are
    later written with single spaces.

    Returns:
        The paragraphs, and the number of lines passed over because they are not valid UTF-8. Such a line ends a
        paragraph, so that no passage bridges it.
    """
    paragraphs: list[Paragraph] = []
    invalid, left = 0, max_bytes
    for document, text in documents:
        kept = text if len(text) <= left else b"".join(text[:left].rsplit(maxsplit=1)[:1])
        words: list[str] = []
        for line in [*kept.split(b"\n"), b""]:
            try:
                found = line.decode("utf-8").split()
            except UnicodeDecodeError:
                found = []
                invalid += 1
            if not found and words:
                paragraphs.append(Paragraph(document, tuple(words)))
                words = []
            words.extend(found)
        left -= len(text)
        if left <= 0:
            break
    return paragraphs, invalid


def sentences(paragraph: Paragraph) -> Iterator[tuple[int, int]]:
    """Begin and end (in words) of each complete sentence of a paragraph.

    A sentence ends at a word that closes with a mark such as ``.`` or ``?"`` before a word that does not begin in
    lower case, or at the paragraph's end. Short capitalised words (``Mr.``, ``J.``) are taken for abbreviations.
    """
    words = paragraph.words
    begin = 0
    for position, word in enumerate(words):
        if not SENTENCE_END.search(word) or ABBREVIATION.fullmatch(word):
            continue
        following = words[position + 1].lstrip("\"'“‘«([") if position + 1 < len(words) else ""
        if following[:1].islower():
            continue
        yield begin, position + 1
        begin = position + 1
