"""SVG of Matplotlib in half of its bytes: hundredths of a point in place of millionths, no indentation, letters by
their places."""

import re

_DRAWN = re.compile(r'(?<= )(?:d|x|y)="[^"]*"|translate\([^)]*\)')
"""Attributes that hold coordinates. What scales is left: it multiplies."""
_FRACTION = re.compile(r"-?\d+\.\d{3,}")
_SPACE = re.compile(r"\s*\n\s*")
_MOVED = re.compile(r'(<use [^>]*?) transform="translate\((\S+) (\S+)\)"')
"""A letter that is moved and not scaled."""


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
