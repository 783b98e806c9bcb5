"""What each language model was trained on, one row a model and tokenizer."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.inputs.json import read_json
from tokbench.tabulation.reading import framed, run_of
from tokbench.tidy.columns import MODEL, SIZE, VARIANT
from tokbench.tidy.table import Column, Print, TidyTable

PETA = 1e15


def trained_on_table(models: Iterable[Path | str], own_sizes: Mapping[str, int]) -> pl.DataFrame:
    """How much text every model read, and how much arithmetic that took.

    Args:
        models: folders ``.../{model}/{variant}/{size}``, whose manifests tell what was read.
        own_sizes: sizes of the tokenizers that were made elsewhere, by variant.

    Returns:
        The columns of :data:`TRAINED_ON`, ordered by model, size and variant; no row for a model whose manifest does
        not tell what it read.

    Raises:
        TokbenchError: a manifest is not JSON or holds a value of another type; the message names the file.
    """
    frames = [framed([], TRAINED_ON.schema, "")]
    for folder in map(Path, models):
        file = folder / "manifest.json"
        if read := _read(file):
            model, variant, size = run_of(folder, own_sizes)
            values = [read.get(key) for key in ("documents", "text_bytes", "tokens", "sequences", "batches")]
            frames.append(framed([(variant, size, model, *values, _petaflop(read))], TRAINED_ON.schema, file))
    return pl.concat(frames).sort("model", "size", "variant")


def _read(manifest: Path) -> Mapping[str, Any]:
    """What a manifest says was read; nothing where it does not say it, or there is none."""
    settings = read_json(manifest, "pretrain again", lenient=True).get("settings") if manifest.is_file() else None
    read = settings.get("read") if isinstance(settings, dict) else None
    return read if isinstance(read, dict) else {}


def _petaflop(read: Mapping[str, Any]) -> Any:
    flops = read.get("flops")
    return flops / PETA if isinstance(flops, int | float) else flops


UNTOLD = "the model's manifest does not tell it"
TRAINED_ON = TidyTable(
    "trained_on",
    "a model with a tokenizer that was trained here",
    (
        VARIANT,
        SIZE,
        MODEL,
        Column("documents", pl.Int64, "documents read, each as often as it was; the last one may not be whole",
               "documents", "documents", empty=UNTOLD),
        Column("text_bytes", pl.Int64, "bytes of their text", "bytes", "bytes of text",
               empty="not told by the model's manifest, or the tokens' bytes are not known"),
        Column("tokens", pl.Int64, "tokens read, ends of documents among them", "tokens", "tokens", empty=UNTOLD),
        Column("sequences", pl.Int64, "sequences of tokens read, the last one maybe not whole", "sequences",
               "sequences", empty=UNTOLD),
        Column("batches", pl.Int64, "batches, each one step of the optimizer", "batches", "batches", empty=UNTOLD),
        Column("petaflop", pl.Float64, "floating-point operations of the training, counted by a formula and not "
               "measured, batches taken as full", "10^15 operations", "PFLOP", empty=UNTOLD),
    ),
    maker=trained_on_table,
    takes=("models", "own_sizes"),
    keys=("variant", "size", "model"),
    command="tabulate",
    prints=(
        Print(
            "models",
            "What every model was trained on. Where all read as many tokens, those whose tokens are longer read more "
            "text. Operations (PFLOP, 10^15 of them) are counted by a formula and not measured.",
            ("variant", "model", "size", "documents", "text_bytes", "tokens", "sequences", "batches", "petaflop"),
            files=("models/{model}/{variant}/{size}/manifest.json",),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
