"""What tokenizers lose by their one segmentation, where a suite asks for it, one row a model and tokenizer."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from tokbench.result_files import read_result
from tokbench.tabulation.reading import AGAIN, HEAD, framed, taken
from tokbench.tidy.columns import MODEL, SIZE, SUITE, VARIANT
from tokbench.tidy.table import Column, Print, TidyTable

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
    frames = [framed([], ONE_SEGMENTATION.schema, "")]
    for path in results:
        result = read_result(path, AGAIN, lenient=True)
        head = [taken(result, key, path) for key in HEAD]
        if isinstance(result, dict) and result.get("one_segmentation") is not None:
            estimate = taken(result, "one_segmentation", path, kind=dict)
            values = [taken(estimate, key, path, "one_segmentation.") for key in ESTIMATE]
            frames.append(framed([(*head, *values)], ONE_SEGMENTATION.schema, path))
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
