"""``tokbench make_tasks``: make offline tasks from the evaluation split."""

import click

from tokbench.commands.outputs import OutputFolder


@click.command("make_tasks")
@click.option("--recipe", default="{}", help="Options as JSON.")
@click.option("-o", "--output", required=True, type=OutputFolder("tasks"), help="Folder of the tasks.")
@click.argument("shards", nargs=-1, required=True)
def command(recipe: str, output: str, shards: tuple[str, ...]) -> None:
    """Make lm-eval tasks from corpus SHARDS."""
    from tokbench.commands.arguments import recipe_options
    from tokbench.corpus.documents import read_documents
    from tokbench.downstream.tasks import TaskOptions, make_tasks

    options = recipe_options(recipe, TaskOptions, {})
    make_tasks(((document.document, document.text) for document in read_documents(shards)), output, options)
