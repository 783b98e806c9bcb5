"""How tokenizers cut the same sentences."""

from collections.abc import Iterator, Sequence
from typing import Any
from unicodedata import bidirectional

import polars as pl

from tokbench.cuts.visible import visible
from tokbench.examples.choice import LONGEST, OF_DOCUMENT, OF_LANGUAGE, SHORTEST
from tokbench.examples.chosen import CONFIGURED
from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Cutting, Section, ShownToken
from tokbench.report.wording import counted

HOW = (
    "Tokens stand end to end, in two shades by turns, and each ends with a line. Tokens that not all tokenizers have "
    "are coloured, and a line is heavy where some have no border. A blank is ␣; what would not show by itself stands "
    "as its code point, and a byte of no whole character in hexadecimal, in ⟨brackets⟩. The number beside a name is "
    "that of its tokens; a token's id shows where it is pointed at, or below every token if that is asked for."
)
CHOSEN = (
    "The configuration's own sentences come first. The others are those of the evaluation split, in its first shard, "
    f"on which these tokenizers differ most, by borders that not all have a byte: among the first {OF_LANGUAGE} "
    f"sentences of each language, {OF_DOCUMENT} of a document at most, that have {SHORTEST} to {LONGEST} bytes and are "
    "four fifths letters or blanks. There are three of a language at most, and one of a document."
)
Span = tuple[int | None, int | None]


def examples(content: ReportContent) -> Section:
    """Every sentence with its cuts; nothing where none were made."""
    sentences, cuts = content.part("examples"), content.part("cuts")
    if sentences is None or cuts is None:
        return Section("examples", "How they cut")
    shown = cuts["variant"].n_unique()
    told = [HOW, CHOSEN]
    if shown < len(content.variants):
        which = "the baseline, then the first of the configuration, each at one vocabulary size"
        told.append(f"Shown are {shown:,} of {counted(len(content.variants), 'variant')}: {which}.")
    by_example = {number: part for (number,), part in cuts.group_by("example", maintain_order=True)}
    exhibits = [
        _cutting(row, by_example[row["example"]])
        for row in sentences.iter_rows(named=True)
        if row["example"] in by_example
    ]
    return Section("examples", "How they cut", told, exhibits)


def _cutting(sentence: dict[str, Any], cuts: pl.DataFrame) -> Cutting:
    tokenizers = [
        (f"{variant} {size:,}", list(part.select("start", "end", "id", "token").iter_rows()))
        for (variant, size), part in cuts.group_by("variant", "size", maintain_order=True)
    ]
    placed = [{row[:2] for row in rows} for _, rows in tokenizers if all(row[0] is not None for row in rows)]
    same = set.intersection(*placed) if placed else set()
    ends = [{end for _, end in spans} for spans in placed]
    borders = set.intersection(*ends) if ends else set()
    rows = [(name, list(_tokens(tokens, same, borders))) for name, tokens in tokenizers]
    return Cutting(sentence["example"], _caption(sentence), sentence["text"], _direction(sentence["text"]), rows)


def _tokens(
    rows: Sequence[tuple[int | None, int | None, int, str]], same: set[Span], borders: set[int | None]
) -> Iterator[ShownToken]:
    for start, end, one, token in rows:
        data = bytes.fromhex(token)
        placed = start is not None
        yield ShownToken(
            visible(data), one, data.hex(" "), placed and (start, end) not in same, placed and end not in borders
        )


def _caption(sentence: dict[str, Any]) -> str:
    if sentence["source"] == CONFIGURED:
        return "From the configuration."
    language = f", {sentence['language']}" if sentence["language"] else ""
    return f"{sentence['corpus']}{language}, document {sentence['document']:,} of the corpus."


def _direction(text: str) -> str:
    """That of the first letter with one."""
    strong = next((kind for one in text if (kind := bidirectional(one)) in ("L", "R", "AL")), "L")
    return "ltr" if strong == "L" else "rtl"
