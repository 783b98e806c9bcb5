"""The answer on existing tokenizers: the most bytes per token on each corpus, against the baseline and the others."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tokbench.errors import shortened
from tokbench.report.content import ReportContent
from tokbench.report.sentences import MAX_NAMED, Statement, comparison_sentence, statement
from tokbench.report.wording import format_value, join_some, pluralise
from tokbench.statistics.comparisons.families import ALIKE, BASELINE, BEST, TOKENS, UNRANKED, UNTESTED
from tokbench.statistics.significance.verdicts import WORSE

Row = dict[str, Any]
MAX_LABEL = 40
"""Most characters of a pre-tokenizer in a sentence."""


def existing_answers(content: ReportContent) -> list[tuple[str, str, list[Statement]]]:
    """Return corpus (empty if there is one), introduction and statement of each corpus with existing tokenizers.

    Args:
        content: content of the report.
    """
    frame = content.existing
    if frame is None:
        return []
    answers = []
    corpora = content.corpora_of(frame)
    for corpus in corpora:
        part = frame.filter(pl.col("corpus") == corpus)
        rows = ranked_rows(content, part.filter(pl.col("language").is_null()))
        baseline = next((row for row in rows if row["difference_verdict"] == BASELINE), None)
        of = f" Baseline: {_sized(baseline)}." if baseline is not None else ""
        introduction = f"Existing tokenizers, each at its own size.{of} Text: the evaluation split of {corpus}."
        ranked = [row for row in rows if row["verdict"] != UNRANKED]
        statements = [_best_statement(ranked, rows, baseline, part)] if ranked else []
        answers.append((corpus if len(corpora) > 1 else "", introduction, statements))
    return answers


def ranked_rows(content: ReportContent, frame: pl.DataFrame) -> list[Row]:
    """Return rows by corpus in the order of reading, then by bytes per token; tokenizers that lose text are last.

    Args:
        content: content of the report.
        frame: rows of the table of existing tokenizers.
    """
    return sorted(
        frame.iter_rows(named=True),
        key=lambda row: (
            content.place_of_corpus(row["corpus"]),
            row["verdict"] == UNRANKED,
            -(row["bytes_per_token"] or 0.0),
            row["variant"],
        ),
    )


def existing_sentence(row: Mapping[str, Any], other: Mapping[str, Any], side: str = "difference") -> str:
    """Return the sentence on a tokenizer against another, with sizes and pre-tokenizers if they differ.

    Args:
        row: row of the tokenizer.
        other: row of the baseline, or of the best tokenizer, on the same text.
        side: ``difference`` for the difference from the baseline (default), ``behind`` for that from the best.
    """
    judged = "difference_" if side == "difference" else ""
    labels = {
        f"pretokenization_{name}": shortened(one["pretokenization"] or "not known", MAX_LABEL)
        for name, one in (("a", row), ("b", other))
    }
    return comparison_sentence(
        {
            "a": row["variant"],
            "b": other["variant"],
            "measure": TOKENS,
            "size_a": row["size"],
            "size_b": other["size"],
            "difference": row[side],
            "low": row[f"{side}_low"],
            "high": row[f"{side}_high"],
            "verdict": row[f"{judged}verdict"],
            "reason": row[f"{judged}reason"],
            "n": row["difference_n"],
            "unit": row["difference_unit"],
            **labels,
        }
    )


def languages_in_words(frame: pl.DataFrame) -> str:
    """Return a sentence on the tokenizers with the fewest tokens of each language; empty without languages.

    Args:
        frame: rows of one corpus.
    """
    best = frame.filter(pl.col("language").is_not_null(), verdict=BEST).sort("language")
    won: dict[str, list[str]] = {}
    for language, variant in best.select("language", "variant").iter_rows():
        won.setdefault(variant, []).append(language)
    ordered = sorted(won.items(), key=lambda languages: (-len(languages[1]), languages[0]))
    parts = [f"{variant} ({join_some(languages, MAX_NAMED)})" for variant, languages in ordered]
    return f"Fewest tokens by language: {join_some(parts, MAX_NAMED)}." if parts else ""


def _sized(row: Mapping[str, Any]) -> str:
    return f"{row['variant']} ({pluralise(row['size'], 'token')})"


def _best_statement(ranked: Sequence[Row], rows: Sequence[Row], baseline: Row | None, part: pl.DataFrame) -> Statement:
    """Return the statement on the best tokenizer.

    Args:
        ranked: rows of ranked tokenizers, the best first.
        rows: rows of all tokenizers.
        baseline: row of the baseline; None if there is none.
        part: rows of the corpus, with those by language.
    """
    best, *others = ranked
    # The comparison with the baseline, or of the next tokenizer with the best one.
    sentence = ""
    if baseline is not None and baseline is not best and best["difference"] is not None:
        sentence = existing_sentence(best, baseline)
    elif others and others[0]["difference"] is not None and baseline is best:
        sentence = existing_sentence(others[0], best)
    ends = [best[f"bytes_per_token_{end}"] for end in ("low", "high")]
    value = f"It has {format_value(best['bytes_per_token'], 'real', 2)} bytes per token"
    if None not in ends:
        low, high = (format_value(end, "real", 2) for end in ends)
        value += f" (95 % interval {low} to {high})"
    # Verdicts on the other tokenizers.
    worse = [row for row in others if row["verdict"] == WORSE]
    counts = f"{len(worse)} of {pluralise(len(others), 'other')} significantly worse."
    names = {verdict: [row["variant"] for row in others if row["verdict"] == verdict] for verdict in (ALIKE, UNTESTED)}
    counts += f" No significant difference from {join_some(names[ALIKE], MAX_NAMED)}." * bool(names[ALIKE])
    counts += f" Not tested: {join_some(names[UNTESTED], MAX_NAMED)}." * bool(names[UNTESTED])
    lossy = [row["variant"] for row in rows if row["verdict"] == UNRANKED]
    return statement(
        "existing",
        variant=best["variant"],
        size=pluralise(best["size"], "token"),
        baseline=", the baseline" * (baseline is best),
        comparison=sentence,
        value=f"{value}.",
        others=counts * bool(others),
        languages=languages_in_words(part),
        lossy=f"Not ranked, because they lose text: {join_some(lossy, MAX_NAMED)}." * bool(lossy),
    )
