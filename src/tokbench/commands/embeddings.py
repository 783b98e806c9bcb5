"""Command that carries the embeddings of a model to another tokenizer."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokbench.commands.declaration import command
from tokbench.commands.inputs import ContentPath, TokenizerPath
from tokbench.commands.outputs import output_file
from tokbench.commands.parameters import reading_options
from tokbench.io.atomic import atomic_file
from tokbench.runtime import exit_status

if TYPE_CHECKING:
    from tokbench.adapters.open import ImportOptions


@command("carry_embeddings", "carry embeddings to another tokenizer", group="extras", place=25)
@click.argument("old", type=TokenizerPath())
@click.argument("new", type=TokenizerPath())
@click.argument("weights", type=ContentPath("safetensors file", ("text",)))
@output_file(required=True, help="File of the new weights.")
@click.option(
    "--key", "keys", multiple=True, help="Tensor with a row for each id; may be repeated. Default: well-known names."
)
@output_file("--map", help="Table of new ids with their old ids, separated by tabs.")
@reading_options
def carry_embeddings_command(
    old: str, new: str, weights: str, output: str, keys: tuple[str, ...], map: str | None, reading: "ImportOptions"
) -> None:
    """Write WEIGHTS, a safetensors file of a model with the tokenizer OLD, with embeddings for the tokenizer NEW, such
    as one that was continued or pruned.

    A token with the same bytes keeps its row. A new token has the mean of the rows into which OLD segments it. Untied
    outputs follow, and all other tensors are copied.
    """
    from tokbench.adapters.open import one_of_several, reject_unused
    from tokbench.models.carried_embeddings import carry_embeddings, summary
    from tokbench.tokenizer.id_map import map_ids, unused_ids, write_map

    exit_status.describe_task(f"carry the embeddings of {weights}")
    reject_unused(reading, [Path(old), Path(new)])
    before, after = (one_of_several(Path(path), reading) for path in (old, new))
    sources = map_ids(before, after)
    carried = carry_embeddings(Path(weights), Path(output), sources, least=before.id_limit, keys=keys)
    if map is not None:
        with atomic_file(map) as partial:
            partial.write_text(write_map(sources, carried.old_rows), encoding="utf-8")
    click.echo(f"{', '.join(carried.names)}: {summary(carried, unused_ids(carried.sources, before))}")
    for name in carried.copied_names:
        click.echo(
            f"{weights}: '{name}' has a side of {carried.old_rows:,}, too, and is copied; if it has a row for each id, "
            "name it with --key, together with the others",
            err=True,
        )
