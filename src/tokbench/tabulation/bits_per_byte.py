"""Bits per byte of held-out text, one row a model and tokenizer."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from tokbench.inputs.json import read_json
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
        result = read_json(path, AGAIN, lenient=True)
        value = result.get("bits_per_byte")
        reason = "the suite did not measure bits per byte" if value is None else None
        row = (*(taken(result, key, path) for key in HEAD), value, result.get("bits_per_byte_equal_context"), reason)
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
            "Bits per byte of {names} by vocabulary size: what the model spends on the text of the evaluation split, "
            "which is no part of its training, over the bytes of that text; n = {models}. A window of tokens holds "
            "more text where tokens are longer; beside it, therefore, with equally many bytes of context for every "
            "tokenizer. The lowest in bold; each is one number, which no test stands behind.",
            by=("model", "suite"),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            arranged=True,
        ),
    ),
    of_models=True,
)
