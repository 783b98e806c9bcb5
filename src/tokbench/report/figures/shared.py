"""Figures of one page in half of their bytes: letters are defined once for all of them, and what no page needs is gone.

Matplotlib draws letters as shapes, since a page does not know a reader's fonts, and defines them in every figure anew.
"""

import re
from collections.abc import Sequence

from tokbench.report.figures.compact import bare

_BETWEEN = re.compile(r">\s+<")
_LETTER = re.compile(r'<path id="([^"]+)" (d="[^"]*" transform="scale\([^)]*\)")/>')
_USE = re.compile(r'<use href="#([^"]+)"')
_EMPTY = "<defs></defs>"
_STYLE = re.compile(r"<style\b.*?</style>", re.DOTALL)


def lean(svg: str) -> str:
    """A figure as bare as can be, without space between tags, and without Matplotlib's style sheet.

    Every line break and every group is a node that a browser makes, and figures have tens of thousands. A style sheet
    within a page holds for all of it, and each one has the browser style the whole page anew: the page's own has what
    Matplotlib's say.
    """
    return _STYLE.sub("", _BETWEEN.sub("><", bare(svg)))


def share_letters(figures: Sequence[str]) -> tuple[str, list[str]]:
    """The letters of all figures, an ``<svg>`` that takes no room, and the figures that refer to them.

    Args:
        figures: lean ones, each with ids of its own.
    """
    names: dict[str, str] = {}
    known: dict[str, str] = {}
    for figure in figures:
        for name, shape in _LETTER.findall(figure):
            known[name] = names.setdefault(shape, f"c{len(names)}")

    def referring(found: re.Match[str]) -> str:
        return f'<use href="#{known.get(found[1], found[1])}"'

    shared = [_USE.sub(referring, _LETTER.sub("", figure).replace(_EMPTY, "")) for figure in figures]
    shapes = "".join(f'<path id="{name}" {shape}/>' for shape, name in names.items())
    return (
        f'<svg width="0" height="0" aria-hidden="true" style="position: absolute"><defs>{shapes}</defs></svg>',
        shared,
    )
