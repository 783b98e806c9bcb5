"""What the makers of the tidy tables take: the files that the stages wrote, read once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import polars as pl

from tokbench.io.tables import read_frame
from tokbench.tabulation.answers import Results
from tokbench.tabulation.bounds import Bounds, read_bounds
from tokbench.tabulation.reading import run_of
from tokbench.tabulation.table import Tables, make_tables, tables_of
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import Vocabulary

Key = tuple[str, int]
"""Variant and vocabulary size."""


@dataclass(frozen=True)
class Gathered:
    """The files of an experiment.

    Attributes:
        measurements: files of measurements, of tokenizers and of embeddings.
        folders: those of tokenizers.
        bound_files: files ``bounds/CORPUS/SCHEME/SIZE.json``.
        embeddings: folders ``embeddings/MODEL/VARIANT/SIZE``.
        models: folders ``models/MODEL/VARIANT/SIZE``.
        downstream: results of models.
        baselines: variant that others are relative to, by corpus.
        venn_triples: three variants of each Venn diagram.
        token_files: tokens of every document by tokenizers.
        ngram_files: bits of the token n-gram models of tokenizers.
        scored_translations: scores of translation models on tests.
        translation_embeddings_folders: embeddings of translation models.
        parallel_folders: those of parallel corpora.
        leakage_files: files ``leakage/CORPUS.json``.
        along: results of checkpoints along the training of models.
        word_files: boundaries of every word of gold data by tokenizers.
        overlap_single_bytes: whether the table of common tokens counts single bytes.
    """

    measurements: tuple[str, ...]
    folders: tuple[str, ...]
    bound_files: tuple[str, ...]
    embeddings: tuple[str, ...]
    models: tuple[str, ...]
    downstream: tuple[str, ...]
    baselines: Mapping[str, str]
    venn_triples: tuple[tuple[str, ...], ...]
    token_files: tuple[str, ...] = ()
    ngram_files: tuple[str, ...] = ()
    scored_translations: tuple[str, ...] = ()
    translation_embeddings_folders: tuple[str, ...] = ()
    parallel_folders: tuple[str, ...] = ()
    leakage_files: tuple[str, ...] = ()
    along: tuple[str, ...] = ()
    word_files: tuple[str, ...] = ()
    overlap_single_bytes: bool = True

    @cached_property
    def tokenizers(self) -> dict[Key, Tokenizer]:
        """By variant and size."""
        loaded = map(Tokenizer.load, self.folders)
        return {(tokenizer.name, tokenizer.nominal_size): tokenizer for tokenizer in loaded}

    @cached_property
    def own_sizes(self) -> dict[str, int]:
        """The sizes by which tables know the tokenizers that were made elsewhere, by variant."""
        return {variant: size for (variant, size), one in self.tokenizers.items() if "imported" in one.origin}

    @cached_property
    def proven(self) -> Bounds:
        """Tokens that any vocabulary needs at least, by corpus, language, pre-tokenization and size."""
        return read_bounds(self.bound_files)

    @cached_property
    def vocabularies(self) -> dict[Key, Vocabulary]:
        """By variant and size; those that work through other libraries have none."""
        return {key: one.vocabulary for key, one in self.tokenizers.items() if not one.library_name}

    @cached_property
    def results(self) -> Results:
        """Files of results, each read whole when its turn comes."""
        return Results(self.downstream)

    @cached_property
    def tokens(self) -> dict[str, Mapping[Key, pl.DataFrame]]:
        """The tokens of trained models with their embeddings' norms, by model, then by variant and size."""
        files: dict[str, dict[Key, Path]] = {}
        for folder in map(Path, self.embeddings):
            model, variant, size = run_of(folder, self.own_sizes)
            files.setdefault(model, {})[variant, size] = folder / "tokens.parquet"
        return {model: Frames(of_model) for model, of_model in files.items()}


class Frames(Mapping[Key, pl.DataFrame]):
    """Frames by variant and size, each read when it is asked for and the last few kept: all may not fit memory."""

    def __init__(self, files: Mapping[Key, Path]) -> None:
        self._files = files
        self._read = lru_cache(maxsize=8)(self._read_anew)

    def _read_anew(self, key: Key) -> pl.DataFrame:
        return read_frame(self._files[key], "measure the embeddings again")

    def __getitem__(self, key: Key) -> pl.DataFrame:
        return self._read(key)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def tabulate(gathered: Gathered) -> Tables:
    """Every tidy table of an experiment's files."""
    return make_tables(tables_of("tabulate"), gathered)
