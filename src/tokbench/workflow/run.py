"""Hooks at the start and the end of a workflow run.

Optional packages are checked before the first job starts.
"""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from tokbench.config.experiment import Experiment
from tokbench.config.load import read_all, validate
from tokbench.errors import TokbenchError
from tokbench.io.locks import lock_folder
from tokbench.runtime.exit_status import message_and_status
from tokbench.stage import Stage
from tokbench.stage import stages as all_stages
from tokbench.workflow.environments import VARIABLE, environment_of_language_models, versions_for
from tokbench.workflow.job_plan import leave_plan, stage_of


def check_packages(experiment: Experiment, stages: Collection[str]) -> None:
    """Reject a run if jobs of it would fail for a missing package.

    Args:
        experiment: the experiment.
        stages: stages with jobs in the environments of the workflow and of language models.

    Raises:
        TokbenchError: a package that one of them imports is not installed.
    """
    for stage in all_stages:
        if stage.name in stages:
            installed = versions_for(stage, experiment)
            if missing := [library for library in stage.libraries_of(experiment) if library not in installed]:
                raise TokbenchError(f"{stage.name}: not installed: {', '.join(missing)}; {_remedy(stage, experiment)}")


def _remedy(stage: Stage, experiment: Experiment) -> str:
    """Return what installs the packages of a stage."""
    if stage.needs_language_models(experiment):
        return (
            f"run 'make install-models' in a checkout, or install 'tokbench[language-models]' in a virtual environment "
            f"that {VARIABLE} names, or let Snakemake make environments (--software-deployment-method conda)"
        )
    return "install 'tokbench[hub]'" if "datasets" in stage.libraries_of(experiment) else "install Tokbench again"


def check_python(workflow: Any) -> None:
    """Reject a run on a cluster if none of its jobs can start: Snakemake does not quote Python's path in their scripts.

    Args:
        workflow: the workflow engine's workflow.

    Raises:
        TokbenchError: the path has a blank.
    """
    shared = workflow.non_local_exec and not workflow.executor_plugin.common_settings.implies_no_shared_fs
    if shared and len(sys.executable.split()) > 1:
        raise TokbenchError(
            f"{sys.executable}: this path has a blank, so no job of a cluster can start; make the environment in a "
            "folder whose path has none"
        )


def read_experiment(workflow: Any, config: Mapping[str, Any] | None = None) -> Experiment:
    """Read the experiment of a workflow; exit with one line on errors.

    Args:
        workflow: the workflow engine's workflow.
        config: the configuration that the rules have. It differs from the files if another workflow imports the rules
            as a module, for example with ``config: config["tokbench"]``. Default: that of the files and ``--config``.
    """
    try:
        environment_of_language_models()  # The variable that names it may be wrong.
        return _experiment(workflow, config)
    except Exception as error:
        sys.exit(message_and_status(error)[0])


def on_start(workflow: Any, log: Sequence[str], config: Mapping[str, Any] | None = None) -> None:
    """Lock the folder, check the packages that the jobs import, and write the run's plan; exit with one line on errors.

    Only the main process of a real run calls it, not jobs or dry runs. A workflow that imports these rules as a module
    must call it in its own ``onstart``, because the engine does not run that of a module.

    Args:
        workflow: the workflow engine's workflow, planned.
        log: the engine's logs.
        config: as in :func:`read_experiment`.
    """
    experiment = read_experiment(workflow, config)
    try:
        check_python(workflow)
        lock_folder(experiment.folder)
        shared = {usage.name for usage in workflow.storage_settings.shared_fs_usage}
        if not workflow.deployment_settings.deployment_method and "SOFTWARE_DEPLOYMENT" in shared:
            needed = {stage_of(job, experiment.folder) for job in workflow.dag.needrun_jobs()}
            check_packages(experiment, needed)
    except Exception as error:
        sys.exit(message_and_status(error)[0])

    from tokbench.config.load import files_left_out, files_with_equal_content

    notes = *files_left_out(experiment), *files_with_equal_content(experiment), *unmatched_resources(workflow)
    for line in notes:
        print(line, file=sys.stderr)
    _run_optional(lambda: leave_plan(workflow, experiment.folder, log))


def unmatched_resources(workflow: Any) -> list[str]:
    """Return a line if a profile sets resources of our rules under names that the run's rules do not have.

    The engine ignores such a setting. Rules have other names if a workflow imports them with a prefix.

    Args:
        workflow: the workflow engine's workflow.
    """
    ours = {stage.name for stage in all_stages}
    names = ours.intersection(workflow.resource_settings.overwrite_resources)
    unmatched = sorted(name for name in names if not workflow.is_rule(name))
    return [f"set-resources: no rule is named {', '.join(unmatched)}; write the prefix of the rules"] * bool(unmatched)


def on_end(workflow: Any, config: Mapping[str, Any] | None = None) -> None:
    """Write the page with the times of the run's stages; ``config`` is that of :func:`read_experiment`."""
    from tokbench.workflow.job_states import read_plan
    from tokbench.workflow.status import build_overview
    from tokbench.workflow.status_output import write_page

    _run_optional(lambda: write_page(build_overview(read_plan(_experiment(workflow, config).folder), life="ended")))


def _experiment(workflow: Any, config: Mapping[str, Any] | None) -> Experiment:
    if config is not None and config != _config_of_files(workflow):
        return validate(config, "configuration of the module")
    last = workflow.config_settings.configfiles
    files = [*(file for file in workflow.configfiles if file not in last), *last]
    return read_all(files, workflow.config_settings.config)


def _config_of_files(workflow: Any) -> dict[str, Any]:
    """Return the configuration as Snakemake reads it from the files and the command line."""
    from snakemake.common.configfile import load_configfile
    from snakemake.utils import update_config

    config: dict[str, Any] = {}
    for file in workflow.configfiles:
        update_config(config, load_configfile(file))
    update_config(config, workflow.config_settings.overwrite_config)
    return config


def _run_optional(work: Callable[[], None]) -> None:
    """Run optional work; if it fails, print a line and continue."""
    try:
        work()
    except Exception as error:
        print(message_and_status(error)[0], file=sys.stderr)
