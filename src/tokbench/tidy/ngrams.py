"""What the tables of token n-gram models share, and what stands beside each of them."""

import polars as pl

from tokbench.tidy.table import Column

ORDER = Column("order", pl.Int64, "tokens of an n-gram: the model's highest order", "tokens")
TRAINING_BYTES = Column("training_bytes", pl.Int64, "text that the model was trained on", "bytes", "trained on (bytes)")
CANNOT = (
    "A context is a few tokens, so that longer tokens see more bytes: the numbers order tokenizers, and say nothing of "
    "the level that a language model reaches. High orders are sparse; trust what holds at every order from 2 on and on "
    "every budget. Plain Unigram is known to be rated too well by them."
)
"""What these numbers cannot say."""
