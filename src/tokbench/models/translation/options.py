"""Options of translation models, and named recipes.

Named recipes of translation models, by the options in which they differ from the defaults.

Ids before those of the tokens, the same for every tokenizer.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tokbench.io.numbers import LARGEST_LEGACY_SEED
from tokbench.models.presets import TRANSLATION_RECIPES
from tokbench.options import Options

Beta = Annotated[float, Field(ge=0, lt=1)]


class TranslationOptions(Options):
    """A transformer that translates, how it is trained and how it searches; the defaults are those of "BPE Gets Picky".

    The paper prints sizes, Adam's rate and decay, the schedule, tokens a batch, epochs and the beam; what it leaves
    open is that of fairseq's recipe for IWSLT, whose model it names: dropout, label smoothing, Adam's moments, and an
    output layer that shares the decoder's embeddings. Where it trains in fp16 these models take bf16, which needs no
    scaling of losses.
    """

    encoder_layers: int = Field(6, ge=1)
    """layers of the encoder"""
    decoder_layers: int = Field(6, ge=1)
    """layers of the decoder"""
    d_model: int = Field(512, ge=2, multiple_of=2)
    """width of the residual stream and of embeddings"""
    feed_forward: int = Field(1024, ge=1)
    """inner width of the feed-forward layers"""
    heads: int = Field(4, ge=1)
    """attention heads, a divisor of d_model"""
    dropout: float = Field(0.3, ge=0, lt=1)
    """share of the residual stream that is dropped in training"""
    max_positions: int = Field(1024, ge=2, le=65536)
    """tokens of a sentence at most; pairs of training that have more are left out, tests are cut"""
    learning_rate: float = Field(5e-4, gt=0)
    """highest learning rate of Adam"""
    betas: tuple[Beta, Beta] = (0.9, 0.98)
    """decay of Adam's first and second moments"""
    eps: float = Field(1e-8, gt=0)
    """Adam's epsilon"""
    weight_decay: float = Field(1e-4, ge=0)
    """decay of all weights, times the learning rate, beside Adam's step"""
    warmup_steps: int = Field(4000, ge=1)
    """steps in which the rate rises linearly; it then falls with the root of the step"""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """share of the probability that the training loss gives to all tokens alike"""
    clip: float | None = Field(None, gt=0)
    """largest norm of the gradient; any where null"""
    batch_tokens: int = Field(4096, ge=2)
    """tokens of a batch at most on either side, padding included"""
    epochs: int = Field(20, ge=1)
    """passes over the training split: equal text for every tokenizer"""
    select: Literal["best", "last"] = "best"
    """which weights are kept: those of the epoch with the lowest loss on the development split, or the last; a corpus
    without that split has the last"""
    beam: int = Field(5, ge=1)
    """hypotheses that the search keeps"""
    length_penalty: float = 1.0
    """power of the length by which a hypothesis's log probability is divided"""
    max_tokens: int = Field(200, ge=1)
    """tokens of a translation at most"""
    translate_batch: int = Field(32, ge=1)
    """sentences that are translated at a time"""
    precision: Literal["fp32", "bf16"] = "bf16"
    """arithmetic of matrix products in training; weights are float32 either way, and so is the search"""
    checkpoint_every: int = Field(1000, ge=1)
    """steps between checkpoints; each epoch ends with one, too"""
    seed: int = Field(0, ge=0, le=LARGEST_LEGACY_SEED)
    """seed of the initial weights, of dropout and of the order of batches"""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """where to compute; auto takes a GPU when there is one"""
    cpu_threads: int = Field(1, ge=1)
    """threads of a CPU's matrix products; fixed here, because sums depend on it, and not taken from the machine"""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.d_model % self.heads:
            raise ValueError("heads must divide d_model")
        if self.max_tokens >= self.max_positions:
            raise ValueError("max_tokens must be less than max_positions")
        return self


OF_SEARCH = ("beam", "length_penalty", "max_tokens", "translate_batch")
"""Options by which training does not go."""
PRESETS: dict[str, TranslationOptions] = {
    name: TranslationOptions.model_validate(values) for name, values in TRANSLATION_RECIPES.items()
}
"""The named recipes in full."""


PADDING, END = 0, 1
"""What pads a batch and begins a translation; the end of a sentence."""
SPECIAL = 2
"""How many there are: the first token's id."""
