"""Changes of numbers that have a value for each document or question, in both runs: paired, with Holm's correction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from tokbench.side_by_side.alignment import WORDS, alignment_contrasts
from tokbench.side_by_side.cells import UNTESTED, Change, Key, TableComparison, judged
from tokbench.statistics.contrast import Contrast, answered, bits_per_byte
from tokbench.statistics.corrections import holm
from tokbench.statistics.verdicts import ONE_TRAINING

Frames = Mapping[str, pl.DataFrame]


@dataclass(frozen=True)
class Drawn:
    """A table of what another's numbers are made of.

    Attributes:
        table: its name.
        keys: what it shares with the other.
        column: the other's number.
        whole: keys of the other that are empty where the number is of all that was drawn.
        of: columns that must be equal for two runs to have drawn the same.
    """

    table: str
    keys: tuple[str, ...]
    column: str
    whole: tuple[str, ...] = ()
    of: tuple[str, ...] = ("document", "language", "bytes")

    @property
    def untested(self) -> str:
        """The reason why numbers of trained models are not tested: each row is of one training."""
        return ONE_TRAINING if "model" in self.keys else ""


DRAWN = {
    "ngram_bits": Drawn(
        "ngram_documents", ("variant", "size", "corpus", "order", "training_bytes"), "value", whole=("language",)
    ),
    "bits_per_byte": Drawn("document_bits", ("variant", "size", "model", "suite"), "value"),
    "accuracy": Drawn("outcomes", ("variant", "size", "model", "suite", "task"), "accuracy", of=("document",)),
}
"""By the table whose numbers they are."""
INTRINSIC = "intrinsic"
TESTED = {name: drawn.column for name, drawn in DRAWN.items()} | {INTRINSIC: "value"}
"""The column of each table that tests are of."""
SUMMED = frozenset({*(drawn.table for drawn in DRAWN.values()), "tokens_by_document", WORDS})
"""Tables of documents, questions and words: other tables have their sums, and are compared in their place."""


def paired(found: Sequence[TableComparison], a: Frames, b: Frames) -> list[TableComparison]:
    """The comparisons with their changes tested, where both runs drew the same documents or questions.

    Tests are of the cells that changed: where nothing did there is nothing that a test could take for a change.

    Args:
        found: what changed.
        a, b: tables of documents and questions by name.
    """
    contrasts = [_contrasts(one, a, b) for one in found]
    tested = [(place, key) for place, of_table in enumerate(contrasts) for key in of_table]
    tested = [(place, key) for place, key in tested if contrasts[place][key].p_value is not None]
    p_values = [contrasts[place][key].p_value for place, key in tested]
    adjusted = dict(zip(tested, holm(p_values).tolist(), strict=True))  # type: ignore[arg-type]
    return [
        replace(
            one,
            changes=[
                _tested(change, contrasts[place].get(change.key), adjusted.get((place, change.key)))
                for change in one.changes
            ],
        )
        for place, one in enumerate(found)
    ]


def _contrasts(one: TableComparison, a: Frames, b: Frames) -> dict[Key, Contrast]:
    if one.table.name == INTRINSIC:
        return alignment_contrasts(one, a, b)
    drawn = DRAWN.get(one.table.name)
    if drawn is None or drawn.table not in a or drawn.table not in b:
        return {}
    wanted = {_shared(change, drawn): change.key for change in one.changes if _is_whole(change, drawn)}
    if not wanted:
        return {}
    of_a, of_b = (_parts(frames[drawn.table], drawn, wanted) for frames in (a, b))
    found = {}
    for shared, key in wanted.items():
        if shared in of_a and shared in of_b and (contrast := _contrast(of_a[shared], of_b[shared], drawn)):
            found[key] = replace(contrast, p_value=None) if drawn.untested else contrast
    return found


def _is_whole(change: Change, drawn: Drawn) -> bool:
    return change.column.name == drawn.column and not any(change.where.get(name) for name in drawn.whole)


def _shared(change: Change, drawn: Drawn) -> Key:
    where = dict(zip(change.table.keys, change.key, strict=True))
    return tuple(where[name] for name in drawn.keys)


def _parts(frame: pl.DataFrame, drawn: Drawn, wanted: Mapping[Key, Any]) -> dict[Key, pl.DataFrame]:
    rows = pl.DataFrame(list(wanted), schema={name: frame.schema[name] for name in drawn.keys}, orient="row")
    some = frame.join(rows, on=list(drawn.keys), how="semi").sort("document")
    return some.partition_by(drawn.keys, as_dict=True)


def _contrast(a: pl.DataFrame, b: pl.DataFrame, drawn: Drawn) -> Contrast | None:
    """b against a, so that the difference is what changed; None where they were not measured on the same."""
    if not a.select(drawn.of).equals(b.select(drawn.of)):
        return None
    if "correct" in a.columns:
        answers = (dict(zip(((0, n) for n in one["document"]), one["correct"], strict=True)) for one in (b, a))
        return answered(*answers)
    return bits_per_byte(b["bits"].to_list(), a["bits"].to_list(), a["bytes"].to_list())


def _tested(change: Change, contrast: Contrast | None, adjusted: float | None) -> Change:
    if contrast is None or change.column.name != TESTED[change.table.name]:
        return change
    ends = {"low": contrast.low, "high": contrast.high, "n": contrast.n, "p_value": contrast.p_value}
    drawn = DRAWN.get(change.table.name)
    if drawn is not None and drawn.untested:
        return replace(change, judgement=UNTESTED, reason=drawn.untested, **ends)  # type: ignore[arg-type]
    judgement = judged(contrast.low, contrast.high, adjusted)
    return replace(change, judgement=judgement, holm=adjusted, **ends)  # type: ignore[arg-type]
