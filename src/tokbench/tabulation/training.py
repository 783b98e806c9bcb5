"""Tables of language model training: loss curves, text read, scores of checkpoints, and held-out bits per byte."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.io.json import read_json
from tokbench.io.paths import literal
from tokbench.io.text_files import first_line
from tokbench.tabulation.answers import tasks
from tokbench.tabulation.columns import CONVERGENCE_COLUMNS, MODEL, REASON, SIZE, SUITE, TRAINED_ON_COLUMNS, VARIANT
from tokbench.tabulation.reading import (
    Row,
    frame_of_result,
    frame_of_rows,
    require_key,
    run_of,
    table_of_results,
)
from tokbench.tabulation.table import Column, Print, TidyTable


def curve_table(models: Iterable[Path | str], own_sizes: Mapping[str, int]) -> pl.DataFrame:
    """Return training curves of every model.

    Args:
        models: folders ``.../{model}/{variant}/{size}`` with a ``curve.csv`` of batch, tokens and loss.
        own_sizes: sizes of external tokenizers, by variant.

    Returns:
        Columns ``model``, ``variant``, ``size``, ``batch``, ``tokens``, ``loss`` (nats per token), in the order given.

    Raises:
        TokbenchError: a folder has no readable curve.
    """
    frames = [pl.DataFrame(schema=CURVES.schema)]
    for folder in map(Path, models):
        model, variant, size = run_of(folder, own_sizes)
        try:
            curve = pl.read_csv(literal(folder / "curve.csv"), columns=["batch", "tokens", "loss"])
            names = {"model": pl.lit(model), "variant": pl.lit(variant), "size": pl.lit(size, pl.Int64)}
            frames.append(curve.with_columns(**names).select(list(CURVES.schema)).cast(CURVES.schema))  # type: ignore[arg-type]
        except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            reason = first_line(error)
            raise TokbenchError(f"{folder / 'curve.csv'}: not a training curve ({reason}); pretrain again") from None
    return pl.concat(frames)


CURVES = TidyTable(
    "curves",
    "a batch in the training of a model with a tokenizer",
    (
        MODEL,
        VARIANT,
        SIZE,
        Column("batch", pl.Int64, "number of the batch"),
        Column("tokens", pl.Int64, "tokens seen by the end of the batch", "tokens"),
        Column("loss", pl.Float64, "mean training loss of the batch", "nats per token"),
    ),
    maker=curve_table,
    takes=("files.model", "own_sizes"),
    command="tabulate",
    prints=(
        Print(
            "models",
            "Training loss of {model} in bits per byte, against bytes of text read. Losses and tokens of a batch are "
            "converted by the mean bytes per token of all that the model read, so a single batch is approximate. The "
            "steep beginning is left out.",
            by=("model",),
            files=("models/{model}/{variant}/{size}/curve.csv",),
            arranged=True,
            form="figure",
        ),
    ),
    of_models=True,
)


PETA = 1e15


def trained_on_table(models: Iterable[Path | str], own_sizes: Mapping[str, int]) -> pl.DataFrame:
    """Return how much text every model read, and the arithmetic operations of its training.

    Args:
        models: folders ``.../{model}/{variant}/{size}``; their manifests record the text read.
        own_sizes: sizes of external tokenizers, by variant.

    Returns:
        The columns of :data:`TRAINED_ON`, ordered by model, size and variant. Models whose manifest does not record
        the text read have no row.

    Raises:
        TokbenchError: a manifest is not JSON or a value has another type; the message names the file.
    """
    frames = [pl.DataFrame(schema=TRAINED_ON.schema)]
    for folder in map(Path, models):
        file = folder / "manifest.json"
        if read := _read(file):
            model, variant, size = run_of(folder, own_sizes)
            row = {column: read.get(column) for column in TRAINED_ON.schema}
            row |= {"model": model, "variant": variant, "size": size, "petaflop": _petaflop(read)}
            frames.append(frame_of_rows(file, TRAINED_ON, [row]))
    return pl.concat(frames).sort("model", "size", "variant").fill_nan(None)


def _read(manifest: Path) -> Mapping[str, Any]:
    """Return the record of text read in a manifest; empty if it is missing."""
    settings = read_json(manifest, "pretrain again", lenient=True).get("settings") if manifest.is_file() else None
    read = settings.get("read") if isinstance(settings, dict) else None
    return read if isinstance(read, dict) else {}


def _petaflop(read: Mapping[str, Any]) -> Any:
    """Return the operations of a training in units of 10^15; a value that is no number is left to the schema."""
    flops = read.get("flops")
    return flops / PETA if isinstance(flops, int | float) else flops


TRAINED_ON = TidyTable(
    "trained_on",
    "a model with a tokenizer, trained by Tokbench",
    TRAINED_ON_COLUMNS,
    maker=trained_on_table,
    takes=("files.model", "own_sizes"),
    keys=("variant", "size", "model"),
    command="tabulate",
    prints=(
        Print(
            "models",
            "Training text of every model. If all models read the same number of tokens, those with longer tokens read "
            "more text. Operations (PFLOP, 10^15 of them) are computed by a formula and not measured.",
            ("variant", "model", "size", "documents", "text_bytes", "tokens", "sequences", "batches", "petaflop"),
            files=("models/{model}/{variant}/{size}/manifest.json",),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip


PRETRAIN = "pretrain again"
Reached = Mapping[str, Mapping[str, Any]]
"""Batches and tokens at each kept checkpoint, by share of the training."""


def convergence_table(
    checkpoints: Iterable[Path | str],
    downstream: Iterable[Path | str],
    models: Iterable[Path | str],
    own_sizes: Mapping[str, int],
) -> pl.DataFrame:
    """Return scores of kept checkpoints and of the final models.

    Args:
        checkpoints: results ``.../{model}/{variant}/{size}/{share}/{suite}.json`` of checkpoints.
        downstream: results of models; models without checkpoints are skipped.
        models: folders of the models; their manifests record batch and tokens of each checkpoint.
        own_sizes: sizes of external tokenizers, by variant.

    Returns:
        The columns of :data:`CONVERGENCE`, one row per model, suite, size, variant and checkpoint, in this order.

    Raises:
        TokbenchError: a file is not JSON or a key is missing; the message names file and key.
    """
    if not (shares := {Path(path): Path(path).parts[-2] for path in checkpoints}):
        return pl.DataFrame(schema=CONVERGENCE.schema)
    reached = dict(_reached(models, own_sizes))
    shares |= {Path(path): "1.0" for path in downstream}
    frames = [
        frame_of_result(path, CONVERGENCE, partial(_mean_scores, share=share, reached=reached))
        for path, share in shares.items()
    ]
    return pl.concat(frames).sort("model", "suite", "size", "variant", "share").fill_nan(None)


def _mean_scores(result: Any, share: str, reached: Mapping[tuple[str, str, int], Reached]) -> Iterator[Row]:
    """Yield the row of a downstream result, or none if its model keeps no checkpoint at a share of the training."""
    place = reached.get((result["model"], result["variant"], result["size"]), {}).get(share)
    if place is not None:
        accuracies = [task["accuracy"] for task in tasks(result)]
        complete = accuracies and None not in accuracies
        yield {
            "share": float(share),
            "batch": place["batch"],
            "tokens": place["tokens"],
            "accuracy": sum(accuracies) / len(accuracies) if complete else None,
            "tasks": len(accuracies),
            "bits_per_byte": result.get("bits_per_byte"),
        }


def _reached(
    models: Iterable[Path | str], own_sizes: Mapping[str, int]
) -> Iterator[tuple[tuple[str, str, int], Reached]]:
    """Yield batches and tokens of kept checkpoints from the models' manifests, by model, variant and size."""
    for folder in map(Path, models):
        file = folder / "manifest.json"
        settings = require_key(read_json(file, PRETRAIN, lenient=True), "settings", file, kind=dict)
        if checkpoints := settings.get("checkpoints"):
            yield (
                run_of(folder, own_sizes),
                {**checkpoints, "1.0": _end(require_key(settings, "read", file, kind=dict), file)},
            )


def _end(read: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Return the batches and tokens at the end of a training, in the form of those at a checkpoint."""
    return {"batch": require_key(read, "batches", file), "tokens": require_key(read, "tokens", file)}


CONVERGENCE = TidyTable(
    "convergence",
    "a checkpoint of a model with a tokenizer, or the final model, on a suite",
    CONVERGENCE_COLUMNS,
    maker=convergence_table,
    takes=("files.convergence", "files.downstream", "files.model", "own_sizes"),
    keys=("variant", "size", "model", "suite", "share"),
    command="tabulate",
    prints=(
        Print(
            "models",
            "Convergence of {model} on {suite}: bits per byte of checkpoints on the evaluation split, and their "
            "accuracy, unweighted over the tasks, against tokens seen. The last point is the final model. Each "
            "training is one run with one learning-rate schedule. A model trained only up to a checkpoint would have a "
            "lower learning rate there, and score better.",
            by=("model", "suite"),
            files=(
                "convergence/{model}/{variant}/{size}/*/{suite}.json",
                "downstream/{model}/{variant}/{size}/{suite}.json",
            ),
            arranged=True,
            form="figure",
        ),
        Print(
            "models",
            "Convergence of {model} on {suite} in numbers: accuracy in percent, unweighted over the tasks.",
            by=("model", "suite"),
            shown=("variant", "size", "share", "batch", "tokens", "accuracy", "bits_per_byte"),
            files=(
                "convergence/{model}/{variant}/{size}/*/{suite}.json",
                "downstream/{model}/{variant}/{size}/{suite}.json",
            ),
            folds_above=12,
            name="convergence-in-numbers",
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip


def bits_per_byte_table(downstream: Iterable[Path | str]) -> pl.DataFrame:
    """Return bits per byte of every model.

    Returns:
        Columns ``variant``, ``size``, ``model``, ``suite``, ``value``, ``equal_context``, ``reason``, one row per file.
        If a file lacks the values, they are null with a reason.

    Raises:
        TokbenchError: a file is not JSON or a key is missing; the message names file and key.
    """
    return table_of_results(downstream, BITS_PER_BYTE, _text_bits, "model", "suite", "size", "variant").fill_nan(None)


def _text_bits(result: Any) -> Iterator[Row]:
    """Yield the row of a downstream result."""
    value, equal_context = result.get("bits_per_byte"), result.get("bits_per_byte_equal_context")
    reason = None
    if value is None:
        reason = "the suite did not measure bits per byte"
    elif equal_context is None and "bits_per_byte_equal_context" in result:
        reason = "works through another library, whose tokens are not known by their bytes"
    yield {"value": value, "equal_context": equal_context, "reason": reason}


BITS_PER_BYTE = TidyTable(
    "bits_per_byte",
    "a model with a tokenizer, and the suite that measured it",
    (
        VARIANT,
        SIZE,
        MODEL,
        SUITE,
        Column(
            "value",
            pl.Float64,
            "bits that the model needs for the evaluation split / its bytes",
            "bits per byte",
            decimals=4,
        ),
        Column(
            "equal_context",
            pl.Float64,
            "the same with equal context for all tokenizers: n/2 to n bytes for a window of n tokens",
            "bits per byte",
            decimals=4,
        ),
        REASON,
    ),
    maker=bits_per_byte_table,
    takes=("files.downstream",),
    keys=("variant", "size", "model", "suite"),
    command="tabulate",
    prints=(
        Print(
            "models",
            "Bits per byte of {names} by vocabulary size: bits that the model needs for the text of the evaluation "
            "split / bytes of that text; n = {models}. The model was not trained on this text. A window of a fixed "
            "number of tokens contains more text if tokens are longer. The columns with equal context therefore give "
            "every tokenizer the same number of bytes of context.",
            by=("model", "suite"),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            arranged=True,
        ),
    ),
    of_models=True,
)
