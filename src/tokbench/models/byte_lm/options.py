"""Options of byte-level language models, and named recipes.

Named recipes of byte-level language models, by the options in which they differ from the defaults.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from tokbench.models.presets import BYTE_LM_RECIPES
from tokbench.options import Options, Seed

Beta = Annotated[float, Field(ge=0, lt=1)]
MAX_ORDER = 6
"""Bytes of the longest n-gram that the kernel counts."""


class ByteLmOptions(Options):
    """Options of a Llama over bytes that training and scoring read; scores of single documents need no other."""

    kind: Literal["neural"] = "neural"
    """a Llama over bytes"""
    layers: int = Field(6, ge=1)
    """transformer layers"""
    hidden: int = Field(768, ge=1)
    """width of the residual stream; a multiple of twice the number of heads"""
    feed_forward: int = Field(3072, ge=1)
    """inner width of the gated feed-forward layer"""
    heads: int = Field(24, ge=1)
    """attention heads"""
    context: int = Field(2048, ge=2)
    """bytes in a training window and in a scoring window"""
    tied_embeddings: bool = True
    """whether the output layer shares the embedding matrix"""
    steps: int = Field(50_000, ge=1)
    """optimizer steps: warm-up, then a stable learning rate, then decay"""
    warmup_steps: int = Field(2_000, ge=0)
    """steps of linear warm-up from zero"""
    decay_steps: int = Field(4_000, ge=0)
    """last steps, of linear decay to zero; what lies between warm-up and decay is stable"""
    batch: int = Field(128, ge=1)
    """windows in a step"""
    microbatch: int | None = Field(None, ge=1)
    """windows in one pass through the model, a divisor of the batch; null for the whole batch"""
    learning_rate: float = Field(6e-4, gt=0)
    """stable learning rate of AdamW"""
    betas: tuple[Beta, Beta] = (0.9, 0.95)
    """decay of AdamW's first and second moments"""
    eps: float = Field(1e-8, gt=0)
    """AdamW's epsilon"""
    weight_decay: float = Field(0.1, ge=0)
    """decay of matrices; vectors (norms) are left alone"""
    clip: float = Field(1.0, gt=0)
    """largest norm of the gradient"""
    stride: int = Field(512, ge=1)
    """bytes from one scoring window to the next, and predictions kept of each but the first"""
    score_batch: int = Field(8, ge=1)
    """scoring windows in one pass through the model, all of one document, or of one shard by score_context"""
    precision: Literal["fp32", "bf16"] = "bf16"
    """arithmetic of matrix products; weights, losses and scores are float32 either way"""
    checkpoint_every: int = Field(2_000, ge=1)
    """steps between checkpoints"""
    seed: Seed = 0
    """seed of the initial weights and of the order of windows"""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """where to compute; auto takes a GPU when there is one"""
    cpu_threads: int = Field(1, ge=1)
    """threads of a CPU's matrix products; fixed here, because sums depend on it, and not taken from the machine"""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.warmup_steps + self.decay_steps > self.steps:
            raise ValueError("warmup_steps and decay_steps exceed steps; lower them or raise steps")
        if self.hidden % (2 * self.heads):
            raise ValueError("hidden must be a multiple of twice the number of heads (rotary positions come in pairs)")
        if self.stride > self.context:
            raise ValueError("stride exceeds context, so bytes would go unscored; lower stride")
        if self.microbatch is not None and self.batch % self.microbatch:
            raise ValueError("microbatch must divide batch")
        return self


class ByteLmRecipeOptions(ByteLmOptions):
    """A Llama over bytes and how it is trained and applied; the defaults are those of the ByteSpan paper, appendix B.

    The paper prints a weight decay of 0.1, which is taken here; its released configuration says 0.01.
    """

    # Not a field of ByteLmOptions: the fingerprints of all trained models and of all scores cover that class.
    score_context: Literal["document", "dataset"] = "document"
    """text that a scoring window may cover: a document on its own, or the documents of a shard joined, each after a
    start token, so that the first bytes of a document are predicted from the end of the document before it; the paper
    joins documents"""

    @property
    def without_score_context(self) -> ByteLmOptions:
        """The options that training depends on."""
        return ByteLmOptions.model_validate(self.model_dump(exclude={"score_context"}))


class ByteNgramOptions(Options):
    """A byte n-gram model, interpolated over all orders."""

    kind: Literal["ngram"] = "ngram"
    """n-grams of bytes, counted"""
    order: int = Field(5, ge=1, le=MAX_ORDER)
    """bytes of an n-gram, the predicted one included"""


def _reject_score_context_of_ngrams(value: Any) -> Any:
    if isinstance(value, Mapping) and value.get("kind") == "ngram" and "score_context" in value:
        raise ValueError(
            "'score_context' is an option of neural models; n-grams are counted and scored within single documents, "
            "so remove this key"
        )
    return value


AnyByteLm = Annotated[
    ByteLmRecipeOptions | ByteNgramOptions,
    Field(discriminator="kind"),
    BeforeValidator(_reject_score_context_of_ngrams),
]

PRESETS: dict[str, ByteLmOptions | ByteNgramOptions] = {
    name: (ByteNgramOptions if values.get("kind") == "ngram" else ByteLmOptions).model_validate(values)
    for name, values in BYTE_LM_RECIPES.items()
}
"""The named recipes in full."""
