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
    from pydantic.json_schema import GenerateJsonSchema

    from tokbench.config.experiment import Experiment

    class Untitled(GenerateJsonSchema):
        """Without a title for each key: pydantic's says the key again."""

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    described = Experiment.model_json_schema(schema_generator=Untitled)
    return {"$schema": GenerateJsonSchema.schema_dialect, **described}
