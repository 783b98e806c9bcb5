"""What a tokenizer loses by its one segmentation, estimated: the probability of one is a bound on that of the text.

A model gives a text the sum of the probabilities of all sequences of tokens that spell it (Cao and Rimell, "You should
evaluate your language model on marginal likelihood over tokenisations", 2021). It is estimated by importance sampling:
a sequence is drawn token by token from the model itself, with what does not agree with the text left out, and weighs as
much as the product of what was left in. Weights have the sum as their mean, whatever their number. The tokenizer's own
segmentation is counted exactly and left out of the draws, so that no estimate is below the bound.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypedDict

import numpy as np
import torch
from numpy.typing import NDArray

from tokbench.downstream.boundary import Ids
from tokbench.downstream.coverings import Spellings, log_sum

EXCERPT = 128
"""Bytes of a document that are estimated, its first: the variance of weights grows with the length of a text."""
DOCUMENTS = 32
"""Documents of which there is an estimate, the first with text."""
RESAMPLES = 1000
Next = Callable[[Sequence[Ids]], NDArray[np.float64]]
"""Log-probabilities of the next token after each of some sequences, [sequences, vocabulary], in nats."""


class OneSegmentation(TypedDict):
    """The estimate: bits per byte by which the own segmentation is worse than all together, with its 95 % interval by
    the bootstrap over documents; and of what it was taken."""

    bits_per_byte: float
    low: float
    high: float
    samples: int
    documents: int
    bytes: int


def next_after(model: torch.nn.Module, start: int, device: torch.device | str) -> Next:
    """What a causal model expects after the start token and some tokens more."""

    @torch.inference_mode()
    def after(sequences: Sequence[Ids]) -> NDArray[np.float64]:
        longest = max(map(len, sequences))
        padded = [[start, *ids, *[0] * (longest - len(ids))] for ids in sequences]
        logits = model(input_ids=torch.tensor(padded, device=device)).logits
        last = logits[torch.arange(len(padded)), [len(ids) for ids in sequences]]
        found: NDArray[np.float64] = last.double().log_softmax(-1).cpu().numpy()
        return found

    return after


def lost_nats(
    spellings: Spellings, text: bytes, own: Ids, after: Next, samples: int, rng: np.random.Generator
) -> float:
    """Nats by which all segmentations of a text together are estimated to be likelier than one of them.

    Args:
        spellings: the vocabulary, every byte of the text in it.
        text: some bytes.
        own: the one segmentation.
        after: the model.
        samples: segmentations to draw.
        rng: draws them.
    """
    bound = math.fsum(float(after([own[:place]])[0, id]) for place, id in enumerate(own))
    drawn: list[tuple[Ids, int, float]] = [((), 0, 0.0)] * samples
    while any(place < len(text) for _, place, _ in drawn):
        pending = sorted({ids for ids, place, _ in drawn if place < len(text)})
        expected = dict(zip(pending, after(pending), strict=True))
        drawn = [_longer(spellings, text, one, expected, rng) for one in drawn]
    weights = [weight for ids, _, weight in drawn if ids != own]
    others = log_sum(np.array(weights)) - math.log(samples) if weights else -math.inf
    return log_sum(np.array([bound, others])) - bound


def _longer(
    spellings: Spellings,
    text: bytes,
    one: tuple[Ids, int, float],
    expected: dict[Ids, NDArray[np.float64]],
    rng: np.random.Generator,
) -> tuple[Ids, int, float]:
    """A sequence with one token more, unless it has reached the text's end."""
    ids, place, weight = one
    if place == len(text):
        return one
    agreeing = spellings.opening(text[place : place + spellings.longest])
    logs = expected[ids][agreeing]
    total = log_sum(logs)
    shares = np.cumsum(np.exp(logs - total))
    token = agreeing[min(int(np.searchsorted(shares, rng.random(), "right")), len(agreeing) - 1)]
    return (*ids, token), place + len(spellings.tokens[token]), weight + total


def one_segmentation(
    spellings: Spellings,
    encode: Callable[[bytes], Sequence[int]],
    documents: Iterable[bytes],
    after: Next,
    samples: int,
    *,
    longest: int = EXCERPT,
) -> OneSegmentation | None:
    """The estimate over the beginnings of documents, each cut before its last white space; None where there is no text.

    Args:
        spellings: the vocabulary.
        encode: bytes to ids.
        documents: texts; of the first :data:`DOCUMENTS` that are not empty there is an estimate.
        after: the model.
        samples: segmentations to draw of each.
        longest: bytes of an excerpt, at the most.
    """
    texts = []
    for document in documents:
        text = document[:longest]
        if text.strip() and len(text) < len(document):
            text = text.rsplit(maxsplit=1)[0]
        if text:
            texts.append(text)
        if len(texts) == DOCUMENTS:
            break
    if not texts:
        return None
    rng = np.random.default_rng(0)
    lost = [lost_nats(spellings, text, tuple(encode(text)), after, samples, rng) for text in texts]
    bits, sizes = np.array(lost) / math.log(2), np.array([len(text) for text in texts], np.float64)
    places = rng.integers(0, len(texts), (RESAMPLES, len(texts)))
    low, high = np.percentile(bits[places].sum(axis=1) / sizes[places].sum(axis=1), [2.5, 97.5])
    return {
        "bits_per_byte": float(bits.sum() / sizes.sum()),
        "low": float(low),
        "high": float(high),
        "samples": samples,
        "documents": len(texts),
        "bytes": int(sizes.sum()),
    }
