"""``tokbench pretrain``: pretrain a language model."""

from pathlib import Path

import click

from tokbench.commands.log import log_to_stderr
from tokbench.commands.memory_option import memory_option
from tokbench.commands.numbers import Whole
from tokbench.commands.outputs import OutputFolder
from tokbench.pretraining.presets import RECIPES


@click.command("pretrain")
@click.option("--recipe", required=True, help=f"A preset ({', '.join(RECIPES)}) or options as JSON.")
@click.option("--packed", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of MDS shards.")
@click.option("--tokenizer", required=True, type=click.Path(exists=True, file_okay=False), help="Its tokenizer.")
@click.option(
    "--checkpoints", type=click.Path(file_okay=False), help="Folder for resuming; beside the output if left out."
)
@click.option("--nodes", type=Whole(1), default=1, show_default=True, help="Machines, those of a SLURM job.")
@click.option("--processes-per-node", type=Whole(1), default=1, show_default=True, help="One for each GPU of one.")
@click.option("-o", "--output", required=True, type=OutputFolder("model"), help="Folder of the model.")
@memory_option()
def command(
    recipe: str,
    packed: str,
    tokenizer: str,
    checkpoints: str | None,
    nodes: int,
    processes_per_node: int,
    output: str,
    megabytes: int | None,
) -> None:
    """Pretrain a language model with llm-foundry; a run that was stopped goes on from its checkpoint.

    Where the model needs more than --memory, a line says how much before anything of it is made.
    """
    import json

    from tokbench.commands.arguments import recipe_options
    from tokbench.errors import TokbenchError
    from tokbench.inputs.yaml import parse_yaml
    from tokbench.options import validated
    from tokbench.pretraining.launch import launched, pretrain_together
    from tokbench.pretraining.options import PRESETS, MptOptions, architecture_of
    from tokbench.pretraining.placement import Placement

    log_to_stderr()
    named = parse_yaml(recipe, "--recipe")
    options = recipe_options(recipe, architecture_of(named) if isinstance(named, dict) else MptOptions, PRESETS)
    if options.resources != Placement():
        raise TokbenchError("--recipe: resources: no part of what a model is; use --nodes and --processes-per-node")
    resources = {"nodes": nodes, "processes_per_node": processes_per_node}
    options = validated(options.recipe() | {"resources": resources}, type(options), "--recipe")
    standing = checkpoints or f"{output}.checkpoints"
    if megabytes is not None:
        from tokbench.allowance import require
        from tokbench.commands.devices import on_gpu
        from tokbench.model_memory import lm_starting_memory
        from tokbench.pretraining.phases import read_phases

        there = options if on_gpu(options.device) else options.model_copy(update={"device": "cpu"})
        need = lm_starting_memory(there, read_phases(options, Path(packed))[0].packing.vocabulary)
        require("this training", need, megabytes, "lower microbatch" if there.device == "cpu" else "")
    if options.resources.processes > 1 and not launched():
        text = json.dumps(options.recipe())
        called = ["pretrain", "--recipe", text, "--packed", packed, "--tokenizer", tokenizer, "--checkpoints", standing]
        called += ["--nodes", str(nodes), "--processes-per-node", str(processes_per_node)]
        status = pretrain_together([*called, "-o", output], Path(packed), options, Path(output), Path(standing))
        if status:
            raise SystemExit(status)
        return
    from tokbench.pretraining.train import pretrain

    pretrain(Path(packed), Path(tokenizer), options, Path(output), Path(standing))
