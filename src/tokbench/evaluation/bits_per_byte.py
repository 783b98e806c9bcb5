"""Bits per byte: how well a language model predicts a text, in a unit that does not depend on the tokenizer."""

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
    """Function that splits a sequence, which begins with the start token, into windows.

    The ``targets`` of a window are the tokens that follow the last ``len(targets)`` of its ``inputs``. All targets
    concatenated are the sequence without its first token.
    """

    def __call__(self, sequence: Sequence[int]) -> Iterator[Window]: ...

    def described(self) -> dict[str, int]:
        """Return the settings of the windows for the record."""
        ...


class MeasuredDocument(TypedDict):
    """Measurement of one document.

    Where known, it includes the document's number in its source, its language, and an upper bound on the bytes that
    decoding does not restore.
    """

    bits: float
    tokens: int
    bytes: int
    document: NotRequired[int]
    language: NotRequired[str]
    bytes_lost: NotRequired[int]


class MeasuredBits(TypedDict):
    """Totals of bits per byte. ``cut`` has the settings of the windows; ``by_document`` is in input order."""

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
    """Compute -sum log2 p(token) over all tokens of all documents, divided by the documents' bytes.

    A document is encoded as one text. It begins with the start token as context, which is not predicted; nor is its
    end. Bytes as denominator make tokenizers comparable. The probability is that of the tokenizer's own segmentation, a
    lower bound on that of the text. Long documents are read in windows.

    Args:
        model: a model that returns an object with ``logits`` [batch, tokens, vocabulary].
        encode: function from bytes to ids. If these do not decode to the same bytes, other bytes are predicted, and the
            result is not comparable.
        documents: the texts. Empty ones add nothing.
        start: id of the token at the start of a document.
        cut: function that splits a document's sequence, including the start token, into windows.
        batch_size: windows per batch.
        device: device of the model.

    Returns:
        Bits per byte, and the totals and documents that they are computed from.

    Raises:
        TokbenchError: the documents have no bytes.
    """
    measured: list[MeasuredDocument] = []
    nats: list[list[float]] = []
    pending: list[tuple[int, Window]] = []

    def flush() -> None:
        surprisals = window_surprisals(model, [window for _, window in pending], device)
        for (number, _), of_targets in zip(pending, surprisals, strict=True):
            nats[number].append(of_targets.sum().item())
        pending.clear()

    # Batches of windows cross the ends of documents.
    for number, document in enumerate(documents):
        ids = list(encode(document))
        measured.append({"bits": 0.0, "tokens": len(ids), "bytes": len(document)})
        nats.append([])
        for window in cut([start, *ids]):
            pending.append((number, window))
            if len(pending) == batch_size:
                flush()
    if pending:
        flush()

    # Totals are exact sums of the windows, not of the rounded documents.
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
    """Windows of a fixed number of tokens.

    The first window predicts all of its tokens. Each later one predicts the next ``stride`` tokens, with the preceding
    ``window - stride`` tokens as context.

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
    """Windows of a fixed number of bytes, equal for every tokenizer except for the tokens at their edges.

    A window predicts the tokens that begin in ``span`` bytes of the text, with those that begin in the preceding
    ``span`` bytes as context. Each byte therefore has at least ``span`` bytes of context, or all preceding bytes, and
    less than twice ``span``. A window has at most ``2 * span + 1`` ids with any tokenizer.

    Attributes:
        lengths: bytes of each id, int64 [vocabulary].
        span: number of bytes.
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
def window_surprisals(
    model: torch.nn.Module, batch: Sequence[Window], device: torch.device | str
) -> list[torch.Tensor]:
    """Return the nats of each window's targets, float64 [targets]. Rows are padded on the right, which a causal model
    ignores.

    All windows are computed before the result is copied from the device.
    """
    longest = max(len(inputs) for inputs, _ in batch)
    padded = torch.tensor([inputs + [0] * (longest - len(inputs)) for inputs, _ in batch], device=device)
    logits = model(input_ids=padded).logits
    scored = [
        row[len(inputs) - len(targets) : len(inputs)] for row, (inputs, targets) in zip(logits, batch, strict=True)
    ]
    wanted = torch.tensor([target for _, targets in batch for target in targets], device=device)
    nats = torch.nn.functional.cross_entropy(torch.cat(scored).float(), wanted, reduction="none").double().cpu()
    return list(nats.split([len(targets) for _, targets in batch]))
