"""Arithmetic and memory of a decoder-only transformer by formula.

A matrix of n weights needs 2 n floating-point operations per token in the forward pass and 4 n in the backward pass
(Kaplan et al. 2020, section 2.1). Reading a row of the embedding matrix is no arithmetic. Attention needs 4 x layers x
width operations per token and position: products of queries and keys, and of scores and values (Chowdhery et al. 2022,
appendix B). All positions of the length count, including masked ones. Norms, biases, activations and positions are left
out. These formulas are counted and not measured.
"""

from dataclasses import dataclass

SPECIAL_TOKENS = 2
"""Rows of the embedding matrix for tokens that are not in the vocabulary: the end of text, and padding."""
BYTES_OF_NUMBER = {"fp32": 4, "bf16": 2}
"""Bytes of a number, by precision."""
TRAINING_PASSES = 3
"""Operations of a training step, relative to its forward pass: one forward pass, and a backward pass of two."""


def mpt_layer_weights(width: int, expansion: int) -> int:
    """Return the weights in the matrices of an MPT's layer: attention, and a feed-forward layer without gate."""
    return (4 + 2 * expansion) * width**2


def llama_layer_weights(width: int, keys: int, feed_forward: int) -> int:
    """Return the weights in the matrices of a Llama's layer, with grouped-query attention and a gated feed-forward.

    Args:
        width: width of the residual stream.
        keys: numbers of the keys of a token, see :func:`key_width`.
        feed_forward: inner width of the feed-forward layer.
    """
    return width * (2 * width + 2 * keys + 3 * feed_forward)


def key_width(width: int, heads: int, kv_heads: int) -> int:
    """Return the numbers of the keys of a token in one layer; its values have the same number."""
    return width // heads * kv_heads


def embedding_rows(vocabulary: int, multiple: int) -> int:
    """Return the rows of the embedding matrix: tokens and special tokens, padded.

    Args:
        vocabulary: tokens of the tokenizer, without special ones.
        multiple: the rows are padded to a multiple of this number.
    """
    return -(-(vocabulary + SPECIAL_TOKENS) // multiple) * multiple


@dataclass(frozen=True, slots=True)
class Transformer:
    """Shape of a decoder-only transformer.

    Attributes:
        layers: number of layers.
        width: width of the residual stream.
        layer_weights: weights in the matrices of all layers that a token is multiplied with; those of its experts only,
            if there are any.
        keys: numbers of the keys of a token in one layer.
        positions: positions that a token attends to.
        rows: rows of the embedding matrix, and of the matrix of the softmax.
    """

    layers: int
    width: int
    layer_weights: int
    keys: int
    positions: int
    rows: int

    @property
    def softmax_flops(self) -> float:
        """Operations of the softmax's matrix per token, in the forward pass."""
        return 2.0 * self.rows * self.width

    @property
    def layer_flops(self) -> float:
        """Operations of the layers per token, in the forward pass: their matrices, and attention."""
        return 2.0 * self.layer_weights + 4.0 * self.layers * self.width * self.positions

    @property
    def forward_flops(self) -> float:
        """Operations of the forward pass per token."""
        return self.layer_flops + self.softmax_flops

    @property
    def training_flops(self) -> float:
        """Operations of a training step per token."""
        return TRAINING_PASSES * self.forward_flops

    def cache_bytes(self, precision: str) -> float:
        """Return the bytes of keys and values of a token.

        Args:
            precision: a key of :data:`BYTES_OF_NUMBER`.
        """
        return 2.0 * self.layers * self.keys * BYTES_OF_NUMBER[precision]
