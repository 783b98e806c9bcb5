"""Table of a comparison of tokenizers by their numbers of tokens for the same documents."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import polars as pl

from tokbench.errors import TokbenchError, nearest
from tokbench.inspection.comparison.ranking import best_sentence, ranking_rows, row_sentence

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tokbench.inspection.comparison.ranking_tables import RankingTable
    from tokbench.inspection.comparison.texts import TextComparison

JUDGEMENT = {
    "difference": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "holm": pl.Float64,
    "verdict": pl.String,
    "reason": pl.String,
}
SCHEMA = {
    "language": pl.String,
    "name": pl.String,
    "pretokenization": pl.String,
    "size": pl.Int64,
    "tokens": pl.Int64,
    "bytes_per_token": pl.Float64,
    "changed": pl.Int64,
    **JUDGEMENT,
    "documents": pl.Int64,
    **{f"{name}_best": kind for name, kind in JUDGEMENT.items()},
    "premium": pl.Float64,
}
PRINTED = ("language", "name", "size", "tokens", "bytes_per_token", "difference", "low", "high", "verdict", "premium")
"""Columns in print; those without a value are left out."""
SOURCE = "the given texts"


class Comparison(pl.DataFrame):
    """Result of :func:`tokbench.api.compare`: a polars frame with a baseline."""

    @property
    def baseline(self) -> str:
        """Name of the reference tokenizer: the row without a verdict."""
        return str(self._baseline(None)["name"])

    def best(self, language: str | None = None) -> str:
        """Return a sentence on the tokenizer with the fewest tokens, with the interval and verdict of its difference.

        It is the sentence of ``tokbench compare`` and of the report; sizes and pre-tokenizers are named if they
        differ. If the baseline has the fewest, the sentence is on the next one. A tokenizer that is not ranked, such as
        one that loses text, is named only if no other is left.

        Args:
            language: language tag. Default: all documents.

        Raises:
            TokbenchError: there is no such language, or rows or columns of the comparison are missing.
        """
        self._baseline(language)
        return best_sentence(self._rows(language))

    def sentence(self, name: str, language: str | None = None) -> str:
        """Return the sentence on a tokenizer against the baseline.

        Args:
            name: name of the tokenizer.
            language: language tag. Default: all documents.

        Raises:
            TokbenchError: there is no such tokenizer or language, or rows or columns of the comparison are missing.
        """
        baseline = self._baseline(language)
        row = next((row for row in self._rows(language) if row["name"] == name), None)
        if row is None or row["difference"] is None:
            raise TokbenchError(f"sentence: '{name}' has no difference in this table; name one of its rows")
        return row_sentence(row, baseline)

    def to_latex(self) -> str:
        """Return the comparison as LaTeX tables, sorted by tokens. They need ``adjustbox`` and ``booktabs``."""
        from tokbench.inspection.comparison.ranking_tables import tables_latex

        return tables_latex(self._tables())

    def to_markdown(self) -> str:
        """Return the comparison as Markdown tables, sorted by tokens."""
        from tokbench.inspection.comparison.ranking_tables import tables_markdown

        return tables_markdown(self._tables())

    def plot(self) -> "Figure":  # type: ignore[override]
        """Return a Matplotlib figure.

        It has a heat map of bytes per token if the documents have several languages, otherwise the differences from the
        baseline with their intervals.
        """
        from tokbench.report.figures import differences, heat_map

        self._baseline(None)
        by_language = [row for row in self.rows(named=True) if row["language"] is not None]
        names = [row["name"] for row in sorted(self._rows(None), key=lambda row: row["tokens"])]
        if by_language:
            values = {
                (row["language"], row["name"]): row["bytes_per_token"]
                for row in by_language
                if row["bytes_per_token"] is not None
            }
            return heat_map.draw(values, sorted({row["language"] for row in by_language}), names, "bytes per token")
        rows = {row["name"]: row for row in self._rows(None) if row["difference"] is not None}
        marks = [
            differences.Row(
                name,
                100 * row["difference"],
                None if row["low"] is None else (100 * row["low"], 100 * row["high"]),
                tested=row["holm"] is not None,
                significant=row["verdict"] in ("better", "worse"),
            )
            for name in names
            if (row := rows.get(name)) is not None
        ]
        return differences.draw(marks, "difference in tokens (%)", against=self.baseline, unit=" %")

    def _tables(self) -> "Sequence[RankingTable]":
        from tokbench.inspection.comparison.ranking_tables import ranking_tables

        self._baseline(None)
        return ranking_tables(self.rows(named=True), SOURCE)

    def _rows(self, language: str | None) -> list[dict[str, Any]]:
        """Return the rows of a language, or of all documents."""
        rows = [row for row in self.rows(named=True) if row["language"] == language]
        if not rows and language is not None:
            languages = sorted({row["language"] for row in self.rows(named=True) if row["language"] is not None})
            hint = nearest(language, languages) or " None is given." * (not languages)
            raise TokbenchError(f"the texts have no language '{language}'.{hint}")
        return rows

    def _baseline(self, language: str | None) -> Mapping[str, Any]:
        missing = SCHEMA.keys() - set(self.columns)
        rows = [] if missing else [row for row in self._rows(language) if row["verdict"] is None]
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

    def __str__(self) -> str:
        missing = SCHEMA.keys() - set(self.columns)
        if missing:
            return super().__str__()
        shown = [name for name in PRINTED if name in ("name", "tokens") or self[name].null_count() < len(self)]
        with pl.Config(tbl_cols=len(shown), tbl_hide_dataframe_shape=True):
            return str(pl.DataFrame(self.select(shown)))

    def __repr__(self) -> str:
        return "\n".join(filter(None, [str(self), self._sentences()]))

    def _repr_html_(self, **options: Any) -> str:
        sentences = escape(self._sentences()).replace("\n", "<br>")
        return super()._repr_html_(**options) + (f"<p>{sentences}</p>" if sentences else "")


def comparison_of(texts: "TextComparison", reference: str | None = None) -> Comparison:
    """Return the table of tokenizers that are compared on texts; the first is the baseline.

    Args:
        texts: tokenizers compared on the same documents.
        reference: reference language of premiums (default: no premiums).
    """
    return Comparison(ranking_rows(texts, reference), schema=SCHEMA)
