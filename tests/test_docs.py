"""The documentation: generated pages, links in the site and on a forge, contents, and numbers that registries know."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import tokbench
from tests.support.pages import ROOT, forge_anchors, links, site_anchors, tracked_files
from tokbench.tabulation.table import tables_of
from tools import make_api_docs, make_configuration_docs, stage_pages

PUBLISHED = ROOT / "results" / "published"
UNLISTED = {Path(f"results/published/{name}/README.md") for name in ("released", "study_pilot")}
"""Pages of the site that its contents leave out; other pages link to them."""


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    return tracked_files()


@pytest.fixture(scope="module")
def site(tracked: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[Path, str]:
    """The texts of the site's pages, by path."""
    folder = tmp_path_factory.mktemp("site")
    return {page: (folder / page).read_text(encoding="utf-8") for page in stage_pages.stage(folder)}


def test_generated_pages_are_in_the_site_and_not_in_the_checkout(tracked: list[Path], site: dict[Path, str]) -> None:
    assert len(stage_pages.GENERATED) == 4
    assert set(stage_pages.GENERATED) <= set(site)
    assert not {ROOT / page for page in stage_pages.GENERATED} & set(tracked)


def test_every_link_of_the_site_leads_to_a_page_or_file(tracked: list[Path], site: dict[Path, str]) -> None:
    exist = {*tracked, *(folder for path in tracked for folder in path.parents), *(ROOT / page for page in site)}
    exist |= {ROOT / "reports" / path.name for path in stage_pages.REPORTS.glob("*.html")}
    dead = []
    for page, text in site.items():
        for link in links(text):
            name, _, anchor = link.partition("#")
            target = (ROOT / page.parent / name).resolve() if name else ROOT / page
            found = site.get(target.relative_to(ROOT)) if target in exist and anchor else None
            if target not in exist or (found is not None and anchor not in site_anchors(found)):
                dead.append(f"{page}: {link}")
    assert dead == []


def test_links_between_committed_pages_have_the_anchors_of_a_forge(tracked: list[Path]) -> None:
    pages = {path: path.read_text(encoding="utf-8") for path in tracked if path.suffix == ".md"}
    dead = []
    for page, text in pages.items():
        for link in links(text):
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if anchor and target in pages and anchor not in forge_anchors(pages[target]):
                dead.append(f"{page.relative_to(ROOT)}: {link}")
    assert dead == []


def test_pages_of_the_root_link_to_committed_files_only() -> None:
    generated = {str(page) for page in stage_pages.GENERATED}
    for page in ROOT.glob("*.md"):
        assert not {link.partition("#")[0] for link in links(page.read_text(encoding="utf-8"))} & generated, page.name


def test_contents_of_the_site_name_every_page_once(site: dict[Path, str]) -> None:
    named = [Path(name) for name in re.findall(r": ([\w./-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)]
    assert len(named) == len(set(named))
    assert set(named) == set(site) - UNLISTED


def test_page_of_the_interface_has_every_public_name(site: dict[Path, str]) -> None:
    registries = {"constructions", "corpus_formats", "metrics", "pretokenizations", "resource_types", "segmentations"}
    for name in set(tokbench.__all__) - registries:
        assert f"### `tokbench.{name}`\n" in site[Path("docs/api.md")]
    assert make_api_docs.page() == site[Path("docs/api.md")]


def test_page_of_the_tables_has_every_column(site: dict[Path, str]) -> None:
    for table in tables_of("tabulate", "analyse", "cut_examples"):
        _, heading, section = site[Path("docs/tables.md")].partition(f"\n### {table.name}\n")
        assert heading
        named = re.findall(r"^\| `(\w+)` \|", section.partition("\n### ")[0], re.MULTILINE)
        assert named == [column.name for column in table.columns]


def test_page_of_the_configuration_has_every_method(site: dict[Path, str]) -> None:
    page = site[Path("docs/configuration.md")]
    assert page.startswith(make_configuration_docs.INTRODUCTION)
    registries = (tokbench.constructions, tokbench.pretokenizations, tokbench.segmentations, tokbench.resource_types)
    for methods in (*registries, tokbench.corpus_formats):
        assert not [name for name in methods if f"`{name}`" not in page]


NUMBER = r"(?:\d[\d,]*|three|four|five|six|seven|eight|nine|ten|eleven|\w+teen|(?:twen|thir|for|fif)ty(?:-\w+)?)"
REGISTERED = (
    r"(?:constructions|pre-tokeni[sz](?:ers|ations)|segmentations|(?:groups of )?metrics|methods|commands|file formats|"
    r"(?:kinds of )?perturbations|types of (?:source|resource)s?|tidy tables)"
)
COUNT = re.compile(rf"\b{NUMBER}(?: [a-z-]+)?\s+\**{REGISTERED}\b", re.IGNORECASE)
"""A number of things that a registry lists: it would be wrong after the next one is added."""


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("26 constructions", True),
        ("twenty kinds of perturbations", True),
        ("19 groups of metrics", True),
        ("thirty-one built-in methods", True),
        ("two segmentations of one text", False),
        ("16,384 tokens of all methods", False),
    ],
)
def test_counts_of_registered_things_are_found(text: str, counted: bool) -> None:
    assert bool(COUNT.search(text)) == counted


def test_pages_have_no_counts_that_a_registry_knows(site: dict[Path, str]) -> None:
    pages = {page: text for page, text in site.items() if page.parent in (Path(), Path("docs"))}
    del pages[Path("CHANGELOG.md")]
    assert [f"{page}: {count}" for page, text in pages.items() for count in COUNT.findall(text)] == []


def test_page_of_methods_has_the_same_totals_as_the_page_of_the_papers() -> None:
    page = (PUBLISHED / "papers" / "README.md").read_text(encoding="utf-8")
    counts = re.search(
        r"print (\d+) different numbers, \d+ times in all. (\d+) agree to .* (\d+) more agree .* (\d+) differ. "
        r"(\d+) cannot be recomputed",
        page,
    )
    assert counts is not None
    printed, same, rounded, different, unprinted = map(int, counts.groups())
    assert same + rounded + different + unprinted == printed
    methods = " ".join((ROOT / "docs" / "methods.md").read_text(encoding="utf-8").split())
    assert f"print {printed} different numbers. {same} agree to all printed digits. {rounded} more agree" in methods
    assert f"{different} differ. {unprinted} cannot be recomputed" in methods


def test_pages_name_the_same_requirements() -> None:
    sentence = "You need Linux, Python 3.11 to 3.14 with its headers, make, and a C and a C++ compiler."
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [size] = re.findall(r"packages \((.*) on disk\)", makefile)
    for page in ("README.md", "docs/first_steps.md"):
        text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        assert sentence in text
        assert size in text
    assert "not (3, 11) <= sys.version_info[:2] <= (3, 14)" in makefile
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">=3.11"


def test_the_makefile_names_tests_that_exist() -> None:
    """Those that only some targets run, or leave out: pytest says nothing about one that it is to leave out."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.findall(r"([\w/]+\.py)(?:::(\w+))?", re.sub(r"(?<![\w/])tests/", "", makefile))
    named = [(ROOT / "tests" / file, name) for file, name in named if not (ROOT / file).exists()]
    assert len(named) > 15
    for file, name in named:
        assert f"def {name}" in file.read_text(encoding="utf-8")


def test_pages_of_the_site_open_reports_and_searches_find_definitions_first() -> None:
    gallery, study = (Path(name) for name in ("docs/gallery.md", "results/published/study/README.md"))
    texts = {page: (ROOT / page).read_text(encoding="utf-8") for page in (gallery, study)}
    shown = {page: stage_pages.page_of_site(page, text, {"greedtok", "study"}) for page, text in texts.items()}
    assert "(images/gallery/greedtok.png)](../reports/greedtok.html)" in shown[gallery]
    assert "reports/picky_bpe.html" not in shown[gallery]
    assert "[Report of this experiment](../../../reports/study.html)" in shown[study]
    assert shown[study].startswith("---\nsearch: {boost: 0.001}\n---\n")
    rows = re.findall(r"^\|.*$", shown[study], re.MULTILINE)
    excluded = re.findall(r"<div data-search-exclude.*?</div>", shown[study], re.DOTALL)
    assert rows == [row for part in excluded for row in re.findall(r"^\|.*$", part, re.MULTILINE)]
    assert stage_pages.page_of_site(Path("docs/gap.md"), "text", set()) == "text"


def test_the_notebook_is_a_page_of_the_site(tmp_path: Path) -> None:
    """Its code and outputs can be read there, and pages link to the page instead of to the file."""
    stage_pages.stage(tmp_path)
    page = (tmp_path / stage_pages.TOUR).read_text(encoding="utf-8")
    cells = json.loads((ROOT / stage_pages.NOTEBOOK).read_text(encoding="utf-8"))["cells"]
    assert all("".join(cell["source"]) in page for cell in cells)
    assert page.count("```python") == sum(cell["cell_type"] == "code" for cell in cells)
    assert (tmp_path / stage_pages.NOTEBOOK).is_file()
    for name in ("README.md", "docs/api.md", "docs/README.md", "docs/first_steps.md"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "tour.md)" in text
        assert "tour.ipynb" not in text


def test_the_search_needs_no_network(tmp_path: Path) -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "plugins: [search, offline]" in settings
    assert "polyfills: [assets/iframe-worker.js]" in settings
    stage_pages.stage(tmp_path)
    assert "window.Worker" in (tmp_path / "assets" / "iframe-worker.js").read_text(encoding="utf-8")


def test_the_first_page_of_the_site_has_the_leaderboard(tmp_path: Path) -> None:
    """Its picture in the README becomes the table, with the script and the style that the site loads."""
    stage_pages.stage(tmp_path)
    first = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert first.count('<div class="leaderboard"') == 1
    assert "leaderboard.png" not in first
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    for asset in (*settings["extra_css"], *settings["extra_javascript"]):
        assert (tmp_path / asset).is_file()
    assert "<noscript>" in first
    assert re.search(r'<a href="results/published/existing/index\.html">', first)


def test_the_address_of_the_repository_is_the_same_everywhere() -> None:
    """Without one, no page prints an address or the name of a package that does not exist."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    address = project["tool"]["tokbench"]["repository"]
    assert project["project"].get("urls", {}).get("Repository", "") == address
    for page, key in (("CITATION.cff", "repository-code"), ("mkdocs.yml", "repo_url")):
        assert re.findall(rf"^{key}: (\S+)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE) == [
            address
        ] * bool(address), page
    readme, steps = ((ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/first_steps.md"))
    assert set(re.findall(r"git clone (\S+)", readme + steps)) == {address or "<repository>"}
    assert address or "pip install tokbench" not in readme + steps
