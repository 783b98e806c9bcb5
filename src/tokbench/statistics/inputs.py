"""What the makers of statistics take: the tidy tables of a run, read once, and accuracies over seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.corpus.units import read_units
from tokbench.io.tables import read_frame
from tokbench.statistics.equal_size import given_back, undersized_vocabularies
from tokbench.statistics.model_bits import BITS_COMPARISONS
from tokbench.statistics.model_bits import KEY as MODEL_BITS
from tokbench.statistics.seeds import over_seeds, same_but_for_seed, with_seeds
from tokbench.statistics.verdicts import DETECT, Trainings
from tokbench.tabulation.columns import BOUNDARIES, SENTENCES, TEXT, TOKENS
from tokbench.tabulation.table import Tables, make_tables, require, schema, tables_of

IN_PARTS = ("token_length_distribution", "token_frequency_distribution", "venn_region")
"""Metrics that are many numbers together; none of these says anything of a tokenizer by itself."""


@dataclass(frozen=True)
class StatisticsInputs:
    """The tidy tables of a run.

    Attributes:
        folder: where they lie.
        experiment: ``variants`` and ``models``, their recipes in full.
        chosen: variant that others are relative to, by corpus.
        pilot: folder of a pilot's statistics, where there was one.
        detect: difference of bits per byte that is to be seen.
        units: table of the units of documents, by corpus, see :mod:`tokbench.corpus.units`; by default a document is
            a unit.
    """

    folder: Path
    experiment: Mapping[str, Any]
    chosen: Mapping[str, str] = field(default_factory=dict)
    pilot: Path | None = None
    detect: float = DETECT
    units: Mapping[str, Path] = field(default_factory=dict)

    @cached_property
    def every(self) -> pl.DataFrame:
        """Every accuracy, models by their own names."""
        return self._read("accuracy")

    @cached_property
    def answered(self) -> pl.DataFrame:
        """The outcome of every question, models by their own names."""
        return self._read("outcomes")

    @cached_property
    def texts(self) -> pl.DataFrame:
        """Bits per byte of the texts of suites, likewise; nothing where no table of them was made."""
        return self._read_newer("texts", schema(TEXT))

    @cached_property
    def intrinsic(self) -> pl.DataFrame:
        """Measurements, without those that are parts of a distribution or a diagram."""
        return self._read("intrinsic").filter(~pl.col("metric").is_in(IN_PARTS))

    @cached_property
    def fewer(self) -> set[tuple[str, int]]:
        """Variant and size of vocabularies that have fewer tokens than others of their size."""
        return undersized_vocabularies(self.intrinsic)

    @cached_property
    def seeded(self) -> pl.DataFrame:
        """Every accuracy, siblings by seed under their common name, with a column ``seed``."""
        return with_seeds(self.every, self._seeds)

    @cached_property
    def outcomes(self) -> pl.DataFrame:
        """The outcome of every question, likewise."""
        return with_seeds(self.answered, self._seeds)

    @cached_property
    def accuracy(self) -> pl.DataFrame:
        """Accuracies, means over seeds."""
        return over_seeds(self.seeded)

    @cached_property
    def trainings(self) -> Trainings:
        """Number of seeds by model, suite and size; models without siblings have one."""
        counted = self.seeded.group_by("model", "suite", "size").agg(pl.col("seed").n_unique())
        return {(model, suite, size): seeds for model, suite, size, seeds in counted.iter_rows()}

    @cached_property
    def bits_by_seed(self) -> pl.DataFrame:
        """Bits of every document by language models, likewise, without tokenizers that do not give back all of a text:
        they spell other documents than the rest."""
        bits = sum_by_unit(self._read("document_bits"), ("bytes", "bits", "bytes_lost"), self.units)
        return with_seeds(given_back(bits, MODEL_BITS), self._seeds)

    @cached_property
    def pilot_comparisons(self) -> pl.DataFrame:
        """What a pilot's models told of every pair; nothing where there was none."""
        return pl.DataFrame(schema=BITS_COMPARISONS.schema) if self.pilot is None else compared_in(self.pilot)

    @cached_property
    def ngram_bits(self) -> pl.DataFrame:
        """Bits per byte of token n-gram models."""
        return self._read("ngram_bits")

    @cached_property
    def ngram_documents(self) -> pl.DataFrame:
        """Bits of every document by token n-gram models, without tokenizers that do not give back all of a text: they
        spell other documents than the rest."""
        from tokbench.statistics.ngram_bits import KEY

        bits = sum_by_unit(self._read("ngram_documents"), ("bytes", "bits", "tokens", "bytes_lost"), self.units)
        return given_back(bits, KEY)

    @cached_property
    def tokens_by_document(self) -> pl.DataFrame:
        """Tokens of every document; nothing where an older version has made the tables."""
        tokens = self._read_newer("tokens_by_document", schema(TOKENS))
        return sum_by_unit(tokens, ("documents", "bytes", "tokens"), self.units)

    @cached_property
    def alignment_by_word(self) -> pl.DataFrame:
        """Boundaries of every word of gold data, likewise."""
        return self._read_newer("alignment_by_word", schema(BOUNDARIES))

    @cached_property
    def translation_sentences(self) -> pl.DataFrame:
        """Scores of every translated sentence, siblings by seed under their common name."""
        sentences = self._read_newer("translation_sentences", schema(SENTENCES))
        seeds = same_but_for_seed(self.experiment.get("translation_models", {}))
        return with_seeds(sentences, seeds).drop("seed")

    @cached_property
    def baselines_of_tokenizers(self) -> dict[str, str]:
        """The variant that each variant with token n-gram models is relative to."""
        return self._baselines_of(self.ngram_documents)

    @cached_property
    def imported(self) -> pl.DataFrame:
        """Tokenizers made elsewhere, with what they lose."""
        return self._read("imported")

    @cached_property
    def baselines_of_all(self) -> dict[str, str]:
        """The variant that each measured variant is relative to."""
        return self._baselines_of(self.intrinsic)

    @cached_property
    def pretokenizers_of_all(self) -> dict[str, str]:
        """The pre-tokenizer of each variant, as tables name it: ``pretokenizer`` of its recipe, or its setting."""
        recipes = self.experiment.get("variants", {})
        named = {name: one.get("pretokenizer", one.get("pretokenization")) for name, one in recipes.items()}
        found = {name: label for name, label in named.items() if isinstance(label, str)}
        return dict(self.imported.select("variant", "pretokenization").iter_rows()) | found

    @cached_property
    def baselines(self) -> dict[str, str]:
        """The variant that each variant is relative to: that of its corpus, or the only one there is."""
        return self._baselines_of(self.every)

    def _baselines_of(self, frame: pl.DataFrame) -> dict[str, str]:
        recipes = self.experiment.get("variants", {})
        only = next(iter(self.chosen.values())) if len(self.chosen) == 1 else None
        found = {
            variant: self.chosen.get(recipes.get(variant, {}).get("corpus", ""), only)
            for variant in frame["variant"].unique().to_list()
        }
        return {variant: baseline for variant, baseline in found.items() if baseline is not None}

    @cached_property
    def _seeds(self) -> dict[str, tuple[str, int]]:
        return same_but_for_seed(self.experiment.get("models", {}))

    def _read_newer(self, name: str, columns: Mapping[str, Any]) -> pl.DataFrame:
        """A table that older versions did not make: without rows where it is not there."""
        if not (self.folder / f"{name}.parquet").is_file():
            return pl.DataFrame(schema=columns)
        return self._read(name)

    def _read(self, name: str) -> pl.DataFrame:
        return read_frame(self.folder / f"{name}.parquet", "tabulate again")


def sum_by_unit(frame: pl.DataFrame, summed: Sequence[str], units: Mapping[str, Path]) -> pl.DataFrame:
    """Sum the rows of documents over the documents of each unit.

    Args:
        frame: a table with a row for each document: columns ``corpus``, ``document`` and others.
        summed: columns of numbers that are summed; rows that differ in any other column stay apart.
        units: the table of units of each corpus that has one, see :mod:`tokbench.corpus.units`.

    Returns:
        The same columns; ``document`` is the first of its unit. Rows of other corpora are unchanged.

    Raises:
        TokbenchError: see :func:`tokbench.corpus.units.read_units`.
    """
    parts = [frame.filter(~pl.col("corpus").is_in(list(units)))]
    for corpus, path in units.items():
        named = read_units(path)
        known = pl.DataFrame({"document": list(named), "unit": list(named.values())})
        rows = frame.filter(corpus=corpus).sort("document", maintain_order=True).join_asof(known, on="document")
        keys = [name for name in rows.columns if name not in {*summed, "document"}]
        sums = rows.group_by(keys, maintain_order=True).agg(pl.col(*summed).sum(), pl.col("document").min())
        parts.append(sums.select(frame.columns))
    return pl.concat(parts) if units else frame


def compared_in(pilot: Path) -> pl.DataFrame:
    """The table of a pilot's comparisons by bits per byte, in the folder of its statistics.

    Raises:
        TokbenchError: it is not there, or lacks a column.
    """
    frame = read_frame(
        pilot / f"{BITS_COMPARISONS.name}.parquet",
        "name the folder statistics of an experiment with models of two or more seeds",
    )
    require(frame, BITS_COMPARISONS.columns, f"{pilot}")
    return frame


def analyse(material: StatisticsInputs) -> Tables:
    """Every statistic of the tidy tables of a run."""
    return make_tables(tables_of("analyse"), material)
