"""The optional parts that jobs need, looked for before the first of them starts."""

from collections.abc import Collection
from importlib.util import find_spec

from tokbench.config.experiment import Experiment
from tokbench.errors import TokbenchError

NEEDED = {
    "pretrain": ("composer", "llmfoundry", "torch", "transformers"),
    "evaluate": ("lm_eval", "torch", "transformers"),
    "train_byte_lm": ("torch", "transformers"),
    "score_bytes": ("torch", "transformers"),
    "train_translation": ("torch", "transformers"),
    "translate": ("torch", "transformers"),
    "score_translation": ("sacrebleu",),
    "fetch": ("datasets",),
    "fetch_pairs": ("datasets",),
    "fetch_tasks": ("lm_eval",),
}
"""Packages that do not come with Tokbench alone, by the stage that imports them."""
OF_BYTES = ("train_byte_lm", "score_bytes")


def check_parts(experiment: Experiment, stages: Collection[str]) -> None:
    """Reject a run some of whose jobs could only fail.

    Args:
        experiment: what the stages are of; byte n-gram models need none of what a neural one needs.
        stages: those that have jobs to do in the environment that the workflow runs in.

    Raises:
        TokbenchError: a package that one of them imports is not installed.
    """
    neural = any(model.kind == "neural" for model in experiment.byte_lms.values())
    for stage, packages in NEEDED.items():
        if stage in stages and (neural or stage not in OF_BYTES):
            missing = [package for package in packages if find_spec(package) is None]
            if missing:
                raise TokbenchError(
                    f"{stage}: not installed here: {', '.join(missing)}; install 'tokbench[language-models]', or let "
                    "Snakemake make environments (--software-deployment-method conda)"
                )
