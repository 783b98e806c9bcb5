"""Downstream accuracy: averages by rank, accuracy by task, signs of significance, and related tables.

The related tables are choices that straddle the end of their context, the cost of a single segmentation, and bits per
byte on texts of suites.
"""

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Literal

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import UNEXPLAINED, Drawing, Exhibit, Heading, PrintedColumn, Section, Table
from tokbench.report.figure_sentences import highest_by_model, value_range
from tokbench.report.figures import dots
from tokbench.report.figures.style import styles
from tokbench.report.sections.accuracy_marks import (
    accuracy_marks,
    any_significant,
    rank_marks,
    verdicts_by_size,
    verdicts_by_task,
)
from tokbench.report.sections.rows import LEAST_DRAWN, in_order, path_of, source_of
from tokbench.report.sections.straddling import (
    NO_STRADDLING,
    boundaries,
    coverings,
    one_segmentation,
    straddles,
    texts,
    with_coverings,
)
from tokbench.report.wording import join_all, join_some, pluralise, slug, unranked_note
from tokbench.statistics.accuracies.ranks import RANKS, RANKS_BY_SIZE
from tokbench.statistics.accuracies.seeds import average_seeds, with_seeds
from tokbench.statistics.significance.eligibility import ONE_TRAINING, may_rank
from tokbench.tabulation.answers import ACCURACY

RANDOM = "random guessing"


def downstream(content: ReportContent) -> Section:
    """Return the section of downstream accuracy: ranks, then accuracies by task, for each model and suite.

    Args:
        content: content of the report.
    """
    # Parts that are missing.
    exhibits: list[Exhibit] = []
    missing = []
    ranks, by_size, accuracy = (content.part(name) for name in ("ranks", "ranks_by_size", "accuracy"))
    if accuracy is None:
        missing.append(f"Downstream accuracy: {content.why_missing('accuracy')}")
    elif ranks is None or by_size is None:
        missing.append(f"Ranks: {content.why_missing('ranks' if ranks is None else 'ranks_by_size')}")
    # Average accuracies by rank, then by model.
    if ranks is not None and by_size is not None:
        for (model, suite), part in ranks.group_by("model", "suite", maintain_order=True):
            exhibits.append(Heading(slug("averages", model, suite), f"Average accuracy of {model} on {suite}"))
            exhibits += _ranks(content, part, by_size.filter(model=model, suite=suite))
        for (suite,), part in by_size.group_by("suite", maintain_order=True):
            exhibits += _by_model(content, str(suite), part)
    # Accuracies by task.
    if accuracy is not None:
        groups = ["model", "suite", "size"]
        exhibits.append(Heading("accuracy-by-task", "Accuracy by task"))
        for (model, suite, size), part in _with_means(content, accuracy).group_by(groups, maintain_order=True):
            made = _tasks(content, str(model), str(suite), int(str(size)), part)
            exhibits.append(with_coverings(content, made, model=model, suite=suite, size=size))
        exhibits.append(with_coverings(content, in_order(content, ACCURACY, accuracy, 1)))
    # Tables on tokens at the end of a context, segmentations and texts.
    across, single, whole = [*boundaries(content), *coverings(content)], one_segmentation(content), texts(content)
    if across or single or whole:
        sentences = ["tokens that straddle the end of a context"] * bool(across) + [
            "cost of a single segmentation"
        ] * bool(single)
        title = join_all(sentences + ["texts of the suites"] * bool(whole))
        exhibits += [Heading("straddling", title[0].upper() + title[1:]), *across, *single, *whole]
    none = content.part("boundaries") is not None and not straddles(content)
    return Section("downstream", "Downstream tasks", [NO_STRADDLING] * none, exhibits=exhibits, missing=missing)


def ranked_variants(ranks: pl.DataFrame) -> list[str]:
    """Return the ranked variants of one model and suite, the best first, ties by name.

    Args:
        ranks: rows of the table of ranks.
    """
    return ranks.drop_nulls("rank").sort("rank", "variant")["variant"].to_list()


def placed_variants(ranks: pl.DataFrame) -> list[str]:
    """Return the ranked variants, then those with an average and no rank (undersized vocabularies).

    Args:
        ranks: rows of the table of ranks.
    """
    others = ranks.filter(pl.col("rank").is_null(), pl.col("average").is_not_null())
    by_average = others.sort("average", "variant", descending=[True, False])
    return ranked_variants(ranks) + by_average["variant"].to_list()


def averages(by_size: pl.DataFrame) -> dict[tuple[str, int], float]:
    """Return average accuracy in percent by (variant, size), for one model and suite.

    Args:
        by_size: rows of the table of ranks by size.
    """
    known = by_size.filter(pl.col("average").is_not_null())
    return {(row["variant"], row["size"]): 100 * row["average"] for row in known.iter_rows(named=True)}


def _ranks(content: ReportContent, ranks: pl.DataFrame, by_size: pl.DataFrame) -> list[Table | Drawing]:
    model, suite = ranks.row(0, named=True)["model"], ranks.row(0, named=True)["suite"]
    sizes = by_size["size"].unique().sort().to_list()
    scores = {(row["variant"], row["size"]): row for row in by_size.iter_rows(named=True)}
    rows = []
    reasons: dict[tuple[int, str], str] = {}
    in_order = ranks.sort(
        "rank", pl.when(pl.col("rank").is_null()).then(-pl.col("average")), "variant", nulls_last=True
    )
    for index, row in enumerate(in_order.iter_rows(named=True)):
        cells = {size: scores.get((row["variant"], size), {}) for size in sizes}
        baseline, average = row["random_baseline"], row["average"]
        above = None if baseline is None or average is None else average - baseline
        by_column = {str(size): cell.get("average") for size, cell in cells.items()}
        rows.append(
            {
                "rank": row["rank"],
                "variant": row["variant"],
                "average": average,
                **by_column,
                "above": above,
                "n": row["n"],
            }
        )
        reasons |= {(index, name): row["reason"] or UNEXPLAINED for name in ("rank", "average", "above")}
        if average is not None:
            reasons[index, "above"] = "the tasks have no random baseline"
        reasons |= {(index, str(size)): cell.get("reason") or UNEXPLAINED for size, cell in cells.items()}
    percent = [
        PrintedColumn(str(size), f"{size:,}", "percent", None, "highest", {"size": size})
        for size in sizes
        if len(sizes) > 1
    ]
    columns = [
        PrintedColumn("rank", kind="count"), PrintedColumn("variant"),
        PrintedColumn("average", RANKS["average"].heading, "percent", None, "highest"), *percent,
        PrintedColumn("above", RANKS["above_random"].heading, "percent"), PrintedColumn("n", "n", "count"),
    ]  # fmt: skip
    frame = pl.DataFrame(rows, infer_schema_length=None)
    tested = verdicts_by_size(content, model, suite) if ranked_variants(ranks) else {}
    marks, notes = rank_marks(frame, tested)
    unranked, fewer = content.unranked_cells(
        {(row, str(size)): (cells["variant"], size) for row, cells in enumerate(rows) for size in sizes}
    )
    unranked |= {(row, "average") for row, cells in enumerate(rows) if cells["rank"] is None}
    unranked |= {
        (row, str(size))
        for row, cells in enumerate(rows)
        for size in sizes
        if scores.get((cells["variant"], size), {}).get("rank") is None
    }
    origin = source_of(RANKS, model=model, suite=suite)
    source = replace(origin, tables=[*origin.tables, path_of(RANKS_BY_SIZE)])
    across = content.pretokenizer_notes(ranked=bool(ranked_variants(ranks)))
    table = Table(
        slug("ranks", model, suite),
        RANKS.prints[0].caption.format(model=model, suite=suite),
        frame, columns, reasons, marks=marks, notes=[*notes, *fewer, *across], source=source, unranked=unranked,
    )  # fmt: skip
    table = with_coverings(content, table, model=model, suite=suite)
    values, order = averages(by_size), placed_variants(ranks) or content.reading_order
    if len(values) < LEAST_DRAWN:
        why = next(iter(ranks["reason"].drop_nulls()), "")
        return [table if ranked_variants(ranks) else replace(table, folded=True, finding=why)]
    numbered = bool(ranked_variants(ranks)) and any_significant(tested)
    smaller = [
        variant
        for variant in placed_variants(ranks)
        if variant not in ranked_variants(ranks)
        and not content.undersized.isdisjoint({(variant, size) for size in sizes})
    ]
    once = f" {ONE_TRAINING.capitalize()}." * (ONE_TRAINING in ranks["reason"].to_list())
    what = f"Average accuracy of {model} on {suite} in percent"
    says = value_range(what, content.by_label_and_size(content.full_size_values(values)), 1) + once
    shown = set(content.drawn_variants(order))
    values = {key: value for key, value in values.items() if key[0] in shown}
    baseline = ranks["random_baseline"].drop_nulls()
    draw = partial(
        dots.draw, content.by_label_and_size(values), [*map(content.label, order)],
        content.by_label(styles(content.variants, content.highlight)), "average accuracy (%)",
        numbered=numbered, unnumbered=[*map(content.label, smaller)],
        baseline=None if baseline.is_empty() else (RANDOM, 100 * baseline[0]),
    )  # fmt: skip
    by = "by rank and vocabulary size" if numbered else "by vocabulary size"
    caption = f"Average accuracy of {model} over the tasks of {suite}, {by}.{once}"
    caption += " No ranks, because no difference is significant." * (not numbered and not once)
    caption += content.omission_note(order, ranked=True) + unranked_note(smaller) + content.bracket_note
    return [Drawing(slug("accuracy-by-rank", model, suite), caption, draw, source, says=says), table]


def _by_model(content: ReportContent, suite: str, by_size: pl.DataFrame) -> list[Drawing]:
    """Return the figure of lines across models, at the vocabulary sizes that all models of the suite share."""
    # Means over the sizes that all models of the suite share.
    models = by_size["model"].unique(maintain_order=True).to_list()
    shared = set.intersection(*(set(by_size.filter(model=model)["size"]) for model in models))
    means = (
        by_size.filter(pl.col("size").is_in(list(shared)))
        .group_by("model", "variant", maintain_order=True)
        .agg(pl.when(pl.col("average").count() == len(shared)).then(pl.col("average").mean()).alias("average"))
        .drop_nulls("average")
    )
    smaller = sorted(set(means["variant"]) & {variant for variant, size in content.undersized if size in shared})
    means = means.filter(~pl.col("variant").is_in(smaller))
    # Variants need two models or more for a line.
    values = {(row["model"], row["variant"]): 100 * row["average"] for row in means.iter_rows(named=True)}
    trained = Counter(variant for _, variant in values)
    if len(models) < 2 or max(trained.values(), default=0) < 2:
        return []
    order = [variant for variant in content.reading_order if trained[variant] > 1]
    # Finding and figure.
    once = by_size.filter(pl.col("size").is_in(list(shared)), reason=ONE_TRAINING)["model"].unique().to_list()
    says = highest_by_model(
        {key: value for key, value in values.items() if trained[key[1]] > 1}, set(models) - set(once)
    )
    shown = set(content.drawn_variants(order))
    values = {key: value for key, value in values.items() if key[1] in shown}
    draw = partial(
        dots.draw_by_model,
        values,
        models,
        content.variants,
        styles(content.variants, content.highlight),
        "average accuracy (%)",
    )
    at = " and ".join(f"{size:,}" for size in sorted(shared))
    caption = RANKS_BY_SIZE.prints[0].caption.format(suite=suite, sizes=at) + content.omission_note(order)
    caption += f" Left out (fewer tokens than others of a size): {join_some(smaller)}." * bool(smaller)
    name, source = slug("accuracy-by-model", suite), source_of(RANKS_BY_SIZE)
    return [Drawing(name, caption, draw, source, says=says)]


def _with_means(content: ReportContent, accuracy: pl.DataFrame) -> pl.DataFrame:
    """Return the accuracies with a column ``seeds``: one for each model, and the means of models with several seeds."""
    several = with_seeds(accuracy, content.seeds).drop_nulls("seed")
    seeds = several.group_by("model", "suite", "size").agg(seeds=pl.col("seed").n_unique().cast(pl.Int64))
    means = average_seeds(several).join(seeds, on=["model", "suite", "size"], how="left", maintain_order="left")
    return pl.concat([accuracy.with_columns(seeds=pl.lit(1, pl.Int64)).select(means.columns), means])


def _tasks(content: ReportContent, model: str, suite: str, size: int, part: pl.DataFrame) -> Table:
    tasks = part["task"].unique().sort().to_list()
    scores = {(row["variant"], row["task"]): row for row in part.iter_rows(named=True)}
    variants = [variant for (variant,) in content.sort_rows({(variant,) for variant, _ in scores})]
    guesses = {row["task"]: row["random_baseline"] for row in part.iter_rows(named=True)}
    rows: list[dict[str, object]] = [{"variant": RANDOM, **{task: guesses[task] for task in tasks}}]
    reasons = {(0, task): "the task has no random baseline" for task in tasks}
    for index, variant in enumerate(variants, 1):
        cells = {task: scores.get((variant, task)) for task in tasks}
        rows.append({"variant": variant, **{task: cell and cell["accuracy"] for task, cell in cells.items()}})
        lacking = "scored without an accuracy", "no result for this task"
        reasons |= {(index, task): lacking[cell is None] for task, cell in cells.items()}
    for index, row in enumerate(rows):
        known = [row[task] for task in tasks if row[task] is not None]
        row["average"] = sum(known) / len(tasks) if len(known) == len(tasks) else None  # type: ignore[arg-type]
        reasons[index, "average"] = "a task is missing, and means over different tasks are not comparable"
    counts = {task: part.filter(task=task)["n"].unique().sort().to_list() for task in tasks}
    over = "; ".join(f"{task} {' or '.join(f'{n:,}' for n in ns)}" for task, ns in counts.items())
    trainings = int(str(part["seeds"].min()))
    best: Literal["highest"] | None = "highest" if may_rank(trainings) else None
    columns = [PrintedColumn("variant")] + [
        PrintedColumn(task, task, "percent", None, best) for task in ["average", *tasks]
    ]
    tested = {} if best is None else verdicts_by_task(content, model, suite, size)
    marks, notes = accuracy_marks(rows[1:], tested)
    notes = [*notes, *[f"{ONE_TRAINING.capitalize()}."] * (best is None)]
    unranked, fewer = content.unranked_cells(
        {(row, name): (variant, size) for row, variant in enumerate(variants, 1) for name in ["average", *tasks]}
    )
    sentence = pluralise(len(tasks), "task")
    caption = ACCURACY.prints[0].caption.format(model=model, suite=suite, size=size, tasks=sentence, questions=over)
    return Table(
        slug("accuracy", model, suite, size),
        caption + " The highest is bold." * (best is not None),
        pl.DataFrame(rows, schema={"variant": pl.String} | dict.fromkeys([*tasks, "average"], pl.Float64)),
        columns,
        reasons,
        reference_rows=frozenset([0]),
        marks={(index + 1, name): mark for (index, name), mark in marks.items()},
        notes=[*notes, *fewer, *content.pretokenizer_notes(ranked=best is not None)],
        unranked=unranked,
        source=source_of(ACCURACY, model=model, suite=suite, size=size),
    )
