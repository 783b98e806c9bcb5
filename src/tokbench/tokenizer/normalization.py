"""Normalization of texts before pre-tokenization, for external tokenizers whose library normalises.

Steps are applied in turn. Texts that they change are lost: decoding returns the normalised text, without the space that
was added before it.

``nfc`` is that of :mod:`tokbench.corpus.nfc`, in the edition of Unicode of Hugging Face's ``tokenizers``.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cache
from operator import add
from typing import TYPE_CHECKING, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from tokbench.corpus.nfc import nfc
from tokbench.errors import TokbenchError

if TYPE_CHECKING:
    from tokbench.pretokens import PretokenCounts

Step = Literal["nfc", "nfc_between", "metaspace", "space", "missing_space"]
"""``nfc``: see the module. ``nfc_between``: the same for each part of a text between added tokens. ``metaspace``:
U+2581, which spells a space in tokens of SentencePiece, becomes a space.
``space``: a space before a text that is not empty. ``missing_space``: the same, unless the text begins with a space."""
STEPS: tuple[Step, ...] = get_args(Step)
SPACE = b" "
MARK = "\u2581".encode()
"""The character that spells a space in SentencePiece, in UTF-8."""


class Normalization:
    """Steps that change a text before pre-tokenization; none by default.

    Args:
        steps: Names of the steps, in order.
        added: Added tokens of the vocabulary, which ``nfc_between`` leaves as they are (default: none).

    Raises:
        TokbenchError: There is no such step.
    """

    def __init__(self, steps: Sequence[str] = (), added: Iterable[bytes] = ()) -> None:
        for step in steps:
            if step not in STEPS:
                raise TokbenchError(f"normalization: '{step}' is not a step ({', '.join(STEPS)})")
        self.steps = cast(tuple[Step, ...], tuple(steps))
        longest = sorted(added, key=len, reverse=True) if "nfc_between" in steps else []
        self._added = re.compile(b"(" + b"|".join(map(re.escape, longest)) + b")") if longest else None

    def __bool__(self) -> bool:
        """Return whether there are steps."""
        return bool(self.steps)

    def __call__(self, text: bytes) -> bytes:
        """Return the normalised text. Bytes that are not UTF-8 stay."""
        return self._stages(text)[-1]

    def _stages(self, text: bytes) -> list[bytes]:
        """Return a text before all steps and after each of them."""
        texts = [text]
        for step in self.steps:
            if step == "nfc_between":
                texts.append(b"".join(part if kept else nfc(part) for part, kept in self._split(texts[-1])))
            else:
                texts.append(FUNCTIONS[step](texts[-1]))
        return texts

    def _split(self, text: bytes) -> Iterator[tuple[bytes, bool]]:
        """Yield the parts of a text, and whether each is an added token that normalization leaves as it is."""
        parts = [text] if self._added is None else self._added.split(text)
        return ((part, bool(number % 2)) for number, part in enumerate(parts) if part)

    @property
    def prefix(self) -> bool:
        """Whether a space is added before a text."""
        return "space" in self.steps or "missing_space" in self.steps

    def inside(self, text: bytes) -> bytes:
        """Return a part of a text as normalised, without a space before it."""
        unspaced = copy(self)
        unspaced.steps = tuple(step for step in self.steps if step not in ("space", "missing_space"))
        return unspaced(text)

    def restored(self, text: bytes) -> bytes:
        """Return a decoded text without the space that was added before it."""
        return text.removeprefix(SPACE) if self.prefix else text

    def parts(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Yield parts of a text that are normalised independently: as normalised, with start and end in characters.

        Spaces that are added before the text are left out.
        """
        start = 0
        for part, kept in self._split(text.encode("utf-8", "surrogatepass")):
            given = part.decode("utf-8", "surrogatepass")
            for piece in [given] if kept else _clusters().findall(given):
                inside = self.inside(piece.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
                yield inside, start, start + len(piece)
                start += len(piece)

    def origins(self, text: bytes, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places in a text of places in the normalised text.

        A place inside a changed part is the end of that part.

        Args:
            text: The text before normalization.
            places: int64 [n], ascending offsets in the bytes of the normalised text.
        """
        texts = self._stages(text)
        for step, before, after in reversed([*zip(self.steps, texts, texts[1:], strict=False)]):
            if before != after:
                parts = self._parts_between(before) if step == "nfc_between" else PARTS[step](before, after)
                places = _traced(parts, places)
        return places

    def _parts_between(self, before: bytes) -> Iterator[tuple[int, int]]:
        for part, kept in self._split(before):
            yield from [(len(part), len(part))] if kept else _parts_of_nfc(part, b"")


class NormalisedTexts:
    """Normalised documents, one at a time, with counts of the original ones.

    Args:
        documents: Language tags and texts.
        normalization: The steps.

    Attributes:
        record: Documents read so far, and those of them that normalization changes for good.
    """

    def __init__(self, documents: Iterable[tuple[str, bytes]], normalization: Normalization) -> None:
        self._documents, self._normalization = documents, normalization
        self._bytes: Counter[str] = Counter()
        self.record = {"documents": 0, "documents_changed": 0}

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        """Yield the language tag and the normalised text of each document."""
        for language, text in self._documents:
            normalised = self._normalization(text)
            self._bytes[language] += len(text)
            self.record["documents"] += 1
            self.record["documents_changed"] += self._normalization.restored(normalised) != text
            yield language, normalised

    def measured(self, counts: "Mapping[str, PretokenCounts]") -> "dict[str, PretokenCounts]":
        """Return the counts of all documents with the bytes of their original texts."""
        from tokbench.corpus.languages import by_tag

        sizes = by_tag(self._bytes, add)
        return {language: replace(part, text_bytes=sizes.get(language, 0)) for language, part in counts.items()}


def _spaced(text: bytes) -> bytes:
    return SPACE + text if text else text


def _spaced_if_missing(text: bytes) -> bytes:
    return text if text.startswith(SPACE) else _spaced(text)


FUNCTIONS: Mapping[str, Callable[[bytes], bytes]] = {
    "nfc": nfc,
    "metaspace": lambda text: text.replace(MARK, SPACE),
    "space": _spaced,
    "missing_space": _spaced_if_missing,
}


@cache
def _clusters() -> re.Pattern[str]:
    """Return a pattern of a character and all after it that may be composed with it or change places with it."""
    seconds = {
        ord(parts[1])
        for code in range(0x110000)
        if unicodedata.decomposition(chr(code))[:1] not in ("", "<")
        and len(parts := unicodedata.normalize("NFD", chr(code))) > 1
    }
    joining = {*seconds, *range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}
    joining |= {code for code in range(0x110000) if unicodedata.combining(chr(code))}
    members = "".join(rf"\U{code:08x}" for code in sorted(joining))
    return re.compile(f"[\\s\\S][{members}]*")


def _parts_of_nfc(before: bytes, after: bytes) -> Iterator[tuple[int, int]]:
    for match in _clusters().finditer(before.decode("utf-8", "surrogateescape")):
        part = match[0].encode("utf-8", "surrogateescape")
        yield len(part), len(nfc(part))


def _parts_of_marks(before: bytes, after: bytes) -> Iterator[tuple[int, int]]:
    for number, part in enumerate(before.split(MARK)):
        if number:
            yield len(MARK), len(SPACE)
        if part:
            yield len(part), len(part)


def _parts_of_space(before: bytes, after: bytes) -> Iterator[tuple[int, int]]:
    yield 0, 1
    yield len(before), len(before)


PARTS: Mapping[str, Callable[[bytes, bytes], Iterable[tuple[int, int]]]] = {
    "nfc": _parts_of_nfc,
    "metaspace": _parts_of_marks,
    "space": _parts_of_space,
    "missing_space": _parts_of_space,
}
"""Bytes of each part of a changed text before and after a step; a part of equal sizes is not changed."""


def _traced(parts: Iterable[tuple[int, int]], places: NDArray[np.int64]) -> NDArray[np.int64]:
    sizes = np.array([*parts], np.int64).reshape(-1, 2)
    starts = np.concatenate([np.zeros((1, 2), np.int64), sizes.cumsum(axis=0)])
    clusters = np.searchsorted(starts[:, 1], places, side="right") - 1
    inside = np.minimum(clusters, len(sizes) - 1)
    within = places - starts[clusters, 1]
    equal = sizes[inside, 0] == sizes[inside, 1]
    ends = starts[np.minimum(clusters + 1, len(sizes)), 0]
    return np.where(within == 0, starts[clusters, 0], np.where(equal, starts[clusters, 0] + within, ends))
