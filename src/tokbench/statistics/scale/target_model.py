"""Target models: language models that are planned, with their costs by formula for any tokenizer.

A target is described by its shape, its context and how much it is used. Arithmetic and memory of a token follow from
:mod:`tokbench.costs.transformer`. Costs of a byte of text are those of a token times tokens per byte. Total cost is
training plus serving (Sardana et al. 2024, arXiv 2401.00448): all tokenizers serve the same text, because
users ask for text and not for tokens.
"""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from tokbench.costs.devices import DEVICES, PEAKS, device_hours
from tokbench.costs.transformer import (
    BYTES_OF_NUMBER,
    TRAINING_PASSES,
    Transformer,
    embedding_rows,
    key_width,
    llama_layer_weights,
)
from tokbench.io.numbers import LARGEST_BYTES, LONGEST_SEQUENCE
from tokbench.options import Options, validated

TERABYTE = 1e12
"""Bytes of text that hours of devices are printed for."""


class TargetModel(Options):
    """A language model that is planned, with its use: a decoder-only transformer. Nothing is trained."""

    d_model: int = Field(ge=1)
    """Width of the residual stream."""
    n_layers: int = Field(ge=1)
    """Transformer layers."""
    n_heads: int = Field(ge=1)
    """Attention heads, a divisor of ``d_model``."""
    kv_heads: int | None = Field(None, ge=1)
    """Key and value heads, a divisor of ``n_heads``; default: ``n_heads``."""
    feed_forward: int | None = Field(None, ge=1)
    """Inner width of the gated feed-forward layer (SwiGLU). Give either this or ``active_parameters``."""
    active_parameters: int | None = Field(None, ge=1, le=LARGEST_BYTES)
    """Weights in the matrices of all layers that a token is multiplied with, without embeddings and softmax. It is for
    layers of other kinds, such as experts."""
    max_seq_len: int = Field(ge=2, le=LONGEST_SEQUENCE)
    """Tokens of a full context."""
    window: int | None = Field(None, ge=1)
    """Tokens that a token attends to in every layer; default: the context."""
    tied_head: bool = False
    """Whether the embedding matrix is also that of the softmax."""
    vocab_multiple: int = Field(64, ge=1)
    """The embedding matrix is padded to a multiple of this number of rows."""
    precision: Literal["bf16", "fp32"] = "bf16"
    """Precision of weights, keys and values."""
    serving_tokens_per_training_token: float = Field(ge=0, le=1e6)
    """Tokens that the model reads and writes for its users over its life, per token of its training, with the
    baseline."""
    hardware: Literal["a100", "h100", "h200"] | None = None
    """Device, for hours: its peak speed in bfloat16 is that of its data sheet. Default: no hours."""
    peak_tflops: float | None = Field(None, gt=0, le=1e9)
    """Peak speed of another device, in 10^12 operations per second."""
    mfu: float | None = Field(None, gt=0, le=1)
    """Share of the peak speed that the training reaches (model FLOPs utilisation). It is needed for hours."""
    serving_mfu: float | None = Field(None, gt=0, le=1)
    """Share of the peak speed that serving reaches; default: ``mfu``. A lower one makes an operation of serving
    dearer."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.feed_forward is None) == (self.active_parameters is None):
            raise ValueError("give either feed_forward (dense layers) or active_parameters (other layers)")
        if self.d_model % self.n_heads:
            raise ValueError("n_heads must divide d_model")
        if self.n_heads % (self.kv_heads or self.n_heads):
            raise ValueError("kv_heads must divide n_heads")
        if self.window is not None and self.window > self.max_seq_len:
            raise ValueError(f"window must be at most max_seq_len ({self.max_seq_len}); leave it out for the context")
        if self.hardware is not None and self.peak_tflops is not None:
            raise ValueError("give either hardware or peak_tflops")
        if self.peak is not None and self.mfu is None:
            raise ValueError("hours need mfu, the share of the peak speed that the training reaches")
        if self.serving_mfu is not None and self.mfu is None:
            raise ValueError("serving_mfu needs mfu, which it is compared with")
        return self

    @property
    def peak(self) -> float | None:
        """Peak speed of the device in 10^12 operations per second; None if there is no device."""
        return self.peak_tflops if self.hardware is None else PEAKS[DEVICES[self.hardware]]

    @property
    def positions(self) -> int:
        """Tokens that a token attends to, and whose keys and values are kept."""
        return self.window or self.max_seq_len

    @property
    def serving_weight(self) -> float:
        """Cost of serving per cost of a forward pass over the baseline's training text."""
        slower = 1.0 if self.mfu is None or self.serving_mfu is None else self.mfu / self.serving_mfu
        return self.serving_tokens_per_training_token * slower

    def transformer(self, vocabulary: int) -> Transformer:
        """Return the shape for a tokenizer with ``vocabulary`` tokens, without special ones."""
        keys = key_width(self.d_model, self.n_heads, self.kv_heads or self.n_heads)
        weights = self.active_parameters
        if weights is None:
            assert self.feed_forward is not None
            weights = self.n_layers * llama_layer_weights(self.d_model, keys, self.feed_forward)
        rows = embedding_rows(vocabulary, self.vocab_multiple)
        return Transformer(self.n_layers, self.d_model, weights, keys, self.positions, rows)

    def costs(self, vocabulary: int, tokens_per_byte: float) -> dict[str, float | None]:
        """Return the costs of a tokenizer, by column of the table ``prices``.

        Args:
            vocabulary: tokens of the tokenizer, without special ones.
            tokens_per_byte: tokens per byte of text.
        """
        shape = self.transformer(vocabulary)
        forward = shape.forward_flops * tokens_per_byte
        training = shape.training_flops * tokens_per_byte
        cache = shape.cache_bytes(self.precision)
        matrices = 1 if self.tied_head else 2
        costs: dict[str, float | None] = {
            "training_flops_per_byte": training,
            "serving_flops_per_byte": forward,
            "softmax_share": shape.softmax_flops / shape.forward_flops,
            "cache_bytes_per_byte": cache * tokens_per_byte,
            "cache_bytes_at_context": cache * self.positions,
            "embedding_bytes": float(matrices * shape.rows * shape.width * BYTES_OF_NUMBER[self.precision]),
            "context_bytes": self.max_seq_len / tokens_per_byte,
        }
        if self.peak is not None and self.mfu is not None:
            serving_mfu = self.serving_mfu or self.mfu
            costs["training_hours"] = device_hours(training * TERABYTE, self.peak, self.mfu)
            costs["serving_hours"] = device_hours(forward * TERABYTE, self.peak, serving_mfu)
        return costs

    def affordable_text(self, ratio: float) -> float:
        """Return the training text at equal total cost, relative to that of the baseline.

        With D bytes of training text and S of serving, the total cost is k (3 D + S), where k are the operations of the
        forward pass per byte. S is the same for all tokenizers, s times the training text of the baseline.

        Args:
            ratio: forward pass per byte with the baseline, relative to that with the tokenizer.

        Returns:
            ((3 + s) ratio - s) / 3 = ratio + (ratio - 1) s / 3. It is negative or zero if serving costs as much as
            everything with the baseline.
        """
        return ratio + (ratio - 1) * self.serving_weight / TRAINING_PASSES


def affordable_layers(shape: Transformer, baseline: Transformer, ratio: float) -> float:
    """Return the layers at equal total cost and equal text, relative to those of the target.

    Width and vocabulary stay. Weights of layers, attention and cache grow with the number of layers. Training and
    serving grow in the same proportion, so that their shares do not matter.

    Args:
        shape: target with the tokenizer.
        baseline: target with the baseline.
        ratio: tokens per byte of the baseline, relative to those of the tokenizer.

    Returns:
        It is negative or zero if the softmax costs as much as everything with the baseline.
    """
    return (baseline.forward_flops * ratio - shape.softmax_flops) / shape.layer_flops


def targets_of(experiment: Mapping[str, Any]) -> dict[str, TargetModel]:
    """Return the targets among the recipes of an experiment, by name; empty if there are none."""
    return {
        name: validated(options, TargetModel, f"targets.{name}")
        for name, options in experiment.get("targets", {}).items()
    }
