"""Figures whose marks say what they are where a reader points at them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from matplotlib.artist import Artist
from matplotlib.figure import Figure

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
