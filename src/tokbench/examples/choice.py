"""Sentences of the evaluation split on which tokenizers differ most, a few of each language.

Candidates are sentences of documents in the order of the corpus: valid UTF-8, of 40 to 160 bytes, in one line, four
fifths of whose characters are letters, marks or blanks; the first eight of a document and the first 400 of a language.
They are ranked by the borders between tokens that some of the tokenizers have and not all, a byte; of equals the first
comes first. No document gives two.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import regex

from tokbench.corpus.documents import Document
from tokbench.cuts.cut import Encodes, cut, disputed

SHORTEST, LONGEST = 40, 160
"""Bytes of a sentence."""
OF_DOCUMENT, OF_LANGUAGE = 8, 400
"""Candidates."""
WORDY = 0.8
"""Share of letters, marks and blanks."""
_ENDS = regex.compile(r"(?<=[.!?。！？।۔…])[\s\p{Pe}\p{Pf}'\"]*(?=\s|\p{Lo})|[\r\n\p{Zl}\p{Zp}]+")
_WORDY = regex.compile(r"[\p{L}\p{M}\p{Zs}]")
_ODD = regex.compile(r"[\p{C}]")


class Candidate(NamedTuple):
    """A sentence of a document."""

    document: int
    language: str
    text: str


def sentences(text: bytes) -> Iterator[str]:
    """The sentences of a text that are fit to be shown."""
    for line in text.splitlines():
        try:
            whole = line.decode()
        except UnicodeDecodeError:
            continue
        for part in _ENDS.split(whole):
            sentence = part.strip()
            if SHORTEST <= len(sentence.encode()) <= LONGEST and not _ODD.search(sentence):
                words = sum(1 for _ in _WORDY.finditer(sentence))
                if words >= WORDY * len(sentence):
                    yield sentence


def candidates(documents: Iterable[Document]) -> Iterator[Candidate]:
    """Sentences that may be chosen, in order."""
    taken: Counter[str] = Counter()
    for document, language, text in documents:
        if taken[language] >= OF_LANGUAGE:
            continue
        for place, sentence in enumerate(sentences(text)):
            if place >= OF_DOCUMENT or taken[language] >= OF_LANGUAGE:
                break
            taken[language] += 1
            yield Candidate(document, language, sentence)


def chosen(found: Iterable[Candidate], tokenizers: Sequence[Encodes], most: int) -> list[Candidate]:
    """The sentences on which tokenizers differ most, languages in order of their names.

    Args:
        found: candidates.
        tokenizers: those that are shown.
        most: sentences in all; each language has the same number, three at most, and where there are more languages
            than that the first of them have one.
    """
    by_language: dict[str, list[Candidate]] = {}
    for one in found:
        by_language.setdefault(one.language, []).append(one)
    languages = sorted(by_language)[:most]
    each = min(3, most // max(1, len(languages)))
    return [one for language in languages for one in _first(by_language[language], tokenizers, each)]


def _first(found: Sequence[Candidate], tokenizers: Sequence[Encodes], count: int) -> list[Candidate]:
    scores = [difference(one.text.encode(), tokenizers) for one in found]
    best: dict[int, Candidate] = {}
    for place in sorted(range(len(found)), key=lambda place: -scores[place]):
        best.setdefault(found[place].document, found[place])
    return list(best.values())[:count]


def difference(text: bytes, tokenizers: Sequence[Encodes]) -> float:
    """Borders that some tokenizers have and not all, a byte of the text."""
    return len(disputed([cut("", tokenizer, text) for tokenizer in tokenizers])) / max(1, len(text))
