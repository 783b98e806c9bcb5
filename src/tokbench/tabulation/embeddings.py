"""Tables of embedding norms and token probabilities, of language models and of translation models.

Tokens are counted in cells of a grid, so that a figure's data is small for any number of models.
Source: "BPE Gets Picky", section 5, figures 3 to 5 and 13, which draw every token and mark those that a threshold
removes and adds.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from math import isinf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tokbench.io.tables import read_frame
from tokbench.kernels.elementary import decimal_logs_of, powers_of
from tokbench.metric.measurement import ADDED, DROPPED
from tokbench.tabulation.columns import MODEL, PARALLEL, REASON, SIZE, SOURCE, TARGET, TOKENIZERS, VARIANT
from tokbench.tabulation.reading import Row, frame_of_result, size_of
from tokbench.tabulation.table import MEASURE, Column, Print, TidyTable
from tokbench.tabulation.tokenizer_pairs import marked

PER_DECADE, STEPS = 8, 32
"""Classes of probability per power of ten, and classes of norm between zero and the model's largest norm."""


def embedding_norms(models: Mapping[str, Mapping[tuple[str, int], pl.DataFrame]]) -> pl.DataFrame:
    """Count the tokens of trained models by probability and by norm of their input embeddings.

    Args:
        models: tokens by model, then by variant and size, with ``probability`` in the pretraining text and ``norm``.

    Returns:
        One row per cell with at least one token: the cell's limits and ``tokens``. Tokens that never occur in the text
        have 0 for both limits of probability. All tokenizers of a model have the same classes of norm.
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
    """Return the common width of the classes of norm: the largest norm / ``STEPS``, or 1.0 if there is none."""
    largest = max((float(frame["norm"].max() or 0.0) for frame in frames), default=0.0)  # type: ignore[arg-type]
    return largest / STEPS if largest > 0 else 1.0


def norm_cells(tokens: pl.DataFrame, step: float) -> pl.DataFrame:
    """Return the non-empty cells of one tokenizer, the columns of :data:`CLASSES`; ``step`` is the width in norm."""
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
    """Return the limits of the classes of probability; 0.0 for the class at minus infinity."""
    ends = {place: 0.0 if isinf(place) else float(powers_of(10.0, place / PER_DECADE)) for place in places.unique()}
    return places.replace_strict(ends, return_dtype=pl.Float64)


CLASSES = (
    Column("probability_low", pl.Float64, "lower limit of the class of probability in the training text"),
    Column(
        "probability_high", pl.Float64, "upper limit of the class; both limits are 0 for tokens that never occur there"
    ),
    Column("norm_low", pl.Float64, "lower limit of the class of L2 norm of input embeddings"),
    Column("norm_high", pl.Float64, "upper limit of the class"),
    Column("tokens", pl.Int64, "tokens in the class", "tokens"),
)
EMBEDDING_NORMS = TidyTable(
    "embedding_norms",
    "a class of probability and norm with at least one token, of a model with a tokenizer",
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
            "probability in the pretraining text; tokens that never occur in it are above 0. Tokens that are both rare "
            "and of small norm are probably under-trained.",
            by=("model", "size"),
            files=("embeddings/{model}/{variant}/{size}/tokens.csv",),
            arranged=True,
            form="figure",
        ),
    ),
    of_models=True,
)


AGAIN = "measure the embeddings again"
SIDE = Column("side", pl.String, "encoder, decoder, or both (a joint vocabulary has shared embeddings)")
OF = (PARALLEL, SOURCE, TARGET, MODEL, SIZE, SIDE)
"""Columns that identify a group of embeddings that are compared."""


class MeasuredEmbeddings(NamedTuple):
    """Embeddings of one side of a model.

    Attributes:
        keys: values of :data:`OF`.
        tokenizers: variants, as in the column :data:`tokbench.tabulation.columns.TOKENIZERS`.
        folder: folder of the embeddings.
    """

    keys: tuple[str, str, str, str, int, str]
    tokenizers: str
    folder: Path

    @property
    def columns(self) -> dict[str, Any]:
        """Columns that identify the embeddings, in the order of the tables."""
        return {**{column.name: key for column, key in zip(OF, self.keys, strict=True)}, "tokenizers": self.tokenizers}

    def measurements(self, result: Any) -> Iterator[Row]:
        """Yield the rows of this side in the measurements of a model's embeddings."""
        for row in result["measurements"]:
            if row["side"] == self.keys[-1]:
                yield {**row, **self.columns}

    def tokens(self) -> pl.DataFrame:
        """Read every token with its norm and probability."""
        return read_frame(self.folder / f"{self.keys[-1]}.parquet", AGAIN)


def translation_embedding_norms(folders: Iterable[Path | str], own_sizes: Mapping[str, int]) -> pl.DataFrame:
    """Count tokens by probability and norm; tokenizers that are compared have the same classes of norm.

    Args:
        folders: ``MODEL/PARALLEL/SOURCE/TARGET/VARIANT/TARGET_VARIANT/SIZE``.
        own_sizes: sizes of external tokenizers, by variant.
    """
    frames = [pl.DataFrame(schema=TRANSLATION_EMBEDDING_NORMS.schema)]
    for group in _compared(folders, own_sizes):
        step = norm_step(model.tokens().select("norm") for model in group)
        for model in group:
            cells = norm_cells(model.tokens(), step).sort([column.name for column in CLASSES[:-1]])
            frame = cells.select(*(pl.lit(value).alias(name) for name, value in model.columns.items()), pl.all())
            frames.append(frame.cast(TRANSLATION_EMBEDDING_NORMS.schema))  # type: ignore[arg-type]
    return pl.concat(frames)


def translation_embeddings(folders: Iterable[Path | str], own_sizes: Mapping[str, int]) -> pl.DataFrame:
    """Return measurements of embeddings, and of tokens dropped and added relative to the first tokenizer of a group.

    Dropped tokens are measured in the model of the first tokenizer, added ones in the other's model.

    Args:
        folders: see :func:`translation_embedding_norms`.
        own_sizes: sizes of external tokenizers, by variant.
    """
    frames = [pl.DataFrame(schema=TRANSLATION_EMBEDDINGS.schema)]
    for group in _compared(folders, own_sizes):
        first = group[0]
        base = first.tokens()
        for model in group:
            path = model.folder / "measurements.json"
            frames.append(frame_of_result(path, TRANSLATION_EMBEDDINGS, model.measurements))
            if model is not first:
                own = model.tokens()
                added = own.join(base, on="token", how="anti")
                dropped = base.join(own, on="token", how="anti")
                measurements = [
                    *marked(added, f"tokens that {first.tokenizers} lacks {ADDED}"),
                    *marked(dropped, f"tokens of {first.tokenizers} that are lacking {DROPPED}, in its model"),
                ]
                frames.append(TRANSLATION_EMBEDDINGS.frame(asdict(row) | model.columns for row in measurements))
    return pl.concat(frames).fill_nan(None)


def _compared(folders: Iterable[Path | str], own_sizes: Mapping[str, int]) -> Iterator[list[MeasuredEmbeddings]]:
    """Yield the sides of all models in groups that differ only in their tokenizers."""
    groups: dict[tuple[Any, ...], list[MeasuredEmbeddings]] = {}
    for folder in map(Path, folders):
        model, parallel, source, target, variant, target_variant, size = folder.parts[-7:]
        tokenizers = variant if variant == target_variant else f"{variant} + {target_variant}"
        known = size_of(folder, size, variant, own_sizes)
        for side in sorted(path.stem for path in folder.glob("*.parquet")):
            keys = (parallel, source, target, model, known, side)
            groups.setdefault(keys, []).append(MeasuredEmbeddings(keys, tokenizers, folder))
    yield from groups.values()


TRANSLATION_EMBEDDING_NORMS = TidyTable(
    "translation_embedding_norms",
    "a class of probability and norm with at least one token, of a side of a translation model",
    (*OF, TOKENIZERS, *CLASSES),
    maker=translation_embedding_norms,
    takes=("files.translation_embeddings", "own_sizes"),
    command="tabulate",
    prints=(
        Print(
            "translation",
            "Tokens of the {side} of {model} at vocabulary size {size:,}, from {source_language} into "
            "{target_language} on {parallel}, by the L2 norm of their embedding and their probability in the training "
            "text; tokens that never occur in it are above 0. Tokens that are rare and have a small norm are probably "
            "under-trained. The decoder's embeddings are also those of the output layer.",
            by=("parallel", "source_language", "target_language", "model", "size", "side"),
            files=("translation_embeddings/{model}/{parallel}/{source_language}/{target_language}/",),
            arranged=True,
            form="figure",
        ),
    ),
    of_models=True,
)
TRANSLATION_EMBEDDINGS = TidyTable(
    "translation_embeddings",
    "a measurement of the embeddings of a side of a translation model",
    (
        *OF,
        TOKENIZERS,
        Column("metric", pl.String, "name of the metric"),
        Column("definition", pl.String, "exact definition of the metric: tokens and formula"),
        Column("value", pl.Float64, "measured value", MEASURE),
        Column("n", pl.Int64, "tokens that the value is computed from", "tokens"),
        REASON,
    ),
    maker=translation_embeddings,
    takes=("files.translation_embeddings", "own_sizes"),
    command="tabulate",
    prints=(
        Print(
            "translation",
            "Embeddings of the {side} of {model} at vocabulary size {size:,}, from {source_language} into "
            "{target_language} on {parallel}; tokens are added and dropped relative to the first tokenizer.",
            shown=("tokenizers", "definition", "value", "n"),
            by=("parallel", "source_language", "target_language", "model", "size", "side"),
            files=("translation_embeddings/{model}/{parallel}/{source_language}/{target_language}/",),
            folds_above=20,
            arranged=True,
        ),
    ),
    of_models=True,
)
