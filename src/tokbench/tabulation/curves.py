"""Training curves, one row a batch."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.inputs.files import first_line
from tokbench.inputs.paths import literal
from tokbench.tabulation.reading import run_of
from tokbench.tidy.columns import MODEL, SIZE, VARIANT
from tokbench.tidy.table import Column, Print, TidyTable


def curve_table(models: Iterable[Path | str], own_sizes: Mapping[str, int]) -> pl.DataFrame:
    """Training curves of every model.

    Args:
        models: folders ``.../{model}/{variant}/{size}`` with a ``curve.csv`` of batch, tokens and loss.
        own_sizes: sizes of the tokenizers that were made elsewhere, by variant.

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
        Column("tokens", pl.Int64, "tokens seen after it", "tokens"),
        Column("loss", pl.Float64, "mean training loss of the batch", "nats per token"),
    ),
    maker=curve_table,
    takes=("models", "own_sizes"),
    command="tabulate",
    prints=(
        Print(
            "models",
            "Training loss of {model} in nats per token, against tokens seen. The steep beginning is left out.",
            by=("model",),
            files=("models/{model}/{variant}/{size}/curve.csv",),
            arranged=True,
            form="figure",
        ),
    ),
    of_models=True,
)
