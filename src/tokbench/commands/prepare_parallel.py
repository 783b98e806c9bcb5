"""``tokbench prepare_parallel``: clean and split a parallel corpus."""

import click

from tokbench.allowance import DEFAULT, allowance
from tokbench.commands.memory_option import memory_option
from tokbench.commands.outputs import OutputFolder


@click.command("prepare_parallel")
@click.option("--recipe", required=True, help="Languages, files, splits, rules and seed as JSON.")
@click.option("-o", "--output", required=True, type=OutputFolder("parallel corpus"), help="Folder of the corpus.")
@memory_option(DEFAULT)
@click.argument("files", nargs=-1)
def command(recipe: str, output: str, megabytes: int, files: tuple[str, ...]) -> None:
    """Clean a parallel corpus and split it by pair; FILES, if named, must be those that the recipe names.

    A recipe with pairs of a hub needs FILES: after those that it names, for each such split the one that
    'tokbench fetch_pairs' made.
    """
    from pathlib import Path

    from tokbench.atomic import atomic_folder
    from tokbench.commands.arguments import Seeded, check_same_files, mapping_of
    from tokbench.corpus.parallel.prepare import LEAST, prepare_parallel
    from tokbench.corpus.parallel.sources import ParallelCorpus
    from tokbench.options import validated

    values = mapping_of(recipe, "--recipe")
    seed = validated({"seed": values.pop("seed", 0)}, Seeded, "--recipe").seed
    corpus = validated(values, ParallelCorpus, "--recipe")
    fetched = files[len(files) - len(corpus.on_hub()) :]
    if corpus.on_hub():
        if len(files) < len(corpus.on_hub()):
            raise click.UsageError(
                f"{len(corpus.on_hub())} of the splits are pairs of a hub; name the files that 'tokbench fetch_pairs' "
                "made of them, in order of the splits"
            )
        corpus = corpus.read_from([Path(file) for file in fetched])
    if files:
        check_same_files(files, corpus.files(), "--recipe")
    with atomic_folder(output, "parallel corpus") as folder:
        counts = prepare_parallel(corpus, seed, folder, allowance(megabytes, LEAST))
    for split, found in counts.items():
        click.echo(f"{split}: " + ", ".join(f"{number:,} {what}" for what, number in found.items()), err=True)
