"""Marks and notes on external tokenizers in tables and figures, with the text that they lose."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing, Exhibit, Section, Table
from tokbench.report.wording import join_all, pluralise
from tokbench.tabulation.external_tokenizers import IMPORTED, NATIVE
from tokbench.tokenizer.folder import OWN

AS_IT_IS, LOSSY = "*", "†"
UNRANKED = "For measures of its output, it is neither ranked with nor tested against tokenizers that lose nothing."
NAMES = ("variant", "a", "b")
"""Columns of variants."""


class ExternalTokenizers:
    """The external tokenizers of a report.

    Args:
        content: content of the report.
    """

    def __init__(self, content: ReportContent) -> None:
        frame = content.part(IMPORTED.name)
        self._rows: dict[str, dict[str, Any]] = (
            {} if frame is None else {row["variant"]: row for row in frame.iter_rows(named=True)}
        )

    @cached_property
    def lossy(self) -> frozenset[str]:
        """Variants that do not decode every document to its original text, or were not tested for that."""
        return frozenset(name for name, row in self._rows.items() if row["documents_changed"] != 0)

    def add_notes(self, section: Section) -> Section:
        """Return a section with marks and notes in its tables, and a sentence in the captions of its figures."""
        if not self._rows:
            return section
        return replace(section, exhibits=[self._with_notes(exhibit) for exhibit in section.exhibits])

    def _with_notes(self, exhibit: Exhibit) -> Exhibit:
        if isinstance(exhibit, Table):
            return self._with_marks(exhibit)
        if isinstance(exhibit, Drawing):
            shown = [variant for variant in exhibit.variants if variant in self._rows]
            return replace(exhibit, caption=" ".join([exhibit.caption, *self._sentences(shown)]))
        return exhibit

    def _with_marks(self, table: Table) -> Table:
        names = [column.name for column in table.printed_columns if column.name in NAMES]
        external = {
            (index, name): str(variant)
            for name in names
            for index, variant in enumerate(table.frame[name].to_list())
            if variant in self._rows
        }
        if not external or table.name == IMPORTED.name:
            return table
        marks = {place: LOSSY if variant in self.lossy else AS_IT_IS for place, variant in external.items()}
        paths = dict(external)
        for index, name in external:
            paths[index, "size"] = OWN if name == "variant" else "*"
        lossy = frozenset(index for (index, _), mark in marks.items() if mark == LOSSY)
        return replace(
            table,
            marks={**table.marks, **marks},
            paths={**table.paths, **paths},
            notes=[*table.notes, *self._sentences(dict.fromkeys(external.values()))],
            reference_rows=table.reference_rows | lossy,
        )

    def _sentences(self, variants: Iterable[str]) -> list[str]:
        """Return one sentence on lossless tokenizers for each way of running them, and one on each lossy tokenizer."""
        names = list(variants)
        ways: dict[str, list[str]] = {}
        for name in names:
            if name not in self.lossy:
                ways.setdefault(self._rows[name]["works_through"], []).append(name)
        sentences = [
            f"{AS_IT_IS} External tokenizer at its original size, {_note_on_library(way)}: {join_all(those)}."
            for way, those in ways.items()
        ]
        return sentences + [f"{LOSSY} {self._loss_sentence(name)}" for name in names if name in self.lossy]

    def _loss_sentence(self, name: str) -> str:
        row = self._rows[name]
        way = "run by Tokbench" if row["works_through"] == NATIVE else f"works through {row['works_through']}"
        through = f"{name}: external tokenizer at its original size, {way}"
        if row["documents"] is None:
            return f"{through}; its losses of text were not measured. {UNRANKED}"
        parts = [
            f"{row['documents_changed']:,} of {pluralise(row['documents'], 'document')} changed",
            f"at most {row['bytes_lost']:,} of {row['bytes']:,} bytes lost",
            f"{pluralise(row['unknown_tokens'], 'unknown token')}",
            f"{row['characters_normalised']:,} characters normalised",
        ]
        return f"{through} and loses text: {join_all(parts)}. {UNRANKED}"


def _note_on_library(works_through: str) -> str:
    if works_through == NATIVE:
        return "run by Tokbench with the ids of its library; lossless"
    return f"works through {works_through}; lossless on the evaluation split"
