"""Bits per byte of held-out text, one row a model and tokenizer."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from tokbench.result_files import read_result
from tokbench.tabulation.reading import AGAIN, HEAD, framed, taken
from tokbench.tidy.columns import MODEL, REASON, SIZE, SUITE, VARIANT
from tokbench.tidy.table import Column, Print, TidyTable


def bits_per_byte_table(results: Iterable[Path | str]) -> pl.DataFrame:
    """Bits per byte of every model.

    Returns:
        Columns ``variant``, ``size``, ``model``, ``suite``, ``value``, ``equal_context``, ``reason``, one row per file;
        a file without the figures gives nulls with a reason.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    frames = [framed([], BITS_PER_BYTE.schema, "")]
    for path in results:
        result = read_result(path, AGAIN, lenient=True)
        value = result.get("bits_per_byte")
        equal = result.get("bits_per_byte_equal_context")
        reason = None
        if value is None:
            reason = "the suite did not measure bits per byte"
        elif equal is None and "bits_per_byte_equal_context" in result:
            reason = "works through another library, whose tokens are not known by their bytes"
        row = (*(taken(result, key, path) for key in HEAD), value, equal, reason)
        frames.append(framed([row], BITS_PER_BYTE.schema, path))
    return pl.concat(frames).sort("model", "suite", "size", "variant")


BITS_PER_BYTE = TidyTable(
    "bits_per_byte",
    "a model with a tokenizer, and the suite that measured it",
    (
        VARIANT,
        SIZE,
        MODEL,
        SUITE,
        Column("value", pl.Float64, "what the model spends on the evaluation split", "bits per byte", decimals=4),
        Column(
            "equal_context",
            pl.Float64,
            "likewise, with half as many bytes of context as the window has tokens, and up to as many",
            "bits per byte",
            decimals=4,
        ),
        REASON,
    ),
    maker=bits_per_byte_table,
    takes=("downstream",),
    keys=("variant", "size", "model", "suite"),
    command="tabulate",
    prints=(
        Print(
            "models",
            "Bits per byte of {names} by vocabulary size: the bits that the model needs for the text of the "
            "evaluation split, on which it was not trained, divided by the bytes of that text; n = {models}. A window "
            "of a fixed number of tokens holds more text where tokens are longer. The columns with equal context "
            "therefore give every tokenizer the same number of bytes to look back on.",
            by=("model", "suite"),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            arranged=True,
        ),
    ),
    of_models=True,
)
