"""Tokbench itself, through its Python API."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokbench.tokenizer import Tokenizer

SCHEME = "gpt2"
TEXT = bytes
DECODES_ARRAYS = True


def load(folder: Path, name: str) -> Tokenizer:
    return Tokenizer.load(folder / name)


def encode(tokenizer: Tokenizer, text: bytes) -> NDArray[np.int32]:
    return tokenizer.encode(text)


def encode_batch(
    tokenizer: Tokenizer, texts: Sequence[bytes], threads: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    return tokenizer.encode_flat(texts, threads)


def decode(tokenizer: Tokenizer, ids: ArrayLike) -> bytes:
    return tokenizer.decode(ids)


def count(text: bytes) -> int:
    from tokbench.pretokens.count import count_pretokens

    return len(count_pretokens([text], SCHEME))


def import_constructions() -> None:
    """Import the modules of training, which the start of the process does not need."""
    import tokbench.construction
    import tokbench.pretokens.count  # noqa: F401


def _train(path: Path, method: str, size: int) -> int:
    from tokbench.construction import constructions
    from tokbench.pretokens.count import count_pretokens

    construction = constructions[method]
    counts = count_pretokens([path.read_bytes()], SCHEME)
    return len(construction.function(counts, size, construction.options(), threads=1))


def train_bpe(path: Path, _documents: Sequence[str], size: int) -> int:
    return _train(path, "bpe", size)


def train_wordpiece(path: Path, _documents: Sequence[str], size: int) -> int:
    return _train(path, "wordpiece", size)


def train_unigram(path: Path, _documents: Sequence[str], size: int) -> int:
    return _train(path, "unigram", size)
