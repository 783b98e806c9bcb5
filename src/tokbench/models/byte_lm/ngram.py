"""Byte n-gram models: a cheap alternative to the neural signal, counted in one pass and applied on one core.

The 5-gram signal of "ByteSpan: Information-Driven Subword Tokenisation". Smoothing is interpolated Witten-Bell (see
:mod:`tokbench.kernels.ngram_lm`). Training only adds counts, so the order of documents does not matter. Counts may be
limited in memory: sorted runs are then written to disk and merged.
"""

import json
import logging
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib.format import write_array_header_1_0
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.io.arrays import read_array
from tokbench.io.atomic import atomic_folder, reject_altered
from tokbench.io.identity import model_digest
from tokbench.io.json import read_json
from tokbench.io.provenance import write_manifest
from tokbench.io.text_files import first_line
from tokbench.kernels.ngram_lm import ByteNgramModel, WindowCounter
from tokbench.models.byte_lm.options import ByteNgramOptions
from tokbench.models.byte_lm.scores import Documents, write_scores

HELD = 110
"""Bytes of memory per distinct window while it is counted and sorted. 101 were measured with a million windows."""
PIECE = 1 << 16
"""Bytes of a document between two checks of the memory limit."""
LEAST = 4 * HELD * PIECE
"""Smallest memory limit for counting, in bytes. Half of it is for documents."""
MOST_RUNS = 64
"""Largest number of runs in one merge."""
MERGED = 80
"""Bytes of memory per window of a run during merging."""
ROW = np.dtype([("window", "<u8"), ("count", "<i8")])
Rows = NDArray[np.void]


def write_windows(documents: Iterable[bytes], order: int, folder: Path, room: int | None = None) -> tuple[int, int]:
    """Write ``windows.npy`` and ``counts.npy``, the arrays of :meth:`tokbench.kernels.ngram_lm.WindowCounter.counts`.

    Args:
        documents: the text.
        order: bytes of a window.
        folder: output folder, which also contains the runs until they are merged.
        room: memory limit in bytes, in addition to one document. Default: None, no limit. The output does not depend on
            it.

    Returns:
        Number of distinct windows, and number of bytes of the text.
    """
    max_windows = None if room is None else max(1, room // HELD - PIECE)
    counter, runs, merged = WindowCounter(order), list[Path](), 0
    for text in documents:
        for first in range(0, len(text), PIECE):
            counter.add(text, first, min(first + PIECE, len(text)))
            if room is not None and max_windows is not None and counter.size >= max_windows:
                runs.append(_write([_rows(counter)], folder / f"run-{merged + len(runs)}"))
                counter = WindowCounter(order)
                if len(runs) == MOST_RUNS:
                    merged += len(runs)
                    runs = [_write(_merge(runs, room), folder / f"run-{merged}")]
                    merged += 1
    if room is None or not runs:
        return _save([_rows(counter)], folder)
    runs.append(_write([_rows(counter)], folder / "run-last"))
    return _save(_merge(runs, room), folder)


def _rows(counter: WindowCounter) -> Rows:
    windows, counts = counter.counts()
    rows = np.empty(len(windows), ROW)
    rows["window"], rows["count"] = windows, counts
    return rows


def _write(parts: Iterable[Rows], path: Path) -> Path:
    with path.open("wb") as file:
        for rows in parts:
            rows.tofile(file)
    return path


def _merge(runs: list[Path], room: int) -> Iterator[Rows]:
    """Yield the sums of sorted runs in ascending order, and remove the runs."""
    size = max(1, room // (MERGED * len(runs)))
    files = [path.open("rb") for path in runs]
    try:
        blocks = [np.fromfile(file, ROW, size) for file in files]
        while any(map(len, blocks)):
            last = min(rows["window"][-1] for rows in blocks if len(rows))
            ends = [int(np.searchsorted(rows["window"], last, "right")) for rows in blocks]
            yield _sums(np.concatenate([rows[:end] for rows, end in zip(blocks, ends, strict=True)]))
            blocks = [_fill(file, rows[end:], size) for file, rows, end in zip(files, blocks, ends, strict=True)]
    finally:
        for file, path in zip(files, runs, strict=True):
            file.close()
            path.unlink()


def _fill(file: BinaryIO, rows: Rows, size: int) -> Rows:
    return np.concatenate([rows, np.fromfile(file, ROW, size - len(rows))])


def _sums(rows: Rows) -> Rows:
    """Return the rows with each window once, ascending."""
    rows = rows[np.argsort(rows["window"], kind="stable")]
    starts = np.flatnonzero(np.diff(rows["window"], prepend=rows["window"][:1] + np.uint64(1)))
    sums = rows[starts]
    sums["count"] = np.add.reduceat(rows["count"], starts)
    return sums


def _save(parts: Iterable[Rows], folder: Path) -> tuple[int, int]:
    """Write both arrays. NumPy pads the headers, so the length can be filled in at the end."""
    length = total = 0
    with (folder / "windows.npy").open("w+b") as windows, (folder / "counts.npy").open("w+b") as counts:
        for file, kind in ((windows, "<u8"), (counts, "<i8")):
            _head(file, kind, 0)
        for rows in parts:
            for file, column in ((windows, "window"), (counts, "count")):
                np.ascontiguousarray(rows[column]).tofile(file)
            length += len(rows)
            total += int(rows["count"].sum())
        for file, kind in ((windows, "<u8"), (counts, "<i8")):
            file.seek(0)
            _head(file, kind, length)
    return length, total


def _head(file: BinaryIO, kind: str, length: int) -> None:
    write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": (length,)})


log = logging.getLogger(__name__)


def train(documents: Iterable[bytes], options: ByteNgramOptions, folder: Path, room: int | None = None) -> None:
    """Count the n-grams of documents and write the model's folder atomically.

    The folder contains ``windows.npy`` (uint64) and ``counts.npy`` (int64), the arrays of
    :meth:`tokbench.kernels.ngram_lm.WindowCounter.counts`, ``model.json`` with the options, and ``manifest.json``.

    Args:
        documents: the text, in any order.
        options: the order of the model.
        folder: output folder.
        room: memory limit for the counts in bytes, in addition to one document. Larger counts are sorted on disk.
            Default: None, no limit; memory then grows with the number of distinct n-grams.

    Raises:
        TokbenchError: there is no text to count.
    """
    began = time.monotonic()
    settings = options.model_dump(mode="json")
    with atomic_folder(folder, "byte language model") as partial:
        different, total = write_windows(documents, options.order, partial, room)
        if not different:
            raise TokbenchError("the byte_lm split contains no text to train on; give it documents")
        (partial / "model.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
        write_manifest(partial / "manifest.json", settings, began)
    log.info("counted %d bytes, %d different windows of order %d", total, different, options.order)


def load(folder: Path) -> ByteNgramModel:
    """Load a model written by :func:`train`.

    Raises:
        TokbenchError: the folder does not contain a byte n-gram model, or its counts were changed after writing.
    """
    remedy = "train one"
    for name in ("windows.npy", "counts.npy"):
        reject_altered(folder / name, f"delete its folder and {remedy}")
    try:
        options = ByteNgramOptions.model_validate(read_json(folder / "model.json", remedy))
        windows = read_array(folder / "windows.npy", np.uint64)
        counts = read_array(folder / "counts.npy", np.int64)
        if len(windows) != len(counts) or (windows[1:] <= windows[:-1]).any() or (counts < 1).any():
            raise ValueError("windows or counts out of order")
        return ByteNgramModel(windows, counts, options.order)
    except (OSError, ValueError) as error:
        raise TokbenchError(f"{folder}: not a byte n-gram model ({first_line(error)}); {remedy}") from None


def score(documents: Documents, model_folder: Path, output: Path) -> None:
    """Score documents and write the scores atomically, in the common format of all byte language models.

    Surprisal is that of the byte itself. Entropy is that of the distribution over the 256 bytes. Both are in nats.
    Every document starts from the empty context.

    Args:
        documents: (document, text) or (document, language, text) tuples, in document order.
        model_folder: folder written by :func:`train`.
        output: file of scores, see :func:`tokbench.models.byte_lm.scores.write_scores`.

    Raises:
        TokbenchError: the folder does not contain a byte n-gram model.
    """
    write_scores(documents, load(model_folder).score, output, model_digest(model_folder))
