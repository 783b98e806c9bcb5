"""Ids in an SVG file, numbered in order of appearance.

Matplotlib makes them from the coordinates of what they name, to the last bit, which rests on the machine's linear
algebra; the coordinates themselves are written with six decimals.
"""

import re

_HASHED = re.compile(r'\bid="((C[0-9a-f]+_[0-9a-f]+_|[a-z]+)[0-9a-f]{10})"')


def numbered(svg: str) -> str:
    """The file with each id that ends in a hash renamed, wherever it stands, to what precedes the hash and a number."""
    names: dict[str, str] = {}
    for hashed, kind in _HASHED.findall(svg):
        names.setdefault(hashed, f"{kind}-{len(names) + 1}")
    if not names:
        return svg
    return re.sub(f'(?<=["#])(?:{"|".join(names)})(?=[")])', lambda found: names[found[0]], svg)
