"""Build the reports of the experiments in results/published: ``python tools/build_reports.py FOLDER [NAME ...]``.

``make docs`` builds all of them into the site, ``make gallery`` those of docs/gallery.md. A report is made from the
tidy tables that are kept, with the settings that its provenance records.
"""

import argparse
import re
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

from analyse_published import analysed
from render_published import content_of, experiments

from tokbench.io.atomic import atomic_file
from tokbench.report.content import ReportContent
from tokbench.report.html import render
from tokbench.statistics.comparisons.scoreboard import SCOREBOARD

FILES = re.compile(r'<span class="files">.*?</span>', re.DOTALL)
"""Links to files of a run."""
SOURCE = re.compile(r'<a href="(?!#|https?:|data:)[^"]*">(.*?)</a>', re.DOTALL)
"""A link to another file of a run."""


def main() -> None:
    """Build reports and print their sizes."""
    parser = argparse.ArgumentParser(description="Build the reports of results/published.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="folders of results/published; default: all")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    for page in build(given.folder, given.names, given.processes):
        print(f"{page}: {page.stat().st_size / 1e6:.1f} MB", flush=True)


def build(folder: Path, names: Sequence[str] = (), processes: int = 1) -> list[Path]:
    """Write one page for each experiment, and return their paths.

    Args:
        folder: output folder.
        names: folders of results/published (default: all with tidy tables).
        processes: number of reports that are made at once (default 1).
    """
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [place for place in experiments() if not names or place.name in names]
    with ProcessPoolExecutor(processes) as pool:
        return list(pool.map(partial(_build_one, folder), chosen))


def _build_one(folder: Path, place: Path) -> Path:
    warnings.simplefilter("ignore")
    path = folder / f"{place.name}.html"
    render(with_scoreboard(place), path)
    alone = without_files(path.read_text(encoding="utf-8"))
    with atomic_file(path) as partial_file:
        partial_file.write_text(alone, encoding="utf-8")
    return path


def with_scoreboard(place: Path) -> ReportContent:
    """Return the report of a kept experiment with its scoreboard: the kept one, or that of the kept tables.

    Measures without their documents stay untested.
    """
    content = content_of(place)
    if SCOREBOARD.name in content.frames:
        return content
    return replace(content, frames={**content.frames, **analysed(place, [SCOREBOARD.name])})


def without_files(page: str) -> str:
    """Return a report without its links to the other files of its run, which the site does not have."""
    return SOURCE.sub(r"\1", FILES.sub("", page))


if __name__ == "__main__":
    main()
