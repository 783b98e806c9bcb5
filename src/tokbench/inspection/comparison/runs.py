"""Comparison of two runs: values that differ, rows and tables of only one run, and differences in provenance.

Tables are joined by their keys. Values are compared exactly; nothing is tested.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.corpus.documents import contents_in
from tokbench.errors import TokbenchError
from tokbench.io.json import read_json
from tokbench.io.paths import literal
from tokbench.io.tables import read_frame
from tokbench.io.text_files import first_line
from tokbench.report.leaderboard import NAME as LEADERBOARD
from tokbench.statistics.inputs import IN_PARTS
from tokbench.tabulation.table import Column, TidyTable
from tokbench.tokenizer.folder import SETTINGS

KEPT = "tidy"
"""Folder of the tables of a kept run."""
MANIFESTS = ("tokenizers/*/*/manifest.json", "byte_lm/*/*/model/manifest.json", "models/*/*/*/manifest.json")
NAMES = ("corpus", "variant", "size", "language", "metric", "model", "suite", "task", "order", "training_bytes")
"""Columns whose values are reported if only one run has them."""
BY_PART = frozenset(
    {
        *("ngram_documents", "document_bits", "outcomes", "answer_measures", "perturbed_answers"),
        *("tokens_by_document", "alignment_by_word"),
    }
)
"""Tables of documents, questions and words. They are not compared, because other tables have their totals."""
NOT_COMPARED = ("n", "reason", "low", "high")
"""Columns that describe a value."""
SUFFIX = "_of_b"
Both = tuple[str, str]
"""Values of the two runs; empty if missing."""


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
    """Return the declared columns of a table; columns that are missing in the file are null.

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
    by_name: dict[str, set[str]] = {}
    for path in sorted(path for pattern in MANIFESTS for path in folder.glob(pattern)):
        manifest = read_json(path, "make its artefact again", lenient=True)
        made: dict[str, Any] = {**manifest.get("versions", {}), "source revision": manifest.get("revision")}
        made["python"] = manifest.get("hardware", {}).get("python")
        for name, version in made.items():
            if version is not None:
                by_name.setdefault(name, set()).add(str(version))
    return {name: tuple(sorted(versions)) for name, versions in sorted(by_name.items())}


def _corpora(folder: Path) -> dict[str, str]:
    """Return checksums of the corpora, from the leaderboard or else computed from the documents."""
    if (board := folder / LEADERBOARD).is_file():
        corpora = read_json(board, "write the leaderboard again", lenient=True)["corpora"]
        return {f"{corpus['corpus']}/{corpus['split']}": str(corpus["sha256"]) for corpus in corpora}
    return {split: content.sha256 for split, content in contents_in(folder).items()}


def _tokenizers(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.glob(f"tokenizers/*/*/{SETTINGS}")):
        settings = read_json(path, "build the tokenizer again", lenient=True)
        yield f"{path.parts[-3]}/{path.parts[-2]}", str(settings.get("sha256", ""))


@dataclass(frozen=True)
class Change:
    """A value that differs between two runs.

    Attributes:
        table: its table.
        key: key of its row by column, without empty values.
        column: its column.
        a, b: the two values; None if the run lacks the value.
        interval_a, interval_b: 95 % intervals of the values; None if the table has none.
    """

    table: TidyTable
    key: Mapping[str, Any]
    column: Column
    a: float | None
    b: float | None
    interval_a: tuple[float, float] | None = None
    interval_b: tuple[float, float] | None = None

    @property
    def difference(self) -> float | None:
        """b - a; None if a value is missing."""
        return None if self.a is None or self.b is None else self.b - self.a


@dataclass(frozen=True)
class RunDifferences:
    """Content of one of two runs that the other lacks.

    Attributes:
        tables: names of tables.
        values: values of :data:`NAMES` in common tables, by column.
        rows: table and key of each row of the common tables.
    """

    tables: Sequence[str]
    values: Mapping[str, Sequence[str]]
    rows: Sequence[tuple[TidyTable, Mapping[str, Any]]]


@dataclass(frozen=True)
class RunComparison:
    """Comparison of two runs.

    Attributes:
        a, b: the runs.
        same: number of equal values.
        changes: values that differ, by table, row and column; parts of distributions are last.
        only_a, only_b: content of only one run.
    """

    a: ComparedRun
    b: ComparedRun
    same: int
    changes: Sequence[Change]
    only_a: RunDifferences
    only_b: RunDifferences

    @property
    def differs(self) -> bool:
        """True if a value differs, or a row or table is in only one run."""
        return bool(self.changes or any(only.tables or only.rows for only in (self.only_a, self.only_b)))

    @property
    def versions(self) -> dict[str, Both]:
        """Versions and revisions that differ."""
        a, b = ({name: " and ".join(values) for name, values in run.versions.items()} for run in (self.a, self.b))
        return _unequal(a, b)

    @property
    def corpora(self) -> dict[str, Both]:
        """Checksums of splits that differ."""
        return _unequal(self.a.corpora, self.b.corpora)

    @property
    def tokenizers(self) -> dict[str, Both]:
        """Checksums of tokenizers that differ."""
        return _unequal(self.a.tokenizers, self.b.tokenizers)


def compare_runs(a: ComparedRun, b: ComparedRun, declared: Iterable[TidyTable]) -> RunComparison:
    """Compare two runs: join every common table by its keys, and compare all numbers that are no keys."""
    tables = [table for table in declared if table.keys and table.name not in BY_PART]
    same, changes = 0, list[Change]()
    for table in tables:
        if table.name in a.frames and table.name in b.frames:
            equal, changed = compare_tables(table, a.frames[table.name], b.frames[table.name])
            same += equal
            changes += changed
    changes.sort(key=lambda change: change.key.get("metric") in IN_PARTS)
    return RunComparison(a, b, same, changes, _only(a, b, tables), _only(b, a, tables))


def compare_tables(table: TidyTable, a: pl.DataFrame, b: pl.DataFrame) -> tuple[int, list[Change]]:
    """Return the number of equal values in the common rows of two frames of one table, and the values that differ."""
    keys = list(table.keys)
    both = a.join(b, on=keys, how="inner", suffix=SUFFIX, nulls_equal=True).sort(keys)
    columns = [
        column for column in table.columns if column.dtype.is_numeric() and column.name not in {*keys, *NOT_COMPARED}
    ]
    interval_of = next((column.name for column in columns if column.dtype == pl.Float64), "")
    same, changes = 0, []
    for column in columns:
        present = both.filter(~(pl.col(column.name).is_null() & pl.col(column.name + SUFFIX).is_null()))
        differ = present.filter(pl.col(column.name).ne_missing(pl.col(column.name + SUFFIX)))
        same += len(present) - len(differ)
        for row in differ.iter_rows(named=True):
            intervals = [_interval(row, suffix) if column.name == interval_of else None for suffix in ("", SUFFIX)]
            values = row[column.name], row[column.name + SUFFIX]
            changes.append(Change(table, _key(row, keys), column, *values, *intervals))
    return same, changes


def _interval(row: Mapping[str, Any], suffix: str) -> tuple[float, float] | None:
    """Return the interval of the first real number of a row."""
    low, high = row.get(f"low{suffix}"), row.get(f"high{suffix}")
    return None if low is None or high is None else (low, high)


def _key(row: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {name: row[name] for name in keys if row[name] not in (None, "")}


def _only(run: ComparedRun, other: ComparedRun, tables: Iterable[TidyTable]) -> RunDifferences:
    """Return the content of a run that another lacks."""
    own = [table for table in tables if table.name in run.frames]
    common = [table for table in own if table.name in other.frames]
    rows = list[tuple[TidyTable, Mapping[str, Any]]]()
    values: dict[str, set[Any]] = {name: set() for name in NAMES}
    known: dict[str, set[Any]] = {name: set() for name in NAMES}
    for table in common:
        keys = list(table.keys)
        mine, theirs = run.frames[table.name], other.frames[table.name]
        lacking = mine.select(keys).join(theirs.select(keys), on=keys, how="anti", nulls_equal=True).sort(keys)
        rows += [(table, _key(row, keys)) for row in lacking.iter_rows(named=True)]
        for name in set(NAMES) & set(mine.columns):
            values[name].update(mine[name].drop_nulls().unique())
            known[name].update(theirs[name].drop_nulls().unique())
    unknown = {name: [str(value) for value in sorted(values[name] - known[name])] for name in NAMES}
    return RunDifferences(
        [table.name for table in own if table.name not in other.frames],
        {name: texts for name, texts in unknown.items() if texts},
        rows,
    )


def _unequal(a: Mapping[str, str], b: Mapping[str, str]) -> dict[str, Both]:
    both = {name: (a.get(name, ""), b.get(name, "")) for name in sorted({*a, *b})}
    return {name: pair for name, pair in both.items() if pair[0] != pair[1]}
