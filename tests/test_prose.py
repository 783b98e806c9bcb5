"""Words of pages, docstrings and comments: limits for those that hide a subject."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
VAGUE_WORDS = {
    "what": (r"what", 0.2),
    "tell": (r"tells?|told|telling", 0.0),
    "stand": (r"stands?|stood", 0.0),
    "beside": (r"besides?", 0.0),
    "whole": (r"wholes?", 0.0),
    "hold": (r"holds?|holding|held(?![- ]out)", 0.0),
    "so many": (r"(?:so|as) many|so long", 0.16),
    "whatever": (r"whatever|whoever|wherever", 0.0),
    "anew": (r"anew|elsewhere|alike", 0.0),
}
"""Words that hide a subject: a pattern, and the limit in 1,000 words of docs. Lower a limit, never raise it."""


def test_pages_are_in_plain_english() -> None:
    pages = sorted((ROOT / "docs").rglob("*.md"))
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    prose = re.sub(r"^ *```.*?^ *```$|`[^`]*`|\]\([^)]*\)", " ", text, flags=re.DOTALL | re.MULTILINE)
    words = len(re.findall(r"[A-Za-z']+", prose))
    assert words > 20_000
    for name, (pattern, most) in VAGUE_WORDS.items():
        found = re.findall(rf"\b(?:{pattern})\b", prose, re.IGNORECASE)
        share = 1000 * len(found) / words
        assert share <= most, f"{name}: {share:.2f} in 1,000 words of docs, more than {most}; say it in plain words"


VAGUE_WORDS_IN_CODE = {
    "what": 0.27,
    "tell": 0.04,
    "stand": 0.04,
    "beside": 0.04,
    "whole": 0.2,
    "hold": 0.12,
    "so many": 0.1,
    "whatever": 0.02,
    "anew": 0.04,
}
"""The same words, and the limit in 1,000 words of docstrings and comments. Lower a limit, never raise it."""


def prose_of(path: Path) -> Iterator[str]:
    """The docstrings and comments of a file of Python or Cython, without what is in backticks."""
    tokens = list(tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline))
    before = tokenize.NEWLINE
    for token in tokens:
        if token.type == tokenize.COMMENT:
            yield token.string
        elif token.type == tokenize.STRING and before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            yield re.sub(r"`[^`]*`", " ", token.string)
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type


def test_docstrings_are_in_plain_english() -> None:
    sources = [path for path in sorted((ROOT / "src" / "tokbench").rglob("*.py*")) if path.suffix in (".py", ".pyx")]
    prose = "\n".join(text for path in sources for text in prose_of(path))
    words = len(re.findall(r"[A-Za-z']+", prose))
    assert words > 100_000
    for name, most in VAGUE_WORDS_IN_CODE.items():
        found = re.findall(rf"\b(?:{VAGUE_WORDS[name][0]})\b", prose, re.IGNORECASE)
        share = 1000 * len(found) / words
        assert share <= most, f"{name}: {share:.2f} in 1,000 words, more than {most}; say it in plain words"
