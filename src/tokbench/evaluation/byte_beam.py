"""Probability of a text and of its next byte, summed over token sequences by a beam.

A language model over tokens assigns every text the summed probability of all token sequences that spell it, and
therefore has a distribution over the next byte that does not depend on a choice of tokens. Contexts are token sequences
that spell the beginning of a text. At a position of the text, a context that ends there is alive with its full
probability. One that ends before is alive with the probability that its next token spells the rest and goes beyond. The
sum over contexts is the probability that a text begins in this way. Each context is a different sequence, so nothing is
counted twice.

The number of contexts grows exponentially with the length, so only the most probable ones are followed at each
position. The sum over these is a lower bound on the probability of the text. The share of probability that a step
drops is known. Under the texts that the model itself produces, the posterior share of the dropped sequences is a
martingale. So the sum of these shares over all steps bounds the expected share of all dropped sequences at the end. For
other texts it is an estimate.

Sources: Vieira, LeBrun, Giulianelli, Gastaldi, DuSell, Terilla, O'Donnell and Cotterell, "From language models over
tokens to language models over characters" (2024); Hayase, Liu, Smith and Oh, "Sampling from your language model one
byte at a time" (2025); Cao and Rimell, "You should evaluate your language model on marginal likelihood over
tokenisations" (2021).
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from tokbench.evaluation.coverings import Ids, Spellings, log_sum
from tokbench.evaluation.segmentations import Next, excerpts, interval_per_byte

BYTES = 256


@dataclass(slots=True)
class Context:
    """Token sequence that spells the beginning of a text.

    Attributes:
        ids: the tokens.
        place: number of bytes that they spell.
        log_weight: logarithm of their probability.
        first, last: range of the sorted tokens that begin with the text after ``place`` and are longer.
        expected: probabilities of the next token, in the order of the sorted tokens; None before the model was called.
    """

    ids: Ids
    place: int
    log_weight: float
    first: int = 0
    last: int = 0
    expected: NDArray[np.float64] | None = field(default=None, repr=False)

    def log_alive(self, place: int) -> float:
        """Return the logarithm of the probability of these tokens, and that the next one goes beyond ``place``."""
        if place == self.place or self.expected is None:
            return self.log_weight
        alive = float(self.expected[self.first : self.last].sum())
        return self.log_weight + math.log(alive) if alive else -math.inf


class ByteBeam:
    """Beam of token sequences that agree with a text, which grows byte by byte.

    Attributes:
        place: number of bytes read.
        contexts: sequences that are followed.
        missed: sum over all steps of the share of probability that the step dropped, at least 0. Above 1, it says
            nothing.
    """

    def __init__(self, spellings: Spellings, after: Next, width: int) -> None:
        """Start before the first byte.

        Args:
            spellings: the vocabulary, including every byte of the texts.
            after: the model.
            width: largest number of sequences that are followed, at least 2.
        """
        self.spellings = spellings
        self.after = after
        self.width = width
        self.place = 0
        self.missed = 0.0
        self.contexts = [Context((), 0, 0.0, 0, len(spellings.ordered))]
        self._read = b""
        self._ask()

    def read(self, byte: int) -> None:
        """Continue with one byte.

        Raises:
            ValueError: no token continues with this byte.
        """
        self._read = (self._read + bytes([byte]))[-self.spellings.longest :]
        self.place += 1
        self.contexts = [*self._going_on(), *self._ending()]
        alive = np.array([context.log_alive(self.place) for context in self.contexts])
        if not len(alive) or not np.isfinite(alive).any():
            raise ValueError(f"no token of the vocabulary continues the text at byte {self.place - 1}")
        kept = self._chosen(alive)
        self.missed += float(np.exp(np.delete(alive, kept) - log_sum(alive)).sum())
        self.contexts = [self.contexts[number] for number in kept]
        self._ask()

    def _chosen(self, alive: NDArray[np.float64]) -> list[int]:
        """Return the indices of the most probable contexts, among them one that ends here if there is one.

        A context inside a token cannot be continued by every byte.
        """
        order = [int(number) for number in np.argsort(-alive, kind="stable") if np.isfinite(alive[number])]
        ending = next((number for number in order if self.contexts[number].place == self.place), None)
        kept = order[: self.width]
        if ending is not None and ending not in kept:
            kept[-1] = ending
        return kept

    def log_prefix(self) -> float:
        """Return the logarithm of the probability that a text begins with the bytes read, at least."""
        return log_sum(np.array([context.log_alive(self.place) for context in self.contexts]))

    def log_text(self) -> float:
        """Return the logarithm of the probability of the sequences that spell exactly the bytes read, at least."""
        exact = [context.log_weight for context in self.contexts if context.place == self.place]
        return log_sum(np.array(exact)) if exact else -math.inf

    def next_byte(self) -> NDArray[np.float64]:
        """Return the probability of each next byte given the bytes read, float64 [256].

        The sum is below 1 by the probability that the text ends here, if the vocabulary lacks the model's special
        tokens.
        """
        probabilities = np.zeros(BYTES)
        logs = np.array([context.log_alive(self.place) for context in self.contexts])
        total = log_sum(logs)
        for context in self.contexts:
            assert context.expected is not None
            depth = self.place - context.place
            tokens = self.spellings.ordered[context.first : context.last]
            bytes_ = np.fromiter((token[depth] for token in tokens), np.int64, len(tokens))
            weights = context.expected[context.first : context.last] * math.exp(context.log_weight - total)
            probabilities += np.bincount(bytes_, weights, BYTES)
        return probabilities

    def _going_on(self) -> Iterator[Context]:
        """Yield the contexts whose next token may go beyond the last byte; the range of tokens becomes smaller."""
        for context in self.contexts:
            rest = self._rest(context)
            first, last = self._range(context, rest)
            while first < last and len(self.spellings.ordered[first]) == len(rest):
                first += 1
            if first < last:
                yield Context(context.ids, context.place, context.log_weight, first, last, context.expected)

    def _ending(self) -> Iterator[Context]:
        """Yield the contexts that one more token makes end at the last byte."""
        for context in self.contexts:
            assert context.expected is not None
            rest = self._rest(context)
            number, last = self._range(context, rest)
            while number < last and len(self.spellings.ordered[number]) == len(rest):
                share = float(context.expected[number])
                if share > 0:
                    ids = (*context.ids, self.spellings.ids[number])
                    log_weight = context.log_weight + math.log(share)
                    yield Context(ids, self.place, log_weight, 0, len(self.spellings.ordered))
                number += 1

    def _rest(self, context: Context) -> bytes:
        return self._read[len(self._read) - (self.place - context.place) :]

    def _range(self, context: Context, rest: bytes) -> tuple[int, int]:
        """Return the range of the sorted tokens of a context that begin with the rest of the text."""
        ordered, length = self.spellings.ordered, len(rest)

        def start(token: bytes) -> bytes:
            return token[:length]

        first = bisect_left(ordered, rest, context.first, context.last, key=start)
        return first, bisect_right(ordered, rest, first, context.last, key=start)

    def _ask(self) -> None:
        """Ask the model for the next token of the new contexts."""
        new = [context for context in self.contexts if context.expected is None]
        if new:
            rows = np.exp(self.after([context.ids for context in new]))
            for context, row in zip(new, rows, strict=True):
                context.expected = row[self.spellings.ids]


class SummedBits(TypedDict):
    """Bits per byte of texts with all sequences of a beam, and with the tokenizer's own segmentation.

    ``gap`` is their difference with its 95 % interval over documents, which is None for one. ``missed`` is the mean
    over documents of :attr:`ByteBeam.missed`. ``width``, ``documents`` and ``bytes`` describe the data.
    """

    bits_per_byte: float
    own_bits_per_byte: float
    gap: float
    low: float | None
    high: float | None
    missed: float
    width: int
    documents: int
    bytes: int


def summed_nats(spellings: Spellings, text: bytes, own: Ids, after: Next, width: int) -> tuple[float, float, float]:
    """Return the negative log-probability of a text in nats, summed over a beam and by one segmentation, and the share
    missed.

    The own segmentation is always counted, so that the first number is at most the second.

    Args:
        spellings: the vocabulary, including every byte of the text.
        text: the text, not empty.
        own: the tokenizer's own segmentation.
        after: the model.
        width: largest number of sequences that are followed.
    """
    beam = ByteBeam(spellings, after, width)
    for byte in text:
        beam.read(byte)
    alone = math.fsum(float(after([own[:place]])[0, id]) for place, id in enumerate(own))
    summed = beam.log_text()
    if own not in {context.ids for context in beam.contexts if context.place == beam.place}:
        summed = log_sum(np.array([summed, alone]))
    return -summed, -alone, beam.missed


def summed_bits(
    spellings: Spellings,
    encode: Callable[[bytes], Sequence[int]],
    documents: Iterable[bytes],
    after: Next,
    width: int,
    *,
    longest: int,
) -> SummedBits | None:
    """Measure bits per byte over the beginnings of documents; None if there is no text.

    Args:
        spellings: the vocabulary.
        encode: function from bytes to ids.
        documents: texts, see :func:`tokbench.evaluation.segmentations.excerpts`.
        after: the model.
        width: largest number of sequences that are followed.
        longest: largest number of bytes of an excerpt.
    """
    texts = excerpts(documents, longest)
    if not texts:
        return None
    measured = [summed_nats(spellings, text, tuple(encode(text)), after, width) for text in texts]
    summed, own, missed = (np.array(column) for column in zip(*measured, strict=True))
    sizes = np.array([len(text) for text in texts], np.float64)
    gap, low, high = interval_per_byte((own - summed) / math.log(2), sizes)
    per_byte = math.log(2) * sizes.sum()
    return {
        "bits_per_byte": float(summed.sum() / per_byte),
        "own_bits_per_byte": float(own.sum() / per_byte),
        "gap": gap,
        "low": low,
        "high": high,
        "missed": float(missed.mean()),
        "width": width,
        "documents": len(texts),
        "bytes": int(sizes.sum()),
    }
