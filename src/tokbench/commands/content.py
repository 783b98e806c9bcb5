"""What ``draw``, ``typeset`` and ``report`` read: the same three options, and the content that they tell."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from tokbench.config.errors import validated
from tokbench.config.experiment import Experiment
from tokbench.inputs.json import parse_json
from tokbench.report.load import load
from tokbench.statistics.declared import declared as analysed
from tokbench.tabulation.declared import declared as tabulated


def content_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options ``--tables``, ``--statistics`` and ``--experiment``, and pass it what they tell."""
    folder = click.Path(exists=True, file_okay=False)

    @click.option("--tables", required=True, type=folder, help="Folder of tidy tables.")
    @click.option("--statistics", required=True, type=folder, help="Their statistics.")
    @click.option("--experiment", required=True, help="The configuration as JSON.")
    @wraps(command)
    def with_content(tables: str, statistics: str, experiment: str, **others: Any) -> None:
        remedy = "give the configuration as one JSON object"
        configured = parse_json(experiment, "--experiment", remedy=remedy)
        validated(configured, Experiment, "--experiment")
        command(load(tables, statistics, configured, [*tabulated(), *analysed()]), **others)

    return with_content
