"""Text encoding and decoding: ids of texts, bytes of ids, positions of tokens, validation of texts and ids.

With several threads, a text is split into parts at positions that do not change its ids. Tokens cover the bytes of a
text without gaps or overlaps, so their positions follow from the ids and the lengths of the tokens.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from html import escape
from itertools import pairwise
from pathlib import PurePath
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokbench.errors import TokbenchError, shortened
from tokbench.io.numbers import MOST_THREADS, whole_argument
from tokbench.kernels.encode import Encoder, document_number
from tokbench.kernels.ids import joined
from tokbench.kernels.scan import Scanner, settled_after, settled_before
from tokbench.kernels.segmenter import PretokenSegmenter
from tokbench.kernels.superwords import SuperwordSegmenter
from tokbench.kernels.threads import parallel_map
from tokbench.pretokenization import Pretokenization
from tokbench.segmentation import Segmenter
from tokbench.tokenizer.normalization import Normalization
from tokbench.vocabulary import Vocabulary

PART_BYTES = 1 << 18
"""Approximate bytes of a text that a thread processes at a time, so few that threads end together on a batch of some
megabytes. The ids do not depend on it."""
CONTINUES = 0x80
"""Value of the two high bits of a UTF-8 continuation byte."""
BYTE_FORMATS = ("B", "b", "c")
"""Formats of buffers with byte items."""
COLUMNS = ("columns", "column_names")
"""Public attributes with the column names of data frames and datasets. An object with either is a table."""


class TextEncoder:
    """Encoder of texts. It caches segmentations of pre-tokens; the ids do not depend on the cache.

    Args:
        scheme: Pre-tokenization.
        segmenter: Segmenter of pre-tokens.
        vocabulary: Tokens and their ids.
        normalization: Steps before pre-tokenization (default: none).
    """

    def __init__(
        self,
        scheme: Pretokenization,
        segmenter: Segmenter,
        vocabulary: Vocabulary,
        normalization: Normalization | None = None,
    ) -> None:
        self._normalization = normalization or None
        self._scanner = scheme.scanner
        self._boundaries = scheme.boundaries
        self._segmenter = segmenter
        self._numbers = _renumbered(vocabulary)
        self._encoders: list[Encoder] = []
        self._by_kernels = self._scanner is not None and isinstance(segmenter, PretokenSegmenter)
        self._joiner = segmenter if self._by_kernels and isinstance(segmenter, SuperwordSegmenter) else None

    def encode(self, text: bytes, threads: int) -> NDArray[np.int32]:
        """Return the ids of a text, int32 [tokens].

        Raises:
            TokbenchError: a pre-token has 2 GiB or more, or ``threads`` is not an integer from 1 to 1024.
        """
        if self._normalization is not None:
            text = self._normalization(text)
        if type(threads) is int and threads == 1 and self._by_kernels and self._joiner is None:
            return self._with_encoder(Encoder.encode, text)
        parts = self._by_parts(Encoder.encode, text, threads)
        ids = parts[0] if len(parts) == 1 else _concatenated(parts, threads)
        return ids if self._joiner is None else self._join(ids, np.array([0, len(ids)]))[0]

    def encode_batch(self, texts: Iterable[bytes], threads: int) -> list[NDArray[np.int32]]:
        """Return the ids of each text, in order. Arrays of neighbouring texts share their memory."""
        batches = self._batches(texts, threads)
        return [ids[start:end] for ids, bounds in batches for start, end in pairwise(bounds.tolist())]

    def encode_flat(self, texts: Iterable[bytes], threads: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the concatenated ids of the texts, and the start of each text's ids."""
        batches = self._batches(texts, threads)
        ends = np.cumsum([0, *(len(ids) for ids, _ in batches)]).tolist()
        bounds = np.concatenate(
            [np.zeros(1, np.int64), *(bounds[1:] + end for (_, bounds), end in zip(batches, ends, strict=False))]
        )
        parts = [ids for ids, _ in batches]
        return (parts[0] if len(parts) == 1 else _concatenated(parts, threads)), bounds

    def count(self, text: bytes, threads: int) -> int:
        """Return the number of ids of a text.

        Raises:
            TokbenchError: as :meth:`encode`.
        """
        if self._joiner is not None:
            return len(self.encode(text, threads))
        if self._normalization is not None:
            text = self._normalization(text)
        return sum(self._by_parts(Encoder.count, text, threads))

    def last_cut(self, text: bytes) -> int:
        """Return the last position at which a text can be split without changing its ids; 0 if none is known."""
        if self._scanner is None or (isinstance(self._segmenter, PretokenSegmenter) and self._segmenter.placed):
            return 0
        if self._normalization is not None:
            return 0
        return int(settled_before(self._scanner, text, len(text)))

    def _batches(self, texts: Iterable[bytes], threads: int) -> list[tuple[NDArray[np.int32], NDArray[np.int64]]]:
        """Return ids and bounds for each group of texts."""
        if self._normalization is not None:
            texts = map(self._normalization, texts)
        if whole_argument("threads", threads, 1, MOST_THREADS) == 1:
            return [self._encode_group(group) for group in _groups(texts)]
        return list(parallel_map(self._encode_group, _groups(texts), threads))

    def _encode_group(self, texts: list[bytes]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        if self._by_kernels:
            ids, bounds = self._with_encoder(Encoder.encode_all, texts)
            return (ids, bounds) if self._joiner is None else self._join(ids, bounds)
        parts = [self._cut_and_segment(text) for text in texts]
        bounds = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        return np.concatenate([np.empty(0, np.int32), *parts]), bounds

    def _by_parts(self, action: Callable[..., Any], text: bytes, threads: int) -> list[Any]:
        """Return the results of a method of :class:`Encoder` for the parts of a text.

        Without a kernel scanner or a kernel segmenter, the text is one part.
        """
        threads = whole_argument("threads", threads, 1, MOST_THREADS)
        if not self._by_kernels:
            ids = self._cut_and_segment(text)
            return [ids if action is Encoder.encode else len(ids)]
        edges = [0]
        while threads > 1 and edges[-1] + PART_BYTES < len(text):
            edges.append(int(settled_after(cast(Scanner, self._scanner), text, edges[-1] + PART_BYTES)))
        if edges[-1] < len(text) or len(edges) == 1:
            edges.append(len(text))
        if len(edges) == 2:
            return [self._with_encoder(action, text)]
        document = document_number(text) if cast(PretokenSegmenter, self._segmenter).placed else None
        parts = parallel_map(lambda edge: self._with_encoder(action, text, *edge, document), pairwise(edges), threads)
        return list(parts)

    def _cut_and_segment(self, text: bytes) -> NDArray[np.int32]:
        """Return the ids from all boundaries, for a pre-tokenization or segmentation without a kernel."""
        bounds = self._boundaries(text)
        data = np.frombuffer(text, np.uint8)
        if isinstance(self._segmenter, PretokenSegmenter) and self._segmenter.placed:
            ids, _ = self._segmenter.segment(data, bounds, document_number(text))
        else:
            ids, _ = self._segmenter.segment(data, bounds)
        return ids if self._numbers is None else self._numbers[ids]

    def _join(
        self, marked: NDArray[np.int32], bounds: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return ids and bounds of documents after merges of pre-tokens, from ids with marks."""
        assert self._joiner is not None
        ids, bounds = self._joiner.join(marked, bounds)
        return (ids if self._numbers is None else self._numbers[ids]), bounds

    def _with_encoder(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """Call a method of an encoder that no other thread uses. Its cache of earlier texts is used again.

        Raises:
            TokbenchError: a pre-token has 2 GiB or more.
        """
        try:
            encoder = self._encoders.pop()
        except IndexError:
            assert self._scanner is not None
            assert isinstance(self._segmenter, PretokenSegmenter)
            numbers = self._numbers if self._joiner is None else None
            encoder = Encoder(self._scanner, self._segmenter, numbers=numbers)
        try:
            result = action(encoder, *arguments)
        except ValueError as error:
            raise TokbenchError(f"{error}; cut the text, or choose a pre-tokenization that does") from None
        self._encoders.append(encoder)
        return result


def _renumbered(vocabulary: Vocabulary) -> NDArray[np.int32] | None:
    """Return the ids of a vocabulary's tokens; None if they equal the indices."""
    ids = vocabulary.ids
    return None if ids is None or np.array_equal(ids, np.arange(len(ids))) else np.ascontiguousarray(ids, np.int32)


def _concatenated(parts: list[NDArray[np.int32]], threads: int) -> NDArray[np.int32]:
    """Concatenate arrays with several threads. Page faults on the new memory dominate the time."""
    ends = np.cumsum([len(part) for part in parts]).tolist()
    whole = np.empty(ends[-1], np.int32)

    def put(part: NDArray[np.int32], end: int) -> None:
        np.copyto(whole[end - len(part) : end], part)

    list(parallel_map(lambda task: put(*task), zip(parts, ends, strict=True), threads))
    return whole


def _groups(texts: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield texts in groups of about ``PART_BYTES`` bytes; at least one group."""
    group: list[bytes] = []
    size = 0
    for text in texts:
        if size >= PART_BYTES:
            yield group
            group, size = [], 0
        group.append(text)
        size += len(text)
    yield group


class TokenSpans(NamedTuple):
    """Ids of a text, and the part of the text that each token covers.

    Attributes:
        ids: int32 [tokens].
        spans: int64 [tokens, 2], start and end in the bytes of the text.
        placed: bool [tokens], True for tokens whose bytes in the text are known. Their spans are in order, disjoint and
            not empty.
    """

    ids: NDArray[np.int32]
    spans: NDArray[np.int64]
    placed: NDArray[np.bool_]


def character_spans(text: str, borders: NDArray[np.int64]) -> NDArray[np.int64]:
    """Convert byte borders to character spans, int64 [tokens, 2]: start and end of each token.

    A token that begins or ends inside a character spans that full character, as with the byte-level tokenizers of
    ``tokenizers``. Several tokens within one character have the same span.

    Args:
        text: The encoded text.
        borders: int64 [tokens + 1], start of each token in the text's UTF-8 bytes; the last entry is their number.
    """
    data = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    if len(data) == len(text):
        return np.stack([borders[:-1], borders[1:]], axis=1)
    begun = np.zeros(len(data) + 1, np.int64)
    np.cumsum((data & 0xC0) != CONTINUES, out=begun[1:])
    return np.stack([begun[borders[:-1] + 1] - 1, begun[borders[1:]]], axis=1)


def leading_text(text: bytes, size: int) -> bytes:
    """Return the first ``size`` bytes of a text, or up to three fewer, so that no UTF-8 character is cut."""
    end = size
    while max(0, size - 3) < end < len(text) and text[end] & 0xC0 == CONTINUES:
        end -= 1
    return text[:size] if size < len(text) and text[end] & 0xC0 == CONTINUES else text[:end]


def as_bytes(text: Any) -> bytes:
    """Return the bytes of a text: a ``str`` as UTF-8, a buffer of bytes as a copy.

    Raises:
        TokbenchError: it is not text.
    """
    if type(text) is bytes:
        return text
    if type(text) is not str:
        text = plain(text)
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    if is_text(text):
        return bytes(memoryview(text))
    reject_table(text)
    if isinstance(text, PurePath):
        raise TokbenchError(f"{shortened(str(text))}: a path, not a text; pass its text, for example Path.read_bytes()")
    raise TokbenchError(f"{shown(text)} is not text; pass str or bytes")


def is_text(value: Any) -> bool:
    """Return whether a value is one text: ``str``, ``bytes`` or another one-dimensional buffer of bytes."""
    if isinstance(value, str | bytes):
        return True
    try:
        view = memoryview(value)
    except TypeError:
        return False
    return view.ndim == 1 and view.itemsize == 1 and view.format.lstrip("<>=@") in BYTE_FORMATS


def plain(value: Any) -> Any:
    """Convert a pyarrow scalar to its Python value; return any other value unchanged."""
    return value.as_py() if hasattr(type(value), "as_py") else value


def reject_table(value: Any) -> None:
    """Reject mappings, data frames and datasets, whose items are names and not texts.

    Raises:
        TokbenchError: the value is one of these; the message says which part to pass.
    """
    remedy = ""
    if any(hasattr(type(value), attribute) for attribute in COLUMNS):
        remedy = (
            "one column, for example splits['train']['text']"
            if isinstance(value, Mapping)
            else "one column, for example frame['text']"
        )
    elif isinstance(value, Mapping):
        remedy = "its texts, for example mapping.values() or row['text']"
    if remedy:
        raise TokbenchError(f"{type(value).__name__}: not a text or a list of texts; pass {remedy}")


def shown(value: Any) -> str:
    """Return an invalid value for a message: on one line, with blanks collapsed, shortened if long."""
    try:
        text = repr(value)
    except Exception:  # That of an object of the user may raise any.
        text = f"a value of type {type(value).__name__}"
    return shortened(" ".join(text.split()))


def html_of(line: str, tokens: Iterable[bytes], most: int = 12) -> str:
    """Return a line and its longest tokens as HTML, at most ``most`` (default: 12)."""
    longest = sorted(dict.fromkeys(tokens), key=lambda token: (-len(token), token))[:most]
    items = (f"<code>{escape(token.decode('utf-8', 'backslashreplace'))}</code>" for token in longest)
    return f"<div><code>{escape(line)}</code><br>longest tokens: {', '.join(items)}</div>"


def require_str(text: Any) -> str:
    """Return the text if it is a ``str``.

    Raises:
        TokbenchError: it is not a ``str``.
    """
    if not isinstance(text, str):
        raise TokbenchError(f"{shown(text)} is not str; pass str, or call offsets() for bytes")
    return text


def require_texts(texts: Any) -> Iterable[Any]:
    """Return an iterable of texts unchanged; reject a single text, whose items are characters.

    Raises:
        TokbenchError: it is a single text, a table or not iterable.
    """
    reject_table(texts)
    if is_text(texts) or not is_iterable(texts):
        raise TokbenchError(f"texts {shown(texts)}: not a list of texts; pass a list, or call encode() for one text")
    return cast(Iterable[Any], texts)


def is_iterable(value: Any) -> bool:
    """Return whether a value can be iterated over; an array without dimensions cannot."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def as_ids(ids: ArrayLike) -> NDArray[Any]:
    """Return the ids of one sequence as a one-dimensional array of integers.

    Raises:
        TokbenchError: the ids are not integers, some are masked, or there are several sequences.
    """
    if isinstance(ids, bytes | bytearray | memoryview) and is_text(ids):
        raise TokbenchError(f"ids {shown(ids)}: a text, not ids; pass integers")
    try:
        values = np.asarray(ids)
    except ValueError:
        raise TokbenchError("ids of several lengths; decode one sequence at a time") from None
    if values.size and values.dtype.kind not in "iu":
        raise TokbenchError(f"ids of type {values.dtype} are not integers; pass integers")
    if np.ma.is_masked(ids):
        raise TokbenchError("ids: some are masked; pass the others, for example ids.compressed()")
    if values.size and max(values.shape, default=1) != values.size:
        raise TokbenchError(f"ids of {len(values)} sequences; decode one sequence at a time")
    return values.ravel()


class TokenBytes:
    """Bytes of a vocabulary's ids, special ids included. They are concatenated on first use.

    Args:
        vocabulary: Tokens, with or without explicit ids.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    @cached_property
    def id_limit(self) -> int:
        """Largest id + 1."""
        return self._vocabulary.id_limit

    def decode(self, ids: ArrayLike) -> bytes:
        """Return the bytes of a sequence of ids.

        Raises:
            TokbenchError: an id is not in the vocabulary or not an integer.
        """
        values = as_ids(ids)
        try:
            dtype = np.int32 if values.dtype == np.int32 else np.int64
            return bytes(joined(np.ascontiguousarray(values, dtype), *self._flat))
        except IndexError:
            lengths = self._flat[2]
            wrong = next(value for value in values.tolist() if not 0 <= value < self.id_limit or lengths[value] < 0)
        if 0 <= wrong < self.id_limit:
            raise TokbenchError(f"id {wrong} is not in the vocabulary, whose ids have gaps")
        raise TokbenchError(f"id {wrong} is not in the vocabulary (0 to {self.id_limit - 1})")

    def borders(self, ids: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the start of each token in the bytes of a text, int64 [tokens + 1]; the last entry is the text's
        length.

        Args:
            ids: int32 [tokens], ids of the text.
        """
        borders = np.zeros(len(ids) + 1, np.int64)
        np.cumsum(self._flat[2][ids], out=borders[1:])
        return borders

    @cached_property
    def _flat(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int32]]:
        """Concatenated bytes of all tokens, and for each id the start and the length, -1 for a gap."""
        data, offsets = self._vocabulary.flat()
        ids, named = self._vocabulary.ids, {**self._vocabulary.special, **self._vocabulary.unused}
        used = np.arange(self.id_limit) if ids is None else np.concatenate([ids, np.array([*named], ids.dtype)])
        others = [] if ids is None else [*named.values()]
        ends = offsets[-1] + np.cumsum([len(token) for token in others], dtype=np.int64)
        borders = np.concatenate([offsets, ends])
        starts = np.zeros(self.id_limit, np.int64)
        starts[used] = borders[:-1]
        lengths = np.full(self.id_limit, -1, np.int32)
        lengths[used] = np.diff(borders)
        return (
            np.concatenate([data, np.frombuffer(b"".join(others), np.uint8)]),
            starts,
            lengths,
        )
