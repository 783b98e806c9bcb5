"""CompoundPiece (Minixhofer, Pfeiffer and Vulić 2023): compounds of 36 languages from Wiktionary.

A table (Parquet, or CSV or TSV with a head) of the data set ``benjamin/compoundpiece``: ``word``, ``lang``, and
``segmentation``, the word's parts with ``-`` between them. Files made by the authors' own script lack the last column,
and have the hyphens in ``word``.
"""

from collections.abc import Iterator
from pathlib import Path

from tokbench.errors import TokbenchError
from tokbench.inputs.endings import has_kind
from tokbench.intrinsic.gold import SegmentedWord
from tokbench.intrinsic.rows import lines, records
from tokbench.resource import ResourceOptions, resource


@resource("compoundpiece", gold="segmentations", files="*", cites=("minixhofer2023",))
def compoundpiece(path: Path, language: str, options: ResourceOptions) -> Iterator[SegmentedWord]:
    """Words with their constituents; those that are no compounds are one part."""
    for parts, tag in _rows(path):
        segments = parts.split("-")
        yield SegmentedWord(language or tag, "".join(segments), segments)


def _rows(path: Path) -> Iterator[tuple[str, str]]:
    """Parts with hyphens between them, and language."""
    if has_kind(path.name, "parquet"):
        import polars as pl

        from tokbench.inputs.frames import read_frame

        frame = read_frame(path, "name the resource's own file", text=("word", "lang"))
        parts = "segmentation" if "segmentation" in frame.columns else "word"
        cells = frame.select(pl.col(parts).cast(pl.String).fill_null(pl.col("word")), "lang")
        for row, (found, tag) in enumerate(cells.iter_rows(), 1):
            if found is None or tag is None:
                raise TokbenchError(f"{path}: row {row} has no word or no language; fill or drop it")
            yield found, tag
        return
    delimiter = "\t" if ".tsv" in path.name.lower() else ","
    _, head = next(lines(path), (0, ""))
    parts = "segmentation" if "segmentation" in head.split(delimiter) else "word"
    for _, (word, segmentation, tag) in records(path, ("word", parts, "lang"), delimiter):
        yield segmentation or word, tag
