"""What a translation model takes: parameters, memory and time, by its options."""

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


def training_memory(options: TranslationOptions, source: int, target: int, *, joint: bool) -> float:
    """Bytes of main memory in which a model is trained, its pairs not counted."""
    layers = options.encoder_layers + options.decoder_layers
    kept = layers * ACTIVATIONS * options.d_model + LOGITS * (max(source, target) + SPECIAL)
    weights = STATE * parameters(options, source, target, joint=joint)
    return BASE + weights + NUMBER * options.batch_tokens * kept
