"""What a language model takes: parameters, memory and arithmetic, by its options."""

from tokbench.pretraining.options import ModelOptions

BASE = 1.1e9
"""Bytes of a process that has imported what training needs."""
STATE = 20
"""Bytes of a parameter in training: weight, gradient, the optimizer's two moments, and a copy while it is stored."""
WEIGHT = 4
ACTIVATIONS = 34
"""Numbers that a layer keeps for the backward pass, over tokens times width (Korthikanti et al. 2022, equation 2)."""
SCORES = 5
"""Those over heads times pairs of tokens, likewise."""
LOGITS = 3
"""Copies of the logits: themselves, their probabilities, their gradient."""
NUMBER = 4


def parameters(options: ModelOptions, vocabulary: int) -> int:
    """Parameters of a model over a tokenizer of so many tokens: tied embeddings, no biases."""
    width = options.d_model
    layer = (4 + 2 * options.expansion_ratio) * width * width + 2 * width
    return options.vocabulary_rows(vocabulary) * width + options.n_layers * layer + width


def training_memory(options: ModelOptions, vocabulary: int) -> float:
    """Bytes of memory, that of the machine and of its GPU together, in which a model is trained."""
    sequences = options.batch if options.microbatch == "auto" else min(options.microbatch, options.batch)
    tokens = sequences * options.max_seq_len
    kept = options.n_layers * (ACTIVATIONS * options.d_model + SCORES * options.n_heads * options.max_seq_len)
    logits = LOGITS * options.vocabulary_rows(vocabulary)
    return BASE + STATE * parameters(options, vocabulary) + NUMBER * tokens * kept + NUMBER * tokens * logits


def applying_memory(options: ModelOptions, vocabulary: int, sequences: int) -> float:
    """Bytes of memory in which a model scores so many sequences at a time."""
    tokens = sequences * options.max_seq_len
    return (
        BASE
        + WEIGHT * parameters(options, vocabulary)
        + NUMBER * tokens * (2 * options.vocabulary_rows(vocabulary) + 8 * options.d_model)
    )


def training_arithmetic(options: ModelOptions, vocabulary: int, tokens: int) -> float:
    """Floating-point operations of a training on so many tokens: six a parameter and token (Kaplan et al. 2020)."""
    return 6.0 * parameters(options, vocabulary) * tokens
