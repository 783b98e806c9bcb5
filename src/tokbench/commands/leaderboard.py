"""``tokbench leaderboard``: write the leaderboard, the scoreboard for other sites."""

import click

from tokbench.commands.marks import keys
from tokbench.commands.outputs import output_file


@click.command("leaderboard")
@click.option("--name", required=True, help="The experiment's name.")
@click.option("--statistics", required=True, type=click.Path(exists=True, file_okay=False), help="Its statistics.")
@click.option("--tokenizer", "tokenizers", multiple=True, help="Folder of a tokenizer; may be repeated.")
@click.option("--documents", multiple=True, help="Folder of a corpus; may be repeated.")
@click.option("--counts", multiple=True, help="File CORPUS/SPLIT/SCHEME.parquet of one without; may be repeated.")
@output_file("--table", help="CSV file of the scores, to write as well.")
@output_file(mark=keys("format", "experiment", "tokbench", "scores"), required=True, help="JSON file.")
def command(
    name: str,
    statistics: str,
    tokenizers: tuple[str, ...],
    documents: tuple[str, ...],
    counts: tuple[str, ...],
    table: str | None,
    output: str,
) -> None:
    """Write the leaderboard: the scoreboard with versions, commit, and checksums of corpora and tokenizers."""
    from tokbench.atomic import atomic_file
    from tokbench.leaderboard.files import as_table, leaderboard_of
    from tokbench.plain_json import written
    from tokbench.spreadsheets import write_csv

    board = leaderboard_of(name, statistics, tokenizers, documents, counts)
    with atomic_file(output) as partial:
        partial.write_text(written(board), encoding="utf-8")
    if table is not None:
        with atomic_file(table) as partial:
            write_csv(as_table(board), partial)
