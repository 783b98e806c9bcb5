"""Published values beside ours."""

import polars as pl

from tokbench.published.beside import BESIDE
from tokbench.published.translated import PUBLISHED_TRANSLATIONS
from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Section
from tokbench.report.sections.rows import rows, split_all


def published(content: ReportContent) -> Section:
    """One row per published value, its source named; empty where the experiment has no published counterpart."""
    frame = content.part("published")
    shown = [] if frame is None else [frame.with_columns(pl.col("measure").str.replace_all("_", " "))]
    tables = [*(rows(BESIDE, one) for one in shown), *split_all(content, PUBLISHED_TRANSLATIONS)]
    return Section("published", "Beside published values", exhibits=tables)
