"""The findings in plain sentences, each derived from the tables and none from hopes."""

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.elsewhere import Elsewhere
from tokbench.report.figures.p_values import SIGNIFICANCE
from tokbench.report.numbers import printed, probability
from tokbench.report.sections.comparisons import SELECTED
from tokbench.report.sections.downstream import ranked
from tokbench.report.sections.intrinsic import DRAWN, measured, whole_corpus, whole_corpus_rows
from tokbench.report.wording import counted, listed, words

_NAMED = 6


def summary(content: ReportContent) -> list[str]:
    """A sentence or two on each question that the tables can answer; the sections say what is missing."""
    return [*_best(content), *_fewest_tokens(content), *_fewest_bits(content), *_compression(content)]


def _best(content: ReportContent) -> list[str]:
    ranks = content.part("ranks")
    if ranks is None:
        return []
    sentences = []
    for (model, suite), part in ranks.group_by("model", "suite", maintain_order=True):
        order = ranked(part)
        if not order:
            continue
        best = part.row(by_predicate=pl.col("variant") == order[0], named=True)
        sentence = (
            f"Under {model} on {suite}, {order[0]} has the highest average accuracy, {100 * best['average']:.1f} %"
        )
        if best["random_baseline"] is not None:
            sentence += f" (random guessing: {100 * best['random_baseline']:.1f} %)"
        told = _significance(content, str(model), str(suite), order)
        sentences.append(" ".join(filter(None, (f"{sentence}.", told, SELECTED if content.many and told else ""))))
        unranked = part.filter(pl.col("average").is_null())["variant"].to_list()
        if unranked:
            sentences.append(f"Not ranked for want of some results: {_few(unranked)}.")
    return sentences


def _significance(content: ReportContent, model: str, suite: str, order: list[str]) -> str:
    comparisons = content.part("comparisons")
    if comparisons is None or len(order) < 2:
        return ""
    tested = comparisons.filter(model=model, suite=suite, a=order[0]).drop_nulls("p_value")
    p_values = {row["b"]: row["p_value"] for row in tested.iter_rows(named=True)}
    rivals = [variant for variant in order[1:] if p_values.get(variant, 0) > SIGNIFICANCE]
    if not p_values:
        return "No test could be made."
    if not rivals:
        told = f"(one-sided Wilcoxon, p ≤ {probability(max(p_values.values()))})"
        return f"It is significantly better than every other variant it was tested against {told}."
    if len(rivals) == len(p_values):
        return f"It is not significantly better than any other (one-sided Wilcoxon, p > {SIGNIFICANCE})."
    told = f"{_few(rivals)} (one-sided Wilcoxon, p > {SIGNIFICANCE})"
    others = f"the other {len(p_values) - len(rivals)}"
    return f"It is not significantly better than {told}. It is significantly better than {others}."


def _fewest_tokens(content: ReportContent) -> list[str]:
    intrinsic = content.part("intrinsic")
    if intrinsic is None:
        return []
    sentences = []
    lossy = Elsewhere(content).lossy
    for (corpus,), part in intrinsic.sort("corpus").group_by("corpus", maintain_order=True):
        _, found = measured(whole_corpus(part)[0], DRAWN[0])
        values = {key: value for key, value in found.items() if key[0] not in lossy}
        if values:
            variant, size = min(values, key=lambda key: (values[key], key))
            other, other_size = max(values, key=lambda key: (values[key], key))
            sentence = f"On {corpus}, {variant} at {size:,} needs the fewest tokens, {values[variant, size]:,.0f}"
            more = values[other, other_size] / values[variant, size]
            sentences.append(
                f"{sentence}; {other} at {other_size:,} needs {more:.2f} times as many." if more > 1 else f"{sentence}."
            )
            if left_out := sorted({variant for variant, _ in found} & lossy):
                sentences.append(f"Left out, since they do not give back all of a text: {_few(left_out)}.")
    return sentences


def _fewest_bits(content: ReportContent) -> list[str]:
    bits = content.part("bits_per_byte")
    if bits is None:
        return []
    known = bits.drop_nulls("value").filter(~pl.col("variant").is_in(list(Elsewhere(content).lossy)))
    if known.is_empty():
        return []
    row = known.sort("value", "variant", "size").row(0, named=True)
    return [
        f"The lowest bits per byte are {row['value']:.4f}, by {row['variant']} at {row['size']:,} under {row['model']}."
    ]


def _compression(content: ReportContent) -> list[str]:
    correlations = content.part("correlations")
    if correlations is None:
        return []
    rows = whole_corpus_rows(correlations.filter(pl.col("metric") == DRAWN[0])).drop_nulls("r")
    return [
        f"{words(DRAWN[0]).capitalize()} on {row['corpus']} and average accuracy of {row['model']} on {row['suite']} "
        f"correlate with r = {printed(row['r'], 'real', 3)} over {counted(row['n'], 'tokenizer')}."
        for row in rows.iter_rows(named=True)
    ]


def _few(names: list[str]) -> str:
    return listed(names) if len(names) <= _NAMED else listed([*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} more"])
