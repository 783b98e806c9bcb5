"""Bits per byte: how well a language model predicts a text, in a unit that no tokenizer can choose."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypedDict

import torch

from tokbench.errors import TokbenchError

Window = tuple[list[int], list[int]]


class MeasuredDocument(TypedDict):
    """What came of one document."""

    bits: float
    tokens: int
    bytes: int


class Measured(TypedDict):
    """What bits per byte were taken of; ``window`` and ``stride`` in tokens, ``by_document`` in the order given."""

    bits: float
    tokens: int
    bytes: int
    documents: int
    window: int
    stride: int
    by_document: list[MeasuredDocument]


def bits_per_byte(
    model: torch.nn.Module,
    encode: Callable[[bytes], Sequence[int]],
    documents: Iterable[bytes],
    start: int,
    *,
    window: int,
    stride: int,
    batch_size: int,
    device: torch.device | str,
) -> tuple[float, Measured]:
    """-sum log2 p(token) over every token of every document, divided by the bytes of the documents.

    A document is encoded whole and begins with the start token as context, which is not itself predicted; nor is
    its end. The denominator is bytes, so that tokenizers compare; the probability is that of the tokenizer's own
    segmentation, a lower bound on that of the text. Long documents are read in windows: the first predicts all of its
    tokens, each later one the ``stride`` tokens after the one before, with ``window - stride`` tokens before them as
    context.

    Args:
        model: returns an object with ``logits`` [batch, tokens, vocabulary].
        encode: bytes to ids; must decode to the same bytes.
        documents: the texts; empty ones add nothing.
        start: id of the token that opens a document.
        window: tokens that the model reads at a time.
        stride: new tokens that each later window predicts, at most ``window``.
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
        for one in windows([start, *ids], window, stride):
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
        "window": window,
        "stride": stride,
        "by_document": measured,
    }


def windows(sequence: Sequence[int], window: int, stride: int) -> Iterator[Window]:
    """Cut a sequence that opens with the start token into (inputs, targets).

    ``targets`` are the tokens that follow the last ``len(targets)`` of ``inputs``. All targets together are the
    sequence without its first token, each once and in order.
    """
    begin = 0
    end = min(window, len(sequence) - 1)
    while begin < end:
        yield list(sequence[max(0, end - window) : end]), list(sequence[begin + 1 : end + 1])
        begin, end = end, min(end + stride, len(sequence) - 1)


@torch.inference_mode()
def _surprisals(model: torch.nn.Module, batch: Sequence[Window], device: torch.device | str) -> list[float]:
    """Nats of each window's targets, summed. Rows are padded on the right, which a causal model never looks at."""
    longest = max(len(inputs) for inputs, _ in batch)
    padded = torch.tensor([inputs + [0] * (longest - len(inputs)) for inputs, _ in batch], device=device)
    logits = model(input_ids=padded).logits
    sums = []
    for row, (inputs, targets) in zip(logits, batch, strict=True):
        scored = row[len(inputs) - len(targets) : len(inputs)].float()
        wanted = torch.tensor(targets, device=device)
        sums.append(torch.nn.functional.cross_entropy(scored, wanted, reduction="none").double().sum().item())
    return sums
