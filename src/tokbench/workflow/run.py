"""What a run does for its experiment's folder when it begins and when it ends.

The optional parts that jobs need, looked for before the first of them starts.
"""

import sys
from collections.abc import Callable, Collection, Sequence
from importlib.util import find_spec
from typing import Any

from tokbench.config.experiment import Experiment
from tokbench.config.load import read_all
from tokbench.errors import TokbenchError
from tokbench.io.locks import hold
from tokbench.runtime.exit_status import message_and_status

NEEDED = {
    "pretrain": ("composer", "llmfoundry", "torch", "transformers"),
    "evaluate": ("lm_eval", "torch", "transformers"),
    "train_byte_lm": ("torch", "transformers"),
    "score_bytes": ("torch", "transformers"),
    "draw_bytes": ("torch", "transformers"),
    "train_translation": ("torch", "transformers"),
    "translate": ("torch", "transformers"),
    "score_translation": ("sacrebleu",),
    "fetch": ("datasets",),
    "fetch_pairs": ("datasets",),
    "fetch_tasks": ("lm_eval",),
}
"""Packages that do not come with Tokbench alone, by the stage that imports them."""
OF_BYTES = ("train_byte_lm", "score_bytes", "draw_bytes")


def check_packages(experiment: Experiment, stages: Collection[str]) -> None:
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


def read_experiment(workflow: Any) -> Experiment:
    """Read the experiment of the configuration files and ``--config``; a mistake ends the process with one line."""
    try:
        return _experiment(workflow)
    except Exception as error:
        sys.exit(message_and_status(error)[0])


def on_start(workflow: Any, log: Sequence[str]) -> None:
    """Hold the folder's lock, see that what the jobs import is there, and leave the run's plan; a mistake ends
    the process in one line.

    Only the process that hands out the jobs comes here, and no dry run does. A workflow that takes these rules as a
    module calls it in its own ``onstart``, because the engine does not run a module's.

    Args:
        workflow: the workflow engine's, planned.
        log: the engine's logs.
    """
    experiment = read_experiment(workflow)
    try:
        hold(experiment.folder)
        if not workflow.deployment_settings.deployment_method:
            check_packages(experiment, {job.rule.name for job in workflow.dag.needrun_jobs()})
    except Exception as error:
        sys.exit(message_and_status(error)[0])

    from tokbench.config.load import files_left_out, files_with_equal_content
    from tokbench.workflow.job_plan import leave_plan

    for line in (*files_left_out(experiment), *files_with_equal_content(experiment)):
        print(line, file=sys.stderr)
    _beside(lambda: leave_plan(workflow, experiment.folder, log))


def on_end(workflow: Any) -> None:
    """Write the page that tells how long the run's stages took."""
    from tokbench.workflow.job_states import read_plan
    from tokbench.workflow.status import overview
    from tokbench.workflow.status_output import write_page

    _beside(lambda: write_page(overview(read_plan(_experiment(workflow).folder), life="ended")))


def _experiment(workflow: Any) -> Experiment:
    return read_all(workflow.configfiles, workflow.config_settings.config)


def _beside(work: Callable[[], None]) -> None:
    """Do what no result depends on: where it fails, a line says so and the run goes on."""
    try:
        work()
    except Exception as error:
        print(message_and_status(error)[0], file=sys.stderr)
