"""Loss from using only the tokenizer's own segmentation, estimated by importance sampling.

A model assigns a text the summed probability of all token sequences that spell it (Cao and Rimell, "You should evaluate
your language model on marginal likelihood over tokenisations", 2021). The probability of one segmentation is only a
lower bound. The sum is estimated from two kinds of draws, half of each (Veach and Guibas 1995, the balance heuristic).
Both sample token by token from the model's distribution over tokens that agree with the text. At a token boundary of
the tokenizer's own segmentation, the first kind continues with the own token, and departs from it about once per text.
This kind serves trained models, for which other sequences have negligible weight. Each draw has the weight p(sequence)
/ p(draw), whose mean is an unbiased estimate of the sum for any number of draws. The own segmentation is counted
exactly and excluded from the draws, so that no estimate is below the bound.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from tokbench.evaluation.coverings import Ids, Spellings, log_sum
from tokbench.statistics.significance.estimate import ratio

if TYPE_CHECKING:
    import torch

EXCERPT = 128
"""Number of initial bytes of a document that are used. The variance of the weights grows with the length of a text."""
DOCUMENTS = 32
"""Number of documents that are used: the first ones with text."""
Next = Callable[[Sequence[Ids]], NDArray[np.float64]]
"""Function that returns log-probabilities of the next token after each of some sequences, [sequences, vocabulary], in
nats."""


class OneSegmentation(TypedDict):
    """Estimated loss from using only the own segmentation, in bits per byte.

    The 95 % interval is over documents; None for one. ``samples``, ``documents`` and ``bytes`` describe the data.
    """

    bits_per_byte: float
    low: float | None
    high: float | None
    samples: int
    documents: int
    bytes: int


def next_after(model: "torch.nn.Module", start: int, device: "torch.device | str") -> Next:
    """Return a function to a causal model's next-token distribution after the start token and further tokens."""
    import torch

    @torch.inference_mode()
    def after(sequences: Sequence[Ids]) -> NDArray[np.float64]:
        longest = max(map(len, sequences))
        padded = [[start, *ids, *[0] * (longest - len(ids))] for ids in sequences]
        logits = model(input_ids=torch.tensor(padded, device=device)).logits
        last = logits[torch.arange(len(padded)), [len(ids) for ids in sequences]]
        log_probabilities: NDArray[np.float64] = last.double().log_softmax(-1).cpu().numpy()
        return log_probabilities

    return after


def lost_nats(
    spellings: Spellings, text: bytes, own: Ids, after: Next, samples: int, rng: np.random.Generator
) -> float:
    """Estimate by how many nats all segmentations of a text together are more likely than one of them.

    Args:
        spellings: the vocabulary, including every byte of the text.
        text: the text, not empty.
        own: the one segmentation.
        after: the model.
        samples: number of segmentations to draw.
        rng: random generator of the draws.
    """
    bound = math.fsum(float(after([own[:place]])[0, id]) for place, id in enumerate(own))
    borders = np.cumsum([0, *(len(spellings.tokens[id]) for id in own)]).tolist()
    way = _Way(spellings, text, dict(zip(borders, own, strict=False)), 1 / (1 + len(own)))
    drawn = [_Drawn((), 0, 0.0, 0.0)] * samples
    while any(sequence.place < len(text) for sequence in drawn):
        pending = sorted({sequence.ids for sequence in drawn if sequence.place < len(text)})
        expected = dict(zip(pending, after(pending), strict=True))
        drawn = [
            sequence
            if sequence.place == len(text)
            else way.extend(sequence, expected[sequence.ids], rng, near=number % 2 == 0)
            for number, sequence in enumerate(drawn)
        ]
    shares = np.log([(samples + 1) // 2, max(samples // 2, 1e-300)])
    weights = [-log_sum(shares - np.array([sequence.near, sequence.free])) for sequence in drawn if sequence.ids != own]
    return log_sum(np.array([bound, *weights])) - bound


class _Drawn(NamedTuple):
    """First tokens of a sequence.

    Attributes:
        ids: the tokens.
        place: number of bytes that they spell.
        near: logarithm of their probability divided by that of drawing them near the own segmentation.
        free: the same for draws from the model's distribution only.
    """

    ids: Ids
    place: int
    near: float
    free: float


@dataclass(frozen=True, slots=True)
class _Way:
    """Sampler of sequences.

    Attributes:
        spellings: the vocabulary.
        text: the text.
        own: tokens of the own segmentation, by the positions where they begin.
        leave: probability of departing from it at one of these.
    """

    spellings: Spellings
    text: bytes
    own: dict[int, int]
    leave: float

    def extend(
        self, sequence: _Drawn, expected: NDArray[np.float64], rng: np.random.Generator, *, near: bool
    ) -> _Drawn:
        """Extend a sequence by one token, by one of the two kinds of draws.

        Args:
            sequence: the sequence.
            expected: log-probabilities of the next token.
            rng: random generator.
            near: True to draw near the own segmentation.
        """
        agreeing = np.array(self.spellings.opening(self.text[sequence.place : sequence.place + self.spellings.longest]))
        logs = expected[agreeing]
        total = log_sum(logs)
        free = np.exp(logs - total)
        close = free.copy()
        own = agreeing == self.own.get(sequence.place, -1)
        if own.any() and free[~own].sum() > 0:
            close *= self.leave / free[~own].sum()
            close[own] = 1 - self.leave
        shares = np.cumsum(close if near else free)
        drawn = min(int(np.searchsorted(shares, rng.random(), "right")), len(agreeing) - 1)
        token, log = int(agreeing[drawn]), float(logs[drawn])
        return _Drawn(
            (*sequence.ids, token),
            sequence.place + len(self.spellings.tokens[token]),
            sequence.near + log - math.log(close[drawn]),
            sequence.free + total,
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
    """Estimate the loss over the beginnings of documents, each cut at its last white space; None if there is no text.

    Args:
        spellings: the vocabulary.
        encode: function from bytes to ids.
        documents: texts. The first :data:`DOCUMENTS` that are not empty are used.
        after: the model.
        samples: number of segmentations to draw for each.
        longest: largest number of bytes of an excerpt. Default: 128.
    """
    texts = excerpts(documents, longest)
    if not texts:
        return None
    rng = np.random.default_rng(0)
    lost = [lost_nats(spellings, text, tuple(encode(text)), after, samples, rng) for text in texts]
    sizes = np.array([len(text) for text in texts], np.float64)
    bits, low, high = interval_per_byte(np.array(lost) / math.log(2), sizes)
    return {
        "bits_per_byte": bits,
        "low": low,
        "high": high,
        "samples": samples,
        "documents": len(texts),
        "bytes": int(sizes.sum()),
    }


def excerpts(documents: Iterable[bytes], longest: int) -> list[bytes]:
    """Return the beginnings of documents, each cut at its last white space.

    Args:
        documents: texts. The first :data:`DOCUMENTS` that are not empty are used.
        longest: largest number of bytes of an excerpt.
    """
    texts: list[bytes] = []
    for document in documents:
        text = document[:longest]
        if text.strip() and len(text) < len(document):
            text = text.rsplit(maxsplit=1)[0]
        if text:
            texts.append(text)
        if len(texts) == DOCUMENTS:
            break
    return texts


def interval_per_byte(
    bits: NDArray[np.float64], sizes: NDArray[np.float64]
) -> tuple[float, float | None, float | None]:
    """Return the sum of bits over the sum of bytes, and its 95 % interval over documents.

    The interval is that of :func:`tokbench.statistics.significance.estimate.ratio`, and ends at zero. It is None for
    one document, and if the documents do not vary.

    Args:
        bits: bits lost of each document, float64 [documents], none below zero.
        sizes: bytes of each document, float64 [documents].
    """
    estimate = ratio(bits, sizes)
    assert estimate is not None
    low, high = estimate.ends()
    return estimate.difference, None if low is None else max(0.0, low), high
