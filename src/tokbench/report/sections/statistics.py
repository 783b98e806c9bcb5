"""Statistics: p-values of every pair, correlations with accuracy, agreement between vocabulary sizes."""

from functools import partial

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing, Section, slug, words
from tokbench.report.figures import p_values, scatter
from tokbench.report.figures.style import styles
from tokbench.report.sections.downstream import averages, ranked
from tokbench.report.sections.intrinsic import DRAWN, measured, whole_corpus, whole_corpus_rows
from tokbench.report.tables import UNEXPLAINED, Column, Table

TEST = (
    "one-sided Wilcoxon signed-rank test on accuracies paired by vocabulary size and task, not corrected for the "
    "number of pairs"
)
_R_AND_N = (Column("r", kind="real", decimals=3), Column("n", kind="count"))
_ROWS = 30


def statistics(content: ReportContent) -> Section:
    """What the accuracies allow to be said."""
    exhibits: list[Table | Drawing] = []
    missing = []
    ranks = content.part("ranks")
    comparisons = content.part("comparisons")
    if comparisons is None:
        missing.append(f"Comparisons: {content.why_missing('comparisons')}")
    else:
        for (model, suite), part in comparisons.group_by("model", "suite", maintain_order=True):
            order = [] if ranks is None else ranked(ranks.filter(model=model, suite=suite))
            exhibits += _pairs(content, str(model), str(suite), part, order)
    exhibits += _scatters(content)
    for name, make in (("correlations", _correlations), ("r_squared", _r_squared), ("metric_correlations", _metrics)):
        frame = content.part(name)
        if frame is None:
            missing.append(f"{words(name).capitalize().replace('R squared', 'R²')}: {content.why_missing(name)}")
        else:
            exhibits.append(make(frame))
    return Section("statistics", "Statistics", exhibits=exhibits, missing=missing)


def _pairs(
    content: ReportContent, model: str, suite: str, part: pl.DataFrame, order: list[str]
) -> list[Table | Drawing]:
    exhibits: list[Table | Drawing] = []
    if len(order) > 1:
        matrix = {(row["a"], row["b"]): row["p_value"] for row in part.iter_rows(named=True)}
        caption = (
            f"p-values under {model} on {suite} that the column's variant is better than the row's: {TEST}. Outlined "
            "cells are above 0.05: the two cannot be told apart. Crossed cells have no p-value. Columns and rows "
            "by rank; equal averages by name."
        )
        exhibits.append(Drawing(slug("p-values", model, suite), caption, partial(p_values.draw, matrix, order)))
    place = {variant: index for index, variant in enumerate(order or content.variants)}
    rows = sorted(
        part.iter_rows(named=True), key=lambda row: (place.get(row["a"], len(place)), place.get(row["b"], len(place)))
    )
    shown = [name for name in ("a", "b", "mean_difference", "p_value", "n", "zeros", "missing") if name in part.columns]
    kinds = {"mean_difference": "percent", "p_value": "p", "n": "count", "zeros": "count", "missing": "count"}
    headers = {"a": "a", "b": "b", "mean_difference": "a − b (points)", "p_value": "p", "n": "n"}
    notes = [
        f"{row['a']} and {row['b']}: {row['reason']}." for row in rows if row["reason"] and row["p_value"] is not None
    ]
    exhibits.append(
        Table(
            slug("comparisons", model, suite),
            f"Is a better than b, {model} on {suite}? p of the {TEST}; n: differences that are not zero.",
            pl.DataFrame(rows, schema=part.schema).select(shown),
            [Column(name, headers.get(name, name), kinds.get(name, "text")) for name in shown],  # type: ignore[arg-type]
            {(index, name): row["reason"] or UNEXPLAINED for index, row in enumerate(rows) for name in shown},
            notes=notes,
            folded=True,
        )
    )
    return exhibits


def _scatters(content: ReportContent) -> list[Drawing]:
    """Corpus token count against average accuracy, for each model, suite and corpus that has both."""
    intrinsic, ranks, by_size = (content.part(name) for name in ("intrinsic", "ranks", "ranks_by_size"))
    if intrinsic is None or ranks is None or by_size is None:
        return []
    metric, drawings = DRAWN[0], []
    correlations = content.part("correlations")
    for (model, suite), part in ranks.group_by("model", "suite", maintain_order=True):
        accuracies = averages(by_size.filter(model=model, suite=suite))
        for (corpus,), rows in intrinsic.sort("corpus").group_by("corpus", maintain_order=True):
            definition, values = measured(whole_corpus(rows)[0], metric)
            points = {key: (values[key], accuracies[key]) for key in accuracies if key in values}
            if len(points) < 2:
                continue
            correlation = None
            if correlations is not None:
                same = correlations.filter(
                    model=model, suite=suite, corpus=corpus, metric=metric, definition=definition
                )
                known = whole_corpus_rows(same).filter(pl.col("r").is_not_null(), pl.col("n") == len(points))
                correlation = (known["r"][0], known["n"][0]) if len(known) == 1 else None
            draw = partial(
                scatter.draw, points, ranked(part) or content.variants, styles(content.variants),
                words(metric), "average accuracy (%)", correlation=correlation,
            )  # fmt: skip
            caption = (
                f"{words(metric).capitalize()} ({definition}; evaluation split of {corpus}) against average accuracy "
                f"of {model} on {suite}; larger marks are larger vocabularies. r is Pearson's, n counts tokenizers."
            )
            drawings.append(Drawing(slug(metric, "accuracy", model, suite, corpus), caption, draw))
    return drawings


def _table(name: str, caption: str, frame: pl.DataFrame, columns: list[Column], folded: bool = False) -> Table:
    reasons = {
        (index, column.name): row.get("reason") or UNEXPLAINED
        for index, row in enumerate(frame.iter_rows(named=True))
        for column in columns
    }
    return Table(name, caption, frame, columns, reasons, folded=folded)


def _correlations(frame: pl.DataFrame) -> Table:
    return _table(
        "correlations",
        "Pearson's r of each intrinsic measure with average accuracy; n tokenizers: variants at a vocabulary size.",
        frame.with_columns(pl.Series("metric", [words(metric) for metric in frame["metric"]])),
        [*(Column(name) for name in ("model", "suite", "corpus", "metric", "definition")), *_R_AND_N],
        folded=len(frame) > _ROWS,
    )


def _r_squared(frame: pl.DataFrame) -> Table:
    return _table(
        "r-squared",
        "Do vocabulary sizes agree? R² of the variants' average accuracies at two sizes; n variants.",
        frame,
        [
            Column("model"),
            Column("suite"),
            Column("size_a", "size", "count"),
            Column("size_b", "other size", "count"),
            Column("r_squared", "R²", "real", 3),
            Column("n", kind="count"),
        ],
    )


def _metrics(frame: pl.DataFrame) -> Table:
    return _table(
        "metric-correlations",
        "Pearson's r between every two intrinsic measures of one corpus; n tokenizers.",
        frame,
        [
            Column("corpus"),
            *(Column(name, words(name)) for name in ("metric_a", "definition_a", "metric_b", "definition_b")),
            *_R_AND_N,
        ],
        folded=True,
    )
