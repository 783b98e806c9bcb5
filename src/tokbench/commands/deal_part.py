"""``tokbench deal_part``: deal the texts of a part of a corpus out to its shards."""

from pathlib import Path
from typing import Any

import click

from tokbench import memory
from tokbench.allowance import DEFAULT, allowance
from tokbench.commands.marks import columns
from tokbench.commands.memory_option import memory_option
from tokbench.commands.numbers import Share
from tokbench.commands.outputs import output_file


@click.command("deal_part")
@click.option("--recipe", required=True, help="Source, splits, shards and parts as JSON, as in the configuration.")
@click.option("--begin", type=Share(), default="0/1", help="Share of the first file that is left out (Parquet).")
@click.option("--end", type=Share(), default="1/1", help="Share of the last file at which reading ends (Parquet).")
@click.option("--places", required=True, type=click.Path(exists=True, dir_okay=False), help="Places of the part.")
@output_file(mark=columns("place", "document", "language", "text"), required=True, help="Parquet file of the texts.")
@memory_option(DEFAULT)
@click.argument("files", nargs=-1, required=True)
def command(
    recipe: str, begin: Any, end: Any, places: str, output: str, megabytes: int, files: tuple[str, ...]
) -> None:
    """Write the texts in FILES, a part of a source, in the order of their shards, for 'tokbench write_shards'."""
    from tokbench.commands.corpus_recipe import corpus_of, groups_in, source_of, span_of
    from tokbench.corpus.limits import without_limits
    from tokbench.corpus.parts import Span
    from tokbench.corpus.queues import partition_part
    from tokbench.corpus.read import read_source
    from tokbench.corpus.shards import COPIES
    from tokbench.corpus.windows import without_windows

    memory.purpose(f"deal out the documents in {files[0]}{' and others' * (len(files) > 1)}")
    corpus, _ = corpus_of(recipe)
    source, cache = source_of(corpus, files)
    span = span_of(source, Span(begin, end))
    allowed = without_windows(allowance(megabytes), source)
    documents = read_source(without_limits(source), cache, allowed.largest(COPIES), span, corpus.longest_document)
    partition_part(source, documents, Path(places), groups_in(corpus), Path(output), allowed)
