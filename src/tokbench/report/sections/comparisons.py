"""Comparisons of every two variants: p-values, differences with intervals and effect sizes, average ranks, power.

A forest: each variant's difference in bits per byte from the baseline, with its interval and what was said of it.

Language models compared by their bits per byte, paired by seed and document.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from tokbench.report.content import BEST, ReportContent, drawn_of, left_out
from tokbench.report.figure_sentences import PValues, by_verdict, sides_of_zero, told_apart, within_reach
from tokbench.report.figures import differences
from tokbench.report.figures.style import styles
from tokbench.report.layout import UNEXPLAINED, Drawing, NumberSource, Table
from tokbench.report.sections.downstream import FEWEST
from tokbench.report.sections.rows import column_of, pairs_told_of_fewer, source_of, split, told_of_smaller, unequal
from tokbench.report.wording import listed, pluralise, printed, probability, slug, without_rank
from tokbench.statistics.critical_difference import CRITICAL_DIFFERENCES
from tokbench.statistics.equal_size import FEWER_AT, LEFT_OUT
from tokbench.statistics.languages import BITS_LANGUAGES
from tokbench.statistics.measures import MEASURES
from tokbench.statistics.model_bits import BITS_COMPARISONS, KEY
from tokbench.statistics.pairs import COMPARISONS, of_every_pair
from tokbench.statistics.seed_plan import SEED_PLAN, SEEN_BY_SEEDS
from tokbench.statistics.verdicts import (
    BETTER,
    NOT_TESTED,
    NOT_TOLD,
    ONE_TRAINING,
    TWO_TRAININGS,
    WORSE,
    why_untested,
)
from tokbench.tabulation import columns as many

TEST = (
    "one-sided Wilcoxon signed-rank test on accuracies paired by vocabulary size and task, not corrected for the "
    "number of pairs"
)
NOTES = (
    "low, high: 95 % interval of the mean difference by the paired bootstrap (1,000 resamples of cells, a cell being a "
    "vocabulary size and a task). low, tasks and high, tasks: the same with resamples of whole tasks, since cells of "
    "one task resemble each other. p, bootstrap: one-sided, from the same resamples of cells; 1,000 of them allow no "
    "less than 0.001.",
    "p, Holm and p, BH: p adjusted among all tests of this table by Holm's and by Benjamini and Hochberg's procedure.",
    "rank-biserial: (W+ − W−) / (W+ + W−), 1 where a is better in every cell. mean / sd: mean difference over the "
    "standard deviation of the differences. detectable: the mean difference that the test at level 0.05 would find "
    "with probability 0.8, given the spread of these differences.",
)


SELECTED = (
    "The best is chosen by the same numbers that it is tested on, so its p-values, corrected or not, are too small "
    "rather than too large."
)
"""What is said of tests of the best."""
CHOSEN = f"each variant with the baseline of its corpus and with the best, both ways round. {SELECTED}"
"""What is said where not every pair is compared."""


def p_values(part: pl.DataFrame) -> tuple[PValues, PValues]:
    """One-sided p-values by ordered pair, uncorrected and after Holm's correction."""
    rows = part.select("a", "b", "p_value", "holm").rows()
    return {(a, b): p for a, b, p, _ in rows}, {(a, b): p for a, b, _, p in rows}


def matrix(name: str, caption: str, part: pl.DataFrame, order: list[str]) -> Drawing:
    """The p-values of one model and suite as a triangle of colours."""
    values, holm = p_values(part)
    return Drawing(name, caption, partial(differences.p_values_draw, values, order), says=told_apart(values, holm))


def against_baseline(
    name: str, model: str, suite: str, part: pl.DataFrame, shown: list[str], highlight: str = ""
) -> list[Drawing]:
    """The differences from the baseline of one model and suite, where not every pair is compared.

    Args:
        name: stem of the files.
        model, suite: whose.
        part: the pairs of variants and their baselines.
        shown: the variants to draw, the best first.
        highlight: variant whose row stands out; empty for none.
    """
    place = {variant: index for index, variant in enumerate(shown)}
    known = part.filter(pl.col("a").is_in(shown)).drop_nulls("mean_difference").rows(named=True)
    lines = [
        differences.Row(
            row["a"],
            100 * row["mean_difference"],
            None if row["low"] is None else (100 * row["low"], 100 * row["high"]),
            "" if row["holm"] is None else f"p = {probability(row['holm'])}",
            tested=row["holm"] is not None,
            highlighted=row["a"] == highlight,
        )
        for row in sorted(known, key=lambda row: place[row["a"]])
    ]
    if not lines:
        return []
    caption = (
        f"Average accuracy of {model} on {suite} minus that of the baseline {listed(sorted(set(part['b'])))}, in "
        f"points, with its 95 % interval by the paired bootstrap over cells; {differences.BY_INTERVAL}. On the right, "
        "p of the one-sided Wilcoxon signed-rank test that the variant is better, corrected by Holm's procedure for "
        "all tests made of this model and suite: with the baseline and with the best."
    )
    against = listed(sorted(set(part["b"])))
    draw = partial(
        differences.draw, lines, "difference of accuracy (points)", against=against, decimals=1, higher_is_better=True
    )
    return [Drawing(name, caption, draw, says=sides_of_zero("the baseline", [line.interval for line in lines]))]


def comparisons_table(name: str, caption: str, part: pl.DataFrame, order: list[str]) -> Table:
    """The ordered pairs of one model and suite, in the order given; where they are not all, in that of the frame."""
    place = {variant: index for index, variant in enumerate(order)}
    rows = part.rows(named=True)
    if of_every_pair(part):
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
    left_out += smaller_notes(part)
    if not of_every_pair(part) and len(left_out) > many.MAX_DRAWN:
        more = f"{len(left_out) - many.MAX_DRAWN:,} more pairs lack cells; the source names them under reason."
        left_out = [*left_out[: many.MAX_DRAWN], more]
    frame = pl.DataFrame(rows, schema=part.schema).select([column.name for column in shown])
    columns = [column_of(column) for column in shown]
    return Table(name, caption, frame, columns, reasons, notes=[*NOTES, *left_out], folded=True)


def untested(part: pl.DataFrame) -> str:
    """Return the reason why no pair of a model and suite is tested, because of few trainings; empty if one is.

    Args:
        part: ordered pairs with ``p_value`` and ``reason``.
    """
    reasons = [reason for reason in part["reason"].drop_nulls() if reason.startswith((TWO_TRAININGS, ONE_TRAINING))]
    if not reasons or part["p_value"].count():
        return ""
    return ONE_TRAINING if all(one.startswith(ONE_TRAINING) for one in reasons) else TWO_TRAININGS


def cannot_reject(part: pl.DataFrame) -> str:
    """Return the reason why no test of a model and suite can reject at level 0.05; empty if one can.

    Args:
        part: ordered pairs with ``n``, the number of scores that differ.
    """
    most = part["n"].max()
    return "no test can reject, as fewer than five scores differ" if int(str(most or 0)) < FEWEST else ""


def smaller_notes(part: pl.DataFrame) -> list[str]:
    """How many pairs are compared without some sizes, at which one of the two has fewer tokens; nothing where none is.

    Args:
        part: ordered pairs with ``reason``.
    """
    found = part.filter(pl.col("reason").str.contains(LEFT_OUT, literal=True), pl.col("a") < pl.col("b"))
    told = f"{pluralise(len(found), 'pair')} without sizes at which one of the two has fewer tokens than others; the "
    return [f"{told}source names them under reason."] * bool(len(found))


def power_statement(power: pl.DataFrame) -> str:
    """What the comparisons of one model and suite could have seen, in a sentence."""
    row = power.row(0, named=True)
    if row["detectable"] is None:
        return (
            "by the Wilcoxon signed-rank test over cells (a cell is a vocabulary size and a task) no difference of any "
            "size could have been detected: there are fewer than five cells, or their differences do not vary."
        )
    low, middle, high = (
        printed(row[name], "percent", 1) for name in ("detectable_lowest", "detectable", "detectable_highest")
    )
    without = f"; {pluralise(row['without'], 'pair')} allow no such statement" if row["without"] else ""
    return (
        "by the Wilcoxon signed-rank test over cells (a cell is a vocabulary size and a task), a mean difference under "
        f"{middle} points had a chance of less than 0.8 to be detected (median over {pluralise(row['pairs'], 'pair')} "
        f"of variants, from {low} to {high}; level 0.05, uncorrected{without})."
    )


def average_ranks(
    name: str, part: pl.DataFrame, variants: list[str], of: str, baselines: Sequence[str] = (), highlight: str = ""
) -> list[Table | Drawing]:
    """The critical-difference diagram of one model and suite, and its numbers.

    Args:
        name: stem of the files.
        part: rows of the table ``critical_differences``.
        variants: all variants, in the order that settles colours.
        of: the model and suite, as the captions name them.
        baselines: variants that are drawn beside the best where there are many.
        highlight: variant with heavier lines; empty for none.
    """
    # Two trainings give ranks and no critical difference: there is a table and no diagram.
    known = part.drop_nulls("critical_difference")
    exhibits: list[Table | Drawing] = []
    finding = next(iter(part["reason"].drop_nulls()), "")
    notes = ["Rank 1 is the best of a cell; ties share their average rank."]
    if known.height:
        first = known.row(0, named=True)
        if first["p_value"] is not None:
            notes.append(
                f"Friedman's test over {pluralise(first['blocks'], 'cell')}: chi-squared {first['friedman']:.1f}, "
                f"p = {probability(first['p_value'])}. Cells of one task resemble each other, so p is too small "
                "rather than too large."
            )
        ranks = dict(known.select("variant", "average_rank").iter_rows())
        caption = (
            f"Average rank over {pluralise(first['blocks'], 'cell')} (a vocabulary size and a task each), {of}. A bar "
            "joins variants without a significant difference by Nemenyi's test at level 0.05."
        )
        look, order = styles([*variants, *ranks], highlight), sorted(ranks, key=lambda one: (ranks[one], one))
        if told := left_out(order, baselines, BEST):
            caption += f"{told} Ranks and the critical difference are those among all."
        caption += without_rank(part.filter(pl.col("reason").str.starts_with(FEWER_AT))["variant"].to_list())
        drawn = {variant: ranks[variant] for variant in drawn_of(order, baselines)}
        draw = partial(differences.critical_difference_draw, drawn, first["critical_difference"], look, of=len(ranks))
        finding = within_reach(ranks, first["critical_difference"])
        if spread(ranks) > first["critical_difference"]:
            exhibits.append(Drawing(name, caption, draw, says=finding))
        else:
            finding = "no two average ranks differ significantly"
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


def spread(ranks: Mapping[str, float]) -> float:
    """The largest difference between two average ranks."""
    return max(ranks.values()) - min(ranks.values())


def comparisons(content: ReportContent, model: str, suite: str, order: list[str]) -> list[Table | Drawing]:
    """All comparisons of one model and suite."""
    frame = content.part("comparisons")
    part = None if frame is None else frame.filter(model=model, suite=suite)
    exhibits: list[Table | Drawing] = []
    source = source_of(COMPARISONS, model=model, suite=suite)
    if part is not None and part.height:
        why, few = untested(part), cannot_reject(part)
        if not of_every_pair(part):
            pairs = part.filter(pl.col("b").is_in(content.baselines), ~pl.col("a").is_in(content.baselines))
            others = [variant for variant in order if variant not in content.baselines]
            name = slug("differences", model, suite)
            shown = others[: many.MAX_DRAWN]
            drawings = against_baseline(name, model, suite, pairs, shown, content.highlight)
            told = f" Shown are the best {many.MAX_DRAWN} of {len(others):,} variants beside it; the source has all."
            exhibits += [replace(one, caption=one.caption + told, source=source) for one in drawings]
        elif len(order) > 1 and not why and not few:
            caption = (
                f"Is the variant of the column better than that of the row, by the accuracy of {model} on {suite}? p "
                f"of the {TEST}. Outlined cells are above 0.05: no significant difference. "
                + "Crossed cells are not tested. " * (part["p_value"].null_count() > 0)
                + "Columns and rows are in order of rank, and of name where averages are equal."
                + without_rank(sorted({variant for variant, _ in content.fewer} & set(part["a"]) - set(order)))
            )
            drawing = matrix(slug("p-values", model, suite), caption, part, order)
            exhibits.append(replace(drawing, source=source))
        caption = COMPARISONS.prints[0].caption.format(model=model, suite=suite, test=TEST)
        if not of_every_pair(part):
            caption += f" Of so many variants only some pairs are compared: {CHOSEN}"
            part = content.read(part, order)
        if why:
            caption += f" {why.capitalize()}."
        finding = why or few or told_apart(*p_values(part)).rstrip(".")
        table = comparisons_table(slug("comparisons", model, suite), caption, part, order or content.variants)
        exhibits.append(replace(table, source=source, finding=finding))
    ranks = content.part("critical_differences")
    if ranks is not None:
        part = ranks.filter(model=model, suite=suite)
        if part.height:
            source = source_of(CRITICAL_DIFFERENCES, model=model, suite=suite)
            name, of = slug("average-ranks", model, suite), f"{model} on {suite}"
            exhibits += [
                replace(one, source=source)
                for one in average_ranks(name, part, content.variants, of, content.baselines, content.highlight)
            ]
    return exhibits


OPPOSITE = {BETTER: WORSE, WORSE: BETTER, NOT_TOLD: NOT_TOLD, NOT_TESTED: NOT_TESTED}
SAID = (
    f"fewer bits are better. Numbers in brackets and lines are 95 % intervals, {{over}}; {differences.BY_TEST}, by "
    "Holm's procedure."
)
"""How a forest is read; ``over`` is what its intervals have in them."""


def forest(
    content: ReportContent, part: pl.DataFrame, name: str, caption: str, source: NumberSource, size: int
) -> list[Drawing]:
    """The drawing of one family of judged pairs; nothing where none with the baseline has an interval.

    Vocabularies that have fewer tokens than others of the size are drawn, and not among those that the text counts.

    Args:
        part: pairs with the columns of :func:`tokbench.statistics.judgements.judgement_columns`, each two once.
        name: stem of the files.
        caption: with ``{baseline}`` in it.
        source: where the numbers come from.
        size: of the vocabularies.
    """
    names = set(part["a"]) | set(part["b"])
    baseline = next((one for one in [*content.baselines, *content.variants] if one in names), None)
    found, verdicts, look = {}, [], styles([*content.variants, *sorted(names)], content.highlight)
    for row in part.filter((pl.col("a") == baseline) | (pl.col("b") == baseline)).iter_rows(named=True):
        if row["low"] is None:
            continue
        forth = row["b"] == baseline
        ends = (row["low"], row["high"]) if forth else (-row["high"], -row["low"])
        verdict = row["verdict"] if forth else OPPOSITE[row["verdict"]]
        other = row["a"] if forth else row["b"]
        if content.fewer.isdisjoint({(other, size), (baseline, size)}):
            verdicts.append(verdict)
        found[other] = differences.Row(
            content.label(other),
            row["difference"] if forth else -row["difference"],
            ends,
            tested=verdict != NOT_TESTED,
            significant=verdict in (BETTER, WORSE),
            colour=look[other].colour,
            highlighted=look[other].highlighted,
        )
    if not found:
        return []
    order = sorted(found, key=lambda one: (found[one].mean, one))
    lines = [found[one] for one in content.drawn(order)]
    draw = partial(
        differences.draw, lines, "difference in bits per byte", against=content.label(str(baseline)), decimals=3
    )
    caption = caption.format(baseline=baseline) + content.left_out(order, ranked=True)
    if note := unequal(content, [str(baseline), *found], size):
        caption = f"{caption} {note}"
    says = by_verdict(str(baseline), verdicts) if verdicts else ""
    return [Drawing(name, caption + content.in_brackets, draw, source, content.drawn(order), says)]


def compared(content: ReportContent) -> list[Table | Drawing]:
    """What a pilot told; for each corpus, model, suite and size a forest of differences from the baseline, the table of
    all pairs, and that over languages; the measures beside each model. Nothing of pairs where every model was
    trained with one seed, as nothing is tested."""
    frame = content.part(BITS_COMPARISONS.name)
    exhibits: list[Table | Drawing] = [*split(content, SEED_PLAN), *split(content, SEEN_BY_SEEDS)]
    if frame is None or frame["low"].null_count() == len(frame):
        return exhibits
    for values, part in frame.group_by(*KEY, maintain_order=True):
        at = dict(zip(KEY, values, strict=True))
        pairs = (*split(content, BITS_COMPARISONS, **at), *split(content, BITS_LANGUAGES, **at))
        exhibits += [*_forest(content, part, at), *(pairs_told_of_fewer(content, one, at["size"]) for one in pairs)]
    for model, suite in frame.select("model", "suite").unique(maintain_order=True).iter_rows():
        exhibits += [told_of_smaller(content, one) for one in split(content, MEASURES, model=model, suite=suite)]
    return exhibits


def _forest(content: ReportContent, part: pl.DataFrame, at: dict[str, Any]) -> list[Drawing]:
    seeds, documents = (int(str(part[name].min())) for name in ("seeds", "documents"))
    caption = (
        f"Bits per byte of {at['model']} on the evaluation split of {at['corpus']} at vocabulary size {at['size']:,}, "
        "minus those with {baseline}; "
    ) + SAID.format(over=f"with seeds ({seeds}) and documents ({documents}) in them")
    if why := why_untested(seeds):
        caption += f" {why.capitalize()}."
    name = slug("bits-differences", *at.values())
    return forest(content, part, name, caption, source_of(BITS_COMPARISONS, **at), at["size"])
