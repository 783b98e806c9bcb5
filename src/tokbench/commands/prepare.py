"""``tokbench prepare``: split a corpus and write it in shards, or gather the shards of its parts."""

from pathlib import Path

import click

from tokbench.allowance import DEFAULT, allowance
from tokbench.commands.memory_option import memory_option
from tokbench.commands.outputs import OutputFolder


@click.command("prepare")
@click.option("--recipe", required=True, help="Source, splits, shards and seed as JSON, as in the configuration.")
@click.option("-o", "--output", required=True, type=OutputFolder("corpus"), help="Folder of the corpus.")
@memory_option(DEFAULT)
@click.argument("files", nargs=-1)
def command(recipe: str, output: str, megabytes: int, files: tuple[str, ...]) -> None:
    """Split a corpus by document and write it in shards; FILES are the source's own (the fetched one of a hub).

    Where the recipe asks for several parts, FILES are the folders that 'tokbench write_shards' made.
    """
    from tokbench.atomic import atomic_folder
    from tokbench.commands.corpus_recipe import corpus_of, say_findings, shares_of, source_of
    from tokbench.corpus.prepare import link_shards, prepare
    from tokbench.corpus.windows import without_windows

    corpus, seed = corpus_of(recipe)
    if corpus.parts > 1:
        with atomic_folder(output, "corpus") as folder:
            link_shards([Path(file) for file in files], shares_of(corpus), corpus.shards, folder)
            say_findings(folder)
        return
    source, cache = source_of(corpus, files)
    with atomic_folder(output, "corpus") as folder:
        allowed, longest = without_windows(allowance(megabytes), source), corpus.longest_document
        drop = corpus.duplicates == "drop"
        totals = prepare(source, shares_of(corpus), seed, corpus.shards, folder, cache, allowed, longest, drop)
        say_findings(folder)
    for split, (documents, size) in totals.items():
        click.echo(f"{split}: {documents:,} documents, {size:,} bytes", err=True)
