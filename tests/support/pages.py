"""Files of a checkout, and the links and headings of Markdown pages."""

import re
import subprocess
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(?<!\\)!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?\s*\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def tracked_files() -> list[Path]:
    """Return the files of the checkout that git tracks; skip the test without git."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no git repository")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def links(text: str) -> list[str]:
    """Return the relative links of a page; code is skipped."""
    return [unquote(link) for link in LINK.findall(CODE.sub("", text)) if not re.match(r"[a-z]+:", link)]


def headings(text: str) -> list[str]:
    """Return the titles of a page's headings, without backquotes."""
    return re.findall(r"^#+ (.+)$", CODE.sub(lambda code: code[0].strip("`"), text), re.MULTILINE)


def forge_anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in headings(text)}


def site_anchors(text: str) -> set[str]:
    """Return the anchors that mkdocs gives to the headings of a page."""
    titles = (re.sub(r"[^\w\s-]", "", title.encode("ascii", "ignore").decode()) for title in headings(text))
    return {re.sub(r"[-\s]+", "-", title.strip().lower()) for title in titles}
