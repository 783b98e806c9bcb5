"""What the makers of the tidy tables take: the files that the stages wrote, read once."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from tokbench.inputs.frames import read_frame
from tokbench.tabulation.answers import Result, read_results
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
        embeddings: folders ``embeddings/MODEL/VARIANT/SIZE``.
        models: folders ``models/MODEL/VARIANT/SIZE``.
        downstream: results of models.
        baselines: variant that others are relative to, by corpus.
        venn_variants: three variants of a Venn diagram.
    """

    measurements: tuple[str, ...]
    folders: tuple[str, ...]
    embeddings: tuple[str, ...]
    models: tuple[str, ...]
    downstream: tuple[str, ...]
    baselines: Mapping[str, str]
    venn_variants: tuple[str, ...]

    @cached_property
    def tokenizers(self) -> dict[Key, Tokenizer]:
        """By variant and size."""
        loaded = map(Tokenizer.load, self.folders)
        return {(tokenizer.name, int(tokenizer.origin["requested_size"])): tokenizer for tokenizer in loaded}

    @cached_property
    def vocabularies(self) -> dict[Key, Vocabulary]:
        """By variant and size."""
        return {key: tokenizer.vocabulary for key, tokenizer in self.tokenizers.items()}

    @cached_property
    def results(self) -> list[Result]:
        """Files of results, read whole."""
        return read_results(self.downstream)

    @cached_property
    def tokens(self) -> dict[str, dict[Key, pl.DataFrame]]:
        """The tokens of trained models with their embeddings' norms, by model, then by variant and size."""
        tables: dict[str, dict[Key, pl.DataFrame]] = {}
        for folder in map(Path, self.embeddings):
            model, variant, size = folder.parts[-3:]
            tables.setdefault(model, {})[variant, int(size)] = read_frame(
                folder / "tokens.parquet", "measure the embeddings again"
            )
        return tables
