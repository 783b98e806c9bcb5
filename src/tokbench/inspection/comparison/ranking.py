"""Tokenizers ranked by the number of tokens of the same documents, in total and by language.

``tokbench compare`` prints these rows and ``tokbench.compare`` returns them. Every tokenizer is compared with the first
one and with the best one, the ranked tokenizer with the fewest tokens. Each language is a family of comparisons of its
own. Premiums are those of :mod:`tokbench.metric.parallel_text` (Petrov et al. 2023).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tokbench.errors import TokbenchError
from tokbench.inspection.comparison.texts import TextComparison
from tokbench.report.sentences import comparison_sentence
from tokbench.statistics.comparisons.families import TOKENS

JUDGED = ("difference", "low", "high", "holm", "verdict", "reason")
"""Columns of a comparison: of that with the first tokenizer, and with the suffix ``_best`` of that with the best."""
NOT_PARALLEL = "languages have different numbers of sentences, so the text is not parallel"
Row = dict[str, Any]


def ranking_rows(texts: TextComparison, reference: str | None = None) -> list[Row]:
    """Return a row for each tokenizer on all documents, then for each tokenizer in each language.

    Args:
        texts: tokenizers compared on the same documents.
        reference: language tag of the reference of premiums. Default: no premiums.

    Returns:
        Rows in the order of the tokenizers, and of the languages by tag. Columns:

        - ``language``: language tag; None for all documents.
        - ``name``, ``pretokenization``, ``size``: of the tokenizer. The size is None if it is not known.
        - ``tokens``, ``bytes_per_token``, ``changed``: tokens of the documents, bytes per token, and number of
          documents that decoding does not restore.
        - ``difference``, ``low``, ``high``, ``holm``, ``verdict``, ``reason``: tokens relative to those of the first
          tokenizer minus 1, its 95 % interval, Holm's p-value, verdict, and why it is not tested. None for the first.
        - ``documents``: number of documents of the comparison.
        - ``difference_best`` and so on: likewise, relative to the best tokenizer. None for the best.
        - ``premium``: tokens of the language relative to those of ``reference``; None without it.

    Raises:
        TokbenchError: the reference is not a language of the documents, or the text is not parallel.
    """
    languages = texts.by_language
    premiums = _premiums(languages, reference) if reference is not None else {}
    rows = _rows(None, texts, {})
    for language, part in languages.items():
        rows += _rows(language, part, premiums.get(language, {}))
    return rows


def best_of(texts: TextComparison) -> str | None:
    """Return the name of the tokenizer with the fewest tokens among those that restore the text; None if none does."""
    ranked = [name for name in texts.names if texts.family.compares(name)]
    return min(ranked, key=lambda name: texts.family.values[name].value or 0.0, default=None)


def _rows(language: str | None, texts: TextComparison, premiums: Mapping[str, float]) -> list[Row]:
    first, best = texts.names[0], best_of(texts)
    judged = {(row["a"], row["b"]): row for row in texts.rows()}
    rows: list[Row] = []
    for name, tokenizer, counts in zip(texts.names, texts.tokenizers, texts.counts, strict=True):
        tokens = sum(counts.tokens)
        to_first, to_best = judged.get((name, first)), judged.get((name, best or ""))
        row: Row = {
            "language": language,
            "name": name,
            "pretokenization": texts.pretokenizers[name],
            "size": tokenizer.nominal_size or None,
            "tokens": tokens,
            "bytes_per_token": texts.bytes / tokens if tokens else None,
            "changed": counts.changed,
            **_judgement(to_first, "" if name == first else texts.family.why_untested(name, first)),
            "documents": texts.documents if to_first is None else to_first["n"],
        }
        if best is not None:
            why = "" if name == best else texts.family.why_untested(name, best)
            row |= {f"{key}_best": value for key, value in _judgement(to_best, why).items()}
        rows.append(row | {"premium": premiums.get(name)})
    return rows


def _judgement(row: Mapping[str, Any] | None, why_untested: str) -> Row:
    """Return the columns of a comparison; those of one without an estimate have a reason, or are all None."""
    if row is not None:
        return {key: row[key] for key in JUDGED}
    columns: Row = dict.fromkeys(JUDGED)
    return columns | {"verdict": "not tested", "reason": why_untested} if why_untested else columns


def _premiums(languages: Mapping[str, TextComparison], reference: str) -> dict[str, dict[str, float]]:
    """Return tokens relative to those of the reference language, by language and tokenizer."""
    if reference not in languages:
        known = ", ".join(languages) or "none"
        raise TokbenchError(f"premium: the text has no language '{reference}'; name one of its languages ({known})")
    if len({sum(part.sentences) for part in languages.values()}) > 1:
        raise TokbenchError(f"premium: {NOT_PARALLEL}; leave the premium out")
    tokens = {language: part.tokens for language, part in languages.items()}
    base = tokens[reference]
    return {
        language: {name: number / base[name] for name, number in of_language.items() if base[name]}
        for language, of_language in tokens.items()
    }


def best_sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the sentence on the tokenizer with the fewest tokens against the first one.

    If the first has the fewest, the sentence is on the next one. A tokenizer that is not ranked, such as one that loses
    text, is named only if no other is left.

    Args:
        rows: rows of all documents, or of one language.

    Raises:
        TokbenchError: no row has a difference.
    """
    others = [row for row in rows if row["verdict"] is not None and row["difference"] is not None]
    if not others:
        raise TokbenchError("best: the table has no difference; compare two or more tokenizers")
    return row_sentence(min(others, key=lambda row: (bool(row["changed"]), row["tokens"])), _first(rows))


def row_sentence(row: Mapping[str, Any], first: Mapping[str, Any]) -> str:
    """Return the sentence on a tokenizer against the first one, with sizes and pre-tokenizers if they differ.

    Args:
        row: row of the tokenizer.
        first: row of the first tokenizer, of the same documents.
    """
    pair = {"a": row["name"], "b": first["name"], "measure": TOKENS, "unit": "documents", "n": row["documents"]}
    sides = (("a", row), ("b", first))
    differing = {f"{key}_{side}": one[key] for side, one in sides for key in ("pretokenization", "size")}
    return comparison_sentence({**row, **pair, **differing})


def _first(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return next(row for row in rows if row["verdict"] is None)
