"""Translation: what corpora were cleaned of, the scores of each test, and the tokenizers compared on it."""

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Section
from tokbench.report.sections.rows import split, split_all
from tokbench.statistics.translations import TRANSLATION_COMPARISONS
from tokbench.tabulation.translations import PARALLEL_CORPORA, TRANSLATION_SCORES

CAUTION = (
    "Every model is trained on the same pairs and tested on the same sentences, whatever its tokenizers. BLEU and chrF "
    "compare words and characters with one reference each; scores of different tests or languages cannot be compared."
)


def translation(content: ReportContent) -> Section:
    """The section on translations; nothing where there are none."""
    scores = split_all(content, TRANSLATION_SCORES)
    compared = split_all(content, TRANSLATION_COMPARISONS)
    tables = [*split(content, PARALLEL_CORPORA), *scores, *compared]
    return Section("translation", "Translation", [CAUTION] if scores else [], tables)
