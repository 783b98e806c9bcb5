"""Limits of the answer of the report: other texts, other models, and differences that are too small to detect."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from statistics import median

import polars as pl

from tokbench.report.claims import Claim, claims, contents_by_corpus
from tokbench.report.content import ReportContent
from tokbench.report.measure_words import MEASURES
from tokbench.report.sentences import Statement, count_units, sentence, statement
from tokbench.report.wording import format_value, in_bytes, join_all, join_some, pluralise
from tokbench.statistics.comparisons.families import ACCURACY, BITS, NGRAM
from tokbench.statistics.scale.back_test import LAST
from tokbench.statistics.significance.eligibility import ONE_TRAINING, TWO_TRAININGS
from tokbench.statistics.significance.student import detectable, quantile
from tokbench.statistics.significance.verdicts import ALPHA

MIN_SHARED = 0.01
"""Least share of the evaluation text in another split for a caveat."""


def caveats(content: ReportContent) -> list[Statement]:
    """Return the limits of the answer: other texts, other models, small differences."""
    frame, of_existing = content.scoreboard, list(_existing(content))
    if frame is None or frame.is_empty():
        return of_existing
    of_text = [
        replace(limit, corpus=corpus)
        for corpus, part in contents_by_corpus(content)
        for limit in (*_texts(part), *_shared_text(part))
    ]
    return [
        *of_text, *_own_sizes(content), *_models(content), *_trainings(frame), *_pretokenizers(content),
        *_missed(content), *[statement("demonstration")] * content.demonstration,
    ]  # fmt: skip


def _existing(content: ReportContent) -> Iterator[Statement]:
    """Yield the limits of an answer on existing tokenizers only."""
    if content.existing is None:
        return
    corpora = content.corpora_of(content.existing)
    for corpus in corpora:
        yield replace(_text(content, corpus), corpus=corpus if len(corpora) > 1 else "")
    yield from _own_sizes(content)


def _own_sizes(content: ReportContent) -> Iterator[Statement]:
    """Yield a statement on the sizes of existing tokenizers."""
    sizes = [] if content.existing is None else sorted(content.existing["size"].unique().to_list())
    if len(sizes) > 1:
        yield statement("own sizes", low=f"{sizes[0]:,}", high=f"{sizes[-1]:,}")


def _corpus(content: ReportContent) -> str | None:
    """Return the corpus of the answer."""
    return next((claim.corpus for claim in claims(content) if claim.corpus in content.corpora), None)


def _extent(content: ReportContent, corpus: str, split: str) -> str:
    """Return documents and bytes of a split in words; empty if unknown."""
    documents, size = content.splits.get((corpus, split), (None, None))
    if documents is None or size is None:
        return ""
    return f"{pluralise(documents, 'document')}, {in_bytes(size)}"


def _texts(content: ReportContent) -> Iterator[Statement]:
    """Yield a statement on the text of the answer and the texts of the vocabularies."""
    if (corpus := _corpus(content)) is not None:
        yield _text(content, corpus)


def _text(content: ReportContent, corpus: str) -> Statement:
    """Return the statement on the text of one corpus."""
    extent = _extent(content, corpus, "evaluation")
    extents = [(name, _extent(content, name, "tokenizer")) for name in content.built_from]
    known = [f"{name} ({size})" if name != corpus or len(extents) > 1 else size for name, size in extents if size]
    built = f"Vocabularies were built from {join_all(known)}." if 0 < len(known) < 4 else ""
    return statement("text", corpus=corpus, extent=f": {extent}" * bool(extent), built=built)


def _shared_text(content: ReportContent) -> Iterator[Statement]:
    """Yield a statement on evaluation text that is also in another split."""
    frame, corpus = content.frames.get("leakage"), _corpus(content)
    if frame is None or corpus is None:
        return
    rows = frame.filter(pl.col("corpus") == corpus, pl.col("shared_share") >= MIN_SHARED)
    rows = rows.sort("shared_share", descending=True)
    shares = [
        f"{format_value(share, 'percent', 1)} % is also in the {split} split" + (f" of {other}" * (other != corpus))
        for other, split, share in rows.select("other_corpus", "split", "shared_share").iter_rows()
    ]
    if shares:
        yield statement("shared text", shares=join_all(shares))


def _models(content: ReportContent) -> Iterator[Statement]:
    """Yield a statement on the training tokens and sizes of language models."""
    trained = content.frames.get("trained_on")
    ranges = []
    for name in content.models if trained is not None else ():
        tokens = trained.filter(pl.col("model") == name)["tokens"].drop_nulls().to_list()  # type: ignore[union-attr]
        if tokens:
            low, high = f"{min(tokens):,}", f"{max(tokens):,}"
            ranges.append(f"{name} {low}" if low == high else f"{name} {low} to {high}")
    if ranges:
        yield statement("models", tokens=join_some(ranges, 4), orders=_orders_over_size(content))


def _orders_over_size(content: ReportContent) -> str:
    """Return how often the order of two tokenizers was the same at the two largest sizes of a model; empty if there is
    one size."""
    tested, costs = (content.frames.get(name) for name in ("scale_back_tests", "model_costs"))
    if tested is None or costs is None:
        return ""
    tested = tested.filter(varies="size", rule=LAST)
    names = {name for models in tested["models"] for name in models.split(", ")}
    parameters = costs.filter(pl.col("model").is_in(names))["parameters"]
    if tested.is_empty() or parameters.is_empty():
        return ""
    low, high = (f"{value:,.0f}" for value in (min(parameters), max(parameters)))
    held, pairs = (int(tested[name].sum()) for name in ("same_order", "pairs"))
    return sentence("orders over size", low=low, high=high, held=f"{held:,}", pairs=pluralise(pairs, "pair"))


def _trainings(frame: pl.DataFrame) -> Iterator[Statement]:
    """Yield a statement on language models with too few trainings."""
    reasons = {*frame["reason"].unique(), *frame["difference_reason"].unique()}
    if ONE_TRAINING in reasons:
        yield statement("one training")
    elif TWO_TRAININGS in reasons:
        yield statement("two trainings")


def _pretokenizers(content: ReportContent) -> Iterator[Statement]:
    """Yield a statement on the number of variants by pre-tokenizer, if there are several."""
    if content.several_pretokenizers:
        counts = Counter(map(content.pretokenizer, content.reading_order))
        yield statement("pre-tokenizers", groups=join_some([f"{name} ({n})" for name, n in counts.items()], 6))


def _missed(content: ReportContent) -> Iterator[Statement]:
    """Yield a statement on the smallest differences that the tests of each measure detect."""
    made = claims(content)
    by_bits = any(claim.measure == BITS for claim in made)
    differences: dict[str, str] = {}
    for claim in made:
        if claim.measure in differences or (by_bits and claim.measure == NGRAM):
            continue
        if (difference := detectable_text(content, claim)) is not None:
            row = claim.best
            differences[claim.measure] = difference + (f" ({count_units(row['n'], row['over'])})" if row["n"] else "")
    if differences:
        yield statement("missed", differences=join_all(list(differences.values())))


def detectable_text(content: ReportContent, claim: Claim) -> str | None:
    """Return the true difference from the baseline that the test detects with probability 0.8, uncorrected, in words.

    It is the median over tokenizers. For bits per byte it comes from the table of pairs; otherwise from the width of
    the 95 % intervals, under normality. Accuracy of one training has intervals over questions only.

    Returns:
        None if there is no interval.
    """
    frame = content.scoreboard
    if frame is None:
        return None
    frame = frame.filter(measure=claim.measure, size=claim.size)
    for key in ("corpus", "model", "suite"):
        frame = frame.filter(pl.col(key).fill_null("") == getattr(claim, key))
    detected = _detectable(frame, "difference_low", "difference_high", "n")
    # One training has no interval over seeds in the scoreboard, but one over questions in the table of pairs.
    pairs = content.frames.get("task_measure_comparisons")
    if not detected and claim.measure == ACCURACY and pairs is not None:
        pairs = pairs.filter(model=claim.model, suite=claim.suite, size=claim.size, measure=ACCURACY, task="")
        detected = _detectable(pairs, "low", "high", "clusters")
    if claim.measure == BITS and (tested := content.frames.get("bits_comparisons")) is not None:
        tested = tested.filter(model=claim.model, suite=claim.suite, corpus=claim.corpus, size=claim.size)
        detected = tested["detectable"].drop_nulls().to_list() or detected
    detected = [value for value in detected if value > 0]
    if not detected:
        return None
    words = MEASURES[claim.measure]
    text = format_value(median(detected) * (100 if words.percent else 1), "real", words.decimals)
    return f"{text}{words.detectable}" if text.strip("0.") else None


def _detectable(frame: pl.DataFrame, low: str, high: str, n: str) -> list[float]:
    """Return the differences detected with probability 0.8, from the widths of 95 % intervals over ``n`` units."""
    differences = []
    for lower, upper, units in frame.select(low, high, n).drop_nulls().iter_rows():
        degrees = max(units - 1.0, 1.0)
        differences.append((upper - lower) / 2 / quantile(ALPHA, degrees) * detectable(degrees))
    return differences
