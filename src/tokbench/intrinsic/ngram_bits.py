"""Bits per byte of token n-gram models: what a tokenizer's text costs those who know it by counts alone.

Train and test texts are encoded; a model of each order from one up is fitted on the ids of the former and gives the ids
of each test document their bits, its end included. Divided by the bytes of the texts, that compares tokenizers of any
token length: all predict the same bytes. Nothing is drawn at random.

Every entry of the vocabulary shares what the smoothing leaves to the unseen, used or not, so that an idle entry costs.
Entries are what text may give: no special ids, and none that stand for nothing. A tokenizer that loses some of a text
predicts less and is charged for the same bytes; how many of them do not come back stands beside its bits.

Budgets of training text in bytes, so that every tokenizer's models read the same: a share for each language.
"""

import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from tempfile import TemporaryFile
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tokbench.corpus.documents import Document
from tokbench.corpus.languages import by_tag, tag_of_untagged
from tokbench.errors import TokbenchError
from tokbench.kernels.token_ngrams import MAX_PLACES, MAX_SYMBOLS, RECORD_BYTES, TokenNgrams
from tokbench.runtime.memory_limit import MemoryLimit
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.encoder import before


@dataclass(frozen=True)
class Budget:
    """The part of the training text that a model sees.

    Attributes:
        training_bytes: bytes that were asked for.
        taken: bytes of each language; together less than what was asked for, by a byte or two a language.
    """

    training_bytes: int
    taken: dict[str, int]


def budgets_of(languages: Iterable[tuple[str, int]], training_bytes: Sequence[int] | None) -> list[Budget]:
    """Share a number of bytes out to languages, by how much there is of each.

    Args:
        languages: language and bytes of every document.
        training_bytes: the budgets; None for half of the text and all of it.

    Returns:
        In ascending order, each once.

    Raises:
        TokbenchError: there is no text, or less than is asked for.
    """
    whole: dict[str, int] = {}
    for language, size in languages:
        whole[language] = whole.get(language, 0) + size
    whole = by_tag(whole, operator.add)
    total = sum(whole.values())
    if not total:
        raise TokbenchError("the training text is empty; give it documents")
    asked = sorted({total, max(1, total // 2)} if training_bytes is None else set(training_bytes))
    if asked[-1] > total:
        raise TokbenchError(f"training_bytes: {asked[-1]:,} are asked for, and the training text has {total:,}")
    return [Budget(size, {language: part * size // total for language, part in whole.items()}) for size in asked]


SPENT = -1
"""What is left of a budget of which the last document has been cut: not even one without text goes in."""
ID_BYTES = 4
COPIED = 1 << 24
"""Bytes of ids that are copied at a time."""
PER_SYMBOL = 96
"""Bytes held for each entry of a vocabulary: counts after any context, of its own, and of what follows it."""


class DocumentPiece(Protocol):
    """Ids of a document, or of a part of it."""

    @property
    def ends(self) -> bool:
        """Whether the document ends with it."""
        ...

    @property
    def ids(self) -> NDArray[np.int32]: ...


Encode = Callable[[Iterable[Document]], Iterator[DocumentPiece]]
"""Documents as ids, in their order."""


@dataclass(frozen=True)
class TrainedOn:
    """What a model was trained on, and what it had never seen.

    Attributes:
        training_bytes: bytes that were asked for.
        text_bytes: bytes that it saw: documents are cut between characters.
        documents, tokens: what these were; ends of documents are not counted.
        unused_entries: entries of the vocabulary that do not occur there.
        unseen_tokens: tokens of the test text that do not.
    """

    training_bytes: int
    text_bytes: int
    documents: int
    tokens: int
    unused_entries: int
    unseen_tokens: int


class _Stream:
    """Documents as a token n-gram model takes them, in a file, from where they are mapped."""

    def __init__(self, file: IO[bytes], symbols: int, order: int) -> None:
        self.file, self.places, self.documents, self.tokens = file, 0, 0, 0
        self._begin = np.full(order - 1, symbols - 2, np.int32)
        self._end = np.array([symbols - 1], np.int32)
        self._open = False

    def add(self, piece: DocumentPiece) -> None:
        if not self._open:
            self._write(self._begin)
        self._write(piece.ids)
        self.tokens += len(piece.ids)
        self._open = not piece.ends
        if piece.ends:
            self._write(self._end)
            self.documents += 1

    def _write(self, ids: NDArray[np.int32]) -> None:
        self.file.write(ids.astype(np.int32, copy=False).tobytes())
        self.places += len(ids)

    def append(self, other: "_Stream") -> None:
        """Add all of another stream."""
        other.file.flush()
        other.file.seek(0)
        while block := other.file.read(COPIED):
            self.file.write(block)
        self.places += other.places

    def mapped(self) -> NDArray[np.int32]:
        self.file.flush()
        if not self.places:
            return np.empty(0, np.int32)
        return np.asarray(np.memmap(self.file, np.int32, "r", shape=(self.places,)))


def _fill(
    streams: Sequence[_Stream], budgets: Sequence[Budget], documents: Iterable[Document], encode: Encode
) -> list[int]:
    """Give each stream its budget's share of the documents, each of which is encoded once; bytes of each.

    A document that a budget takes in part is encoded for it by itself.
    """
    left = [dict(budget.taken) for budget in budgets]
    untagged = tag_of_untagged(budgets[0].taken)
    sizes = [0] * len(budgets)
    waiting: deque[list[_Stream]] = deque()

    def dealt_out() -> Iterator[Document]:
        for document in documents:
            language = document.language or untagged
            whole = []
            for number, stream in enumerate(streams):
                room = left[number][language]
                if len(document.text) <= room:
                    whole.append(stream)
                    left[number][language] = room - len(document.text)
                    sizes[number] += len(document.text)
                    continue
                part = before(document.text, room) if room > 0 else b""
                left[number][language] = SPENT
                sizes[number] += len(part)
                if part:
                    waiting.append([stream])
                    yield document._replace(text=part)
            if whole:
                waiting.append(whole)
                yield document

    for piece in encode(dealt_out()):
        for stream in waiting[0]:
            stream.add(piece)
        if piece.ends:
            waiting.popleft()
    return sizes


def _held(fitted: TokenNgrams, places: int, ids: int, allowed: MemoryLimit | None) -> int:
    """Places whose records may be held at a time.

    The mapped ids count as held while they leave half of the memory: the system takes their pages back at need.
    """
    if allowed is None:
        return MAX_PLACES
    room = allowed.room - PER_SYMBOL * ids
    room = max(room - ID_BYTES * places, room // 2) // RECORD_BYTES
    if room < (least := fitted.most_after()):
        needed = allowed.megabytes + 2 * (least - room) * RECORD_BYTES // 1_000_000 + 1
        raise TokbenchError(
            f"--memory {allowed.megabytes}: too little, for one token is followed by {least:,} places; allow it "
            f"{needed:,} MB"
        )
    return room


def ngram_bits(
    encode: Encode,
    vocabulary: int,
    training: Callable[[], Iterable[Document]],
    tested: Iterable[Document],
    *,
    order: int,
    training_bytes: Sequence[int] | None = None,
    allowed: MemoryLimit | None = None,
    ids: int | None = None,
    lost: Callable[[bytes], int] | None = None,
) -> dict[str, Any]:
    """Train the models of all orders on each budget, and test them.

    Every tokenizer sees the same bytes: of each language the first documents, the last of them cut between two
    characters. Ids lie in files; what is held of them at a time is bounded where memory is.

    Args:
        encode: the tokenizer.
        vocabulary: its entries: the ids that some text gives.
        training: gives the documents of the training text, each time it is called.
        tested: documents of the test text.
        order: highest order.
        training_bytes: see :func:`budgets_of`.
        allowed: memory; as much as it takes where it is left out.
        ids: one more than the largest id; ``vocabulary`` where ids are 0, 1, 2, ...
        lost: how many bytes of a text decoding its ids does not give back; left out of a tokenizer that loses nothing.

    Returns:
        ``vocabulary``, ``order``, ``bytes`` and ``tokens`` of the test text, ``documents`` of it (``document``,
        ``language``, ``bytes``, ``tokens``, and ``bytes_lost`` where ``lost`` is given), ``training``
        (:class:`TrainedOn`, by budget), and ``models``, for each budget and order: ``training_bytes``, ``order``,
        ``bits_per_byte``, and ``bits`` of each document.

    Raises:
        TokbenchError: a text is empty, the vocabulary is too large, or there is too little memory.
    """
    ids = vocabulary if ids is None else ids
    symbols = ids + 2
    if symbols > MAX_SYMBOLS:
        raise TokbenchError(f"a vocabulary of {ids:,} is too large for token n-grams of {MAX_SYMBOLS - 2:,}")
    budgets = budgets_of(((each.language, len(each.text)) for each in training()), training_bytes)
    documents: list[dict[str, Any]] = []
    with ExitStack() as stack:

        def stream() -> _Stream:
            return _Stream(stack.enter_context(TemporaryFile()), symbols, order)

        def tested_documents() -> Iterator[Document]:
            for each in tested:
                noted = {"document": each.document, "language": each.language, "bytes": len(each.text)}
                documents.append(noted if lost is None else {**noted, "bytes_lost": lost(each.text)})
                yield each

        test = stream()
        counts = [0]
        for piece in encode(tested_documents()):
            test.add(piece)
            counts[-1] += len(piece.ids)
            counts += [0] * piece.ends
        untagged = tag_of_untagged({each["language"] for each in documents})
        for each, tokens in zip(documents, counts, strict=False):
            each["language"] = each["language"] or untagged
            each["tokens"] = tokens
        size = sum(each["bytes"] for each in documents)
        if not size:
            raise TokbenchError("the test text is empty; give it documents")
        streams = [stream() for _ in budgets]
        sizes = _fill(streams, budgets, training(), encode)
        trained, models = [], []
        for budget, text_bytes, one in zip(budgets, sizes, streams, strict=True):
            places = one.places
            one.append(test)
            fitted = TokenNgrams(one.mapped(), places, symbols, vocabulary, order)
            bits = fitted.bits(_held(fitted, one.places, ids, allowed))
            unused = vocabulary - (ids - fitted.unused())
            unseen = unused, fitted.unseen()
            trained.append(asdict(TrainedOn(budget.training_bytes, text_bytes, one.documents, one.tokens, *unseen)))
            for number in range(order):
                found = bits[:, number].tolist()
                head = {"training_bytes": budget.training_bytes, "order": number + 1}
                models.append({**head, "bits_per_byte": sum(found) / size, "bits": found})
    return {
        "vocabulary": vocabulary,
        "order": order,
        "bytes": size,
        "tokens": test.tokens,
        "documents": documents,
        "training": trained,
        "models": models,
    }


def tokenizer_ngram_bits(
    tokenizer: Tokenizer,
    encode: Encode,
    training: Callable[[], Iterable[Document]],
    tested: Iterable[Document],
    *,
    variant: str | None = None,
    corpus: str = "",
    order: int,
    training_bytes: Sequence[int] | None = None,
    allowed: MemoryLimit | None = None,
) -> dict[str, Any]:
    """The n-gram bits of a tokenizer: its entries are the vocabulary, and what it loses of a text is counted.

    Args:
        tokenizer: the tokenizer.
        encode: documents as its ids.
        training: as for :func:`ngram_bits`.
        tested: likewise.
        variant: its name in the tables; its own when None.
        corpus: what the texts are of.
        order: as for :func:`ngram_bits`.
        training_bytes: likewise.
        allowed: likewise.

    Returns:
        ``variant``, ``size`` and ``corpus``, and what :func:`ngram_bits` returns.
    """
    found = ngram_bits(
        encode,
        tokenizer.entries,
        training,
        tested,
        order=order,
        training_bytes=training_bytes,
        allowed=allowed,
        ids=tokenizer.id_limit,
        lost=None if tokenizer.lossless else tokenizer.bytes_lost,
    )
    return {"variant": variant or tokenizer.name, "size": tokenizer.nominal_size, "corpus": corpus, **found}
