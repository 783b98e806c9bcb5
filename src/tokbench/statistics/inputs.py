"""Inputs of the makers of statistics: tidy tables of a run, each read once, and accuracies over seeds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.corpus.units import read_units
from tokbench.io.tables import read_frame
from tokbench.statistics.accuracies.ranks import averages_by_size
from tokbench.statistics.accuracies.seeds import average_seeds, same_but_for_seed, with_seeds
from tokbench.statistics.comparisons.domains import domain_documents
from tokbench.statistics.comparisons.families import ComparisonFamily
from tokbench.statistics.comparisons.model_bits import BITS_COMPARISONS
from tokbench.statistics.comparisons.model_bits import KEY as MODEL_BITS
from tokbench.statistics.comparisons.scoreboard import scoreboard_families
from tokbench.statistics.scale.ladders import SCALE_LADDERS
from tokbench.statistics.scale.scale_lines import Recipe, ScaleGroup, scale_groups, without_seeds
from tokbench.statistics.scale.target_model import TargetModel, targets_of
from tokbench.statistics.significance.eligibility import Trainings
from tokbench.statistics.significance.verdicts import DETECT
from tokbench.statistics.undersized import lossless_documents, lossy_tokenizers, undersized_vocabularies
from tokbench.statistics.units import SUMMED, name_units, sum_by_unit
from tokbench.tabulation.columns import (
    BOUNDARIES,
    CONVERGENCE_COLUMNS,
    DOCUMENT_DOMAINS_COLUMNS,
    EXTERNAL_TOKENS_COLUMNS,
    PERTURBED,
    PERTURBED_ANSWERS,
    QUESTION_MEASURES,
    SEGMENTED_DOCUMENTS_COLUMNS,
    SEGMENTED_QUESTIONS_COLUMNS,
    SENTENCES,
    TEXT,
    TOKEN_SCORES,
    TOKENS,
    TRAINED_ON_COLUMNS,
)
from tokbench.tabulation.table import Tables, make_tables, require, schema, tables_of

IN_PARTS = ("token_length_distribution", "token_frequency_distribution", "venn_region")
"""Metrics whose values are parts of a distribution or diagram and do not describe a tokenizer one by one."""


@dataclass(frozen=True)
class StatisticsInputs:
    """The tidy tables of a run.

    Attributes:
        folder: folder of the tables.
        experiment: full recipes of ``variants`` and ``models``.
        chosen: baseline variant by corpus (default: none).
        pilot: folder of a pilot's statistics (default: None).
        detect: difference of bits per byte to detect (default: 0.01).
        units: table of document units by corpus, see :mod:`tokbench.corpus.units` (default: a document is a unit).
        domain_weights: weight by domain in weighted means over domains (default: the shares of bytes).
    """

    folder: Path
    experiment: Mapping[str, Any]
    chosen: Mapping[str, str] = field(default_factory=dict)
    pilot: Path | None = None
    detect: float = DETECT
    units: Mapping[str, Path] = field(default_factory=dict)
    domain_weights: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def model_accuracies(self) -> pl.DataFrame:
        """Every accuracy, under the models' configured names."""
        return self._read("accuracy")

    @cached_property
    def model_outcomes(self) -> pl.DataFrame:
        """Outcome of every question, under the models' configured names."""
        return self._read("outcomes")

    @cached_property
    def texts(self) -> pl.DataFrame:
        """Bits per byte of the texts of suites, under the models' configured names; empty if there is no table."""
        return self._read_newer("texts", schema(TEXT))

    @cached_property
    def intrinsic(self) -> pl.DataFrame:
        """Measurements, without parts of distributions and diagrams."""
        return self._read("intrinsic").filter(~pl.col("metric").is_in(IN_PARTS))

    @cached_property
    def undersized(self) -> set[tuple[str, int]]:
        """Variant and size of undersized vocabularies."""
        return undersized_vocabularies(self.intrinsic)

    @cached_property
    def accuracy_by_seed(self) -> pl.DataFrame:
        """Every accuracy with a column ``seed``; models that differ only in the seed share a name."""
        return with_seeds(self.model_accuracies, self._seeds)

    @cached_property
    def outcomes(self) -> pl.DataFrame:
        """Outcome of every question with a column ``seed``; models that differ only in the seed share a name."""
        return with_seeds(self.model_outcomes, self._seeds)

    @cached_property
    def answers_by_seed(self) -> pl.DataFrame:
        """Measures of the answer to every question with a column ``seed``; models that differ only in the seed share a
        name. A question's ``source_document`` is the first of its unit. Empty if the tables are of an older version."""
        measures = self._read_newer("answer_measures", schema(QUESTION_MEASURES))
        return with_seeds(name_units(measures, self.document_units), self._seeds)

    @cached_property
    def perturbed_by_seed(self) -> pl.DataFrame:
        """Answers to perturbed questions with a column ``seed``, as ``answers_by_seed``; empty without any."""
        answers = self._read_newer("perturbed_answers", schema(PERTURBED_ANSWERS))
        return with_seeds(name_units(answers, self.document_units), self._seeds)

    @cached_property
    def document_units(self) -> dict[str, Mapping[int, str]]:
        """Unit of each document by corpus, of those that have units. Numbers of drawn documents are of the table, those
        of others of the file of units."""
        of_drawn = self._document_domains.drop_nulls("unit")
        tables = {corpus: of_drawn.filter(corpus=corpus).sort("document") for corpus in self.units}
        return {
            corpus: dict(table.select("document", "unit").iter_rows()) or read_units(self.units[corpus])
            for corpus, table in tables.items()
        }

    @cached_property
    def unit_names(self) -> dict[str, str]:
        """Name of the units by corpus: that of the file of units, such as ``authors``; other units are documents."""
        return {corpus: path.stem for corpus, path in self.units.items()}

    @cached_property
    def accuracy(self) -> pl.DataFrame:
        """Accuracies, means over seeds."""
        return average_seeds(self.accuracy_by_seed)

    @cached_property
    def trainings(self) -> Trainings:
        """Number of seeds by model, suite and size; models without siblings have one."""
        counted = self.accuracy_by_seed.group_by("model", "suite", "size").agg(pl.col("seed").n_unique())
        return {(model, suite, size): seeds for model, suite, size, seeds in counted.iter_rows()}

    @cached_property
    def bits_by_seed(self) -> pl.DataFrame:
        """Bits of every unit by language models with a column ``seed``, without lossy tokenizers.

        Lossy tokenizers represent other documents than the rest.
        """
        return self._sum_by_unit(self.bits_by_document, "document_bits")

    @cached_property
    def bits_by_document(self) -> pl.DataFrame:
        """As ``bits_by_seed``, of documents in place of units."""
        return with_seeds(lossless_documents(self._read("document_bits"), MODEL_BITS), self._seeds)

    @cached_property
    def model_recipes(self) -> dict[str, Recipe]:
        """All options of the language models; models that differ only in the seed share a name."""
        return without_seeds(self.experiment.get("models", {}))

    @cached_property
    def scale_groups(self) -> list[ScaleGroup]:
        """Language models that differ in one scale, with their bits and costs; empty if there are none."""
        counted = self.tokens_by_document.group_by("variant", "size", "corpus").agg(pl.col("tokens", "bytes").sum())
        rates = counted.filter(pl.col("tokens") > 0, pl.col("bytes") > 0)
        return scale_groups(
            self.bits_by_seed,
            with_seeds(self._read_newer("convergence", schema(CONVERGENCE_COLUMNS)), self._seeds),
            with_seeds(self._read_newer("trained_on", schema(TRAINED_ON_COLUMNS)), self._seeds),
            self.model_recipes,
            self.vocabularies,
            {
                (row["variant"], row["size"], row["corpus"]): row["tokens"] / row["bytes"]
                for row in rates.rows(named=True)
            },
            self.unit_names,
            self.tokens_by_document,
        )

    @cached_property
    def vocabularies(self) -> dict[tuple[str, int], int]:
        """Tokens of each tokenizer, by variant and requested size."""
        sizes = self.intrinsic.filter(metric="vocabulary_size").drop_nulls("value")
        return {(variant, size): int(value) for variant, size, value in sizes.select("variant", "size", "value").rows()}

    @cached_property
    def lossy(self) -> set[str]:
        """External tokenizers that do not restore all of the text."""
        return lossy_tokenizers(self.imported)

    @cached_property
    def targets(self) -> dict[str, TargetModel]:
        """Planned language models by name."""
        return targets_of(self.experiment)

    @cached_property
    def pilot_comparisons(self) -> pl.DataFrame:
        """Comparisons of a pilot's models by bits per byte; empty if there is no pilot."""
        return pl.DataFrame(schema=BITS_COMPARISONS.schema) if self.pilot is None else read_pilot(self.pilot)

    @cached_property
    def pilot_ladders(self) -> pl.DataFrame:
        """Ladders of a pilot's models; empty if there is no pilot."""
        return pl.DataFrame(schema=SCALE_LADDERS.schema) if self.pilot is None else read_ladders(self.pilot)

    @cached_property
    def ngram_bits(self) -> pl.DataFrame:
        """Bits per byte of token n-gram models."""
        return self._read("ngram_bits")

    @cached_property
    def ngram_documents(self) -> pl.DataFrame:
        """Bits of every unit by token n-gram models, without lossy tokenizers.

        Lossy tokenizers represent other documents than the rest.
        """
        return self._sum_by_unit(self.ngram_bits_by_document, "ngram_documents")

    @cached_property
    def ngram_bits_by_document(self) -> pl.DataFrame:
        """As ``ngram_documents``, of documents in place of units."""
        from tokbench.statistics.comparisons.ngram_bits import KEY

        return lossless_documents(self._read("ngram_documents"), KEY)

    @cached_property
    def robustness_documents(self) -> pl.DataFrame:
        """Changes of segmentations under perturbations, by document; empty if the tables are of an older version."""
        documents = self._read_newer("robustness_documents", schema(PERTURBED))
        return self._sum_by_unit(documents, "robustness_documents")

    @cached_property
    def token_scores_by_seed(self) -> pl.DataFrame:
        """Scores of tokens around the end of the vocabulary, with a column ``seed``; models that differ only in the
        seed share a name. Empty if the tables are of an older version."""
        return with_seeds(self._read_newer("token_scores", schema(TOKEN_SCORES)), self._seeds)

    @cached_property
    def bandwidth(self) -> int | None:
        """Ranks on each side of a cut-off through which lines are fitted; None for a quarter of the scored ranks."""
        chosen: int | None = self.experiment.get("causal_effect", {}).get("bandwidth")
        return chosen

    @cached_property
    def segmented_documents(self) -> pl.DataFrame:
        """Bits of documents in other segmentations with a column ``seed``; empty if the tables are of an older
        version."""
        documents = self._read_newer("segmented_documents", schema(SEGMENTED_DOCUMENTS_COLUMNS))
        return with_seeds(self._sum_by_unit(documents, "segmented_documents"), self._seeds)

    @cached_property
    def segmented_questions(self) -> pl.DataFrame:
        """Answers to questions in other segmentations with a column ``seed``; empty if the tables are of an older
        version."""
        questions = self._read_newer("segmented_questions", schema(SEGMENTED_QUESTIONS_COLUMNS))
        return with_seeds(name_units(questions, self.document_units), self._seeds)

    @cached_property
    def tokens_by_document(self) -> pl.DataFrame:
        """Tokens of every document; empty if the tables are of an older version."""
        tokens = self._read_newer("tokens_by_document", schema(TOKENS))
        return self._sum_by_unit(tokens, "tokens_by_document")

    @cached_property
    def domain_documents(self) -> pl.DataFrame:
        """Tokens and bits of every document with its domain, for corpora of several sources."""
        lossy = self.imported.filter(pl.col("documents_changed").fill_null(1) > 0)["variant"].to_list()
        tokens = self.tokens_by_document.filter(~pl.col("variant").is_in(lossy))
        return domain_documents(self._document_domains, tokens, self.ngram_documents, self.bits_by_seed)

    @cached_property
    def _document_domains(self) -> pl.DataFrame:
        return self._read_newer("document_domains", schema(DOCUMENT_DOMAINS_COLUMNS))

    @cached_property
    def external_tokens(self) -> pl.DataFrame:
        """Tokens of documents by language under external tokenizers; empty if the tables are of an older version."""
        counts = self._read_newer("external_tokens", schema(EXTERNAL_TOKENS_COLUMNS))
        return sum_by_unit(counts, SUMMED["external_tokens"], self.document_units, by_language=True)

    @cached_property
    def alignment_by_word(self) -> pl.DataFrame:
        """Boundary counts of every word of gold data; empty if the tables are of an older version."""
        return self._read_newer("alignment_by_word", schema(BOUNDARIES))

    @cached_property
    def translation_sentences(self) -> pl.DataFrame:
        """Scores of every translated sentence; models that differ only in the seed share a name."""
        sentences = self._read_newer("translation_sentences", schema(SENTENCES))
        seeds = same_but_for_seed(self.experiment.get("translation_models", {}))
        return with_seeds(sentences, seeds).drop("seed")

    @cached_property
    def families(self) -> list[ComparisonFamily]:
        """Main measures of every tokenizer, ready to be compared."""
        return scoreboard_families(
            self.intrinsic,
            self.imported,
            self.tokens_by_document,
            self.ngram_documents,
            self.bits_by_seed,
            averages_by_size(self.accuracy, self.undersized, self.trainings),
            self.answers_by_seed,
            self.alignment_by_word,
            self.trainings,
            self.unit_names,
        )

    @cached_property
    def baselines_of_tokenizers(self) -> dict[str, str]:
        """Baseline of each variant with token n-gram models."""
        return self._baselines_of(self.ngram_documents)

    @cached_property
    def imported(self) -> pl.DataFrame:
        """External tokenizers, with their losses."""
        return self._read("imported")

    @cached_property
    def baselines_of_all(self) -> dict[str, str]:
        """Baseline of each measured variant."""
        return self._baselines_of(self.intrinsic)

    @cached_property
    def pretokenizers_of_all(self) -> dict[str, str]:
        """Pre-tokenizer of each variant: ``pretokenizer`` of its recipe, or its setting ``pretokenization``."""
        recipes = self.experiment.get("variants", {})
        named = {name: recipe.get("pretokenizer", recipe.get("pretokenization")) for name, recipe in recipes.items()}
        configured = {name: label for name, label in named.items() if isinstance(label, str)}
        return dict(self.imported.select("variant", "pretokenization").iter_rows()) | configured

    @cached_property
    def baselines(self) -> dict[str, str]:
        """Baseline of each variant: that of its corpus, or the only baseline of the experiment."""
        return self._baselines_of(self.model_accuracies)

    def _baselines_of(self, frame: pl.DataFrame) -> dict[str, str]:
        recipes = self.experiment.get("variants", {})
        only = next(iter(self.chosen.values())) if len(self.chosen) == 1 else None
        by_variant = {
            variant: self.chosen.get(recipes.get(variant, {}).get("corpus", ""), only)
            for variant in frame["variant"].unique().to_list()
        }
        return {variant: baseline for variant, baseline in by_variant.items() if baseline is not None}

    @cached_property
    def _seeds(self) -> dict[str, tuple[str, int]]:
        return same_but_for_seed(self.experiment.get("models", {}))

    def _sum_by_unit(self, documents: pl.DataFrame, name: str) -> pl.DataFrame:
        return sum_by_unit(documents, SUMMED[name], self.document_units)

    def _read_newer(self, name: str, columns: Mapping[str, Any]) -> pl.DataFrame:
        """Read a table that older versions did not write; without rows if it is missing."""
        if not (self.folder / f"{name}.parquet").is_file():
            return pl.DataFrame(schema=columns)
        return self._read(name)

    def _read(self, name: str) -> pl.DataFrame:
        return read_frame(self.folder / f"{name}.parquet", "tabulate again")


def read_pilot(pilot: Path) -> pl.DataFrame:
    """Read the comparisons by bits per byte from a folder of a pilot's statistics.

    Raises:
        TokbenchError: the table is missing or lacks a column.
    """
    frame = read_frame(
        pilot / f"{BITS_COMPARISONS.name}.parquet",
        "pass the folder statistics of an experiment with models of two or more seeds",
    )
    require(frame, BITS_COMPARISONS.columns, f"{pilot}")
    return frame


def read_ladders(pilot: Path) -> pl.DataFrame:
    """Read the ladders of models from a folder of a pilot's statistics; empty if an older version wrote the folder.

    Raises:
        TokbenchError: the table lacks a column.
    """
    path = pilot / f"{SCALE_LADDERS.name}.parquet"
    if not path.is_file():
        return pl.DataFrame(schema=SCALE_LADDERS.schema)
    frame = read_frame(path, "analyse the pilot again")
    require(frame, SCALE_LADDERS.columns, f"{pilot}")
    return frame


def analyse(material: StatisticsInputs) -> Tables:
    """Compute every statistic from the tidy tables of a run."""
    return make_tables(tables_of("analyse"), material)
