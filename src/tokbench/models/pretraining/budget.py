"""Training budgets in text, tokens or arithmetic, the text that a model reads, and learning-rate schedules.

Arithmetic is counted by a formula and not measured. Schedules are a linear warm-up, then half a cosine, or a power of
the number of tokens with a final decay.
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

PACKING = "packing.json"
"""File that describes a folder of packed sequences. It contains no times, so equal text gives equal files."""


def flops_per_token(options: ModelOptions, vocabulary: int) -> float:
    """Return floating-point operations of training per token, see :mod:`tokbench.costs.transformer`.

    The embedding matrix counts once, with its padding: it is multiplied in the softmax but only read as embedding.

    Args:
        options: the recipe.
        vocabulary: tokens of the tokenizer, without special ones.
    """
    return options.transformer(vocabulary).training_flops


@dataclass(frozen=True, slots=True)
class Packing:
    """Description of a folder of packed sequences, and of how a training reads it.

    A training reads the sequences in order, in repeated passes. A budget of text is ``passes`` complete passes and the
    first ``rest_tokens`` tokens of another one.

    Attributes:
        documents: documents of the sequences.
        text_bytes: their bytes.
        tokens: their tokens, including one end of text per document.
        sequences: sequences written.
        padding: padding ids at the end of the last sequence.
        sequence_length: ids per sequence.
        vocabulary: tokens of the tokenizer, without special ones.
        end_of_text: id at the end of every document. The padding has the id ``vocabulary + 1``.
        tokenizer: digest of the tokenizer, see :attr:`tokbench.tokenizer.tokenizer.Tokenizer.digest`.
        seed: seed of the order of the documents.
        split_bytes: bytes of all documents of the split.
        budget: budget of text as a string, see :func:`of_text`; empty for other budgets.
        passes: complete passes; 0 if the budget is not one of text.
        rest_documents: documents of the last, incomplete pass.
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
    tokenizer: str
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
            TokbenchError: there is none, or it is from another version.
        """
        remedy = "make it with 'tokbench pack'"
        values = read_json(folder / PACKING, remedy)
        for field in fields(cls):
            if type(values.get(field.name)) is not field.type:
                raise TokbenchError(
                    f"{folder / PACKING}: the key '{field.name}' is missing or has another type; {remedy}"
                )
        if len(values) > len(fields(cls)):
            raise TokbenchError(f"{folder / PACKING}: not packed sequences of this version; {remedy}")
        return cls(**values)

    def write(self, folder: Path) -> None:
        """Write the description into a folder."""
        (folder / PACKING).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


@dataclass(frozen=True, slots=True)
class TextBudget:
    """Budget in passes over the split or in bytes. It includes the document that reaches it.

    Attributes:
        epochs: number of passes. Default: None.
        text_bytes: number of bytes, used instead of ``epochs`` if given. Default: None.
    """

    epochs: float | None = None
    text_bytes: int | None = None

    def bytes_of(self, split_bytes: int) -> int:
        """Return the budget in bytes, at least 1, for a split of ``split_bytes`` bytes."""
        if self.text_bytes is not None:
            return self.text_bytes
        return max(1, int(Fraction(self.epochs or 0.0) * split_bytes))

    def by_phase(self, second: float) -> tuple["TextBudget", "TextBudget"]:
        """Return the budget of each phase, where ``second`` is the size of the second phase relative to the first."""
        if self.text_bytes is None:
            return self, self
        second_bytes = _second_part(self.text_bytes, second)
        return TextBudget(text_bytes=self.text_bytes - second_bytes), TextBudget(text_bytes=second_bytes)

    def __str__(self) -> str:
        return f"text_bytes {self.text_bytes}" if self.text_bytes is not None else f"epochs {self.epochs!r}"


def of_text(options: ModelOptions) -> TextBudget | None:
    """Return a recipe's budget of text; None if its budget is in tokens or arithmetic."""
    if options.epochs is None and options.text_bytes is None:
        return None
    return TextBudget(options.epochs, options.text_bytes)


def by_phase(options: ModelOptions) -> tuple[ModelOptions, ...]:
    """Return one recipe per phase, each with its part of the budget. A recipe with one phase is returned unchanged."""
    second = options.second_phase
    if second is None:
        return (options,)
    parts: list[dict[str, object]] = [{"second_phase": None}, {"second_phase": None}]
    if options.batches is not None:
        second_batches = _second_part(options.batches, second)
        parts[0]["batches"], parts[1]["batches"] = options.batches - second_batches, second_batches
    if options.flops is not None:
        parts[0]["flops"], parts[1]["flops"] = options.flops / (1 + second), options.flops * second / (1 + second)
    if (budget := of_text(options)) is not None:
        for part, phase_budget in zip(parts, budget.by_phase(second), strict=True):
            part["text_bytes"] = phase_budget.text_bytes
    return tuple(options.model_copy(update=part) for part in parts)


def _second_part(whole: int, second: float) -> int:
    """Return the second phase's part of an integer of 2 or more, at least 1."""
    return max(1, round(whole * Fraction(second) / (1 + Fraction(second))))


@dataclass(frozen=True, slots=True)
class Course:
    """A training's path through packed sequences: repeated passes in their order.

    Attributes:
        batches: number of batches.
        sequences: number of sequences. The last batch of a budget of text may be incomplete.
        last: number of ids of the last sequence that are trained on.
        flops: floating-point operations, see :func:`flops_per_token`.
    """

    batches: int
    sequences: int
    last: int
    flops: float


def checkpoint_batches(options: ModelOptions, batches: int) -> dict[str, int]:
    """Return the batch after which each requested checkpoint is kept, by its share as text."""
    return {repr(share): max(1, round(share * batches)) for share in options.evaluate_at}


def course(options: ModelOptions, packing: Packing) -> Course:
    """Return the path of a recipe through packed sequences.

    Raises:
        TokbenchError: the sequences were packed for another budget or seed, there are fewer than one batch, or the
            budget is less than one batch.
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
                f"flops: {options.flops:g} is less than one batch needs, {per_sequence * batch:g}; raise flops"
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
    """Amount of text that a model reads in training.

    Attributes:
        documents: documents, counted each time they are read, including an incomplete last one.
        text_bytes: their bytes; None if the tokens' bytes are unknown.
        tokens: their tokens, including ends of text.
        sequences: sequences, including an incomplete last one.
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
    """Return exactly how much text a training on packed sequences reads.

    Args:
        packing: description of the sequences.
        course: the training's path through them.
        sequences: their ids in order, in pieces of any size.
        lengths: int64 [vocabulary], bytes of each token; None if unknown.
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
    """Return documents, bytes and tokens of the first ``size`` ids. An incomplete last document counts."""
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
    """Return the learning rate of a batch.

    Args:
        options: the recipe.
        batch: its number, from 0.
        phases: number of batches of each phase.
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
    """Return the learning rate of a batch under a cosine schedule, relative to the highest, from 0 to 1.

    Args:
        batch: its number, from 0.
        batches: number of batches of the training.
        warmup: share of them in which the rate rises. The first has a rate above 0, the last of them the highest.
        last: relative rate of the last batch.
    """
    return _cosine(batch, batches, int(warmup * batches), last)


def power(options: ModelOptions, batches: int) -> float:
    """Return the Power Scheduler's learning rate after ``batches`` batches, without its upper bound.

    Shen et al. 2024 (arXiv 2408.13359): amplitude x sequences per batch x (tokens trained on)^exponent. It does not
    depend on the length of the training. A shorter training is therefore the beginning of a longer one.
    """
    tokens = batches * options.batch * options.max_seq_len
    return float(options.amplitude * options.batch * tokens**options.exponent)


def exponential(batch: int, batches: int, last: float) -> float:
    """Return the learning rate of a batch in a decay phase, relative to the rate at the end of the first phase.

    The schedule is a shifted and scaled exponential, from 1 before the first batch to ``last``. It follows the Dolomite
    Engine, which trained the models of the GreedTok paper.

    Args:
        batch: its number in the phase, from 0.
        batches: number of batches of the phase.
        last: relative rate of the last batch.
    """
    return ((1.0 - last) * exp(1.0 - (batch + 1) / batches) + last * e - 1.0) / (e - 1.0)


def _cosine(batch: int, batches: int, rising: int, last: float) -> float:
    if batch < rising:
        return (batch + 1) / rising
    fallen = (batch + 1 - rising) / (batches - rising)
    return last + (1.0 - last) * (1.0 + cos(pi * fallen)) / 2.0
