"""The bytes of ids: what decoding joins, and where in a text each of its tokens starts."""

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokbench.errors import TokbenchError
from tokbench.given import numbers_of
from tokbench.kernels.ids import joined
from tokbench.vocabulary import Vocabulary


class TokenBytes:
    """The bytes of a vocabulary's ids, special ones included; laid end to end once they are asked for.

    Args:
        vocabulary: the tokens, with ids of their own or without.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    @cached_property
    def id_limit(self) -> int:
        """One more than the largest id."""
        return self._vocabulary.id_limit

    def decode(self, ids: ArrayLike) -> bytes:
        """The bytes of a sequence of ids.

        Raises:
            TokbenchError: an id is not in the vocabulary, or is no whole number.
        """
        values = numbers_of(ids)
        if values.size and not 0 <= int(values.min()) <= int(values.max()) < self.id_limit:
            wrong = next(value for value in values.tolist() if not 0 <= value < self.id_limit)
            raise TokbenchError(f"id {wrong} is not in the vocabulary (0 to {self.id_limit - 1})")
        if self._places is not None and values.size:
            places = self._places[values]
            if places.min() < 0:
                raise TokbenchError(f"id {values[places.argmin()]} is not in the vocabulary, whose ids have holes")
            values = places
        return bytes(joined(values.astype(np.int64), *self._flat))

    def borders(self, ids: NDArray[np.int32]) -> NDArray[np.int64]:
        """Where the tokens of a text start in its bytes, int64 [tokens + 1]; the last entry is where the text ends.

        Args:
            ids: int32 [tokens], those of the text.
        """
        borders = np.zeros(len(ids) + 1, np.int64)
        np.cumsum(self._lengths[ids if self._places is None else self._places[ids]], out=borders[1:])
        return borders

    @cached_property
    def _places(self) -> NDArray[np.int32] | None:
        """int32 [ids], where the bytes of each id stand in :attr:`_flat`, -1 where there is no such id."""
        ids, special = self._vocabulary.ids, self._vocabulary.special
        if ids is None:
            return None
        places = np.full(self.id_limit, -1, np.int32)
        places[ids] = np.arange(len(ids), dtype=np.int32)
        places[list(special)] = np.arange(len(special), dtype=np.int32) + len(ids)
        return places

    @cached_property
    def _flat(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The bytes of the tokens and, after them, of special ids, end to end, and where each starts."""
        data, offsets = self._vocabulary.flat()
        special = [*self._vocabulary.special.values()]
        ends = offsets[-1] + np.cumsum([len(token) for token in special], dtype=np.int64)
        return np.concatenate([data, np.frombuffer(b"".join(special), np.uint8)]), np.concatenate([offsets, ends])

    @cached_property
    def _lengths(self) -> NDArray[np.int64]:
        return np.diff(self._flat[1])
