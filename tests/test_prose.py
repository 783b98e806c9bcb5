"""Plain English in pages, docstrings, comments and names of tests: limits for words that hide a subject."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.stage_pages import GENERATED

ROOT = Path(__file__).parents[1]
VAGUE_WORDS = {
    "what": r"what",
    "tell": r"tells?|told|telling",
    "stand": r"stands?|stood",
    "beside": r"besides?",
    "whole": r"wholes?",
    "hold": r"holds?|holding|held(?![- ]out)",
    "so many": r"(?:so|as) many|so long",
    "whatever": r"whatever|whoever|wherever",
    "anew": r"anew|elsewhere|alike",
}
"""A pattern for each vague word."""
LIMITS = {
    "docs": {"what": 0.05, "so many": 0.1},
    "pages of the root": {},
    "generated pages": {"tell": 0.07},
    "results/published": {"what": 0.2, "tell": 0.1, "beside": 0.5, "whole": 0.15, "hold": 0.1, "so many": 0.1},
    "src/tokbench": {
        "what": 0.2,
        "tell": 0.03,
        "stand": 0.03,
        "beside": 0.03,
        "whole": 0.2,
        "hold": 0.11,
        "so many": 0.09,
        "anew": 0.03,
    },
    "src/snakemake_logger_plugin_lines": {},
    "tools": {"what": 0.5},
    "benchmarks": {"hold": 0.5, "so many": 0.2},
    "tests": {
        "what": 4.5,
        "tell": 1.3,
        "stand": 0.9,
        "beside": 0.6,
        "whole": 0.7,
        "hold": 0.9,
        "so many": 0.4,
        "whatever": 0.8,
        "anew": 0.5,
    },
    "names of tests": {"whole": 0.2, "hold": 0.1, "so many": 0.1},
}
"""The most occurrences of each word in 1,000 words; 0 for words that are not listed. Lower a limit, never raise it."""


def text_of_page(path: Path) -> str:
    """Return a Markdown page without code and the targets of links."""
    return text_without_code(path.read_text(encoding="utf-8"))


def text_without_code(text: str) -> str:
    """Return Markdown without code and the targets of links."""
    return re.sub(r"^ *```.*?^ *```$|`[^`]*`|\]\([^)]*\)", " ", text, flags=re.DOTALL | re.MULTILINE)


def prose_of(path: Path) -> Iterator[str]:
    """Yield the docstrings and comments of a Python or Cython file, without code in backquotes."""
    tokens = list(tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline))
    before = tokenize.NEWLINE
    for token in tokens:
        if token.type == tokenize.COMMENT:
            yield token.string
        elif token.type == tokenize.STRING and before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            yield re.sub(r"`[^`]*`", " ", token.string)
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type


def names_of_tests(path: Path) -> Iterator[str]:
    """Yield the names of a file's tests as words."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name.removeprefix("test_").replace("_", " ")


def prose_in(place: str) -> str:
    """Return all prose of a folder or kind of text."""
    if place in ("docs", "results/published"):
        return "\n".join(map(text_of_page, sorted((ROOT / place).rglob("*.md"))))
    if place == "pages of the root":
        return "\n".join(map(text_of_page, sorted(ROOT.glob("*.md"))))
    if place == "generated pages":
        return "\n".join(text_without_code(write()) for write in GENERATED.values())
    read, folder = (names_of_tests, "tests") if place == "names of tests" else (prose_of, place)
    paths = (path for path in sorted((ROOT / folder).rglob("*.py*")) if path.suffix in (".py", ".pyx"))
    return "\n".join(text for path in paths for text in read(path))


@pytest.mark.parametrize("place", LIMITS)
def test_prose_has_few_vague_words(place: str) -> None:
    prose = prose_in(place)
    words = len(re.findall(r"[A-Za-z']+", prose))
    assert words > 500
    shares = {
        name: 1000 * len(re.findall(rf"\b(?:{pattern})\b", prose, re.IGNORECASE)) / words
        for name, pattern in VAGUE_WORDS.items()
    }
    above = {name: round(share, 2) for name, share in shares.items() if share > LIMITS[place].get(name, 0)}
    assert not above, f"too many in 1,000 words of {place}: {above}; say it in plain words"
