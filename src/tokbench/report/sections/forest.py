"""A forest: each variant's difference in bits per byte from the baseline, with its interval and what was said of it."""

from functools import partial

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing
from tokbench.report.figures import differences
from tokbench.report.findings import by_verdict
from tokbench.report.layout import Source
from tokbench.report.sections.smaller import unequal
from tokbench.statistics.judgement import BETTER, NOT_TOLD, WORSE

OPPOSITE = {BETTER: WORSE, WORSE: BETTER, NOT_TOLD: NOT_TOLD}
SAID = (
    "fewer bits are better. Lines are 95 % intervals, {over}; a mark is hollow where its interval includes zero. On "
    "the right, the verdict of Holm's procedure over all pairs: better, worse, or, where the two are not told apart, "
    "the range that the difference lies within (95 % for all pairs together)."
)
"""How a forest is read; ``over`` is what its intervals have in them."""


def forest(
    content: ReportContent, part: pl.DataFrame, name: str, caption: str, source: Source, size: int
) -> list[Drawing]:
    """The drawing of one family of judged pairs; nothing where none with the baseline has an interval.

    Vocabularies that have fewer tokens than others of the size are drawn, and not among those that the text counts.

    Args:
        part: pairs with the columns of :func:`tokbench.statistics.judgement.judgement_columns`, each two once.
        name: stem of the files.
        caption: with ``{baseline}`` in it.
        source: where the numbers come from.
        size: of the vocabularies.
    """
    names = set(part["a"]) | set(part["b"])
    baseline = next((one for one in [*content.baselines, *content.variants] if one in names), None)
    found, verdicts = {}, []
    for row in part.filter((pl.col("a") == baseline) | (pl.col("b") == baseline)).iter_rows(named=True):
        if row["low"] is None:
            continue
        forth = row["b"] == baseline
        ends = (row["low"], row["high"]) if forth else (-row["high"], -row["low"])
        verdict = row["verdict"] if forth else OPPOSITE[row["verdict"]]
        told = verdict
        if verdict == NOT_TOLD:
            told = f"within ± {row['excluded']:.4f}" if row["excluded"] else "the same bits"
        other = row["a"] if forth else row["b"]
        if content.fewer.isdisjoint({(other, size), (baseline, size)}):
            verdicts.append(verdict)
        found[other] = differences.Row(
            content.label(other), row["difference"] if forth else -row["difference"], ends, told
        )
    if not found:
        return []
    order = sorted(found, key=lambda one: (found[one].mean, one))
    lines = [found[one] for one in content.drawn(order)]
    draw = partial(differences.draw, lines, f"bits per byte minus those with {content.label(str(baseline))}")
    caption = caption.format(baseline=baseline) + content.left_out(order, ranked=True)
    if note := unequal(content, [str(baseline), *found], size):
        caption = f"{caption} {note}"
    says = by_verdict(str(baseline), verdicts) if verdicts else ""
    return [Drawing(name, caption + content.in_brackets, draw, source, content.drawn(order), says)]
