"""How a model is divided over the processes that train it."""

from typing import Literal, Self

from pydantic import model_validator

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
