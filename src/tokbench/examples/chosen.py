"""What the makers of the tables take: the sentences, and the tokenizers that cut each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tokbench.corpus.documents import read_shard
from tokbench.examples.choice import Candidate, candidates, chosen
from tokbench.tidy.collection import tables_of
from tokbench.tidy.make import Tables, make_tables
from tokbench.tokenizer import Tokenizer

SENTENCES = 24
"""Sentences of evaluation splits that are shown, of all corpora together."""
CONFIGURED, SPLIT = "configuration", "evaluation split"


@dataclass(frozen=True)
class Shown:
    """A sentence, and who cuts it."""

    corpus: str
    source: str
    sentence: Candidate
    folders: Sequence[str]


@dataclass(frozen=True)
class Chosen:
    """The sentences of an experiment.

    Attributes:
        folders: of the tokenizers that cut the user's sentences.
        by_corpus: of those that cut the sentences of each corpus.
        shards: one shard of the evaluation split of each corpus.
        texts: the user's sentences.
    """

    folders: Sequence[str]
    by_corpus: Mapping[str, Sequence[str]]
    shards: Mapping[str, Path]
    texts: Sequence[str]

    @cached_property
    def tokenizers(self) -> dict[str, Any]:
        """By folder."""
        every = (*self.folders, *(folder for folders in self.by_corpus.values() for folder in folders))
        return {folder: Tokenizer.load(folder) for folder in dict.fromkeys(every)}

    @cached_property
    def sentences(self) -> list[Shown]:
        """The user's sentences, then those of each corpus."""
        given = [Shown("", CONFIGURED, Candidate(-1, "", text), self.folders) for text in self.texts]
        corpora = [corpus for corpus in self.by_corpus if corpus in self.shards][:SENTENCES]
        each = SENTENCES // max(1, len(corpora))
        for corpus in corpora:
            folders = self.by_corpus[corpus]
            those = [self.tokenizers[folder] for folder in folders]
            found = chosen(candidates(read_shard(self.shards[corpus])), those, each)
            given += [Shown(corpus, SPLIT, one, folders) for one in found]
        return given


def cut_examples(chosen: Chosen) -> Tables:
    """Every table of an experiment's sentences."""
    return make_tables(tables_of("cut_examples"), chosen)
