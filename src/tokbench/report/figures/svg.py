"""SVG of Matplotlib in less than half of its bytes: hundredths of a point in place of millionths, no indentation,
letters by their places, and nothing that is not drawn.

Figures of one page in half of their bytes: letters are defined once for all of them, and what no page needs is gone.

Matplotlib draws letters as shapes, since a page does not know a reader's fonts, and defines them in every figure anew.
"""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

_DRAWN = re.compile(r'(?<= )(?:d|x|y)="[^"]*"|translate\([^)]*\)')
"""Attributes that hold coordinates. What scales is left: it multiplies."""
_FRACTION = re.compile(r"-?\d+\.\d{3,}")
_SPACE = re.compile(r"\s*\n\s*")
_MOVED = re.compile(r'(<use [^>]*?) transform="translate\((\S+) (\S+)\)"')
"""A letter that is moved and not scaled."""
_METADATA = re.compile(r"<metadata>.*?</metadata>\n?", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_ID = re.compile(r' id="([^"]*)"')
_REFERENCE = re.compile(r'(?:href="|url\()#([^")]+)')
_DOCTYPE = re.compile(r"<!DOCTYPE[^>]*>\n?")
_INLINE = re.compile(r' style="([^"]*)"')
_BLANK = re.compile(r"([:;]) ")
_PATH = re.compile(r' d="[^"]*"')
_AFTER = re.compile(r"([A-Za-z]) ")
_GROUP = re.compile(r"<(/?)g\b([^>]*?)(/?)>\n?")
_XLINK = re.compile(r' xmlns:xlink="[^"]*"|(?<= )xlink:(?=href=")')
"""What SVG 1.1 wrote before a reference; since SVG 2 it may be left out."""
_LETTERS = re.compile(r"(?<=/>)\n(?=<use )")


def compact(svg: str) -> str:
    """The same figure to the eye: coordinates in hundredths of a point, one line a path and a tag."""
    drawn = _DRAWN.sub(lambda found: _SPACE.sub("", _FRACTION.sub(_hundredths, found[0])), svg)
    return _MOVED.sub(_placed, _SPACE.sub("\n", drawn))


def _placed(found: re.Match[str]) -> str:
    use, across, down = found.groups()
    return use + "".join(f' {axis}="{value}"' for axis, value in (("x", across), ("y", down)) if value != "0")


def _hundredths(found: re.Match[str]) -> str:
    short = f"{float(found[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def bare(svg: str) -> str:
    """The same figure without metadata, comments, ids that nothing refers to and groups that say nothing."""
    text = _COMMENT.sub("", _METADATA.sub("", svg))
    wanted = set(_REFERENCE.findall(text))
    return _ungrouped(_ID.sub(lambda found: found[0] if found[1] in wanted else "", text))


def tight(svg: str) -> str:
    """The same figure for a file of its own: ids need be unlike in no other and are short, a style that many elements
    have is written once, the letters of a text are on one line, and blanks and prefixes that nothing needs are gone."""
    text = _LETTERS.sub("", _XLINK.sub("", _DOCTYPE.sub("", bare(svg))))
    short = {name: _name(number) for number, name in enumerate(dict.fromkeys(_ID.findall(text)))}
    text = _ID.sub(lambda found: f' id="{short[found[1]]}"', text)
    text = _REFERENCE.sub(lambda found: found[0].removesuffix(found[1]) + short[found[1]], text)
    text = _PATH.sub(lambda found: _AFTER.sub(r"\1", found[0]), text)
    return _with_classes(_INLINE.sub(lambda found: _BLANK.sub(r"\1", found[0]), text))


def _with_classes(svg: str) -> str:
    """Styles that stand more than once become classes of the first style sheet; where there is none, or there are
    classes already, all stays."""
    begin, sheet, rest = svg.partition("</style>")
    often = [style for style, times in Counter(_INLINE.findall(rest)).items() if times > 1]
    if not sheet or " class=" in rest or not often:
        return svg
    classes = {style: _name(number) for number, style in enumerate(often)}
    rules = "".join(f"\n.{name}{{{style}}}" for style, name in classes.items())
    return f"{begin}{rules}{sheet}" + _INLINE.sub(
        lambda found: f' class="{classes[found[1]]}"' if found[1] in classes else found[0], rest
    )


def _name(number: int) -> str:
    """Short names, each a letter and the rest in digits of base 36: a, b, ... z, a0, a1, ..."""
    place, letter = divmod(number, 26)
    return chr(ord("a") + letter) + (np.base_repr(place - 1, 36).lower() if place else "")


def _ungrouped(svg: str) -> str:
    """The contents of groups without attributes in place of these groups; groups without contents are left out."""
    plain: list[bool] = []

    def kept(found: re.Match[str]) -> str:
        closing, attributes, empty = found.groups()
        if empty:
            return ""
        if not closing:
            plain.append(not attributes.strip())
            return "" if plain[-1] else found[0]
        return "" if plain.pop() else found[0]

    return _GROUP.sub(kept, svg)


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
