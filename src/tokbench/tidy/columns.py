"""Columns that several tables have, each declared once."""

from dataclasses import replace

import polars as pl

from tokbench.tidy.table import DIFFERENCE, PROBABILITY, SHARE, Column

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
METRIC = Column("metric", pl.String, "name of the metric")
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
    METRIC,
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
