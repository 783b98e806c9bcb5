"""What a section of the report shows: words, tables, drawings, and what is missing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.report.layout import Source, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Drawing:
    """A figure to be drawn at any width.

    Attributes:
        name: the stem of its files.
        caption: what is drawn: split, definition, n.
        draw: gives the figure when called with ``width``, in inches.
        source: where its numbers come from.
        variants: whose numbers it shows.
    """

    name: str
    caption: str
    draw: Callable[..., "Figure"]
    source: Source | None = None
    variants: Sequence[str] = ()


@dataclass(frozen=True)
class ShownToken:
    """A token on the page.

    Attributes:
        text: its bytes, visible.
        id: its id.
        data: its bytes in hexadecimal.
        differs: whether some other tokenizer has no token of the same bytes there.
        disputed: whether some other tokenizer has no border at its end.
    """

    text: str
    id: int
    data: str
    differs: bool
    disputed: bool


@dataclass(frozen=True)
class Cutting:
    """A sentence as several tokenizers cut it.

    Attributes:
        number: of the sentence, in its table.
        caption: where it is from.
        text: the sentence, visible.
        direction: ``ltr`` or ``rtl``, that of its first letter.
        rows: a tokenizer's name and its tokens.
    """

    number: int
    caption: str
    text: str
    direction: str
    rows: Sequence[tuple[str, Sequence[ShownToken]]]


@dataclass(frozen=True)
class Section:
    """One section: paragraphs, exhibits in order of reading, sentences on what is missing and why, verbatim text."""

    identifier: str
    title: str
    paragraphs: Sequence[str] = ()
    exhibits: Sequence[Table | Drawing | Cutting] = ()
    missing: Sequence[str] = ()
    verbatim: str = ""
