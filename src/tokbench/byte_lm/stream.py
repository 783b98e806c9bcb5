"""Training text as one stream of tokens on disk, and the order in which its windows are visited."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokbench.atomic import atomic_file
from tokbench.byte_lm.model import START
from tokbench.errors import TokbenchError


def write_stream(documents: Iterable[bytes], path: Path) -> str:
    """Lay documents end to end, each after a start token, as little-endian uint16; return a digest of the stream."""
    digest = hashlib.blake2b(digest_size=16)
    with atomic_file(path) as partial, partial.open("wb") as file:
        for document in documents:
            tokens = np.empty(len(document) + 1, "<u2")
            tokens[0] = START
            tokens[1:] = np.frombuffer(document, np.uint8)
            data = tokens.tobytes()
            digest.update(data)
            file.write(data)
    return digest.hexdigest()


class Windows:
    """Disjoint windows of a stream, every one once an epoch, in an order drawn from the seed and the epoch.

    A batch is a function of its step alone, so training that resumes sees the batches it would have seen.

    Args:
        path: the stream.
        context: predictions in a window, lowered to what a shorter stream affords.
        seed: seed of the order.

    Attributes:
        context: predictions in a window.

    Raises:
        TokbenchError: the stream holds no byte.
    """

    def __init__(self, path: Path, context: int, seed: int) -> None:
        size = path.stat().st_size // 2
        if size < 2:
            raise TokbenchError("the byte_lm split holds no text to train on; give it documents")
        self._stream = np.memmap(path, "<u2", "r")
        self.context = min(context, size - 1)
        self._count = (size - 1) // self.context
        self._seed = seed
        self._epoch = -1
        self._order = np.empty(0, np.int64)

    def batch(self, step: int, size: int) -> NDArray[np.int64]:
        """Windows of one step (counted from 0): int64 [size, context + 1], inputs and their successors."""
        return np.stack([self._window(index) for index in range(step * size, (step + 1) * size)])

    def _window(self, index: int) -> NDArray[np.int64]:
        epoch, position = divmod(index, self._count)
        if epoch != self._epoch:
            self._epoch = epoch
            self._order = np.random.default_rng([self._seed, epoch]).permutation(self._count)
        start = int(self._order[position]) * self.context
        return self._stream[start : start + self.context + 1].astype(np.int64)
