"""Build the reports of the experiments in results/published: ``python tools/build_reports.py [NAME ...]``.

``make docs`` builds all of them into build/gallery, from where the site takes them, and ``make gallery`` those of
docs/gallery.md. A report is made from the tidy tables that are kept, with the settings that its provenance records. It
is made again if its folder, a configuration or the code is newer. The report of the demo is copied if it exists.
"""

import argparse
import re
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

from analyse_published import analysed
from render_published import DECLARED, ROOT, content_of, experiment_of, experiments, kept

from tokbench.io.atomic import atomic_file
from tokbench.report.content import ReportContent
from tokbench.report.html import render
from tokbench.statistics.comparisons.scoreboard import SCOREBOARD

PAGES = ROOT / "build" / "gallery"
DEMO = ROOT / "results" / "demo" / "report.html"
FILES = re.compile(r'(<span class="files">).*?(</span>)', re.DOTALL)
"""Links to files of a run. The page adds its buttons there."""
SOURCE = re.compile(r'<a href="(?!#|https?:|data:)[^"]*">(.*?)</a>', re.DOTALL)
"""A link to another file of a run."""


def main() -> None:
    """Build reports and print their sizes."""
    parser = argparse.ArgumentParser(description="Build the reports of results/published into build/gallery.")
    parser.add_argument("names", nargs="*", help="folders of results/published; default: all")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    pages = build(given.names, given.processes)
    print(
        f"{len(pages)} reports in {PAGES.relative_to(ROOT)}, {sum(page.stat().st_size for page in pages) / 1e6:.0f} MB"
    )


def build(names: Sequence[str] = (), processes: int = 1) -> list[Path]:
    """Write one page for each experiment and for the demo, and return their paths.

    Args:
        names: folders of results/published, or ``demo`` (default: all).
        processes: number of reports that are made at once (default 1).
    """
    PAGES.mkdir(parents=True, exist_ok=True)
    chosen = [place for place in experiments() if (not names or place.name in names) and has_its_variants(place)]
    newest = max(_changed(ROOT / folder) for folder in ("src/tokbench", "experiments", "tools"))
    old = [place for place in chosen if not max(newest, _changed(place)) < _changed(_page_of(place))]
    # Polars has threads, which a fork would lose.
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        list(pool.map(build_one, old))
    pages = [_page_of(place) for place in chosen]
    if DEMO.is_file() and (not names or "demo" in names):
        pages.append(PAGES / "demo.html")
        pages[-1].write_text(without_files(DEMO.read_text(encoding="utf-8")), encoding="utf-8")
    return pages


def _page_of(place: Path) -> Path:
    return PAGES / f"{place.name}.html"


def _changed(place: Path) -> float:
    """Return the time of the last change of a file, or of the files in a folder; 0 if there are none."""
    files = [place] if place.is_file() else place.rglob("*.*")
    return max((path.stat().st_mtime for path in files if path.suffix != ".pyc"), default=0)


def build_one(place: Path) -> None:
    """Write the report of one kept experiment."""
    warnings.simplefilter("ignore")
    page = _page_of(place)
    with atomic_file(page) as partial:
        render(with_scoreboard(place), partial)
        partial.write_text(without_files(partial.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{page.relative_to(ROOT)}: {page.stat().st_size / 1e6:.1f} MB", flush=True)


def has_its_variants(place: Path) -> bool:
    """Return whether the kept tables are of variants that today's configuration has; print a line if they are not."""
    experiment, _ = experiment_of(place)
    intrinsic = kept(place / "tidy", next(table for table in DECLARED if table.name == "intrinsic"))
    others = set() if intrinsic is None else set(intrinsic["variant"]) - set(experiment.variants)
    if others:
        print(f"{place.name}: no report; its configuration has no variant {', '.join(sorted(others)[:3])}")
    return not others


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
    return SOURCE.sub(r"\1", FILES.sub(r"\1\2", page))


if __name__ == "__main__":
    main()
