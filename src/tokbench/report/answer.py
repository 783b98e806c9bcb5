"""The answer of the report: the best of each measure against the baseline at every size, with caveats."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

import polars as pl

from tokbench.report.claims import CLAIMED, Claim, Crossing, Numbers, Row, claims, crossings, numbers
from tokbench.report.comparison_sentences import baseline_sentence
from tokbench.report.content import UNKNOWN_PRETOKENIZER, ReportContent
from tokbench.report.sentences import ANOTHER_SEED, few_of, number, states
from tokbench.report.wording import fitting_decimals, join_some, listed, pluralise, printed
from tokbench.statistics.comparisons.families import ACCURACY, ALIGNMENT, BASELINE, BITS, NGRAM, TOKENS
from tokbench.statistics.comparisons.scoreboard import SCOREBOARD
from tokbench.statistics.comparisons.scoreboard_rows import ALL_RESOURCES
from tokbench.statistics.significance.eligibility import ONE_TRAINING, TWO_TRAININGS
from tokbench.statistics.significance.student import detectable, quantile
from tokbench.statistics.significance.verdicts import ALPHA, NO_DIFFERENCE

_BEST = {
    TOKENS: "Fewest tokens",
    BITS: "Fewest bits per byte",
    NGRAM: "Fewest bits per byte",
    ACCURACY: "Highest accuracy",
    ALIGNMENT: "Closest to morphemes",
}
_MEASURES = {
    TOKENS: "Tokens",
    BITS: "Bits per byte",
    NGRAM: "Bits per byte",
    ACCURACY: "Accuracy",
    ALIGNMENT: "Alignment",
}
_UNITS = {TOKENS: " % of tokens", ACCURACY: " points of accuracy", ALIGNMENT: " of alignment (F1)"}
_PERCENT = (TOKENS, ACCURACY)
_OF_ALL_CORPORA = (ACCURACY, ALIGNMENT)
"""Measures that are not of a text."""
DECIMALS = 3
"""Digits after the point of bits per byte and F1."""
LEAST_SHARED = 0.01
"""Least share of the evaluation text in another split for a caveat."""


@dataclass(frozen=True)
class Statement:
    """A line of the answer.

    Attributes:
        head: short heading.
        text: sentences under the heading.
        corpus: the corpus of a statement on one of several corpora; empty otherwise.
    """

    head: str
    text: str
    corpus: str = ""


@dataclass(frozen=True)
class SizedAnswer:
    """The answer at one vocabulary size on one corpus.

    Attributes:
        size: vocabulary size.
        corpus: the corpus, if the scoreboard has several; empty otherwise.
        introduction: size, baseline and text of the comparison.
        statements: one for each measure.
    """

    size: int
    corpus: str
    introduction: str
    statements: Sequence[Statement]


def answers(content: ReportContent) -> list[SizedAnswer]:
    """Return the answer on every corpus at every size at which tokenizers are compared, the largest size first."""
    frame = content.frames.get(SCOREBOARD.name)
    sizes = [] if frame is None else sorted(frame["size"].unique().drop_nulls(), reverse=True)
    sized = [
        SizedAnswer(size, corpus, _introduction(part, size), _statements(part, size))
        for corpus, part in _by_corpus(content)
        for size in sizes
    ]
    return [one for one in sized if one.statements]


def _by_corpus(content: ReportContent) -> list[tuple[str, ReportContent]]:
    """Return each corpus of the scoreboard with its rows and those of all corpora, in the order of reading.

    With a single corpus or none, it is the content as it is, with an empty name.
    """
    frame = content.frames.get(SCOREBOARD.name)
    if frame is None:
        return [("", content)]
    of_all = pl.col("measure").is_in(_OF_ALL_CORPORA)
    names = content.corpora_of(frame.filter(~of_all, pl.col("corpus").fill_null("") != ""))
    if len(names) < 2:
        return [("", content)]
    parts = {name: frame.filter(of_all | (pl.col("corpus") == name)) for name in names}
    return [(name, replace(content, frames={**content.frames, SCOREBOARD.name: part})) for name, part in parts.items()]


def _statements(content: ReportContent, size: int) -> list[Statement]:
    best = {one.measure: one for one in claims(content, size)}
    across = {one.measure: one for one in crossings(content, size)}
    single = {one.measure: one for one in numbers(content, size)}
    if BITS in single:
        best.pop(NGRAM, None)
        across.pop(NGRAM, None)
    statements = []
    for measure in CLAIMED:
        if measure in best:
            statements.append(_claimed(content, best[measure], across.get(measure)))
        elif measure in across:
            statements.append(_crossed(content, across[measure]))
        elif measure in single:
            statements.append(_unranked(single[measure], content))
    return statements


def _introduction(content: ReportContent, size: int) -> str:
    """Name the size, the baseline and the text."""
    found: list[Claim | Crossing] = [*claims(content, size), *crossings(content, size)]
    rows = [one.best for one in found] + [one.rows[0] for one in numbers(content, size)]
    baseline = next((row["baseline"] for row in rows if row["baseline"]), None)
    corpus = next((row["corpus"] for row in rows if row["corpus"] and row["corpus"] != ALL_RESOURCES), None)
    of = f" (pre-tokenizer {content.pretokenizer(baseline)})" * content.several_pretokenizers if baseline else ""
    parts = [f"Vocabulary size {size:,}.", f"Baseline: {baseline}{of}." * bool(baseline)]
    return " ".join(filter(None, [*parts, f"Text: the evaluation split of {corpus}." * bool(corpus)]))


def _claimed(content: ReportContent, claim: Claim, crossing: Crossing | None) -> Statement:
    """Return the best with the baseline's pre-tokenizer, and the best of all if it has another pre-tokenizer."""
    best, measure = claim.best, claim.measure
    head = f"{_BEST[measure]}{' of those ranked' * claim.outdone}: {best['variant']}"
    own = f", pre-tokenizer {claim.pretokenizer}" * bool(claim.pretokenizer)
    value = f"{number(claim, best['value'], DECIMALS)}{_on(claim)}{own}."
    sentence = baseline_sentence(best)
    text = " ".join(filter(None, [sentence, value]))
    if best["difference_verdict"] == BASELINE:
        head += ", the baseline."
        if claim.second is not None:
            text += f" Next: {baseline_sentence(claim.second)}"
    elif best["difference"] is None:
        text += f" Compared with the others: {states(claim)}."
    elif alike := [variant for variant in claim.alike if variant != best["baseline"]]:
        text += f" {NO_DIFFERENCE.capitalize()} from {few_of(alike)}."
    if crossing is not None:
        text += f" With another pre-tokenizer: {baseline_sentence(crossing.best)}"
    return Statement(head, f"{text}{_missed(content, claim)}")


def _crossed(content: ReportContent, crossing: Crossing) -> Statement:
    """Return the best of a measure if no two tokenizers have the same pre-tokenizer."""
    head = f"{_BEST[crossing.measure]}: {_named(crossing)}"
    sentence = baseline_sentence(crossing.best)
    value = f"{number(crossing, crossing.best['value'], DECIMALS)}{_on(crossing)}."
    return Statement(head, f"{' '.join(filter(None, [sentence, value]))}{_missed(content, crossing)}")


def _named(crossing: Crossing) -> str:
    return f"{crossing.best['variant']} ({crossing.best['pretokenization'] or UNKNOWN_PRETOKENIZER})"


def _unranked(single: Numbers, content: ReportContent) -> Statement:
    """Return the range of numbers that are not ranked, and the baseline's."""
    rows, measure = single.rows, single.measure
    decimals = fitting_decimals([row["value"] for row in (rows[0], rows[-1])])
    several = len({row["pretokenization"] for row in rows}) > 1

    def value_of(row: Row) -> str:
        own = f", {content.pretokenizer(row['variant'])}" * several
        return f"{number(single, row['value'], decimals)} ({row['variant']}{own})"

    span = value_of(rows[0]) if len(rows) == 1 else f"from {value_of(rows[0])} to {value_of(rows[-1])}"
    middle = next((row for row in rows[1:-1] if row["variant"] == row["baseline"]), None)
    span += f"; {middle['variant']} has {number(single, middle['value'], decimals)}" if middle else ""
    on = _on(single).strip()
    text = f"{on[:1].upper()}{on[1:]}: {span}.{_missed(content, single)}"
    return Statement(f"{_MEASURES[measure]}: no ranking, one training of each.", text)


def _on(of: Claim | Crossing | Numbers) -> str:
    """Name the model and suite, or the gold data."""
    if of.measure == BITS:
        return f" with the language model {of.model}"
    if of.measure == ACCURACY:
        return f" with {of.model} on {of.suite}"
    return {TOKENS: " tokens", NGRAM: " with token n-gram models", ALIGNMENT: " (F1) on gold data"}.get(of.measure, "")


def _missed(content: ReportContent, of: Claim | Crossing | Numbers) -> str:
    """Return a sentence on differences of accuracy that are too small to detect; empty for other measures."""
    if of.measure != ACCURACY:
        return ""
    least = least_difference(content, of)
    return "" if least is None else f" Differences under about {least} would probably be missed."


def least_difference(content: ReportContent, of: Claim | Crossing | Numbers) -> str | None:
    """Return the true difference from the baseline that the test detects with probability 0.8, uncorrected, in words.

    It is the median over tokenizers. For bits per byte it comes from the table of pairs; otherwise from the width of
    the 95 % intervals, under normality. Accuracy of one training has intervals over questions only.

    Returns:
        None if there is no interval.
    """
    frame = content.frames[SCOREBOARD.name].filter(measure=of.measure, size=of.size)
    for key in ("corpus", "model", "suite"):
        frame = frame.filter(pl.col(key).fill_null("") == getattr(of, key))
    known = frame.drop_nulls(("difference_low", "difference_high", "n"))
    least = [
        _seen(high - low, n) for low, high, n in known.select("difference_low", "difference_high", "n").iter_rows()
    ]
    pairs = content.frames.get("task_measure_comparisons")
    if not least and of.measure == ACCURACY and pairs is not None:
        pairs = pairs.filter(model=of.model, suite=of.suite, size=of.size, measure=ACCURACY, task="")
        known = pairs.drop_nulls(("low", "high")).select("low", "high", "clusters")
        least = [_seen(high - low, n) for low, high, n in known.iter_rows()]
    if of.measure == BITS and (tested := content.frames.get("bits_comparisons")) is not None:
        tested = tested.filter(model=of.model, suite=of.suite, corpus=of.corpus, size=of.size)
        least = tested["detectable"].drop_nulls().to_list() or least
    least = [value for value in least if value > 0]
    if not least:
        return None
    value = median(least) * (100 if of.measure in _PERCENT else 1)
    text = printed(value, "real", 1 if of.measure in _PERCENT else DECIMALS)
    return f"{text}{_UNITS.get(of.measure, ' bits per byte')}" if text.strip("0.") else None


def _seen(width: float, n: int) -> float:
    """Return the difference detected with probability 0.8, from the width of a 95 % interval over ``n`` units."""
    degrees = max(n - 1.0, 1.0)
    return width / 2 / quantile(ALPHA, degrees) * detectable(degrees)


def caveats(content: ReportContent) -> list[Statement]:
    """Return the limits of the answer: other texts, other models, small differences."""
    frame = content.frames.get(SCOREBOARD.name)
    if frame is None or frame.is_empty():
        return []
    of_text = [
        replace(statement, corpus=corpus)
        for corpus, part in _by_corpus(content)
        for statement in (*_other_texts(part), *_shared(part))
    ]
    made = [_other_models(content), _seeds(frame), _groups(content), _small(content), _demonstration(content)]
    return [*of_text, *(statement for statement in made if statement is not None)]


def _corpus(content: ReportContent) -> str | None:
    """Return the corpus of the answer."""
    found: list[Claim | Crossing | Numbers] = [*claims(content), *crossings(content), *numbers(content)]
    return next((one.corpus for one in found if one.corpus in content.corpora), None)


def _extent(content: ReportContent, corpus: str, split: str) -> str:
    """Return documents and bytes of a split in words; empty if unknown."""
    documents, size = content.splits.get((corpus, split), (None, None))
    if documents is None or size is None:
        return ""
    return f"{pluralise(documents, 'document')}, {in_bytes(size)}"


def in_bytes(size: int) -> str:
    """Return a number of bytes with a decimal unit: ``209 kB``, ``2.1 MB``."""
    for unit, of in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= of:
            return f"{size / of:.{0 if size >= 100 * of else 1}f} {unit}"
    return pluralise(size, "byte")


def _other_texts(content: ReportContent) -> list[Statement]:
    corpus = _corpus(content)
    if corpus is None:
        return []
    extent = _extent(content, corpus, "evaluation")
    text = f"The text is {corpus}{f': {extent}' * bool(extent)}."
    built = [(one, _extent(content, one, "tokenizer")) for one in content.built_from]
    known = [f"{one} ({size})" if one != corpus or len(built) > 1 else size for one, size in built if size]
    text += f" Vocabularies were built from {listed(known)}." if 0 < len(known) < 4 else ""
    return [Statement("Another text can change the order.", text)]


def _shared(content: ReportContent) -> list[Statement]:
    """Return a statement on evaluation text that is also in another split."""
    frame, corpus = content.frames.get("leakage"), _corpus(content)
    if frame is None or corpus is None:
        return []
    rows = frame.filter(pl.col("corpus") == corpus, pl.col("shared_share") >= LEAST_SHARED)
    rows = rows.sort("shared_share", descending=True)
    parts = [
        f"{printed(share, 'percent', 1)} % is also in the {split} split" + (f" of {other}" * (other != corpus))
        for other, split, share in rows.select("other_corpus", "split", "shared_share").iter_rows()
    ]
    return [Statement("Part of the text also occurs in training text.", f"Of its bytes, {listed(parts)}.")] * bool(
        parts
    )


def _other_models(content: ReportContent) -> Statement | None:
    trained = content.frames.get("trained_on")
    if trained is None or trained.is_empty() or not trained["tokens"].count():
        return None
    parts = []
    for name in content.models:
        tokens = trained.filter(pl.col("model") == name)["tokens"].drop_nulls().to_list()
        if tokens:
            low, high = f"{min(tokens):,}", f"{max(tokens):,}"
            parts.append(f"{name} {low}" if low == high else f"{name} {low} to {high}")
    if not parts:
        return None
    return Statement("Larger language models can differ.", f"Tokens read in training: {join_some(parts, 4)}.")


def _seeds(frame: pl.DataFrame) -> Statement | None:
    reasons = {*frame["reason"].unique(), *frame["difference_reason"].unique()}
    if ONE_TRAINING in reasons:
        return Statement("Language models are not ranked.", f"One training of each. {ANOTHER_SEED}")
    if TWO_TRAININGS in reasons:
        return Statement(
            "No difference of language models is significant.", "Two trainings of each; a test needs three."
        )
    return None


def _groups(content: ReportContent) -> Statement | None:
    if not content.several_pretokenizers:
        return None
    groups: dict[str, int] = {}
    for variant in content.reading:
        groups[content.pretokenizer(variant)] = groups.get(content.pretokenizer(variant), 0) + 1
    names = [f"{name} ({count})" for name, count in groups.items()]
    text = f"{join_some(names, 6)}. Compare training methods within one of them."
    return Statement("Pre-tokenizers differ:", text)


def _small(content: ReportContent) -> Statement | None:
    found: list[Claim | Crossing | Numbers] = [*claims(content), *crossings(content), *numbers(content)]
    parts: dict[str, str] = {}
    if any(one.measure == BITS for one in found):
        found = [one for one in found if one.measure != NGRAM]
    for one in found:
        least = least_difference(content, one) if one.measure not in parts else None
        row = one.rows[0] if isinstance(one, Numbers) else one.best
        if least is not None:
            of = f" ({row['n']:,} {row['over']})" if row["n"] else ""
            parts[one.measure] = f"{least}{of}"
    if not parts:
        return None
    text = f"True differences under about {listed(list(parts.values()))} would probably be missed."
    return Statement("No significant difference does not mean equal.", text)


def _demonstration(content: ReportContent) -> Statement | None:
    if not content.demonstration:
        return None
    return Statement("This is a demonstration.", "Its text is the documentation that comes with Python.")
