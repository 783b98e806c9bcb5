"""``tokbench evaluate``: evaluate a language model."""

from pathlib import Path

import click

from tokbench.commands.log import log_to_stderr
from tokbench.commands.marks import keys
from tokbench.commands.memory_option import memory_option
from tokbench.commands.numbers import VocabularySize, Whole
from tokbench.commands.outputs import output_file
from tokbench.inputs.numbers import LARGEST_VOCABULARY


@click.command("evaluate")
@click.option("--model", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of the model.")
@click.option("--tokenizer", required=True, type=click.Path(exists=True, file_okay=False), help="Its tokenizer.")
@click.option("--tasks", type=click.Path(exists=True, file_okay=False), help="Folder of offline tasks.")
@click.option("--hub-cache", type=click.Path(exists=True, file_okay=False), help="Folder of fetched hub tasks.")
@click.option("--suite", default="offline", show_default=True, help="Name of the suite in the tables.")
@click.option("--recipe", help="The suite's options as JSON; those of the named suite if left out.")
@click.option("--device", default="cpu", show_default=True)
@click.option("--batch-size", type=Whole(1), default=16, show_default=True)
@click.option("--limit", type=Whole(1), help="Only so many questions of each task.")
@click.option("--model-name", "name", default="", help="Name of the model in the tables.")
@click.option("--variant", default="", help="Name of the tokenizer in the tables.")
@click.option(
    "--size", type=VocabularySize(0, LARGEST_VOCABULARY), default=0, help="Size in the tables; own: the tokenizer's."
)
@click.option("--corpus", default="", help="What the SHARDS are of, for the tables.")
@output_file(mark=keys("suite", "tasks", "bits_per_byte", "manifest"), required=True, help="JSON file.")
@memory_option()
@click.argument("shards", nargs=-1)
def command(
    model: str,
    tokenizer: str,
    tasks: str | None,
    hub_cache: str | None,
    suite: str,
    recipe: str | None,
    device: str,
    batch_size: int,
    limit: int | None,
    name: str,
    variant: str,
    size: int | str,
    corpus: str,
    output: str,
    megabytes: int | None,
    shards: tuple[str, ...],
) -> None:
    """Evaluate a model on a suite of tasks, and in bits per byte on corpus SHARDS if there are any.

    Where the model and the documents need more than --memory, a line says how much before either is read.
    """
    from tokbench.commands.arguments import recipe_options
    from tokbench.corpus.documents import read_documents
    from tokbench.downstream.suites import SuiteOptions, named_suites

    log_to_stderr()
    if megabytes is not None:
        from tokbench.commands.evaluation_needs import check_evaluation

        check_evaluation(Path(model), shards, batch_size, device, megabytes)
    from tokbench.downstream.evaluate import evaluate

    evaluate(
        model,
        tokenizer,
        tasks,
        recipe_options(recipe or suite, SuiteOptions, named_suites()),
        output,
        suite_name=suite,
        names={"model": name, "variant": variant, "size": size, "corpus": corpus},
        hub_cache=hub_cache,
        batch_size=batch_size,
        device=device,
        limit=limit,
        bits_per_byte_documents=read_documents(shards) if shards else None,
    )
