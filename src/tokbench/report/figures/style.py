"""House style of figures, reproducible SVG files, and tooltips of marks.

All figures share sizes, type, and one colour and mark per variant. Ids in an SVG file are numbered in order of
appearance. Matplotlib derives them from all bits of coordinates, which depend on the machine's linear algebra.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axis import Axis
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from tokbench.io.atomic import atomic_file
from tokbench.report.figures.svg import round_coordinates, shrink_file, shrink_for_page
from tokbench.report.wording import MINUS

_HASHED = re.compile(r'\bid="((C[0-9a-f]+_[0-9a-f]+_|[a-z]+)[0-9a-f]{10})"')


def numbered(svg: str) -> str:
    """Return SVG in which each id that ends in a hash, and each reference to it, ends in a number."""
    names: dict[str, str] = {}
    for hashed, kind in _HASHED.findall(svg):
        names.setdefault(hashed, f"{kind}-{len(names) + 1}")
    if not names:
        return svg
    return re.sub(f'(?<=["#])(?:{"|".join(names)})(?=[")])', lambda match: names[match[0]], svg)


_GROUP = re.compile(r"<(/?)g\b[^>]*?(/?)>")
_DEFINED = re.compile(r"(<defs>.*?</defs>)", re.DOTALL)


@dataclass(frozen=True)
class Tooltip:
    """Tooltips of an artist.

    Attributes:
        artist: artist in the figure.
        group: name of the marks that are highlighted together, such as a variant; empty for none.
        texts: one text, or one for each of the artist's points in order.
    """

    artist: Artist
    group: str
    texts: Sequence[str]


class TooltipFigure(Figure):
    """A figure with tooltips of its marks."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.tooltips: list[Tooltip] = []

    def add_tooltip(self, artist: Artist, group: str, *texts: str) -> None:
        """Add the tooltip of an artist, or the tooltips of its points, which belong to a group such as a variant."""
        self.tooltips.append(Tooltip(artist, group, texts))


def give_ids(figure: Figure) -> list[Tooltip]:
    """Give each artist with a tooltip an id, by which :func:`with_tooltips` finds it in the SVG."""
    tooltips = figure.tooltips if isinstance(figure, TooltipFigure) else []
    for number, tooltip in enumerate(tooltips):
        tooltip.artist.set_gid(f"told{number}")
    return tooltips


def with_tooltips(svg: str, tooltips: Sequence[Tooltip]) -> str:
    """Return SVG with the texts of tooltips as titles, and their groups as ``data-group``.

    Args:
        svg: SVG of a figure after :func:`give_ids`.
        tooltips: returned by :func:`give_ids`.
    """
    for number, tooltip in enumerate(tooltips):
        start = svg.find(f'<g id="told{number}">')
        if start < 0:  # The artist was not drawn.
            continue
        end = _end(svg, start)
        body = svg[start:end].partition(">")[2]
        body = _add_titles(body, tooltip.texts) if len(tooltip.texts) > 1 else _title(tooltip.texts[0]) + body
        svg = f'{svg[:start]}<g class="told" data-group="{escape(tooltip.group, quote=True)}">{body}{svg[end:]}'
    return svg


def _add_titles(body: str, texts: Sequence[str]) -> str:
    """Add a title to each point: a use of a mark, or a path if marks differ in size."""
    parts = _DEFINED.split(body)
    shape = "use" if any("<use" in part for part in parts[::2]) else "path"
    titles = iter(texts)

    def add_title(match: re.Match[str]) -> str:
        return f"<{shape}{match[1]}>{_title(next(titles))}</{shape}>"

    parts[::2] = [re.sub(rf"<{shape}\b([^>]*?)/>", add_title, part) for part in parts[::2]]
    return "".join(parts)


def _end(svg: str, start: int) -> int:
    """Return the end of the group that begins at ``start``."""
    depth = 0
    for tag in _GROUP.finditer(svg, start):
        depth += -1 if tag[1] else 0 if tag[2] else 1
        if depth == 0:
            return tag.end()
    raise ValueError("the SVG has a group that does not end")


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>"


COLUMN = 3.3
"""Width of one column of a two-column page, in inches."""
SCREEN = 4.0
"""Width of a figure in the HTML report, in inches; its type is then legible on phones and desktops."""
FULL = 6.8
"""Width of a full page, in inches."""

INK, GREY, RULE, PAPER = "#222222", "#6b6b6b", "#dddddd", "#ffffff"
"""Colours of text, secondary text, thin lines and background; on a page, the page's colours replace them."""
BLACK = "#111111"
"""Colour of marks on a coloured background."""
LINE = 1.2
"""Width of a line, in points."""

OKABE_ITO = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a7a7a")
"""The palette of Okabe and Ito (2008), safe for colour-blind readers; with grey for its black, which is the text
colour here, and without its yellow, which is faint on white."""
_MARKS = ("o", "s", "^", "D", "v", "P", "X")
_LINES = ("-", "--", ":", "-.")

_RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "grid.color": RULE,
    "grid.linewidth": 0.5,
    "lines.linewidth": LINE,
    "lines.markersize": 4,
    "text.hinting": "none",
    "svg.hashsalt": "tokbench",
    "svg.fonttype": "path",
    "savefig.dpi": 300,
}
_PIXELS = 140
"""Most pixels per inch of a figure on a screen; its type of 8 points is then as large as the text around it."""
_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


@dataclass(frozen=True)
class Style:
    """Look of one variant in all figures.

    Attributes:
        colour: colour as ``#rrggbb``.
        mark: Matplotlib marker.
        line: Matplotlib line style.
        highlighted: True if the variant is highlighted (default: False).
    """

    colour: str
    mark: str
    line: str
    highlighted: bool = False

    @property
    def weight(self) -> float:
        """Factor on the width of lines: 2 for the highlighted variant, 1 for others."""
        return 2.0 if self.highlighted else 1.0

    @property
    def font(self) -> str:
        """Weight of the variant's name."""
        return "bold" if self.highlighted else "normal"


def styles(variants: Sequence[str], highlight: str = "") -> dict[str, Style]:
    """Return a style per variant, by its place in the configuration.

    Mark and line change with every variant, so neighbours differ without colour. The palette is used first as it is,
    then darkened, then lightened; each turn pairs a hue with another mark and line. A variant added at the end changes
    no other style.

    Args:
        variants: names in the order of the configuration; duplicates are ignored.
        highlight: variant with heavier lines (default: none).
    """
    names = dict.fromkeys(variants)
    return {variant: replace(_style(index), highlighted=variant == highlight) for index, variant in enumerate(names)}


def _style(index: int) -> Style:
    turn, place = divmod(index, len(OKABE_ITO))
    hue = to_rgb(OKABE_ITO[place])
    towards, share = ((0.0, 0.0), (0.0, 0.42), (1.0, 0.32), (0.0, 0.65))[turn % 4]
    red, green, blue = ((1 - share) * channel + share * towards for channel in hue)
    colour = to_hex((red, green, blue))
    return Style(colour, _MARKS[(place + turn) % len(_MARKS)], _LINES[index % len(_LINES)])


def areas(sizes: Sequence[int]) -> dict[int, float]:
    """Return the area of a mark, in square points, by vocabulary size: larger vocabularies have larger marks."""
    ordered = sorted(set(sizes))
    return {size: 12 + 26 * (index / max(len(ordered) - 1, 1)) for index, size in enumerate(ordered)}


def size_key(figure: Figure, sizes: Sequence[int], *, mean: bool = False) -> None:
    """Draw a legend of vocabulary sizes by area of marks above the axes.

    Args:
        figure: the figure.
        sizes: vocabulary sizes.
        mean: True to add the bar of the mean (default: False).
    """
    handles = [
        Line2D([], [], ls="", marker="o", mfc="none", mec=INK, mew=0.8, ms=area**0.5, label=f"{size:,}")
        for size, area in areas(sizes).items()
    ]
    if mean:
        handles.append(Line2D([], [], ls="", marker="|", mec=INK, mew=1.6, ms=8, label="mean"))
    figure.legend(
        handles=handles,
        loc="outside upper right",
        ncols=len(handles),
        handletextpad=0.1,
        columnspacing=1.2,
        borderpad=0,
    )


def in_units(axis: Axis, largest: float) -> str:
    """Format the ticks of an axis in thousands, millions or billions.

    Returns:
        Text to append to the label of the axis; empty if ticks are not scaled.
    """
    for factor, word in ((1e9, "billions"), (1e6, "millions"), (1e3, "thousands")):
        if largest >= 2 * factor or (largest >= factor > 1e3):
            axis.set_major_formatter(FuncFormatter(partial(_format_in_unit, factor)))
            return f", {word}"
    return ""


def _format_in_unit(factor: float, value: float, _place: int | None) -> str:
    return f"{value / factor:,.4g}".replace("-", MINUS)


@contextmanager
def house_style() -> Iterator[None]:
    """Apply the house style within a ``with`` block."""
    with matplotlib.rc_context(_RC):
        yield


def new_figure(width: float, height: float) -> TooltipFigure:
    """Return an empty figure, laid out so that no label is cut off; width and height in inches."""
    return TooltipFigure(figsize=(width, height), layout="constrained", facecolor=PAPER)


def fix_layout(figure: TooltipFigure) -> TooltipFigure:
    """Lay the figure out and fix the layout, so that its SVG and PNG agree.

    The layout is computed twice, because axes of a fixed aspect move after the first time.
    """
    engine = figure.get_layout_engine()
    assert engine is not None
    for _ in range(2):
        engine.execute(figure)
    figure.set_layout_engine("none")
    return figure


def svg(figure: Figure) -> str:
    """Return the figure as SVG without dates, versions or machine-dependent ids: equal figures have equal text."""
    text = StringIO()
    with house_style():
        figure.savefig(text, format="svg", metadata=_NO_METADATA)
    return round_coordinates(numbered(text.getvalue()))


def save(figure: Figure, stem: Path | str, title: str = "", description: str = "") -> list[Path]:
    """Write ``stem``.svg and ``stem``.png (300 dots per inch) atomically, and return their paths.

    Args:
        figure: the figure.
        stem: stem of the files.
        title: caption, in the SVG for readers who do not see it (default: none).
        description: finding, in the SVG for readers who do not see it (default: none).
    """
    vector, raster = Path(f"{stem}.svg"), Path(f"{stem}.png")
    with atomic_file(vector) as partial:
        partial.write_text(_with_title(shrink_file(svg(figure)), title, description), encoding="utf-8")
    with atomic_file(raster) as partial, house_style():
        figure.savefig(partial, format="png", metadata={"Software": None})
    return [vector, raster]


def _with_title(text: str, title: str, description: str) -> str:
    """Return SVG with title and description as its first elements, for screen readers."""
    words = "".join(f"<{tag}>{escape(text)}</{tag}>" for tag, text in (("title", title), ("desc", description)) if text)
    if not words:
        return text
    start = text.index("<svg")
    end = text.index(">", start)
    return f'{text[:end]} role="img">\n{words}{text[end + 1 :]}'


def inline(figure: Figure, name: str, description: str) -> str:
    """Return the figure as an ``<svg>`` element for an HTML page.

    Colours of text, lines and background become those of the page. The element refers to no other address. Tooltips
    are titles of their marks. Images have no ids, because equal images would have equal ids.

    Args:
        figure: the figure.
        name: prefix of its ids, unique on the page.
        description: text for screen readers.
    """
    tooltips = give_ids(figure)
    text = with_tooltips(svg(figure), tooltips)
    text = text[text.index("<svg") :]
    box = re.search(r'viewBox="[^"]*"', text)
    body = text[text.index(">") + 1 :]
    body = re.sub(r'(<image\b[^>]*?) id="[^"]*"', r"\1", body)
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r"url\(#", f"url(#{name}-", body)
    body = re.sub(r'(?:xlink:)?href="#', f'href="#{name}-', body)
    for colour, variable in ((INK, "ink"), (GREY, "faint"), (RULE, "rule"), (PAPER, "paper")):
        body = body.replace(colour, f"var(--{variable})")
    body = shrink_for_page(body)
    assert box is not None
    wide = round(figure.get_figwidth() * _PIXELS)
    return f'<svg role="img" aria-label="{escape(description, quote=True)}" style="max-width:{wide}px" {box[0]}>{body}'
