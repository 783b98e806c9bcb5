"""Write the pages of the documentation's site to build/pages, for ``mkdocs build``: ``python -m tools.stage_pages``.

Three pages are generated from docstrings and declarations, and one from the notebook. All others are copied from the
repository, with the files that they link to. Paths stay those of the repository, so that relative links work. Pages of
results link to their reports, which ``tools/build_reports.py`` builds. Their tables are not in the search, so that
definitions come first. The first page, the README, has the leaderboard of existing tokenizers in place of its picture.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tools import leaderboard_page, make_api_docs, make_configuration_docs, make_table_docs

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "build" / "pages"
NOTEBOOK, TOUR = Path("docs/tour.ipynb"), Path("docs/tour.md")
"""The notebook, and its page in the site."""


def notebook_page() -> str:
    """Return the notebook as Markdown: its text, its code, and its outputs as plain text."""
    parts = []
    for cell in json.loads((ROOT / NOTEBOOK).read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            shown = "".join(output["text"] if "text" in output else output["data"]["text/plain"])
            parts.append(f"```\n{shown.rstrip()}\n```")
    return "\n\n".join([*parts, f"[The notebook]({NOTEBOOK.name})\n"])


GENERATED: dict[Path, Callable[[], str]] = {
    Path("docs/api.md"): make_api_docs.page,
    Path("docs/configuration.md"): make_configuration_docs.page,
    Path("docs/tables.md"): make_table_docs.page,
    TOUR: notebook_page,
}
"""Pages that exist only in the site, and the functions that write their text."""
PUBLISHED = Path("results/published")
REPORTS = ROOT / "build" / "gallery"
"""Folder with the reports that ``tools/build_reports.py`` built."""
GALLERY = Path("docs/gallery.md")
PICTURE = re.compile(r"!\[[^]]*\]\(images/gallery/(\w+)\.png\)")
FIRST = Path("README.md")
LEADERBOARD = re.compile(r"!\[[^]]*\]\(docs/images/leaderboard\.png\)")
"""Picture of the leaderboard in the README."""
TABLE = re.compile(r"^\|.*\n(?:\|.*\n?)+", re.MULTILINE)
WEIGHTS = {
    Path("docs/glossary.md"): 1000, Path("docs/measured"): 0.001, PUBLISHED: 0.001, Path("CHANGELOG.md"): 0.001,
}  # fmt: skip
"""Weights of pages and folders in the search: definitions come first, results last. A title counts 1,000 times."""
REPORT = "reports/{}.html"
"""Path of a report in the site."""
ASSETS = ROOT / "tools" / "site"
"""Scripts and styles of the site: those of the leaderboard, and a script without which the search needs a server."""
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def tracked() -> set[Path]:
    """Return tracked files, and new files that are not ignored, relative to the root."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        capture_output=True, check=True, text=True,
    ).stdout  # fmt: skip
    return {path for name in listed.split("\0") if name and (ROOT / (path := Path(name))).is_file()}


def pages(files: set[Path]) -> list[Path]:
    """Return the Markdown pages in the root, docs and results/published."""
    return sorted(
        path
        for path in files
        if path.suffix == ".md"
        and (len(path.parts) == 1 or path.parts[0] == "docs" or path.parts[:2] == ("results", "published"))
    )


def linked(page: Path, text: str, files: set[Path]) -> set[Path]:
    """Return the files that the text of a page links to, without folders."""
    targets = (link for link in LINK.findall(text) if "://" not in link)
    return {Path(*_parts((ROOT / page.parent / target).resolve())) for target in targets} & files


def _parts(path: Path) -> tuple[str, ...]:
    return path.relative_to(ROOT).parts if path.is_relative_to(ROOT) else ()


def page_of_site(path: Path, text: str, reports: set[str]) -> str:
    """Return the text of a page as the site has it, with links to reports, and a weight for the search.

    Args:
        path: path of the page, relative to the root.
        text: its text in the repository.
        reports: names of the reports in the site.
    """
    link = "../" * (len(path.parts) - 1) + REPORT
    if path == FIRST:
        board = leaderboard_page.fragment(leaderboard_page.read_board(), f"{PUBLISHED}/existing/index.html")
        return f"---\nhide: [toc]\n---\n{LEADERBOARD.sub(lambda _: board, text)}"
    if path == GALLERY:
        links = {name: link.format(name) for name in sorted(reports)}
        text = PICTURE.sub(lambda shown: f"[{shown[0]}]({links[shown[1]]})" if shown[1] in links else shown[0], text)
        text += "".join(["\n## All reports\n\n", *(f"- [{name}]({links[name]})\n" for name in links)] if links else [])
    if path.is_relative_to(PUBLISHED):
        text = TABLE.sub(r'<div data-search-exclude markdown="1">\n\n\g<0>\n</div>\n', text)
        if (name := path.parent.name) in reports:
            title, _, rest = text.partition("\n")
            text = f"{title}\n\n[Report of this experiment]({link.format(name)})\n{rest}"
    weight = next((weight for place, weight in WEIGHTS.items() if path.is_relative_to(place)), None)
    return text if weight is None else f"---\nsearch: {{boost: {weight}}}\n---\n{text}"


def stage(folder: Path = PAGES) -> list[Path]:
    """Write all pages and copy reports and linked files; return the paths of the pages, relative to the folder."""
    files = tracked()
    built = {path.stem: path for path in REPORTS.glob("*.html")}
    texts = {path: page_of_site(path, (ROOT / path).read_text(encoding="utf-8"), set(built)) for path in pages(files)}
    texts |= {path: write() for path, write in GENERATED.items()}
    texts |= {path: text.replace(f"{NOTEBOOK.name})", f"{TOUR.name})") for path, text in texts.items() if path != TOUR}
    shutil.rmtree(folder, ignore_errors=True)
    for path in {target for page, text in texts.items() for target in linked(page, text, files)}:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, folder / path)
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    copies = {REPORT.format(name): path for name, path in built.items()}
    copies |= {f"assets/{asset.name}": asset for asset in sorted(ASSETS.iterdir())}
    for name, path in copies.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / name)
    return sorted(texts)


if __name__ == "__main__":
    print(f"{len(stage())} pages in {PAGES.relative_to(ROOT)}")
