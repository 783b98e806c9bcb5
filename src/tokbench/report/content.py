"""What a report is made of: the tidy frames that earlier stages wrote, the configuration, the provenance."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.inputs.frames import read_frame
from tokbench.tidy.table import SHARE, TidyTable

_ROUNDED = 1e-9
"""What rounding may add to a share."""
NOT_RUN = "This run gave no such table: its stage is switched off in the configuration or has not been run."


@dataclass(frozen=True)
class ReportContent:
    """Everything a report shows. A part that is None is left out, and its section says why.

    Attributes:
        title: the experiment's name.
        models: names of the models in the order of the configuration.
        resources: names of the resources of gold data; in tables they stand in the place of a corpus.
        preface: a paragraph of the author's own, above everything else.
        recipes: each variant's recipe as configured (phase: method or options), in the order of the configuration. The
            order settles each variant's colour and mark in every figure.
        configuration: the text of the configuration file.
        provenance: versions, source revision, seconds, hardware; values may be mappings.
        missing: part -> why it is not there, in one sentence.
        declared: the tables that a report may be of.
        frames: those that are there, by name, with the columns declared; an empty value has a reason.
    """

    title: str
    recipes: Mapping[str, Mapping[str, object]]
    configuration: str
    provenance: Mapping[str, object]
    declared: Sequence[TidyTable]
    frames: Mapping[str, pl.DataFrame]
    missing: Mapping[str, str] = field(default_factory=dict)
    preface: str = ""
    models: Sequence[str] = ()
    resources: Sequence[str] = ()
    _parts: dict[str, pl.DataFrame | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for table in self.declared:
            if table.name in self.frames:
                _check(table, self.frames[table.name])

    @property
    def variants(self) -> list[str]:
        """Variants in the order of the configuration."""
        return list(self.recipes)

    def in_order(self, rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Rows that begin with a variant, in the order of the configuration; variants it does not name come last."""
        place = {variant: index for index, variant in enumerate(self.variants)}
        return sorted(rows, key=lambda row: (place.get(row[0], len(place)), row))

    def part(self, name: str) -> pl.DataFrame | None:
        """The frame of one part, models in the order of the configuration; None where it is absent or has no row."""
        if name not in self._parts:
            self._parts[name] = self._arranged(name)
        return self._parts[name]

    def _arranged(self, name: str) -> pl.DataFrame | None:
        frame = self.frames.get(name)
        if frame is None or frame.is_empty():
            return None
        if "corpus" in frame.columns:
            frame = frame.with_columns(pl.col("corpus").fill_null("").replace("", "an unnamed corpus"))
        if "model" not in frame.columns:
            return frame
        place = {model: index for index, model in enumerate(self.models)}
        by_place = pl.col("model").replace_strict(place, default=len(place), return_dtype=pl.Int64)
        return frame.sort(by_place, maintain_order=True)

    def why_missing(self, name: str) -> str:
        """One sentence on why a part is not there."""
        return self.missing.get(name, NOT_RUN)


def _check(table: TidyTable, frame: pl.DataFrame) -> None:
    absent = [column.name for column in table.columns if column.name not in frame.columns]
    if absent:
        raise TokbenchError(
            f"{table.name}: no column {', '.join(absent)}; rebuild the table with the stage that writes it"
        )
    for column in (one for one in table.columns if one.unit == SHARE):
        outside = frame.filter(~pl.col(column.name).is_between(-_ROUNDED, 1 + _ROUNDED))
        if not outside.is_empty():
            raise TokbenchError(
                f"{table.name}.{column.name}: {outside[column.name][0]} is not a share between 0 and 1; divide "
                "percentages by 100"
            )


def read_frames(folders: Mapping[str, Path | str], declared: Iterable[TidyTable]) -> dict[str, pl.DataFrame]:
    """The tables that a report shows and that are there, as ``{name}.parquet``.

    Args:
        folders: where the tables of ``tables`` and of ``statistics`` lie.
        declared: the tables that there may be.
    """
    paths = {table.name: Path(folders[table.folder]) / f"{table.name}.parquet" for table in declared if table.prints}
    return {name: read_frame(path, "make the table again") for name, path in paths.items() if path.is_file()}
