"""Estimates of parameters, memory, arithmetic and time of models, which the workflow's rules request.

Each coefficient is a measurement, or the largest of several measurements, rounded up.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from tokbench.io.json import read_json
from tokbench.io.parquet import parquet
from tokbench.models.byte_lm.options import TOKENS, ByteLmOptions, byte_lm_flops_per_byte
from tokbench.models.pretraining.budget import flops_per_token
from tokbench.models.pretraining.options import ModelOptions
from tokbench.models.translation.options import SPECIAL, TranslationOptions

ON_GPU = 4e9
"""Bytes of main memory of a process whose model is on a GPU: the driver and transfer buffers."""
NUMBER = 4
"""Bytes of a float32 number."""
PROCESSOR = 2e10
"""Floating-point operations per second of one thread in float32: half of the measured 4e10."""
GPU = {"bf16": 1e14, "fp32": 6.5e12}
"""Floating-point operations per second of an A100: a third of the 312 and 19.5 TFLOP/s in its data sheet."""

# Byte language models

BYTE_LM_BASE = 7.2e8
"""Bytes of a process after importing the libraries of a neural model. 7.1e8 were measured."""
LIBRARIES = 6e7
"""Bytes that these libraries allocate on first use."""
BYTE_LM_STATE = 40
"""Bytes per parameter in training: weight, gradient, the optimizer's two moments, and copies of all these while a
checkpoint is written. 39 were measured with 4 million parameters."""
BYTE_LM_WEIGHT = 8
"""Bytes per parameter in scoring: the weight, and a copy while it is read."""
WIDTHS = 20
"""Numbers that a layer keeps for the backward pass, per token and unit of width."""
INNER = 6
"""Numbers that a layer keeps for the backward pass, per token and unit of inner width."""
BYTE_LM_PREDICTIONS = 4
"""Copies of the predictions: logits, probabilities and their gradient. In scoring, the temporaries of the entropy."""
NGRAM_WINDOW = 240
"""Bytes per distinct window of an n-gram model while it is read: 240 with random bytes, the worst case."""
NGRAMS_COUNTED = 125e6, 33.3, 1.28
"""Bytes of text in a measured n-gram count, its seconds, and the exponent with which time grows with the text."""
NGRAMS_SCORED = 7e5
"""Bytes per second that an n-gram model scores. 125 MB took 173 seconds."""

# Language models

BASE = 1.1e9
"""Bytes of a process after importing the training libraries. 1.04e9 were measured."""
STATE = 20
"""Bytes per parameter in training: weight, gradient, the optimizer's two moments, and a copy while it is written."""
WEIGHT = 4
ACTIVATIONS = 34
"""Numbers that a layer keeps for the backward pass, per token and unit of width, in the form of Korthikanti et al.
2022, eq. 2. Their unit is bytes in half precision. Float32 needs twice that, and a CPU was measured to need twice that
again. The unit here is therefore four bytes."""
SCORES = 5
"""The same per head and pair of tokens."""
LOGITS = 3
"""Copies of the logits: logits, probabilities and their gradient. In scoring, the scored logits of all windows."""

# Translation models and evaluation

TRANSLATION_STATE = 24
"""Bytes per parameter in training: weight, gradient, Adam's two moments, the best weights, and a copy while they are
written."""
TRANSLATION_ACTIVATIONS = 40
"""Numbers that a layer keeps, per token and unit of width."""
TRANSLATION_LOGITS = 4
HYPOTHESIS = 4
"""Numbers that a layer keeps per hypothesis and sentence, per token of the longest translation and unit of width."""
PAIR = 1_200
"""Bytes per pair of sentences as text and ids, without the part that grows with its length."""
PAIR_BYTE = 6
"""Bytes per byte of a pair's text in its file."""
DOCUMENT = 2_000
"""Bytes per document in addition to its text: its measures, for each kind of windows."""


def on_processor(options: ByteLmOptions | ModelOptions) -> bool:
    """Return True if the model is computed on CPUs. ``auto`` assumes a GPU."""
    return options.device == "cpu"


def seconds(operations: float, precision: Literal["fp32", "bf16"], threads: int | None) -> float:
    """Return the seconds for a number of floating-point operations.

    Args:
        operations: operations of one process.
        precision: precision of matrix products.
        threads: CPU threads; None on a GPU.
    """
    return operations / (GPU[precision] if threads is None else PROCESSOR * threads)


def byte_lm_parameters(options: ByteLmOptions) -> int:
    """Return the number of parameters of a neural byte-level model."""
    layer = 4 * options.hidden**2 + 3 * options.hidden * options.feed_forward + 2 * options.hidden
    return TOKENS * options.hidden * (1 if options.tied_embeddings else 2) + options.layers * layer + options.hidden


def byte_lm_training_seconds(options: ByteLmOptions) -> float:
    """Return the estimated seconds of training a neural byte-level model."""
    bytes_read = options.steps * options.batch * options.context
    return _byte_lm_seconds(options, bytes_read * byte_lm_flops_per_byte(options))


def byte_lm_scoring_seconds(options: ByteLmOptions, text: int) -> float:
    """Return the estimated seconds of scoring ``text`` bytes with a neural model.

    Scoring needs a third of the arithmetic of training, in every window that covers a byte.
    """
    windows = options.context / options.stride
    return _byte_lm_seconds(options, text * windows * byte_lm_flops_per_byte(options) / 3)


def ngram_counting_seconds(text: int) -> float:
    """Return the estimated seconds of counting the n-grams of ``text`` bytes."""
    size, seconds_taken, power = NGRAMS_COUNTED
    return seconds_taken * (text / size) ** power


def byte_lm_training_memory(options: ByteLmOptions, on_gpu: bool) -> float:
    """Return the bytes of memory for training a neural byte-level model, without imported libraries."""
    state = BYTE_LM_STATE * byte_lm_parameters(options)
    if on_gpu:
        return ON_GPU + state
    tokens = (options.microbatch or options.batch) * options.context
    layers = options.layers * (WIDTHS * options.hidden + INNER * options.feed_forward)
    return LIBRARIES + state + NUMBER * tokens * (layers + BYTE_LM_PREDICTIONS * TOKENS)


def byte_lm_scoring_memory(options: ByteLmOptions, on_gpu: bool) -> float:
    """Return the bytes of memory for scoring with a neural byte-level model, without imported libraries and
    documents."""
    weights = BYTE_LM_WEIGHT * byte_lm_parameters(options)
    if on_gpu:
        return ON_GPU + weights
    tokens = options.score_batch * options.context
    layer = WIDTHS * options.hidden + INNER * options.feed_forward
    return LIBRARIES + weights + NUMBER * tokens * (layer + BYTE_LM_PREDICTIONS * TOKENS)


def ngram_memory(folder: Path) -> int:
    """Return the bytes of memory for loading an n-gram model; 0 if the folder is not one, which loading reports."""
    try:
        return NGRAM_WINDOW * (os.stat(folder / "windows.npy").st_size // 8)
    except OSError:
        return 0


def _byte_lm_seconds(options: ByteLmOptions, operations: float) -> float:
    return seconds(operations, options.precision, options.cpu_threads if on_processor(options) else None)


def lm_parameters(options: ModelOptions, vocabulary: int) -> int:
    """Return the number of parameters of a model for a tokenizer with ``vocabulary`` tokens: tied embeddings, no
    biases."""
    width = options.d_model
    layer = options.layer_weights + 2 * width
    return options.vocabulary_rows(vocabulary) * width + options.n_layers * layer + width


def lm_training_memory(options: ModelOptions, vocabulary: int) -> float:
    """Return the bytes of main memory of a node in training. Each process has a copy of the model."""
    processes = options.resources.processes_per_node
    if not on_processor(options):
        return processes * (ON_GPU + STATE * lm_parameters(options, vocabulary))
    share = options.batch // options.resources.processes
    sequences = share if options.microbatch == "auto" else min(options.microbatch, share)
    tokens = sequences * options.max_seq_len
    activations = options.n_layers * (ACTIVATIONS * options.d_model + SCORES * options.n_heads * options.max_seq_len)
    logits = LOGITS * options.vocabulary_rows(vocabulary)
    return processes * (BASE + STATE * lm_parameters(options, vocabulary) + NUMBER * tokens * (activations + logits))


def lm_starting_memory(options: ModelOptions, vocabulary: int) -> float:
    """Return the bytes of main memory of a node below which a training cannot reach its first batch.

    On CPUs this equals :func:`lm_training_memory`. For a GPU that function returns a safe request, and this one only
    the model in each process, which builds it in main memory.
    """
    if on_processor(options):
        return lm_training_memory(options, vocabulary)
    return options.resources.processes_per_node * (BASE + WEIGHT * lm_parameters(options, vocabulary))


def lm_applying_memory(options: ModelOptions, vocabulary: int, sequences: int) -> float:
    """Return the bytes of main memory for scoring ``sequences`` sequences at a time."""
    weights = WEIGHT * lm_parameters(options, vocabulary)
    rows, tokens = options.vocabulary_rows(vocabulary), sequences * options.max_seq_len
    return scoring_memory(weights, rows, options.d_model, tokens, on_gpu=not on_processor(options))


def scoring_memory(weights: int, rows: int, width: int, tokens: int, *, on_gpu: bool) -> float:
    """Return the bytes of main memory for scoring ``tokens`` tokens at a time with any model.

    Args:
        weights: bytes of the model's weights.
        rows: rows of its output layer.
        width: numbers per token between its layers.
        tokens: tokens scored at a time.
        on_gpu: True if it is computed on a GPU.
    """
    if on_gpu:
        return ON_GPU + weights
    return BASE + weights + NUMBER * tokens * (LOGITS * rows + 8 * width)


def lm_training_operations(options: ModelOptions, vocabulary: int) -> float | None:
    """Return floating-point operations of a training; None if its budget is in text."""
    if options.flops is not None:
        return options.flops
    if options.batches is None:
        return None
    return options.batches * options.batch * options.max_seq_len * flops_per_token(options, vocabulary)


def lm_training_seconds(options: ModelOptions, operations: float) -> float:
    """Return the estimated seconds of a training with this number of floating-point operations."""
    threads = options.cpu_threads if on_processor(options) else None
    return seconds(operations / options.resources.processes, options.precision, threads)


def translation_parameters(options: TranslationOptions, source: int, target: int, *, joint: bool) -> int:
    """Return the number of parameters of a translation model, including biases and norms. Positions are not learnt.

    A joint vocabulary has one embedding. Otherwise there are two with equal numbers of rows. The decoder shares its
    embedding with the output layer.

    Args:
        options: the recipe.
        source: ids of the source tokenizer.
        target: ids of the target tokenizer.
        joint: True if both sides share one tokenizer.
    """
    width, inner = options.d_model, options.feed_forward
    attention = 4 * (width * width + width)
    forward = 2 * width * inner + inner + width
    norm = 2 * width
    encoder = options.encoder_layers * (attention + forward + 2 * norm)
    decoder = options.decoder_layers * (2 * attention + forward + 3 * norm)
    return (max(source, target) + SPECIAL) * width * (1 if joint else 2) + encoder + decoder


def translation_training_memory(
    options: TranslationOptions, source: int, target: int, *, joint: bool, on_gpu: bool = False
) -> float:
    """Return the bytes of main memory for training, without the pairs."""
    if on_gpu:
        return ON_GPU
    layers = options.encoder_layers + options.decoder_layers
    activations = layers * TRANSLATION_ACTIVATIONS * options.d_model + TRANSLATION_LOGITS * (
        max(source, target) + SPECIAL
    )
    weights = TRANSLATION_STATE * translation_parameters(options, source, target, joint=joint)
    return BASE + weights + NUMBER * options.batch_tokens * activations


def pairs_memory(split: Path) -> int:
    """Return the bytes of memory for the pairs of a split.

    Raises:
        TokbenchError: the split does not exist or is unreadable.
    """
    with parquet(split, "a split of a parallel corpus", "prepare the parallel corpus again") as file:
        groups = (file.metadata.row_group(group) for group in range(file.num_row_groups))
        return int(PAIR * file.metadata.num_rows + PAIR_BYTE * sum(group.total_byte_size for group in groups))


def translation_search_memory(options: TranslationOptions, model: Path, *, on_gpu: bool) -> float:
    """Return the bytes of main memory for beam search, without the sentences.

    Args:
        options: options of the search.
        model: folder written by training. If it is not one, only the memory of libraries is returned.
        on_gpu: True if it is computed on a GPU.
    """
    if on_gpu:
        return ON_GPU
    if not (model / "config.json").is_file():
        return BASE
    config = read_json(model / "config.json", "train the model again")
    sizes = (config.get(name) for name in ("d_model", "decoder_layers", "decoder_vocab_size"))
    width, layers, rows = (size if type(size) is int else 0 for size in sizes)
    cache = HYPOTHESIS * width * layers * options.max_tokens
    weights = sum(file.stat().st_size for file in model.glob("*.safetensors"))
    return BASE + weights + NUMBER * options.translate_batch * options.beam * (cache + TRANSLATION_LOGITS * rows)


def documents_memory(shards: Iterable[Path | str]) -> int:
    """Return the bytes of memory for the documents of shards.

    Raises:
        TokbenchError: a shard does not exist or is damaged.
    """
    size = 0
    for path in shards:
        with parquet(path, "a readable corpus shard", "delete its corpus and prepare it again") as file:
            groups = (file.metadata.row_group(group) for group in range(file.num_row_groups))
            size += DOCUMENT * file.metadata.num_rows + sum(group.total_byte_size for group in groups)
    return size


def on_gpu(device: str) -> bool:
    """Return whether a device name in a recipe or an option is a GPU; ``auto`` is one if a GPU is available.

    A GPU that is requested but not available counts as one: the computation reports the error.
    """
    if device != "auto":
        return device != "cpu"
    import torch

    return torch.cuda.is_available()
