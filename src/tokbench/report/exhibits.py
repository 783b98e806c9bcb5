"""What a section of the report shows: words, tables, drawings, and what is missing."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from tokbench.report.layout import Source, Table


@dataclass(frozen=True)
class Drawing:
    """A figure to be drawn at any width.

    Attributes:
        name: the stem of its files.
        caption: what is drawn: split, definition, n.
        draw: gives the figure when called with ``width``, in inches.
        source: where its numbers come from.
    """

    name: str
    caption: str
    draw: Callable[..., Figure]
    source: Source | None = None


@dataclass(frozen=True)
class Section:
    """One section: paragraphs, exhibits in order of reading, sentences on what is missing and why, verbatim text."""

    identifier: str
    title: str
    paragraphs: Sequence[str] = ()
    exhibits: Sequence[Table | Drawing] = ()
    missing: Sequence[str] = ()
    verbatim: str = ""


def slug(*parts: object) -> str:
    """A name for files, labels and anchors: every run of other characters becomes one hyphen."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", "-".join(map(str, parts))).strip("-")


def words(name: str) -> str:
    """A metric's name as it is read: ``corpus_token_count`` is "corpus token count"."""
    return name.replace("_", " ").replace("renyi", "Rényi")


def listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 size``, ``3 sizes``, ``2 vocabularies``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
