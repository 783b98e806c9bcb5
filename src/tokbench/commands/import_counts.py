"""``tokbench import_counts``: take pre-token counts that come as files."""

import click

from tokbench.commands.pretokenization_option import FLAG, chosen_scheme, pretokenization_option
from tokbench.errors import TokbenchError


@click.command("import_counts")
@pretokenization_option("How the text was cut.", required=True)
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="Parquet file of counts.")
@click.argument("files", nargs=-1, required=True)
def command(pretokenization: str, output: str, files: tuple[str, ...]) -> None:
    """Take the counts in FILES: one table (Parquet, TSV hex<TAB>count), or words and the file of their counts.

    Words stand between single spaces, counts one a line; either file may be compressed by gzip.
    """
    from tokbench.counting.word_list import read_word_list
    from tokbench.pretokens import PretokenCounts

    if len(files) > 2:
        raise TokbenchError(f"{len(files)} files of counts; give one table, or words and their counts")
    scheme = chosen_scheme(pretokenization)
    found = PretokenCounts.read(files[0]) if len(files) == 1 else read_word_list(*files)
    if found.scheme not in (None, scheme.text):
        raise TokbenchError(f"{FLAG} {scheme.text}: {files[0]} was counted with '{found.scheme}'; name that scheme")
    PretokenCounts(found.data, found.offsets, found.counts, scheme.text).write(output)
    click.echo(f"{len(found):,} unique pre-tokens, {found.total:,} in all", err=True)
