"""Translation: what corpora were cleaned of, the scores of each test, and the tokenizers compared on it."""

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Section
from tokbench.report.layout import Table
from tokbench.report.sections.rows import split
from tokbench.statistics.translations import TRANSLATION_COMPARISONS
from tokbench.tabulation.translations import PARALLEL_CORPORA, TRANSLATION_SCORES
from tokbench.tidy.table import TidyTable

CAUTION = (
    "Every model is trained on the same pairs and tested on the same sentences, whatever its tokenizers. BLEU and chrF "
    "compare words and characters with one reference each; scores of different tests or languages cannot be compared."
)


def translation(content: ReportContent) -> Section:
    """The section on translations; nothing where there are none."""
    scores = _by_test(content, TRANSLATION_SCORES)
    compared = _by_test(content, TRANSLATION_COMPARISONS)
    tables = [*split(content, PARALLEL_CORPORA), *scores, *compared]
    return Section("translation", "Translation", [CAUTION] if scores else [], tables)


def _by_test(content: ReportContent, table: TidyTable) -> list[Table]:
    """A table for each corpus, direction, test and whatever else it is split by."""
    frame = content.part(table.name)
    if frame is None:
        return []
    keys = frame.select(table.prints[0].by).unique(maintain_order=True).rows(named=True)
    return [one for at in keys for one in split(content, table, **at)]
