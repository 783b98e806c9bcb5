"""``tokbench schema``: print the JSON schema of the configuration."""

import json
from typing import Any

import click


@click.command("schema")
def command() -> None:
    """Print the JSON schema of the configuration, for editors and other programs."""
    click.echo(json.dumps(schema(), indent=2, ensure_ascii=False))


def schema() -> dict[str, Any]:
    """The configuration's JSON schema, generated from the typed sections."""
    from tokbench.config.experiment import Experiment

    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Experiment.model_json_schema()}
