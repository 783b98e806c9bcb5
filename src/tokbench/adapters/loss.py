"""What a tokenizer loses of texts: what decoding does not give back, unknown tokens, and characters that it changes.

Whether a tokenizer gives the ids of another library, text by text.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokbench.adapters.adapted_tokenizer import AdaptedTokenizer
from tokbench.adapters.libraries import Library, told
from tokbench.adapters.roundtrip import bytes_lost, common_bytes, readable
from tokbench.errors import shortened
from tokbench.tokenizer import Tokenizer

SHOWN = 40
"""Bytes that are shown of the first difference."""


@dataclass(frozen=True)
class Loss:
    """What was lost of some documents.

    Attributes:
        documents: how many there were.
        documents_changed: those that decoding does not give back, byte for byte.
        documents_not_utf8: those of them that are not UTF-8, which the library never sees as they are.
        bytes: of all documents.
        bytes_lost: at most so many are not found again in what was decoded, in order.
        tokens: of all documents.
        unknown_tokens: those of them that stand for whatever the vocabulary cannot spell.
        characters: of all documents.
        characters_normalised: those, white space excluded, that the normaliser changes and decoding does not restore.
        first: the first difference, of its document's number: what stood there, and what was decoded.
    """

    documents: int
    documents_changed: int
    documents_not_utf8: int
    bytes: int
    bytes_lost: int
    tokens: int
    unknown_tokens: int
    characters: int
    characters_normalised: int
    first: str

    @property
    def none(self) -> bool:
        """Whether all was given back."""
        return not self.documents_changed

    def record(self) -> dict[str, Any]:
        """The same as JSON holds it."""
        return asdict(self)

    def __str__(self) -> str:
        if self.none:
            return f"nothing lost of {self.documents:,} documents"
        told = [
            f"{self.documents_changed:,} of {self.documents:,} documents are not restored",
            f"at most {self.bytes_lost:,} of {self.bytes:,} bytes are lost",
            f"{self.unknown_tokens:,} of {self.tokens:,} tokens are unknown",
            f"{self.characters_normalised:,} of {self.characters:,} characters are normalised",
        ]
        return f"{', '.join(told)}; first difference: {self.first}"


def loss_of(tokenizer: Tokenizer, documents: Iterable[bytes]) -> Loss:
    """What a tokenizer loses of documents, each encoded and decoded."""
    totals: Counter[str] = Counter()
    library = tokenizer.library if isinstance(tokenizer, AdaptedTokenizer) else None
    unknown = library.unknown if library is not None else None
    first = ""
    for number, text in enumerate(documents, 1):
        ids = tokenizer.encode(text)
        decoded = tokenizer.decode(ids)
        totals += Counter(documents=1, bytes=len(text), tokens=len(ids))
        totals["unknown_tokens"] += 0 if unknown is None else int((ids == unknown).sum())
        if library is not None:
            seen = readable(text)
            with told("the library ends on a text"):
                totals += Counter(characters=len(seen), characters_normalised=library.changed(seen))
        if decoded != text:
            totals += Counter(documents_changed=1, bytes_lost=bytes_lost(text, decoded))
            totals["documents_not_utf8"] += not _is_utf8(text)
            first = first or f"document {number}, {_shown(text, decoded)}"
    names = [name for name in Loss.__dataclass_fields__ if name != "first"]
    return Loss(**{name: totals[name] for name in names}, first=first)


class LossCounter:
    """A tokenizer that counts, while it encodes, the documents that it does not give back.

    Attributes:
        documents: how many it encoded.
        documents_changed: those of them that decoding does not give back, byte for byte.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.documents = self.documents_changed = 0

    def __len__(self) -> int:
        return len(self.tokenizer)

    @property
    def id_limit(self) -> int:
        return self.tokenizer.id_limit

    def encode(self, text: bytes) -> NDArray[np.int32]:
        """Ids of a text."""
        ids = self.tokenizer.encode(text)
        self.documents += 1
        self.documents_changed += self.tokenizer.decode(ids) != text
        return ids

    @property
    def record(self) -> dict[str, int]:
        """The counts as JSON holds them."""
        return {"documents": self.documents, "documents_changed": self.documents_changed}


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _shown(text: bytes, decoded: bytes) -> str:
    place = common_bytes(text, 0, decoded, 0)
    told = [
        shortened(one[place : place + SHOWN].decode("utf-8", "replace"), SHOWN) or "nothing" for one in (text, decoded)
    ]
    return f"byte {place:,}: '{told[0]}' became '{told[1]}'"


AGREEMENT_SHOWN = 24
"""Characters that are shown around a difference."""


@dataclass(frozen=True)
class FirstDifference:
    """The first place where two tokenizers differ.

    Attributes:
        text: what follows the last token that is the same.
        ours: the ids from there on, a few.
        theirs: those of the library.
    """

    text: str
    ours: list[int]
    theirs: list[int]

    def __str__(self) -> str:
        return f"'{shortened(self.text, AGREEMENT_SHOWN)}' ({_listed(self.ours)} and {_listed(self.theirs)})"


def first_difference(tokenizer: Tokenizer, library: Library, texts: Iterable[bytes]) -> FirstDifference | int:
    """The first place where the library gives other ids; where there is none, how many texts were compared.

    Args:
        tokenizer: ours.
        library: the library's.
        texts: documents; those that are not UTF-8 are left out, since libraries take text.
    """
    compared = 0
    for data in texts:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            continue
        with told("the library ends on a text"):
            theirs = list(library.encode(text))
        ours = tokenizer.encode(data).tolist()
        if ours != theirs:
            same = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), None)
            same = min(len(ours), len(theirs)) if same is None else same
            rest = data[len(tokenizer.decode(ours[:same])) :].decode("utf-8", "replace")
            return FirstDifference(rest, ours[same:], theirs[same:])
        compared += 1
    return compared


def _listed(ids: list[int]) -> str:
    return " ".join(map(str, ids[:4])) + (" ..." if len(ids) > 4 else "") or "nothing"
