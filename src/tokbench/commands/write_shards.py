"""``tokbench write_shards``: write some of the shards of a corpus from the texts of all its parts."""

from pathlib import Path

import click

from tokbench import memory
from tokbench.allowance import DEFAULT, allowance
from tokbench.commands.memory_option import memory_option
from tokbench.commands.numbers import Whole
from tokbench.commands.outputs import OutputFolder
from tokbench.errors import TokbenchError


@click.command("write_shards")
@click.option("--recipe", required=True, help="Splits, shards and parts as JSON, as in the configuration.")
@click.option("--group", required=True, type=Whole(0, 9998), help="Number of the group of shards.")
@click.option("--places", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of the places.")
@click.option("-o", "--output", required=True, type=OutputFolder("shards"), help="Folder of the shards.")
@memory_option(DEFAULT)
@click.argument("queues", nargs=-1, required=True)
def command(recipe: str, group: int, places: str, output: str, megabytes: int, queues: tuple[str, ...]) -> None:
    """Write the shards of one group from QUEUES, the texts of all parts in order ('tokbench deal_part')."""
    from tokbench.atomic import atomic_folder
    from tokbench.commands.corpus_recipe import corpus_of, groups_in, shares_of
    from tokbench.corpus.manifest import read_findings, write_findings
    from tokbench.corpus.places import read_totals
    from tokbench.corpus.queues import write_partitions
    from tokbench.corpus.shards import shard_paths

    corpus, _ = corpus_of(recipe)
    groups = groups_in(corpus)
    if group >= len(groups):
        raise TokbenchError(f"--group {group}: this corpus has {len(groups)} groups of shards, from 0")
    own = groups[group]
    memory.purpose(f"write {len(own):,} shards")
    allowed = allowance(megabytes)
    totals = read_totals(Path(places))
    splits = [split for split, share in shares_of(corpus).items() if not isinstance(share, str)]
    read = [Path(queue) for queue in queues]
    with atomic_folder(output, "shards") as folder:
        paths = [path for split in splits for path in shard_paths(folder, split, corpus.shards)]
        if len(totals.documents) != len(paths):
            raise TokbenchError(f"{places}: of {len(totals.documents):,} shards, where --recipe has {len(paths):,}")
        write_partitions(read, own, totals, paths[own.start : own.stop], allowed)
        write_findings(folder, read_findings(Path(places)))
