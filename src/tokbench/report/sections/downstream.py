"""Downstream accuracy: averages by rank, and every task at every size."""

from collections import Counter
from dataclasses import replace
from functools import partial

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing, Exhibit, Heading, Section
from tokbench.report.figures import by_model, by_variant
from tokbench.report.figures.style import styles
from tokbench.report.findings import between, first_by_model
from tokbench.report.layout import UNEXPLAINED, Column, Table
from tokbench.report.sections.boundaries import (
    boundaries,
    coverings,
    one_segmentation,
    straddles,
    texts,
    with_coverings,
)
from tokbench.report.sections.origins import path_of, source_of
from tokbench.report.sections.rows import in_order
from tokbench.report.sections.significance import accuracy_marks, rank_marks
from tokbench.report.wording import counted, few, listed, slug, without_rank
from tokbench.statistics.ranks import RANKS, RANKS_BY_SIZE
from tokbench.tabulation.accuracy import ACCURACY

RANDOM = "random guessing"
NO_STRADDLING = "No answer to choose from changes how the end of the question before it is tokenized."


def downstream(content: ReportContent) -> Section:
    """Ranks, then accuracies by task, for each model and suite."""
    exhibits: list[Exhibit] = []
    missing = []
    ranks, by_size, accuracy = (content.part(name) for name in ("ranks", "ranks_by_size", "accuracy"))
    if accuracy is None:
        missing.append(f"Downstream accuracy: {content.why_missing('accuracy')}")
    elif ranks is None or by_size is None:
        missing.append(f"Ranks: {content.why_missing('ranks' if ranks is None else 'ranks_by_size')}")
    if ranks is not None and by_size is not None:
        for (model, suite), part in ranks.group_by("model", "suite", maintain_order=True):
            exhibits.append(Heading(slug("averages", model, suite), f"Average accuracy of {model} on {suite}"))
            exhibits += _ranks(content, part, by_size.filter(model=model, suite=suite))
        for (suite,), part in by_size.group_by("suite", maintain_order=True):
            exhibits += _by_model(content, str(suite), part)
    if accuracy is not None:
        groups = ["model", "suite", "size"]
        exhibits.append(Heading("accuracy-by-task", "Accuracy by task"))
        for (model, suite, size), part in accuracy.group_by(groups, maintain_order=True):
            made = _tasks(content, str(model), str(suite), int(str(size)), part)
            exhibits.append(with_coverings(content, made, model=model, suite=suite, size=size))
        exhibits.append(with_coverings(content, in_order(content, ACCURACY, accuracy, 1)))
    across, one, whole = [*boundaries(content), *coverings(content)], one_segmentation(content), texts(content)
    if across or one or whole:
        told = ["tokens across the end of a question"] * bool(across) + ["a single segmentation"] * bool(one)
        title = listed(told + ["texts of the suites"] * bool(whole))
        exhibits += [Heading("straddling", title[0].upper() + title[1:]), *across, *one, *whole]
    none = content.part("boundaries") is not None and not straddles(content)
    return Section("downstream", "Downstream tasks", [NO_STRADDLING] * none, exhibits=exhibits, missing=missing)


def ranked(ranks: pl.DataFrame) -> list[str]:
    """The variants of one model and suite that have a rank, the best first, equal averages by name."""
    return ranks.drop_nulls("rank").sort("rank", "variant")["variant"].to_list()


def placed(ranks: pl.DataFrame) -> list[str]:
    """The same, and after them those that have an average and no rank: their vocabularies are smaller than others."""
    others = ranks.filter(pl.col("rank").is_null(), pl.col("average").is_not_null())
    by_average = others.sort("average", "variant", descending=[True, False])
    return ranked(ranks) + by_average["variant"].to_list()


def averages(by_size: pl.DataFrame) -> dict[tuple[str, int], float]:
    """Average accuracy in percent by (variant, size) of one model and suite."""
    known = by_size.filter(pl.col("average").is_not_null())
    return {(row["variant"], row["size"]): 100 * row["average"] for row in known.iter_rows(named=True)}


def _ranks(content: ReportContent, ranks: pl.DataFrame, by_size: pl.DataFrame) -> list[Table | Drawing]:
    model, suite = ranks.row(0, named=True)["model"], ranks.row(0, named=True)["suite"]
    sizes = by_size["size"].unique().sort().to_list()
    found = {(row["variant"], row["size"]): row for row in by_size.iter_rows(named=True)}
    rows = []
    reasons: dict[tuple[int, str], str] = {}
    in_order = ranks.sort(
        "rank", pl.when(pl.col("rank").is_null()).then(-pl.col("average")), "variant", nulls_last=True
    )
    for index, row in enumerate(in_order.iter_rows(named=True)):
        cells = {size: found.get((row["variant"], size), {}) for size in sizes}
        baseline, average = row["random_baseline"], row["average"]
        above = None if baseline is None or average is None else average - baseline
        told = {str(size): cell.get("average") for size, cell in cells.items()}
        rows.append(
            {"rank": row["rank"], "variant": row["variant"], "average": average, **told, "above": above, "n": row["n"]}
        )
        reasons |= {(index, name): row["reason"] or UNEXPLAINED for name in ("rank", "average", "above")}
        if average is not None:
            reasons[index, "above"] = "the tasks tell no random baseline"
        reasons |= {(index, str(size)): cell.get("reason") or UNEXPLAINED for size, cell in cells.items()}
    percent = [
        Column(str(size), f"{size:,}", "percent", None, "highest", {"size": size}) for size in sizes if len(sizes) > 1
    ]
    columns = [
        Column("rank", kind="count"), Column("variant"),
        Column("average", RANKS["average"].heading, "percent", None, "highest"), *percent,
        Column("above", RANKS["above_random"].heading, "percent"), Column("n", "n", "count"),
    ]  # fmt: skip
    frame = pl.DataFrame(rows, infer_schema_length=None)
    marks, notes = rank_marks(frame, content.part("comparisons"), model, suite)
    unranked, fewer = content.unranked(
        {(row, str(size)): (one["variant"], size) for row, one in enumerate(rows) for size in sizes}
    )
    unranked |= {(row, "average") for row, one in enumerate(rows) if one["rank"] is None}
    origin = source_of(RANKS, model=model, suite=suite)
    source = replace(origin, tables=[*origin.tables, path_of(RANKS_BY_SIZE)])
    table = Table(
        slug("ranks", model, suite),
        RANKS.prints[0].caption.format(model=model, suite=suite),
        frame, columns, reasons, marks=marks, notes=[*notes, *fewer, *content.across_pretokenizers], source=source,
        unranked=unranked,
    )  # fmt: skip
    table = with_coverings(content, table, model=model, suite=suite)
    values, order = averages(by_size), placed(ranks) or content.reading
    if not values:
        return [table]
    smaller = [variant for variant in placed(ranks) if variant not in ranked(ranks)]
    says = between(
        f"Average accuracy of {model} on {suite} in percent", content.labelled_sizes(content.alike(values)), 1
    )
    shown = set(content.drawn(order))
    values = {key: value for key, value in values.items() if key[0] in shown}
    baseline = ranks["random_baseline"].drop_nulls()
    draw = partial(
        by_variant.draw, content.labelled_sizes(values), [*map(content.label, order)],
        content.labelled(styles(content.variants)), "average accuracy (%)",
        numbered=bool(ranked(ranks)), unnumbered=[*map(content.label, smaller)],
        baseline=None if baseline.is_empty() else (RANDOM, 100 * baseline[0]),
    )  # fmt: skip
    caption = f"Average accuracy of {model} over the tasks of {suite}, by rank and vocabulary size."
    caption += content.left_out(order, ranked=True) + without_rank(smaller) + content.in_brackets
    return [Drawing(slug("accuracy-by-rank", model, suite), caption, draw, source, says=says), table]


def _by_model(content: ReportContent, suite: str, by_size: pl.DataFrame) -> list[Drawing]:
    """Lines across models, at the vocabulary sizes that all models of the suite share."""
    models = by_size["model"].unique(maintain_order=True).to_list()
    shared = set.intersection(*(set(by_size.filter(model=model)["size"]) for model in models))
    means = (
        by_size.filter(pl.col("size").is_in(list(shared)))
        .group_by("model", "variant", maintain_order=True)
        .agg(pl.when(pl.col("average").count() == len(shared)).then(pl.col("average").mean()).alias("average"))
        .drop_nulls("average")
    )
    smaller = sorted(set(means["variant"]) & {variant for variant, size in content.fewer if size in shared})
    means = means.filter(~pl.col("variant").is_in(smaller))
    values = {(row["model"], row["variant"]): 100 * row["average"] for row in means.iter_rows(named=True)}
    trained = Counter(variant for _, variant in values)
    if len(models) < 2 or max(trained.values(), default=0) < 2:
        return []
    order = [variant for variant in content.reading if trained[variant] > 1]
    says = first_by_model({key: value for key, value in values.items() if trained[key[1]] > 1})
    shown = set(content.drawn(order))
    values = {key: value for key, value in values.items() if key[1] in shown}
    draw = partial(by_model.draw, values, models, content.variants, styles(content.variants), "average accuracy (%)")
    at = " and ".join(f"{size:,}" for size in sorted(shared))
    caption = RANKS_BY_SIZE.prints[0].caption.format(suite=suite, sizes=at) + content.left_out(order)
    caption += f" Left out, with fewer tokens than others of a size: {few(smaller)}." * bool(smaller)
    name, source = slug("accuracy-by-model", suite), source_of(RANKS_BY_SIZE)
    return [Drawing(name, caption, draw, source, says=says)]


def _tasks(content: ReportContent, model: str, suite: str, size: int, part: pl.DataFrame) -> Table:
    tasks = part["task"].unique().sort().to_list()
    scores = {(row["variant"], row["task"]): row for row in part.iter_rows(named=True)}
    variants = [variant for (variant,) in content.in_order({(variant,) for variant, _ in scores})]
    guesses = {row["task"]: row["random_baseline"] for row in part.iter_rows(named=True)}
    rows: list[dict[str, object]] = [{"variant": RANDOM, **{task: guesses[task] for task in tasks}}]
    reasons = {(0, task): "the task tells no random baseline" for task in tasks}
    for index, variant in enumerate(variants, 1):
        cells = {task: scores.get((variant, task)) for task in tasks}
        rows.append({"variant": variant, **{task: cell and cell["accuracy"] for task, cell in cells.items()}})
        lacking = "scored without an accuracy", "no result for this task"
        reasons |= {(index, task): lacking[cell is None] for task, cell in cells.items()}
    for index, row in enumerate(rows):
        known = [row[task] for task in tasks if row[task] is not None]
        row["average"] = sum(known) / len(tasks) if len(known) == len(tasks) else None  # type: ignore[arg-type]
        reasons[index, "average"] = "a task is missing, and means over different tasks cannot be compared"
    counts = {task: part.filter(task=task)["n"].unique().sort().to_list() for task in tasks}
    over = "; ".join(f"{task} {' or '.join(f'{n:,}' for n in ns)}" for task, ns in counts.items())
    columns = [Column("variant")] + [Column(task, task, "percent", None, "highest") for task in ["average", *tasks]]
    tests = content.part("behind_the_best")
    marks, notes = accuracy_marks(
        rows[1:], None if tests is None else tests.filter(model=model, suite=suite, size=size)
    )
    unranked, fewer = content.unranked(
        {(row, name): (one, size) for row, one in enumerate(variants, 1) for name in ["average", *tasks]}
    )
    told = counted(len(tasks), "task")
    return Table(
        slug("accuracy", model, suite, size),
        ACCURACY.prints[0].caption.format(model=model, suite=suite, size=size, tasks=told, questions=over),
        pl.DataFrame(rows, schema={"variant": pl.String} | dict.fromkeys([*tasks, "average"], pl.Float64)),
        columns,
        reasons,
        reference_rows=frozenset([0]),
        marks={(index + 1, name): mark for (index, name), mark in marks.items()},
        notes=[*notes, *fewer],
        unranked=unranked,
        source=source_of(ACCURACY, model=model, suite=suite, size=size),
    )
