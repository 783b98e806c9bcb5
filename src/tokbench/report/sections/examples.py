"""How tokenizers cut the same sentences."""

from collections.abc import Iterator, Sequence
from typing import Any
from unicodedata import bidirectional

import polars as pl

from tokbench.cuts.visible import visible
from tokbench.examples.choice import LONGEST, OF_LANGUAGE, SHORTEST
from tokbench.examples.chosen import CONFIGURED
from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Cutting, Section, ShownToken
from tokbench.report.wording import counted

HOW = (
    "Each row is the same sentence, cut by one tokenizer at the vocabulary size beside its name; the small number "
    "counts its tokens. A token is coloured where some other tokenizer here does not have the same piece, and ends "
    "with a heavy line where some other has no boundary. A space is shown as ␣, what cannot be seen by its code point, "
    "and bytes that are no whole character in hexadecimal, in ⟨brackets⟩. Point at a token to see its id."
)
NAMED = "Sentences that the configuration names come first. The others are"
CHOSEN = (
    "those on which these tokenizers differ most: with the most boundaries, for each byte, that not all of them share. "
    f"They are from the first shard of the evaluation split, of the first {OF_LANGUAGE} sentences of each language "
    f"that are mostly letters and of {SHORTEST} to {LONGEST} bytes; at most three of a language, and one of a document."
)
Span = tuple[int | None, int | None]


def examples(content: ReportContent) -> Section:
    """Every sentence with its cuts; nothing where none were made."""
    sentences, cuts = content.part("examples"), content.part("cuts")
    if sentences is None or cuts is None:
        return Section("examples", "The same sentences, cut by each tokenizer")
    shown = cuts["variant"].n_unique()
    sources = set(sentences["source"])
    told = [HOW]
    if sources != {CONFIGURED}:
        told.append(f"{NAMED if CONFIGURED in sources else 'The sentences are'} {CHOSEN}")
    if shown < len(content.variants):
        which = "the baseline, then the first of the configuration, each at one vocabulary size"
        told.append(f"Shown are {shown:,} of {counted(len(content.variants), 'variant')}: {which}.")
    by_example = {number: part for (number,), part in cuts.group_by("example", maintain_order=True)}
    exhibits = [
        _cutting(row, by_example[row["example"]])
        for row in sentences.iter_rows(named=True)
        if row["example"] in by_example
    ]
    return Section("examples", "The same sentences, cut by each tokenizer", told, exhibits)


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
        return "Named in the configuration."
    language = f", {sentence['language']}" if sentence["language"] else ""
    return f"From {sentence['corpus']}{language}, document {sentence['document']:,}."


def _direction(text: str) -> str:
    """That of the first letter with one."""
    strong = next((kind for one in text if (kind := bidirectional(one)) in ("L", "R", "AL")), "L")
    return "ltr" if strong == "L" else "rtl"
