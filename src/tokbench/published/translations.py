"""Whether the translations of "BPE Gets Picky" tell thresholds apart: our own test, of the intervals that it prints.

The paper compares systems by a bootstrap paired by sentence, whose translations it does not print. It prints BLEU with
the half-width of a 95 % interval, from which the difference to BPE (threshold 1) has an interval as if the two were not
paired. Systems that translate the same sentences vary together, so that a paired interval would be narrower: what this
test tells apart is apart, and what it does not may still be.
"""

from math import hypot
from typing import Any

import polars as pl

from tokbench.published import facts
from tokbench.report.layout import Column, Table
from tokbench.statistics.corrections import holm
from tokbench.statistics.tails import chi_squared_tail

PAPER, BASE = "picky_bpe", "picky_10"
NORMAL = 1.959963984540054
"""Half-width of a 95 % interval, in standard errors."""


def translations_table() -> Table:
    """BLEU of every threshold less that of BPE, by direction."""
    rows = _differences()
    for row, adjusted in zip(rows, holm([row["p"] for row in rows]).tolist(), strict=True):
        row["holm"] = adjusted
    columns = [
        Column("direction"),
        Column("variant"),
        Column("bleu", "BLEU", "real", 1),
        Column("base", "BPE's", "real", 1),
        Column("difference", kind="real", decimals=1),
        Column("low", kind="real", decimals=2),
        Column("high", kind="real", decimals=2),
        Column("p", kind="p"),
        Column("holm", "p, Holm", "p"),
    ]
    caption = (
        "Table 1 of “BPE Gets Picky”: is BLEU other than BPE's? Our test beside theirs, which rests on translations "
        "that are not printed: 95 % interval of the difference and two-sided p from the printed intervals, as if "
        f"unpaired; Holm's correction over all {len(rows)}."
    )
    return Table("picky-bpe-bleu", caption, pl.DataFrame(rows), columns)


def _differences() -> list[dict[str, Any]]:
    cells = facts.cells().filter(paper=PAPER, where="Table 1").filter(pl.col("metric").is_in(["bleu", "bleu_interval"]))
    printed = {
        (row["corpus"], row["variant"], row["metric"]): float(row["value"]) for row in cells.iter_rows(named=True)
    }
    rows: list[dict[str, Any]] = []
    for direction, variant, metric in printed:
        if metric != "bleu" or variant == BASE:
            continue
        bleu, base = (printed[direction, name, "bleu"] for name in (variant, BASE))
        half = hypot(*(printed[direction, name, "bleu_interval"] for name in (variant, BASE)))
        difference = round(bleu - base, 1)
        rows.append(
            {
                "direction": direction,
                "variant": variant,
                "bleu": bleu,
                "base": base,
                "difference": difference,
                "low": difference - half,
                "high": difference + half,
                "p": chi_squared_tail((NORMAL * difference / half) ** 2, 1),
            }
        )
    return rows
