"""Table of a comparison of tokenizers by their numbers of tokens for the same documents."""

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.report.sentences import comparison_sentence
from tokbench.statistics.comparisons.families import TOKENS

if TYPE_CHECKING:
    from tokbench.inspection.comparison.texts import TextComparison

SCHEMA = {
    "name": pl.String,
    "pretokenization": pl.String,
    "size": pl.Int64,
    "tokens": pl.Int64,
    "bytes_per_token": pl.Float64,
    "changed": pl.Int64,
    "difference": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "holm": pl.Float64,
    "verdict": pl.String,
    "reason": pl.String,
    "documents": pl.Int64,
}


class Comparison(pl.DataFrame):
    """Result of :func:`tokbench.api.compare`: a polars frame with a baseline."""

    @property
    def baseline(self) -> str:
        """Name of the reference tokenizer: the row without a verdict."""
        return str(self._baseline()["name"])

    def best(self) -> str:
        """Return a sentence on the tokenizer with the fewest tokens, with the interval and verdict of its difference.

        It is the sentence of ``tokbench compare`` and of the report. If the baseline has the fewest, the sentence is on
        the next one. A tokenizer that is not ranked, such as one that loses text, is named only if no other is left.

        Raises:
            TokbenchError: rows or columns of the comparison are missing.
        """
        self._baseline()
        others = [row for row in self.rows(named=True) if row["verdict"] is not None and row["difference"] is not None]
        if not others:
            raise TokbenchError("best: the table has no difference; compare two or more tokenizers")
        row = min(others, key=lambda other: (bool(other["changed"]), other["tokens"]))
        return self.sentence(row["name"])

    def sentence(self, name: str) -> str:
        """Return the sentence on a tokenizer against the baseline.

        Raises:
            TokbenchError: there is no such tokenizer, or rows or columns of the comparison are missing.
        """
        baseline = self._baseline()
        row = next((row for row in self.rows(named=True) if row["name"] == name), None)
        if row is None or row["difference"] is None:
            raise TokbenchError(f"sentence: '{name}' has no difference in this table; name one of its rows")
        pair = {"a": name, "b": baseline["name"], "measure": TOKENS, "unit": "documents", "n": row["documents"]}
        of = {"pretokenization_a": row["pretokenization"], "pretokenization_b": baseline["pretokenization"]}
        return comparison_sentence({**row, **pair, **of})

    def _baseline(self) -> Mapping[str, Any]:
        missing = SCHEMA.keys() - set(self.columns)
        rows = [] if missing else [row for row in self.rows(named=True) if row["verdict"] is None]
        if len(rows) != 1:
            raise TokbenchError(
                "the table has no row of the baseline, or not all columns; keep those of the comparison"
            )
        return rows[0]

    def _sentences(self) -> str:
        """Return the baseline and the result of :meth:`best`; empty if rows or columns are missing."""
        try:
            return f"difference: to the tokens of {self.baseline}\n{self.best()}"
        except TokbenchError:
            return ""

    def __repr__(self) -> str:
        return "\n".join(filter(None, [str(self), self._sentences()]))

    def _repr_html_(self, **options: Any) -> str:
        sentences = escape(self._sentences()).replace("\n", "<br>")
        return super()._repr_html_(**options) + (f"<p>{sentences}</p>" if sentences else "")


def comparison_of(measured: "TextComparison") -> Comparison:
    """Return the table of tokenizers that are compared on texts; the first is the baseline."""
    first = measured.names[0]
    verdicts = {row["a"]: row for row in measured.rows() if row["b"] == first}
    rows = []
    for name, tokenizer, counts in zip(measured.names, measured.tokenizers, measured.counts, strict=True):
        tokens = sum(counts.tokens)
        row = {
            "name": name,
            "pretokenization": measured.pretokenizers[name],
            "size": tokenizer.nominal_size or None,
            "tokens": tokens,
            "bytes_per_token": measured.bytes / tokens if tokens else None,
            "changed": counts.changed,
            "documents": len({unit for unit, size in zip(measured.units, measured.sizes, strict=True) if size}),
        }
        if (verdict := verdicts.get(name)) is not None:
            row |= {key: verdict[key] for key in ("difference", "low", "high", "holm", "verdict", "reason")}
            row["documents"] = verdict["n"]
        elif name != first:
            row |= {"verdict": "not tested", "reason": measured.family.why_untested(name, first)}
        rows.append(row)
    return Comparison(rows, schema=SCHEMA)
