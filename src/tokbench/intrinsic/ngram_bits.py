"""Bits per byte of token n-gram models, a measure of how predictable a tokenizer's token sequences are.

Training and test texts are encoded. A model of each order is fitted to the training ids and assigns bits to the ids of
each test document, including its end. Bits / bytes of the texts are comparable for tokens of any length, because all
models predict the same bytes. The computation is deterministic.

Smoothing gives probability to every vocabulary entry, used or not, so unused entries cost bits. Entries are the tokens
that text can produce, without special and unassigned ids. A lossy tokenizer predicts less text but is charged for all
bytes; its lost bytes are reported with its bits.

Budgets of training text are in bytes and split between the languages, so models of all tokenizers read the same text.
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
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.encoder import leading_text


@dataclass(frozen=True)
class Budget:
    """Part of the training text that a model reads.

    Attributes:
        training_bytes: requested bytes.
        taken: bytes of each language; their sum may be less than ``training_bytes`` by a byte or two per language.
    """

    training_bytes: int
    taken: dict[str, int]


def budgets_of(languages: Iterable[tuple[str, int]], training_bytes: Sequence[int] | None) -> list[Budget]:
    """Split budgets of training text between languages in proportion to their bytes.

    Args:
        languages: language and bytes of every document.
        training_bytes: budgets; None for half of the text and all of it.

    Returns:
        Distinct budgets in ascending order.

    Raises:
        TokbenchError: the text is empty, or has fewer bytes than a budget.
    """
    whole: dict[str, int] = {}
    for language, size in languages:
        whole[language] = whole.get(language, 0) + size
    whole = by_tag(whole, operator.add)
    total = sum(whole.values())
    if not total:
        raise TokbenchError("the training text is empty; add documents")
    sizes = sorted({total, max(1, total // 2)} if training_bytes is None else set(training_bytes))
    if sizes[-1] > total:
        raise TokbenchError(f"training_bytes: {sizes[-1]:,} requested, but the training text has {total:,}")
    return [Budget(size, {language: part * size // total for language, part in whole.items()}) for size in sizes]


SPENT = -1
"""Remaining bytes of a budget whose last document was truncated; no other document is added, not even an empty one."""
ID_BYTES = 4
COPIED = 1 << 24
"""Bytes of ids that are copied at once."""
PER_SYMBOL = 96
"""Bytes of memory per vocabulary entry for its counts in any context, as a context, and of its successors."""


class DocumentPiece(Protocol):
    """Ids of a document or of a part of it."""

    @property
    def ends(self) -> bool:
        """True for the last piece of a document."""
        ...

    @property
    def ids(self) -> NDArray[np.int32]: ...


Encode = Callable[[Iterable[Document]], Iterator[DocumentPiece]]
"""Function that encodes documents in their order."""


@dataclass(frozen=True)
class TrainedOn:
    """Training text of a model, and vocabulary entries that it does not contain.

    Attributes:
        training_bytes: requested bytes.
        text_bytes: bytes read; documents are truncated between characters.
        documents, tokens: numbers of documents and tokens read; ends of documents are not counted.
        unused_entries: vocabulary entries that do not occur in the training text.
        unseen_tokens: tokens of the test text that do not occur in the training text.
    """

    training_bytes: int
    text_bytes: int
    documents: int
    tokens: int
    unused_entries: int
    unseen_tokens: int


class _Stream:
    """Documents in the input format of a token n-gram model, in a memory-mapped file."""

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
        """Append another stream."""
        other.file.flush()
        other.file.seek(0)
        while block := other.file.read(COPIED):
            self.file.write(block)
        self.places += other.places

    def map_ids(self) -> NDArray[np.int32]:
        self.file.flush()
        if not self.places:
            return np.empty(0, np.int32)
        return np.asarray(np.memmap(self.file, np.int32, "r", shape=(self.places,)))


def _fill(
    streams: Sequence[_Stream], budgets: Sequence[Budget], documents: Iterable[Document], encode: Encode
) -> list[int]:
    """Write each budget's documents to its stream, and return the bytes of each.

    A document is encoded once for all budgets that include it fully, and again for a budget that truncates it.
    """
    left = [dict(budget.taken) for budget in budgets]
    untagged = tag_of_untagged(budgets[0].taken)
    sizes = [0] * len(budgets)
    waiting: deque[list[_Stream]] = deque()

    # Give each budget its part of a document: all of it while there is room, then its beginning.
    def deal_out() -> Iterator[Document]:
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
                part = leading_text(document.text, room) if room > 0 else b""
                left[number][language] = SPENT
                sizes[number] += len(part)
                if part:
                    waiting.append([stream])
                    yield document._replace(text=part)
            if whole:
                waiting.append(whole)
                yield document

    # An encoded document goes to the streams that wait for it, in the same order.
    for piece in encode(deal_out()):
        for stream in waiting[0]:
            stream.add(piece)
        if piece.ends:
            waiting.popleft()
    return sizes


def _places_in_memory(fitted: TokenNgrams, places: int, ids: int, room: int | None) -> int:
    """Return how many places may have their records in memory at once, at least those after one token.

    The mapped ids count as memory only up to half of it, because the system can release their pages.
    """
    if room is None:
        return MAX_PLACES
    room -= PER_SYMBOL * ids
    return max(max(room - ID_BYTES * places, room // 2) // RECORD_BYTES, fitted.most_after())


def ngram_bits(
    encode: Encode,
    vocabulary: int,
    training: Callable[[], Iterable[Document]],
    test: Iterable[Document],
    *,
    order: int,
    training_bytes: Sequence[int] | None = None,
    room: int | None = None,
    ids: int | None = None,
    lost: Callable[[bytes], int] | None = None,
) -> dict[str, Any]:
    """Train the models of all orders on each budget, and test them.

    All tokenizers read the same bytes: the first documents of each language, the last one truncated between two
    characters. Ids are written to files. ``room`` limits how many of them are in memory at once.

    Args:
        encode: encoder of documents.
        vocabulary: number of vocabulary entries, the ids that text can produce.
        training: function that returns the training documents; it is called several times.
        test: test documents.
        order: highest order.
        training_bytes: budgets, see :func:`budgets_of` (default: half of the text and all of it).
        room: bytes of memory for ids and their records (default: None, no limit).
        ids: largest id plus 1 (default: ``vocabulary``).
        lost: function that returns the bytes of a text that decoding its ids does not restore (default: None, for a
            lossless tokenizer).

    Returns:
        ``vocabulary``, ``order``, ``bytes`` and ``tokens`` of the test text. ``documents``: for each test document
        ``document``, ``language``, ``bytes``, ``tokens``, and ``bytes_lost`` with ``lost``. ``training``: a
        :class:`TrainedOn` for each budget. ``models``: for each budget and order ``training_bytes``, ``order``,
        ``bits_per_byte``, and ``bits`` of each document.

    Raises:
        TokbenchError: a text is empty, the vocabulary is too large, or there is too little memory.
    """
    ids = vocabulary if ids is None else ids
    symbols = ids + 2
    if symbols > MAX_SYMBOLS:
        raise TokbenchError(f"a vocabulary of {ids:,} is too large for token n-grams of {MAX_SYMBOLS - 2:,}")
    budgets = budgets_of(((document.language, len(document.text)) for document in training()), training_bytes)
    documents: list[dict[str, Any]] = []
    with ExitStack() as stack:

        def new_stream() -> _Stream:
            return _Stream(stack.enter_context(TemporaryFile()), symbols, order)

        def note_documents() -> Iterator[Document]:
            for document in test:
                noted = {"document": document.document, "language": document.language, "bytes": len(document.text)}
                documents.append(noted if lost is None else {**noted, "bytes_lost": lost(document.text)})
                yield document

        # Encode the test text once, and count the tokens of each document.
        test_stream = new_stream()
        counts = [0]
        for piece in encode(note_documents()):
            test_stream.add(piece)
            counts[-1] += len(piece.ids)
            counts += [0] * piece.ends
        untagged = tag_of_untagged({document["language"] for document in documents})
        for document, tokens in zip(documents, counts, strict=False):
            document["language"] = document["language"] or untagged
            document["tokens"] = tokens
        size = sum(document["bytes"] for document in documents)
        if not size:
            raise TokbenchError("the test text is empty; add documents")
        # Encode the training text once, for all budgets.
        streams = [new_stream() for _ in budgets]
        sizes = _fill(streams, budgets, training(), encode)
        # Fit the models of all orders on each budget, and test them on the same stream.
        trained, models = [], []
        for budget, text_bytes, stream in zip(budgets, sizes, streams, strict=True):
            places = stream.places
            stream.append(test_stream)
            fitted = TokenNgrams(stream.map_ids(), places, symbols, vocabulary, order)
            bits = fitted.bits(_places_in_memory(fitted, stream.places, ids, room))
            unused = vocabulary - (ids - fitted.unused())
            unseen = unused, fitted.unseen()
            read = budget.training_bytes, text_bytes, stream.documents, stream.tokens
            trained.append(asdict(TrainedOn(*read, *unseen)))
            for number in range(order):
                document_bits = bits[:, number].tolist()
                head = {"training_bytes": budget.training_bytes, "order": number + 1}
                models.append({**head, "bits_per_byte": sum(document_bits) / size, "bits": document_bits})
    return {
        "vocabulary": vocabulary,
        "order": order,
        "bytes": size,
        "tokens": test_stream.tokens,
        "documents": documents,
        "training": trained,
        "models": models,
    }


def tokenizer_ngram_bits(
    tokenizer: Tokenizer,
    encode: Encode,
    training: Callable[[], Iterable[Document]],
    test: Iterable[Document],
    *,
    variant: str | None = None,
    corpus: str = "",
    order: int,
    training_bytes: Sequence[int] | None = None,
    room: int | None = None,
) -> dict[str, Any]:
    """Compute n-gram bits of a tokenizer: its entries are the vocabulary, and its losses are counted.

    Args:
        tokenizer: the tokenizer.
        encode: encoder of documents with this tokenizer.
        training: see :func:`ngram_bits`.
        test: see :func:`ngram_bits`.
        variant: name in the tables (default: the tokenizer's name).
        corpus: name of the corpus (default: empty).
        order: see :func:`ngram_bits`.
        training_bytes: see :func:`ngram_bits`.
        room: see :func:`ngram_bits`.

    Returns:
        ``variant``, ``size``, ``corpus`` and ``pretokenization``, and the items of :func:`ngram_bits`.
    """
    bits = ngram_bits(
        encode,
        tokenizer.entries,
        training,
        test,
        order=order,
        training_bytes=training_bytes,
        room=room,
        ids=tokenizer.id_limit,
        lost=None if tokenizer.lossless else tokenizer.bytes_lost,
    )
    head = {"variant": variant or tokenizer.name, "size": tokenizer.nominal_size, "corpus": corpus}
    return {**head, "pretokenization": tokenizer.pretokenizer_label, **bits}
