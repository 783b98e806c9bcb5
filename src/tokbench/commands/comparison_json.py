"""What ``tokbench compare`` finds, for programs: the schema is in docs/programs.md."""

from collections.abc import Sequence
from typing import Any

from tokbench.commands.comparison import Compared
from tokbench.commands.sides import Side
from tokbench.report.terminal import Line, Told, verdict
from tokbench.statistics.bootstrap import CONFIDENCE, RESAMPLES
from tokbench.statistics.power import ALPHA

FORMAT = 1
"""Raised when a key changes its meaning or goes."""
DIFFERENCES = {"share": "(a - b) / b", "percent": "a - b", "real": "a - b"}
"""What a difference is, by how a terminal prints it."""


def comparison_json(found: Compared) -> dict[str, Any]:
    """All that the terminal says."""
    said = verdict(found.parts)
    return {
        "format": FORMAT,
        "a": found.a,
        "b": found.b,
        "pretokenizations": dict(zip("ab", found.pretokenizers, strict=True)),
        "opened": {
            letter: _opened(one, [pair[place] for pair in found.sizes])
            for place, (letter, one) in enumerate(zip("ab", found.sides, strict=True))
        },
        "left_out": found.left_out or None,
        "confidence": CONFIDENCE,
        "resamples": RESAMPLES,
        "alpha": ALPHA,
        "tests": sum(line.holm is not None for part in found.parts for line in part.lines),
        "unequal_sizes": [
            {"size": size if size and size == other else None, "a": of_a, "b": of_b}
            for (size, other), (of_a, of_b) in found.unequal.items()
        ],
        "verdict": {
            "better": {side: [_told(one) for one in said.sure[side]] for side in ("a", "b")},
            "not_told_apart": [_told(one) for one in said.sure[""]],
            "single_numbers": {side: said.single[side] for side in ("a", "b")},
        },
        "parts": [
            {
                "heading": part.heading,
                "difference": DIFFERENCES[part.differs],
                "lines": [_line(line) for line in part.lines],
                "notes": [note.strip() for note in part.notes],
            }
            for part in found.parts
        ],
    }


def _opened(side: Side, sizes: Sequence[int]) -> dict[str, Any]:
    return {
        "kind": side.kind,
        "place": side.place,
        "sizes": [size for size in sizes if size],
        "tokens": [side.tokens(size) for size in sizes],
    }


def _told(one: Told) -> dict[str, Any]:
    return {"what": f"{one.what} {one.under}".rstrip(), "at": list(one.at)}


def _line(line: Line) -> dict[str, Any]:
    contrast = line.contrast
    return {
        "name": line.name,
        "what": line.called,
        "definition": line.definition or None,
        "better_end": line.better,
        "a": contrast.a,
        "b": contrast.b,
        "difference": contrast.difference,
        "low": contrast.low,
        "high": contrast.high,
        "n": contrast.n,
        "p": contrast.p_value,
        "p_holm": line.holm,
        "ranked": line.ranked,
        "better": line.winner or None,
        "ahead": line.ahead or None,
    }
