"""Language models compared by their bits per byte, paired by seed and document."""

from typing import Any

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing
from tokbench.report.layout import Table
from tokbench.report.sections.forest import SAID, forest
from tokbench.report.sections.origins import source_of
from tokbench.report.sections.rows import split
from tokbench.report.sections.smaller import pairs_told_of_fewer, told_of_smaller
from tokbench.report.wording import slug
from tokbench.statistics.by_language import BITS_LANGUAGES
from tokbench.statistics.measures import MEASURES
from tokbench.statistics.model_bits import BITS_COMPARISONS, KEY
from tokbench.statistics.seed_plan import SEED_PLAN, SEEN_BY_SEEDS
from tokbench.statistics.verdicts import why_untested


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
