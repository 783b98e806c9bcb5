"""What a checkout holds of results: pages, tidy tables and the figures that a page shows, no rendering; and links."""

import re
import subprocess
import tomllib
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import polars as pl
import pytest

from tests.conftest import tool_of
from tokbench.report.figures.style import FULL, save
from tokbench.report.html import drawings, tables
from tokbench.report.subjects import OTHERS, by_subject
from tokbench.statistics.tidy_tables import IN_PARTS

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "results" / "published"
LARGEST = 2 * 2**20
"""Bytes of the results that a checkout has, at most: no renderings, which `make published-results` makes again."""
KEPT = ("*/README.md", "*/.tokbench.json", "*/comparison.csv", "*/provenance.csv", "*/tidy/*.csv", "*/tidy/*.parquet")
"""What may be tracked beside the figures that a page shows."""
LINK = re.compile(r"(?<!\\)!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?\s*\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    """The files of a checkout, as git would write them."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no git repository")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.fixture(scope="module")
def renderer() -> ModuleType:
    return tool_of("render_published")


@pytest.mark.parametrize("kept", sorted(PUBLISHED.glob("*/tidy/intrinsic.parquet")), ids=lambda path: path.parts[-3])
def test_a_page_tells_which_vocabularies_are_smaller_than_their_size(kept: Path) -> None:
    sizes = pl.read_parquet(kept).filter(pl.col("metric") == "vocabulary_size", pl.col("value") < pl.col("size"))
    page = (kept.parents[1] / "README.md").read_text(encoding="utf-8")
    assert not [tokens for tokens in set(sizes["value"]) if f"{tokens:,.0f}" not in page]


@pytest.mark.parametrize("kept", sorted(PUBLISHED.glob("*/tidy/intrinsic.parquet")), ids=lambda path: path.parts[-3])
def test_kept_measures_bear_the_names_that_they_have_today(kept: Path) -> None:
    measures = pl.read_parquet(kept).filter(~pl.col("metric").is_in(IN_PARTS)).select("metric", "definition").rows()
    assert OTHERS not in [subject for subject, _ in by_subject(measures)]


def pages(tracked: list[Path]) -> list[Path]:
    return [path for path in tracked if path.suffix == ".md"]


def links(page: Path) -> list[str]:
    """Where a page leads, other sites left out; what is set as code is no link."""
    found = LINK.findall(CODE.sub("", page.read_text(encoding="utf-8")))
    return [unquote(link) for link in found if not re.match(r"[a-z]+:", link)]


def anchors(page: Path) -> set[str]:
    """The headings of a page, as GitHub names them."""
    titles = re.findall(r"^#+ (.+)$", CODE.sub(lambda code: code[0].strip("`"), page.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_kept_results_are_small(tracked: list[Path]) -> None:
    size = sum(path.stat().st_size for path in tracked if PUBLISHED in path.parents)
    assert 0 < size < LARGEST, (
        f"{size:,} bytes; keep renderings out, see make published-results, and pack tables with tools/pack_tables.py"
    )


def test_a_kept_table_is_packed_and_reads_as_before(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    table = pl.DataFrame(
        {
            "variant": ["a", "b"] * 500,
            "size": range(1000),
            "value": [number / 7 for number in range(999)] + [None],
        }
    )
    table.write_parquet(path)
    before = path.stat().st_size
    pack = tool_of("pack_tables").pack
    assert pack(path) == before - path.stat().st_size > 0
    assert pl.read_parquet(path).equals(table)
    assert pl.read_parquet(path).schema == table.schema
    assert pack(path) == 0
    assert [*tmp_path.iterdir()] == [path]


def test_no_rendering_is_tracked(tracked: list[Path]) -> None:
    """A table that is typeset, or a figure that no page shows."""
    shown = {(page.parent / link).resolve() for page in pages(tracked) for link in links(page)}
    kept = [path for path in tracked if PUBLISHED in path.parents]
    renderings = [
        str(path.relative_to(ROOT))
        for path in kept
        if path not in shown and not any(path.relative_to(PUBLISHED).match(pattern) for pattern in KEPT)
    ]
    assert kept
    assert renderings == []


def test_every_link_leads_to_what_is_there(tracked: list[Path]) -> None:
    there = {*tracked, *(folder for path in tracked for folder in path.parents)}
    dead = []
    for page in pages(tracked):
        for link in links(page):
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if target not in there or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
                dead.append(f"{page.relative_to(ROOT)}: {link}")
    assert dead == []


def test_the_readme_says_what_its_command_gives() -> None:
    """Check the README's summary against the page that the command writes."""
    page = (PUBLISHED / "papers" / "README.md").read_text(encoding="utf-8")
    counts = re.search(r"Of (\d+) numbers (\d+) .*, (\d+) .*, (\d+) do not, and (\d+) rest", page)
    assert counts is not None
    all_of_them, same, rounded, different, unprinted = map(int, counts.groups())
    wanted = (
        f"Of {all_of_them} numbers, {same + rounded} agree within rounding, {different} differ, "
        f"and {unprinted} cannot be recomputed"
    )
    assert same + rounded + different + unprinted == all_of_them
    assert wanted in " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


def test_the_pages_name_the_same_requirements() -> None:
    sentence = "Linux on x86-64, Python 3.11 or 3.12 with its headers, make, and a C and a C++ compiler."
    for page in ("README.md", "docs/first_steps.md"):
        assert sentence in " ".join((ROOT / page).read_text(encoding="utf-8").split())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">=3.11,<3.13"


def test_tidy_tables_are_those_that_are_declared(renderer: ModuleType) -> None:
    assert len(renderer.experiments()) == 11
    for place in renderer.experiments():
        named = {table.name: table for table in renderer.DECLARED}
        for path in (place / "tidy").iterdir():
            table = named[path.stem]
            frame = renderer.kept(place / "tidy", table)
            table.check(frame)
        assert tables(renderer.content_of(place))


def test_a_figure_is_drawn_as_it_is_kept(renderer: ModuleType, tmp_path: Path) -> None:
    [kept] = (PUBLISHED / "novels" / "figures").glob("corpus_token_count-books.svg")
    [drawing] = [one for one in drawings(renderer.content_of(PUBLISHED / "novels")) if one.name == kept.stem]
    save(drawing.draw(width=FULL), tmp_path / drawing.name)
    assert (tmp_path / kept.name).read_bytes() == kept.read_bytes()
