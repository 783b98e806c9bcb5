"""The tables of the stage: the sentences, and the tokens that each tokenizer makes of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tokbench.cuts.cut import cut
from tokbench.examples.chosen import SPLIT, Shown
from tokbench.tidy.columns import LANGUAGE, SIZE, VARIANT
from tokbench.tidy.table import Column, Print, TidyTable

EXAMPLE = Column("example", pl.Int64, "number of the sentence, from 1")


def examples(sentences: Sequence[Shown]) -> pl.DataFrame:
    """The sentences in order."""
    rows = [
        (number, one.source, one.corpus, one.sentence.language, one.sentence.document if one.source == SPLIT else None,
         one.sentence.text)
        for number, one in enumerate(sentences, 1)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=EXAMPLES.schema, orient="row")


def cuts(sentences: Sequence[Shown], tokenizers: Mapping[str, Any]) -> pl.DataFrame:
    """The tokens of every sentence, tokenizer by tokenizer."""
    rows = []
    for number, one in enumerate(sentences, 1):
        for folder in one.folders:
            tokenizer = tokenizers[folder]
            size = tokenizer.nominal_size
            made = cut(tokenizer.name, tokenizer, one.sentence.text.encode())
            rows += [
                (number, tokenizer.name, size, place, token.start, token.end, token.id, token.data.hex())
                for place, token in enumerate(made.tokens, 1)
            ]
    return pl.DataFrame(rows, schema=CUTS.schema, orient="row")


EXAMPLES = TidyTable(
    "examples",
    "a sentence that tokenizers cut",
    (
        EXAMPLE,
        Column("source", pl.String, "“configuration” for the user's own, “evaluation split” for one that was chosen"),
        Column("corpus", pl.String, "corpus of the document; empty for the user's own"),
        LANGUAGE,
        Column("document", pl.Int64, "number of the document that it stands in", empty="the user's own sentence"),
        Column("text", pl.String, "the sentence"),
    ),
    maker=examples,
    takes=("sentences",),
    command="cut_examples",
    prints=(
        Print(
            "examples", "The user's sentences, and those on which tokenizers differ most.", arranged=True, form="cuts"
        ),
    ),
)
CUTS = TidyTable(
    "cuts",
    "a token of a sentence, by one tokenizer",
    (
        EXAMPLE,
        VARIANT,
        SIZE,
        Column("place", pl.Int64, "number of the token in the sentence, from 1"),
        Column("start", pl.Int64, "where its bytes begin in the sentence", "bytes", empty="not the sentence's bytes"),
        Column("end", pl.Int64, "where they end", "bytes", empty="not the sentence's bytes"),
        Column("id", pl.Int64, "its id"),
        Column("token", pl.String, "its bytes in hexadecimal"),
    ),
    maker=cuts,
    takes=("sentences", "tokenizers"),
    command="cut_examples",
    prints=(Print("examples", "How tokenizers cut the same sentences.", arranged=True, form="cuts"),),
)
