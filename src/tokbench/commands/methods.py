"""Commands that list methods and print the schema of the configuration."""

import json
import shutil
import sys
from typing import Any

import click

from tokbench.commands.completion import names_in
from tokbench.commands.declaration import command


@command(
    "methods",
    "list methods, metrics and types of gold data",
    group="essentials",
    place=90,
    example="tokbench methods bpe fertility",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument(
    "names",
    nargs=-1,
    shell_complete=names_in(
        "tokbench.construction:constructions",
        "tokbench.segmentation:segmentations",
        "tokbench.pretokenization:schemes",
        "tokbench.metric:metrics",
        "tokbench.resource:resource_types",
        "tokbench.corpus.formats:corpus_formats",
    ),
)
def methods_command(as_json: bool, names: tuple[str, ...]) -> None:
    """List constructions, segmentations, pre-tokenizers, metrics, types of gold data and corpus formats, one line each.

    With NAMES: their full descriptions, options and defaults.
    """

    from tokbench.commands.method_listing import as_json_text, as_lines, as_text, methods_named

    methods = methods_named(names)
    if as_json:
        click.echo(as_json_text(methods))
        return
    columns = shutil.get_terminal_size().columns
    parts = (
        as_text(methods, min(columns, 110)) if names else as_lines(methods, columns if sys.stdout.isatty() else None)
    )
    for kind, text in parts:
        click.secho(f"{kind}s".capitalize(), bold=True)
        click.echo(f"{text}\n")
    if not names:
        click.echo("Options of a method: tokbench methods NAME")


@command("schema", "print the JSON schema of the configuration", group="extras", place=70)
def schema_command() -> None:
    """Print the JSON schema of the configuration, for editors and other programs."""
    click.echo(json.dumps(schema(), indent=2, ensure_ascii=False))


def schema() -> dict[str, Any]:
    """Return the JSON schema of the configuration, generated from the typed sections."""
    from pydantic.json_schema import GenerateJsonSchema

    from tokbench.config.experiment import Experiment

    class Untitled(GenerateJsonSchema):
        """Schema generator without titles of keys: pydantic's titles only repeat the keys."""

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    described = Experiment.model_json_schema(schema_generator=Untitled)
    return {"$schema": GenerateJsonSchema.schema_dialect, **described}
