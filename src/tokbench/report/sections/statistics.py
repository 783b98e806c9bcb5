"""Statistics: pairwise comparisons, correlations with accuracy, and agreement between vocabulary sizes."""

from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import UNEXPLAINED, Drawing, Exhibit, Heading, NumberSource, PrintedColumn, Section, Table
from tokbench.report.figures import scatter
from tokbench.report.figures.style import styles
from tokbench.report.sections import comparisons as model_bits
from tokbench.report.sections import ngram_bits
from tokbench.report.sections.answer_measures import answer_measures, perturbed_answers
from tokbench.report.sections.comparisons import comparisons as compared
from tokbench.report.sections.comparisons import power_statement, untested_reason
from tokbench.report.sections.downstream import averages, placed_variants, ranked_variants
from tokbench.report.sections.intrinsic import DRAWN
from tokbench.report.sections.intrinsic_values import corpus_rows, corpus_values, first_definition, own_denominators
from tokbench.report.sections.rows import (
    LEAST_CORRELATED,
    column_of,
    path_of,
    rows,
    source_of,
    split,
    split_all,
    with_excluded_count,
)
from tokbench.report.sections.subjects import Measure
from tokbench.report.sections.token_effects import causal_effects
from tokbench.report.wording import format_value, join_all, pluralise, slug, words
from tokbench.statistics.accuracies.correlation import CORRELATIONS, METRIC_CORRELATIONS, R_SQUARED, fisher_interval
from tokbench.statistics.accuracies.intervals import INTERVALS
from tokbench.statistics.accuracies.ranks import RANKS_BY_SIZE
from tokbench.statistics.accuracies.seeds import SEEDS
from tokbench.statistics.comparisons.domains import DOMAIN_COMPARISONS, DOMAIN_VALUES
from tokbench.statistics.comparisons.robustness import ROBUSTNESS, ROBUSTNESS_COMPARISONS
from tokbench.statistics.comparisons.segmentations import SEGMENTATION_LOSS_COMPARISONS, SEGMENTATION_LOSSES
from tokbench.statistics.significance.eligibility import ONE_TRAINING
from tokbench.tabulation.intrinsic import INTRINSIC
from tokbench.tabulation.segmentations import SEGMENTED_TEXTS

FISHER = (
    "Small numbers: 95 % intervals of r by Fisher's z. They are too narrow, because tokenizers are not independent "
    "draws. There is no interval for fewer than four tokenizers, nor for r = 1 or −1."
)
UNLIKE = "Left out, because the denominator depends on the tokenizer: {}."
LARGER = "; larger marks are larger vocabularies"
OTHER_N = "n next to an r: number of tokenizers with both values, if it differs from n of the row."
HEADED = {R_SQUARED.name: "R² of accuracies at two vocabulary sizes"}
ONE_SIZE = "Every model was tested at a single size."
AS_PAPERS = (
    "Cells (size and task) are not independent draws, so these tests decide nothing on this page: verdicts are over "
    "seeds and questions."
)
SCATTERED = NumberSource([path_of(INTRINSIC), path_of(RANKS_BY_SIZE)])
"""Source of the points of scatter plots."""


def statistics(content: ReportContent) -> Section:
    """Return the section of statistical tests and correlations.

    Args:
        content: content of the report.
    """
    # Accuracies: intervals, seeds and smooth measures.
    exhibits: list[Exhibit] = []
    missing = []
    paragraphs = [_seeds_in_words(content)] if content.part("accuracy") is not None else []
    intervals, seeds = split(content, INTERVALS), split(content, SEEDS)
    if intervals or seeds:
        sentence = join_all(["intervals"] * bool(intervals) + ["seeds"] * bool(seeds))
        exhibits += [Heading("accuracy-intervals", f"Accuracy: {sentence}"), *intervals, *seeds]
    exhibits += [*answer_measures(content), *perturbed_answers(content)]
    # Parts that are missing.
    for name in ("intervals", "power", "critical_differences"):
        if content.part(name) is None:
            missing.append(f"{words(name).capitalize()}: {content.why_missing(name)}")
    # Bits per byte, domains, robustness, segmentations and causal effects.
    if bits := model_bits.bits_exhibits(content):
        exhibits += [Heading("bits-of-models", "Bits per byte of language models, pair by pair"), *bits]
    elif content.part("bits_comparisons") is not None:
        missing.append(f"Bits per byte compared over seeds: {ONE_TRAINING.capitalize()}.")
    if bits := ngram_bits.ngram_tests(content):
        exhibits += [Heading("bits-of-ngrams", "Bits per byte of n-gram models, pair by pair"), *bits]
    if by_domain := [*split_all(content, DOMAIN_VALUES), *split_all(content, DOMAIN_COMPARISONS)]:
        exhibits += [Heading("domains", "By domain"), *by_domain]
    if robust := [*split_all(content, ROBUSTNESS), *split_all(content, ROBUSTNESS_COMPARISONS)]:
        exhibits += [Heading("robustness", "Robustness of segmentations"), *robust]
    other = (SEGMENTED_TEXTS, SEGMENTATION_LOSSES, SEGMENTATION_LOSS_COMPARISONS)
    if segmented := [table for declared in other for table in split_all(content, declared)]:
        exhibits += [Heading("other-segmentations", "Other segmentations into the same tokens"), *segmented]
    if effects := causal_effects(content):
        exhibits += [Heading("token-effects", "Causal effect of a token's presence"), *effects]
    # Correlations.
    beside: list[Exhibit] = [*_scatters(content)]
    for name, make in (
        ("correlations", partial(_correlations, content)),
        ("r_squared", partial(rows, R_SQUARED)),
        ("metric_correlations", partial(_metrics, content)),
    ):
        frame = content.part(name)
        if frame is None:
            missing.append(f"{HEADED.get(name, words(name).capitalize())}: {_why_missing(content, name)}")
        else:
            beside.append(with_excluded_count(content, make(frame)))
    if beside:
        exhibits += [Heading("correlations", "Correlations of measures with accuracy and each other"), *beside]
    # Statistics as the papers do them.
    exhibits += _as_papers_do(content)
    if content.part("comparisons") is None:
        missing.append(f"Signed-rank tests: {content.why_missing('comparisons')}")
    return Section("statistics", "Statistics", paragraphs, exhibits, missing=missing)


def _as_papers_do(content: ReportContent) -> list[Exhibit]:
    """Return the signed-rank tests of accuracies, which the papers report and which decide nothing here."""
    comparisons = content.part("comparisons")
    if comparisons is None:
        return []
    exhibits: list[Exhibit] = []
    ranks = content.part("ranks")
    for model, suite in comparisons.select("model", "suite").unique(maintain_order=True).iter_rows():
        order = [] if ranks is None else ranked_variants(ranks.filter(model=model, suite=suite))
        tests = compared(content, model, suite, order)
        notes = [AS_PAPERS, *_power(content, model, suite)]
        tests = [
            replace(exhibit, notes=[*exhibit.notes, *notes]) if isinstance(exhibit, Table) else exhibit
            for exhibit in tests
        ]
        title = f"As the papers do it: signed-rank tests of accuracy, {model} on {suite}"
        exhibits += [Heading(slug("accuracy-of", model, suite), title), *tests]
    return exhibits


def _why_missing(content: ReportContent, name: str) -> str:
    """Return the reason why a table of correlations is missing."""
    accuracy = content.part("accuracy")
    if name != R_SQUARED.name or accuracy is None:
        return content.why_missing(name)
    sizes = accuracy.group_by("model", "suite").agg(pl.col("size").n_unique())["size"]
    return content.why_missing(name) if (sizes > 1).any() else ONE_SIZE


def _power(content: ReportContent, model: str, suite: str) -> list[str]:
    """Return the power of the signed-rank tests of a model and suite in a sentence, or why there are none."""
    power, pairs = content.part("power"), content.part("comparisons")
    part = None if power is None else power.filter(model=model, suite=suite)
    if part is None or part.is_empty():
        return []
    why = "" if pairs is None else untested_reason(pairs.filter(model=model, suite=suite))
    of = f"Accuracy of {model} on {suite}"
    return [f"{of} is {why}." if why else f"{of}: {power_statement(part)}"]


def _seeds_in_words(content: ReportContent) -> str:
    if content.part("seeds") is None:
        return (
            "Every model was trained with one seed. The variation of accuracy between seeds is unknown, and no "
            "interval on this page includes it."
        )
    return "Accuracies of models that differ only in their seed are averaged before all other computations."


def _scatters(content: ReportContent) -> list[Drawing]:
    """Return figures of corpus token count against average accuracy, for each model, suite and corpus with both."""
    intrinsic, ranks, by_size = (content.part(name) for name in ("intrinsic", "ranks", "ranks_by_size"))
    if intrinsic is None or ranks is None or by_size is None:
        return []
    metric, drawings = DRAWN[0], []
    correlations = content.part("correlations")
    for (model, suite), part in ranks.group_by("model", "suite", maintain_order=True):
        accuracies = averages(by_size.filter(model=model, suite=suite))
        for corpus in content.corpora_of(intrinsic):
            here = intrinsic.filter(corpus=corpus)
            definition, values = first_definition(corpus_values(here)[0], metric)
            points = {key: (values[key], accuracies[key]) for key in accuracies if key in values}
            if len(points) < LEAST_CORRELATED:
                continue
            correlation = None
            if correlations is not None:
                same = correlations.filter(
                    model=model, suite=suite, corpus=corpus, metric=metric, definition=definition
                )
                known = corpus_rows(same).filter(pl.col("r").is_not_null(), pl.col("n") == len(points))
                correlation = (known["r"][0], known["n"][0]) if len(known) == 1 else None
            order = placed_variants(part) or content.reading_order
            shown = set(content.drawn_variants(order))
            drawn = {key: point for key, point in points.items() if key[0] in shown}
            others = [point for key, point in points.items() if key[0] not in shown]
            ends = None if correlation is None else fisher_interval(*correlation)
            draw = partial(
                scatter.draw, drawn, order, styles(content.variants, content.highlight),
                words(metric), "average accuracy (%)", correlation=correlation, interval=ends, others=others,
            )  # fmt: skip
            caption = (
                f"{words(metric).capitalize()} ({definition}; evaluation split of {corpus}) against average accuracy "
                f"of {model} on {suite}{LARGER * (len({size for _, size in points}) > 1)}. r is Pearson's "
                "correlation, n the number of tokenizers."
            )
            sentence = (
                f"{format_value(ends[0], 'real', 2)} to {format_value(ends[1], 'real', 2)}"
                if ends
                else "none, too few values"
            )
            if correlation is not None:
                caption += (
                    f" 95 % interval of r: {sentence}. It is too narrow, because tokenizers are no random sample."
                )
            if others:
                named = pluralise(len({variant for variant, _ in drawn}), "variant")
                caption += f" Named: {named}, the best and the baseline; grey points are all others."
            says = f"{words(metric).capitalize()} and average accuracy of {model} on {suite}: "
            says += (
                f"r = {format_value(correlation[0], 'real', 2)} (95 % interval: {sentence}), n = {correlation[1]}."
                if correlation
                else "no correlation was computed."
            )
            name = slug(metric, "accuracy", model, suite, corpus)
            drawings.append(Drawing(name, caption, draw, SCATTERED, says=says))
    return drawings


def _compared(content: ReportContent, frame: pl.DataFrame, *sides: str) -> tuple[pl.DataFrame, list[str]]:
    """Return rows whose measures are comparable across pre-tokenizers, and a note on measures left out."""
    apart = own_denominators(content)
    out = [
        (row["corpus"], row[f"metric{side}"], row[f"definition{side}"])
        for row in frame.iter_rows(named=True)
        for side in sides
    ]
    kept = [not any(measure in apart for measure in out[at : at + len(sides)]) for at in range(0, len(out), len(sides))]
    gone = sorted({f"{words(metric)} ({definition})" for _, metric, definition in apart.intersection(out)})
    return frame.filter(pl.Series(kept, dtype=pl.Boolean)), [UNLIKE.format("; ".join(gone))] * bool(gone)


def _correlations(content: ReportContent, frame: pl.DataFrame) -> Table:
    whole, left_out = _compared(content, corpus_rows(frame), "")
    table = rows(CORRELATIONS, whole.with_columns(pl.Series("metric", [words(metric) for metric in whole["metric"]])))
    intervals = {
        (index, "r"): ends
        for index, (r, n) in enumerate(whole.select("r", "n").rows())
        if r is not None and (ends := fisher_interval(r, n)) is not None
    }
    few = _too_few_finding(max(whole["n"].to_list(), default=0))
    notes = [*table.notes, FISHER, *left_out]
    return replace(table, intervals=intervals, notes=notes, finding=few, folded=table.folded or bool(few))


def _too_few_finding(points: int) -> str:
    """Return the finding of a table of correlations from too few tokenizers; empty if there are enough."""
    return f"no finding: at most {points} tokenizers, fewer than {LEAST_CORRELATED}" * (points < LEAST_CORRELATED)


def _metrics(content: ReportContent, frame: pl.DataFrame) -> Table:
    """Return the table of correlations of each measure with the drawn measures."""
    # Correlations of each ordered pair of measures, by corpus.
    every, left_out = _compared(content, corpus_rows(frame), "_a", "_b")
    pairs: dict[tuple[str, Measure, Measure], dict[str, Any]] = {}
    for row in every.iter_rows(named=True):
        a, b = ((row[f"metric_{side}"], row[f"definition_{side}"]) for side in "ab")
        pairs[row["corpus"], a, b] = pairs[row["corpus"], b, a] = row
    # Columns are the best-known metrics that are compared; rows are all measures.
    apart = {metric for _, metric, _ in own_denominators(content)} - {metric for _, (metric, _), _ in pairs}
    beside = [name for name in DRAWN if name not in apart]
    ours: dict[str, set[Measure]] = {}
    for corpus, measure, _ in pairs:
        ours.setdefault(corpus, set()).add(measure)
    shown: list[dict[str, object]] = []
    reasons: dict[tuple[int, str], str] = {}
    marks: dict[tuple[int, str], str] = {}
    intervals: dict[tuple[int, str], tuple[float, float]] = {}
    # A row for each measure that correlates with one of the columns.
    for corpus, measures in ours.items():
        drawn = {name: min((m for m in measures if m[0] == name), default=None) for name in beside}
        for measure in sorted(measures):
            correlations = {name: other and pairs.get((corpus, measure, other)) for name, other in drawn.items()}
            if not any(correlations.values()):
                continue
            n = max(pair["n"] for pair in correlations.values() if pair)
            for name, pair in correlations.items():
                if pair and pair["r"] is not None:
                    marks |= {(len(shown), name): f"n = {pair['n']}"} if pair["n"] != n else {}
                    ends = fisher_interval(pair["r"], pair["n"])
                    intervals |= {(len(shown), name): ends} if ends else {}
                itself = "the measure itself" if measure == drawn[name] else "not measured here"
                reasons[len(shown), name] = (pair["reason"] if pair else itself) or UNEXPLAINED
            values = {name: pair["r"] if pair else None for name, pair in correlations.items()}
            shown.append({"corpus": corpus, "metric": words(measure[0]), "definition": measure[1], **values, "n": n})
    # Columns and notes.
    numbers = dict.fromkeys(beside, pl.Float64) | {"n": pl.Int64}
    most = max((int(str(row["n"])) for row in shown), default=0)
    schema = dict.fromkeys(("corpus", "metric", "definition"), pl.String) | numbers
    return Table(
        "metric-correlations",
        METRIC_CORRELATIONS.prints[0].caption.format(measures=join_all([words(name) for name in beside])),
        pl.DataFrame(shown, schema=schema),
        [
            *(PrintedColumn(name) for name in ("corpus", "metric", "definition")),
            *(PrintedColumn(name, words(name), "real", METRIC_CORRELATIONS["r"].decimals) for name in beside),
            column_of(METRIC_CORRELATIONS["n"]),
        ],
        reasons,
        marks=marks,
        intervals=intervals,
        notes=[FISHER, *[OTHER_N] * bool(marks), *left_out],
        source=source_of(METRIC_CORRELATIONS),
        finding=_too_few_finding(most),
        folded=len(shown) > (METRIC_CORRELATIONS.prints[0].folds_above or 0),
    )
