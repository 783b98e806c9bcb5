"""Perturbation of texts in files, and measurement of a tokenizer on a file of perturbed lines."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from tokbench.corpus.text_files import read_shards_or_files
from tokbench.errors import TokbenchError
from tokbench.io.compression import Fields
from tokbench.io.tables import read_frame
from tokbench.robustness.lines import LINES, perturbed_lines
from tokbench.robustness.perturbations import BYTES, KINDS, RATE
from tokbench.robustness.segmentations import ChangedSegmentation, changed_segmentations
from tokbench.runtime.memory_limit import LEAST, allowance

if TYPE_CHECKING:
    from tokbench.tokenizer import Tokenizer

OF_TEXT = 8
"""Bytes of memory per byte of text and kind. Measured: 7, with all kinds of 3 MB."""
OF_FILE = 24
"""Bytes of memory per byte of a file of perturbed lines. Measured: 22."""
REMEDY = "make it with 'tokbench perturb'"


def perturb_files(
    files: Sequence[str],
    fields: Fields,
    *,
    kinds: Sequence[str] = (),
    rate: float | None = None,
    size: int | None = None,
    seed: int | None = None,
    megabytes: int | None = None,
) -> pl.DataFrame:
    """Perturb the lines of texts; see :func:`tokbench.robustness.lines.perturbed_lines`.

    Args:
        files: shards of a corpus, or other files of texts.
        fields: options of reading.
        kinds: names of perturbations. Default: all.
        rate: probability that a unit is changed. Default: 0.1.
        size: use at most this number of bytes. Default: 200,000.
        seed: seed of the draws. Default: 0.
        megabytes: memory limit in MB (10^6 bytes). Default: None, no limit.

    Returns:
        Table with the columns of :data:`tokbench.robustness.lines.LINES`.

    Raises:
        TokbenchError: a kind is unknown, nothing was perturbed, or more memory is needed than allowed.
    """
    names, limit = list(kinds or KINDS), BYTES if size is None else size
    if megabytes is not None:
        allowance(megabytes, LEAST + OF_TEXT * limit * len(names))
    lines = perturbed_lines(
        read_shards_or_files(files, fields),
        kinds=names,
        rate=RATE if rate is None else rate,
        size=limit,
        seed=seed or 0,
    )
    if lines.is_empty():
        raise TokbenchError(f"{files[0]}: nothing was perturbed; use a higher --rate or more text")
    return lines


def measure_lines(tokenizer: "Tokenizer", file: str, *, megabytes: int | None = None) -> list[ChangedSegmentation]:
    """Measure a tokenizer on a file of perturbed lines; see
    :func:`tokbench.robustness.segmentations.changed_segmentations`.

    Args:
        tokenizer: the tokenizer.
        file: the file, of ``tokbench perturb``.
        megabytes: memory limit in MB (10^6 bytes). Default: None, no limit.

    Raises:
        TokbenchError: the file is not one of perturbed lines, or more memory is needed than allowed.
    """
    if megabytes is not None:
        allowance(megabytes, LEAST + OF_FILE * Path(file).stat().st_size)
    lines = read_frame(file, REMEDY)
    if dict(lines.schema) != LINES:
        raise TokbenchError(f"{file}: not a file of perturbed lines; {REMEDY}")
    return list(changed_segmentations(tokenizer, lines))
