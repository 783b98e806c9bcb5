"""Options of a language model, and named recipes.

Named recipes of language models, by the options in which they differ from the defaults.

How a model is divided over the processes that train it.

What a model's training asks of machines; it decides nothing about the model but the rounding of sums.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from tokbench.errors import TokbenchError, unknown
from tokbench.io.numbers import LARGEST_BYTES, LARGEST_LEGACY_SEED, LONGEST_SEQUENCE
from tokbench.models.presets import MODEL_RECIPES, SEED
from tokbench.options import Options


class Sharding(Options):
    """A model divided over the processes that train it, each of which holds a part of weights, gradients and AdamW's
    moments (fully sharded data parallelism, Zhao et al. 2023); one process has nothing to divide it with."""

    strategy: Literal["full_shard", "node_shard", "shard_grad_op"] = "full_shard"
    """what becomes of a layer's weights, gathered from all processes, once it has computed: full_shard lets go of them
    until the backward pass gathers them again, node_shard divides them over the processes of each node, which then
    gather them among themselves, and shard_grad_op keeps them"""
    mixed_precision: Literal["full", "default", "pure"] = "full"
    """what is sent between processes: full sends float32, and the model is what unsharded training makes of it; default
    sends weights in the model's precision, in which what flows between layers is then kept too; pure sends gradients in
    it as well"""
    activation_checkpointing: bool = False
    """keep of a layer only what goes into it, and compute the layer once more in the backward pass: a third more
    arithmetic for less memory"""

    @model_validator(mode="after")
    def _computes_a_layer_twice_alike(self) -> Self:
        if self.activation_checkpointing and self.mixed_precision != "full":
            raise ValueError(
                "activation_checkpointing takes mixed_precision: full; with another a layer is computed again in other "
                "types than at first, which PyTorch rejects"
            )
        return self


class TrainingResources(Options):
    """Where a model is trained: how many machines and processes, and what is asked of each."""

    nodes: int = Field(1, ge=1)
    """machines; more than one takes SLURM"""
    processes_per_node: int = Field(1, ge=1)
    """processes on each of them, as many as it has GPUs; each trains on its share of every batch"""
    mem_mb: int | None = Field(None, ge=1)
    """main memory of a node that is asked for, in MB; by the model's size if left out"""
    runtime: int | None = Field(None, ge=1)
    """time that is asked for, in minutes; by the model's arithmetic if left out"""

    @property
    def processes(self) -> int:
        """Processes on all nodes."""
        return self.nodes * self.processes_per_node


Beta = Annotated[float, Field(ge=0, lt=1)]
Share = Annotated[float, Field(ge=0.001, lt=1)]


class ModelOptions(Options, ABC):
    """A language model and how it is trained; the defaults are those of the PathPiece paper's 350M model.

    Every model has tied embeddings and no biases. What else it consists of is told by its architecture.
    """

    d_model: int = Field(1024, ge=1)
    """width of the residual stream"""
    n_heads: int = Field(16, ge=1)
    """attention heads, a divisor of d_model"""
    n_layers: int = Field(24, ge=1)
    """transformer layers"""
    max_seq_len: int = Field(2048, ge=2, le=LONGEST_SEQUENCE)
    """tokens in a sequence"""
    vocab_multiple: int = Field(64, ge=1)
    """the embedding matrix is padded to a multiple of this many rows, for speed; rows past the tokenizer's two special
    tokens are never used"""
    learning_rate: float = Field(3e-4, gt=0)
    """highest learning rate of decoupled AdamW"""
    betas: tuple[Beta, Beta] = (0.9, 0.95)
    """decay of AdamW's first and second moments"""
    eps: float = Field(1e-8, gt=0)
    """AdamW's epsilon"""
    weight_decay: float = Field(1e-4, ge=0)
    """decay of all weights, not scaled by the learning rate"""
    schedule: Literal["cosine", "power"] = "cosine"
    """what follows the warm-up: half a cosine, or the Power Scheduler, a power of the tokens trained on"""
    warmup: float = Field(0.05, ge=0, lt=1)
    """share of the batches in which the learning rate rises linearly; a cosine follows"""
    warmup_batches: int | None = Field(None, ge=0)
    """the same in batches, for a schedule that does not depend on how long the training is; warmup then counts for
    nothing"""
    alpha_f: float = Field(0.1, ge=0, le=1)
    """last learning rate over the highest; of a second phase, over that with which the first one ends"""
    amplitude: float = Field(4.0, gt=0)
    """schedule power: the learning rate is amplitude x batch x tokens^exponent, and learning_rate at most"""
    exponent: float = Field(-0.51, ge=-2, le=0)
    """schedule power: the exponent of the tokens trained on"""
    second_phase: float | None = Field(None, gt=0, le=1)
    """schedule power: batches of a second phase over those of the first; its learning rate decays exponentially, and
    it reads other documents, as large a part of all: 0.2 sets a sixth of the documents aside"""
    clip: float = Field(1.0, gt=0)
    """largest norm of the gradient"""
    batch: int = Field(1024, ge=1)
    """sequences in a batch, over all devices"""
    microbatch: Annotated[int, Field(ge=1)] | Literal["auto"] = 16
    """sequences in one pass through the model on one device; auto finds what a GPU's memory holds"""
    batches: int | None = Field(None, ge=1)
    """budget in batches: equal tokens for every tokenizer. Give this, epochs, text_bytes or flops"""
    epochs: float | None = Field(None, gt=0)
    """budget in passes over the pretraining split, or the share of its bytes: equal text for every tokenizer"""
    text_bytes: int | None = Field(None, ge=1, le=LARGEST_BYTES)
    """budget in bytes of text, ended with the document that reaches it: equal text for every tokenizer"""
    flops: float | None = Field(None, gt=0, le=1e30)
    """budget in floating-point operations, embedding and softmax among them: equal compute for every tokenizer"""
    precision: Literal["fp32", "bf16"] = "bf16"
    """arithmetic of matrix products; weights are float32 either way"""
    attn_impl: Literal["torch", "sdpa", "flash"] = "torch"
    """attention kernel; torch writes all scores to memory, sdpa is PyTorch's own fused kernel, some times faster on a
    GPU, and flash needs flash-attn 2.4.2 or later"""
    loss_fn: Literal["torch_crossentropy", "fused_crossentropy"] = "torch_crossentropy"
    """loss kernel; fused_crossentropy needs flash-attn"""
    checkpoint_every: int = Field(1000, ge=1)
    """batches between checkpoints"""
    evaluate_at: tuple[Share, ...] = ()
    """shares of the training after which a checkpoint is kept and tested as the model is, ascending"""
    seed: int = Field(SEED, ge=0, le=LARGEST_LEGACY_SEED)
    """seed of the initial weights and of the order of documents"""
    common_random_numbers: bool = True
    """models start alike where they are alike: a token's embedding is drawn from the seed and its bytes, layers from
    the seed alone, so that differences between tokenizers vary less from seed to seed"""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """where to compute; auto takes the GPUs when there are any"""
    cpu_threads: int = Field(1, ge=1)
    """threads of a CPU's matrix products; fixed here, because sums depend on it, and not taken from the machine"""
    fsdp: Sharding | None = None
    """divide the model over the processes that train it; each holds all of it if left out"""
    resources: TrainingResources = TrainingResources()
    """nodes, processes, memory and time of the training; they can be changed without training again"""

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
            kept = [max(1, round(share * self.batches)) for share in self.evaluate_at]
            for place, batch in enumerate(kept[1:], 1):
                if batch == kept[place - 1]:
                    one, other = self.evaluate_at[place - 1 : place + 1]
                    raise ValueError(
                        f"evaluate_at: {one} and {other} of {self.batches} batches are one checkpoint; leave one out"
                    )
        if self.batch % self.resources.processes:
            raise ValueError(f"batch must be a multiple of the processes ({self.resources.processes})")
        if self.fsdp is not None and self.microbatch == "auto":
            raise ValueError("microbatch must be a number where fsdp divides the model; auto is for whole ones")
        return self

    @property
    @abstractmethod
    def layer_weights(self) -> int:
        """Weights of a layer's matrices; beside them it has two norms of d_model."""

    def recipe(self) -> dict[str, Any]:
        """What a model is trained by, as JSON has it: all but where; of some options only what is not the default."""
        left_out = {name for name in ("evaluate_at", "fsdp") if not getattr(self, name)}
        return self.model_dump(mode="json", exclude={"resources"} | left_out)

    def vocabulary_rows(self, vocabulary: int) -> int:
        """Rows of the embedding matrix for a tokenizer of so many tokens, two special ones not counted."""
        return -(-(vocabulary + 2) // self.vocab_multiple) * self.vocab_multiple


class MptOptions(ModelOptions):
    """An MPT: ALiBi positions and a feed-forward layer four times as wide as the residual stream.

    This is what the MPT of ``transformers`` knows, so that a trained model loads without remote code.
    """

    architecture: Literal["mpt"] = "mpt"
    """an MPT"""
    expansion_ratio: Literal[4] = 4
    """inner width of the feed-forward layer over d_model; fixed by transformers' MPT"""
    alibi: Literal[True] = True
    """attention biased by distance in place of position embeddings; fixed by transformers' MPT"""
    clip_qkv: float | None = Field(6.0, gt=0)
    """queries, keys and values are clipped to this magnitude"""

    @property
    def layer_weights(self) -> int:
        return (4 + 2 * self.expansion_ratio) * self.d_model**2


class LlamaOptions(ModelOptions):
    """A Llama: rotary positions, RMSNorm, a gated feed-forward layer (SwiGLU) and heads that share keys and values.

    llm-foundry trains it as an MPT of these parts; it is exported as the Llama of ``transformers``, whose mathematics
    is the same.
    """

    architecture: Literal["llama"]
    """a Llama"""
    kv_heads: int = Field(ge=1)
    """pairs of key and value heads, a divisor of n_heads"""
    feed_forward: int = Field(ge=1)
    """inner width of the gated feed-forward layer"""
    rope_theta: int = Field(10_000, ge=1)
    """base of the rotary positions' wavelengths"""
    norm_eps: float = Field(1e-5, gt=0)
    """epsilon of the norms"""

    @model_validator(mode="after")
    def _whole_heads(self) -> Self:
        if self.n_heads % self.kv_heads:
            raise ValueError("kv_heads must divide n_heads")
        if self.d_model % (2 * self.n_heads):
            raise ValueError("d_model must be a multiple of twice n_heads (rotary positions come in pairs)")
        return self

    @property
    def layer_weights(self) -> int:
        shared = self.d_model // self.n_heads * self.kv_heads
        return self.d_model * (2 * self.d_model + 2 * shared + 3 * self.feed_forward)


AnyModel = Annotated[MptOptions | LlamaOptions, Field(discriminator="architecture")]
ARCHITECTURES: Mapping[str, type[ModelOptions]] = {"mpt": MptOptions, "llama": LlamaOptions}


def architecture_of(values: Mapping[str, object]) -> type[ModelOptions]:
    """The options to which these belong: an MPT's where they do not say.

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
"""The named recipes in full."""
