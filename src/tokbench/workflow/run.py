"""What a run does for its experiment's folder when it begins and when it ends."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from tokbench.config.experiment import Experiment
from tokbench.config.load import read_all
from tokbench.io.locks import hold
from tokbench.runtime.exit_status import line_and_status
from tokbench.workflow.preflight import check_parts


def read_experiment(workflow: Any) -> Experiment:
    """Read the experiment of the configuration files and ``--config``; a mistake ends the process with one line."""
    try:
        return _experiment(workflow)
    except Exception as error:
        sys.exit(line_and_status(error)[0])


def begin(workflow: Any, log: Sequence[str]) -> None:
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
            check_parts(experiment, {job.rule.name for job in workflow.dag.needrun_jobs()})
    except Exception as error:
        sys.exit(line_and_status(error)[0])

    from tokbench.config.load import files_left_out, files_with_equal_content
    from tokbench.workflow.job_plan import leave_plan

    for line in (*files_left_out(experiment), *files_with_equal_content(experiment)):
        print(line, file=sys.stderr)
    _beside(lambda: leave_plan(workflow, experiment.folder, log))


def end(workflow: Any) -> None:
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
        print(line_and_status(error)[0], file=sys.stderr)
