"""Columns that the tables of translations share."""

import polars as pl

from tokbench.tidy.columns import MODEL, SIZE
from tokbench.tidy.table import Column

PARALLEL = Column("parallel", pl.String, "name of the parallel corpus", heading="corpus")
SOURCE = Column("source_language", pl.String, "language that is translated", heading="from")
TARGET = Column("target_language", pl.String, "language that it is translated into", heading="to")
TEST = Column("test", pl.String, "name of the test")
TOKENIZERS = Column(
    "tokenizers", pl.String,
    "variant of a joint vocabulary, or those of the source's and the target's with “ + ” between them",
)  # fmt: skip
METRIC = Column("metric", pl.String, "BLEU, chrF or COMET")
SYSTEM = (PARALLEL, SOURCE, TARGET, TEST, MODEL, SIZE)
"""What translations have in common that are compared."""
SENTENCES = (
    *SYSTEM,
    TOKENIZERS,
    METRIC,
    Column("pair", pl.Int64, "number of the pair in the file that the test was read from"),
    Column("value", pl.Float64, "the sentence's own score; BLEU is that of effective order"),
    Column(
        "statistics", pl.String,
        "whole numbers whose sums over any sentences make their BLEU or chrF, as tokbench.translation_scores tells",
        empty="COMET is a mean of the sentences' scores",
    ),
)  # fmt: skip
"""What statistics need of translated sentences."""
