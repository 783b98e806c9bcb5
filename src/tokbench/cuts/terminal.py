"""Cuts of one text for a terminal: a row a tokenizer, its ids below it, and what not all have in another colour."""

from collections.abc import Iterator, Sequence

from tokbench.cuts.columns import ALL, GOES_ON, SOME, Cell, rows, width_of
from tokbench.cuts.cut import Cut
from tokbench.cuts.visible import visible

EDGES = {ALL: "│", SOME: "┃", GOES_ON: "…"}
LONGEST_NAME = 24
SHADES = {False: ("48;5;253", "48;5;248"), True: ("48;5;222", "48;5;215")}
"""Backgrounds, in turn, of tokens that all have and of those that not all have."""
INK, FAINT, PLAIN = "30", "2", "0"
LEGEND = f"{EDGES[ALL]} a boundary in every row, {EDGES[SOME]} in some rows, {EDGES[GOES_ON]} a token goes on below"


def cuts_text(cuts: Sequence[Cut], text: bytes, width: int, colour: bool) -> str:
    """Everything that ``tokbench show`` prints.

    Args:
        cuts: of the same text.
        text: any bytes.
        width: columns of the terminal.
        colour: whether to write escapes for colours; borders are signs either way.
    """
    lines: list[str] = []
    placed = [one for one in cuts if one.placed]
    names = [_short(one.name) for one in placed]
    gutter = max(map(width_of, names), default=0) + 1
    for row in rows(placed, text, max(width - gutter, 20)) if placed and text else ():
        for name, cells in zip(names, row, strict=True):
            lines.append(name + " " * (gutter - width_of(name)) + "".join(_token(cell, colour) for cell in cells))
            lines.append(_faint(" " * gutter + "".join(cell.id.ljust(cell.width + 1) for cell in cells), colour))
        lines.append("")
    lines += [line for one in cuts if not one.placed for line in _unplaced(one, width, colour)]
    lines += [_summary(one, len(text)) for one in cuts]
    if len(placed) > 1:
        lines.append(_faint(LEGEND, colour))
    return "\n".join(lines) + "\n"


def _short(name: str) -> str:
    shown = visible(name.encode("utf-8", "surrogateescape")).replace("␣", " ")
    return shown if len(shown) <= LONGEST_NAME else f"…{shown[1 - LONGEST_NAME :]}"


def _token(cell: Cell, colour: bool) -> str:
    text = cell.text + " " * (cell.width - width_of(cell.text))
    if not colour:
        return text + EDGES[cell.border]
    shade = SHADES[cell.differs][cell.place % 2]
    return f"\x1b[{INK};{shade}m{text}{EDGES[cell.border]}\x1b[{PLAIN}m"


def _faint(text: str, colour: bool) -> str:
    text = text.rstrip()
    return f"\x1b[{FAINT}m{text}\x1b[{PLAIN}m" if colour and text else text


def _unplaced(one: Cut, width: int, colour: bool) -> Iterator[str]:
    """Tokens of a cut that do not give the text back: as they are decoded, each with its id."""
    yield f"{_short(one.name)}: its tokens are not the bytes of the text; each as it is decoded by itself:"
    line = ""
    for token in one.tokens:
        told = f"{visible(token.data)}({token.id}){EDGES[ALL]}"
        if line and width_of(line) + width_of(told) > width:
            yield _faint(line, colour)
            line = ""
        line += told
    yield _faint(line, colour)
    yield ""


def _summary(one: Cut, size: int) -> str:
    tokens = len(one.tokens)
    each = f", {size / tokens:.2f} bytes a token" if tokens else ""
    source = f"; {one.source}" if one.source else ""
    return f"{_short(one.name)}: {tokens:,} {'token' if tokens == 1 else 'tokens'}{each}{source}"
