"""Language models compared by their bits per byte, paired by seed and document."""

from functools import partial
from typing import Any

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing
from tokbench.report.figures import differences
from tokbench.report.layout import Table
from tokbench.report.sections.origins import source_of
from tokbench.report.sections.rows import split
from tokbench.report.wording import slug
from tokbench.statistics.by_language import BITS_LANGUAGES
from tokbench.statistics.judgement import BETTER, NOT_TOLD, WORSE
from tokbench.statistics.measures import MEASURES
from tokbench.statistics.model_bits import BITS_COMPARISONS, KEY
from tokbench.statistics.seed_plan import SEED_PLAN, SEEN_BY_SEEDS

OPPOSITE = {BETTER: WORSE, WORSE: BETTER, NOT_TOLD: NOT_TOLD}


def compared(content: ReportContent) -> list[Table | Drawing]:
    """What a pilot told; for each corpus, model, suite and size a forest of differences from the baseline, the table of
    all pairs, and that over languages; the measures beside each model."""
    frame = content.part(BITS_COMPARISONS.name)
    exhibits: list[Table | Drawing] = [*split(content, SEED_PLAN), *split(content, SEEN_BY_SEEDS)]
    if frame is None:
        return exhibits
    for values, part in frame.group_by(*KEY, maintain_order=True):
        at = dict(zip(KEY, values, strict=True))
        exhibits += [*_forest(content, part, at), *split(content, BITS_COMPARISONS, **at)]
        exhibits += split(content, BITS_LANGUAGES, **at)
    for model, suite in frame.select("model", "suite").unique(maintain_order=True).iter_rows():
        exhibits += split(content, MEASURES, model=model, suite=suite)
    return exhibits


def _forest(content: ReportContent, part: pl.DataFrame, at: dict[str, Any]) -> list[Drawing]:
    """Each variant's difference from the baseline; nothing where there is none with an interval."""
    names = set(part["a"]) | set(part["b"])
    baseline = next((one for one in [*content.baselines, *content.variants] if one in names), None)
    found = {}
    for row in part.filter((pl.col("a") == baseline) | (pl.col("b") == baseline)).iter_rows(named=True):
        if row["low"] is None:
            continue
        forth = row["b"] == baseline
        ends = (row["low"], row["high"]) if forth else (-row["high"], -row["low"])
        verdict = row["verdict"] if forth else OPPOSITE[row["verdict"]]
        told = f"within ± {row['excluded']:.4f}" if verdict == NOT_TOLD else verdict
        difference = row["difference"] if forth else -row["difference"]
        other = row["a"] if forth else row["b"]
        found[other] = differences.Row(other, difference, ends, told)
    if not found:
        return []
    order = sorted(found, key=lambda one: (found[one].mean, one))
    lines = [found[one] for one in content.drawn(order)]
    seeds, documents = (int(str(part[name].min())) for name in ("seeds", "documents"))
    caption = (
        f"Bits per byte of {at['model']} on the evaluation split of {at['corpus']} at vocabulary size {at['size']:,}, "
        f"minus those with {baseline}; fewer are better. 95 % interval of each with seeds ({seeds}) and documents "
        f"({documents}) in it; hollow where it holds zero. At the right what Holm's procedure over all pairs says: "
        "better, worse, or not told apart, and then within what the difference lies, all pairs together with 95 %."
    )
    draw = partial(differences.draw, lines, f"bits per byte minus those with {baseline}")
    name = slug("bits-differences", *at.values())
    return [Drawing(name, caption + content.left_out(order, ranked=True), draw, source_of(BITS_COMPARISONS, **at))]
