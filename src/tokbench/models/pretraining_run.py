"""A training of a language model: in this process, or in several that it starts."""

import json
from pathlib import Path

from tokbench.models.memory import lm_starting_memory, on_gpu
from tokbench.models.pretraining.launch import is_launched, pretrain_together
from tokbench.models.pretraining.options import ModelOptions
from tokbench.models.pretraining.phases import read_phases, require_tokenizer
from tokbench.runtime.memory_limit import require


def run_pretraining(
    packed: Path,
    tokenizer: Path,
    options: ModelOptions,
    output: Path,
    checkpoints: Path,
    *,
    megabytes: int | None = None,
) -> int:
    """Train a model with the number of processes in its ``resources``.

    Args:
        packed: packed sequences.
        tokenizer: folder of the tokenizer that packed them.
        options: architecture, recipe and resources.
        output: folder of the model.
        checkpoints: folder of this run's checkpoints.
        megabytes: memory limit in MB (10^6 bytes). Default: None, no limit.

    Returns:
        The exit status: 0, or that of the process that failed first.

    Raises:
        TokbenchError: more memory is needed than allowed, the sequences are of another tokenizer, or as
            :func:`tokbench.models.pretraining.train.pretrain`.
    """
    if megabytes is not None:
        _require_memory(packed, options, megabytes)
    # The launcher has checked the inputs for all processes that it starts.
    if not is_launched():
        require_tokenizer(options, packed, tokenizer)
        if options.resources.processes > 1:
            command = _command(packed, tokenizer, options, output, checkpoints)
            return pretrain_together(command, packed, options, output, checkpoints)
    from tokbench.models.pretraining.train import pretrain

    pretrain(packed, tokenizer, options, output, checkpoints)
    return 0


def _require_memory(packed: Path, options: ModelOptions, megabytes: int) -> None:
    """Raise an error if the training cannot reach its first batch within the limit."""
    placed = options if on_gpu(options.device) else options.model_copy(update={"device": "cpu"})
    need = lm_starting_memory(placed, read_phases(options, packed)[0].packing.vocabulary)
    require("this training", need, megabytes, "lower microbatch" if placed.device == "cpu" else "")


def _command(packed: Path, tokenizer: Path, options: ModelOptions, output: Path, checkpoints: Path) -> list[str]:
    """Return the arguments of ``tokbench`` with which each of several processes joins the training."""
    files = {"--packed": packed, "--tokenizer": tokenizer, "--checkpoints": checkpoints}
    resources = {"--nodes": options.resources.nodes, "--processes-per-node": options.resources.processes_per_node}
    flags = {"--recipe": json.dumps(options.recipe()), **files, **resources, "-o": output}
    return ["pretrain", *(str(word) for flag in flags.items() for word in flag)]
