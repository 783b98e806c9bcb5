"""Tokenizers from Python functions of the user: the values that these may return, and one-line errors for others.

A function of a file (:mod:`tokbench.tokenizer.libraries.python`) and one that :func:`~tokbench.adapters.load.wrap`
receives have this one contract.
"""

import operator
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from tokbench.errors import TokbenchError
from tokbench.io.numbers import LARGEST_VOCABULARY
from tokbench.runtime.user_code import user_code
from tokbench.tokenizer.encoder import as_bytes, shown

TEXT = str | bytes | bytearray | memoryview
BOOLEANS = bool | np.bool_


class PythonTokenizer:
    """A function ``encode``, and maybe ``decode``, as a :class:`~tokbench.tokenizer.libraries.Library`.

    ``encode`` returns a sequence of ids: integers from 0, below the vocabulary size if that is known, in a list, a
    tuple, an iterator, or an array or tensor of one dimension, or an object that has these as ``ids`` or
    ``input_ids``. With ``pieces``, it may return pieces of the text instead, which are numbered in the order in which
    they first occur. ``decode`` returns ``str`` or ``bytes``. All other values and all exceptions are errors of one
    line. One call is made at a time.

    Attributes:
        vocab_size: number of ids; None if not known.
        ids: ids are below this number.
        names: pieces with an id, in the order of their ids.
        no_decode: error for a missing ``decode``.

    Args:
        place: name of the functions in messages.
        encode: the function that encodes a text.
        decode: the function that decodes ids. Default: none.
        vocab_size: number of ids. Default: not known.
        ids: the number of ids, if ``vocab_size`` is not known. Default: the largest that Tokbench allows.
        pieces: pieces that already have an id. Default: ``encode`` may not return pieces.
        remedy: end of the error for a missing ``decode``.
    """

    unknown = None

    def __init__(
        self,
        place: str,
        encode: Callable[[str], Any],
        decode: Callable[[list[int]], Any] | None = None,
        *,
        vocab_size: int | None = None,
        ids: int | None = None,
        pieces: Sequence[bytes] | None = None,
        remedy: str = "name an object that has one",
    ) -> None:
        self.place, self.vocab_size = place, vocab_size
        self.ids = vocab_size or ids or LARGEST_VOCABULARY
        self.names = list(pieces or ())
        self._numbers = {piece: index for index, piece in enumerate(self.names)}
        self._encode, self._decode = encode, decode
        self._numbers_pieces, self._ids_of_import = pieces is not None, ids is not None
        self.no_decode = f"{place}: has no decode; {remedy}"
        self._lock = threading.RLock()

    @property
    def can_decode(self) -> bool:
        """Whether there is a ``decode``, or ``encode`` returns pieces. Without an earlier text, a letter is encoded."""
        if self._decode is not None or self.names:
            return True
        if not self._numbers_pieces:
            return False
        probe = PythonTokenizer(self.place, self._encode, pieces=())
        return not probe.encode("a") or bool(probe.names)

    def encode(self, text: str) -> list[int]:
        with self._lock, user_code(self.place, "encode"):
            encoded = self._encode(text)
            values = _sequence(encoded)
            if values is None:
                what = "the ids of the text, or its pieces" if self._numbers_pieces else "a list of ids"
                raise TokbenchError(f"encode returned {shown(encoded)}; return {what}")
            if values and all(isinstance(value, str | bytes) for value in values):
                return [self._id_of_piece(as_bytes(value)) for value in values]
            return self._checked(values)

    def _id_of_piece(self, piece: bytes) -> int:
        if not self._numbers_pieces:
            raise TokbenchError("encode returned pieces of text; return their ids")
        if piece not in self._numbers:
            if len(self.names) == self.ids:
                raise TokbenchError(f"encode returned more than {self.ids:,} different pieces; pass a larger size")
            self._numbers[piece] = len(self.names)
            self.names.append(piece)
        return self._numbers[piece]

    def _checked(self, values: list[Any]) -> list[int]:
        """Return the values as integers.

        Raises:
            TokbenchError: one is not an integer, or out of bounds.
        """
        if not set(map(type, values)) <= {int}:
            values = [_integer(value) for value in values]
        wrong = (
            next((number for number in (min(values), max(values)) if not 0 <= number < self.ids), None)
            if values
            else None
        )
        if wrong is not None:
            hint = "; define vocab_size, since import saw no larger id" * (self._ids_of_import and wrong > 0)
            raise TokbenchError(f"encode returned the id {wrong}; ids are 0 to {self.ids - 1}{hint}")
        return values

    def spans(self, text: str) -> None:
        return None

    def decode(self, ids: list[int], names: Mapping[int, bytes]) -> bytes:
        if self._decode is None:
            return self._joined(ids)
        with self._lock, user_code(self.place, "decode"):
            text = self._decode(list(ids))
            if not isinstance(text, str | bytes | bytearray):
                raise TokbenchError(f"decode returned {shown(text)}; return str or bytes")
            return as_bytes(text)

    def _joined(self, ids: list[int]) -> bytes:
        """Return the joined pieces of ids.

        Raises:
            TokbenchError: there are no pieces.
            KeyError: no piece has the id.
        """
        if not self._numbers_pieces or (ids and not self.names):
            raise TokbenchError(self.no_decode)
        if missing := [token_id for token_id in ids if token_id >= len(self.names)]:
            raise KeyError(missing[0])
        return b"".join(self.names[token_id] for token_id in ids)

    def name(self, token_id: int) -> bytes:
        try:
            return self.bytes_of(token_id)
        except (KeyError, TokbenchError):
            return b"<%d>" % token_id

    def id_of(self, name: str) -> int | None:
        return self._numbers.get(as_bytes(name))

    def bytes_of(self, token_id: int) -> bytes:
        return self.decode([token_id], {})

    def form(self, token_id: int) -> None:
        return None

    def normalized(self, text: str) -> str:
        return text

    def changed(self, text: str) -> int:
        return 0


def _sequence(encoded: Any) -> list[Any] | None:
    """Return the elements of an encoded text; None if it is not one sequence. Sets have no order."""
    if isinstance(encoded, Mapping):
        encoded = encoded.get("input_ids", encoded)
    elif not hasattr(encoded, "tolist"):  # Masked arrays have a method of the name, too.
        encoded = getattr(encoded, "ids", getattr(encoded, "input_ids", encoded))
    if isinstance(encoded, TEXT | Set | Mapping):
        return None
    if hasattr(encoded, "tolist"):
        encoded = encoded.tolist()  # A number, for an array without dimensions.
    elif hasattr(encoded, "__array__"):
        encoded = np.asarray(encoded).tolist()
    return list(encoded) if isinstance(encoded, Iterable) else None


def _integer(value: Any) -> int:
    """Return an id as ``int``.

    Raises:
        TokbenchError: it is not one integer.
    """
    try:
        if not isinstance(value, BOOLEANS) and not getattr(value, "ndim", False):
            return operator.index(value)
    except TypeError:
        pass
    raise TokbenchError(f"encode returned {shown(value)} for an id; return integers in one dimension")
