"""Stages of language models: packing of text, training, evaluation and embeddings."""

from typing import TYPE_CHECKING, Any

from tokbench.config.targets import all_checkpoints, all_tested, all_trained
from tokbench.stage import Result, Stage, stages
from tokbench.stages.measurement import metrics_of

if TYPE_CHECKING:
    from tokbench.config.experiment import Experiment

EVALUATOR = "tokbench.commands.evaluation:evaluate_command"
LIBRARIES = ("torch", "transformers", "lm-eval", "datasets")

PACKERS = "tokbench.commands.language_models"
ENCODE_SHARD = stages.add(Stage("encode_shard", run=f"{PACKERS}:encode_shard_command"))
GATHER_TOKENS = stages.add(Stage("gather_tokens", run=f"{PACKERS}:gather_tokens_command"))
PACK_SLICE = stages.add(Stage("pack_slice", run=f"{PACKERS}:pack_slice_command"))


def _slices(experiment: "Experiment", wildcards: Any) -> list[str]:
    """Return the code of the steps before, whose files are temporary."""
    return [str(step.run) for step in (ENCODE_SHARD, GATHER_TOKENS, PACK_SLICE)]


PACK = stages.add(Stage("pack", run=f"{PACKERS}:pack_command", methods=_slices))
PRETRAIN = stages.add(
    Stage(
        "pretrain",
        run="tokbench.models.pretraining_run:run_pretraining",
        results=(
            Result(
                "model", "models/{model}/{variant}/{size}", all_trained, "Folder models/MODEL/VARIANT/SIZE, for curves"
            ),
        ),
        libraries=("mosaicml", "llm-foundry", "mosaicml-streaming", "torch", "transformers"),
        cites=("llm_foundry", "lm_evaluation_harness"),
    )
)
MEASURE_EMBEDDINGS = stages.add(
    Stage(
        "measure_embeddings",
        run="tokbench.intrinsic.embeddings:measure_language_model",
        results=(
            Result(
                "embeddings",
                "embeddings/{model}/{variant}/{size}",
                all_trained,
                "Folder embeddings/MODEL/VARIANT/SIZE",
            ),
        ),
        methods=metrics_of("embeddings"),
    )
)
MAKE_TASKS = stages.add(Stage("make_tasks", run="tokbench.commands.evaluation:make_tasks_command"))
IMPORT_TASKS = stages.add(Stage("import_tasks", run="tokbench.evaluation.local_tasks:write_local_tasks"))
FETCH_TASKS = stages.add(
    Stage("fetch_tasks", run="tokbench.evaluation.load_tasks:fetch_tasks", libraries=("lm-eval", "datasets"))
)
EVALUATE = stages.add(
    Stage(
        "evaluate",
        run=EVALUATOR,
        results=(
            Result("downstream", "downstream/{model}/{variant}/{size}/{suite}.json", all_tested, "Results of a model"),
        ),
        libraries=LIBRARIES,
    )
)
EVALUATE_CHECKPOINT = stages.add(
    Stage(
        "evaluate_checkpoint",
        run=EVALUATOR,
        results=(
            Result(
                "convergence",
                "convergence/{model}/{variant}/{size}/{share}/{suite}.json",
                all_checkpoints,
                "Results of a model's checkpoint",
            ),
        ),
        libraries=LIBRARIES,
    )
)
