"""Comparison of runs: tables and provenance of each, changed cells, and parts of only one run.

Several runs are each compared with the first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import polars as pl

from tokbench.corpus.documents import contents_in
from tokbench.errors import TokbenchError
from tokbench.inspection.comparison.cells import (
    BEYOND,
    EXACT,
    SINGLE,
    SUMMED,
    UNTESTED,
    WITHIN,
    Change,
    Judgement,
    Key,
    TableComparison,
    compare_tables,
    paired,
)
from tokbench.io.json import read_json
from tokbench.io.paths import literal
from tokbench.io.tables import read_frame
from tokbench.io.text_files import first_line
from tokbench.report.leaderboard import NAME as LEADERBOARD
from tokbench.statistics.inputs import IN_PARTS
from tokbench.statistics.significance.verdicts import ALPHA
from tokbench.statistics.significance.wilcoxon import holm
from tokbench.tabulation.table import TidyTable
from tokbench.tokenizer.folder import SETTINGS

KEPT = "tidy"
"""Folder of the tables of a kept run."""
MANIFESTS = ("tokenizers/*/*/manifest.json", "byte_lm/*/*/model/manifest.json", "models/*/*/*/manifest.json")


@dataclass(frozen=True)
class ComparedRun:
    """Tables and provenance of a run.

    Attributes:
        name: its name.
        frames: its tables with keys, by name, with the declared columns.
        versions: versions by package, and source revisions; several if artefacts differ.
        corpora: SHA-256 of each split, by corpus and split.
        tokenizers: SHA-256 of each tokenizer, by variant and size.
    """

    name: str
    frames: Mapping[str, pl.DataFrame]
    versions: Mapping[str, tuple[str, ...]]
    corpora: Mapping[str, str]
    tokenizers: Mapping[str, str]


def read_run(folder: Path, name: str, declared: Iterable[TidyTable]) -> ComparedRun:
    """Read a run's folder, such as ``results/demo`` or ``results/published/novels``.

    Raises:
        TokbenchError: it has no tables, or a table is damaged.
    """
    files = files_of(folder, declared)
    frames = {name: read_table(path, table) for name, (path, table) in files.items() if table.keys}
    return ComparedRun(name, frames, _versions(folder), _corpora(folder), dict(_tokenizers(folder)))


def files_of(folder: Path, declared: Iterable[TidyTable]) -> dict[str, tuple[Path, TidyTable]]:
    """Return the files of a run's tables with their declarations, by name.

    Raises:
        TokbenchError: the folder has no tables.
    """
    files = {table.name: (path, table) for table in declared if (path := _file(folder, table)) is not None}
    if not files:
        raise TokbenchError(f"{folder}: no tables of an experiment; name a folder such as results/demo")
    return files


def _file(folder: Path, table: TidyTable) -> Path | None:
    places = [folder / table.folder / f"{table.name}.parquet"]
    places += [folder / KEPT / f"{table.name}.{ending}" for ending in ("parquet", "csv")]
    return next((path for path in places if path.is_file()), None)


def read_table(path: Path, table: TidyTable) -> pl.DataFrame:
    """Return the declared columns of a table; columns that are missing in older files are null.

    Raises:
        TokbenchError: the file is damaged, lacks a key, or has two rows with the same keys.
    """
    frame = _read(path, table)
    lacking = [name for name in table.keys if name not in frame.columns]
    if lacking:
        raise TokbenchError(f"{path}: no column {', '.join(lacking)}; make the table again")
    absent = [pl.lit(None, dtype).alias(name) for name, dtype in table.schema.items() if name not in frame.columns]
    frame = frame.with_columns(absent).select(list(table.schema)).cast(table.schema)  # type: ignore[arg-type]
    if table.keys and not frame.select(table.keys).is_unique().all():
        raise TokbenchError(f"{path}: two rows have the same {', '.join(table.keys)}; make the table again")
    return frame


def _read(path: Path, table: TidyTable) -> pl.DataFrame:
    if path.suffix == ".parquet":
        return read_frame(path, "make the table again")
    try:
        return pl.read_csv(literal(path), schema_overrides=table.schema)
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise TokbenchError(f"{path}: not readable as CSV ({first_line(error)}); make the table again") from None


def _versions(folder: Path) -> dict[str, tuple[str, ...]]:
    """Read versions from the manifests of the run's artefacts."""
    found: dict[str, set[str]] = {}
    for path in sorted(path for pattern in MANIFESTS for path in folder.glob(pattern)):
        manifest = read_json(path, "make its artefact again", lenient=True)
        made: dict[str, Any] = {**manifest.get("versions", {}), "source revision": manifest.get("revision")}
        made["python"] = manifest.get("hardware", {}).get("python")
        for what, version in made.items():
            if version is not None:
                found.setdefault(what, set()).add(str(version))
    return {what: tuple(sorted(versions)) for what, versions in sorted(found.items())}


def _corpora(folder: Path) -> dict[str, str]:
    """Return checksums of the corpora, from the leaderboard or else computed from the documents."""
    if (board := folder / LEADERBOARD).is_file():
        told = read_json(board, "write the leaderboard again", lenient=True)
        return {f"{one['corpus']}/{one['split']}": str(one["sha256"]) for one in told["corpora"]}
    return {split: found.sha256 for split, found in contents_in(folder).items()}


def _tokenizers(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.glob(f"tokenizers/*/*/{SETTINGS}")):
        settings = read_json(path, "build the tokenizer again", lenient=True)
        yield f"{path.parts[-3]}/{path.parts[-2]}", str(settings.get("sha256", ""))


NAMES = ("corpus", "variant", "size", "language", "metric", "model", "suite", "task", "order", "training_bytes")
"""Columns whose values are reported if only one run has them."""
JUDGEMENTS: tuple[Judgement, ...] = (BEYOND, EXACT, SINGLE, UNTESTED, WITHIN)
"""Judgements from most to least important."""
Both = tuple[str, str]
"""Values of the two runs; empty if missing."""


@dataclass(frozen=True)
class RunComparison:
    """Comparison of two runs.

    Attributes:
        a, b: the runs.
        tables: comparisons of the common tables.
        tables_a, tables_b: names of tables of only one run.
        values_a, values_b: values of :data:`NAMES` of only one run, by column.
    """

    a: ComparedRun
    b: ComparedRun
    tables: Sequence[TableComparison]
    tables_a: Sequence[str]
    tables_b: Sequence[str]
    values_a: Mapping[str, Sequence[str]]
    values_b: Mapping[str, Sequence[str]]

    @property
    def same(self) -> int:
        """Number of equal cells."""
        return sum(one.same for one in self.tables)

    def changes(self, *judgements: Judgement) -> list[Change]:
        """Return changed cells by judgement, then table and key; parts of distributions are last."""
        wanted = judgements or JUDGEMENTS
        every = [change for one in self.tables for change in one.changes]
        every.sort(key=lambda change: change.where.get("metric") in IN_PARTS)
        return [change for judgement in wanted for change in every if change.judgement == judgement]

    @property
    def alone(self) -> tuple[int, int]:
        """Numbers of rows, or values, of only one run."""
        return sum(len(one.only_a) for one in self.tables), sum(len(one.only_b) for one in self.tables)

    @property
    def differs(self) -> bool:
        """True if a change is not within noise, or a row or table is in only one run."""
        return bool(self.changes(BEYOND, EXACT, SINGLE, UNTESTED) or any(self.alone) or self.tables_a or self.tables_b)

    @property
    def versions(self) -> dict[str, Both]:
        """Versions and revisions that differ."""
        versions = [{what: " and ".join(found) for what, found in run.versions.items()} for run in (self.a, self.b)]
        return _unlike(*versions)

    @property
    def corpora(self) -> dict[str, Both]:
        """Checksums of splits that differ."""
        return _unlike(self.a.corpora, self.b.corpora)

    @property
    def tokenizers(self) -> dict[str, Both]:
        """Checksums of tokenizers that differ."""
        return _unlike(self.a.tokenizers, self.b.tokenizers)


def compare_runs(a: ComparedRun, b: ComparedRun, declared: Iterable[TidyTable]) -> RunComparison:
    """Compare two runs: every common table with keys, cell by cell."""
    tables = [table for table in declared if table.keys and table.name not in SUMMED]
    both = [table for table in tables if table.name in a.frames and table.name in b.frames]
    found = [compare_tables(table, a.frames[table.name], b.frames[table.name]) for table in both]
    only_a, only_b = (
        [table.name for table in tables if table.name in one.frames and table.name not in other.frames]
        for one, other in ((a, b), (b, a))
    )
    values_a, values_b = (dict(_values(one, other)) for one, other in ((a, b), (b, a)))
    return RunComparison(a, b, paired(found, a.frames, b.frames), only_a, only_b, values_a, values_b)


def _values(run: ComparedRun, other: ComparedRun) -> Iterator[tuple[str, list[str]]]:
    """Yield values that only the first run has, in common tables, by column."""
    for name in NAMES:
        sets = [
            {
                value
                for table, frame in one.frames.items()
                if table in run.frames and table in other.frames and name in frame.columns
                for value in frame[name].drop_nulls().unique()
            }
            for one in (run, other)
        ]
        if lacking := sorted(sets[0] - sets[1]):
            yield name, [str(value) for value in lacking]


def _unlike(a: Mapping[str, str], b: Mapping[str, str]) -> dict[str, Both]:
    both = {what: (a.get(what, ""), b.get(what, "")) for what in sorted({*a, *b})}
    return {what: pair for what, pair in both.items() if pair[0] != pair[1]}


MOST = len(ascii_uppercase)
Cell = tuple[str, Key, str]
"""Table, row key and column."""


@dataclass(frozen=True)
class Changed:
    """A cell that differs in at least one run.

    Attributes:
        by_run: the change from the first run to each other; None if the value is equal or missing.
    """

    by_run: Sequence[Change | None]

    @property
    def first(self) -> Change:
        """The first of its changes."""
        return next(change for change in self.by_run if change is not None)

    @property
    def rank(self) -> int:
        """Index of its most important judgement."""
        return min(JUDGEMENTS.index(change.judgement) for change in self.by_run if change is not None)


@dataclass(frozen=True)
class Several:
    """Comparison of several runs with the first.

    Attributes:
        comparisons: the first run with each other run, in the given order.
    """

    comparisons: Sequence[RunComparison]

    @property
    def runs(self) -> list[ComparedRun]:
        """All runs, the first one first."""
        return [self.comparisons[0].a, *(one.b for one in self.comparisons)]

    @property
    def differs(self) -> bool:
        """True if any run differs from the first beyond noise."""
        return any(one.differs for one in self.comparisons)

    def cells(self) -> list[Changed]:
        """Return cells that differ in any run, by their most important judgement, then table and key."""
        found: dict[Cell, list[Change | None]] = {}
        for place, comparison in enumerate(self.comparisons):
            for change in comparison.changes():
                cell = (change.table.name, change.key, change.column.name)
                found.setdefault(cell, [None] * len(self.comparisons))[place] = change
        return sorted(map(Changed, found.values()), key=lambda one: one.rank)


def compare_several(runs: Sequence[ComparedRun], declared: Iterable[TidyTable]) -> Several:
    """Compare each run with the first; Holm's correction is over the tests of all comparisons.

    Args:
        runs: two or more; the first is the reference.
        declared: declarations of the tables.

    Raises:
        TokbenchError: there are more than 26 runs.
    """
    if len(runs) > MOST:
        raise TokbenchError(f"{len(runs)} runs; compare at most {MOST}")
    tables = list(declared)
    return Several(_corrected([compare_runs(runs[0], other, tables) for other in runs[1:]]))


def _corrected(found: list[RunComparison]) -> list[RunComparison]:
    """Apply Holm's procedure to the tests of all comparisons."""
    tested = [change for one in found for table in one.tables for change in table.changes if change.p_value is not None]
    p_values = [change.p_value for change in tested if change.p_value is not None]
    adjusted = {id(change): p for change, p in zip(tested, holm(p_values).tolist(), strict=True)}

    def told(change: Change) -> Change:
        if id(change) not in adjusted:
            return change
        p = adjusted[id(change)]
        return replace(change, holm=p, judgement=BEYOND if p <= ALPHA else WITHIN)

    return [
        replace(one, tables=[replace(table, changes=list(map(told, table.changes))) for table in one.tables])
        for one in found
    ]


SIGNS = dict(zip(JUDGEMENTS, ("!", "", "○", "○", "≈"), strict=True))
LEGEND = (
    "Signs after a number: ! significantly different from A; ○ not tested (no interval, or too few trainings of the "
    "models); ≈ no significant difference. A count without a sign differs. = means equal to A, or missing."
)
SAME = "="


def sign(change: Change) -> str:
    """Return the sign after the number of a change."""
    return SIGNS[change.judgement]


def letters(several: Several) -> str:
    """Return the letters of the runs: A, B, C and so on."""
    return ascii_uppercase[: len(several.runs)]
