"""Renderer of the tables and figures in results/published, from the tidy tables in that folder.

Run ``python tools/render_published.py``, or ``make published-results``, which also recomputes the papers. Git ignores
the output: ``tables/``, and ``figures/`` except images on a page.
"""

import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.config.experiment import Experiment
from tokbench.config.load import merge_values
from tokbench.errors import TokbenchError
from tokbench.io.tables import read_frame
from tokbench.io.yaml import parse_yaml, read_yaml
from tokbench.options import validated
from tokbench.report.content import ReportContent
from tokbench.report.figures.style import FULL, save
from tokbench.report.html import drawings, tables
from tokbench.report.loading import build_content
from tokbench.report.typeset import write_table
from tokbench.tabulation.table import TidyTable, tables_of

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "results" / "published"
PROVENANCE = "provenance.csv"
"""Table of an experiment's provenance at the time of its runs, with columns ``what`` and ``value``."""
TRANSLATION_KEYS = ("parallel_corpora", "translations")
"""Configuration keys that are invalid without the paths of texts."""
DECLARED = tables_of("tabulate", "analyse")
"""All tables that an experiment may have."""


def experiments() -> list[Path]:
    """Return the folders of experiments with tidy tables."""
    return sorted(folder.parent for folder in PUBLISHED.glob("*/tidy"))


def experiment_of(place: Path) -> tuple[Experiment, dict[str, Any]]:
    """Return a kept experiment and its configuration as written.

    Raises:
        TokbenchError: the README names no configuration.
    """
    named = re.search(r"--configfile((?: \S+\.yaml)+)", (place / "README.md").read_text(encoding="utf-8"))
    if named is None:
        raise TokbenchError(f"{place / 'README.md'}: no --configfile; add the command with it")
    experiment: dict[str, Any] = {}
    for name in named[1].split():
        experiment = merge_values(experiment, read_yaml(ROOT / name))
    without_text = {key: value for key, value in experiment.items() if key not in TRANSLATION_KEYS}
    return validated(without_text, Experiment, str(place)), experiment


def content_of(place: Path) -> ReportContent:
    """Return the report content of a kept experiment.

    Raises:
        TokbenchError: as :func:`experiment_of`, or a tidy table does not match its declaration.
    """
    frames = {table.name: kept(place / "tidy", table) for table in DECLARED if table.prints}
    there = {name: frame for name, frame in frames.items() if frame is not None}
    return build_content(*experiment_of(place), DECLARED, there, made(place))


def kept(folder: Path, table: TidyTable) -> pl.DataFrame | None:
    """Return a tidy table from Parquet or CSV; None if there is no file."""
    parquet, text = (folder / f"{table.name}.{suffix}" for suffix in ("parquet", "csv"))
    if parquet.is_file():
        return read_frame(parquet, "take it from the history")
    return pl.read_csv(text, schema=table.schema) if text.is_file() else None


def made(place: Path) -> dict[str, str]:
    """Return the provenance of an experiment; empty if there is no file."""
    path = place / PROVENANCE
    return dict(pl.read_csv(path, infer_schema=False).rows()) if path.is_file() else {}


def units_of(place: Path) -> dict[str, Path]:
    """Return the table of units of each corpus, as the recorded commands of an experiment name them.

    A table that is not kept is the recorded path: units of drawn corpora are in their own table of documents.
    """
    named: dict[str, str] = {}
    for what, value in made(place).items():
        words = shlex.split(value) if what.endswith("command") else []
        named |= dict(word.split("=", 1) for before, word in pairwise(words) if before == "--units")
        for word in words:
            if word.startswith("corpora="):
                corpora: dict[str, dict[str, str]] = parse_yaml(word.removeprefix("corpora="), word)
                named |= {name: corpus["units"] for name, corpus in corpora.items() if "units" in corpus}
    return {
        corpus: next((at / path for at in (place, ROOT) if (at / path).is_file()), Path(path))
        for corpus, path in named.items()
    }


def render(place: Path, into: Path) -> None:
    """Write ``tables/`` and ``figures/`` of one experiment."""
    content = content_of(place)
    (into / "figures").mkdir(parents=True, exist_ok=True)
    for table in tables(content):
        write_table(table, into / "tables" / table.name)
    for drawing in drawings(content):
        save(drawing.draw(width=FULL), into / "figures" / drawing.name)


if __name__ == "__main__":
    for folder in experiments():
        render(folder, folder)
        print(f"{folder.relative_to(ROOT)}: tables, figures")
