"""Pairwise comparisons: p-values, differences with intervals and effect sizes, average ranks, power, forest plots.

Accuracies are paired by vocabulary size and task, bits per byte of language models by seed and document.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from tokbench.report.content import BEST, ReportContent, omission_note, select_drawn
from tokbench.report.exhibits import UNEXPLAINED, Drawing, NumberSource, Table
from tokbench.report.figure_sentences import PValues, lowest_rank, significant_pairs, verdict_counts
from tokbench.report.figures import differences
from tokbench.report.figures.style import styles
from tokbench.report.sections.accuracy_marks import FEWEST
from tokbench.report.sections.rows import (
    column_of,
    source_of,
    split,
    unequal_sizes_note,
    with_excluded_count,
    with_unequal_sizes_note,
)
from tokbench.report.sentences import SELECTED
from tokbench.report.wording import format_value, pluralise, probability, slug, unranked_note
from tokbench.statistics.accuracies.critical_difference import CRITICAL_DIFFERENCES
from tokbench.statistics.accuracies.measures import MEASURES
from tokbench.statistics.accuracies.pairs import COMPARISONS, has_every_pair
from tokbench.statistics.comparisons.languages import BITS_LANGUAGES
from tokbench.statistics.comparisons.model_bits import BITS_COMPARISONS, KEY
from tokbench.statistics.planning.ladder_plan import LADDER_PLAN
from tokbench.statistics.planning.seed_plan import SEED_PLAN, SEEN_BY_SEEDS
from tokbench.statistics.significance.eligibility import ONE_TRAINING, TWO_TRAININGS, may_rank, why_untested
from tokbench.statistics.significance.judgements import OPPOSITE
from tokbench.statistics.significance.verdicts import BETTER, NOT_TESTED, WORSE
from tokbench.statistics.undersized import FEWER_AT, LEFT_OUT
from tokbench.tabulation import limits

TEST = (
    "one-sided Wilcoxon signed-rank test on accuracies paired by vocabulary size and task, not corrected for the "
    "number of pairs"
)
NOTES = (
    "p, Holm and p, BH: p adjusted for all tests of this table, by Holm's and by Benjamini and Hochberg's procedure.",
    "rank-biserial: (W+ − W−) / (W+ + W−); 1 if a is better in every cell. mean / sd: mean difference over the "
    "standard deviation of the differences. detectable: the mean difference that the test at level 0.05 would detect "
    "with probability 0.8, given the standard deviation of these differences.",
)

CHOSEN = f"each variant with the baseline of its corpus and with the best, in both directions. {SELECTED}"
"""Note on tables without all pairs."""


def p_values(part: pl.DataFrame) -> tuple[PValues, PValues]:
    """Return one-sided p-values by ordered pair, uncorrected and after Holm's correction."""
    rows = part.select("a", "b", "p_value", "holm").rows()
    return {(a, b): p for a, b, p, _ in rows}, {(a, b): p for a, b, _, p in rows}


def matrix(name: str, caption: str, part: pl.DataFrame, order: list[str]) -> Drawing:
    """Return the figure of p-values of one model and suite.

    Args:
        name: stem of the files.
        caption: caption.
        part: ordered pairs with ``p_value`` and ``holm``.
        order: variants by rank, the best first.
    """
    values, holm = p_values(part)
    draw = partial(differences.draw_p_values, values, order)
    return Drawing(name, caption, draw, says=significant_pairs(values, holm))


def comparisons_table(name: str, caption: str, part: pl.DataFrame, order: list[str]) -> Table:
    """Return the table of ordered pairs of one model and suite.

    Args:
        name: stem of the files.
        caption: caption.
        part: ordered pairs.
        order: order of the variants; if ``part`` does not have all pairs, its own order is used.
    """
    place = {variant: index for index, variant in enumerate(order)}
    rows = part.rows(named=True)
    if has_every_pair(part):
        rows = sorted(rows, key=lambda row: (place.get(row["a"], len(place)), place.get(row["b"], len(place))))
    shown = COMPARISONS.prints[0].columns(COMPARISONS)
    reasons = {
        (index, column.name): (row["p_value"] is not None and column.empty) or row["reason"] or UNEXPLAINED
        for index, row in enumerate(rows)
        for column in shown
    }
    left_out = [
        f"{row['a']} and {row['b']}: {row['reason']}."
        for row in rows
        if row["reason"] and row["p_value"] is not None and LEFT_OUT not in row["reason"]
    ]
    left_out += undersized_notes(part)
    if not has_every_pair(part) and len(left_out) > limits.MAX_DRAWN:
        more = f"{len(left_out) - limits.MAX_DRAWN:,} more pairs lack cells; see the column “reason” of the source."
        left_out = [*left_out[: limits.MAX_DRAWN], more]
    frame = pl.DataFrame(rows, schema=part.schema).select([column.name for column in shown])
    columns = [column_of(column) for column in shown]
    return Table(name, caption, frame, columns, reasons, notes=[*NOTES, *left_out], folded=True)


def untested_reason(part: pl.DataFrame) -> str:
    """Return the reason why no pair of a model and suite is tested (too few trainings); empty if one is.

    Args:
        part: ordered pairs with ``p_value`` and ``reason``.
    """
    reasons = [reason for reason in part["reason"].drop_nulls() if reason.startswith((TWO_TRAININGS, ONE_TRAINING))]
    if not reasons or part["p_value"].count():
        return ""
    return ONE_TRAINING if all(reason.startswith(ONE_TRAINING) for reason in reasons) else TWO_TRAININGS


def rejection_obstacle(part: pl.DataFrame) -> str:
    """Return the reason why no test of a model and suite can reject at level 0.05; empty if one can.

    Args:
        part: ordered pairs with ``n``, the number of scores that differ.
    """
    most = part["n"].max()
    return "no test can reject, as fewer than five scores differ" if int(str(most or 0)) < FEWEST else ""


def undersized_notes(part: pl.DataFrame) -> list[str]:
    """Return a note on pairs compared without some sizes, at which one of the two is undersized; empty if none is.

    Args:
        part: ordered pairs with ``reason``.
    """
    pairs = part.filter(pl.col("reason").str.contains(LEFT_OUT, literal=True), pl.col("a") < pl.col("b"))
    sentence = (
        f"{pluralise(len(pairs), 'pair')} without sizes at which one of the two has fewer tokens than others; see "
    )
    return [f"{sentence}the column “reason” of the source."] * bool(len(pairs))


def power_statement(power: pl.DataFrame) -> str:
    """Return a sentence on the differences that the comparisons of one model and suite could detect.

    Args:
        power: row of the table of power for the model and suite.
    """
    row = power.row(0, named=True)
    if row["detectable"] is None:
        return (
            "The Wilcoxon signed-rank test over cells (a cell is a vocabulary size and a task) could not detect any "
            "difference: there are fewer than five cells, or their differences do not vary."
        )
    low, middle, high = (
        format_value(row[name], "percent", 1) for name in ("detectable_lowest", "detectable", "detectable_highest")
    )
    without = f"; unknown for {pluralise(row['without'], 'pair')}" if row["without"] else ""
    return (
        "The Wilcoxon signed-rank test over cells (a cell is a vocabulary size and a task) detects a mean difference "
        f"of {middle} points with probability 0.8 (median over {pluralise(row['pairs'], 'pair')} of variants, from "
        f"{low} to {high}; level 0.05, uncorrected{without}). Smaller differences may be missed."
    )


def average_ranks(
    name: str, part: pl.DataFrame, variants: list[str], of: str, baselines: Sequence[str] = (), highlight: str = ""
) -> list[Table | Drawing]:
    """Return the critical-difference diagram of one model and suite, if any ranks differ, and its table.

    Args:
        name: stem of the files.
        part: rows of the table ``critical_differences``.
        variants: all variants, in the order that determines colours.
        of: model and suite, in words for captions.
        baselines: variants that are drawn in addition to the best if there are many (default: none).
        highlight: variant with heavier lines (default: none).
    """
    # With two trainings there are ranks but no critical difference, so a table and no diagram.
    known = part.drop_nulls("critical_difference")
    exhibits: list[Table | Drawing] = []
    finding = next(iter(part["reason"].drop_nulls()), "")
    notes = ["Rank 1 is the best of a cell; ties share their average rank."]
    # The diagram, if any two ranks differ significantly.
    if known.height:
        first = known.row(0, named=True)
        if first["p_value"] is not None:
            notes.append(
                f"Friedman's test over {pluralise(first['blocks'], 'cell')}: chi-squared {first['friedman']:.1f}, "
                f"p = {probability(first['p_value'])}. Cells of one task are correlated, so p is too small rather "
                "than too large."
            )
        ranks = dict(known.select("variant", "average_rank").iter_rows())
        caption = (
            f"Average rank over {pluralise(first['blocks'], 'cell')} (a vocabulary size and a task each), {of}. A bar "
            "joins variants without a significant difference by Nemenyi's test at level 0.05."
        )
        look = styles([*variants, *ranks], highlight)
        order = sorted(ranks, key=lambda variant: (ranks[variant], variant))
        if excluded := omission_note(order, baselines, BEST):
            caption += f"{excluded} Ranks and the critical difference are over all variants."
        caption += unranked_note(part.filter(pl.col("reason").str.starts_with(FEWER_AT))["variant"].to_list())
        drawn = {variant: ranks[variant] for variant in select_drawn(order, baselines)}
        draw = partial(differences.draw_critical_difference, drawn, first["critical_difference"], look, of=len(ranks))
        finding = lowest_rank(ranks, first["critical_difference"])
        if rank_range(ranks) > first["critical_difference"]:
            exhibits.append(Drawing(name, caption, draw, says=finding))
        else:
            finding = "no two average ranks differ significantly"
    # The table of ranks.
    place = CRITICAL_DIFFERENCES.prints[0]
    columns = [
        replace(column_of(column), best="lowest" if column.name == "average_rank" else None)
        for column in place.columns(CRITICAL_DIFFERENCES)
    ]
    reasons = {
        (index, column): row["reason"] or UNEXPLAINED
        for index, row in enumerate(part.iter_rows(named=True))
        for column in ("average_rank", "critical_difference")
    }
    table = Table(name, place.caption.format(of=of), part, columns, reasons, notes=notes, folded=True, finding=finding)
    return [*exhibits, table]


def rank_range(ranks: Mapping[str, float]) -> float:
    """Return the largest difference between two average ranks."""
    return max(ranks.values()) - min(ranks.values())


def comparisons(content: ReportContent, model: str, suite: str, order: list[str]) -> list[Table | Drawing]:
    """Return all comparisons of accuracy of one model and suite.

    Args:
        content: content of the report.
        model: name of the model.
        suite: name of the suite.
        order: variants by rank, the best first.
    """
    # Tests of pairs: a figure of p-values and the table.
    frame = content.part("comparisons")
    part = None if frame is None else frame.filter(model=model, suite=suite)
    exhibits: list[Table | Drawing] = []
    source = source_of(COMPARISONS, model=model, suite=suite)
    if part is not None and part.height:
        why, few = untested_reason(part), rejection_obstacle(part)
        if has_every_pair(part) and len(order) > 1 and not why and not few:
            caption = (
                f"Is the variant of the column better than that of the row, by the accuracy of {model} on {suite}? p "
                f"of the {TEST}. Outlined cells are above 0.05: no significant difference. "
                + "Crossed cells are not tested. " * (part["p_value"].null_count() > 0)
                + "Columns and rows are in order of rank; ties are in order of name."
                + unranked_note(sorted({variant for variant, _ in content.undersized} & set(part["a"]) - set(order)))
            )
            drawing = matrix(slug("p-values", model, suite), caption, part, order)
            exhibits.append(replace(drawing, source=source))
        caption = COMPARISONS.prints[0].caption.format(model=model, suite=suite, test=TEST)
        if not has_every_pair(part):
            caption += f" Not all pairs are compared, only {CHOSEN}"
            part = content.sort_variants(part, order)
        if why:
            caption += f" {why.capitalize()}."
        finding = why or few or significant_pairs(*p_values(part)).rstrip(".")
        table = comparisons_table(slug("comparisons", model, suite), caption, part, order or content.variants)
        exhibits.append(replace(table, source=source, finding=finding))
    # Average ranks: a diagram and the table.
    ranks = content.part("critical_differences")
    if ranks is not None:
        part = ranks.filter(model=model, suite=suite)
        if part.height:
            source = source_of(CRITICAL_DIFFERENCES, model=model, suite=suite)
            name, of = slug("average-ranks", model, suite), f"{model} on {suite}"
            exhibits += [
                replace(exhibit, source=source)
                for exhibit in average_ranks(name, part, content.variants, of, content.baselines, content.highlight)
            ]
    return exhibits


SAID = (
    f"fewer bits are better. Numbers in brackets and lines are 95 % intervals, {{over}}; {differences.BY_TEST}, by "
    "Holm's procedure."
)
"""Explanation of a forest plot; ``over`` names the variation that its intervals include."""


def forest(
    content: ReportContent, part: pl.DataFrame, name: str, caption: str, source: NumberSource, size: int
) -> list[Drawing]:
    """Return the forest plot of differences from the baseline; none if no pair with it has an interval.

    Undersized vocabularies are drawn, but not counted in the finding.

    Args:
        content: content of the report.
        part: unordered pairs with the columns of
            :func:`tokbench.statistics.comparisons.judgement_columns.judgement_columns`.
        name: stem of the files.
        caption: caption with ``{baseline}``.
        source: source of the numbers.
        size: vocabulary size.
    """
    # Differences are of the other variant minus the baseline, whichever of a pair it is.
    names = set(part["a"]) | set(part["b"])
    baseline = next((variant for variant in [*content.baselines, *content.variants] if variant in names), None)
    rows, verdicts, look = {}, [], styles([*content.variants, *sorted(names)], content.highlight)
    for row in part.filter((pl.col("a") == baseline) | (pl.col("b") == baseline)).iter_rows(named=True):
        if row["low"] is None:
            continue
        forth = row["b"] == baseline
        ends = (row["low"], row["high"]) if forth else (-row["high"], -row["low"])
        verdict = row["verdict"] if forth else OPPOSITE.get(row["verdict"], row["verdict"])
        other = row["a"] if forth else row["b"]
        if content.undersized.isdisjoint({(other, size), (baseline, size)}):
            verdicts.append(verdict)
        rows[other] = differences.Row(
            content.label(other),
            row["difference"] if forth else -row["difference"],
            ends,
            tested=verdict != NOT_TESTED,
            significant=verdict in (BETTER, WORSE),
            colour=look[other].colour,
            highlighted=look[other].highlighted,
        )
    if not rows:
        return []
    # The figure has the smallest difference at the top.
    order = sorted(rows, key=lambda variant: (rows[variant].mean, variant))
    lines = [rows[variant] for variant in content.drawn_variants(order)]
    draw = partial(
        differences.draw, lines, "difference in bits per byte", against=content.label(str(baseline)), decimals=3
    )
    # Caption and finding.
    caption = caption.format(baseline=baseline) + content.omission_note(order, ranked=True)
    if note := unequal_sizes_note(content, [str(baseline), *rows], size):
        caption = f"{caption} {note}"
    says = verdict_counts(str(baseline), verdicts) if verdicts else ""
    return [Drawing(name, caption + content.bracket_note, draw, source, content.drawn_variants(order), says)]


def bits_exhibits(content: ReportContent) -> list[Table | Drawing]:
    """Return the comparisons of language models by bits per byte.

    They are tables of a seed plan, if any; for each corpus, model, suite and size, a forest plot, the table of all
    pairs and the table over languages; and measures that predict the order of each model. Pairs are left out if every
    model was trained with one seed, because nothing is tested.

    Args:
        content: content of the report.
    """
    frame = content.part(BITS_COMPARISONS.name)
    exhibits: list[Table | Drawing] = [
        exhibit for table in (SEED_PLAN, SEEN_BY_SEEDS, LADDER_PLAN) for exhibit in split(content, table)
    ]
    if frame is None or not may_rank(frame["seeds"].max()):  # type: ignore[arg-type]
        return exhibits
    for values, part in frame.group_by(*KEY, maintain_order=True):
        at = dict(zip(KEY, values, strict=True))
        pairs = (*split(content, BITS_COMPARISONS, **at), *split(content, BITS_LANGUAGES, **at))
        exhibits += [
            *_forest(content, part, at),
            *(with_unequal_sizes_note(content, table, at["size"]) for table in pairs),
        ]
    for model, suite in frame.select("model", "suite").unique(maintain_order=True).iter_rows():
        exhibits += [
            with_excluded_count(content, table) for table in split(content, MEASURES, model=model, suite=suite)
        ]
    return exhibits


def _forest(content: ReportContent, part: pl.DataFrame, at: dict[str, Any]) -> list[Drawing]:
    seeds, documents = (int(str(part[name].min())) for name in ("seeds", "documents"))
    caption = (
        f"Bits per byte of {at['model']} on the evaluation split of {at['corpus']} at vocabulary size {at['size']:,}, "
        "minus those with {baseline}; "
    ) + SAID.format(over=f"over seeds ({seeds}) and documents ({documents})")
    if why := why_untested(seeds):
        caption += f" {why.capitalize()}."
    name = slug("bits-differences", *at.values())
    return forest(content, part, name, caption, source_of(BITS_COMPARISONS, **at), at["size"])
