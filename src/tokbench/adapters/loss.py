"""Losses of a tokenizer on texts, and comparison of its ids with those of another library.

Losses are text that decoding does not restore, unknown tokens, and characters changed by normalisation.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from tokbench.errors import shortened
from tokbench.kernels.loss import bytes_lost
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.adapted import AdaptedTokenizer
from tokbench.tokenizer.encoder import TokenSpans
from tokbench.tokenizer.libraries import Library, characters_changed, library_errors
from tokbench.tokenizer.roundtrip import common_bytes, readable

SHOWN = 40
"""Bytes shown of the first difference."""
AGREEMENT_SHOWN = 24
"""Characters shown around a difference."""


@dataclass(frozen=True)
class Loss:
    """Losses on some documents.

    Attributes:
        documents: number of documents.
        documents_changed: documents that decoding does not restore, byte for byte.
        documents_not_utf8: those of them that are not UTF-8, which libraries read only after replacement.
        bytes: bytes of all documents.
        bytes_lost: upper bound on the bytes that are not found, in order, in the decoded text.
        tokens: tokens of all documents.
        unknown_tokens: unknown tokens among them.
        characters: characters of all documents; 0 for a native tokenizer that does not normalise.
        characters_normalised: characters, whitespace excluded, that the normaliser changes and decoding does not
            restore.
        first: the first difference: number of the document, original and decoded text.
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
    def lossless(self) -> bool:
        """Whether decoding restores all documents."""
        return not self.documents_changed

    def record(self) -> dict[str, Any]:
        """Return the losses as a JSON-compatible mapping."""
        return asdict(self)

    def __str__(self) -> str:
        if self.lossless:
            return f"nothing lost of {self.documents:,} documents"
        parts = [
            f"{self.documents_changed:,} of {self.documents:,} documents are not restored",
            f"at most {self.bytes_lost:,} of {self.bytes:,} bytes are lost",
            f"{self.unknown_tokens:,} of {self.tokens:,} tokens are unknown",
            f"{self.characters_normalised:,} of {self.characters:,} characters are normalised",
        ]
        return f"{', '.join(parts)}; first difference: {self.first}"


def loss_of(tokenizer: Tokenizer, documents: Iterable[bytes]) -> Loss:
    """Encode and decode documents; return the losses."""
    totals: Counter[str] = Counter()
    library = tokenizer.library if isinstance(tokenizer, AdaptedTokenizer) else None
    unknown = library.unknown if library is not None else None
    first = ""
    for number, text in enumerate(documents, 1):
        ids = tokenizer.encode(text)
        decoded = tokenizer.restored(ids)
        totals += Counter(documents=1, bytes=len(text), tokens=len(ids))
        totals["unknown_tokens"] += 0 if unknown is None else int((ids == unknown).sum())
        if library is not None:
            seen = readable(text)
            with library_errors("the library fails on a text"):
                totals += Counter(characters=len(seen), characters_normalised=library.changed(seen))
        elif tokenizer.normalization:
            seen = readable(text)
            changed = characters_changed(seen, tokenizer.normalization.parts(seen)) if decoded != text else 0
            totals += Counter(characters=len(seen), characters_normalised=changed)
        if decoded != text:
            totals += Counter(documents_changed=1, bytes_lost=bytes_lost(text, decoded))
            totals["documents_not_utf8"] += not _is_utf8(text)
            first = first or f"document {number}, {_shown(text, decoded)}"
    names = [name for name in Loss.__dataclass_fields__ if name != "first"]
    return Loss(**{name: totals[name] for name in names}, first=first)


class LossCounter:
    """Count of the documents that decoding does not restore, made while a tokenizer encodes them.

    Attributes:
        documents: number of encoded documents.
        documents_changed: those of them that decoding does not restore, byte for byte.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.documents = self.documents_changed = 0

    def encode_spans(self, text: bytes) -> TokenSpans:
        """Encode a text as :meth:`Tokenizer.encode_spans` does."""
        encoded = self.tokenizer.encode_spans(text)
        self.documents += 1
        self.documents_changed += self.tokenizer.restored(encoded.ids) != text
        return encoded

    @property
    def record(self) -> dict[str, int]:
        """Counts as a JSON-compatible mapping."""
        return {"documents": self.documents, "documents_changed": self.documents_changed}


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _shown(text: bytes, decoded: bytes) -> str:
    place = common_bytes(text, 0, decoded, 0)
    excerpts = [
        shortened(data[place : place + SHOWN].decode("utf-8", "replace"), SHOWN) or "nothing"
        for data in (text, decoded)
    ]
    return f"byte {place:,}: '{excerpts[0]}' became '{excerpts[1]}'"


@dataclass(frozen=True)
class FirstDifference:
    """First difference between the ids of two tokenizers.

    Attributes:
        text: the text after the last equal token.
        ours: our ids from there on.
        theirs: the library's ids from there on.
    """

    text: str
    ours: list[int]
    theirs: list[int]

    def __str__(self) -> str:
        return f"'{shortened(self.text, AGREEMENT_SHOWN)}' ({_listed(self.ours)} and {_listed(self.theirs)})"


def first_difference(tokenizer: Tokenizer, library: Library, texts: Iterable[bytes]) -> FirstDifference | int:
    """Return the first difference between our ids and the library's; if there is none, the number of texts compared.

    Args:
        tokenizer: our tokenizer.
        library: the library's tokenizer.
        texts: documents; those that are not UTF-8 are skipped, as libraries read text.
    """
    compared = 0
    for data in texts:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            continue
        with library_errors("the library fails on a text"):
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
