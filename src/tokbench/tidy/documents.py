"""The columns of tokens by document and of boundaries by word, which statistics know without what makes them."""

import polars as pl

from tokbench.tidy.columns import CORPUS, SIZE, VARIANT
from tokbench.tidy.table import Column

TOKENS = (
    VARIANT,
    SIZE,
    CORPUS,
    Column("document", pl.Int64, "position of the document in its source, of a group that of its first"),
    Column("documents", pl.Int64, "documents in the group, 1 of one that stands alone", "documents"),
    Column("bytes", pl.Int64, "their text", "bytes"),
    Column("tokens", pl.Int64, "their tokens, ends not counted", "tokens"),
)

BOUNDARIES = (
    VARIANT,
    SIZE,
    CORPUS,
    Column("word", pl.Int64, "place of the word in the gold data, counted from 0, of a group that of its first"),
    Column("words", pl.Int64, "words in the group, 1 of one that stands alone", "words"),
    Column("right", pl.Int64, "boundaries of tokens that are such of morphemes", "boundaries"),
    Column("wrong", pl.Int64, "boundaries of tokens that are none of morphemes", "boundaries"),
    Column("missed", pl.Int64, "boundaries of morphemes that are none of tokens", "boundaries"),
)
