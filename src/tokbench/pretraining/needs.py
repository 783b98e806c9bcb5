"""What a language model takes: parameters, memory and arithmetic, by its options."""

from tokbench.arithmetic import seconds
from tokbench.pretraining.flops import flops_per_token
from tokbench.pretraining.options import ModelOptions

BASE = 1.1e9
"""Bytes of a process that has imported what training needs; 1.04e9 measured."""
ON_GPU = 4e9
"""Bytes of main memory of one whose model is on a GPU: the driver, and buffers of transfers."""
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
NUMBER = 4


def parameters(options: ModelOptions, vocabulary: int) -> int:
    """Parameters of a model over a tokenizer of so many tokens: tied embeddings, no biases."""
    width = options.d_model
    layer = options.layer_weights + 2 * width
    return options.vocabulary_rows(vocabulary) * width + options.n_layers * layer + width


def on_processor(options: ModelOptions) -> bool:
    """Whether the model is computed on processors; ``auto`` is for machines that have a GPU."""
    return options.device == "cpu"


def training_memory(options: ModelOptions, vocabulary: int) -> float:
    """Bytes of main memory of a node in which a model is trained, each process with a model of its own."""
    each = options.resources.processes_per_node
    if not on_processor(options):
        return each * (ON_GPU + STATE * parameters(options, vocabulary))
    share = options.batch // options.resources.processes
    sequences = share if options.microbatch == "auto" else min(options.microbatch, share)
    tokens = sequences * options.max_seq_len
    kept = options.n_layers * (ACTIVATIONS * options.d_model + SCORES * options.n_heads * options.max_seq_len)
    logits = LOGITS * options.vocabulary_rows(vocabulary)
    return each * (BASE + STATE * parameters(options, vocabulary) + NUMBER * tokens * (kept + logits))


def starting_memory(options: ModelOptions, vocabulary: int) -> float:
    """Bytes of main memory of a node with less than which no training of a model comes to its first batch.

    On processors what :func:`training_memory` reckons. For a GPU that is what is safe to ask for, and this the whole
    model in each process, which makes it in main memory.
    """
    if on_processor(options):
        return training_memory(options, vocabulary)
    return options.resources.processes_per_node * (BASE + WEIGHT * parameters(options, vocabulary))


def applying_memory(options: ModelOptions, vocabulary: int, sequences: int) -> float:
    """Bytes of main memory in which a model scores so many sequences at a time."""
    weights = WEIGHT * parameters(options, vocabulary)
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


def training_operations(options: ModelOptions, vocabulary: int) -> float | None:
    """Floating-point operations of a training; None where its budget is one of text."""
    if options.flops is not None:
        return options.flops
    if options.batches is None:
        return None
    return options.batches * options.batch * options.max_seq_len * flops_per_token(options, vocabulary)


def training_seconds(options: ModelOptions, operations: float) -> float:
    """Seconds of a training by its floating-point operations."""
    threads = options.cpu_threads if on_processor(options) else None
    return seconds(operations / options.resources.processes, options.precision, threads)
