"""Bytes as a reader sees them: every character takes its place, and none hides, joins or turns what stands beside it.

Spaces, tabs and ends of lines have signs. What would not show by itself (controls, marks of direction, joiners,
variation selectors, blanks of other widths, private and unassigned characters) stands as its code point between angle
brackets, a byte that belongs to no whole character as its two hexadecimal digits. A mark that has no character of its
own to stand on is put on a dotted circle.
"""

import regex

SIGNS = {" ": "␣", "\t": "⇥", "\n": "⏎", "\r": "␍"}
CIRCLE = "◌"
"""What a mark is put on that stands at the beginning."""
BYTE, FIRST_ESCAPED = 0xDC00, 0xDC80
"""A byte of no character is decoded to this code point and its own value, that of the first such byte."""
_UNSEEN = r"\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\p{Emoji_Modifier}\u2800"
_MARKS = r"\p{M}\u1160-\u11ff\ud7b0-\ud7ff"
"""Marks, and vowels and finals of Hangul, which join the character before them."""
_HIDDEN = regex.compile(rf"(?P<hidden>[{_UNSEEN}])|(?P<mark>(?<=^|[{_UNSEEN}])[{_MARKS}])")


def visible(data: bytes) -> str:
    """Bytes as they are shown: one line, in which only marks are narrower than a column."""
    return _HIDDEN.sub(_sign, data.decode("utf-8", "surrogateescape"))


def _sign(found: regex.Match[str]) -> str:
    character = found[0]
    if found["mark"]:
        return CIRCLE + character
    code = ord(character)
    if FIRST_ESCAPED <= code < BYTE + 0x100:
        return f"⟨{code - BYTE:02x}⟩"
    return SIGNS.get(character) or f"⟨U+{code:04X}⟩"
