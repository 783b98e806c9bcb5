"""Aligned segmentations of one text for a terminal: one row per tokenizer, with ids below.

Boundaries at the same offset are in the same column. A column begins at every boundary of any tokenizer, and is as wide
as its widest token and id. Rows end at a boundary of all tokenizers, or else between characters if possible. Tokens
that not all tokenizers share have another colour.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from wcwidth import wcswidth

from tokbench.examples.cut import SegmentedText, Token, disputed_boundaries, visible

EDGE = 1
"""Width of a boundary in columns."""


@dataclass(frozen=True)
class TokenCell:
    """A token in a row, or the part of it that fits in the row.

    Attributes:
        text: its visible text.
        id: its id; empty in rows after its first.
        width: width in columns, without the boundary at its end.
        place: index of the token in its segmentation.
        differs: True if another segmentation does not have the same token here.
        border: its end: a boundary of all segmentations, one of only some, or none, because it continues in the next
            row.
    """

    text: str
    id: str
    width: int
    place: int
    differs: bool
    border: str


ALL, SOME, GOES_ON = "all", "some", "goes on"
Row = Sequence[Sequence[TokenCell]]
"""Cells of each segmentation, from left to right."""


def width_of(text: str) -> int:
    """Return the width of a visible text in terminal columns."""
    return max(int(wcswidth(text)), 0)


def rows(cuts: Sequence[SegmentedText], text: bytes, width: int) -> Iterator[Row]:
    """Yield rows of aligned segmentations.

    Args:
        cuts: segmentations; all must be placed in the text.
        text: the text.
        width: maximum width of a row in columns, including boundaries.
    """
    borders = sorted(frozenset().union(*(cut.borders for cut in cuts)))
    edges = [edge for start, end in pairwise(borders) for edge in _column_starts(text, start, end, width)]
    edges.append(len(text))
    common = frozenset.intersection(*(cut.borders for cut in cuts))
    common_tokens = frozenset.intersection(*(cut.spans for cut in cuts))
    disputed_borders = disputed_boundaries(cuts)
    between = _character_ends(text)
    first = 0
    while first < len(edges) - 1:
        last = _row_end(cuts, text, edges, first, width, common, between)
        columns = _columns(cuts, text, edges[first : last + 1])
        yield [_cells(cut, text, columns, common_tokens, disputed_borders) for cut in cuts]
        first = last


def _column_starts(text: bytes, start: int, end: int, width: int) -> Iterator[int]:
    """Yield the start of a column, and offsets between characters where a column wider than a row is split."""
    yield start
    width_taken = 0
    while start < end:
        size = next((size for size in (1, 2, 3, 4) if _is_utf8(text[start : min(start + size, end)])), 1)
        wide = width_of(visible(text[start : start + size])) + EDGE
        if width_taken and width_taken + wide > width - EDGE:
            yield start
            width_taken = 0
        width_taken += wide - EDGE
        start += size


def _is_utf8(data: bytes) -> bool:
    try:
        return bool(data.decode())
    except UnicodeDecodeError:
        return False


def _character_ends(text: bytes) -> frozenset[int]:
    """Return the offsets after each character of a text; an invalid byte counts as a character."""
    characters = text.decode("utf-8", "surrogateescape")
    return frozenset(accumulate(len(character.encode("utf-8", "surrogateescape")) for character in characters))


def _row_end(
    cuts: Sequence[SegmentedText],
    text: bytes,
    edges: list[int],
    first: int,
    width: int,
    common: frozenset[int],
    between: frozenset[int],
) -> int:
    """Return the index of the edge at which a row ends."""
    last = first + 1
    while last < len(edges) - 1:
        if edges[last] in common and text[edges[last] - 1 : edges[last]] == b"\n":
            return last
        columns = _columns(cuts, text, edges[first : last + 2])
        if columns[edges[last + 1]] > width:
            break
        last += 1
    else:
        return last
    ends = range(last, first, -1)
    return next((edge for places in (common, between) for edge in ends if edges[edge] in places), last)


def _columns(cuts: Sequence[SegmentedText], text: bytes, edges: list[int]) -> dict[int, int]:
    """Return the column of each edge of a row."""
    needs: dict[int, list[tuple[int, int]]] = {}
    for cut in cuts:
        for token, start, end in _overlapping_tokens(cut, edges[0], edges[-1]):
            wide = width_of(visible(text[start:end])) + EDGE
            if start == token.start:
                wide = max(wide, len(str(token.id)) + EDGE)
            needs.setdefault(end, []).append((start, wide))
    columns = {edges[0]: 0}
    for before, edge in pairwise(edges):
        needed = (columns[start] + wide for start, wide in needs.get(edge, []))
        columns[edge] = max([columns[before] + EDGE, *needed])
    return columns


def _overlapping_tokens(cut: SegmentedText, start: int, end: int) -> Iterator[tuple[Token, int, int]]:
    """Yield the tokens that overlap a row, each with the start and end of the overlap."""
    first, beyond = bisect_right(cut.starts, start) - 1, bisect_left(cut.starts, end)
    for token in cut.tokens[first:beyond]:
        assert token.start is not None
        assert token.end is not None
        yield token, max(start, token.start), min(end, token.end)


def _cells(
    cut: SegmentedText,
    text: bytes,
    columns: dict[int, int],
    common_tokens: frozenset[tuple[int | None, int | None]],
    disputed_borders: frozenset[int],
) -> list[TokenCell]:
    edges = sorted(columns)
    return [
        TokenCell(
            visible(text[start:end]),
            str(token.id) if start == token.start else "",
            columns[end] - columns[start] - EDGE,
            bisect_left(cut.starts, token.start or 0),
            (token.start, token.end) not in common_tokens,
            GOES_ON if end != token.end else SOME if end in disputed_borders else ALL,
        )
        for token, start, end in _overlapping_tokens(cut, edges[0], edges[-1])
    ]


EDGES = {ALL: "│", SOME: "┃", GOES_ON: "…"}
LONGEST_NAME = 24
SHADES = {False: ("48;5;253", "48;5;248"), True: ("48;5;222", "48;5;215")}
"""Alternating background colours of tokens that all tokenizers share, and of other tokens."""
INK, FAINT, PLAIN = "30", "2", "0"
LEGEND = f"{EDGES[ALL]} a boundary in every row, {EDGES[SOME]} in some rows, {EDGES[GOES_ON]} a token continues below"


def cuts_text(cuts: Sequence[SegmentedText], text: bytes, width: int, colour: bool) -> str:
    """Return the output of ``tokbench show``.

    Args:
        cuts: segmentations of the text.
        text: any bytes.
        width: width of the terminal in columns.
        colour: write colour escapes.
    """
    lines: list[str] = []
    placed = [cut for cut in cuts if cut.placed]
    names = [_shorten(cut.name) for cut in placed]
    gutter = max(map(width_of, names), default=0) + 1
    for row in rows(placed, text, max(width - gutter, 20)) if placed and text else ():
        for name, cells in zip(names, row, strict=True):
            lines.append(name + " " * (gutter - width_of(name)) + "".join(_token(cell, colour) for cell in cells))
            lines.append(_dim(" " * gutter + "".join(cell.id.ljust(cell.width + 1) for cell in cells), colour))
        lines.append("")
    lines += [line for cut in cuts if not cut.placed for line in _unplaced_lines(cut, width, colour)]
    lines += [_summary(cut, len(text)) for cut in cuts]
    if len(placed) > 1:
        lines.append(_dim(LEGEND, colour))
    return "\n".join(lines) + "\n"


def _shorten(name: str) -> str:
    label = visible(name.encode("utf-8", "surrogateescape")).replace("␣", " ")
    return label if len(label) <= LONGEST_NAME else f"…{label[1 - LONGEST_NAME :]}"


def _token(cell: TokenCell, colour: bool) -> str:
    text = cell.text + " " * (cell.width - width_of(cell.text))
    if not colour:
        return text + EDGES[cell.border]
    shade = SHADES[cell.differs][cell.place % 2]
    return f"\x1b[{INK};{shade}m{text}{EDGES[cell.border]}\x1b[{PLAIN}m"


def _dim(text: str, colour: bool) -> str:
    text = text.rstrip()
    return f"\x1b[{FAINT}m{text}\x1b[{PLAIN}m" if colour and text else text


def _unplaced_lines(cut: SegmentedText, width: int, colour: bool) -> Iterator[str]:
    """Yield lines for a tokenizer whose tokens do not restore the text: each decoded token with its id."""
    yield f"{_shorten(cut.name)}: its tokens are not the bytes of the text; each token decoded separately:"
    line = ""
    for token in cut.tokens:
        message = f"{visible(token.data)}({token.id}){EDGES[ALL]}"
        if line and width_of(line) + width_of(message) > width:
            yield _dim(line, colour)
            line = ""
        line += message
    yield _dim(line, colour)
    yield ""


def _summary(cut: SegmentedText, size: int) -> str:
    tokens = len(cut.tokens)
    mean_length = f", {size / tokens:.2f} bytes per token" if tokens else ""
    source = f"; {cut.source}" if cut.source else ""
    return f"{_shorten(cut.name)}: {tokens:,} {'token' if tokens == 1 else 'tokens'}{mean_length}{source}"
