"""All comparisons of pairs of tokenizers by all measures, in one long table.

The rows are those of the scoreboard's families and of the tables of single measures. Each has the same columns: the
difference with its interval, the units that the interval is over, the tests, the verdict, and the reason if it is not
tested. The command, Python, the report and published pages print these rows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tokbench.statistics.comparisons.families import (
    ACCURACY,
    BITS,
    NGRAM,
    ComparisonFamily,
    Pretokenizers,
    judge_pairs,
    pair_row,
)
from tokbench.statistics.comparisons.pair_selection import SELECTION
from tokbench.tabulation.columns import MODEL, REASON, SIZE, SUITE, A, B
from tokbench.tabulation.table import MEASURE, PROBABILITY, Column, TidyTable


def paired_comparisons(
    families: Sequence[ComparisonFamily],
    baselines_of_all: Mapping[str, str],
    pretokenizers_of_all: Pretokenizers,
    task_measure_comparisons: pl.DataFrame,
    robustness_comparisons: pl.DataFrame,
    perturbed_comparisons: pl.DataFrame,
    segmentation_loss_comparisons: pl.DataFrame,
    ngram_languages: pl.DataFrame,
    bits_languages: pl.DataFrame,
    domain_comparisons: pl.DataFrame,
) -> pl.DataFrame:
    """Collect the comparisons of all measures.

    Args:
        families: main measures, see :func:`tokbench.statistics.comparisons.scoreboard.scoreboard_families`.
        baselines_of_all: baseline by variant.
        pretokenizers_of_all: pre-tokenizer by variant.
        task_measure_comparisons: comparisons by answers, of each task and over tasks.
        robustness_comparisons: comparisons by changes of segmentations.
        perturbed_comparisons: comparisons by changes of answers.
        segmentation_loss_comparisons: comparisons by losses with other segmentations.
        ngram_languages, bits_languages: comparisons over languages.
        domain_comparisons: comparisons by domain, and by the weighted mean over domains.

    Returns:
        The columns of :data:`PAIRED_COMPARISONS`, one row per measure and pair.
    """
    # Main measures, then the tables of single measures with the same columns.
    rows = [row for family in families for row in _rows(family, baselines_of_all, pretokenizers_of_all)]
    main = pl.DataFrame(rows, schema=PAIRED_COMPARISONS.schema)
    answers = task_measure_comparisons.filter((pl.col("task") != "") | (pl.col("measure") != ACCURACY))
    parts = [
        _rename(answers, definition=pl.lit(None)),
        _rename(robustness_comparisons, measure=pl.lit("added_tokens"), definition=pl.col("kind")),
        _rename(
            perturbed_comparisons,
            measure=pl.format("change_of_{}", "measure"),
            definition=pl.col("kind"),
        ),
        _rename(
            segmentation_loss_comparisons,
            measure=pl.format("loss_of_{}", "measure"),
            definition=pl.col("segmentation"),
        ),
        _rename(ngram_languages, measure=pl.lit(NGRAM), definition=pl.lit("over languages")),
        _rename(bits_languages, measure=pl.lit(BITS), definition=pl.lit("over languages")),
        _rename(
            domain_comparisons,
            measure=pl.format("{}_by_domain", "measure"),
            definition=pl.format("{}: {}", "domain", "definition"),
            **{name: pl.col(name).replace("", None) for name in ("model", "suite")},
        ),
    ]
    # Pre-tokenizers of both tokenizers.
    named = pl.concat([main, *parts])
    of = {name: pretokenizers_of_all.get(name) for name in {*named["a"], *named["b"]}}
    return named.with_columns(
        pretokenization_a=pl.col("a").replace_strict(of, default=None, return_dtype=pl.String),
        pretokenization_b=pl.col("b").replace_strict(of, default=None, return_dtype=pl.String),
    )


def _rows(family: ComparisonFamily, baselines: Mapping[str, str], pretokenizers: Pretokenizers) -> list[dict[str, Any]]:
    return [
        pair_row(family, a, b, judgement) for (a, b), judgement in judge_pairs(family, baselines, pretokenizers).items()
    ]


def _rename(frame: pl.DataFrame, **columns: pl.Expr) -> pl.DataFrame:
    """Return rows of another table with the columns of the long one."""
    if "source_corpus" in frame.columns:
        frame = frame.rename({"source_corpus": "corpus"})
    frame = frame.with_columns(**columns)
    missing = [pl.lit(None, dtype).alias(name) for name, dtype in SCHEMA.items() if name not in frame.columns]
    return frame.with_columns(missing).select(list(SCHEMA)).cast(SCHEMA)  # type: ignore[arg-type]


PAIRED_COMPARISONS = TidyTable(
    "paired_comparisons",
    f"two tokenizers at a vocabulary size by a measure; {SELECTION}",
    (
        Column("measure", pl.String, "measure, as in the scoreboard or in the table of its comparisons"),
        Column("definition", pl.String, "definition of the measure, or the kind of perturbation or segmentation"),
        Column("corpus", pl.String, "name of the corpus; empty for measures that are not of a text"),
        MODEL,
        SUITE,
        Column("task", pl.String, "name of the task; empty for other measures, and for means over tasks"),
        SIZE,
        A,
        B,
        Column("pretokenization_a", pl.String, "pre-tokenizer of a; empty if it is not known"),
        Column("pretokenization_b", pl.String, "pre-tokenizer of b; if it differs, the difference is also one of "
               "pre-tokenizers"),
        Column("value_a", pl.Float64, "value of a", MEASURE),
        Column("value_b", pl.Float64, "value of b", MEASURE),
        Column("difference", pl.Float64, "value of a minus that of b; for tokens, a / b − 1", MEASURE, "a − b"),
        Column("low", pl.Float64, "lower end of its 95 % interval, not corrected for several pairs", MEASURE),
        Column("high", pl.Float64, "upper end of this interval", MEASURE),
        Column("unit", pl.String, "units that the interval is over; with several seeds, it is also over seeds"),
        Column("n", pl.Int64, "number of these units"),
        Column("seeds", pl.Int64, "seeds that both models were trained with; empty if no model was trained"),
        Column("p_value", pl.Float64, "two-sided p-value of no difference", PROBABILITY, "p"),
        Column("holm", pl.Float64, "p-value after Holm's correction over all pairs of the measure, corpus, model, "
               "suite and size", PROBABILITY, "p, Holm"),
        Column("verdict", pl.String, "verdict on a by Holm's p at level 0.05: better, worse, no significant "
               "difference, or not tested (see reason)", "", "a is"),
        Column("excluded", pl.Float64, "if not significant: larger differences, of either sign, are excluded by "
               "simultaneous 95 % intervals for all pairs of the family", MEASURE, "excluded above",
               empty="the difference is significant"),
        Column("detectable", pl.Float64, "true difference that Student's t test with this error detects with "
               "probability 0.8, without correction", MEASURE),
        REASON,
    ),
    maker=paired_comparisons,
    takes=(
        "families", "baselines_of_all", "pretokenizers_of_all", "task_measure_comparisons",
        "robustness_comparisons", "perturbed_comparisons", "segmentation_loss_comparisons", "ngram_languages",
        "bits_languages", "domain_comparisons",
    ),
)  # fmt: skip
SCHEMA = PAIRED_COMPARISONS.schema
