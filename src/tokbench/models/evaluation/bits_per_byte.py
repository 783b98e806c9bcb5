"""Bits per byte: how well a language model predicts a text, in a unit that no tokenizer can choose."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NotRequired, Protocol, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray

from tokbench.errors import TokbenchError

Window = tuple[list[int], list[int]]


class WindowCutter(Protocol):
    """Cuts a sequence that opens with the start token into windows.

    The ``targets`` of a window are the tokens that follow the last ``len(targets)`` of its ``inputs``. All targets
    together are the sequence without its first token, each once and in order.
    """

    def __call__(self, sequence: Sequence[int]) -> Iterator[Window]: ...

    def described(self) -> dict[str, int]:
        """How it cuts, for the record."""
        ...


class MeasuredDocument(TypedDict):
    """What came of one document, and where it is known which it is: its number in its source, and its language; the
    bytes of it, at most, that its tokens do not give back, where they may not."""

    bits: float
    tokens: int
    bytes: int
    document: NotRequired[int]
    language: NotRequired[str]
    bytes_lost: NotRequired[int]


class MeasuredBits(TypedDict):
    """What bits per byte were taken of; ``cut`` says how windows were cut, ``by_document`` is in the order given."""

    bits: float
    tokens: int
    bytes: int
    documents: int
    cut: dict[str, int]
    by_document: list[MeasuredDocument]


def bits_per_byte(
    model: torch.nn.Module,
    encode: Callable[[bytes], Sequence[int]],
    documents: Iterable[bytes],
    start: int,
    *,
    cut: WindowCutter,
    batch_size: int,
    device: torch.device | str,
) -> tuple[float, MeasuredBits]:
    """-sum log2 p(token) over every token of every document, divided by the bytes of the documents.

    A document is encoded whole and begins with the start token as context, which is not itself predicted; nor is
    its end. The denominator is bytes, so that tokenizers compare; the probability is that of the tokenizer's own
    segmentation, a lower bound on that of the text. Long documents are read in windows.

    Args:
        model: returns an object with ``logits`` [batch, tokens, vocabulary].
        encode: bytes to ids. Where these do not decode to the same bytes, it is other bytes that are predicted, and
            the figure is none to compare.
        documents: the texts; empty ones add nothing.
        start: id of the token that opens a document.
        cut: the windows of a document's sequence, start token included.
        batch_size: windows at a time.
        device: where the model is.

    Raises:
        TokbenchError: the documents have no bytes.
    """
    measured: list[MeasuredDocument] = []
    nats: list[list[float]] = []
    pending: list[tuple[int, Window]] = []

    def flush() -> None:
        for (number, _), sum_ in zip(pending, _surprisals(model, [one for _, one in pending], device), strict=True):
            nats[number].append(sum_)
        pending.clear()

    for number, document in enumerate(documents):
        ids = list(encode(document))
        measured.append({"bits": 0.0, "tokens": len(ids), "bytes": len(document)})
        nats.append([])
        for one in cut([start, *ids]):
            pending.append((number, one))
            if len(pending) == batch_size:
                flush()
    if pending:
        flush()
    for of_document, sums in zip(measured, nats, strict=True):
        of_document["bits"] = round(math.fsum(sums) / math.log(2), 6)
    total_bytes = sum(document["bytes"] for document in measured)
    if not total_bytes:
        raise TokbenchError("bits per byte: the evaluation split has no text; give it documents")
    bits = math.fsum(sum_ for sums in nats for sum_ in sums) / math.log(2)
    return bits / total_bytes, {
        "bits": bits,
        "tokens": sum(document["tokens"] for document in measured),
        "bytes": total_bytes,
        "documents": len(measured),
        "cut": cut.described(),
        "by_document": measured,
    }


@dataclass(frozen=True, slots=True)
class TokenWindows:
    """Windows of so many tokens.

    The first predicts all of its tokens, each later one the ``stride`` tokens after the one before, with
    ``window - stride`` tokens before them as context.

    Attributes:
        window: tokens that the model reads at a time.
        stride: new tokens that each later window predicts, at most ``window``.
    """

    window: int
    stride: int

    def __call__(self, sequence: Sequence[int]) -> Iterator[Window]:
        begin = 0
        end = min(self.window, len(sequence) - 1)
        while begin < end:
            yield list(sequence[max(0, end - self.window) : end]), list(sequence[begin + 1 : end + 1])
            begin, end = end, min(end + self.stride, len(sequence) - 1)

    def described(self) -> dict[str, int]:
        return {"window": self.window, "stride": self.stride}


@dataclass(frozen=True, slots=True)
class ByteWindows:
    """Windows of so many bytes, the same for every tokenizer but for the tokens at their edges.

    A window predicts the tokens that begin in ``span`` bytes of the text, after those that begin in the ``span`` bytes
    before. So of what stands before a byte at least ``span`` bytes are known, or all, and less than twice as many. A
    window has no more than ``2 * span + 1`` ids, whatever the tokenizer.

    Attributes:
        lengths: bytes of each id, int64 [vocabulary].
        span: bytes.
    """

    lengths: NDArray[np.int64]
    span: int

    def __call__(self, sequence: Sequence[int]) -> Iterator[Window]:
        ends = np.cumsum(self.lengths[list(sequence[1:])]).tolist()
        starts = [0, *ends[:-1]] if ends else []
        first = 0
        while first < len(starts):
            block = starts[first] // self.span
            end = bisect_left(starts, (block + 1) * self.span, first)
            context = bisect_left(starts, (block - 1) * self.span) if block > 1 else -1
            begin = 1 + min(context, first - 1)
            yield list(sequence[begin:end]), list(sequence[first + 1 : end + 1])
            first = end

    def described(self) -> dict[str, int]:
        return {"span_bytes": self.span}


@torch.inference_mode()
def _surprisals(model: torch.nn.Module, batch: Sequence[Window], device: torch.device | str) -> list[float]:
    """Nats of each window's targets, summed. Rows are padded on the right, which a causal model never looks at.

    The device is waited for once, not once a window.
    """
    longest = max(len(inputs) for inputs, _ in batch)
    padded = torch.tensor([inputs + [0] * (longest - len(inputs)) for inputs, _ in batch], device=device)
    logits = model(input_ids=padded).logits
    scored = [
        row[len(inputs) - len(targets) : len(inputs)] for row, (inputs, targets) in zip(logits, batch, strict=True)
    ]
    wanted = torch.tensor([target for _, targets in batch for target in targets], device=device)
    nats = torch.nn.functional.cross_entropy(torch.cat(scored).float(), wanted, reduction="none").double().cpu()
    return [part.sum().item() for part in nats.split([len(targets) for _, targets in batch])]
