"""``tokbench gather_tokens``: bring the tokens of a large corpus together."""

from pathlib import Path

import click

from tokbench.commands.outputs import OutputFolder


@click.command("gather_tokens")
@click.option("-o", "--output", required=True, type=OutputFolder("tokens"), help="Folder of the tokens.")
@click.argument("shards", nargs=-1, required=True)
def command(output: str, shards: tuple[str, ...]) -> None:
    """Bring together what 'tokbench encode_shard' made of all SHARDS, and add up what their slices hold."""
    from tokbench.atomic import atomic_folder
    from tokbench.pretraining.sliced import gather

    with atomic_folder(output, "tokens") as folder:
        contents = gather([Path(shard) for shard in shards], folder)
    tokens = sum(read.tokens for read in contents.read)
    click.echo(f"{len(shards):,} shards, {contents.slices.number:,} slices, {tokens:,} tokens", err=True)
