"""Estimates of probability that scores miss: coverings of straddling choices, and alternative segmentations."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.tabulation.answers import tasks
from tokbench.tabulation.columns import MODEL, SIZE, SUITE, TASK, VARIANT
from tokbench.tabulation.reading import table_of_results
from tokbench.tabulation.table import Column, Print, TidyTable

ORDER = ("model", "suite", "size", "variant")


def coverings_table(downstream: Iterable[Path | str]) -> pl.DataFrame:
    """Return how much likelier contexts would be with unused coverings, by task with straddling choices.

    An unused covering is a token sequence that the tokenizer produced for none of the continuations tried.

    Args:
        downstream: downstream result files, one per model, variant, size and suite, in any order.

    Returns:
        The columns of :data:`COVERINGS`, ordered by model, suite, size, variant and task. Both numbers are null if
        they were not measured, see :func:`tokbench.evaluation.evaluate.unused_coverings`.

    Raises:
        TokbenchError: see :func:`tokbench.tabulation.reading.frame_of_result`.
    """

    def rows(result: Any) -> list[dict[str, Any]]:
        return [{**task["coverings"], "task": task["task"]} for task in tasks(result) if task["coverings"]]

    return table_of_results(downstream, COVERINGS, rows, *ORDER, "task").fill_nan(None)


NOT_TAKEN = "scored before this was measured, or through another library, whose tokens are not known by their bytes"
COVERINGS = TidyTable(
    "coverings",
    "a model with a tokenizer on a task in which choices straddle",
    (
        VARIANT,
        SIZE,
        MODEL,
        SUITE,
        TASK,
        Column("questions", pl.Int64, "questions with straddling choices", "questions"),
        Column(
            "mean", pl.Float64, "gain in a context's log-probability from unused coverings, mean over questions",
            "nats", "mean (nats)", empty=NOT_TAKEN,
        ),
        Column(
            "largest", pl.Float64, "largest gain of any question", "nats", "largest (nats)", empty=NOT_TAKEN
        ),
    ),
    maker=coverings_table,
    takes=("files.downstream",),
    keys=("variant", "size", "model", "suite", "task"),
    command="tabulate",
    prints=(
        Print(
            "downstream",
            "Probability of contexts that may be missing where choices straddle their end, in nats: the gain if token "
            "sequences also counted that the tokenizer produced for none of the continuations tried. Tokenizers that "
            "merge, match greedily or use best paths never produce such sequences. Others may produce some; their "
            "scores are then too high by at most this much.",
            ("variant", "model", "suite", "size", "task", "questions", "mean", "largest"),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip


BITS = "bits per byte"


def one_segmentation_table(downstream: Iterable[Path | str]) -> pl.DataFrame:
    """Return the estimated bits per byte that a model loses because only one segmentation of a text counts.

    Args:
        downstream: downstream result files, in any order.

    Returns:
        The columns of :data:`ONE_SEGMENTATION`, ordered by model, suite, size and variant. Suites without this estimate
        or without text have no row.

    Raises:
        TokbenchError: see :func:`tokbench.tabulation.reading.frame_of_result`.
    """
    return _table_of_excerpts(downstream, ONE_SEGMENTATION)


def summed_bits_table(downstream: Iterable[Path | str]) -> pl.DataFrame:
    """Return bits per byte with all segmentations that a beam followed.

    Args:
        downstream: downstream result files, as for :func:`one_segmentation_table`.

    Returns:
        The columns of :data:`SUMMED_BITS`, ordered by model, suite, size and variant. Suites without this measure or
        without text have no row.

    Raises:
        TokbenchError: see :func:`tokbench.tabulation.reading.frame_of_result`.
    """
    return _table_of_excerpts(downstream, SUMMED_BITS)


def _table_of_excerpts(downstream: Iterable[Path | str], table: TidyTable) -> pl.DataFrame:
    """Return a table with a row for each result that has a value under the table's name."""

    def rows(result: Any) -> list[Any]:
        return [] if result.get(table.name) is None else [result[table.name]]

    return table_of_results(downstream, table, rows, *ORDER).fill_nan(None)


ONE_DOCUMENT = "an interval needs two documents that differ"
ONE_SEGMENTATION = TidyTable(
    "one_segmentation",
    "a model with a tokenizer under a suite with `segmentations`",
    (
        VARIANT,
        SIZE,
        MODEL,
        SUITE,
        Column("bits_per_byte", pl.Float64, "bits per byte with the tokenizer's segmentation minus those with all "
               "segmentations together", BITS, "lost (bits per byte)", 5),
        Column("low", pl.Float64, "lower end of its 95 % interval over documents", BITS, "low", 5, empty=ONE_DOCUMENT),
        Column("high", pl.Float64, "upper end of this interval", BITS, "high", 5, empty=ONE_DOCUMENT),
        Column("samples", pl.Int64, "segmentations drawn of each document", "segmentations", "drawn"),
        Column("documents", pl.Int64, "documents, of which the first bytes were used", "documents", "documents"),
        Column("bytes", pl.Int64, "bytes used of these documents", "bytes", "bytes"),
    ),
    maker=one_segmentation_table,
    takes=("files.downstream",),
    command="tabulate",
    prints=(
        Print(
            "downstream",
            "Cost of a single segmentation: bits per byte count only the tokenizer's segmentation of a text. The model "
            "would need fewer bits if all segmentations counted. The difference is estimated by drawing segmentations "
            "of the first bytes of documents.",
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
SUMMED_BITS = TidyTable(
    "summed_bits",
    "a model with a tokenizer under a suite with `byte_beam`",
    (
        VARIANT,
        SIZE,
        MODEL,
        SUITE,
        Column("bits_per_byte", pl.Float64, "bits per byte with all segmentations that the beam followed, an upper "
               "limit of those with all segmentations", BITS, "summed", 5),
        Column("own_bits_per_byte", pl.Float64, "bits per byte of the same text with the tokenizer's segmentation",
               BITS, "one segmentation", 5),
        Column("gap", pl.Float64, "difference of the two", BITS, "difference", 5),
        Column("low", pl.Float64, "lower end of its 95 % interval over documents", BITS, "low", 5, empty=ONE_DOCUMENT),
        Column("high", pl.Float64, "upper end of this interval", BITS, "high", 5, empty=ONE_DOCUMENT),
        Column("missed", pl.Float64, "share of probability that the steps of the beam dropped, summed over the steps, "
               "mean over documents. On texts that the model itself produces, it bounds the expected share missed; "
               "above 1, it says nothing", "sum of shares", "missed", 3),
        Column("width", pl.Int64, "segmentations that the beam followed", "segmentations", "followed"),
        Column("documents", pl.Int64, "documents, of which the first bytes were used", "documents", "documents"),
        Column("bytes", pl.Int64, "bytes used of these documents", "bytes", "bytes"),
    ),
    maker=summed_bits_table,
    takes=("files.downstream",),
    command="tabulate",
    prints=(
        Print(
            "downstream",
            "Bits per byte summed over segmentations: a text has many token sequences, and its probability is the sum "
            "of theirs. A beam follows the most probable ones through the first bytes of documents. The difference is "
            "what bits per byte lose because they count only the tokenizer's segmentation; it is a lower limit.",
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
