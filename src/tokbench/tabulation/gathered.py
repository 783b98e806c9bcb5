"""Inputs of the makers of tidy tables: result files of an experiment, each read once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

import polars as pl

from tokbench.io.tables import read_frame
from tokbench.tabulation.bounds import Bounds, read_bounds
from tokbench.tabulation.reading import run_of
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import Vocabulary

Key = tuple[str, int]
"""Variant and vocabulary size."""


@dataclass(frozen=True)
class Gathered:
    """Result files of an experiment.

    Attributes:
        files: files and folders by name of the result, see :class:`tokbench.stage.Result`; a missing name has none.
        baselines: baseline variant by corpus (default: none).
        venn_triples: three variants per Venn diagram (default: none).
        overlap_single_bytes: count single bytes in the table of common tokens (default: True).
    """

    files: Mapping[str, Sequence[str]]
    baselines: Mapping[str, str] = field(default_factory=dict)
    venn_triples: Sequence[Sequence[str]] = ()
    overlap_single_bytes: bool = True

    def named(self, *names: str) -> list[str]:
        """Return the files of some results."""
        return [file for name in names for file in self.files.get(name, ())]

    @cached_property
    def measurements(self) -> list[str]:
        """Intrinsic measurements of tokenizers and of embeddings."""
        return [*self.named("intrinsic"), *(f"{folder}/measurements.json" for folder in self.named("embeddings"))]

    @cached_property
    def tokenizers(self) -> dict[Key, Tokenizer]:
        """Tokenizers by variant and size."""
        return {key: tokenizer for key, (_, tokenizer) in self.loaded.items()}

    @cached_property
    def loaded(self) -> dict[Key, tuple[str, Tokenizer]]:
        """Folders and tokenizers, by variant and size."""
        loaded = ((folder, Tokenizer.load(folder)) for folder in self.named("tokenizer"))
        return {(tokenizer.name, tokenizer.nominal_size): (folder, tokenizer) for folder, tokenizer in loaded}

    @cached_property
    def own_sizes(self) -> dict[str, int]:
        """Sizes of external tokenizers, by variant."""
        return {variant: size for (variant, size), made in self.tokenizers.items() if "imported" in made.origin}

    @cached_property
    def proven(self) -> Bounds:
        """Proven minimum of tokens for any vocabulary, by corpus, language, pre-tokenizer and size."""
        return read_bounds(self.named("bound"))

    @cached_property
    def vocabularies(self) -> dict[Key, Vocabulary]:
        """Vocabularies by variant and size; tokenizers that run through other libraries have none."""
        return {key: made.vocabulary for key, made in self.tokenizers.items() if not made.library_name}

    @cached_property
    def tokens(self) -> dict[str, Mapping[Key, pl.DataFrame]]:
        """Tokens of trained models with norms of their embeddings, by model, then by variant and size."""
        files: dict[str, dict[Key, Path]] = {}
        for folder in map(Path, self.named("embeddings")):
            model, variant, size = run_of(folder, self.own_sizes)
            files.setdefault(model, {})[variant, size] = folder / "tokens.parquet"
        return {model: Frames(of_model) for model, of_model in files.items()}


class Frames(Mapping[Key, pl.DataFrame]):
    """Frames by variant and size, read on access; the last eight are cached because all may not fit in memory."""

    def __init__(self, files: Mapping[Key, Path]) -> None:
        self._files = files
        self._read = lru_cache(maxsize=8)(self._read_frame)

    def _read_frame(self, key: Key) -> pl.DataFrame:
        return read_frame(self._files[key], "measure the embeddings again")

    def __getitem__(self, key: Key) -> pl.DataFrame:
        return self._read(key)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)
