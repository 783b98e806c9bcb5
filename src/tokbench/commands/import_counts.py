"""``tokbench import_counts``: take pre-token counts that come as files."""

import click

from tokbench import memory
from tokbench.commands import marks
from tokbench.commands.inputs import COUNTS
from tokbench.commands.memory_option import memory_option
from tokbench.commands.outputs import output_file
from tokbench.commands.pretokenization_option import FLAG, chosen_scheme, pretokenization_option
from tokbench.errors import TokbenchError


@click.command("import_counts")
@pretokenization_option("How the text was cut.", required=True)
@output_file(mark=marks.COUNTS, required=True, help="Parquet file of counts.")
@memory_option()
@click.argument("files", nargs=-1, type=COUNTS, required=True)
def command(pretokenization: str, output: str, megabytes: int | None, files: tuple[str, ...]) -> None:
    """Take the counts in FILES: one table (Parquet, TSV hex<TAB>count), or words and the file of their counts.

    Words stand between single spaces, counts one a line; either file may be compressed.
    A table that would take more than --memory is sorted on disk, beside the output.
    """
    from tokbench.counting.external_count import Bound, Totals, take_within
    from tokbench.counting.word_list import read_word_list
    from tokbench.pretoken_files import read_parts
    from tokbench.pretokens import PretokenCounts

    if len(files) > 2:
        raise TokbenchError(f"{len(files)} files of counts; give one table, or words and their counts")
    scheme = chosen_scheme(pretokenization)
    memory.purpose(f"take the counts of {files[0]}")
    if len(files) == 1 and (known := read_parts(files[0])[0]) not in (None, scheme.text):
        raise TokbenchError(f"{FLAG} {scheme.text}: {files[0]} was counted with '{known}'; name that")
    counts: PretokenCounts | Totals
    if len(files) == 1:
        counts = take_within(files[0], scheme.text, output, Bound(megabytes))
    else:
        read = read_word_list(files[0], files[1], megabytes)
        counts = PretokenCounts(read.data, read.offsets, read.counts, scheme.text)
        counts.write(output)
    click.echo(f"{len(counts):,} unique pre-tokens, {counts.total:,} in all", err=True)
