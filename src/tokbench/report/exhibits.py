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
        says: the finding in a sentence, for those who do not see it; the caption where empty.
        source: where its numbers come from.
        variants: whose numbers it shows.
    """

    name: str
    caption: str
    draw: Callable[..., "Figure"]
    source: Source | None = None
    variants: Sequence[str] = ()
    says: str = ""


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
class Heading:
    """A heading among the exhibits of a section, with a link of its own.

    Attributes:
        identifier: of the link.
        title: the words.
        text: a sentence below it.
    """

    identifier: str
    title: str
    text: str = ""


Exhibit = Table | Drawing | Cutting | Heading


@dataclass(frozen=True)
class Section:
    """One section: paragraphs, exhibits in order of reading, sentences after these, what is folded below them under a
    line of its own, what is missing, verbatim text.

    What is missing is ``NAME: REASON``; the page says each reason once.
    """

    identifier: str
    title: str
    paragraphs: Sequence[str] = ()
    exhibits: Sequence[Exhibit] = ()
    after: Sequence[str] = ()
    folded: tuple[str, Sequence[str]] | None = None
    missing: Sequence[str] = ()
    verbatim: str = ""
