"""What a tokenizer loses by its one segmentation, estimated: the probability of one is a bound on that of the text.

A model gives a text the sum of the probabilities of all sequences of tokens that spell it (Cao and Rimell, "You should
evaluate your language model on marginal likelihood over tokenisations", 2021). It is estimated by importance sampling
from two kinds of draws, half of each (Veach and Guibas 1995, the balance heuristic). Both go token by token and take
what the model expects among the tokens that agree with the text; but those of the one kind, wherever they stand at a
border of the tokenizer's own segmentation, go on with the own token, and leave it about once in a text. They serve
trained models, of which other sequences stray and weigh nothing. Each draw counts as its probability over that of
being drawn, of which the mean is the sum, whatever the number of draws. The own segmentation is counted exactly and
left out of the draws, so that no estimate is below the bound.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from tokbench.models.evaluation.coverings import Ids, Spellings, log_sum

if TYPE_CHECKING:
    import torch

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


def next_after(model: "torch.nn.Module", start: int, device: "torch.device | str") -> Next:
    """What a causal model expects after the start token and some tokens more."""
    import torch

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
    borders = np.cumsum([0, *(len(spellings.tokens[id]) for id in own)]).tolist()
    way = _Way(spellings, text, dict(zip(borders, own, strict=False)), 1 / (1 + len(own)))
    drawn = [_Drawn((), 0, 0.0, 0.0)] * samples
    while any(one.place < len(text) for one in drawn):
        pending = sorted({one.ids for one in drawn if one.place < len(text)})
        expected = dict(zip(pending, after(pending), strict=True))
        drawn = [
            one if one.place == len(text) else way.longer(one, expected[one.ids], rng, near=number % 2 == 0)
            for number, one in enumerate(drawn)
        ]
    shares = np.log([(samples + 1) // 2, max(samples // 2, 1e-300)])
    weights = [-log_sum(shares - np.array([one.near, one.free])) for one in drawn if one.ids != own]
    return log_sum(np.array([bound, *weights])) - bound


class _Drawn(NamedTuple):
    """The first tokens of a sequence.

    Attributes:
        ids: the tokens.
        place: the bytes that they spell.
        near: logarithm of their probability over that of being drawn near the own segmentation.
        free: the same of being drawn by what the model expects alone.
    """

    ids: Ids
    place: int
    near: float
    free: float


@dataclass(frozen=True, slots=True)
class _Way:
    """How sequences are drawn.

    Attributes:
        spellings: the vocabulary.
        text: what they spell.
        own: the own segmentation's tokens by the places where they begin.
        leave: probability of leaving it at one of these.
    """

    spellings: Spellings
    text: bytes
    own: dict[int, int]
    leave: float

    def longer(self, one: _Drawn, expected: NDArray[np.float64], rng: np.random.Generator, *, near: bool) -> _Drawn:
        """A sequence with one token more, by one of the two kinds of draws.

        Args:
            one: the sequence.
            expected: log-probabilities of the next token.
            rng: draws.
            near: whether near the own segmentation.
        """
        agreeing = np.array(self.spellings.opening(self.text[one.place : one.place + self.spellings.longest]))
        logs = expected[agreeing]
        total = log_sum(logs)
        free = np.exp(logs - total)
        close = free.copy()
        own = agreeing == self.own.get(one.place, -1)
        if own.any() and free[~own].sum() > 0:
            close *= self.leave / free[~own].sum()
            close[own] = 1 - self.leave
        shares = np.cumsum(close if near else free)
        drawn = min(int(np.searchsorted(shares, rng.random(), "right")), len(agreeing) - 1)
        token, log = int(agreeing[drawn]), float(logs[drawn])
        return _Drawn(
            (*one.ids, token),
            one.place + len(self.spellings.tokens[token]),
            one.near + log - math.log(close[drawn]),
            one.free + total,
        )


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
