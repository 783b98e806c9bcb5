"""What a byte language model takes, by its options: parameters, main memory, arithmetic and time."""

import os
from pathlib import Path

from tokbench.arithmetic import seconds
from tokbench.byte_lm.options import ByteLmOptions

BASE = 7.2e8
"""Bytes of a process that has imported what a neural model needs; 7.1e8 measured."""
BESIDE = 6e7
"""Bytes that its libraries take when they are first used."""
ON_GPU = 4e9
"""Bytes of main memory of one whose model is on a GPU: the driver, and buffers of transfers."""
STATE = 40
"""Bytes of a parameter in training: weight, gradient, the optimizer's two moments, and copies while all of these are
stored; 39 measured of 4 million parameters."""
WEIGHT = 8
"""Bytes of a parameter in scoring: the weight, and a copy while it is read."""
NUMBER = 4
TOKENS = 257
"""Numbers of a prediction."""
WIDTHS = 20
"""Numbers that a layer keeps for the backward pass, over tokens times width."""
INNER = 6
"""That over tokens times the inner width."""
PREDICTIONS = 4
"""Copies of the predictions: themselves, their probabilities, their gradient; in scoring those that entropy takes."""
HELD = 240
"""Bytes for each different window of an n-gram model while it is read: 240 of random bytes, which share least."""
COUNTED = 125e6, 33.3, 1.28
"""Bytes of text whose n-grams were counted, the seconds that it took, and the power of the text with which it grows."""
SCORED = 7e5
"""Bytes that an n-gram model scores a second: 125 MB were measured to take 173 seconds."""


def parameters(options: ByteLmOptions) -> int:
    """Parameters of a neural model."""
    layer = 4 * options.hidden**2 + 3 * options.hidden * options.feed_forward + 2 * options.hidden
    return TOKENS * options.hidden * (1 if options.tied_embeddings else 2) + options.layers * layer + options.hidden


def flops_per_byte(options: ByteLmOptions) -> float:
    """Floating-point operations of training for a byte, by the formula of
    :func:`tokbench.pretraining.flops.flops_per_token`."""
    layer = 4 * options.hidden**2 + 3 * options.hidden * options.feed_forward
    matrices = options.layers * layer + TOKENS * options.hidden
    return 6.0 * matrices + 12.0 * options.layers * options.hidden * options.context


def on_processor(options: ByteLmOptions) -> bool:
    """Whether the model is computed on processors; ``auto`` is for machines that have a GPU."""
    return options.device == "cpu"


def training_seconds(options: ByteLmOptions) -> float:
    """Seconds of a neural model's training by its arithmetic."""
    bytes_read = options.steps * options.batch * options.context
    return _seconds(options, bytes_read * flops_per_byte(options))


def scoring_seconds(options: ByteLmOptions, text: int) -> float:
    """Seconds in which a neural model scores so many bytes: a third of training's arithmetic, in every window that
    covers them."""
    windows = options.context / options.stride
    return _seconds(options, text * windows * flops_per_byte(options) / 3)


def counting_seconds(text: int) -> float:
    """Seconds in which the n-grams of so many bytes are counted."""
    size, taken, power = COUNTED
    return taken * (text / size) ** power


def training_room(options: ByteLmOptions, on_gpu: bool) -> float:
    """Bytes beside what is imported in which a neural model is trained."""
    state = STATE * parameters(options)
    if on_gpu:
        return ON_GPU + state
    tokens = (options.microbatch or options.batch) * options.context
    layers = options.layers * (WIDTHS * options.hidden + INNER * options.feed_forward)
    return BESIDE + state + NUMBER * tokens * (layers + PREDICTIONS * TOKENS)


def scoring_room(options: ByteLmOptions, on_gpu: bool) -> float:
    """Bytes beside what is imported, and beside the documents, in which a neural model scores."""
    weights = WEIGHT * parameters(options)
    if on_gpu:
        return ON_GPU + weights
    tokens = options.score_batch * options.context
    layer = WIDTHS * options.hidden + INNER * options.feed_forward
    return BESIDE + weights + NUMBER * tokens * (layer + PREDICTIONS * TOKENS)


def reading_room(folder: Path) -> int:
    """Bytes in which an n-gram model's folder is read; 0 where it is none, which its reader tells."""
    try:
        return HELD * (os.stat(folder / "windows.npy").st_size // 8)
    except OSError:
        return 0


def _seconds(options: ByteLmOptions, operations: float) -> float:
    return seconds(operations, options.precision, options.cpu_threads if on_processor(options) else None)
