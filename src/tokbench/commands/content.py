"""What ``draw``, ``typeset`` and ``report`` read: the same options, and the content that they tell."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click


def content_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that name tables and the experiment, and pass it what they tell."""
    folder = click.Path(exists=True, file_okay=False)

    @click.option("--tables", required=True, type=folder, help="Folder of tidy tables.")
    @click.option("--statistics", required=True, type=folder, help="Their statistics.")
    @click.option("--examples", type=folder, help="Sentences as tokenizers cut them.")
    @click.option("--experiment", required=True, help="The configuration as JSON.")
    @wraps(command)
    def with_content(tables: str, statistics: str, examples: str | None, experiment: str, **others: Any) -> None:
        from tokbench.config.experiment import Experiment
        from tokbench.inputs.json import parse_json
        from tokbench.options import validated
        from tokbench.report.load import load

        remedy = "give the configuration as one JSON object"
        configured = parse_json(experiment, "--experiment", remedy=remedy)
        validated(configured, Experiment, "--experiment")
        folders = {"tables": tables, "statistics": statistics, **({"examples": examples} if examples else {})}
        command(load(folders, configured), **others)

    return with_content
