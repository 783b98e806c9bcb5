"""Surprisal and entropy of every byte of a few texts, by a byte-level language model of any kind."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokbench.models.byte_lm.options import ByteLmRecipeOptions, ByteNgramOptions
from tokbench.models.memory import byte_lm_scoring_memory, ngram_memory
from tokbench.runtime.memory_limit import check_memory

Scores = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Surprisal and entropy of each byte, float32 [n], in nats."""


def score_sentences(
    texts: Sequence[bytes],
    model: Path,
    options: ByteLmRecipeOptions | ByteNgramOptions,
    *,
    megabytes: int | None = None,
) -> list[Scores]:
    """Score texts one by one.

    Args:
        texts: the texts.
        model: folder of the model.
        options: recipe of the model.
        megabytes: memory limit in MB (10^6 bytes). Default: None, no limit.

    Raises:
        TokbenchError: the folder does not contain a model of this kind, the device does not exist, or more memory is
            needed than allowed.
    """
    if isinstance(options, ByteNgramOptions):
        from tokbench.models.byte_lm import ngram

        check_memory(megabytes, ngram_memory(model))
        counted = ngram.load(model)
        return [counted.score(text) for text in texts]
    from tokbench.models.byte_lm.model import on_gpu
    from tokbench.models.byte_lm.score import score_texts

    check_memory(megabytes, int(byte_lm_scoring_memory(options, on_gpu(options.device))))
    return score_texts(texts, model, options)
