"""Figures of one page in half of their bytes: letters are defined once for all of them, and what no page needs is gone.

Matplotlib draws letters as shapes, since a page does not know a reader's fonts, and defines them in every figure anew.
"""

import re
from collections.abc import Sequence

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_BETWEEN = re.compile(r">\s+<")
_ID = re.compile(r' id="([^"]*)"')
_REFERENCE = re.compile(r'(?:href="|url\()#([^")]+)')
_LETTER = re.compile(r'<path id="([^"]+)" (d="[^"]*" transform="scale\([^)]*\)")/>')
_USE = re.compile(r'<use href="#([^"]+)"')
_EMPTY = "<defs></defs>"
_STYLE = re.compile(r"<style\b.*?</style>", re.DOTALL)
_GROUP = re.compile(r"<(/?)g\b([^>]*?)(/?)>")


def lean(svg: str) -> str:
    """A figure without comments, without space between tags, without ids that nothing refers to, without groups that
    say nothing, and without Matplotlib's style sheet.

    Every line break and every group is a node that a browser makes, and figures have tens of thousands. A style sheet
    within a page holds for all of it, and each one has the browser style the whole page anew: the page's own has what
    Matplotlib's say.
    """
    text = _STYLE.sub("", _BETWEEN.sub("><", _COMMENT.sub("", svg)))
    wanted = set(_REFERENCE.findall(text))
    return _ungrouped(_ID.sub(lambda found: found[0] if found[1] in wanted else "", text))


def _ungrouped(svg: str) -> str:
    """The contents of groups without attributes in place of these groups; groups without contents are left out."""
    bare: list[bool] = []

    def kept(found: re.Match[str]) -> str:
        closing, attributes, empty = found.groups()
        if empty:
            return ""
        if not closing:
            bare.append(not attributes.strip())
            return "" if bare[-1] else found[0]
        return "" if bare.pop() else found[0]

    return _GROUP.sub(kept, svg)


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
