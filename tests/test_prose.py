"""Plain English in pages, docstrings, comments and names: limits for words, and for code, that hide a subject."""

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


ADVERBS_AND_PRONOUNS = frozenset(
    [
        "above",
        "across",
        "against",
        "ahead",
        "alike",
        "all",
        "alone",
        "along",
        "also",
        "anew",
        "apart",
        "aside",
        "away",
        "before",
        "behind",
        "below",
        "beneath",
        "beside",
        "besides",
        "between",
        "beyond",
        "both",
        "each",
        "elsewhere",
        "every",
        "here",
        "how",
        "inside",
        "it",
        "its",
        "none",
        "now",
        "once",
        "only",
        "other",
        "others",
        "over",
        "own",
        "same",
        "so",
        "some",
        "still",
        "that",
        "then",
        "there",
        "these",
        "those",
        "thus",
        "together",
        "told",
        "too",
        "under",
        "what",
        "when",
        "where",
        "whether",
        "which",
        "who",
        "whole",
        "whose",
        "why",
        "with",
        "within",
        "without",
        "yet",
    ]
)
LONG_BODY = 25
"""Lines of a function's body above which a comment says its steps."""
MOST_BY_CHECK = {
    "locals named told": 0,
    "definitions named by an adverb or a pronoun": 55,
    "frames with rows by position": 0,
    "long bodies without a comment": 0,
}
"""The most findings of each check in ``src``. Lower a limit, never raise it."""


def names_in_definitions(tree: ast.Module) -> Iterator[str]:
    """Yield the names of functions and classes, and those assigned at the top of the module or of a class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.Module | ast.ClassDef):
            for statement in node.body:
                if isinstance(statement, ast.Assign | ast.AnnAssign):
                    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                    yield from (target.id for target in targets if isinstance(target, ast.Name))


def names_of_locals(tree: ast.Module) -> Iterator[str]:
    """Yield the name of each assignment, loop variable and parameter."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def long_bodies(tree: ast.Module, lines: list[str]) -> Iterator[str]:
    """Yield the names of functions whose long body has no comment."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            documented = ast.get_docstring(node) is not None
            body = node.body[documented:]
            begin = node.body[0].end_lineno if documented else node.lineno
            is_long = body and node.end_lineno - body[0].lineno >= LONG_BODY
            if is_long and not any("#" in line for line in lines[begin : node.end_lineno]):
                yield node.name


def findings_in_code(source: str) -> Iterator[tuple[str, str]]:
    """Yield the check and the name of each finding in the source of a module."""
    tree = ast.parse(source)
    for name in names_of_locals(tree):
        if name == "told":
            yield "locals named told", name
    for name in names_in_definitions(tree):
        if name.strip("_").lower() in ADVERBS_AND_PRONOUNS and not name.startswith("__"):
            yield "definitions named by an adverb or a pronoun", name
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "orient" and getattr(node.value, "value", None) == "row":
            yield "frames with rows by position", str(node.value.lineno)
    for name in long_bodies(tree, source.splitlines()):
        yield "long bodies without a comment", name


def test_names_rows_and_long_bodies_stay_within_their_limits() -> None:
    findings: dict[str, list[str]] = {check: [] for check in MOST_BY_CHECK}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for check, name in findings_in_code(path.read_text(encoding="utf-8")):
            findings[check].append(f"{path.relative_to(ROOT)}: {name}")
    above = {check: found for check, found in findings.items() if len(found) > MOST_BY_CHECK[check]}
    assert not above, f"use nouns for data, verbs for functions, rows by name and a comment for each step: {above}"


@pytest.mark.parametrize(
    ("source", "findings"),
    [
        ("def f(told):\n    return told\n", [("locals named told", "told")]),
        ("def _apart():\n    pass\n", [("definitions named by an adverb or a pronoun", "_apart")]),
        ("class A:\n    own: int = 0\n", [("definitions named by an adverb or a pronoun", "own")]),
        ("OTHERS = ()\n__all__ = ()\n", [("definitions named by an adverb or a pronoun", "OTHERS")]),
        ("frame(rows, orient='row')\n", [("frames with rows by position", "1")]),
        ("def f():\n    'Do.'\n" + "    x = 1\n" * 26, [("long bodies without a comment", "f")]),
        ("def f():\n" + "    x = 1\n" * 25, []),
        ("def f():\n    # Step.\n" + "    x = 1\n" * 26, []),
    ],
)
def test_each_check_finds_its_fault(source: str, findings: list[tuple[str, str]]) -> None:
    assert list(findings_in_code(source)) == findings
