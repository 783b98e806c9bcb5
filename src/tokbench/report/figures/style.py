"""One look for all figures: size, type, one colour and mark per variant, and files that are the same at every run.

Ids in an SVG file, numbered in order of appearance.

Matplotlib makes them from the coordinates of what they name, to the last bit, which rests on the machine's linear
algebra; the coordinates themselves are written with six decimals.

Figures whose marks say what they are where a reader points at them.
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
from tokbench.report.figures.svg import compact, lean, tight
from tokbench.report.wording import MINUS

_HASHED = re.compile(r'\bid="((C[0-9a-f]+_[0-9a-f]+_|[a-z]+)[0-9a-f]{10})"')


def numbered(svg: str) -> str:
    """The file with each id that ends in a hash renamed, wherever it stands, to what precedes the hash and a number."""
    names: dict[str, str] = {}
    for hashed, kind in _HASHED.findall(svg):
        names.setdefault(hashed, f"{kind}-{len(names) + 1}")
    if not names:
        return svg
    return re.sub(f'(?<=["#])(?:{"|".join(names)})(?=[")])', lambda found: names[found[0]], svg)


_GROUP = re.compile(r"<(/?)g\b[^>]*?(/?)>")
_DEFINED = re.compile(r"(<defs>.*?</defs>)", re.DOTALL)


@dataclass(frozen=True)
class Tooltip:
    """What is told of an artist: one text, or one for each of its points in order; a group is lit as a whole."""

    artist: Artist
    group: str
    texts: Sequence[str]


class TooltipFigure(Figure):
    """A figure that remembers what its marks stand for."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.tooltips: list[Tooltip] = []

    def add_tooltip(self, artist: Artist, group: str, *texts: str) -> None:
        """Remember the text of an artist, or the texts of its points, which belong to a group, such as a variant."""
        self.tooltips.append(Tooltip(artist, group, texts))


def give_ids(figure: Figure) -> list[Tooltip]:
    """Give each artist that has something to tell an id of its own, for `with_tooltips` to find in the SVG."""
    tooltips = figure.tooltips if isinstance(figure, TooltipFigure) else []
    for number, one in enumerate(tooltips):
        one.artist.set_gid(f"told{number}")
    return tooltips


def with_tooltips(svg: str, tooltips: Sequence[Tooltip]) -> str:
    """SVG in which what `give_ids` gave an id has its texts as titles, and its group as ``data-group``."""
    for number, one in enumerate(tooltips):
        start = svg.find(f'<g id="told{number}">')
        if start < 0:  # Nothing of it was drawn.
            continue
        end = _end(svg, start)
        body = svg[start:end].partition(">")[2]
        body = _by_points(body, one.texts) if len(one.texts) > 1 else _title(one.texts[0]) + body
        svg = f'{svg[:start]}<g class="told" data-group="{escape(one.group, quote=True)}">{body}{svg[end:]}'
    return svg


def _by_points(body: str, texts: Sequence[str]) -> str:
    """Each point with its title: points are uses of one mark, or paths where marks differ in size."""
    parts = _DEFINED.split(body)
    shape = "use" if any("<use" in part for part in parts[::2]) else "path"
    titles = iter(texts)

    def titled(found: re.Match[str]) -> str:
        return f"<{shape}{found[1]}>{_title(next(titles))}</{shape}>"

    parts[::2] = [re.sub(rf"<{shape}\b([^>]*?)/>", titled, part) for part in parts[::2]]
    return "".join(parts)


def _end(svg: str, start: int) -> int:
    """Where the group that begins at ``start`` ends."""
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
"""Width of a figure in the HTML report, in inches: its type stays legible on a phone and sober on a desktop."""
FULL = 6.8
"""Width of a full page, in inches."""

INK, GREY, RULE, PAPER = "#222222", "#6b6b6b", "#dddddd", "#ffffff"
"""Text, quiet text, thin lines, ground; in a page they take the page's colours."""
BLACK = "#111111"
"""Marks upon colour."""
LINE = 1.2
"""Width of a line, in points."""

OKABE_ITO = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a7a7a")
"""The palette of Okabe and Ito (2008), safe for colour-blind readers; grey for its black, which is the ink here, and
without its yellow, which is faint on white."""
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
"""Pixels that an inch of a figure takes at most on a screen: its 8 points are then as large as the text around it."""
_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


@dataclass(frozen=True)
class Style:
    """Look of one variant in every figure.

    Attributes:
        colour: as ``#rrggbb``.
        mark: Matplotlib's marker.
        line: Matplotlib's line style.
        highlighted: whether the reader asked for this variant.
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

    Mark and line change with every variant, so that neighbours differ without colour. The palette comes
    first as it is, then darkened, then lightened, and each turn gives a hue another mark and line. A variant added at
    the end changes no other's.

    Args:
        variants: in the order of the configuration.
        highlight: variant with heavier lines; empty for none.
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
    """The area of a mark, in square points, for each vocabulary size: larger vocabularies have larger marks."""
    ordered = sorted(set(sizes))
    return {size: 12 + 26 * (index / max(len(ordered) - 1, 1)) for index, size in enumerate(ordered)}


def size_key(figure: Figure, sizes: Sequence[int], *, mean: bool = False) -> None:
    """A legend above the axes that tells vocabulary sizes by the area of a hollow mark, and the bar of their mean."""
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
    """Count the ticks of an axis in thousands, millions or billions; what to add to its label."""
    for factor, word in ((1e9, "billions"), (1e6, "millions"), (1e3, "thousands")):
        if largest >= 2 * factor or (largest >= factor > 1e3):
            axis.set_major_formatter(FuncFormatter(partial(_in, factor)))
            return f", {word}"
    return ""


def _in(factor: float, value: float, _place: int | None) -> str:
    return f"{value / factor:,.4g}".replace("-", MINUS)


@contextmanager
def house_style() -> Iterator[None]:
    """The look of every figure, for as long as the block lasts."""
    with matplotlib.rc_context(_RC):
        yield


def new_figure(width: float, height: float) -> TooltipFigure:
    """An empty figure of so many inches, laid out so that no label is cut off."""
    return TooltipFigure(figsize=(width, height), layout="constrained", facecolor=PAPER)


def fix_layout(figure: TooltipFigure) -> TooltipFigure:
    """Lay the figure out and keep the layout, so that its SVG and its PNG agree and a second drawing moves nothing.

    The layout is found twice: axes of a fixed aspect move after the first.
    """
    engine = figure.get_layout_engine()
    assert engine is not None
    for _ in range(2):
        engine.execute(figure)
    figure.set_layout_engine("none")
    return figure


def svg(figure: Figure) -> str:
    """The figure as SVG, without dates, versions or ids of the machine's: equal figures give equal text."""
    text = StringIO()
    with house_style():
        figure.savefig(text, format="svg", metadata=_NO_METADATA)
    return compact(numbered(text.getvalue()))


def save(figure: Figure, stem: Path | str, title: str = "", description: str = "") -> list[Path]:
    """Write ``stem``.svg and ``stem``.png (300 dots per inch), each whole or not at all; the paths written.

    Args:
        figure: what is drawn.
        stem: of the files.
        title, description: what is drawn and what it shows, in the SVG for those who do not see it.
    """
    vector, raster = Path(f"{stem}.svg"), Path(f"{stem}.png")
    with atomic_file(vector) as partial:
        partial.write_text(_told(tight(svg(figure)), title, description), encoding="utf-8")
    with atomic_file(raster) as partial, house_style():
        figure.savefig(partial, format="png", metadata={"Software": None})
    return [vector, raster]


def _told(text: str, title: str, description: str) -> str:
    """SVG with its words as the first of its elements, where a reader of screens finds them."""
    words = "".join(f"<{tag}>{escape(one)}</{tag}>" for tag, one in (("title", title), ("desc", description)) if one)
    if not words:
        return text
    start = text.index("<svg")
    end = text.index(">", start)
    return f'{text[:end]} role="img">\n{words}{text[end + 1 :]}'


def inline(figure: Figure, name: str, description: str) -> str:
    """The figure as an ``<svg>`` element for an HTML page.

    Its ids bear the prefix ``name``, since several figures share one page; images have none, since equal images would
    have equal ones. Ink, rules and paper take the page's colours; nothing refers to another address. Marks that tell
    what they are have a title.
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
    body = lean(body)
    assert box is not None
    wide = round(figure.get_figwidth() * _PIXELS)
    return f'<svg role="img" aria-label="{escape(description, quote=True)}" style="max-width:{wide}px" {box[0]}>{body}'
