"""Embeddings of translation models, encoder and decoder: cells for a figure, and what they amount to.

Source: "BPE Gets Picky", section 5, figures 3 to 5 and 13, which mark the tokens that a threshold removes and adds.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tokbench.inputs.frames import read_frame
from tokbench.intrinsic.measurement import ADDED, DROPPED
from tokbench.result_files import read_result
from tokbench.tabulation.between_tokenizers import marked
from tokbench.tabulation.embedding_norms import CLASSES, norm_cells, norm_step
from tokbench.tabulation.reading import framed, size_of, taken
from tokbench.tidy.columns import MODEL, REASON, SIZE
from tokbench.tidy.table import MEASURE, Column, Print, TidyTable
from tokbench.tidy.translations import PARALLEL, SOURCE, TARGET, TOKENIZERS

AGAIN = "measure the embeddings again"
SIDE = Column("side", pl.String, "encoder, decoder, or both, whose embeddings are one with a joint vocabulary")
OF = (PARALLEL, SOURCE, TARGET, MODEL, SIZE, SIDE)
"""What embeddings have in common that are compared."""


class Measured(NamedTuple):
    """Embeddings of one side of a model.

    Attributes:
        keys: values of :data:`OF`.
        tokenizers: as in the other tables of translations.
        folder: where they are.
    """

    keys: tuple[str, str, str, str, int, str]
    tokenizers: str
    folder: Path

    def tokens(self) -> pl.DataFrame:
        """Every token with its norm and probability."""
        return read_frame(self.folder / f"{self.keys[-1]}.parquet", AGAIN)


def translation_embedding_norms(folders: Iterable[Path | str], own_sizes: Mapping[str, int]) -> pl.DataFrame:
    """Count tokens by probability and norm; classes of norm are the same for all tokenizers that are compared.

    Args:
        folders: ``MODEL/PARALLEL/SOURCE/TARGET/VARIANT/TARGET_VARIANT/SIZE``.
        own_sizes: by variant the sizes that tables have of tokenizers made elsewhere.
    """
    frames = [pl.DataFrame(schema=TRANSLATION_EMBEDDING_NORMS.schema)]
    for group in _compared(folders, own_sizes):
        step = norm_step(one.tokens().select("norm") for one in group)
        for one in group:
            heads = zip(TRANSLATION_EMBEDDING_NORMS.schema, (*one.keys, one.tokenizers), strict=False)
            cells = norm_cells(one.tokens(), step).sort([column.name for column in CLASSES[:-1]])
            frame = cells.select(*(pl.lit(value).alias(name) for name, value in heads), pl.all())
            frames.append(frame.cast(TRANSLATION_EMBEDDING_NORMS.schema))  # type: ignore[arg-type]
    return pl.concat(frames)


def translation_embeddings(folders: Iterable[Path | str], own_sizes: Mapping[str, int]) -> pl.DataFrame:
    """Measurements of the embeddings, and of the tokens that tokenizers drop and add beside the first of their group.

    Dropped tokens are looked at in the model of the first, added ones in the other's.

    Args:
        folders, own_sizes: as of :func:`translation_embedding_norms`.
    """
    rows: list[tuple[Any, ...]] = []
    for group in _compared(folders, own_sizes):
        first = group[0]
        base = first.tokens()
        for one in group:
            path = one.folder / "measurements.json"
            for row in taken(read_result(path, AGAIN), "measurements", path, kind=list):
                if taken(row, "side", path) == one.keys[-1]:
                    names = ("metric", "definition", "value", "n", "reason")
                    rows.append((*one.keys, one.tokenizers, *(taken(row, name, path) for name in names)))
            if one is not first:
                own = one.tokens()
                added = own.join(base, on="token", how="anti")
                dropped = base.join(own, on="token", how="anti")
                found = [
                    *marked(added, f"tokens that {first.tokenizers} lacks {ADDED}"),
                    *marked(dropped, f"tokens of {first.tokenizers} that are lacking {DROPPED}, in its model"),
                ]
                rows += ((*one.keys, one.tokenizers, *asdict(row).values()) for row in found)
    return framed(rows, TRANSLATION_EMBEDDINGS.schema, "embeddings of translation models")


def _compared(folders: Iterable[Path | str], own_sizes: Mapping[str, int]) -> Iterator[list[Measured]]:
    """The sides of all models, those together that differ in their tokenizers alone."""
    groups: dict[tuple[Any, ...], list[Measured]] = {}
    for folder in map(Path, folders):
        model, parallel, source, target, variant, target_variant, size = folder.parts[-7:]
        tokenizers = variant if variant == target_variant else f"{variant} + {target_variant}"
        known = size_of(folder, size, variant, own_sizes)
        for side in sorted(path.stem for path in folder.glob("*.parquet")):
            keys = (parallel, source, target, model, known, side)
            groups.setdefault(keys, []).append(Measured(keys, tokenizers, folder))
    yield from groups.values()


TRANSLATION_EMBEDDING_NORMS = TidyTable(
    "translation_embedding_norms",
    "a class of probability and of norm that holds a token, of a side of a translation model",
    (*OF, TOKENIZERS, *CLASSES),
    maker=translation_embedding_norms,
    takes=("translation_embeddings_folders", "own_sizes"),
    command="tabulate",
    prints=(
        Print(
            "translation",
            "Tokens of the {side} of {model} at vocabulary size {size:,}, from {source_language} into "
            "{target_language} on {parallel}, by the L2 norm of their embedding and their probability in the training "
            "text; over 0 those that it never holds. Tokens that are rare and have a small norm are taken for "
            "under-trained. The decoder's embeddings are those of the output layer, too.",
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
        Column("metric", pl.String, "what is measured"),
        Column("definition", pl.String, "of which tokens, and how"),
        Column("value", pl.Float64, "the number", MEASURE),
        Column("n", pl.Int64, "tokens that it is over", "tokens"),
        REASON,
    ),
    maker=translation_embeddings,
    takes=("translation_embeddings_folders", "own_sizes"),
    command="tabulate",
    prints=(
        Print(
            "translation",
            "Embeddings of the {side} of {model} at vocabulary size {size:,}, from {source_language} into "
            "{target_language} on {parallel}; tokens are added and dropped beside the first tokenizer.",
            shown=("tokenizers", "definition", "value", "n"),
            by=("parallel", "source_language", "target_language", "model", "size", "side"),
            files=("translation_embeddings/{model}/{parallel}/{source_language}/{target_language}/",),
            folds_above=20,
            arranged=True,
        ),
    ),
    of_models=True,
)
