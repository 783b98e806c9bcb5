"""``tokbench export``: write a tokenizer for another library."""

from pathlib import Path

import click

from tokbench import memory
from tokbench.commands.outputs import OutputFolder

FORMS = ("tokenizer_json", "tiktoken", "sentencepiece", "tokens")


@click.command("export")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--to", "form", required=True, type=click.Choice(FORMS), help="What it becomes.")
@click.option(
    "--counts",
    type=click.Path(dir_okay=False),
    help="Pre-tokens on which ids must be the same; those of Python's documentation and of the tokens if left out.",
)
@click.option("-o", "--output", required=True, type=OutputFolder("export"), help="Folder of the files.")
def command(folder: str, form: str, counts: str | None, output: str) -> None:
    """Write the tokenizer in FOLDER for another library, if that gives the same ids; if not, say why."""
    from tokbench.adapters.exports import export
    from tokbench.atomic import atomic_folder
    from tokbench.pretokens import PretokenCounts
    from tokbench.tokenizer import Tokenizer

    memory.purpose(f"export {Path(folder).name}")
    tokenizer = Tokenizer.load(folder)
    pretokens = PretokenCounts.read(counts) if counts else None
    with atomic_folder(output, "export") as made:
        told = export(tokenizer, form, pretokens, made)
    click.echo(told, err=True)
