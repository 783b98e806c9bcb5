"""A byte n-gram model: the cheap signal beside the neural one, counted in one pass and applied on one core.

The 5-gram signal of "ByteSpan: Information-Driven Subword Tokenisation"; the smoothing here is that of Witten and Bell,
interpolated (see :mod:`tokbench.kernels.ngram_lm`). Training only adds up counts, so that the order of documents does
not matter.
"""

import json
import logging
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from tokbench.atomic import atomic_folder, reject_altered
from tokbench.byte_lm.options import ByteNgramOptions
from tokbench.byte_lm.scores import Documents, write_scores
from tokbench.byte_lm.windows import write_windows
from tokbench.errors import TokbenchError
from tokbench.inputs.arrays import read_array
from tokbench.inputs.files import first_line
from tokbench.inputs.json import read_json
from tokbench.kernels.ngram_lm import ByteNgramModel
from tokbench.manifest import write_manifest

log = logging.getLogger(__name__)


def train(documents: Iterable[bytes], options: ByteNgramOptions, folder: Path, room: int | None = None) -> None:
    """Count the n-grams of documents and write the model's folder, whole or not at all.

    It holds ``windows.npy`` (uint64) and ``counts.npy`` (int64), what
    :meth:`tokbench.kernels.ngram_lm.WindowCounter.counts` gives, ``model.json`` with the options, and
    ``manifest.json``.

    Args:
        documents: the text, in any order.
        options: the order.
        folder: where the model goes.
        room: bytes that counts may take in memory beside a document; they are sorted on disk where they are more. When
            None they take what they need, and that grows with the number of different n-grams.

    Raises:
        TokbenchError: there is no text to count.
    """
    began = time.monotonic()
    settings = options.model_dump(mode="json")
    with atomic_folder(folder, "byte language model") as partial:
        different, total = write_windows(documents, options.order, partial, room)
        if not different:
            raise TokbenchError("the byte_lm split holds no text to train on; give it documents")
        (partial / "model.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
        write_manifest(partial / "manifest.json", settings, began)
    log.info("counted %d bytes, %d different windows of order %d", total, different, options.order)


def load(folder: Path) -> ByteNgramModel:
    """Read what :func:`train` wrote.

    Raises:
        TokbenchError: the folder holds no byte n-gram model, or its counts are not those that were written.
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
        raise TokbenchError(f"{folder}: holds no byte n-gram model ({first_line(error)}); {remedy}") from None


def score(documents: Documents, model_folder: Path, output: Path) -> None:
    """Score documents and write them, whole or not at all, in the form that all byte language models share.

    Surprisal is that of the byte itself and entropy that of the distribution it was drawn from, over the 256 bytes, in
    nats. Every document starts from the empty context.

    Args:
        documents: (document, text) or (document, language, text) tuples, in document order.
        model_folder: what :func:`train` wrote.
        output: the file of scores, as :func:`tokbench.byte_lm.scores.write_scores` writes it.

    Raises:
        TokbenchError: the folder holds no byte n-gram model.
    """
    write_scores(documents, load(model_folder).score, output)
