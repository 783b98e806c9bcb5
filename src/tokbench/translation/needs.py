"""What a translation model takes: parameters, memory and arithmetic, by its options."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokbench.inputs.json import read_json
from tokbench.inputs.parquet import parquet
from tokbench.translation.options import TranslationOptions
from tokbench.translation.special import SPECIAL

BASE = 1.1e9
"""Bytes of a process that has imported what training needs."""
STATE = 24
"""Bytes of a parameter in training: weight, gradient, Adam's two moments, the best weights, a copy while stored."""
ACTIVATIONS = 40
"""Numbers that a layer keeps over tokens times width."""
LOGITS = 4
NUMBER = 4
KEPT = 4
"""Numbers that a layer keeps of a hypothesis and its sentence, each as long as the longest translation, over tokens
times width."""
PAIR = 1_200
"""Bytes of a pair of sentences, as text and as ids, beside those that grow with it."""
PER_BYTE = 6
"""Bytes of a pair for each of its text, as it lies in its file."""
ON_GPU = 4e9
"""Bytes of main memory of a process whose model is on a GPU."""


def parameters(options: TranslationOptions, source: int, target: int, *, joint: bool) -> int:
    """Parameters over tokenizers of so many ids: one embedding for a joint vocabulary, otherwise two of equal height,
    the decoder's shared with the output layer; biases and norms included, positions are not learnt."""
    width, inner = options.d_model, options.feed_forward
    attention = 4 * (width * width + width)
    forward = 2 * width * inner + inner + width
    norm = 2 * width
    encoder = options.encoder_layers * (attention + forward + 2 * norm)
    decoder = options.decoder_layers * (2 * attention + forward + 3 * norm)
    return (max(source, target) + SPECIAL) * width * (1 if joint else 2) + encoder + decoder


def training_flops(
    options: TranslationOptions, source: NDArray[np.int64], target: NDArray[np.int64], vocabulary: int
) -> float:
    """Floating-point operations of training on pairs once, padding left out.

    As :func:`tokbench.pretraining.flops.flops_per_token` counts them: six for a weight and each token that it is
    multiplied with, and twelve for a layer's width and each pair of tokens, one of which attends to the other. Keys and
    values by which the decoder attends to the source are the source's.

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


def training_memory(
    options: TranslationOptions, source: int, target: int, *, joint: bool, on_gpu: bool = False
) -> float:
    """Bytes of main memory in which a model is trained, its pairs not counted."""
    if on_gpu:
        return ON_GPU
    layers = options.encoder_layers + options.decoder_layers
    kept = layers * ACTIVATIONS * options.d_model + LOGITS * (max(source, target) + SPECIAL)
    weights = STATE * parameters(options, source, target, joint=joint)
    return BASE + weights + NUMBER * options.batch_tokens * kept


def held(split: Path) -> int:
    """Bytes in which the pairs of a split are held.

    Raises:
        TokbenchError: it is not there or cannot be read.
    """
    with parquet(split, "a split of a parallel corpus", "prepare the parallel corpus again") as file:
        groups = (file.metadata.row_group(group) for group in range(file.num_row_groups))
        return int(PAIR * file.metadata.num_rows + PER_BYTE * sum(group.total_byte_size for group in groups))


def searching_memory(options: TranslationOptions, model: Path, *, on_gpu: bool) -> float:
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
    kept = KEPT * width * layers * options.max_tokens
    weights = sum(file.stat().st_size for file in model.glob("*.safetensors"))
    return BASE + weights + NUMBER * options.translate_batch * options.beam * (kept + LOGITS * rows)
