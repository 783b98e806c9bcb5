"""What models take: parameters, main memory, arithmetic and time, by their options. Rules request it.

The coefficients are measured, or the most that was measured, rounded up.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from tokbench.io.json import read_json
from tokbench.io.parquet import parquet
from tokbench.models.pretraining.budget import flops_per_token
from tokbench.models.translation.options import SPECIAL

if TYPE_CHECKING:
    from tokbench.models.byte_lm.options import ByteLmOptions
    from tokbench.models.pretraining.options import ModelOptions
    from tokbench.models.translation.options import TranslationOptions

ON_GPU = 4e9
"""Bytes of main memory of a process whose model is on a GPU: the driver, and buffers of transfers."""
NUMBER = 4
"""Bytes of a number in float32."""
PROCESSOR = 2e10
"""Floating-point operations a second of one thread in float32: half of the 4e10 measured."""
GPU = {"bf16": 1e14, "fp32": 6.5e12}
"""Those of an A100: a third of the 312 and 19.5 TFLOP/s of its data sheet."""

# Byte language models

BYTE_LM_BASE = 7.2e8
"""Bytes of a process that has imported what a neural model needs; 7.1e8 measured."""
LIBRARIES = 6e7
"""Bytes that its libraries take when they are first used."""
BYTE_LM_STATE = 40
"""Bytes of a parameter in training: weight, gradient, the optimizer's two moments, and copies while all of these are
stored; 39 measured of 4 million parameters."""
BYTE_LM_WEIGHT = 8
"""Bytes of a parameter in scoring: the weight, and a copy while it is read."""
BYTE_LM_TOKENS = 257
"""Numbers of a prediction."""
WIDTHS = 20
"""Numbers that a layer keeps for the backward pass, over tokens times width."""
INNER = 6
"""That over tokens times the inner width."""
BYTE_LM_PREDICTIONS = 4
"""Copies of the predictions: themselves, their probabilities, their gradient; in scoring those that entropy takes."""
NGRAM_WINDOW = 240
"""Bytes for each different window of an n-gram model while it is read: 240 of random bytes, which share least."""
NGRAMS_COUNTED = 125e6, 33.3, 1.28
"""Bytes of text whose n-grams were counted, the seconds that it took, and the power of the text with which it grows."""
NGRAMS_SCORED = 7e5
"""Bytes that an n-gram model scores a second: 125 MB were measured to take 173 seconds."""

# Language models

BASE = 1.1e9
"""Bytes of a process that has imported what training needs; 1.04e9 measured."""
STATE = 20
"""Bytes of a parameter in training: weight, gradient, the optimizer's two moments, and a copy while it is stored."""
WEIGHT = 4
ACTIVATIONS = 34
"""What a layer keeps for the backward pass, over tokens times width, in the form of Korthikanti et al. 2022, eq. 2.
Theirs are bytes of half precision, twice as many in float32; a processor was measured to take twice that again, so
these count numbers of four bytes."""
SCORES = 5
"""That over heads times pairs of tokens, likewise."""
LOGITS = 3
"""Copies of the logits: themselves, their probabilities, their gradient; in scoring those that are scored, of all
windows one behind the other."""

# Translation models and evaluation

TRANSLATION_STATE = 24
"""Bytes of a parameter in training: weight, gradient, Adam's two moments, the best weights, a copy while stored."""
TRANSLATION_ACTIVATIONS = 40
"""Numbers that a layer keeps over tokens times width."""
TRANSLATION_LOGITS = 4
HYPOTHESIS = 4
"""Numbers that a layer keeps of a hypothesis and its sentence, each as long as the longest translation, over tokens
times width."""
PAIR = 1_200
"""Bytes of a pair of sentences, as text and as ids, beside those that grow with it."""
PAIR_BYTE = 6
"""Bytes of a pair for each of its text, as it lies in its file."""
DOCUMENT = 2_000
"""Bytes that are held of a document beside its text: its measures, with each cut of windows."""


def on_processor(options: "ByteLmOptions | ModelOptions") -> bool:
    """Whether the model is computed on processors; ``auto`` is for machines that have a GPU."""
    return options.device == "cpu"


def seconds(operations: float, precision: Literal["fp32", "bf16"], threads: int | None) -> float:
    """Seconds of so many floating-point operations.

    Args:
        operations: of one process.
        precision: of matrix products.
        threads: of a processor; None on a GPU.
    """
    return operations / (GPU[precision] if threads is None else PROCESSOR * threads)


def byte_lm_parameters(options: "ByteLmOptions") -> int:
    """Parameters of a neural model."""
    layer = 4 * options.hidden**2 + 3 * options.hidden * options.feed_forward + 2 * options.hidden
    return (
        BYTE_LM_TOKENS * options.hidden * (1 if options.tied_embeddings else 2)
        + options.layers * layer
        + options.hidden
    )


def byte_lm_flops_per_byte(options: "ByteLmOptions") -> float:
    """Floating-point operations of training for a byte, by the formula of
    :func:`tokbench.models.pretraining.budget.flops_per_token`."""
    layer = 4 * options.hidden**2 + 3 * options.hidden * options.feed_forward
    matrices = options.layers * layer + BYTE_LM_TOKENS * options.hidden
    return 6.0 * matrices + 12.0 * options.layers * options.hidden * options.context


def byte_lm_training_seconds(options: "ByteLmOptions") -> float:
    """Seconds of a neural model's training by its arithmetic."""
    bytes_read = options.steps * options.batch * options.context
    return _byte_lm_seconds(options, bytes_read * byte_lm_flops_per_byte(options))


def byte_lm_scoring_seconds(options: "ByteLmOptions", text: int) -> float:
    """Seconds in which a neural model scores so many bytes: a third of training's arithmetic, in every window that
    covers them."""
    windows = options.context / options.stride
    return _byte_lm_seconds(options, text * windows * byte_lm_flops_per_byte(options) / 3)


def ngram_counting_seconds(text: int) -> float:
    """Seconds in which the n-grams of so many bytes are counted."""
    size, taken, power = NGRAMS_COUNTED
    return taken * (text / size) ** power


def byte_lm_training_memory(options: "ByteLmOptions", on_gpu: bool) -> float:
    """Bytes beside what is imported in which a neural model is trained."""
    state = BYTE_LM_STATE * byte_lm_parameters(options)
    if on_gpu:
        return ON_GPU + state
    tokens = (options.microbatch or options.batch) * options.context
    layers = options.layers * (WIDTHS * options.hidden + INNER * options.feed_forward)
    return LIBRARIES + state + NUMBER * tokens * (layers + BYTE_LM_PREDICTIONS * BYTE_LM_TOKENS)


def byte_lm_scoring_memory(options: "ByteLmOptions", on_gpu: bool) -> float:
    """Bytes beside what is imported, and beside the documents, in which a neural model scores."""
    weights = BYTE_LM_WEIGHT * byte_lm_parameters(options)
    if on_gpu:
        return ON_GPU + weights
    tokens = options.score_batch * options.context
    layer = WIDTHS * options.hidden + INNER * options.feed_forward
    return LIBRARIES + weights + NUMBER * tokens * (layer + BYTE_LM_PREDICTIONS * BYTE_LM_TOKENS)


def ngram_memory(folder: Path) -> int:
    """Bytes in which an n-gram model's folder is read; 0 where it is none, which its reader tells."""
    try:
        return NGRAM_WINDOW * (os.stat(folder / "windows.npy").st_size // 8)
    except OSError:
        return 0


def _byte_lm_seconds(options: "ByteLmOptions", operations: float) -> float:
    return seconds(operations, options.precision, options.cpu_threads if on_processor(options) else None)


def lm_parameters(options: "ModelOptions", vocabulary: int) -> int:
    """Parameters of a model over a tokenizer of so many tokens: tied embeddings, no biases."""
    width = options.d_model
    layer = options.layer_weights + 2 * width
    return options.vocabulary_rows(vocabulary) * width + options.n_layers * layer + width


def lm_training_memory(options: "ModelOptions", vocabulary: int) -> float:
    """Bytes of main memory of a node in which a model is trained, each process with a model of its own."""
    each = options.resources.processes_per_node
    if not on_processor(options):
        return each * (ON_GPU + STATE * lm_parameters(options, vocabulary))
    share = options.batch // options.resources.processes
    sequences = share if options.microbatch == "auto" else min(options.microbatch, share)
    tokens = sequences * options.max_seq_len
    kept = options.n_layers * (ACTIVATIONS * options.d_model + SCORES * options.n_heads * options.max_seq_len)
    logits = LOGITS * options.vocabulary_rows(vocabulary)
    return each * (BASE + STATE * lm_parameters(options, vocabulary) + NUMBER * tokens * (kept + logits))


def lm_starting_memory(options: "ModelOptions", vocabulary: int) -> float:
    """Bytes of main memory of a node with less than which no training of a model comes to its first batch.

    On processors what :func:`lm_training_memory` reckons. For a GPU that is what is safe to ask for, and this the whole
    model in each process, which makes it in main memory.
    """
    if on_processor(options):
        return lm_training_memory(options, vocabulary)
    return options.resources.processes_per_node * (BASE + WEIGHT * lm_parameters(options, vocabulary))


def lm_applying_memory(options: "ModelOptions", vocabulary: int, sequences: int) -> float:
    """Bytes of main memory in which a model scores so many sequences at a time."""
    weights = WEIGHT * lm_parameters(options, vocabulary)
    rows, tokens = options.vocabulary_rows(vocabulary), sequences * options.max_seq_len
    return scoring_memory(weights, rows, options.d_model, tokens, on_gpu=not on_processor(options))


def scoring_memory(weights: int, rows: int, width: int, tokens: int, *, on_gpu: bool) -> float:
    """Bytes of main memory in which any model scores so many tokens at a time.

    Args:
        weights: bytes of the model's.
        rows: of its output layer.
        width: numbers of a token between its layers.
        tokens: scored at a time.
        on_gpu: whether it is computed there.
    """
    if on_gpu:
        return ON_GPU + weights
    return BASE + weights + NUMBER * tokens * (LOGITS * rows + 8 * width)


def lm_training_operations(options: "ModelOptions", vocabulary: int) -> float | None:
    """Floating-point operations of a training; None where its budget is one of text."""
    if options.flops is not None:
        return options.flops
    if options.batches is None:
        return None
    return options.batches * options.batch * options.max_seq_len * flops_per_token(options, vocabulary)


def lm_training_seconds(options: "ModelOptions", operations: float) -> float:
    """Seconds of a training by its floating-point operations."""
    threads = options.cpu_threads if on_processor(options) else None
    return seconds(operations / options.resources.processes, options.precision, threads)


def translation_parameters(options: "TranslationOptions", source: int, target: int, *, joint: bool) -> int:
    """Parameters over tokenizers of so many ids: one embedding for a joint vocabulary, otherwise two of equal height,
    the decoder's shared with the output layer; biases and norms included, positions are not learnt."""
    width, inner = options.d_model, options.feed_forward
    attention = 4 * (width * width + width)
    forward = 2 * width * inner + inner + width
    norm = 2 * width
    encoder = options.encoder_layers * (attention + forward + 2 * norm)
    decoder = options.decoder_layers * (2 * attention + forward + 3 * norm)
    return (max(source, target) + SPECIAL) * width * (1 if joint else 2) + encoder + decoder


def translation_training_flops(
    options: "TranslationOptions", source: NDArray[np.int64], target: NDArray[np.int64], vocabulary: int
) -> float:
    """Floating-point operations of training on pairs once, padding left out.

    As :func:`tokbench.models.pretraining.budget.flops_per_token` counts them: six for a weight and each token that it
    is multiplied with, and twelve for a layer's width and each pair of tokens, one of which attends to the other. Keys
    and values by which the decoder attends to the source are the source's.

    Args:
        options: the recipe.
        source, target: tokens of each sentence, int64 [pairs].
        vocabulary: ids of the larger of both tokenizers.
    """
    width, inner = options.d_model, options.feed_forward
    matrix, forward = width * width, 2 * width * inner
    of_source = options.encoder_layers * (4 * matrix + forward) + options.decoder_layers * 2 * matrix
    of_target = options.decoder_layers * (6 * matrix + forward) + (vocabulary + SPECIAL) * width
    within = options.encoder_layers * source @ source + options.decoder_layers * target @ (source + target)
    return 6.0 * (int(source.sum()) * of_source + int(target.sum()) * of_target) + 12.0 * width * int(within)


def translation_training_memory(
    options: "TranslationOptions", source: int, target: int, *, joint: bool, on_gpu: bool = False
) -> float:
    """Bytes of main memory in which a model is trained, its pairs not counted."""
    if on_gpu:
        return ON_GPU
    layers = options.encoder_layers + options.decoder_layers
    kept = layers * TRANSLATION_ACTIVATIONS * options.d_model + TRANSLATION_LOGITS * (max(source, target) + SPECIAL)
    weights = TRANSLATION_STATE * translation_parameters(options, source, target, joint=joint)
    return BASE + weights + NUMBER * options.batch_tokens * kept


def pairs_memory(split: Path) -> int:
    """Bytes in which the pairs of a split are held.

    Raises:
        TokbenchError: it is not there or cannot be read.
    """
    with parquet(split, "a split of a parallel corpus", "prepare the parallel corpus again") as file:
        groups = (file.metadata.row_group(group) for group in range(file.num_row_groups))
        return int(PAIR * file.metadata.num_rows + PAIR_BYTE * sum(group.total_byte_size for group in groups))


def translation_search_memory(options: "TranslationOptions", model: Path, *, on_gpu: bool) -> float:
    """Bytes of main memory in which sentences are searched, they themselves not counted.

    Args:
        options: of the search.
        model: folder that training wrote; of one that is none, what libraries take alone is told.
        on_gpu: whether it is computed there.
    """
    if on_gpu:
        return ON_GPU
    if not (model / "config.json").is_file():
        return BASE
    config = read_json(model / "config.json", "train the model again")
    sizes = (config.get(name) for name in ("d_model", "decoder_layers", "decoder_vocab_size"))
    width, layers, rows = (size if type(size) is int else 0 for size in sizes)
    kept = HYPOTHESIS * width * layers * options.max_tokens
    weights = sum(file.stat().st_size for file in model.glob("*.safetensors"))
    return BASE + weights + NUMBER * options.translate_batch * options.beam * (kept + TRANSLATION_LOGITS * rows)


def documents_memory(shards: Iterable[Path | str]) -> int:
    """Bytes in which the documents of shards are held.

    Raises:
        TokbenchError: one of them is not there or damaged.
    """
    held = 0
    for path in shards:
        with parquet(path, "a readable corpus shard", "delete its corpus and prepare it again") as file:
            groups = (file.metadata.row_group(group) for group in range(file.num_row_groups))
            held += DOCUMENT * file.metadata.num_rows + sum(group.total_byte_size for group in groups)
    return held
