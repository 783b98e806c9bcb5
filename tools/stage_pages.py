"""Write the pages of the documentation's site to build/pages, for ``mkdocs build``: ``python -m tools.stage_pages``.

Three pages are generated from docstrings and declarations. All others are copied from the repository, with the files
that they link to. Paths stay those of the repository, so that relative links work.
"""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tools import make_api_docs, make_configuration_docs, make_table_docs

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "build" / "pages"
GENERATED: dict[Path, Callable[[], str]] = {
    Path("docs/api.md"): make_api_docs.page,
    Path("docs/configuration.md"): make_configuration_docs.page,
    Path("docs/tables.md"): make_table_docs.page,
}
"""Pages that exist only in the site, and the functions that write their text."""
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


def stage(folder: Path = PAGES) -> list[Path]:
    """Write all pages and copy the files that they link to; return the paths of the pages, relative to the folder."""
    files = tracked()
    texts = {path: (ROOT / path).read_text(encoding="utf-8") for path in pages(files)}
    texts |= {path: write() for path, write in GENERATED.items()}
    shutil.rmtree(folder, ignore_errors=True)
    for path in {target for page, text in texts.items() for target in linked(page, text, files)}:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, folder / path)
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return sorted(texts)


if __name__ == "__main__":
    print(f"{len(stage())} pages in {PAGES.relative_to(ROOT)}")
