"""Tables of example sentences and their segmentations by each tokenizer.

The examples are the user's sentences, and sentences of the evaluation split on which tokenizers differ most. Candidates
are in corpus order: valid UTF-8, 40 to 160 bytes, one line, at least 80 % letters, marks and spaces; the first eight of
a document and the first 400 of a language. They are ranked by boundaries that not all tokenizers share, per byte; ties
by order. Each document contributes at most one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import regex
from pydantic import Field

from tokbench.corpus.documents import Document, read_shard
from tokbench.examples.cut import EncodesText, cut, disputed_boundaries
from tokbench.options import Options
from tokbench.tabulation.columns import LANGUAGE, SIZE, VARIANT
from tokbench.tabulation.table import Column, Print, Tables, TidyTable, make_tables, tables_of
from tokbench.tokenizer import Tokenizer

SHORTEST, LONGEST = 40, 160
"""Minimum and maximum size of a sentence in bytes."""
OF_DOCUMENT, OF_LANGUAGE = 8, 400
"""Maximum number of candidates per document and per language."""
WORDY = 0.8
"""Minimum share of letters, marks and spaces."""
_ENDS = regex.compile(r"(?<=[.!?。！？।۔…])[\s\p{Pe}\p{Pf}'\"]*(?=\s|\p{Lo})|[\r\n\p{Zl}\p{Zp}]+")
_WORDY = regex.compile(r"[\p{L}\p{M}\p{Zs}]")
_ODD = regex.compile(r"[\p{C}]")
SENTENCES = 24
"""Maximum number of sentences of evaluation splits, over all corpora."""
CONFIGURED, SPLIT = "configuration", "evaluation split"
EXAMPLE = Column("example", pl.Int64, "number of the sentence, from 1")


class Candidate(NamedTuple):
    """A sentence of a document."""

    document: int
    language: str
    text: str


def sentences(text: bytes) -> Iterator[str]:
    """Yield the sentences of a text that are suitable as examples."""
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
    """Yield candidates in order."""
    counts: Counter[str] = Counter()
    for document, language, text in documents:
        if counts[language] >= OF_LANGUAGE:
            continue
        for place, sentence in enumerate(sentences(text)):
            if place >= OF_DOCUMENT or counts[language] >= OF_LANGUAGE:
                break
            counts[language] += 1
            yield Candidate(document, language, sentence)


def choose_sentences(candidates: Iterable[Candidate], tokenizers: Sequence[EncodesText], most: int) -> list[Candidate]:
    """Return the sentences on which tokenizers differ most, sorted by language.

    Args:
        candidates: sentences to choose from.
        tokenizers: the tokenizers to compare.
        most: maximum number of sentences. Each language has equally many, at most three. If there are more languages
            than sentences, the first languages have one each.
    """
    by_language: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        by_language.setdefault(candidate.language, []).append(candidate)
    languages = sorted(by_language)[:most]
    per_language = min(3, most // max(1, len(languages)))
    return [
        candidate
        for language in languages
        for candidate in _most_different(by_language[language], tokenizers, per_language)
    ]


def _most_different(candidates: Sequence[Candidate], tokenizers: Sequence[EncodesText], count: int) -> list[Candidate]:
    scores = [difference(candidate.text.encode(), tokenizers) for candidate in candidates]
    best: dict[int, Candidate] = {}
    for place in sorted(range(len(candidates)), key=lambda place: -scores[place]):
        best.setdefault(candidates[place].document, candidates[place])
    return list(best.values())[:count]


def difference(text: bytes, tokenizers: Sequence[EncodesText]) -> float:
    """Return the number of boundaries that not all tokenizers share, per byte of the text."""
    return len(disputed_boundaries([cut("", tokenizer, text) for tokenizer in tokenizers])) / max(1, len(text))


class Recipe(Options):
    """The user's sentences, and the tokenizers of each corpus as VARIANT/SIZE."""

    examples: list[str] = Field(default_factory=list)
    """The user's sentences."""
    shown: list[str] = Field(default_factory=list)
    """Tokenizers of the user's sentences."""
    corpora: dict[str, list[str]] = Field(default_factory=dict)
    """Tokenizers of each corpus."""


@dataclass(frozen=True)
class ShownSentence:
    """A sentence with its tokenizers."""

    corpus: str
    source: str
    sentence: Candidate
    folders: Sequence[str]


@dataclass(frozen=True)
class ExampleInputs:
    """Example sentences of an experiment.

    Attributes:
        folders: folders of the tokenizers of the user's sentences.
        by_corpus: folders of the tokenizers of each corpus.
        shards: path of one shard of the evaluation split, by corpus.
        texts: the user's sentences.
    """

    folders: Sequence[str]
    by_corpus: Mapping[str, Sequence[str]]
    shards: Mapping[str, Path]
    texts: Sequence[str]

    @cached_property
    def tokenizers(self) -> dict[str, Any]:
        """Tokenizers by folder."""
        folders = (*self.folders, *chain.from_iterable(self.by_corpus.values()))
        return {folder: Tokenizer.load(folder) for folder in dict.fromkeys(folders)}

    @cached_property
    def sentences(self) -> list[ShownSentence]:
        """The user's sentences, then those of each corpus."""
        shown = [ShownSentence("", CONFIGURED, Candidate(-1, "", text), self.folders) for text in self.texts]
        corpora = [corpus for corpus in self.by_corpus if corpus in self.shards][:SENTENCES]
        per_corpus = SENTENCES // max(1, len(corpora))
        for corpus in corpora:
            folders = self.by_corpus[corpus]
            those = [self.tokenizers[folder] for folder in folders]
            selected = choose_sentences(candidates(read_shard(self.shards[corpus])), those, per_corpus)
            shown += [ShownSentence(corpus, SPLIT, sentence, folders) for sentence in selected]
        return shown


def cut_examples(inputs: ExampleInputs) -> Tables:
    """Return all tables of an experiment's sentences."""
    return make_tables(tables_of("cut_examples"), inputs)


def examples(sentences: Sequence[ShownSentence]) -> pl.DataFrame:
    """Return the table of sentences in order."""
    rows = [
        {
            "example": number,
            "source": shown.source,
            "corpus": shown.corpus,
            "language": shown.sentence.language,
            "document": shown.sentence.document if shown.source == SPLIT else None,
            "text": shown.sentence.text,
        }
        for number, shown in enumerate(sentences, 1)
    ]
    return EXAMPLES.frame(rows)


def cuts(sentences: Sequence[ShownSentence], tokenizers: Mapping[str, Any]) -> pl.DataFrame:
    """Return the table of tokens of every sentence, by tokenizer."""
    rows: list[dict[str, Any]] = []
    for number, shown in enumerate(sentences, 1):
        for folder in shown.folders:
            tokenizer = tokenizers[folder]
            head = {"example": number, "variant": tokenizer.name, "size": tokenizer.nominal_size}
            segmented = cut(tokenizer.name, tokenizer, shown.sentence.text.encode())
            rows += [
                head
                | {"place": place, "start": token.start, "end": token.end, "id": token.id, "token": token.data.hex()}
                for place, token in enumerate(segmented.tokens, 1)
            ]
    return CUTS.frame(rows)


EXAMPLES = TidyTable(
    "examples",
    "an example sentence",
    (
        EXAMPLE,
        Column("source", pl.String, "“configuration” for the user's sentence, “evaluation split” for a selected one"),
        Column("corpus", pl.String, "corpus of the document; empty for the user's sentence"),
        LANGUAGE,
        Column("document", pl.Int64, "number of its document", empty="the user's sentence"),
        Column("text", pl.String, "the sentence"),
    ),
    maker=examples,
    takes=("sentences",),
    command="cut_examples",
    prints=(
        Print(
            "examples",
            "The user's sentences, and sentences on which tokenizers differ most.",
            arranged=True,
            form="cuts",
        ),
    ),
)
CUTS = TidyTable(
    "cuts",
    "a token of a sentence, by one tokenizer",
    (
        EXAMPLE,
        VARIANT,
        SIZE,
        Column("place", pl.Int64, "number of the token in the sentence, from 1"),
        Column(
            "start", pl.Int64, "offset of its first byte in the sentence", "bytes", empty="not the sentence's bytes"
        ),
        Column("end", pl.Int64, "offset after its last byte", "bytes", empty="not the sentence's bytes"),
        Column("id", pl.Int64, "its id"),
        Column("token", pl.String, "its bytes in hexadecimal"),
    ),
    maker=cuts,
    takes=("sentences", "tokenizers"),
    command="cut_examples",
    prints=(Print("examples", "Segmentations of the same sentences.", arranged=True, form="cuts"),),
)
