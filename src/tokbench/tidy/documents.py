"""The columns of tokens by document, which statistics know without what makes them."""

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
