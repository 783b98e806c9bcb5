"""Options of a language model and its training, and named recipes."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from tokbench.costs.transformer import (
    Transformer,
    embedding_rows,
    key_width,
    llama_layer_weights,
    mpt_layer_weights,
)
from tokbench.errors import TokbenchError, unknown
from tokbench.io.numbers import LARGEST_BYTES, LARGEST_LEGACY_SEED, LONGEST_SEQUENCE
from tokbench.models.presets import MODEL_RECIPES, SEED
from tokbench.options import Options

OPTIONAL = ("evaluate_at", "fsdp", "attention_within_documents")
"""Options that are part of a recipe only if they are set."""
Beta = Annotated[float, Field(ge=0, lt=1)]
Share = Annotated[float, Field(ge=0.001, lt=1)]


class Sharding(Options):
    """Fully sharded data parallelism (Zhao et al. 2023). It has no effect with one process.

    Each process has a part of weights, gradients and AdamW's moments.
    """

    strategy: Literal["full_shard", "node_shard", "shard_grad_op"] = "full_shard"
    """Treatment of a layer's gathered weights after its forward pass. ``full_shard`` frees them until the backward
    pass. ``node_shard`` does so too, but divides the weights among the processes of each node. ``shard_grad_op`` keeps
    them."""
    mixed_precision: Literal["full", "default", "pure"] = "full"
    """Precision of communication. ``full`` sends float32, and the model equals that of unsharded training. ``default``
    sends weights in the model's precision, which activations then also have. ``pure`` sends gradients in it, too."""
    activation_checkpointing: bool = False
    """Keep only the input of a layer and recompute the layer in the backward pass: a third more arithmetic for less
    memory."""

    @model_validator(mode="after")
    def _computes_a_layer_twice_alike(self) -> Self:
        if self.activation_checkpointing and self.mixed_precision != "full":
            raise ValueError(
                "activation_checkpointing needs mixed_precision: full; otherwise a layer is recomputed in other types, "
                "which PyTorch rejects"
            )
        return self


class TrainingResources(Options):
    """Machines, processes, memory and time of a training. They affect the model only through the rounding of sums."""

    nodes: int = Field(1, ge=1)
    """Machines. More than one needs SLURM."""
    processes_per_node: int = Field(1, ge=1)
    """Processes per node, usually its number of GPUs. Each trains on its share of every batch."""
    mem_mb: int | None = Field(None, ge=1)
    """Main memory to request per node, in MB. By default it is estimated from the model's size."""
    runtime: int | None = Field(None, ge=1)
    """Time to request, in minutes. By default it is estimated from the model's arithmetic."""

    @property
    def processes(self) -> int:
        """Number of processes on all nodes."""
        return self.nodes * self.processes_per_node


class ModelOptions(Options, ABC):
    """A language model and its training. Defaults are those of the PathPiece paper's 350M model.

    Every model has tied embeddings and no biases. Its architecture defines the rest.
    """

    d_model: int = Field(1024, ge=1)
    """Width of the residual stream."""
    n_heads: int = Field(16, ge=1)
    """Attention heads, a divisor of ``d_model``."""
    n_layers: int = Field(24, ge=1)
    """Transformer layers."""
    max_seq_len: int = Field(2048, ge=2, le=LONGEST_SEQUENCE)
    """Tokens per sequence."""
    vocab_multiple: int = Field(64, ge=1)
    """The embedding matrix is padded to a multiple of this number of rows, for speed. Rows after the tokenizer's two
    special tokens are not used."""
    learning_rate: float = Field(3e-4, gt=0)
    """Highest learning rate of decoupled AdamW."""
    betas: tuple[Beta, Beta] = (0.9, 0.95)
    """Decay of AdamW's first and second moments."""
    eps: float = Field(1e-8, gt=0)
    """AdamW's epsilon."""
    weight_decay: float = Field(1e-4, ge=0)
    """Decay of all weights, not scaled by the learning rate."""
    schedule: Literal["cosine", "power"] = "cosine"
    """Schedule after the warm-up: half a cosine, or the Power Scheduler, a power of the number of tokens trained on."""
    warmup: float = Field(0.05, ge=0, lt=1)
    """Share of the batches in which the learning rate rises linearly."""
    warmup_batches: int | None = Field(None, ge=0)
    """Number of warm-up batches, for a schedule that does not depend on the length of training. It overrides
    ``warmup``."""
    alpha_f: float = Field(0.1, ge=0, le=1)
    """Final learning rate relative to the highest. For a second phase, relative to that at the end of the first."""
    amplitude: float = Field(4.0, gt=0)
    """For ``schedule: power``: the learning rate is amplitude x batch x tokens^exponent, and at most
    ``learning_rate``."""
    exponent: float = Field(-0.51, ge=-2, le=0)
    """For ``schedule: power``: exponent of the number of tokens trained on."""
    second_phase: float | None = Field(None, gt=0, le=1)
    """For ``schedule: power``: batches of a second phase relative to those of the first. Its learning rate decays
    exponentially, and it reads other documents, the same share of all: 0.2 reserves a sixth of the documents for it."""
    clip: float = Field(1.0, gt=0)
    """Largest norm of the gradient."""
    batch: int = Field(1024, ge=1)
    """Sequences per batch, over all devices."""
    microbatch: Annotated[int, Field(ge=1)] | Literal["auto"] = 16
    """Sequences in one pass through the model on one device. ``auto`` adapts it to the GPU's memory."""
    batches: int | None = Field(None, ge=1)
    """Budget in batches: equal tokens for every tokenizer. Give exactly one of batches, epochs, text_bytes and
    flops."""
    epochs: float | None = Field(None, gt=0)
    """Budget in passes over the pretraining split, or a share of its bytes: equal text for every tokenizer."""
    text_bytes: int | None = Field(None, ge=1, le=LARGEST_BYTES)
    """Budget in bytes of text, including the document that reaches it: equal text for every tokenizer."""
    flops: float | None = Field(None, gt=0, le=1e30)
    """Budget in floating-point operations, including embedding and softmax: equal compute for every tokenizer."""
    precision: Literal["fp32", "bf16"] = "bf16"
    """Precision of matrix products. Weights are always float32."""
    attn_impl: Literal["torch", "sdpa", "flash"] = "torch"
    """Attention kernel. ``torch`` writes all scores to memory. ``sdpa`` is PyTorch's fused kernel and several times
    faster on a GPU. ``flash`` needs flash-attn 2.4.2 or later."""
    attention_within_documents: bool = False
    """Tokens attend only to earlier tokens of their own document and to the end of text before it. By default they
    attend to all earlier tokens of the sequence."""
    loss_fn: Literal["torch_crossentropy", "fused_crossentropy"] = "torch_crossentropy"
    """Loss kernel. ``fused_crossentropy`` needs flash-attn."""
    checkpoint_every: int = Field(1000, ge=1)
    """Batches between checkpoints."""
    evaluate_at: tuple[Share, ...] = ()
    """Ascending shares of the training. A checkpoint after each is kept and evaluated like the model."""
    seed: int = Field(SEED, ge=0, le=LARGEST_LEGACY_SEED)
    """Seed of the initial weights and of the order of documents."""
    common_random_numbers: bool = True
    """Shared initialisation: a token's embedding is drawn from the seed and its bytes, and the layers from the seed.
    Differences between tokenizers then vary less from seed to seed."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Device to compute on. ``auto`` uses the GPUs if there are any."""
    cpu_threads: int = Field(1, ge=1)
    """CPU threads of matrix products. Sums depend on this number, so it is fixed and does not follow the machine."""
    fsdp: Sharding | None = None
    """Divide the model among the processes that train it. By default each process has a full copy."""
    resources: TrainingResources = TrainingResources()
    """Nodes, processes, memory and time of the training. Changing them does not retrain the model."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if sum(budget is not None for budget in (self.batches, self.epochs, self.text_bytes, self.flops)) != 1:
            raise ValueError(
                "give one budget: batches (equal tokens), epochs or text_bytes (equal text), or flops (equal compute)"
            )
        if self.d_model % self.n_heads:
            raise ValueError("n_heads must divide d_model")
        if self.second_phase is not None and self.schedule != "power":
            raise ValueError("second_phase needs schedule: power; a cosine ends with its training")
        if list(self.evaluate_at) != sorted(self.evaluate_at):
            raise ValueError("evaluate_at must be ascending")
        if self.batches is not None:
            checkpoint_batches = [max(1, round(share * self.batches)) for share in self.evaluate_at]
            for place, batch in enumerate(checkpoint_batches[1:], 1):
                if batch == checkpoint_batches[place - 1]:
                    before, after = self.evaluate_at[place - 1 : place + 1]
                    raise ValueError(
                        f"evaluate_at: {before} and {after} of {self.batches} batches are one checkpoint; leave one out"
                    )
        if self.batch % self.resources.processes:
            raise ValueError(f"batch must be a multiple of the processes ({self.resources.processes})")
        if self.fsdp is not None and self.microbatch == "auto":
            raise ValueError("microbatch must be a number if fsdp divides the model; auto does not support that")
        return self

    @property
    @abstractmethod
    def layer_weights(self) -> int:
        """Number of weights in a layer's matrices, without its two norms of ``d_model`` weights."""

    @property
    def keys(self) -> int:
        """Numbers of the keys of a token in one layer."""
        return key_width(self.d_model, self.n_heads, self.n_heads)

    def recipe(self) -> dict[str, Any]:
        """Return the options that define the model, as JSON values.

        ``resources`` are left out, and the options of :data:`OPTIONAL` if they are not set.
        """
        left_out = {name for name in OPTIONAL if not getattr(self, name)}
        return self.model_dump(mode="json", exclude={"resources"} | left_out)

    def vocabulary_rows(self, vocabulary: int) -> int:
        """Return the rows of the embedding matrix for a tokenizer with ``vocabulary`` tokens, not counting its two
        special ones."""
        return embedding_rows(vocabulary, self.vocab_multiple)

    def transformer(self, vocabulary: int) -> Transformer:
        """Return the model's shape for a tokenizer with ``vocabulary`` tokens, not counting its two special ones."""
        weights, rows = self.n_layers * self.layer_weights, self.vocabulary_rows(vocabulary)
        return Transformer(self.n_layers, self.d_model, weights, self.keys, self.max_seq_len, rows)


class MptOptions(ModelOptions):
    """An MPT: ALiBi positions and a feed-forward layer four times as wide as the residual stream.

    These are the limits of the MPT in ``transformers``, so a trained model loads without remote code.
    """

    architecture: Literal["mpt"] = "mpt"
    """An MPT."""
    expansion_ratio: Literal[4] = 4
    """Inner width of the feed-forward layer relative to ``d_model``. Fixed by the MPT of ``transformers``."""
    alibi: Literal[True] = True
    """Attention biased by distance instead of position embeddings. Fixed by the MPT of ``transformers``."""
    clip_qkv: float | None = Field(6.0, gt=0)
    """Queries, keys and values are clipped to this magnitude."""

    @property
    def layer_weights(self) -> int:
        return mpt_layer_weights(self.d_model, self.expansion_ratio)


class LlamaOptions(ModelOptions):
    """A Llama: rotary positions, RMSNorm, a gated feed-forward layer (SwiGLU) and grouped-query attention.

    llm-foundry trains it as an MPT with these parts. It is exported as the mathematically equal Llama of
    ``transformers``.
    """

    architecture: Literal["llama"]
    """A Llama."""
    kv_heads: int = Field(ge=1)
    """Key and value heads, a divisor of ``n_heads``."""
    feed_forward: int = Field(ge=1)
    """Inner width of the gated feed-forward layer."""
    rope_theta: int = Field(10_000, ge=1)
    """Base of the rotary positions' wavelengths."""
    norm_eps: float = Field(1e-5, gt=0)
    """Epsilon of the norms."""

    @model_validator(mode="after")
    def _whole_heads(self) -> Self:
        if self.n_heads % self.kv_heads:
            raise ValueError("kv_heads must divide n_heads")
        if self.d_model % (2 * self.n_heads):
            raise ValueError("d_model must be a multiple of twice n_heads (rotary positions come in pairs)")
        return self

    @property
    def layer_weights(self) -> int:
        return llama_layer_weights(self.d_model, self.keys, self.feed_forward)

    @property
    def keys(self) -> int:
        return key_width(self.d_model, self.n_heads, self.kv_heads)


AnyModel = Annotated[MptOptions | LlamaOptions, Field(discriminator="architecture")]
ARCHITECTURES: Mapping[str, type[ModelOptions]] = {"mpt": MptOptions, "llama": LlamaOptions}


def architecture_of(values: Mapping[str, object]) -> type[ModelOptions]:
    """Return the option class for these values. Without ``architecture`` it is that of an MPT.

    Raises:
        TokbenchError: there is no such architecture.
    """
    name = str(values.get("architecture", "mpt"))
    if name not in ARCHITECTURES:
        raise TokbenchError(unknown(name, "architecture", ARCHITECTURES))
    return ARCHITECTURES[name]


PRESETS: dict[str, ModelOptions] = {
    name: architecture_of(values).model_validate(values) for name, values in MODEL_RECIPES.items()
}
"""Named recipes with all options."""
