"""``tokbench count``: count the pre-tokens of texts."""

import click

from tokbench import memory
from tokbench.commands.fields import field_options
from tokbench.commands.inputs import TEXT
from tokbench.commands.marks import COUNTS
from tokbench.commands.memory_option import memory_option
from tokbench.commands.outputs import output_file
from tokbench.commands.pretokenization_option import chosen_scheme, pretokenization_option
from tokbench.inputs.endings import Fields


@click.command("count")
@pretokenization_option("How the texts are cut.", required=True)
@output_file(mark=COUNTS, required=True, help="Parquet file of counts.")
@memory_option()
@field_options
@click.argument("texts", nargs=-1, required=True, type=TEXT)
def command(
    pretokenization: str,
    fields: Fields,
    output: str,
    megabytes: int | None,
    texts: tuple[str, ...],
) -> None:
    """Count the pre-tokens of TEXTS, each language by itself where languages are told.

    Where the counts would take more than --memory, they are sorted on disk, beside the output.

    A text is a file of text, JSON Lines or Parquet (plain or compressed; JSON Lines and Parquet are known by
    their endings).
    """
    from tokbench.commands.documents import documents_of, with_note
    from tokbench.counting.external_count import Bound, count_within

    scheme = chosen_scheme(pretokenization)
    memory.purpose(f"count the pre-tokens of '{scheme.label}' in {texts[0]}{' and others' * (len(texts) > 1)}")
    read = with_note(documents_of(texts, fields))
    documents = ((document.language, document.text) for document in read)
    counts = count_within(documents, scheme, output, Bound(megabytes))
    click.echo(f"{len(counts):,} unique pre-tokens, {counts.total:,} in all, {counts.total_bytes:,} bytes", err=True)
