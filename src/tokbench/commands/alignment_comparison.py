"""How two tokenizers of an experiment align with morphemes, with an interval over the words of the gold data."""

from pathlib import Path

import polars as pl

from tokbench.commands.sides import Sizes, size_label
from tokbench.inputs.frames import read_frame
from tokbench.report.terminal import Line, Part
from tokbench.statistics.board_alignment import METRIC, contrast, foremost
from tokbench.tidy.documents import BOUNDARIES
from tokbench.tidy.table import schema

WHAT = "alignment with morphemes"
OWN_WORDS = (
    "  Intervals are Student's t over words. Each is scored on words of its own: those that are no token while all "
    "their morphemes are."
)


def alignment_part(a: str, b: str, sizes: Sizes, rows: pl.DataFrame, experiment: Path) -> tuple[Part, pl.DataFrame]:
    """The mean over all resources, as on the scoreboard, and the rows of which nothing is told here.

    Args:
        a, b: the variants.
        sizes: at which they are compared.
        rows: those of the table of intrinsic metrics that have a value, of these two.
        experiment: its folder.
    """
    path = experiment / "tables" / "alignment_by_word.parquet"
    by_word = read_frame(path, "tabulate again") if path.is_file() else pl.DataFrame(schema=schema(BOUNDARIES))
    found = foremost(rows.filter(metric=METRIC))
    lines, told = [], []
    for size_a, size_b in sizes:
        both = [(a, size_a), (b, size_b)]
        values = [found.filter(variant=name, size=size) for name, size in both]
        if any(len(one) != 1 for one in values):
            continue
        parts = [by_word.filter(variant=name, size=size) for name, size in both]
        found_both = [(part, one["value"][0]) for part, one in zip(parts, values, strict=True)]
        if (difference := contrast(*found_both)) is not None:
            definition = values[0]["definition"][0]
            lines.append(
                Line(size_label(size_a, size_b), difference, "highest", WHAT, definition, sizes=[(size_a, size_b)])
            )
            told += values
    groups = "groups of words" if by_word["words"].max() not in (None, 1) else "words"
    part = Part(
        f"Alignment with morphemes (F1); intervals over {groups}", "real", "real", lines, [OWN_WORDS] * bool(lines)
    )
    rest = rows.join(pl.concat(told), on=rows.columns, how="anti", nulls_equal=True) if told else rows
    return part, rest.sort("corpus", "metric", "definition", maintain_order=True)
