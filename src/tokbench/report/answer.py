"""The answer of the report: the best of each measure against the baseline at every size, and its details.

Tokenizers are compared at one size, after correction for all pairs of that size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from tokbench.report.caveats import detectable_text
from tokbench.report.claim_sentences import claim_statement, claim_text, worst_row
from tokbench.report.claims import Claim, best_claims, claims, claims_across, contents_by_corpus, unranked_claims
from tokbench.report.content import ReportContent
from tokbench.report.existing_answer import existing_answers
from tokbench.report.measure_words import CLAIMED
from tokbench.report.sentences import ANOTHER_SEED, MAX_NAMED, SELECTED, Statement, sentence
from tokbench.report.wording import format_value, join_all, join_some
from tokbench.statistics.comparisons.families import ACCURACY, BITS, NGRAM
from tokbench.statistics.comparisons.scoreboard_rows import ALL_RESOURCES
from tokbench.statistics.significance.eligibility import LOSSY
from tokbench.tabulation.intrinsic import INTRINSIC


@dataclass(frozen=True)
class SizedAnswer:
    """The answer at one vocabulary size on one corpus, or on existing tokenizers at their own sizes.

    Attributes:
        size: vocabulary size; None for existing tokenizers.
        corpus: the corpus, if the scoreboard has several; empty otherwise.
        introduction: size, baseline and text of the comparison.
        statements: one for each measure.
        hidden: True if the page shows it only when its size or corpus is chosen (default: False).
    """

    size: int | None
    corpus: str
    introduction: str
    statements: Sequence[Statement]
    hidden: bool = False


def answers(content: ReportContent) -> list[SizedAnswer]:
    """Return the answers on existing tokenizers, then those at every size with tokenizers to compare.

    There is one for every corpus; the largest size comes first.
    """
    frame = content.scoreboard
    sizes = [] if frame is None else sorted(frame["size"].unique().drop_nulls(), reverse=True)
    of_existing = [SizedAnswer(None, *answer) for answer in existing_answers(content)]
    by_size = [
        SizedAnswer(size, corpus, _introduction(part, size), statements)
        for corpus, part in contents_by_corpus(content)
        for size in sizes
        if (statements := _statements(part, size))
    ]
    return [replace(answer, hidden=place > 0) for group in (of_existing, by_size) for place, answer in enumerate(group)]


def _statements(content: ReportContent, size: int) -> list[Statement]:
    """Return the statement on each measure; n-gram models have none next to numbers of language models."""
    by_measure: dict[str, list[Claim]] = {}
    for claim in claims(content, size):
        by_measure.setdefault(claim.measure, []).append(claim)
    if any(claim.kind == "unranked" for claim in by_measure.get(BITS, ())):
        by_measure[NGRAM] = [claim for claim in by_measure.get(NGRAM, ()) if claim.kind == "unranked"]
    statements = []
    for measure in CLAIMED:
        if of_measure := by_measure.get(measure):
            claim = of_measure[0]
            across = next((other for other in of_measure[1:] if other.kind == "across"), None)
            statements.append(claim_statement(claim, across, _missed(content, claim)))
    return statements


def _introduction(content: ReportContent, size: int) -> str:
    """Name the size, the baseline and the text."""
    rows = [claim.best for claim in claims(content, size)]
    baseline = next((row["baseline"] for row in rows if row["baseline"]), None)
    corpus = next((row["corpus"] for row in rows if row["corpus"] and row["corpus"] != ALL_RESOURCES), None)
    of = f" (pre-tokenizer {content.pretokenizer(baseline)})" * content.several_pretokenizers if baseline else ""
    parts = [f"Vocabulary size {size:,}.", f"Baseline: {baseline}{of}." * bool(baseline)]
    return " ".join(filter(None, [*parts, f"Text: the evaluation split of {corpus}." * bool(corpus)]))


def _missed(content: ReportContent, claim: Claim) -> str:
    """Return a sentence on differences of accuracy that are too small to detect; empty for other measures."""
    difference = detectable_text(content, claim) if claim.measure == ACCURACY else None
    return "" if difference is None else f"Differences under about {difference} would probably be missed."


def summary(content: ReportContent) -> list[str]:
    """Return the details of the answer: a few sentences on each measure, and on tokenizers that are not ranked.

    Args:
        content: content of the report.
    """
    best = best_claims(content)
    chosen = f" {SELECTED}" if content.has_many_variants else ""
    sentences = [claim_text(claim) + chosen * (worst_row(claim)["behind_low"] is not None) for claim in best[:4]]
    sentences += [claim_text(claim) for claim in claims_across(content)]
    sentences += [f"{claim_text(claim)} {ANOTHER_SEED}" for claim in unranked_claims(content)]
    sentences += _corpus_of_claims(content, best)
    frame = content.scoreboard
    if frame is not None and (lossy := sorted(set(frame.filter(reason=LOSSY)["variant"]))):
        sentences.append(sentence("lossy", names=join_some(lossy, MAX_NAMED)))
    return sentences + _undersized(content)


def _corpus_of_claims(content: ReportContent, best: Sequence[Claim]) -> list[str]:
    """Return a sentence on the corpus of the claims, if the scoreboard has several."""
    claim = next((claim for claim in best if claim.corpora), None)
    if claim is None:
        return []
    built = list(content.built_from)
    which = "the first in the configuration"
    if claim.corpus in built:
        which = f"{'one of the corpora' if len(built) > 1 else 'the corpus'} that the vocabularies were built from"
    return [sentence("corpus", corpus=claim.corpus, which=which, others=join_all(list(claim.corpora)))]


def _undersized(content: ReportContent) -> list[str]:
    """Return sentences on vocabularies with fewer tokens than requested."""
    measured = content.frames.get(INTRINSIC.name)
    if measured is None:
        return []
    sizes = measured.filter(pl.col("metric") == "vocabulary_size", pl.col("value") < pl.col("size"))
    names_by_kind: dict[str, list[str]] = {}
    for variant, size, tokens in sizes.select("variant", "size", "value").unique().sort("variant", "size").rows():
        kind = (
            "others of their size, so not ranked"
            if (variant, size) in content.undersized
            else "requested, like all others of their size"
        )
        names_by_kind.setdefault(kind, []).append(f"{variant} ({format_value(tokens, 'count')} of {size:,})")
    return [
        sentence("undersized", others=kind, names=join_some(names, MAX_NAMED)) for kind, names in names_by_kind.items()
    ]
