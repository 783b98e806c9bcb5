"""What ``draw``, ``typeset`` and ``report`` read: the same three options, and the content that they tell."""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from tokbench.commands.arguments import validated
from tokbench.config.experiment import Experiment
from tokbench.registry import TokbenchError
from tokbench.report.load import load


def reads_content(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options ``--tables``, ``--statistics`` and ``--experiment``, and pass it what they tell."""
    folder = click.Path(exists=True, file_okay=False)

    @click.option("--tables", required=True, type=folder, help="Folder of tidy tables.")
    @click.option("--statistics", required=True, type=folder, help="Their statistics.")
    @click.option("--experiment", required=True, help="The configuration as JSON.")
    @wraps(command)
    def with_content(tables: str, statistics: str, experiment: str, **others: Any) -> None:
        try:
            configured = json.loads(experiment)
        except (ValueError, RecursionError) as error:
            raise TokbenchError(
                f"--experiment: not JSON ({error}); give the configuration as one JSON object"
            ) from None
        validated(configured, Experiment, "--experiment")
        command(load(tables, statistics, configured), **others)

    return with_content
