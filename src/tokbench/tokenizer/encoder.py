"""Ids of texts, which threads take in parts: a text is cut into pre-tokens, and each of these into tokens.

The bytes of ids: what decoding joins, and where in a text each of its tokens starts.

Where tokens stand in a text: tokens are its own bytes laid end to end, so that ids and their lengths say it all.

Texts and ids as callers pass them: what is neither is rejected, before it is read as something else.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from html import escape
from itertools import pairwise
from pathlib import PurePath
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokbench.errors import TokbenchError, shortened
from tokbench.io.numbers import MOST_THREADS, whole_argument
from tokbench.kernels.encode import Encoder, document_number
from tokbench.kernels.ids import joined
from tokbench.kernels.scan import settled_after, settled_before
from tokbench.kernels.segmenter import PretokenSegmenter
from tokbench.kernels.threads import parallel_map
from tokbench.pretokenization import Pretokenization
from tokbench.segmentation import Segmenter
from tokbench.vocabulary import Vocabulary

PART_BYTES = 1 << 20
"""About as much of a text is a thread's part; the ids do not depend on it."""


class TextEncoder:
    """What gives the ids of texts; it remembers how it cut pre-tokens, and the ids do not depend on that either.

    Args:
        scheme: what cuts a text into pre-tokens.
        segmenter: what cuts these into tokens.
        vocabulary: the tokens with their ids.
    """

    def __init__(self, scheme: Pretokenization, segmenter: Segmenter, vocabulary: Vocabulary) -> None:
        self._scanner = scheme.scanner
        self._boundaries = scheme.boundaries
        self._segmenter = segmenter
        self._numbers = _renumbered(vocabulary)
        self._encoders: list[Encoder] = []

    def encode(self, text: bytes, threads: int) -> NDArray[np.int32]:
        """Ids of a text, int32 [tokens].

        Raises:
            TokbenchError: a pre-token has 2 GiB or more.
        """
        parts = self._by_parts(Encoder.encode, text, threads)
        return parts[0] if len(parts) == 1 else _concatenated(parts, threads)

    def encode_batch(self, texts: Iterable[bytes], threads: int) -> list[NDArray[np.int32]]:
        """Ids of each text, in order; threads share the texts out in groups."""
        if whole_argument("threads", threads, 1, MOST_THREADS) == 1:
            return [self.encode(text, 1) for text in texts]
        groups = parallel_map(lambda group: [self.encode(text, 1) for text in group], _groups(texts), threads)
        return [ids for group in groups for ids in group]

    def count(self, text: bytes, threads: int) -> int:
        """How many ids a text has.

        Raises:
            TokbenchError: a pre-token has 2 GiB or more.
        """
        return sum(self._by_parts(Encoder.count, text, threads))

    def last_cut(self, text: bytes) -> int:
        """The last place where the ids of a text are those of its two parts; 0 where none is known."""
        if self._scanner is None or (isinstance(self._segmenter, PretokenSegmenter) and self._segmenter.placed):
            return 0
        return int(settled_before(self._scanner, text, len(text)))

    def _by_parts(self, action: Callable[..., Any], text: bytes, threads: int) -> list[Any]:
        """Results of a method of :class:`Encoder`, or of what stands in for it, over the parts of a text."""
        threads = whole_argument("threads", threads, 1, MOST_THREADS)
        if self._scanner is None or not isinstance(self._segmenter, PretokenSegmenter):
            ids = self._cut_and_segment(text)
            return [ids if action is Encoder.encode else len(ids)]
        edges = [0]
        while threads > 1 and edges[-1] + PART_BYTES < len(text):
            edges.append(int(settled_after(self._scanner, text, edges[-1] + PART_BYTES)))
        if edges[-1] < len(text) or len(edges) == 1:
            edges.append(len(text))
        document = document_number(text) if self._segmenter.placed else None

        def part(edge: tuple[int, int]) -> Any:
            encoder = self._encoder()
            done = action(encoder, text, *edge, document)
            self._encoders.append(encoder)
            return done

        try:
            return [part((0, len(text)))] if len(edges) == 2 else list(parallel_map(part, pairwise(edges), threads))
        except ValueError as error:
            raise TokbenchError(f"{error}; cut the text, or choose a pre-tokenization that does") from None

    def _cut_and_segment(self, text: bytes) -> NDArray[np.int32]:
        """Ids by way of all boundaries, where the pre-tokenization or the segmentation is none of our kernels."""
        bounds = self._boundaries(text)
        data = np.frombuffer(text, np.uint8)
        if isinstance(self._segmenter, PretokenSegmenter) and self._segmenter.placed:
            ids, _ = self._segmenter.segment(data, bounds, document_number(text))
        else:
            ids, _ = self._segmenter.segment(data, bounds)
        return ids if self._numbers is None else self._numbers[ids]

    def _encoder(self) -> Encoder:
        """An encoder that no other thread uses until it is given back; it has kept what it learnt of other texts."""
        try:
            return self._encoders.pop()
        except IndexError:
            assert self._scanner is not None
            assert isinstance(self._segmenter, PretokenSegmenter)
            return Encoder(self._scanner, self._segmenter, numbers=self._numbers)


def _renumbered(vocabulary: Vocabulary) -> NDArray[np.int32] | None:
    """The ids of a vocabulary's tokens where they are not their places."""
    ids = vocabulary.ids
    return None if ids is None or np.array_equal(ids, np.arange(len(ids))) else np.ascontiguousarray(ids, np.int32)


def _concatenated(parts: list[NDArray[np.int32]], threads: int) -> NDArray[np.int32]:
    """One array of several, copied by several threads: first touching its memory takes most of the time."""
    ends = np.cumsum([len(part) for part in parts]).tolist()
    whole = np.empty(ends[-1], np.int32)

    def put(part: NDArray[np.int32], end: int) -> None:
        np.copyto(whole[end - len(part) : end], part)

    list(parallel_map(lambda one: put(*one), zip(parts, ends, strict=True), threads))
    return whole


def _groups(texts: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Texts in groups that are worth a thread's while."""
    group: list[bytes] = []
    size = 0
    for text in texts:
        group.append(text)
        size += len(text)
        if size >= PART_BYTES:
            yield group
            group, size = [], 0
    yield group


CONTINUES = 0x80
"""The two high bits of a byte that goes on with a character, in UTF-8; any other begins one."""


def character_spans(text: str, borders: NDArray[np.int64]) -> NDArray[np.int64]:
    """From byte borders to characters: int64 [tokens, 2], where each token starts and ends.

    A token that begins or ends inside a character spans that character as a whole, as with the byte-level tokenizers of
    ``tokenizers``; several tokens of one character have the same span.

    Args:
        text: what was encoded.
        borders: int64 [tokens + 1], where each token starts in the text's UTF-8 bytes; the last entry is their number.
    """
    data = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    if len(data) == len(text):
        return np.stack([borders[:-1], borders[1:]], axis=1)
    begun = np.zeros(len(data) + 1, np.int64)
    np.cumsum((data & 0xC0) != CONTINUES, out=begun[1:])
    return np.stack([begun[borders[:-1] + 1] - 1, begun[borders[1:]]], axis=1)


def before(text: bytes, size: int) -> bytes:
    """The first bytes of a text, ``size`` or a few less, so that no character of UTF-8 is cut; all of a shorter one."""
    end = size
    while max(0, size - 3) < end < len(text) and text[end] & 0xC0 == CONTINUES:
        end -= 1
    return text[:size] if size < len(text) and text[end] & 0xC0 == CONTINUES else text[:end]


BYTE_FORMATS = ("B", "b", "c")
"""Formats of buffers whose items are bytes."""
COLUMNS = ("columns", "column_names")
"""Public attributes by which frames and data sets name their columns; one of them is enough."""


def as_bytes(text: Any) -> bytes:
    """Return the bytes of a text: of a ``str`` its UTF-8, of a buffer of bytes a copy.

    Raises:
        TokbenchError: it is no text.
    """
    if type(text) is bytes:
        return text
    text = plain(text)
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    if is_text(text):
        return bytes(memoryview(text))
    reject_table(text)
    if isinstance(text, PurePath):
        raise TokbenchError(f"{shortened(str(text))}: a path, not a text; pass its text, as from Path.read_bytes()")
    raise TokbenchError(f"{shown(text)} is no text; give str or bytes")


def is_text(value: Any) -> bool:
    """Return whether a value is one text: ``str``, ``bytes`` or another buffer whose items are bytes in one row."""
    if isinstance(value, str | bytes):
        return True
    try:
        view = memoryview(value)
    except TypeError:
        return False
    return view.ndim == 1 and view.itemsize == 1 and view.format.lstrip("<>=@") in BYTE_FORMATS


def plain(value: Any) -> Any:
    """Return a scalar of pyarrow as the Python value that it has; return any other value as it is."""
    return value.as_py() if hasattr(type(value), "as_py") else value


def reject_table(value: Any) -> None:
    """Reject mappings, frames and data sets, whose items are names and not texts.

    Raises:
        TokbenchError: it is one; the message names the remedy.
    """
    remedy = ""
    if any(hasattr(type(value), attribute) for attribute in COLUMNS):
        remedy = (
            "one column, as in splits['train']['text']"
            if isinstance(value, Mapping)
            else "one column, as in frame['text']"
        )
    elif isinstance(value, Mapping):
        remedy = "its texts, as in mapping.values() or row['text']"
    if remedy:
        raise TokbenchError(f"{type(value).__name__}: neither a text nor several; give {remedy}")


def shown(value: Any) -> str:
    """Return a wrong value for a message: on one line, without runs of blanks, and cut where it is long."""
    return shortened(" ".join(repr(value).split()))


def html_of(line: str, tokens: Iterable[bytes], most: int = 12) -> str:
    """Return a line and the longest of some tokens as HTML."""
    longest = sorted(dict.fromkeys(tokens), key=lambda token: (-len(token), token))[:most]
    items = (f"<code>{escape(token.decode('utf-8', 'backslashreplace'))}</code>" for token in longest)
    return f"<div><code>{escape(line)}</code><br>longest tokens: {', '.join(items)}</div>"


def require_str(text: Any) -> str:
    """A text that has characters.

    Raises:
        TokbenchError: it is no ``str``.
    """
    if not isinstance(text, str):
        raise TokbenchError(f"{shown(text)} has no characters; give str, or ask for offsets()")
    return text


def require_texts(texts: Any) -> Iterable[Any]:
    """Return texts as they are given; reject a single text, as its items are characters.

    Raises:
        TokbenchError: it is a single text, a table, or nothing to go through.
    """
    reject_table(texts)
    if is_text(texts) or not is_iterable(texts):
        raise TokbenchError(f"texts {shown(texts)}: give several, as in a list, or encode one with encode()")
    return cast(Iterable[Any], texts)


def is_iterable(value: Any) -> bool:
    """Return whether a value can be gone through, as an array without dimensions cannot."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def as_ids(ids: ArrayLike) -> NDArray[Any]:
    """Return the ids of one sequence as an array of whole numbers.

    Raises:
        TokbenchError: they are no whole numbers, or are those of several sequences.
    """
    if isinstance(ids, bytes | bytearray | memoryview) and is_text(ids):
        raise TokbenchError(f"ids {shown(ids)}: a text, not ids; give whole numbers")
    try:
        values = np.asarray(ids)
    except ValueError:
        raise TokbenchError("ids of several lengths; decode one sequence at a time") from None
    if values.size and values.dtype.kind not in "iu":
        raise TokbenchError(f"ids of type {values.dtype} are no ids of this vocabulary; give whole numbers")
    if np.ma.is_masked(ids):
        raise TokbenchError("ids: some are masked; give those that are not, as in ids.compressed()")
    if values.size and max(values.shape, default=1) != values.size:
        raise TokbenchError(f"ids of {len(values)} sequences; decode one sequence at a time")
    return values.ravel()


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
        values = as_ids(ids)
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
