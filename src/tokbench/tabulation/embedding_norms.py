"""Embedding norms by probability, tokens counted in cells of a grid: what a figure needs of any number of models.

Source: "BPE Gets Picky", section 5, figures 3 to 5 and 13, which draw every token.
"""

from collections.abc import Iterable, Mapping
from math import isinf

import numpy as np
import polars as pl

from tokbench.kernels.elementary import decimal_logs_of, powers_of
from tokbench.tidy.columns import MODEL, SIZE, VARIANT
from tokbench.tidy.table import Column, Print, TidyTable

PER_DECADE, STEPS = 8, 32
"""Classes of probability in each power of ten, and of norm between zero and the largest of the model."""


def embedding_norms(models: Mapping[str, Mapping[tuple[str, int], pl.DataFrame]]) -> pl.DataFrame:
    """Count the tokens of trained models by probability and by norm of their input embeddings.

    Args:
        models: model -> (variant, size) -> its tokens, with ``probability`` in the pretraining text and ``norm``.

    Returns:
        One row a cell that holds a token: its ends and ``tokens``. Tokens that the text never holds have 0 for both
        ends of the probability. Classes of norm are the same for all tokenizers of a model.
    """
    frames = [pl.DataFrame(schema=EMBEDDING_NORMS.schema)]
    for model, tokenizers in models.items():
        step = norm_step(tokenizers.values())
        cells = [
            norm_cells(frame, step).select(
                pl.lit(model).alias("model"), pl.lit(variant).alias("variant"), pl.lit(size).alias("size"), pl.all()
            )
            for (variant, size), frame in tokenizers.items()
        ]
        keys = EMBEDDING_NORMS.columns[:-1]
        frames.append(pl.concat(cells).cast(EMBEDDING_NORMS.schema).sort([key.name for key in keys]))  # type: ignore[arg-type]
    return pl.concat(frames)


def norm_step(frames: Iterable[pl.DataFrame]) -> float:
    """Width of the classes of norm of tokens that are compared."""
    largest = max((float(frame["norm"].max() or 0.0) for frame in frames), default=0.0)  # type: ignore[arg-type]
    return largest / STEPS if largest > 0 else 1.0


def norm_cells(tokens: pl.DataFrame, step: float) -> pl.DataFrame:
    """The cells of one tokenizer that hold tokens, with classes of norm of this width: the columns :data:`CLASSES`."""
    place = pl.Series(np.floor(PER_DECADE * decimal_logs_of(tokens["probability"])))
    row = (pl.col("norm") / step).floor().clip(upper_bound=STEPS - 1)
    cells = tokens.select(
        _power_of_ten(place).alias("probability_low"),
        pl.when(probability=0.0).then(0.0).otherwise(_power_of_ten(place + 1)).alias("probability_high"),
        (row * step).alias("norm_low"),
        ((row + 1) * step).alias("norm_high"),
    )
    return cells.group_by(cells.columns).len("tokens")


def _power_of_ten(places: pl.Series) -> pl.Series:
    """The end of a class of probability; zero of the class at minus infinity."""
    ends = {place: 0.0 if isinf(place) else float(powers_of(10.0, place / PER_DECADE)) for place in places.unique()}
    return places.replace_strict(ends, return_dtype=pl.Float64)


CLASSES = (
    Column("probability_low", pl.Float64, "least probability of the class, in what the model was trained on"),
    Column("probability_high", pl.Float64, "end of the class; with the other end 0 for tokens that it never met"),
    Column("norm_low", pl.Float64, "least L2 norm of the class, of input embeddings"),
    Column("norm_high", pl.Float64, "end of the class"),
    Column("tokens", pl.Int64, "tokens in the class", "tokens"),
)
EMBEDDING_NORMS = TidyTable(
    "embedding_norms",
    "a class of probability and of norm that holds a token, of a model with a tokenizer",
    (
        MODEL,
        VARIANT,
        SIZE,
        *CLASSES,
    ),
    maker=embedding_norms,
    takes=("tokens",),
    command="tabulate",
    prints=(
        Print(
            "models",
            "Tokens of {model} at vocabulary size {size:,} by the L2 norm of their input embedding and their "
            "probability in the pretraining text; above 0 stand the tokens that never occur in it. Tokens that are "
            "both rare and of small norm are probably under-trained.",
            by=("model", "size"),
            files=("embeddings/{model}/{variant}/{size}/tokens.csv",),
            arranged=True,
            form="figure",
        ),
    ),
    of_models=True,
)
