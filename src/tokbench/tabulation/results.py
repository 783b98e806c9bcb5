"""Inputs of the makers of tidy tables: result files of an experiment, each read once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import polars as pl

from tokbench.io.tables import read_frame
from tokbench.tabulation.answers import Results
from tokbench.tabulation.bounds import Bounds, read_bounds
from tokbench.tabulation.makers import check_makers
from tokbench.tabulation.reading import run_of
from tokbench.tabulation.table import Tables, make_tables, tables_of
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import Vocabulary

Key = tuple[str, int]
"""Variant and vocabulary size."""


@dataclass(frozen=True)
class Gathered:
    """Result files of an experiment.

    Attributes:
        measurements: intrinsic measurements of tokenizers and of embeddings.
        folders: tokenizer folders.
        bound_files: files ``bounds/CORPUS/SCHEME/SIZE.json``.
        embeddings: folders ``embeddings/MODEL/VARIANT/SIZE``.
        models: folders ``models/MODEL/VARIANT/SIZE``.
        downstream: downstream results of models.
        baselines: baseline variant by corpus.
        venn_triples: three variants per Venn diagram.
        token_files: token counts by document (default: none, as for all below).
        ngram_files: bits of token n-gram models.
        token_score_files: scores of tokens around the end of the vocabulary.
        robustness_files: changes of segmentations under perturbations.
        scored_translations: scores of translation models on tests.
        translation_embeddings_folders: embeddings of translation models.
        parallel_folders: folders of parallel corpora.
        leakage_files: files ``leakage/CORPUS.json``.
        along: downstream results of checkpoints saved during training.
        word_files: boundary counts by word of gold data.
        overlap_single_bytes: count single bytes in the table of common tokens (default: True).
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
    robustness_files: tuple[str, ...] = ()
    token_score_files: tuple[str, ...] = ()
    scored_translations: tuple[str, ...] = ()
    translation_embeddings_folders: tuple[str, ...] = ()
    parallel_folders: tuple[str, ...] = ()
    leakage_files: tuple[str, ...] = ()
    along: tuple[str, ...] = ()
    word_files: tuple[str, ...] = ()
    overlap_single_bytes: bool = True

    @cached_property
    def tokenizers(self) -> dict[Key, Tokenizer]:
        """Tokenizers by variant and size."""
        return {key: tokenizer for key, (_, tokenizer) in self.loaded.items()}

    @cached_property
    def loaded(self) -> dict[Key, tuple[str, Tokenizer]]:
        """Folders and tokenizers, by variant and size."""
        loaded = ((folder, Tokenizer.load(folder)) for folder in self.folders)
        return {(one.name, one.nominal_size): (folder, one) for folder, one in loaded}

    @cached_property
    def own_sizes(self) -> dict[str, int]:
        """Sizes of external tokenizers, by variant."""
        return {variant: size for (variant, size), one in self.tokenizers.items() if "imported" in one.origin}

    @cached_property
    def proven(self) -> Bounds:
        """Proven minimum of tokens for any vocabulary, by corpus, language, pre-tokenizer and size."""
        return read_bounds(self.bound_files)

    @cached_property
    def vocabularies(self) -> dict[Key, Vocabulary]:
        """Vocabularies by variant and size; tokenizers that run through other libraries have none."""
        return {key: one.vocabulary for key, one in self.tokenizers.items() if not one.library_name}

    @cached_property
    def results(self) -> Results:
        """Downstream results, each read when iteration reaches it."""
        return Results(self.downstream)

    @cached_property
    def tokens(self) -> dict[str, Mapping[Key, pl.DataFrame]]:
        """Tokens of trained models with norms of their embeddings, by model, then by variant and size."""
        files: dict[str, dict[Key, Path]] = {}
        for folder in map(Path, self.embeddings):
            model, variant, size = run_of(folder, self.own_sizes)
            files.setdefault(model, {})[variant, size] = folder / "tokens.parquet"
        return {model: Frames(of_model) for model, of_model in files.items()}


class Frames(Mapping[Key, pl.DataFrame]):
    """Frames by variant and size, read on access; the last eight are cached because all may not fit in memory."""

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
    """Build every tidy table from an experiment's files.

    Raises:
        TokbenchError: see :func:`tokbench.tabulation.makers.check_makers`.
    """
    check_makers(gathered)
    return make_tables(tables_of("tabulate"), gathered)
