"""Table of a comparison of tokenizers by their numbers of tokens for the same documents."""

from collections.abc import Mapping
from html import escape
from typing import Any

import polars as pl

from tokbench.errors import TokbenchError

COLUMNS = {"name", "size", "tokens", "difference", "low", "high", "documents"}


class Comparison(pl.DataFrame):
    """Result of :func:`tokbench.api.compare`: a polars frame with a baseline."""

    @property
    def baseline(self) -> str:
        """Name of the reference tokenizer: the row without a difference."""
        return str(self._baseline()["name"])

    def best(self) -> str:
        """Return a sentence on the tokenizer with the fewest tokens, with the interval of its difference.

        The interval is of one pair; with several pairs, the sentence says that it is not corrected for their number.

        Raises:
            TokbenchError: rows or columns of the comparison are missing.
        """
        baseline = self._baseline()
        others = [row for row in self.rows(named=True) if row["difference"] is not None]
        if not others:
            raise TokbenchError("best: the table has no difference; compare two or more tokenizers")
        row = min(others, key=lambda other: other["tokens"])
        name, difference = baseline["name"], row["difference"]
        if difference == 0:
            said = f"{row['name']} needs the same number of tokens as {name}"
        elif difference < 0:
            said = f"{row['name']} needs {_percent(-difference)} fewer tokens than {name}"
        else:
            said = f"{name} needs the fewest tokens; {row['name']} needs {_percent(difference)} more"
        notes = [f"{said} ({_interval(row)})."]
        if len(others) > 1:
            notes.append(f"The interval is not corrected for {len(others)} comparisons.")
        if None in (baseline["size"], row["size"]):
            notes.append("A vocabulary size is not known.")
        elif baseline["size"] != row["size"]:
            notes.append("Vocabulary sizes differ.")
        return " ".join(notes)

    def _baseline(self) -> Mapping[str, Any]:
        missing = COLUMNS.difference(self.columns)
        rows = [] if missing else [row for row in self.rows(named=True) if row["difference"] is None]
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


def _percent(share: float, sign: str = "") -> str:
    digits = f"{100 * share:{sign}.1f}"
    return f"{digits if float(digits) or not share else f'{100 * share:{sign}.1g}'} %"


def _interval(row: Mapping[str, Any]) -> str:
    if row["low"] is None:
        return "one document: no interval" if row["documents"] == 1 else "no interval"
    verdict = "" if row["low"] > 0 or row["high"] < 0 else ": no significant difference"
    return f"95 % interval {_percent(row['low'], '+')} to {_percent(row['high'], '+')}{verdict}"
