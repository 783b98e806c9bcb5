"""Tables of recomputed published numbers.

Translations of "BPE Gets Picky" are tested from the printed intervals. The paper compares systems by a bootstrap paired
by sentence, but does not print the translations. The printed half-widths of 95 % intervals of BLEU allow an interval of
the difference from BPE (threshold 1) as if the two were unpaired. Scores of the same sentences are correlated, so a
paired interval would be narrower, and this test is conservative.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, fields
from math import hypot
from typing import Any

import polars as pl

from tokbench.published import facts
from tokbench.published.facts import VERDICTS, WITHIN, Statistic
from tokbench.published.recompute import ModelSet
from tokbench.published.translations import JOINT
from tokbench.report.exhibits import PrintedColumn, Table
from tokbench.report.sections.comparisons import TEST, average_ranks, comparisons_table, power_statement
from tokbench.report.wording import words
from tokbench.statistics.significance.distributions import chi_squared_tail
from tokbench.statistics.significance.verdicts import ALPHA
from tokbench.statistics.significance.wilcoxon import holm
from tokbench.tabulation.table import Kind

PAPER, BASE = "picky_bpe", "picky_10"
NORMAL = 1.959963984540054
"""Half-width of a 95 % interval, in standard errors."""
KINDS: dict[str, tuple[str, tuple[str, ...], Kind, int | None]] = {
    "averages": ("average accuracies (percent)", ("average_accuracy",), "real", 3),
    "ranks": ("ranks", ("rank",), "count", None),
    "p-values": (
        "p-values of the one-sided Wilcoxon signed-rank test. Ours is exact under ties; least and greatest also use "
        "the null distribution of untied ranks, as scipy does",
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
"""Tables of derived numbers: caption, statistics, print format and decimals."""
OURS = (
    "Ours is recomputed from the numbers that the paper prints. If a task's number of questions is known, its accuracy "
    "is the possible share of right answers nearest to the printed one. Least and greatest: range of ours given the "
    "rounding of the printed numbers."
)
_TYPES = dict.fromkeys(("ours", "low", "high"), pl.Float64)
FAR = 0.05
"""Least relative difference from the printed p-value for a recomputed one to be listed."""


def translations_table() -> Table:
    """Return the table of BLEU of every threshold minus that of BPE, by direction."""
    rows = _differences()
    for row, adjusted in zip(rows, holm([row["p"] for row in rows]).tolist(), strict=True):
        row["holm"] = adjusted
    columns = [
        PrintedColumn("direction"),
        PrintedColumn("variant"),
        PrintedColumn("bleu", "BLEU", "real", 1),
        PrintedColumn("base", "BPE", "real", 1),
        PrintedColumn("difference", kind="real", decimals=1),
        PrintedColumn("low", kind="real", decimals=2),
        PrintedColumn("high", kind="real", decimals=2),
        PrintedColumn("p", kind="p"),
        PrintedColumn("holm", "p, Holm", "p"),
    ]
    caption = (
        "Table 1 of “BPE Gets Picky”: does BLEU differ from that of BPE? The paper's own test needs translations that "
        "are not printed. Ours: 95 % interval of the difference and two-sided p from the printed intervals, as if "
        f"unpaired; Holm's correction over all {len(rows)}."
    )
    return Table("picky-bpe-bleu", caption, pl.DataFrame(rows), columns)


def _differences() -> list[dict[str, Any]]:
    cells = facts.cells().filter(paper=PAPER, where="Table 1").filter(pl.col("metric").is_in(["bleu", "bleu_interval"]))
    printed = {
        (row["corpus"], row["variant"], row["metric"]): float(row["value"]) for row in cells.iter_rows(named=True)
    }
    rows: list[dict[str, Any]] = []
    for direction, variant, metric in printed:
        if metric != "bleu" or variant == BASE:
            continue
        bleu, base = (printed[direction, name, "bleu"] for name in (variant, BASE))
        half = hypot(*(printed[direction, name, "bleu_interval"] for name in (variant, BASE)))
        difference = round(bleu - base, 1)
        rows.append(
            {
                "direction": direction,
                "variant": variant,
                "bleu": bleu,
                "base": base,
                "difference": difference,
                "low": difference - half,
                "high": difference + half,
                "p": chi_squared_tail((NORMAL * difference / half) ** 2, 1),
            }
        )
    return rows


def bold_table() -> Table:
    """Return the table of bold cells of tables 1 and 2, next to the bold cells by the paper's rule."""
    # The rows of a group, with the cells that the rule sets in bold.
    cells = facts.cells().filter(pl.col("where").is_in(["Table 1", "Table 2"]), paper=PAPER)
    keys = ["where", "corpus", "task", "size"]
    groups = cells.with_columns(pl.col("value").cast(pl.Float64)).pivot(
        "metric", index=[*keys, "variant"], values="value"
    )
    rows = [row for _, part in groups.group_by(keys, maintain_order=True) for row in _bold_cells(part)]
    # Columns: printed numbers, and bold cells in print and by the rule.
    columns = [
        PrintedColumn("where", "printed in"),
        PrintedColumn("corpus", "direction"),
        PrintedColumn("task", "vocabulary"),
        PrintedColumn("size", kind="count"),
        PrintedColumn("variant"),
        PrintedColumn("comet", "COMET", "real", 3),
        PrintedColumn("comet_printed", "COMET in print"),
        PrintedColumn("behind", "below the best", "real", 3),
        PrintedColumn("bleu", "BLEU", "real", 1),
        PrintedColumn("bleu_interval", "±", "real", 1),
        PrintedColumn("bleu_by_rule", "BLEU by the rule"),
    ]
    caption = (
        "Tables 1 and 2 of “BPE Gets Picky”: cells in bold. The paper's rule: the best of a group and all scores that "
        "are not significantly worse, or none if no score is significantly worse. The size is that of each side."
    )
    notes = [
        "COMET has no printed intervals, so the rule cannot be recomputed. The best is bold in every group, and no "
        "bold cell is lower than one that is not bold. A score .001 below the best is not bold in one group; a score "
        ".002 below the best is bold in another.",
        "BLEU is never bold in print. By the rule: two-sided test against the best from the printed intervals, as if "
        "unpaired, Holm's correction over the group, level .05.",
    ]
    return Table("picky-bpe-bold", caption, pl.DataFrame(rows), columns, notes=notes, folded=True)


def _bold_cells(group: pl.DataFrame) -> list[dict[str, Any]]:
    rows = group.to_dicts()
    best = max(rows, key=lambda row: row["bleu"])
    others = [row for row in rows if row is not best]
    standard = [hypot(row["bleu_interval"], best["bleu_interval"]) / NORMAL for row in others]
    p = [
        chi_squared_tail(((best["bleu"] - row["bleu"]) / error) ** 2, 1)
        for row, error in zip(others, standard, strict=True)
    ]
    worse = [row["variant"] for row, adjusted in zip(others, holm(p).tolist(), strict=True) if adjusted < ALPHA]
    comet = max(row["comet"] for row in rows)
    return [
        {
            **row,
            "task": row["task"] or JOINT,
            "comet_printed": "bold" if row["comet_bold"] else "",
            "behind": round(comet - row["comet"], 3),
            "bleu_by_rule": "bold" if worse and row["variant"] not in worse else "",
        }
        for row in rows
    ]


def table_of(name: str, caption: str, statistics: Sequence[Statistic], kind: Kind, decimals: int | None) -> Table:
    """Return a table of derived numbers, theirs and ours, one row for each.

    Args:
        name: stem of its files.
        caption: caption.
        statistics: derived numbers.
        kind: print format of our numbers.
        decimals: digits of our numbers; None to fit them to the values.
    """
    # An equality has no sign in the column of bounds.
    frame = pl.DataFrame(
        [asdict(statistic) for statistic in statistics],
        schema={field.name: _TYPES.get(field.name, pl.String) for field in fields(Statistic)},
    ).with_columns(pl.when(pl.col("relation") == "=").then(pl.lit("")).otherwise(pl.col("relation")).alias("relation"))
    # Columns; those without any value are not shown.
    columns = [
        PrintedColumn("paper"),
        PrintedColumn("where", "printed in"),
        PrintedColumn("statistic"),
        PrintedColumn("model"),
        PrintedColumn("size"),
        PrintedColumn("a"),
        PrintedColumn("b"),
        PrintedColumn("relation", "bound"),
        PrintedColumn("published", "theirs"),
        PrintedColumn("ours", "ours", kind, decimals),
        PrintedColumn("low", "least", kind, decimals),
        PrintedColumn("high", "greatest", kind, decimals),
        PrintedColumn("verdict", "agreement"),
        PrintedColumn("note"),
    ]
    empty = [column for column in columns if not any(value not in ("", None) for value in frame[column.name].to_list())]
    shown = [column for column in columns if column not in empty]
    # The note says why a number is not recomputed.
    reasons = {
        (index, column): statistic.note
        for index, statistic in enumerate(statistics)
        for column in ("ours", "low", "high")
        if statistic.ours is None
    }
    return Table(name, caption, frame, shown, reasons, notes=[OURS], folded=True)


def tables(statistics: Sequence[Statistic], released: Sequence[Statistic], sets: Sequence[ModelSet]) -> list[Table]:
    """Return all tables, the summaries first.

    Args:
        statistics: all derived numbers, recomputed.
        released: numbers recomputed from released files; empty if there are none.
        sets: sets of models that can be compared.
    """
    made = [agreement_table([*statistics, *released]), lacking_table(bool(released))]
    for name, (caption, wanted, kind, decimals) in KINDS.items():
        chosen = [statistic for statistic in statistics if statistic.statistic in wanted]
        made.append(table_of(name, f"Theirs and ours: {caption}.", chosen, kind, decimals))
    if released:
        caption = "Theirs, and ours from the released vocabularies and token counts at 40,960: figure 5, table 11."
        made.append(table_of("released-files", caption, released, "real", 4))
    for models in sets:
        made += _model_set_tables(models)
    return [*made, translations_table(), bold_table(), recipes_table()]


def distinct_numbers(statistics: Sequence[Statistic]) -> list[Statistic]:
    """Return each number once; of a number that is printed several times, the print that agrees least."""
    worst: dict[tuple[str, ...], Statistic] = {}
    order = list(VERDICTS)
    for statistic in statistics:
        key = (statistic.paper, statistic.statistic, statistic.model, statistic.size, statistic.a, statistic.b)
        if key not in worst or order.index(statistic.verdict) > order.index(worst[key].verdict):
            worst[key] = statistic
    return list(worst.values())


def far_p_values(statistics: Sequence[Statistic]) -> list[Statistic]:
    """Return the p-values within rounding whose recomputed value is more than :data:`FAR` from the printed one."""
    numbers = [number for number in distinct_numbers(statistics) if number.verdict == WITHIN]
    p_values = [number for number in numbers if number.statistic == "wilcoxon_p" and number.ours is not None]
    return [number for number in p_values if abs((number.ours or 0.0) / float(number.published) - 1) > FAR]


def agreement_table(statistics: Sequence[Statistic]) -> Table:
    """Return the table with the number of distinct numbers by kind and verdict."""
    counts = Counter(
        (words(statistic.statistic.replace(":", ", ")), statistic.verdict) for statistic in distinct_numbers(statistics)
    )
    kinds = dict.fromkeys(kind for kind, _ in counts)
    rows = [{"statistic": kind, **{verdict: counts[kind, verdict] for verdict in VERDICTS}} for kind in kinds]
    total = {verdict: sum(row[verdict] for row in rows) for verdict in VERDICTS}  # type: ignore[misc]
    frame = pl.DataFrame([*rows, {"statistic": "all", **total}])
    columns = [PrintedColumn("statistic"), *(PrintedColumn(verdict, kind="count") for verdict in VERDICTS)]
    notes = [f"{verdict}: {meaning}." for verdict, meaning in VERDICTS.items()]
    caption = "Derived numbers that the papers print, recomputed. A number that is printed several times counts once."
    return Table("agreement", caption, frame, columns, notes=notes)


def lacking_table(released: bool) -> Table:
    """Return the table of numbers that are not recomputed, with reasons.

    Args:
        released: True if released files were given.
    """
    frame = facts.lacking()
    if not released:
        more = {
            "paper": "pathpiece",
            "where": "Figure 5, Table 11",
            "what": "from the vocabularies",
            "why": "the released files were not given",
        }
        frame = pl.concat([frame, pl.DataFrame([more], schema=frame.schema)])
    return Table("not-recomputed", "Numbers of the papers that are not recomputed, with reasons.", frame)


def recipes_table() -> Table:
    """Return the table of the papers' variants as recipes of Tokbench."""
    caption = "The papers' tokenizers: our name, the paper's name, and the recipe. Alternatives are separated by |."
    return Table("variants", caption, facts.variants(), folded=True)


def _model_set_tables(models: ModelSet) -> list[Table]:
    ranks = models.ranks.sort("rank", "variant", nulls_last=True)
    columns = [
        PrintedColumn("rank", kind="count"),
        PrintedColumn("variant"),
        PrintedColumn("average", "average (%)", "percent", 2, "highest"),
    ]
    notes = [power_statement(models.power)]
    if models.intervals is not None:
        ranks = ranks.join(models.intervals.select("variant", "low", "high"), on="variant", how="left")
        columns += [PrintedColumn("low", kind="percent", decimals=2), PrintedColumn("high", kind="percent", decimals=2)]
        notes.append("low, high: 95 % interval of the average of the same models on other questions.")
    columns.append(PrintedColumn("n", "scores", "count"))
    reasons = {
        (index, column): row["reason"] or ""
        for index, row in enumerate(ranks.iter_rows(named=True))
        for column in ("rank", "average", "low", "high")
    }
    caption = f"Average accuracy: {models.of}."
    made = [Table(f"ranks-{models.name}", caption, ranks, columns, reasons, notes=notes)]
    caption = f"Tests of whether a is better than b, {models.of}. p of the {TEST}."
    made.append(comparisons_table(f"comparisons-{models.name}", caption, models.pairs, models.order))
    rank_exhibits = average_ranks(f"average-ranks-{models.name}", models.average_ranks, models.order, models.of)
    return [*made, *(exhibit for exhibit in rank_exhibits if isinstance(exhibit, Table))]
