"""``tokbench split_corpus``: split a corpus that is prepared in parts, by the sizes of its documents."""

from pathlib import Path

import click

from tokbench import memory
from tokbench.allowance import DEFAULT, allowance
from tokbench.commands.memory_option import memory_option
from tokbench.commands.outputs import OutputFolder


@click.command("split_corpus")
@click.option("--recipe", required=True, help="Source, splits, shards and seed as JSON, as in the configuration.")
@click.option("-o", "--output", required=True, type=OutputFolder("places"), help="Folder of the places.")
@memory_option(DEFAULT)
@click.argument("sizes", nargs=-1, required=True)
def command(recipe: str, output: str, megabytes: int, sizes: tuple[str, ...]) -> None:
    """Write into which shard every document goes, by SIZES, those of all parts in order ('tokbench read_sizes')."""
    from tokbench.atomic import atomic_folder
    from tokbench.commands.corpus_recipe import corpus_of, say_findings, shares_of
    from tokbench.corpus.places import assign_documents

    memory.purpose(f"split the documents of {len(sizes):,} parts")
    corpus, seed = corpus_of(recipe)
    read = [Path(path) for path in sizes]
    with atomic_folder(output, "places") as folder:
        totals = assign_documents(
            corpus.source,
            shares_of(corpus),
            seed,
            corpus.shards,
            read,
            folder,
            allowance(megabytes),
            corpus.longest_document,
            corpus.duplicates == "drop",
        )
        say_findings(folder)
    for split, (documents, size) in totals.items():
        click.echo(f"{split}: {documents:,} documents, {size:,} bytes", err=True)
