"""Copy of the documentation pages and all linked files to build/pages, for ``mkdocs build``.

Pages keep their paths in the repository, so that relative links work.
"""

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "build" / "pages"
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def tracked() -> set[Path]:
    """Return tracked files, and new files that are not ignored, relative to the root."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        capture_output=True, check=True, text=True,
    ).stdout  # fmt: skip
    return {Path(name) for name in listed.split("\0") if name}


def pages(files: set[Path]) -> list[Path]:
    """Return the Markdown pages in the root, docs and results/published."""
    return sorted(
        path
        for path in files
        if path.suffix == ".md"
        and (len(path.parts) == 1 or path.parts[0] == "docs" or path.parts[:2] == ("results", "published"))
    )


def linked(page: Path, files: set[Path]) -> set[Path]:
    """Return the files that a page links to, without folders."""
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = (link for link in LINK.findall(text) if "://" not in link)
    found = {Path(*_parts((ROOT / page.parent / target).resolve())) for target in targets}
    return found & files


def _parts(path: Path) -> tuple[str, ...]:
    return path.relative_to(ROOT).parts if path.is_relative_to(ROOT) else ()


def stage() -> list[Path]:
    """Copy pages and linked files; return the pages."""
    files = tracked()
    shutil.rmtree(PAGES, ignore_errors=True)
    chosen = pages(files)
    for path in sorted({*chosen, *(target for page in chosen for target in linked(page, files))}):
        (PAGES / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, PAGES / path)
    return chosen


if __name__ == "__main__":
    print(f"{len(stage())} pages in {PAGES.relative_to(ROOT)}")
