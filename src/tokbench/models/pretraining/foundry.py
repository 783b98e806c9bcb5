"""Adapter to llm-foundry: translation of our options into its configuration, and the call that trains."""

import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from composer.core import Algorithm, Event, State
from composer.loggers import Logger
from composer.utils import dist, get_device
from llmfoundry import registry
from llmfoundry.command_utils import train
from omegaconf import OmegaConf
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp

from tokbench.models.pretraining.attention import choose
from tokbench.models.pretraining.budget import checkpoint_batches
from tokbench.models.pretraining.callbacks import (
    ChecksumCallback,
    CommonRandomInit,
    LearningRateCallback,
    MidTrainingExport,
)
from tokbench.models.pretraining.checkpoints import (
    LATEST,
    SHARDED,
    UNSEALED,
    UNSEALED_SHARDS,
    newest,
    recover,
    states,
    write_checksums,
)
from tokbench.models.pretraining.curve import Curve
from tokbench.models.pretraining.options import LlamaOptions, ModelOptions, MptOptions
from tokbench.models.pretraining.phases import Phase
from tokbench.models.pretraining.sequences import packed_loader

SINGLE_PROCESS = {"NODE_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "RANK": "0", "LOCAL_RANK": "0"}
"""Environment variables of distributed libraries, with their values for a single process."""


def reshard(folder: Path, *, sharded: bool) -> None:
    """Convert the newest checkpoint between one file and shards, if necessary.

    Shards of another number of processes can be loaded directly. Processes with a full copy of the model load one file.
    One process converts while the others wait. After a kill, one of the two forms is complete.

    Args:
        folder: checkpoints, already verified by :func:`tokbench.models.pretraining.checkpoints.recover`.
        sharded: True if shards are needed, False for one file.
    """
    checkpoint = newest(folder)
    if checkpoint is None or (checkpoint.suffix == SHARDED) == sharded:
        return
    if sharded:
        torch_save_to_dcp(checkpoint, folder / f"{UNSEALED_SHARDS}{checkpoint.stem}")
    else:
        dcp_to_torch_save(checkpoint, folder / f"{checkpoint.stem}{UNSEALED}")
    write_checksums(folder)
    recover(folder)


class Average(Algorithm):
    """Algorithm that divides gradients by the number of processes if the backend is Gloo.

    PyTorch asks the backend for the mean of the gradients of a sharded model. Gloo, the backend on CPUs, returns the
    sum.
    """

    def match(self, event: Event, state: State) -> bool:
        return event == Event.AFTER_TRAIN_BATCH and state.device.dist_backend == "gloo" and dist.get_world_size() > 1

    def apply(self, event: Event, state: State, logger: Logger) -> None:
        for parameter in state.model.parameters():
            if parameter.grad is not None:
                parameter.grad.div_(dist.get_world_size())


registry.algorithms.register("tokbench_average", func=Average)
registry.dataloaders.register("tokbench_packed", func=packed_loader)
registry.callbacks.register("tokbench_alike", func=CommonRandomInit)
registry.callbacks.register("tokbench_along", func=MidTrainingExport)
registry.callbacks.register("tokbench_curve", func=Curve)
registry.callbacks.register("tokbench_rate", func=LearningRateCallback)
registry.callbacks.register("tokbench_sealing", func=ChecksumCallback)


def model_config(options: ModelOptions, rows: int) -> dict[str, Any]:
    """Return llm-foundry's configuration of a model with ``rows`` rows in the embedding matrix.

    A Llama is built from parts of its MPT: grouped queries, rotary positions, RMSNorm, a gated feed-forward layer.
    """
    attention = {"attn_uses_sequence_id": True} if options.attention_within_documents else {}
    kernel = "torch" if options.attn_impl == "sdpa" else options.attn_impl
    # Settings of both architectures.
    common = {
        "name": "mpt_causal_lm",
        "d_model": options.d_model,
        "n_heads": options.n_heads,
        "n_layers": options.n_layers,
        "max_seq_len": options.max_seq_len,
        "vocab_size": rows,
        "no_bias": True,
        "loss_fn": options.loss_fn,
        "use_train_metrics": False,
    }
    # Llama: RMS norm, grouped-query attention, rotary positions, gated feed-forward layers.
    if isinstance(options, LlamaOptions):
        return common | {
            "norm_type": "rmsnorm",
            "norm_eps": options.norm_eps,
            "attn_config": {
                "attn_type": "grouped_query_attention",
                "kv_n_heads": options.kv_heads,
                "attn_impl": kernel,
                "rope": True,
                "rope_impl": "hf",
                "rope_theta": options.rope_theta,
                **attention,
            },
            "ffn_config": {
                "ffn_type": "mptglu",
                "ffn_hidden_size": options.feed_forward,
                "ffn_act_fn": {"name": "silu"},
            },
        }
    # MPT: ALiBi or learned positions.
    assert isinstance(options, MptOptions)
    return common | {
        "expansion_ratio": options.expansion_ratio,
        "attn_config": {"alibi": options.alibi, "attn_impl": kernel, "clip_qkv": options.clip_qkv, **attention},
    }


def train_config(
    options: ModelOptions, phases: Sequence[Phase], tokenizer: Path | None, checkpoints: Path
) -> dict[str, Any]:
    """Return llm-foundry's configuration of a training.

    If the last checkpoint is that of the last batch, only the export remains.
    """
    batches = [phase.course.batches for phase in phases]
    clipping = {"gradient_clipping": {"clipping_type": "norm", "clipping_threshold": options.clip}}
    vocabulary = phases[0].packing.vocabulary
    last = newest(states(checkpoints))
    is_trained = last is not None and last.stem == f"ba{sum(batches)}"
    checkpoint_options = {
        "save_folder": str(checkpoints),
        "batches": sorted(set(checkpoint_batches(options, sum(batches)).values())),
    }
    init_options = {"tokenizer": None if tokenizer is None else str(tokenizer), "seed": options.seed}
    return {
        "run_name": "pretrain",
        "seed": options.seed,
        "precision": {"fp32": "fp32", "bf16": "amp_bf16"}[options.precision],
        "max_seq_len": options.max_seq_len,
        "model": model_config(options, options.vocabulary_rows(vocabulary)),
        "tokenizer": {},
        "fsdp_config": fsdp_config(options, dist.get_world_size(), dist.get_local_world_size()),
        "train_loader": {
            "name": "tokbench_packed",
            "batch": options.batch,
            **({"boundary": phases[0].packing.end_of_text} if options.attention_within_documents else {}),
            "phases": [
                {
                    "folder": str(phase.folder),
                    "sequences": phase.course.sequences,
                    "padding": phase.packing.padding,
                    "last": phase.course.last,
                }
                for phase in phases
            ],
        },
        "optimizer": {
            "name": "decoupled_adamw",
            "lr": options.learning_rate,
            "betas": list(options.betas),
            "eps": options.eps,
            "weight_decay": options.weight_decay,
        },
        "scheduler": {"name": "constant_with_warmup", "t_warmup": "0ba"},
        # Composer runs the last algorithm first after an event.
        "algorithms": {**clipping, "tokbench_average": {}} if options.fsdp is not None else clipping,
        "max_duration": f"{sum(batches)}ba",
        "global_train_batch_size": options.batch,
        "device_train_microbatch_size": microbatch(options, dist.get_world_size()),
        "device_eval_batch_size": 1,
        "eval_interval": 0,
        "callbacks": {
            **({"tokbench_alike": init_options} if options.common_random_numbers else {}),
            **({"tokbench_along": checkpoint_options} if options.evaluate_at and not is_trained else {}),
            "tokbench_rate": {"options": options.model_dump(mode="json"), "phases": batches},
            "tokbench_curve": {
                "path": str(checkpoints / "curve.csv"),
                "batches": sum(batches),
                "vocabulary": vocabulary,
            },
            "tokbench_sealing": {"folder": str(states(checkpoints))},
            "hf_checkpointer": {"save_folder": str(checkpoints), "save_interval": "1dur", "precision": "float32"},
        },
        "save_folder": str(states(checkpoints)),
        "save_filename": "ba{batch}" + UNSEALED,
        "save_latest_filename": LATEST,
        "save_interval": f"{options.checkpoint_every}ba",
        "save_num_checkpoints_to_keep": -1,
        "load_path": None if last is None else str(last),
        "save_overwrite": True,
        "only_hf_checkpoint": is_trained,
        "progress_bar": False,
        "log_to_console": False,
        "log_config": False,
        "python_log_level": None,
    }


def microbatch(options: ModelOptions, processes: int) -> int | str:
    """Return the number of sequences in one pass through the model, at most a process's share of a batch."""
    limit = options.microbatch
    return limit if limit == "auto" or processes == 1 else min(limit, options.batch // processes)


def fsdp_config(options: ModelOptions, processes: int, of_a_node: int) -> dict[str, Any] | None:
    """Return Composer's configuration of sharding; None if each process has a full copy of the model.

    Args:
        options: the recipe.
        processes: number of processes.
        of_a_node: number of processes on each machine.
    """
    if options.fsdp is None or processes == 1:
        return None
    over = {"full_shard": True, "node_shard": of_a_node, "shard_grad_op": False}
    return {
        "reshard_after_forward": over[options.fsdp.strategy],
        "mixed_precision": options.fsdp.mixed_precision.upper(),
        "activation_checkpointing": options.fsdp.activation_checkpointing,
        "state_dict_type": "sharded",
    }


def exported_folder(checkpoints: Path, batches: int) -> Path:
    """Return the folder of llm-foundry's export after a batch, in Hugging Face format."""
    return checkpoints / "huggingface" / f"ba{batches}"


@contextmanager
def join_processes(timeout: float) -> Iterator[bool]:
    """Join the other processes of a launch, if any; yield True in the first of them.

    A process without a launcher is the first of one. The environment variables that say so are set only within the
    block. Otherwise later calls and child processes would take them for those of a launch.

    Args:
        timeout: timeout in seconds of processes that wait for each other, here and later.
    """
    if "GROUP_RANK" in os.environ:  # torchrun's name for Composer's NODE_RANK.
        os.environ.setdefault("NODE_RANK", os.environ["GROUP_RANK"])
    launched = any(os.environ.get(name, value) != value for name, value in SINGLE_PROCESS.items())
    added = {} if launched else {name: value for name, value in SINGLE_PROCESS.items() if name not in os.environ}
    os.environ.update(added)
    try:
        dist.initialize_dist(get_device(None), timeout=timeout)
        yield dist.get_global_rank() == 0
    finally:
        for name in added:
            os.environ.pop(name, None)


def wait_for_all() -> None:
    """Wait until all processes reach this call."""
    dist.barrier()


def run(options: ModelOptions, phases: Sequence[Phase], tokenizer: Path | None, checkpoints: Path) -> None:
    """Train, or resume from the last checkpoint, without the libraries' own messages.

    Every process waits until the first has prepared the checkpoints.
    """
    os.environ["FSDP_VERSION"] = "2"  # PyTorch's fully_shard; Composer's default is FSDP 1.
    for name in ("composer", "llmfoundry", "streaming", "torch.distributed", "transformers"):
        logging.getLogger(name).setLevel(logging.ERROR)
    if dist.get_global_rank() == 0:
        reshard(states(checkpoints), sharded=options.fsdp is not None and dist.get_world_size() > 1)
    wait_for_all()
    choose(options.attn_impl)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            train(OmegaConf.create(train_config(options, phases, tokenizer, checkpoints))).close()
    finally:
        choose("torch")
