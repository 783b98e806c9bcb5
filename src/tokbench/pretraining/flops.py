"""Arithmetic of training: floating-point operations, counted by a formula and not measured."""

from tokbench.pretraining.options import ModelOptions


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
