"""The tables of the recomputation: every derived number beside the paper's, and what the comparisons say beyond it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, fields

import polars as pl

from tokbench.published import facts
from tokbench.published.agreement import VERDICTS, Statistic
from tokbench.published.comparisons import Compared
from tokbench.published.translations import translations_table
from tokbench.report.layout import Column, Table
from tokbench.report.sections.comparisons import TEST, average_ranks, comparisons_table, power_statement
from tokbench.report.wording import words
from tokbench.tidy.table import Kind

KINDS: dict[str, tuple[str, tuple[str, ...], Kind, int | None]] = {
    "averages": ("average accuracies (percent)", ("average_accuracy",), "real", 3),
    "ranks": ("ranks", ("rank",), "count", None),
    "p-values": (
        "p-values of the one-sided Wilcoxon signed-rank test. Ours is exact under ties; least and greatest also take "
        "the null of untied ranks, as scipy does",
        ("wilcoxon_p",),
        "p",
        3,
    ),
    "r-squared": ("R² of average accuracies at two vocabulary sizes", ("r_squared",), "real", 4),
    "correlations": ("Pearson's r over 54 tokenizers", ("pearson_r",), "real", 4),
    "improvements": (
        "improvements of GreedTok (percent of the other's value)",
        ("improvement_percent:tokens_per_word", "improvement_percent:unigram_objective"),
        "real",
        2,
    ),
    "shares": ("shares of a vocabulary (percent)", ("removed_percent", "unique_percent"), "real", 2),
}
"""Tables of derived numbers: caption, the statistics in it, how its numbers are printed."""
OURS = (
    "Ours is recomputed from the numbers that the paper prints. Where a task's number of questions is known, an "
    "accuracy is the share of right answers nearest to the one printed. Least and greatest: what ours can be within "
    "rounding."
)


def table_of(name: str, caption: str, statistics: Sequence[Statistic], kind: Kind, decimals: int | None) -> Table:
    """Derived numbers beside ours, one a row."""
    frame = pl.DataFrame(
        [asdict(statistic) for statistic in statistics],
        schema={field.name: _TYPES.get(field.name, pl.String) for field in fields(Statistic)},
    ).with_columns(pl.when(pl.col("relation") == "=").then(pl.lit("")).otherwise(pl.col("relation")).alias("relation"))
    columns = [
        Column("paper"),
        Column("where", "printed in"),
        Column("statistic"),
        Column("model"),
        Column("size"),
        Column("a"),
        Column("b"),
        Column("relation", "bound"),
        Column("published", "theirs"),
        Column("ours", "ours", kind, decimals),
        Column("low", "least", kind, decimals),
        Column("high", "greatest", kind, decimals),
        Column("verdict", "agreement"),
        Column("note"),
    ]
    empty = [column for column in columns if not any(value not in ("", None) for value in frame[column.name].to_list())]
    shown = [column for column in columns if column not in empty]
    reasons = {
        (index, column): statistic.note
        for index, statistic in enumerate(statistics)
        for column in ("ours", "low", "high")
        if statistic.ours is None
    }
    return Table(name, caption, frame, shown, reasons, notes=[OURS], folded=True)


_TYPES = dict.fromkeys(("ours", "low", "high"), pl.Float64)


def tables(statistics: Sequence[Statistic], released: Sequence[Statistic], sets: Sequence[Compared]) -> list[Table]:
    """All tables, those that sum up first.

    Args:
        statistics: every derived number, recomputed.
        released: numbers recomputed from released files; empty where there are none.
        sets: the sets of models that can be compared.
    """
    made = [agreement_table([*statistics, *released]), lacking_table(bool(released))]
    for name, (caption, wanted, kind, decimals) in KINDS.items():
        chosen = [statistic for statistic in statistics if statistic.statistic in wanted]
        made.append(table_of(name, f"Theirs and ours: {caption}.", chosen, kind, decimals))
    if released:
        caption = "Theirs, and ours from the released vocabularies and token counts at 40,960: figure 5, table 11."
        made.append(table_of("released-files", caption, released, "real", 4))
    for compared in sets:
        made += _of_set(compared)
    return [*made, translations_table(), recipes_table()]


def agreement_table(statistics: Sequence[Statistic]) -> Table:
    """How many numbers of each kind agree."""
    counts = Counter((words(statistic.statistic.replace(":", ", ")), statistic.verdict) for statistic in statistics)
    kinds = dict.fromkeys(kind for kind, _ in counts)
    rows = [{"statistic": kind, **{verdict: counts[kind, verdict] for verdict in VERDICTS}} for kind in kinds]
    total = {verdict: sum(row[verdict] for row in rows) for verdict in VERDICTS}  # type: ignore[misc]
    frame = pl.DataFrame([*rows, {"statistic": "all", **total}])
    columns = [Column("statistic"), *(Column(verdict, kind="count") for verdict in VERDICTS)]
    notes = [f"{verdict}: {meaning}." for verdict, meaning in VERDICTS.items()]
    return Table("agreement", "Derived numbers that the papers print, recomputed.", frame, columns, notes=notes)


def lacking_table(released: bool) -> Table:
    """What could not be recomputed, and why."""
    frame = facts.lacking()
    if not released:
        more = ("pathpiece", "Figure 5, Table 11", "from the vocabularies", "the released files were not given")
        frame = pl.concat([frame, pl.DataFrame([more], schema=frame.schema, orient="row")])
    return Table("not-recomputed", "What of the papers is not recomputed, and why.", frame)


def recipes_table() -> Table:
    """The papers' variants as recipes of ours."""
    caption = "The papers' tokenizers: our name, what the paper calls it, and the recipe; alternatives are parted by |."
    return Table("variants", caption, facts.variants(), folded=True)


def _of_set(compared: Compared) -> list[Table]:
    ranks = compared.ranks.sort("rank", "variant", nulls_last=True)
    columns = [
        Column("rank", kind="count"),
        Column("variant"),
        Column("average", "average (%)", "percent", 2, "highest"),
    ]
    notes = [power_statement(compared.power)]
    if compared.intervals is not None:
        ranks = ranks.join(compared.intervals.select("variant", "low", "high"), on="variant", how="left")
        columns += [Column("low", kind="percent", decimals=2), Column("high", kind="percent", decimals=2)]
        notes.append("low, high: 95 % interval of the average, were the same models asked other questions.")
    columns.append(Column("n", "scores", "count"))
    reasons = {
        (index, column): row["reason"] or ""
        for index, row in enumerate(ranks.iter_rows(named=True))
        for column in ("rank", "average", "low", "high")
    }
    caption = f"Average accuracy: {compared.of}."
    made = [Table(f"ranks-{compared.name}", caption, ranks, columns, reasons, notes=notes)]
    caption = f"Is a better than b? {compared.of}; p of the {TEST}."
    made.append(comparisons_table(f"comparisons-{compared.name}", caption, compared.pairs, compared.order))
    rank_exhibits = average_ranks(f"average-ranks-{compared.name}", compared.average_ranks, compared.order, compared.of)
    return [*made, *(exhibit for exhibit in rank_exhibits if isinstance(exhibit, Table))]
