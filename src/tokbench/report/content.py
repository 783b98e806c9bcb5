"""What a report is made of: the tidy frames that earlier stages wrote, the configuration, the provenance."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.inputs.frames import read_frame

COLUMNS = {
    "intrinsic": ("variant", "size", "corpus", "language", "metric", "definition", "value", "n", "reason"),
    "accuracy": (
        "model",
        "variant",
        "size",
        "suite",
        "task",
        "accuracy",
        "random_baseline",
        "n",
        "stderr",
        "straddling",
    ),
    "bits_per_byte": ("model", "variant", "size", "value"),
    "boundaries": ("variant", "size", "suite", "task", "choices", "straddling", "questions", "straddling_questions"),
    "texts": ("model", "variant", "size", "suite", "text", "value"),
    "curves": ("model", "variant", "size", "batch", "tokens", "loss"),
    "embedding_norms": (
        "model",
        "variant",
        "size",
        "probability_low",
        "probability_high",
        "norm_low",
        "norm_high",
        "tokens",
    ),
    "ranks": ("model", "suite", "variant", "average", "rank", "random_baseline", "n", "reason"),
    "ranks_by_size": ("model", "suite", "size", "variant", "average", "rank", "random_baseline", "n", "reason"),
    "intervals": ("model", "suite", "variant", "average", "stderr", "low", "high", "cells", "questions", "reason"),
    "comparisons": ("model", "suite", "a", "b", "p_value", "n", "reason"),
    "power": ("model", "suite", "detectable_lowest", "detectable", "detectable_highest", "pairs", "without"),
    "critical_differences": (
        "model",
        "suite",
        "variant",
        "average_rank",
        "blocks",
        "friedman",
        "p_value",
        "critical_difference",
        "reason",
    ),
    "question_intervals": ("model", "suite", "variant", "average", "low", "high", "cells", "questions"),
    "behind_the_best": ("model", "suite", "size", "task", "variant", "best", "p_value", "questions"),
    "question_comparisons": (
        "model",
        "suite",
        "a",
        "b",
        "mean_difference",
        "low",
        "high",
        "bootstrap_p",
        "better",
        "worse",
        "p_value",
        "holm",
        "benjamini_hochberg",
        "questions",
        "missing",
        "reason",
    ),
    "seeds": (
        "model",
        "suite",
        "variant",
        "size",
        "seeds",
        "average",
        "deviation",
        "lowest",
        "highest",
        "question_deviation",
        "reason",
    ),
    "correlations": ("model", "suite", "corpus", "language", "metric", "definition", "r", "n", "reason"),
    "metric_correlations": (
        "corpus",
        "language",
        "metric_a",
        "definition_a",
        "metric_b",
        "definition_b",
        "r",
        "n",
        "reason",
    ),
    "r_squared": ("model", "suite", "size_a", "size_b", "r_squared", "n", "reason"),
    "overlaps": ("a", "b", "size", "shared", "jaccard"),
    "venn": ("size", "a", "b", "c", "only_a", "only_b", "only_c", "a_and_b", "a_and_c", "b_and_c", "all"),
    "published": ("variant", "size", "measure", "ours", "published", "source"),
}
"""The parts of a report and the columns each must have; further columns are kept and shown where they fit."""

_SHARES = {
    "accuracy": ("accuracy", "random_baseline"),
    "ranks": ("average",),
    "ranks_by_size": ("average",),
    "intervals": ("average",),
    "question_intervals": ("average",),
}
NOT_RUN = "This run gave no such table: its stage is switched off in the configuration or has not been run."


@dataclass(frozen=True)
class ReportContent:
    """Everything a report shows. A part that is None is left out, and its section says why.

    Attributes:
        title: the experiment's name.
        models: names of the models in the order of the configuration.
        resources: names of the resources of gold data; in tables they stand in the place of a corpus.
        preface: a paragraph of the author's own, above everything else.
        recipes: each variant's recipe as configured (phase: method or options), in the order of the configuration. The
            order settles each variant's colour and mark in every figure.
        configuration: the text of the configuration file.
        provenance: versions, source revision, seconds, hardware; values may be mappings.
        missing: part -> why it is not there, in one sentence.
        intrinsic: one row per (variant, size, corpus, language, metric, definition); an empty value has a
            reason, an empty language stands for the whole corpus.
        accuracy: one row per (model, variant, size, suite, task); accuracy and random_baseline are shares in [0, 1].
        bits_per_byte: held-out bits per byte of each trained model.
        boundaries: choices and questions that straddle the end of the context, by tokenizer and task.
        texts: bits per byte of each trained model on the texts of suites.
        curves: training loss (nats per token) after each batch.
        embedding_norms: tokens of trained models by their probability and the norm of their embeddings.
        ranks, ranks_by_size: average accuracy, a share in [0, 1], and rank of each variant under each model and suite.
        intervals: each variant's average accuracy with its standard error over questions and a 95 % interval.
        comparisons: p_value, one-sided Wilcoxon signed-rank, of "a is better than b" over n paired accuracies, with
            intervals, effect sizes and adjusted p-values.
        power: the mean differences that these comparisons could have seen.
        critical_differences: average ranks over cells, Friedman's test and Nemenyi's critical difference.
        question_intervals: each variant's average accuracy with a 95 % interval, by the bootstrap over questions.
        behind_the_best: accuracies tested against the best of their model, suite, size and task.
        question_comparisons: "a is better than b" over the questions that both answered.
        seeds: how average accuracy varies between seeds, for tokenizers whose model was trained several times.
        correlations: Pearson's r of each metric with average accuracy, over n tokenizers.
        metric_correlations: Pearson's r between two metrics.
        r_squared: shared variance of the average accuracies at two vocabulary sizes.
        overlaps: tokens that two vocabularies of one size share.
        venn: the seven regions of three vocabularies of one size.
        published: published values beside ours.
    """

    title: str
    recipes: Mapping[str, Mapping[str, object]]
    configuration: str
    provenance: Mapping[str, object]
    missing: Mapping[str, str] = field(default_factory=dict)
    preface: str = ""
    models: Sequence[str] = ()
    resources: Sequence[str] = ()
    intrinsic: pl.DataFrame | None = None
    accuracy: pl.DataFrame | None = None
    bits_per_byte: pl.DataFrame | None = None
    boundaries: pl.DataFrame | None = None
    texts: pl.DataFrame | None = None
    curves: pl.DataFrame | None = None
    embedding_norms: pl.DataFrame | None = None
    ranks: pl.DataFrame | None = None
    ranks_by_size: pl.DataFrame | None = None
    intervals: pl.DataFrame | None = None
    comparisons: pl.DataFrame | None = None
    power: pl.DataFrame | None = None
    critical_differences: pl.DataFrame | None = None
    question_intervals: pl.DataFrame | None = None
    question_comparisons: pl.DataFrame | None = None
    behind_the_best: pl.DataFrame | None = None
    seeds: pl.DataFrame | None = None
    correlations: pl.DataFrame | None = None
    metric_correlations: pl.DataFrame | None = None
    r_squared: pl.DataFrame | None = None
    overlaps: pl.DataFrame | None = None
    venn: pl.DataFrame | None = None
    published: pl.DataFrame | None = None

    def __post_init__(self) -> None:
        for part in COLUMNS:
            frame = getattr(self, part)
            if frame is not None:
                _check(part, frame)

    @property
    def variants(self) -> list[str]:
        """Variants in the order of the configuration."""
        return list(self.recipes)

    def in_order(self, rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Rows that begin with a variant, in the order of the configuration; variants it does not name come last."""
        place = {variant: index for index, variant in enumerate(self.variants)}
        return sorted(rows, key=lambda row: (place.get(row[0], len(place)), row))

    def part(self, name: str) -> pl.DataFrame | None:
        """The frame of one part, models in the order of the configuration; None where it is absent or has no row."""
        frame: pl.DataFrame | None = getattr(self, name)
        if frame is None or frame.is_empty():
            return None
        if "corpus" in frame.columns:
            frame = frame.with_columns(pl.col("corpus").fill_null("").replace("", "an unnamed corpus"))
        if "model" not in frame.columns:
            return frame
        place = {model: index for index, model in enumerate(self.models)}
        by_place = pl.col("model").replace_strict(place, default=len(place), return_dtype=pl.Int64)
        return frame.sort(by_place, maintain_order=True)

    def why_missing(self, name: str) -> str:
        """One sentence on why a part is not there."""
        return self.missing.get(name, NOT_RUN)


def _check(part: str, frame: pl.DataFrame) -> None:
    absent = [column for column in COLUMNS[part] if column not in frame.columns]
    if absent:
        raise TokbenchError(f"{part}: no column {', '.join(absent)}; rebuild the table with the stage that writes it")
    for column in _SHARES.get(part, ()):
        outside = frame.filter(~frame[column].is_between(0, 1))
        if not outside.is_empty():
            raise TokbenchError(
                f"{part}.{column}: {outside[column][0]} is not a share between 0 and 1; divide percentages by 100"
            )


def read_frames(folder: Path | str) -> dict[str, pl.DataFrame]:
    """The parts found in a folder as ``{part}.parquet``, ready to pass on to `ReportContent` as keywords."""
    paths = {part: Path(folder) / f"{part}.parquet" for part in COLUMNS}
    return {part: read_frame(path, "make the table again") for part, path in paths.items() if path.is_file()}
