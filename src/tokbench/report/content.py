"""What a report is made of: the tidy frames that earlier stages wrote, the configuration, the provenance."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from tokbench.registry import TokbenchError

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
    "curves": ("model", "variant", "size", "batch", "tokens", "loss"),
    "comparisons": ("a", "b", "p", "n", "reason"),
    "correlations": ("x", "y", "r", "n"),
    "r_squared": ("size_a", "size_b", "r_squared", "n"),
    "ranks": ("model", "variant", "average", "rank"),
    "overlaps": ("a", "b", "size", "shared", "jaccard"),
    "venn": ("size", "a", "b", "c", "only_a", "only_b", "only_c", "a_and_b", "a_and_c", "b_and_c", "all"),
    "published": ("variant", "size", "measure", "ours", "published", "source"),
}
"""The parts of a report and the columns each must have; further columns are kept and shown where they fit."""

_SHARES = {"accuracy": ("accuracy", "random_baseline"), "ranks": ("average",)}
NOT_RUN = "This run gave no such table: its stage is switched off in the configuration or has not been run."


@dataclass(frozen=True)
class ReportContent:
    """Everything a report shows. A part that is None is left out, and its section says why.

    Attributes:
        title: the experiment's name.
        recipes: each variant's recipe as configured (phase: method or options), in the order of the configuration. The
            order settles each variant's colour and mark in every figure.
        configuration: the text of the configuration file.
        provenance: versions, source revision, seconds, hardware; values may be mappings.
        missing: part -> why it is not there, in one sentence.
        intrinsic: one row per (variant, size, corpus, language, metric, definition); an empty value has a reason, an empty
            language stands for all of them together.
        accuracy: one row per (model, variant, size, suite, task); accuracy and random_baseline are shares in [0, 1].
        bits_per_byte: held-out bits per byte of each trained model.
        curves: training loss (nats per token) after each batch.
        comparisons: p, one-sided Wilcoxon, that a is better than b over n paired accuracies; a column ``model`` tells
            models apart where there is more than one.
        correlations: Pearson's r over n tokenizers.
        r_squared: shared variance of the accuracies at two vocabulary sizes.
        ranks: average accuracy, a share in [0, 1], and rank of each variant under each model.
        overlaps: tokens that two vocabularies of one size share.
        venn: the seven regions of three vocabularies of one size.
        published: published values beside ours.
    """

    title: str
    recipes: Mapping[str, Mapping[str, object]]
    configuration: str
    provenance: Mapping[str, object]
    missing: Mapping[str, str] = field(default_factory=dict)
    intrinsic: pl.DataFrame | None = None
    accuracy: pl.DataFrame | None = None
    bits_per_byte: pl.DataFrame | None = None
    curves: pl.DataFrame | None = None
    comparisons: pl.DataFrame | None = None
    correlations: pl.DataFrame | None = None
    r_squared: pl.DataFrame | None = None
    ranks: pl.DataFrame | None = None
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

    def part(self, name: str) -> pl.DataFrame | None:
        """The frame of one part, or None where it is absent or has no row."""
        frame: pl.DataFrame | None = getattr(self, name)
        return None if frame is None or frame.is_empty() else frame

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
    return {part: pl.read_parquet(path) for part, path in paths.items() if path.is_file()}


def averages(accuracy: pl.DataFrame) -> pl.DataFrame:
    """Unweighted mean over the tasks, for each (model, variant, size).

    Returns:
        model, variant, size, average, random_baseline, tasks, reason. The average is empty, with a reason, where a tokenizer
        lacks a task that others of its model have: means over different tasks cannot be compared.
    """
    task = pl.concat_str("suite", "task", separator="/")
    wanted = accuracy.group_by("model").agg(task.unique().sort().alias("wanted"))
    scored = accuracy.filter(pl.col("accuracy").is_not_null())
    found = scored.group_by("model", "variant", "size").agg(
        pl.col("accuracy").mean().alias("average"),
        pl.col("random_baseline").mean(),
        task.unique().alias("found"),
        pl.len().alias("tasks"),
    )
    lacking = pl.col("wanted").list.set_difference(pl.col("found").fill_null([])).list.sort()
    return (
        accuracy.select("model", "variant", "size")
        .unique()
        .join(found, on=["model", "variant", "size"], how="left")
        .join(wanted, on="model")
        .with_columns(
            pl.when(lacking.list.len() == 0).then("average").alias("average"),
            pl.when(lacking.list.len() > 0)
            .then(pl.concat_str(pl.lit("not scored on "), lacking.list.join(", ")))
            .alias("reason"),
            pl.col("tasks").fill_null(0),
        )
        .select("model", "variant", "size", "average", "random_baseline", "tasks", "reason")
        .sort("model", "variant", "size")
    )
