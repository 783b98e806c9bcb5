"""``tokbench read_sizes``: read the sizes of the documents in a part of a corpus's source."""

from pathlib import Path
from typing import Any

import click

from tokbench import memory
from tokbench.allowance import DEFAULT, allowance
from tokbench.commands.marks import columns
from tokbench.commands.memory_option import memory_option
from tokbench.commands.numbers import Share
from tokbench.commands.outputs import output_file


@click.command("read_sizes")
@click.option("--recipe", required=True, help="Source as JSON, as in the configuration.")
@click.option("--begin", type=Share(), default="0/1", help="Share of the first file that is left out (Parquet).")
@click.option("--end", type=Share(), default="1/1", help="Share of the last file at which reading ends (Parquet).")
@output_file(mark=columns("size", "language", optional=("digest",)), required=True, help="Parquet file of the sizes.")
@memory_option(DEFAULT)
@click.argument("files", nargs=-1, required=True)
def command(recipe: str, begin: Any, end: Any, output: str, megabytes: int, files: tuple[str, ...]) -> None:
    """Read bytes and language of every document in FILES, a part of a source, for 'tokbench split_corpus'."""
    from tokbench.commands.corpus_recipe import corpus_of, source_of, span_of
    from tokbench.corpus.limits import without_limits
    from tokbench.corpus.parts import Span
    from tokbench.corpus.read import read_source
    from tokbench.corpus.shards import COPIES
    from tokbench.corpus.sizes import write_sizes
    from tokbench.corpus.windows import without_windows
    from tokbench.inputs.encodings import Notes

    memory.purpose(f"read the sizes of the documents in {files[0]}{' and others' * (len(files) > 1)}")
    corpus, _ = corpus_of(recipe)
    source, cache = source_of(corpus, files)
    span = span_of(source, Span(begin, end))
    largest = without_windows(allowance(megabytes), source).largest(COPIES)
    notes = Notes()
    documents = read_source(without_limits(source), cache, largest, span, corpus.longest_document, notes)
    number, size = write_sizes(documents, Path(output), notes)
    click.echo(f"{number:,} documents, {size:,} bytes", err=True)
