"""Budgets: the length of a training in text, tokens or arithmetic, and the text that a model has read.

Arithmetic of training: floating-point operations, counted by a formula and not measured.

Schedules of the learning rate: a linear rise, then half a cosine, or a power of the tokens and a decay.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from math import cos, e, exp, pi
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.io.json import read_json
from tokbench.models.pretraining.options import ModelOptions


def flops_per_token(options: ModelOptions, vocabulary: int) -> float:
    """Floating-point operations of training for a token.

    A matrix of n weights takes 2 n operations a token forwards and 4 n backwards (Kaplan et al. 2020). Counted are the
    layers' matrices and, once, the embedding matrix, which as the softmax's is multiplied and as the embedding only
    read. Attention adds 12 x layers x width x length, all scores counted, those of the future too (Chowdhery et al.
    2022, appendix B). Rows of the embedding matrix that pad it are counted, for they are computed.

    Args:
        options: the recipe.
        vocabulary: tokens of the tokenizer, special ones not counted.
    """
    layers = options.n_layers * options.layer_weights
    softmax = options.vocabulary_rows(vocabulary) * options.d_model
    return 6.0 * (layers + softmax) + 12.0 * options.n_layers * options.d_model * options.max_seq_len


PACKING = "packing.json"
"""File that describes a folder of packed sequences; it holds no times, so equal text gives equal files."""


@dataclass(frozen=True, slots=True)
class Packing:
    """Description of a folder of packed sequences, and of how a training reads it.

    A training reads the sequences in their order, pass after pass. A budget of text is ``passes`` complete passes and
    the first ``rest_tokens`` tokens of another one.

    Attributes:
        documents: documents of the sequences.
        text_bytes: their bytes.
        tokens: their tokens, one end of text a document included.
        sequences: sequences written.
        padding: ids at the end of the last sequence that are no tokens of the text.
        sequence_length: ids in a sequence.
        vocabulary: tokens of the tokenizer, special ones not counted.
        end_of_text: id that ends every document; that of the padding is ``vocabulary + 1``.
        seed: decided the order of the documents.
        split_bytes: bytes of all documents that there are.
        budget: the budget of text, see :func:`of_text`; empty where it is none of text.
        passes: complete passes; 0 where the budget is none of text.
        rest_documents: documents of the last pass, which is incomplete.
        rest_text_bytes: their bytes.
        rest_tokens: their tokens.
        digest: BLAKE2 of the ids written, as little-endian int32.
    """

    documents: int
    text_bytes: int
    tokens: int
    sequences: int
    padding: int
    sequence_length: int
    vocabulary: int
    end_of_text: int
    seed: int
    split_bytes: int
    budget: str
    passes: int
    rest_documents: int
    rest_text_bytes: int
    rest_tokens: int
    digest: str

    def describe(self) -> str:
        """Return the description in one sentence."""
        return (
            f"{self.sequences:,} sequences of {self.sequence_length:,} ids: {self.documents:,} documents, "
            f"{self.text_bytes:,} bytes, {self.tokens:,} tokens with an end of text ({self.end_of_text}) each"
        )

    @classmethod
    def read(cls, folder: Path) -> "Packing":
        """Read the description of a folder of packed sequences.

        Raises:
            TokbenchError: there is none.
        """
        remedy = "make it with 'tokbench pack'"
        values = read_json(folder / PACKING, remedy)
        for field in fields(cls):
            if type(values.get(field.name)) is not field.type:
                raise TokbenchError(f"{folder / PACKING}: no key '{field.name}' of its type; {remedy}")
        if len(values) > len(fields(cls)):
            raise TokbenchError(f"{folder / PACKING}: not packed sequences of this version; {remedy}")
        return cls(**values)

    def write(self, folder: Path) -> None:
        """Write it into a folder."""
        (folder / PACKING).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


@dataclass(frozen=True, slots=True)
class TextBudget:
    """Text that a training reads: passes over the split, or bytes. A budget ends with the document that reaches it.

    Attributes:
        epochs: passes.
        text_bytes: bytes, where the passes are not told.
    """

    epochs: float | None = None
    text_bytes: int | None = None

    def bytes_of(self, split_bytes: int) -> int:
        """The bytes, 1 or more, of a split of so many."""
        if self.text_bytes is not None:
            return self.text_bytes
        return max(1, int(Fraction(self.epochs or 0.0) * split_bytes))

    def by_phase(self, second: float) -> tuple["TextBudget", "TextBudget"]:
        """What of it each phase reads, where the second is so large a part of the first."""
        if self.text_bytes is None:
            return self, self
        aside = _second(self.text_bytes, second)
        return TextBudget(text_bytes=self.text_bytes - aside), TextBudget(text_bytes=aside)

    def __str__(self) -> str:
        return f"text_bytes {self.text_bytes}" if self.text_bytes is not None else f"epochs {self.epochs!r}"


def of_text(options: ModelOptions) -> TextBudget | None:
    """A recipe's budget of text; None where it is one of tokens or of arithmetic."""
    if options.epochs is None and options.text_bytes is None:
        return None
    return TextBudget(options.epochs, options.text_bytes)


def by_phase(options: ModelOptions) -> tuple[ModelOptions, ...]:
    """A recipe's phases, each as a recipe of its own with its part of the budget; itself where it has but one."""
    second = options.second_phase
    if second is None:
        return (options,)
    parts: list[dict[str, object]] = [{"second_phase": None}, {"second_phase": None}]
    if options.batches is not None:
        aside = _second(options.batches, second)
        parts[0]["batches"], parts[1]["batches"] = options.batches - aside, aside
    if options.flops is not None:
        parts[0]["flops"], parts[1]["flops"] = options.flops / (1 + second), options.flops * second / (1 + second)
    if (budget := of_text(options)) is not None:
        for part, own in zip(parts, budget.by_phase(second), strict=True):
            part["text_bytes"] = own.text_bytes
    return tuple(options.model_copy(update=part) for part in parts)


def _second(whole: int, second: float) -> int:
    """The second phase's part of a whole number, at least 1 of 2 or more."""
    return max(1, round(whole * Fraction(second) / (1 + Fraction(second))))


@dataclass(frozen=True, slots=True)
class Course:
    """A training's way through packed sequences: pass after pass, in their order.

    Attributes:
        batches: batches.
        sequences: sequences in them; the last batch of a budget of text may not be full.
        last: ids of the last sequence that are trained on.
        flops: floating-point operations, see :mod:`tokbench.models.pretraining.budget`.
    """

    batches: int
    sequences: int
    last: int
    flops: float


def kept_at(options: ModelOptions, batches: int) -> dict[str, int]:
    """After which of so many batches each checkpoint is kept that a recipe asks for, by its share as text."""
    return {repr(share): max(1, round(share * batches)) for share in options.evaluate_at}


def course(options: ModelOptions, packing: Packing) -> Course:
    """The way of a recipe through these sequences.

    Raises:
        TokbenchError: they were packed for another budget or in the order of another seed, or there are fewer than a
            batch, or the budget is less than one.
    """
    budget, batch = of_text(options), options.batch
    if (packing.budget, packing.seed) != (str(budget or ""), options.seed):
        raise TokbenchError(
            f"packed for {packing.budget or 'any number of batches'} in the order of seed {packing.seed}, and the "
            f"model reads {budget or 'batches'} in that of {options.seed}; pack again"
        )
    per_sequence = flops_per_token(options, packing.vocabulary) * packing.sequence_length
    if budget is None:
        batches = options.batches or int((options.flops or 0.0) / (per_sequence * batch))
        if not batches:
            raise TokbenchError(
                f"flops: {options.flops:g} is less than one batch takes, {per_sequence * batch:g}; raise flops"
            )
        sequences = batches * batch
        last = packing.sequence_length - packing.padding * (not sequences % packing.sequences)
    else:
        of_rest = -(-packing.rest_tokens // packing.sequence_length)
        sequences = packing.passes * packing.sequences + of_rest
        batches = -(-sequences // batch)
        ends = packing.rest_tokens or packing.tokens
        last = (ends - 1) % packing.sequence_length + 1
    if (fewest := min(packing.sequences, sequences)) < batch:
        raise TokbenchError(f"batch: {batch} sequences, but there are only {fewest}; lower batch, or read more text")
    return Course(batches, sequences, last, per_sequence * batches * batch)


@dataclass(frozen=True, slots=True)
class TextRead:
    """What a model has read in training.

    Attributes:
        documents: documents, as often as it read them; the last one may not be whole.
        text_bytes: their bytes; None where the tokens' bytes are not known.
        tokens: their tokens, ends of text among them.
        sequences: sequences, the last one maybe not whole.
        batches: batches.
        flops: floating-point operations.
    """

    documents: int
    text_bytes: int | None
    tokens: int
    sequences: int
    batches: int
    flops: float


def reading(
    packing: Packing, course: Course, sequences: Iterable[NDArray[np.int32]], lengths: NDArray[np.int64] | None
) -> TextRead:
    """What a training on packed sequences reads, exactly.

    Args:
        packing: what is known of them.
        course: the training's way through them.
        sequences: their ids, in any pieces, in order.
        lengths: int64 [vocabulary], bytes of each token; None where they are not known.
    """
    known = True
    if packing.budget:
        whole = packing.passes
        rest = packing.rest_documents, packing.rest_text_bytes, packing.rest_tokens
    else:
        whole, more = divmod(course.sequences, packing.sequences)
        rest = _prefix(packing, sequences, more * packing.sequence_length, lengths) if more else (0, 0, 0)
        known = lengths is not None or not more
    return TextRead(
        documents=whole * packing.documents + rest[0],
        text_bytes=whole * packing.text_bytes + rest[1] if known else None,
        tokens=whole * packing.tokens + rest[2],
        sequences=course.sequences,
        batches=course.batches,
        flops=course.flops,
    )


def _prefix(
    packing: Packing, sequences: Iterable[NDArray[np.int32]], size: int, lengths: NDArray[np.int64] | None
) -> tuple[int, int, int]:
    """Documents, the last of which may not be whole, bytes and tokens of the first ids."""
    sizes = np.zeros(packing.vocabulary + 2, np.int64)
    if lengths is not None:
        sizes[: packing.vocabulary] = lengths
    documents = text_bytes = left = 0
    ids = np.empty(0, np.int32)
    left = size
    for piece in sequences:
        ids = piece[:left]
        documents += int(np.count_nonzero(ids == packing.end_of_text))
        text_bytes += int(sizes[ids].sum())
        left -= len(ids)
        if not left:
            break
    begun = bool(len(ids)) and int(ids[-1]) != packing.end_of_text
    return documents + begun, text_bytes, size


def learning_rate(options: ModelOptions, batch: int, phases: Sequence[int]) -> float:
    """The learning rate of a batch.

    Args:
        options: the recipe.
        batch: its number, from 0.
        phases: batches of each phase of the training.
    """
    batches = sum(phases)
    rising = int(options.warmup * batches) if options.warmup_batches is None else options.warmup_batches
    if options.schedule == "cosine":
        return options.learning_rate * _cosine(batch, batches, rising, options.alpha_f)
    first = phases[0]
    highest = min(options.learning_rate, power(options, min(batch + 1, first)))
    if batch < rising:
        highest = min(options.learning_rate, power(options, rising)) * (batch + 1) / rising
    return highest if batch < first else highest * exponential(batch - first, batches - first, options.alpha_f)


def rate(batch: int, batches: int, warmup: float, last: float) -> float:
    """Share of the highest learning rate that a batch is trained with: as a number from 0 to 1.

    Args:
        batch: its number, from 0.
        batches: batches of the training.
        warmup: share of them in which the rate rises; the first is trained with a rate above 0, the last of them with
            the highest.
        last: the last batch's share of the highest rate.
    """
    return _cosine(batch, batches, int(warmup * batches), last)


def power(options: ModelOptions, batches: int) -> float:
    """The Power Scheduler's learning rate after so many batches, its upper bound left out.

    Shen et al. 2024 (arXiv 2408.13359): amplitude x sequences of a batch x tokens trained on ^ exponent. It depends on
    no length of the training, so that one which is ended early is the beginning of one that is not.
    """
    tokens = batches * options.batch * options.max_seq_len
    return float(options.amplitude * options.batch * tokens**options.exponent)


def exponential(batch: int, batches: int, last: float) -> float:
    """Share of a phase's first learning rate that a batch of it is trained with.

    An exponential, shifted and scaled to begin before the first batch with 1 and to end with ``last``: that of the
    Dolomite Engine, with which the GreedTok paper trained.

    Args:
        batch: its number in the phase, from 0.
        batches: batches of the phase.
        last: the last batch's share.
    """
    return ((1.0 - last) * exp(1.0 - (batch + 1) / batches) + last * e - 1.0) / (e - 1.0)


def _cosine(batch: int, batches: int, rising: int, last: float) -> float:
    if batch < rising:
        return (batch + 1) / rising
    fallen = (batch + 1 - rising) / (batches - rising)
    return last + (1.0 - last) * (1.0 + cos(pi * fallen)) / 2.0
