"""Options of translation models, named recipes, and special ids."""

from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from tokbench.io.numbers import LARGEST_LEGACY_SEED
from tokbench.models.presets import TRANSLATION_RECIPES
from tokbench.options import Options

Beta = Annotated[float, Field(ge=0, lt=1)]
OF_SEARCH = ("beam", "length_penalty", "max_tokens", "translate_batch")
"""Options that do not affect training."""
PADDING, END = 0, 1
"""Ids of the padding, which also starts a translation, and of the end of a sentence."""
SPECIAL = 2
"""Number of special ids, which precede those of every tokenizer."""


class TranslationOptions(Options):
    """A translation transformer, its training and its search. Defaults are those of "BPE Gets Picky".

    The paper prints sizes, Adam's rate and decay, the schedule, tokens per batch, epochs and the beam. Other values are
    those of fairseq's recipe for IWSLT, whose model it names: dropout, label smoothing, Adam's moments, and an output
    layer that shares the decoder's embeddings. The paper trains in fp16. These models use bf16, which needs no scaling
    of losses.
    """

    encoder_layers: int = Field(6, ge=1)
    """Layers of the encoder."""
    decoder_layers: int = Field(6, ge=1)
    """Layers of the decoder."""
    d_model: int = Field(512, ge=2, multiple_of=2)
    """Width of the residual stream and of embeddings."""
    feed_forward: int = Field(1024, ge=1)
    """Inner width of the feed-forward layers."""
    heads: int = Field(4, ge=1)
    """Attention heads, a divisor of ``d_model``."""
    dropout: float = Field(0.3, ge=0, lt=1)
    """Share of the residual stream that is dropped in training."""
    max_positions: int = Field(1024, ge=2, le=65536)
    """Largest number of tokens of a sentence. Longer training pairs are left out, and longer test sentences are cut."""
    learning_rate: float = Field(5e-4, gt=0)
    """Highest learning rate of Adam."""
    betas: tuple[Beta, Beta] = (0.9, 0.98)
    """Decay of Adam's first and second moments."""
    eps: float = Field(1e-8, gt=0)
    """Adam's epsilon."""
    weight_decay: float = Field(1e-4, ge=0)
    """Decay of all weights, times the learning rate, decoupled from Adam's step."""
    warmup_steps: int = Field(4000, ge=1)
    """Steps in which the learning rate rises linearly. It then falls with the square root of the step."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Share of the target probability that is spread over all tokens in the training loss."""
    clip: float | None = Field(None, gt=0)
    """Largest norm of the gradient. No limit if null."""
    batch_tokens: int = Field(4096, ge=2)
    """Largest number of tokens of a batch on either side, including padding."""
    epochs: int = Field(20, ge=1)
    """Passes over the training split: equal text for every tokenizer."""
    select: Literal["best", "last"] = "best"
    """Weights to keep: those of the epoch with the lowest loss on the development split (``best``), or the last. A
    corpus without that split keeps the last."""
    beam: int = Field(5, ge=1)
    """Hypotheses that the search keeps."""
    length_penalty: float = 1.0
    """A hypothesis's log probability is divided by its length to this power."""
    max_tokens: int = Field(200, ge=1)
    """Largest number of tokens of a translation."""
    translate_batch: int = Field(32, ge=1)
    """Sentences that are translated at a time."""
    precision: Literal["fp32", "bf16"] = "bf16"
    """Precision of matrix products in training. Weights and the search are always float32."""
    checkpoint_every: int = Field(1000, ge=1)
    """Steps between checkpoints. Each epoch also ends with one."""
    seed: int = Field(0, ge=0, le=LARGEST_LEGACY_SEED)
    """Seed of the initial weights, of dropout and of the order of batches."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Device to compute on. ``auto`` uses a GPU if there is one."""
    cpu_threads: int = Field(1, ge=1)
    """CPU threads of matrix products. Sums depend on this number, so it is fixed and does not follow the machine."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.d_model % self.heads:
            raise ValueError("heads must divide d_model")
        if self.max_tokens >= self.max_positions:
            raise ValueError("max_tokens must be less than max_positions")
        return self


PRESETS: dict[str, TranslationOptions] = {
    name: TranslationOptions.model_validate(values) for name, values in TRANSLATION_RECIPES.items()
}
"""Named recipes with all options."""


def translation_training_flops(
    options: TranslationOptions, source: NDArray[np.int64], target: NDArray[np.int64], vocabulary: int
) -> float:
    """Return floating-point operations of one training pass over pairs, without padding.

    The count follows :func:`tokbench.models.pretraining.budget.flops_per_token`: six per weight and token it is
    multiplied with, and twelve per unit of a layer's width and attended pair of tokens. Keys and values of
    cross-attention are computed on source tokens.

    Args:
        options: the recipe.
        source, target: tokens of each sentence, int64 [pairs].
        vocabulary: ids of the larger of the two tokenizers.
    """
    width, inner = options.d_model, options.feed_forward
    matrix, forward = width * width, 2 * width * inner
    of_source = options.encoder_layers * (4 * matrix + forward) + options.decoder_layers * 2 * matrix
    of_target = options.decoder_layers * (6 * matrix + forward) + (vocabulary + SPECIAL) * width
    attention = options.encoder_layers * source @ source + options.decoder_layers * target @ (source + target)
    return 6.0 * (int(source.sum()) * of_source + int(target.sum()) * of_target) + 12.0 * width * int(attention)
