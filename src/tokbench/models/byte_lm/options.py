"""Options of byte-level language models, and named recipes."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from tokbench.models.presets import BYTE_LM_RECIPES
from tokbench.options import Options, Seed

Beta = Annotated[float, Field(ge=0, lt=1)]
TOKENS = 257
"""Tokens of a neural model: the bytes, and the start of a text."""
MAX_ORDER = 6
"""Length in bytes of the longest n-gram that the kernel counts."""


class ByteLmOptions(Options):
    """Options of a Llama over bytes that affect its training and the scores of single documents."""

    kind: Literal["neural"] = "neural"
    """A Llama over bytes."""
    layers: int = Field(6, ge=1)
    """Transformer layers."""
    hidden: int = Field(768, ge=1)
    """Width of the residual stream, a multiple of twice the number of heads."""
    feed_forward: int = Field(3072, ge=1)
    """Inner width of the gated feed-forward layer."""
    heads: int = Field(24, ge=1)
    """Attention heads."""
    context: int = Field(2048, ge=2)
    """Bytes in a training window and in a scoring window."""
    tied_embeddings: bool = True
    """True if the output layer shares the embedding matrix."""
    steps: int = Field(50_000, ge=1)
    """Optimizer steps: warm-up, then a stable learning rate, then decay."""
    warmup_steps: int = Field(2_000, ge=0)
    """Steps of linear warm-up from zero."""
    decay_steps: int = Field(4_000, ge=0)
    """Last steps, of linear decay to zero. The learning rate is stable between warm-up and decay."""
    batch: int = Field(128, ge=1)
    """Windows per step."""
    microbatch: int | None = Field(None, ge=1)
    """Windows in one pass through the model, a divisor of ``batch``. Null for the full batch."""
    learning_rate: float = Field(6e-4, gt=0)
    """Stable learning rate of AdamW."""
    betas: tuple[Beta, Beta] = (0.9, 0.95)
    """Decay of AdamW's first and second moments."""
    eps: float = Field(1e-8, gt=0)
    """AdamW's epsilon."""
    weight_decay: float = Field(0.1, ge=0)
    """Weight decay of matrices. Vectors (norms) are not decayed."""
    clip: float = Field(1.0, gt=0)
    """Largest norm of the gradient."""
    stride: int = Field(512, ge=1)
    """Bytes between the starts of two scoring windows. Each window but the first yields this number of predictions."""
    score_batch: int = Field(8, ge=1)
    """Scoring windows in one pass through the model. They are from one document, or from one shard, see
    ``score_context``."""
    precision: Literal["fp32", "bf16"] = "bf16"
    """Precision of matrix products. Weights, losses and scores are always float32."""
    checkpoint_every: int = Field(2_000, ge=1)
    """Steps between checkpoints."""
    seed: Seed = 0
    """Seed of the initial weights and of the order of windows."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Device to compute on. ``auto`` uses a GPU if there is one."""
    cpu_threads: int = Field(1, ge=1)
    """CPU threads of matrix products. Sums depend on this number, so it is fixed and does not follow the machine."""

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


def byte_lm_flops_per_byte(options: ByteLmOptions) -> float:
    """Return floating-point operations of training per byte.

    The formula is that of :func:`tokbench.models.pretraining.budget.flops_per_token`.
    """
    layer = 4 * options.hidden**2 + 3 * options.hidden * options.feed_forward
    matrices = options.layers * layer + TOKENS * options.hidden
    return 6.0 * matrices + 12.0 * options.layers * options.hidden * options.context


class ByteLmRecipeOptions(ByteLmOptions):
    """A Llama over bytes, with its training and scoring. Defaults are those of the ByteSpan paper, appendix B.

    The weight decay of 0.1 is the paper's printed value. Its released configuration has 0.01.
    """

    # Not a field of ByteLmOptions: the fingerprints of all trained models and of all scores cover that class.
    score_context: Literal["document", "dataset"] = "document"
    """Text that a scoring window may cover. ``document``: one document. ``dataset``: the concatenated documents of a
    shard, each after a start token, as in the paper. The first bytes of a document are then predicted from the end of
    the previous one."""

    @property
    def without_score_context(self) -> ByteLmOptions:
        """Options that training depends on."""
        return ByteLmOptions.model_validate(self.model_dump(exclude={"score_context"}))


class ByteNgramOptions(Options):
    """A byte n-gram model, interpolated over all orders."""

    kind: Literal["ngram"] = "ngram"
    """Counted n-grams of bytes."""
    order: int = Field(5, ge=1, le=MAX_ORDER)
    """Bytes of an n-gram, including the predicted one."""


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
"""Named recipes with all options."""
