"""Columns that several tables have, each declared once.

The columns of tokens by document and of boundaries by word, which statistics know without what makes them.

What the tables of token n-gram models share, and what stands beside each of them.

Columns that the tables of translations share.

How many variants are few: what is made of every pair of them, and what is drawn and printed of all.
"""

from dataclasses import replace

import polars as pl

from tokbench.tabulation.table import DIFFERENCE, PROBABILITY, SHARE, Column

VARIANT = Column("variant", pl.String, "name of the tokenizer's recipe in the configuration")
SIZE = Column(
    "size", pl.Int64, "vocabulary size that was asked for; of one made elsewhere, the tokens that a text can give",
    "tokens",
)  # fmt: skip
MODEL = Column("model", pl.String, "name of the language model's recipe; siblings by seed share a name in statistics")
SUITE = Column("suite", pl.String, "name of the set of tasks")
TASK = Column("task", pl.String, "name of the task")
REASON = Column("reason", pl.String, "why a value is missing, or what was left out of it")

CORPUS = Column("corpus", pl.String, "text or gold data measured on; “all resources” for means over gold data")
LANGUAGE = Column("language", pl.String, "language of the text; empty for the whole")
COLUMNS_METRIC = Column("metric", pl.String, "name of the metric")
DEFINITION = Column("definition", pl.String, "which word, which denominator, which of two variants in use")

ACCURACY = (
    VARIANT,
    SIZE,
    MODEL,
    SUITE,
    TASK,
    Column(
        "accuracy", pl.Float64, "share of questions answered right", SHARE, "accuracy (%)",
        empty="scored without an accuracy",
    ),
    Column(
        "random_baseline", pl.Float64, "expected accuracy of guessing", SHARE, "random (%)",
        empty="the task tells none",
    ),
    Column("n", pl.Int64, "questions of the task", "questions"),
)  # fmt: skip
"""What statistics need of the table of accuracies. A missing cell is a null or NaN accuracy, or no row."""

INTRINSIC = (
    VARIANT,
    SIZE,
    CORPUS,
    LANGUAGE,
    COLUMNS_METRIC,
    DEFINITION,
    Column("value", pl.Float64, "the measurement, in the unit that its definition tells"),
    Column("n", pl.Int64, "how many things the value is over"),
    REASON,
)
"""Measurements, one a row."""

OUTCOME = (
    MODEL,
    SUITE,
    VARIANT,
    SIZE,
    TASK,
    Column("document", pl.Int64, "number of the question, the same for all models"),
    Column("correct", pl.Boolean, "whether it was answered right"),
)
"""What statistics need of the table of outcomes."""

TEXT = (
    MODEL,
    VARIANT,
    SIZE,
    SUITE,
    Column("text", pl.String, "name of the text"),
    Column("value", pl.Float64, "bits over bytes of the text as distributed", "bits per byte", "bits per byte"),
)
"""What statistics need of the table of texts."""

AVERAGE = Column(
    "average", pl.Float64, "accuracy, an unweighted mean over cells (vocabulary size and task)", SHARE, "average (%)", 2
)
CELLS = Column("cells", pl.Int64, "cells averaged", "cells")
QUESTIONS = Column("questions", pl.Int64, "questions behind it", "questions")
A = Column("a", pl.String, "one of two variants")
B = Column("b", pl.String, "the other")
P_VALUE = Column("p_value", pl.Float64, "p of the test", PROBABILITY, "p")
HOLM = Column(
    "holm", pl.Float64, "p adjusted by Holm's procedure among all tests of the model and suite in this table",
    PROBABILITY, "p, Holm",
)  # fmt: skip
BENJAMINI_HOCHBERG = Column(
    "benjamini_hochberg", pl.Float64, "p adjusted by Benjamini and Hochberg's procedure among the same", PROBABILITY,
    "p, BH",
)  # fmt: skip
MEAN_DIFFERENCE = Column(
    "mean_difference", pl.Float64, "accuracy of a minus that of b, a mean", DIFFERENCE, "a − b (points)", 2
)
LOW = Column("low", pl.Float64, "lower end of a 95 % interval of it", DIFFERENCE, decimals=2)
HIGH = Column("high", pl.Float64, "upper end", DIFFERENCE, decimals=2)
BOOTSTRAP_P = Column(
    "bootstrap_p", pl.Float64, "one-sided p by the paired bootstrap: resamples not above zero", PROBABILITY,
    "p, bootstrap",
)  # fmt: skip
MISSING = Column("missing", pl.Int64, "cells that only one of the two has, left out", "cells")


def of_share(column: Column) -> Column:
    """The same of a share: an end of its interval."""
    return replace(column, unit=SHARE)


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


ORDER = Column("order", pl.Int64, "tokens of an n-gram: the model's highest order", "tokens")
TRAINING_BYTES = Column("training_bytes", pl.Int64, "text that the model was trained on", "bytes", "trained on (bytes)")
CANNOT = (
    "A context is a few tokens, so that longer tokens see more bytes: the numbers order tokenizers, and say nothing of "
    "the level that a language model reaches. High orders are sparse; trust what holds at every order from 2 on and on "
    "every budget. Plain Unigram is known to be rated too well by them."
)
"""What these numbers cannot say."""


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
        "whole numbers whose sums over any sentences make their BLEU or chrF, see tokbench.statistics.translations",
        empty="COMET is a mean of the sentences' scores",
    ),
)  # fmt: skip
"""What statistics need of translated sentences."""


MAX_PAIRWISE_VARIANTS = 64
"""Variants of which every pair is compared. Pairs grow with their square: a thousand have a million."""
MAX_DRAWN = 20
"""Of more variants than those, how many a figure shows: the best, and the baseline with them."""
MAX_PRINTED = 100
"""Of more variants than those, how many rows of a table by variant the page shows; its files have all."""
