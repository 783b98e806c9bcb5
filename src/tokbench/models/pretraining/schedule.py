"""Schedules of the learning rate: a linear rise, then half a cosine, or a power of the tokens and a decay."""

from collections.abc import Sequence
from math import cos, e, exp, pi

from tokbench.models.pretraining.options import ModelOptions


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
