"""Comparisons of tokenizers as JSON. The schema is in docs/programs.md."""

from collections.abc import Sequence
from typing import Any

from tokbench.inspection.comparison.named_tokenizers import NamedTokenizer
from tokbench.inspection.comparison.ranking import ranking_rows
from tokbench.inspection.comparison.terminal import Line, sentences, single_leads
from tokbench.inspection.comparison.tokenizers import Comparisons, TokenizerComparison
from tokbench.statistics.significance.verdicts import ALPHA, CONFIDENCE

FORMAT = 2
"""Version of the schema; incremented if a key changes its meaning or is removed."""
DIFFERENCES = {"share": "(b - a) / a", "percent": "b - a", "real": "b - a"}
"""Formula of a difference, by its number format."""


def comparisons_json(compared: Comparisons, premium: str | None = None) -> dict[str, Any]:
    """Return comparisons with the first tokenizer as a JSON object: one, or a list of several; and the rankings.

    Args:
        compared: the comparisons.
        premium: reference language of premiums (default: no premiums).
    """
    objects = [comparison_json(pair) for pair in compared.pairs]
    content = objects[0] if len(objects) == 1 else {"format": FORMAT, "comparisons": objects}
    rows = [
        {"source": ranking.source, **row}
        for ranking in compared.rankings
        for row in ranking_rows(ranking.comparison, premium)
    ]
    return content | ({"rows": rows} if rows else {})


def comparison_json(comparison: TokenizerComparison) -> dict[str, Any]:
    """Return the comparison as a JSON object."""
    return {
        # Keys of docs/programs.md, in its order.
        "format": FORMAT,
        "a": comparison.a,
        "b": comparison.b,
        "pretokenizations": dict(zip("ab", comparison.pretokenizers, strict=True)),
        "opened": {
            letter: _opened(side, [pair[place] for pair in comparison.sizes])
            for place, (letter, side) in enumerate(zip("ab", comparison.sides, strict=True))
        },
        "left_out": comparison.left_out or None,
        "confidence": CONFIDENCE,
        "alpha": ALPHA,
        "unequal_sizes": [
            {"size": size if size and size == other else None, "a": of_a, "b": of_b}
            for (size, other), (of_a, of_b) in comparison.unequal.items()
        ],
        "sentences": sentences(comparison.parts),
        "single_numbers": single_leads(comparison.parts),
        "parts": [
            {
                "heading": part.heading,
                "difference": DIFFERENCES[part.differs],
                "lines": [_line(line) for line in part.lines],
                "notes": [note.strip() for note in part.notes],
            }
            for part in comparison.parts
        ],
    }


def _opened(side: NamedTokenizer, sizes: Sequence[int]) -> dict[str, Any]:
    return {
        "kind": side.kind,
        "place": side.place,
        "sizes": [size for size in sizes if size],
        "tokens": [side.tokens(size) for size in sizes],
    }


def _line(line: Line) -> dict[str, Any]:
    row = line.row
    return {
        "name": line.name,
        "what": line.what,
        "definition": row.get("definition"),
        "better_end": line.better,
        "a": row["value_b"],
        "b": row["value_a"],
        **{name: row[name] for name in ("difference", "low", "high", "unit", "n", "seeds")},
        "p": row["p_value"],
        "p_holm": row["holm"],
        "verdict": row["verdict"],
        "reason": row["reason"],
        "ahead": line.leader or None,
    }
