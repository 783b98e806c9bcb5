"""Figures of the papers, redrawn from their numbers."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import partial

from tokbench.published import facts
from tokbench.published.facts import Statistic
from tokbench.published.recompute import ModelSet
from tokbench.report.exhibits import Drawing
from tokbench.report.figures import differences, dots, scatter, venn
from tokbench.report.figures.style import styles
from tokbench.report.sections.comparisons import average_ranks, matrix
from tokbench.report.wording import probability
from tokbench.statistics.accuracies.correlation import pearson
from tokbench.statistics.significance.verdicts import ALPHA

PAPER = "“Tokenization Is More Than Compression”"
PRETOKENIZATIONS = ["pathpiece_random_space_digit", "pathpiece_random_digit", "pathpiece_random_none"]
"""The variants of figure 4."""


def drawings(main: ModelSet, one_size: ModelSet, statistics: Sequence[Statistic]) -> list[Drawing]:
    """Return figures 1 to 6 and 8 to 22 of the paper, and the average ranks of the 18 variants.

    Args:
        main: the 18 variants.
        one_size: all variants at one size.
        statistics: all derived numbers, recomputed.
    """
    look = styles(main.order)
    accuracy = {(row["variant"], row["size"]): 100 * row["average"] for row in main.by_size.iter_rows(named=True)}
    counts = {key: span.value for key, span in facts.measured_spans("corpus_token_count").items()}
    points = {key: (1e9 * counts[key], accuracy[key]) for key in accuracy}
    r = pearson(counts, accuracy)
    guess = ("random guessing", 100 * main.ranks["random_baseline"][0])
    drawn = [
        Drawing(
            "figure-1-accuracy-by-rank",
            f"Figure 1 of {PAPER}: average accuracy of each variant at three vocabulary sizes.",
            partial(
                dots.draw, accuracy, main.order, look, "average accuracy (%)", numbered=True, baseline=guess
            ),
        ),
        matrix(
            "figure-2-p-values",
            f"Figure 2 of {PAPER}: p that the column's variant is better than the row's, one-sided exact Wilcoxon "
            "signed-rank test over 30 cells, not corrected for the number of pairs. Outlined: above 0.05.",
            main.pairs,
            main.order,
        ),
        Drawing(
            "figure-3-token-count-accuracy",
            f"Figure 3 of {PAPER}: corpus token count on MiniPile against average accuracy; larger marks are larger "
            "vocabularies.",
            partial(
                scatter.draw, points, main.order, look, "corpus token count", "average accuracy (%)",
                correlation=None if r.r is None else (r.r, r.n),
            ),
        ),
        Drawing(
            "figure-4-pretokenization",
            f"Figure 4 of {PAPER}: corpus token count against average accuracy for three pre-tokenizers, "
            "means over three vocabulary sizes.",
            partial(
                scatter.draw, {(name, 0): _mean(points, name) for name in PRETOKENIZATIONS}, PRETOKENIZATIONS,
                look, "corpus token count", "average accuracy (%)",
            ),
        ),
        *_venns(),
        _by_model(look_order=main.order),
        _differences(main, one_size, statistics),
    ]  # fmt: skip
    ranks = average_ranks("average-ranks-350M", main.average_ranks, main.order, main.of)
    return [*drawn, *(exhibit for exhibit in ranks if isinstance(exhibit, Drawing))]


def _mean(points: Mapping[tuple[str, int], tuple[float, float]], name: str) -> tuple[float, float]:
    """Return the mean over the vocabulary sizes of one variant."""
    across, up = zip(*(point for (variant, _), point in points.items() if variant == name), strict=True)
    return sum(across) / len(across), sum(up) / len(up)


def _venns() -> list[Drawing]:
    drawn = []
    for row in facts.regions().iter_rows(named=True):
        names = [row[letter] for letter in "abc"]
        number = row["where"].split()[-1]
        caption = (
            f"{row['where']} of {PAPER}: tokens in vocabularies of {row['size']:,}, as printed. Areas are "
            "proportional as far as three circles allow."
        )
        regions = {name: value for name, value in row.items() if isinstance(value, int)}
        drawn.append(Drawing(f"figure-{number}-venn", caption, partial(venn.draw, regions, names, styles(names))))
    return drawn


def _by_model(look_order: list[str]) -> Drawing:
    printed = facts.statistics().filter(where="Table 14", statistic="average_accuracy")
    values = {
        (model, variant): float(value) for model, variant, value in printed.select("model", "a", "value").iter_rows()
    }
    models = ["350M", "1.3B", "2.4B"]
    present = [variant for variant in look_order if any(name == variant for _, name in values)]
    caption = (
        f"Figure 6 of {PAPER}: average accuracy at a vocabulary of 40,960 with models of three sizes, as printed in "
        "table 14. Two variants have no model of 2.4B."
    )
    draw = partial(dots.draw_by_model, values, models, present, styles(look_order), "average accuracy (%)")
    return Drawing("figure-6-model-size", caption, draw)


def _differences(main: ModelSet, one_size: ModelSet, statistics: Sequence[Statistic]) -> Drawing:
    """Return one figure of figures 8 to 11, 13 and section 5.2 (30 cells), and figures 14 to 22 (ten cells)."""
    # A row for each p-value that the paper prints as an equality and that is recomputed.
    rows = []
    for statistic in statistics:
        if statistic.statistic != "wilcoxon_p" or statistic.relation != "=" or statistic.ours is None:
            continue
        pairs = (one_size if statistic.size else main).pairs
        pair = pairs.filter(a=statistic.a, b=statistic.b).row(0, named=True)
        where = statistic.where.replace("Figure", "Fig.").replace("Section", "Sec.")
        digits = len(Decimal(statistic.published).as_tuple().digits)
        p_values = [probability(p, digits) for p in (statistic.ours, float(statistic.published))]
        rows.append(
            differences.Row(
                f"{statistic.a} − {statistic.b}",
                100 * pair["mean_difference"],
                None,
                f"{where}: {p_values[0]} ({p_values[1]})",
                significant=statistic.ours <= ALPHA,
            )
        )
    # Caption and axes.
    caption = (
        f"The comparisons of {PAPER}, section 5.2 and figures 8 to 22: mean difference of accuracies over cells (30 "
        "cells; 10 from figure 14 on). On the right: this difference, and p of the one-sided exact Wilcoxon "
        "signed-rank test, the paper's in brackets. As in the paper, p is not corrected; a mark is filled if it "
        "is at most 0.05."
    )
    draw = partial(
        differences.draw,
        rows,
        "difference of average accuracy (points)",
        heading="difference, p ours (theirs)",
    )
    return Drawing("figures-8-to-22-comparisons", caption, draw)
