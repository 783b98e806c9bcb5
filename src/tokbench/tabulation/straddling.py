"""What coverings that no text has would add where choices straddle, one row a model, tokenizer and task.

What tokenizers lose by their one segmentation, where a suite asks for it, one row a model and tokenizer.
"""

import math
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from tokbench.io.json import read_result
from tokbench.tabulation.columns import MODEL, SIZE, SUITE, TASK, VARIANT
from tokbench.tabulation.reading import AGAIN, HEAD, require_key, to_frame
from tokbench.tabulation.table import Column, Print, TidyTable


def coverings_table(results: Iterable[Path | str]) -> pl.DataFrame:
    """How much likelier contexts would be with coverings that no text has, by task with straddling choices.

    Args:
        results: downstream result files, one per model, variant, size and suite, in any order.

    Returns:
        The columns of :data:`COVERINGS`, ordered by model, suite, size, variant and task. Both numbers are null where
        a question was scored before they were taken.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    frames = [to_frame([], COVERINGS.schema, "")]
    for path in results:
        result = read_result(path, AGAIN, lenient=True)
        head = [require_key(result, key, path) for key in HEAD]
        rows = []
        for name, task in require_key(result, "tasks", path, kind=dict).items():
            documents = require_key(task, "documents", path, f"tasks.{name}.", list)
            within = f"tasks.{name}.documents."
            straddling = [one for one in documents if require_key(one, "straddling", path, within, list)]
            nats = [require_key(one, "unwritten", path, within, float) for one in straddling if "unwritten" in one]
            if len(nats) < len(straddling):
                rows.append((*head, name, len(straddling), None, None))
            elif nats:
                rows.append((*head, name, len(nats), math.fsum(nats) / len(nats), max(nats)))
        frames.append(to_frame(rows, COVERINGS.schema, path))
    return pl.concat(frames).sort("model", "suite", "size", "variant", "task")


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
            "mean", pl.Float64, "by so much likelier a context would be with coverings that no text has, mean", "nats",
            "mean (nats)", empty=NOT_TAKEN,
        ),
        Column(
            "largest", pl.Float64, "the same, the largest of the questions", "nats", "largest (nats)", empty=NOT_TAKEN
        ),
    ),
    maker=coverings_table,
    takes=("downstream",),
    keys=("variant", "size", "model", "suite", "task"),
    command="tabulate",
    prints=(
        Print(
            "downstream",
            "How much of a context's probability may be missing where choices straddle its end, in nats: the context "
            "would be likelier by so much if sequences of tokens also counted that the tokenizer produced for none of "
            "the continuations tried. Tokenizers that merge, match greedily or take best paths never produce them; "
            "others may produce some, and scores could then be lower by at most this much.",
            ("variant", "model", "suite", "size", "task", "questions", "mean", "largest"),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip


BITS = "bits per byte"


def one_segmentation_table(results: Iterable[Path | str]) -> pl.DataFrame:
    """By how much the probability of a tokenizer's own segmentation falls short of that of the text, estimated.

    Args:
        results: downstream result files, one per model, variant, size and suite, in any order.

    Returns:
        The columns of :data:`ONE_SEGMENTATION`, ordered by model, suite, size and variant; no row for a suite that
        does not ask for the estimate, or where there was no text.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    frames = [to_frame([], ONE_SEGMENTATION.schema, "")]
    for path in results:
        result = read_result(path, AGAIN, lenient=True)
        head = [require_key(result, key, path) for key in HEAD]
        if isinstance(result, dict) and result.get("one_segmentation") is not None:
            estimate = require_key(result, "one_segmentation", path, kind=dict)
            values = [require_key(estimate, key, path, "one_segmentation.") for key in ESTIMATE]
            frames.append(to_frame([(*head, *values)], ONE_SEGMENTATION.schema, path))
    return pl.concat(frames).sort("model", "suite", "size", "variant")


ESTIMATE = ("bits_per_byte", "low", "high", "samples", "documents", "bytes")
ONE_SEGMENTATION = TidyTable(
    "one_segmentation",
    "a model with a tokenizer under a suite that asks for `segmentations`",
    (
        VARIANT,
        SIZE,
        MODEL,
        SUITE,
        Column("bits_per_byte", pl.Float64, "by which the tokenizer's own segmentation needs more than all together "
               "would", BITS, "lost (bits per byte)", 5),
        Column("low", pl.Float64, "lower end of its 95 % interval, by the bootstrap over documents", BITS, "low", 5),
        Column("high", pl.Float64, "upper end", BITS, "high", 5),
        Column("samples", pl.Int64, "segmentations drawn of each document", "segmentations", "drawn"),
        Column("documents", pl.Int64, "documents, the first bytes of each", "documents", "documents"),
        Column("bytes", pl.Int64, "their bytes", "bytes", "bytes"),
    ),
    maker=one_segmentation_table,
    takes=("downstream",),
    command="tabulate",
    prints=(
        Print(
            "downstream",
            "What a single segmentation costs: bits per byte count only the tokenizer's own segmentation of a text. "
            "The model would need fewer bits if all segmentations counted; this is the difference, estimated by "
            "drawing segmentations of the first bytes of documents.",
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
