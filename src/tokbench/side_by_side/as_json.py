"""Two runs side by side, for programs: the schema is in docs/programs.md."""

from typing import Any

from tokbench.side_by_side.cells import Change
from tokbench.side_by_side.several import Several
from tokbench.side_by_side.two_runs import JUDGEMENTS, Both, Comparison

FORMAT = 1
"""Raised when a key changes its meaning or goes."""


def comparison_json(found: Comparison) -> dict[str, Any]:
    """All of it, every change and every row that only one of the two has."""
    return {
        "format": FORMAT,
        "a": found.a.name,
        "b": found.b.name,
        "differs": found.differs,
        "same": found.same,
        "changed": {judgement: len(found.changes(judgement)) for judgement in JUDGEMENTS},
        "versions": _pairs(found.versions),
        "corpora": _pairs(found.corpora),
        "tokenizers": _pairs(found.tokenizers),
        "only": {
            letter: {
                "tables": list(tables),
                "values": [{"column": column, "values": list(names)} for column, names in values.items()],
                "rows": [
                    {"table": one.table.name, "key": dict(zip(one.table.keys, key, strict=True))}
                    for one in found.tables
                    for key in (one.only_a if letter == "a" else one.only_b)
                ],
            }
            for letter, tables, values in (
                ("a", found.tables_a, found.values_a),
                ("b", found.tables_b, found.values_b),
            )
        },
        "changes": [_change(change) for change in found.changes()],
    }


def several_json(found: Several) -> dict[str, Any]:
    """All of several runs beside the first."""
    return {
        "format": FORMAT,
        "runs": [run.name for run in found.runs],
        "differs": found.differs,
        "comparisons": [comparison_json(one) for one in found.comparisons],
    }


def _pairs(pairs: dict[str, Both]) -> list[dict[str, str | None]]:
    return [{"of": what, "a": a or None, "b": b or None} for what, (a, b) in pairs.items()]


def _change(change: Change) -> dict[str, Any]:
    of_a, of_b = (ends or (None, None) for ends in (change.interval_a, change.interval_b))
    return {
        "table": change.table.name,
        "key": change.where,
        "column": change.column.name,
        "judgement": change.judgement,
        "reason": change.reason or None,
        "a": change.a,
        "b": change.b,
        "difference": change.difference,
        "low": change.low,
        "high": change.high,
        "n": change.n,
        "p": change.p_value,
        "p_holm": change.holm,
        "a_low": of_a[0],
        "a_high": of_a[1],
        "b_low": of_b[0],
        "b_high": of_b[1],
    }
