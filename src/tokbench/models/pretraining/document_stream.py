"""Stream of ids of consecutive documents, up to the end of a budget."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.models.pretraining.budget import TextBudget
from tokbench.models.pretraining.order import EncodedDocument

JOINED = 1 << 22
"""Approximate number of tokens that are concatenated at a time."""


@dataclass(slots=True)
class TextTotals:
    """Documents, bytes and tokens of a text. Tokens include ends of text."""

    documents: int = 0
    text_bytes: int = 0
    tokens: int = 0

    def add(self, more: "TextTotals") -> None:
        """Add the totals of another text."""
        self.documents += more.documents
        self.text_bytes += more.text_bytes
        self.tokens += more.tokens

    def minus(self, other: "TextTotals") -> "TextTotals":
        """Return the totals without those of a part of the text."""
        return TextTotals(
            self.documents - other.documents, self.text_bytes - other.text_bytes, self.tokens - other.tokens
        )

    def take(self, piece: EncodedDocument) -> None:
        """Add a piece of a document."""
        self.add(TextTotals(int(piece.ends), piece.text_bytes, len(piece.ids) + piece.ends))


@dataclass(frozen=True, slots=True)
class TextLimit:
    """End of the text that is written, and the passes of a training over it.

    Attributes:
        text_bytes: writing ends with the document that reaches this number of bytes; 0 for all text.
        passes: complete passes of a training; 0 if its budget is not one of text.
        rest: bytes of an incomplete last pass; 0 if there is none.
    """

    text_bytes: int
    passes: int
    rest: int

    @classmethod
    def of(cls, budget: TextBudget | None, split_bytes: int) -> "TextLimit":
        """Return the limit for a budget, in a split of ``split_bytes`` bytes.

        Raises:
            TokbenchError: there is no text.
        """
        if not split_bytes:
            raise TokbenchError("the pretraining split has no text; give it a larger share of the corpus")
        budget_bytes = budget.bytes_of(split_bytes) if budget else 0
        passes, rest = divmod(budget_bytes, split_bytes) if budget_bytes > split_bytes else (int(budget_bytes > 0), 0)
        return cls(budget_bytes, passes, rest)


@dataclass(slots=True)
class DocumentStream:
    """Ids of documents, with an end of text after each, and totals of the documents read.

    Attributes:
        limit: end of the text.
        vocabulary: tokens of the tokenizer, without special ones.
        end_of_text: id after every document.
        occurrences: int64 [vocabulary + 1], number of times that each id was read; updated in place.
        totals: totals of the documents read and of those before them.
        remainder: totals when the bytes of the last pass were reached; zero before.
    """

    limit: TextLimit
    vocabulary: int
    end_of_text: int
    occurrences: NDArray[np.int64]
    totals: TextTotals = field(default_factory=TextTotals)
    remainder: TextTotals = field(default_factory=TextTotals)

    @property
    def ended(self) -> bool:
        """True if the limit is reached."""
        return 0 < self.limit.text_bytes <= self.totals.text_bytes

    def ids(self, pieces: Iterable[EncodedDocument]) -> Iterator[NDArray[np.int32]]:
        """Yield the ids of documents in their order, with an end of text after each, in int32 arrays of any length.

        Raises:
            TokbenchError: an id of a document is not a token, or is the end of text.
        """
        for group in _groups(self._take_budget(pieces)):
            ids = np.concatenate(list(_add_ends(group, self.end_of_text)))
            counted = _count_ids(ids, self.vocabulary)
            if counted[self.end_of_text] > sum(piece.ends for piece in group):
                raise TokbenchError(
                    f"a text of the corpus gives id {self.end_of_text}, the end of text of this tokenizer, within a "
                    "document; import the tokenizer with 'added: text', or name another end_of_text"
                )
            self.occurrences += counted
            yield ids

    def _take_budget(self, pieces: Iterable[EncodedDocument]) -> Iterator[EncodedDocument]:
        totals = self.totals
        rest = self.limit.rest if totals.text_bytes < self.limit.rest else 0
        if self.ended:
            return
        for piece in pieces:
            totals.take(piece)
            yield piece
            if piece.ends and rest and totals.text_bytes >= rest:
                self.remainder, rest = TextTotals(totals.documents, totals.text_bytes, totals.tokens), 0
            if piece.ends and self.ended:
                return


def _groups(pieces: Iterable[EncodedDocument]) -> Iterator[list[EncodedDocument]]:
    group: list[EncodedDocument] = []
    size = 0
    for piece in pieces:
        group.append(piece)
        size += len(piece.ids) + piece.ends
        if size >= JOINED:
            yield group
            group, size = [], 0
    if group:
        yield group


def _count_ids(ids: NDArray[np.int32], vocabulary: int) -> NDArray[np.int64]:
    """Return the number of occurrences of each id, int64 [vocabulary + 1]."""
    if len(ids) and not 0 <= (wrong := int(ids.min())) <= (wrong := int(ids.max())) <= vocabulary:
        raise TokbenchError(f"id {wrong} is not a token of this tokenizer; encode the text with it again")
    return np.bincount(ids, minlength=vocabulary + 1)


def _add_ends(pieces: Iterable[EncodedDocument], end_of_text: int) -> Iterator[NDArray[np.int32]]:
    end = np.array([end_of_text], np.int32)
    for piece in pieces:
        yield piece.ids
        if piece.ends:
            yield end
