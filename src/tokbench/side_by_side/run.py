"""A run as it lies in its folder: its tables, and what made it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.corpus.digest import contents_in
from tokbench.errors import TokbenchError
from tokbench.inputs.files import first_line
from tokbench.inputs.frames import read_frame
from tokbench.inputs.json import read_json
from tokbench.inputs.paths import literal
from tokbench.leaderboard.files import NAME as LEADERBOARD
from tokbench.tidy.table import TidyTable
from tokbench.tokenizer_folder import SETTINGS

KEPT = "tidy"
"""Where the tables of a run that is kept lie, instead of by command."""
MANIFESTS = ("tokenizers/*/*/manifest.json", "byte_lm/*/*/model/manifest.json", "models/*/*/*/manifest.json")


@dataclass(frozen=True)
class Run:
    """One of two runs.

    Attributes:
        name: what it is called.
        frames: its tables by name, those with keys alone, with the columns declared.
        versions: versions of packages and source revisions, by what they are of; several where artefacts differ.
        corpora: checksum of each split, by corpus and split.
        tokenizers: checksum of each tokenizer, by variant and size.
    """

    name: str
    frames: Mapping[str, pl.DataFrame]
    versions: Mapping[str, tuple[str, ...]]
    corpora: Mapping[str, str]
    tokenizers: Mapping[str, str]


def read_run(folder: Path, name: str, declared: Iterable[TidyTable]) -> Run:
    """Read a run's folder, such as ``results/demo`` or ``results/published/novels``.

    Raises:
        TokbenchError: it has no tables, or one of them is damaged.
    """
    frames = {}
    for table in declared:
        if table.keys and (path := _file(folder, table)) is not None:
            frames[table.name] = _checked(_read(path, table), table, path)
    if not frames:
        raise TokbenchError(f"{folder}: no tables of an experiment; name a folder such as results/demo")
    return Run(name, frames, _versions(folder), _corpora(folder), dict(_tokenizers(folder)))


def _file(folder: Path, table: TidyTable) -> Path | None:
    places = [folder / table.folder / f"{table.name}.parquet"]
    places += [folder / KEPT / f"{table.name}.{ending}" for ending in ("parquet", "csv")]
    return next((path for path in places if path.is_file()), None)


def _read(path: Path, table: TidyTable) -> pl.DataFrame:
    if path.suffix == ".parquet":
        return read_frame(path, "make the table again")
    try:
        return pl.read_csv(literal(path), schema_overrides=table.schema)
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise TokbenchError(f"{path}: not readable as CSV ({first_line(error)}); make the table again") from None


def _checked(frame: pl.DataFrame, table: TidyTable, path: Path) -> pl.DataFrame:
    """The declared columns of a table; those that an older version did not have are empty."""
    lacking = [name for name in table.keys if name not in frame.columns]
    if lacking:
        raise TokbenchError(f"{path}: no column {', '.join(lacking)}; make the table again")
    absent = [pl.lit(None, dtype).alias(name) for name, dtype in table.schema.items() if name not in frame.columns]
    frame = frame.with_columns(absent).select(list(table.schema)).cast(table.schema)  # type: ignore[arg-type]
    if not frame.select(table.keys).is_unique().all():
        raise TokbenchError(f"{path}: two rows have the same {', '.join(table.keys)}; make the table again")
    return frame


def _versions(folder: Path) -> dict[str, tuple[str, ...]]:
    """What made the run's artefacts, by their manifests."""
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
    """Checksums of the corpora: as the run has written them, or found anew where it has not."""
    if (board := folder / LEADERBOARD).is_file():
        told = read_json(board, "write the leaderboard again", lenient=True)
        return {f"{one['corpus']}/{one['split']}": str(one["sha256"]) for one in told["corpora"]}
    return {split: found.sha256 for split, found in contents_in(folder).items()}


def _tokenizers(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.glob(f"tokenizers/*/*/{SETTINGS}")):
        settings = read_json(path, "build the tokenizer again", lenient=True)
        yield f"{path.parts[-3]}/{path.parts[-2]}", str(settings.get("sha256", ""))
