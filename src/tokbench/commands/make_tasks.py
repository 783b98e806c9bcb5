"""``tokbench make_tasks``: make offline tasks from the evaluation split."""

import click

from tokbench.commands.outputs import OutputFolder


@click.command("make_tasks")
@click.option("--recipe", default="{}", help="Options as JSON.")
@click.option("--examples", default="{}", help="By task, how many examples a prompt needs, as JSON.")
@click.option("-o", "--output", required=True, type=OutputFolder("tasks"), help="Folder of the tasks.")
@click.argument("shards", nargs=-1, required=True)
def command(recipe: str, examples: str, output: str, shards: tuple[str, ...]) -> None:
    """Make lm-eval tasks from corpus SHARDS."""
    from tokbench.commands.arguments import mapping_of, recipe_options
    from tokbench.corpus.documents import read_documents
    from tokbench.downstream.tasks import Examples, TaskOptions, make_tasks
    from tokbench.options import validated

    options = recipe_options(recipe, TaskOptions, {})
    needed = validated({"tasks": mapping_of(examples, "--examples")}, Examples, "--examples").tasks
    make_tasks(((document.document, document.text) for document in read_documents(shards)), output, options, needed)
