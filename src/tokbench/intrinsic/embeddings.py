"""Measurement of the embeddings of language models and translation models."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from tokbench.intrinsic.tokenizer import measure_embeddings
from tokbench.io.identity import Maker, require_model
from tokbench.metric.embeddings import EmbeddingLayout, embeddings_of, room
from tokbench.metric.measurement import Measurement
from tokbench.models.training import read_occurrences
from tokbench.models.translation.embeddings import AGAIN, sides_of
from tokbench.runtime.memory_limit import RESERVE, require, resident_bytes
from tokbench.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokbench.options import Options

ESTIMATED = "this measurement"


class MeasuredEmbeddings(NamedTuple):
    """Measurements of embeddings, and the table of tokens that they are computed from.

    Attributes:
        rows: the measurements.
        tokens: norm, occurrences and probability of every token, see
            :meth:`tokbench.metric.embeddings.Embeddings.to_frame`.
    """

    rows: list[Measurement]
    tokens: pl.DataFrame


def measure_language_model(
    model: Path,
    tokenizer: Tokenizer,
    counts: Path,
    *,
    path: str,
    families: "Mapping[str, Options]",
    megabytes: int | None = None,
) -> MeasuredEmbeddings:
    """Measure the input embeddings of a language model.

    Args:
        model: folder of the model.
        tokenizer: its tokenizer.
        counts: file of the occurrences of each id in the training text.
        path: path of the tokenizer, for messages.
        families: options by family; families without an entry have their defaults.
        megabytes: memory limit in MB (10^6 bytes). Default: None, no limit.

    Raises:
        TokbenchError: the model or the counts are of another tokenizer, or more memory is needed than allowed.
    """
    maker = Maker(tokenizer.digest, path)
    require_model(model, "tokenizer", maker, "name the tokenizer that it was trained with")
    require(ESTIMATED, resident_bytes() + RESERVE + room(model), megabytes)
    embeddings = embeddings_of(tokenizer.named, model, read_occurrences(counts, tokenizer.id_limit, maker))
    return MeasuredEmbeddings(measure_embeddings(embeddings, families=families), embeddings.to_frame())


def measure_translation_model(
    model: Path, *, families: "Mapping[str, Options]", megabytes: int | None = None
) -> dict[str, MeasuredEmbeddings]:
    """Measure the embeddings of a translation model.

    Args:
        model: folder of the model.
        families: options by family; families without an entry have their defaults.
        megabytes: memory limit in MB (10^6 bytes). Default: None, no limit.

    Returns:
        Measurements by the name of the side, see :class:`tokbench.models.translation.embeddings.EmbeddingSide`.

    Raises:
        TokbenchError: a tokenizer is not that of the model, or more memory is needed than allowed.
    """
    by_side: dict[str, MeasuredEmbeddings] = {}
    for side in sides_of(model):
        layout = EmbeddingLayout((side.tensor,), side.before, "training text", AGAIN)
        require(ESTIMATED, resident_bytes() + RESERVE + room(model, layout), megabytes)
        embeddings = embeddings_of(side.tokenizer.named, model, side.occurrences, layout)
        by_side[side.name] = MeasuredEmbeddings(
            measure_embeddings(embeddings, families=families), embeddings.to_frame()
        )
    return by_side
