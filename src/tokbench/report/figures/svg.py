"""Compact SVG from Matplotlib's: coordinates in hundredths of a point, no indentation, no unused elements.

A file has less than half of its original bytes. Figures of one page share the definitions of letters: Matplotlib draws
letters as shapes, because a page does not know the reader's fonts, and defines them in every figure.
"""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

_DRAWN = re.compile(r'(?<= )(?:d|x|y)="[^"]*"|translate\([^)]*\)')
"""Attributes with coordinates. Scales are not rounded, because they multiply."""
_FRACTION = re.compile(r"-?\d+\.\d{3,}")
_SPACE = re.compile(r"\s*\n\s*")
_MOVED = re.compile(r'(<use [^>]*?) transform="translate\((\S+) (\S+)\)"')
"""A letter with a translation and no scale."""
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
"""The prefix of references in SVG 1.1, which SVG 2 does not need."""
_LETTERS = re.compile(r"(?<=/>)\n(?=<use )")
_BETWEEN = re.compile(r">\s+<")
_LETTER = re.compile(r'<path id="([^"]+)" (d="[^"]*" transform="scale\([^)]*\)")/>')
_USE = re.compile(r'<use href="#([^"]+)"')
_EMPTY = "<defs></defs>"
_STYLE = re.compile(r"<style\b.*?</style>", re.DOTALL)


def round_coordinates(svg: str) -> str:
    """Return an SVG with coordinates in hundredths of a point, and one line per path and tag."""
    drawn = _DRAWN.sub(lambda match: _SPACE.sub("", _FRACTION.sub(_round_number, match[0])), svg)
    return _MOVED.sub(_use_with_place, _SPACE.sub("\n", drawn))


def _use_with_place(match: re.Match[str]) -> str:
    use, across, down = match.groups()
    return use + "".join(f' {axis}="{value}"' for axis, value in (("x", across), ("y", down)) if value != "0")


def _round_number(match: re.Match[str]) -> str:
    short = f"{float(match[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def strip_metadata(svg: str) -> str:
    """Return an SVG without metadata, comments, unreferenced ids, and groups without attributes."""
    text = _COMMENT.sub("", _METADATA.sub("", svg))
    wanted = set(_REFERENCE.findall(text))
    return _drop_plain_groups(_ID.sub(lambda match: match[0] if match[1] in wanted else "", text))


def shrink_file(svg: str) -> str:
    """Return a compact SVG for a separate file, after :func:`strip_metadata`.

    Ids are short, since they need to be unique only within the file. Repeated styles become classes, and the letters
    of a text are on one line. Unneeded spaces and prefixes are removed.
    """
    text = _LETTERS.sub("", _XLINK.sub("", _DOCTYPE.sub("", strip_metadata(svg))))
    short = {name: _name(number) for number, name in enumerate(dict.fromkeys(_ID.findall(text)))}
    text = _ID.sub(lambda match: f' id="{short[match[1]]}"', text)
    text = _REFERENCE.sub(lambda match: match[0].removesuffix(match[1]) + short[match[1]], text)
    text = _PATH.sub(lambda match: _AFTER.sub(r"\1", match[0]), text)
    return _replace_styles(_INLINE.sub(lambda match: _BLANK.sub(r"\1", match[0]), text))


def _replace_styles(svg: str) -> str:
    """Replace repeated styles by classes of the first style sheet.

    The SVG is returned unchanged if it has no style sheet or already has classes.
    """
    begin, sheet, rest = svg.partition("</style>")
    often = [style for style, times in Counter(_INLINE.findall(rest)).items() if times > 1]
    if not sheet or " class=" in rest or not often:
        return svg
    classes = {style: _name(number) for number, style in enumerate(often)}
    rules = "".join(f"\n.{name}{{{style}}}" for style, name in classes.items())
    return f"{begin}{rules}{sheet}" + _INLINE.sub(
        lambda match: f' class="{classes[match[1]]}"' if match[1] in classes else match[0], rest
    )


def _name(number: int) -> str:
    """Return a short name, a letter and digits of base 36: a, b, ... z, a0, a1, ..."""
    place, letter = divmod(number, 26)
    return chr(ord("a") + letter) + (np.base_repr(place - 1, 36).lower() if place else "")


def _drop_plain_groups(svg: str) -> str:
    """Replace groups without attributes by their contents, and remove empty groups."""
    plain: list[bool] = []

    def replace_tag(match: re.Match[str]) -> str:
        closing, attributes, empty = match.groups()
        if empty:
            return ""
        if not closing:
            plain.append(not attributes.strip())
            return "" if plain[-1] else match[0]
        return "" if plain.pop() else match[0]

    return _GROUP.sub(replace_tag, svg)


def shrink_for_page(svg: str) -> str:
    """Return an SVG for a page, without space between tags and without Matplotlib's style sheet.

    It is made from the SVG after :func:`strip_metadata`.

    A browser creates a node for every line break and every group, and figures have tens of thousands. A style sheet
    within an SVG applies to the full page, and each one makes the browser compute all styles again. The page's style
    sheet contains the rules of Matplotlib's.
    """
    return _STYLE.sub("", _BETWEEN.sub("><", strip_metadata(svg)))


def share_letters(figures: Sequence[str]) -> tuple[str, list[str]]:
    """Move the letters of all figures to one ``<svg>`` without size.

    Args:
        figures: SVG of figures after :func:`shrink_for_page`, with distinct ids.

    Returns:
        The SVG of letters, and the figures that refer to it.
    """
    names: dict[str, str] = {}
    known: dict[str, str] = {}
    for figure in figures:
        for name, shape in _LETTER.findall(figure):
            known[name] = names.setdefault(shape, f"c{len(names)}")

    def refer(match: re.Match[str]) -> str:
        return f'<use href="#{known.get(match[1], match[1])}"'

    shared = [_USE.sub(refer, _LETTER.sub("", figure).replace(_EMPTY, "")) for figure in figures]
    shapes = "".join(f'<path id="{name}" {shape}/>' for shape, name in names.items())
    return (
        f'<svg width="0" height="0" aria-hidden="true" style="position: absolute"><defs>{shapes}</defs></svg>',
        shared,
    )
