"""Commands for evaluation tasks and the evaluation of language models."""

from pathlib import Path

import click

from tokbench.commands.declaration import command
from tokbench.commands.inputs import SHARD
from tokbench.commands.outputs import OutputFolder, keys, output_file
from tokbench.commands.parameters import VocabularySize, Whole, log_to_stderr, memory_option
from tokbench.errors import TokbenchError
from tokbench.io.numbers import LARGEST_BYTES, LARGEST_VOCABULARY


@command("make_tasks", "make offline tasks from the evaluation split", group="stages", place=280)
@click.option("--recipe", default="{}", help="Options as JSON.")
@click.option("--examples", default="{}", help="By task, how many examples a prompt needs, as JSON.")
@click.option("-o", "--output", required=True, type=OutputFolder("tasks"), help="Folder of the tasks.")
@click.argument("shards", nargs=-1, required=True, type=SHARD)
def make_tasks_command(recipe: str, examples: str, output: str, shards: tuple[str, ...]) -> None:
    """Make lm-eval tasks from corpus SHARDS."""
    from tokbench.commands.recipes import mapping_of, recipe_options
    from tokbench.corpus.documents import read_documents
    from tokbench.evaluation.offline_tasks import PromptExamples, TaskOptions, make_tasks
    from tokbench.options import validated

    options = recipe_options(recipe, TaskOptions, {})
    needed = validated({"tasks": mapping_of(examples, "--examples")}, PromptExamples, "--examples").tasks
    make_tasks(((document.document, document.text) for document in read_documents(shards)), output, options, needed)


@command("import_tasks", "make lm-eval tasks from local questions", group="stages", place=290)
@click.option("--recipe", required=True, help="Name of a local suite, or its options as JSON.")
@click.option(
    "--path", type=click.Path(exists=True, file_okay=False), help="Folder of the files, if not in the recipe."
)
@click.option("-o", "--output", required=True, type=OutputFolder("tasks"), help="Folder of the tasks.")
def import_tasks_command(recipe: str, path: str | None, output: str) -> None:
    """Make lm-eval tasks from the question files of a local suite."""
    from tokbench.commands.recipes import recipe_options
    from tokbench.evaluation.local_tasks import write_local_tasks
    from tokbench.evaluation.suites import SuiteOptions, named_suites

    suite = recipe_options(recipe, SuiteOptions, named_suites())
    if suite.source != "local":
        raise TokbenchError(f"--recipe: its source is '{suite.source}'; name a suite whose source is 'local'")
    if path is not None:
        if suite.path is not None and suite.path.resolve() != Path(path).resolve():
            raise TokbenchError(f"--path {path}: the recipe has the path {suite.path}; name the folder in one place")
        suite = SuiteOptions.model_validate({**suite.model_dump(mode="json"), "path": path})
    for name, written in write_local_tasks(suite, output).items():
        skipped = f"; {written.skipped:,} that no model can answer were skipped" if written.skipped else ""
        click.echo(f"{name}: {written.questions:,} questions{skipped}", err=True)


@command("fetch_tasks", "fetch the data of a hub suite", group="stages", place=40)
@click.option("--recipe", required=True, help="Name of a suite, or its options as JSON.")
@click.option(
    "-o", "--output", required=True, type=OutputFolder("fetched tasks"), help="Folder, in the form of the hub's cache."
)
def fetch_tasks_command(recipe: str, output: str) -> None:
    """Fetch the data sets of a suite from the Hugging Face hub. Evaluation then needs no network."""
    from tokbench.commands.recipes import recipe_options
    from tokbench.evaluation.load_tasks import fetch_tasks, unpinned_line
    from tokbench.evaluation.suites import SuiteOptions, named_suites
    from tokbench.io.json import read_json

    suite = recipe_options(recipe, SuiteOptions, named_suites())
    for name in fetch_tasks(suite, Path(output)):
        click.echo(name, err=True)
    if warning := unpinned_line(suite, read_json(Path(output) / "revisions.json", "fetch the tasks again")):
        click.echo(warning, err=True)


@command("evaluate", "evaluate a language model", group="stages", place=300)
@click.option("--model", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of the model.")
@click.option("--tokenizer", required=True, type=click.Path(exists=True, file_okay=False), help="Its tokenizer.")
@click.option("--tasks", type=click.Path(exists=True, file_okay=False), help="Folder of offline tasks.")
@click.option("--hub-cache", type=click.Path(exists=True, file_okay=False), help="Folder of fetched hub tasks.")
@click.option("--suite", default="offline", show_default=True, help="Name of the suite in the tables.")
@click.option("--recipe", help="Options of the suite as JSON; default: those of the named suite.")
@click.option("--device", default="cpu", show_default=True)
@click.option("--batch-size", type=Whole(1), default=16, show_default=True)
@click.option("--limit", type=Whole(1), help="Maximum number of questions of each task.")
@click.option("--model-name", "name", default="", help="Name of the model in the tables.")
@click.option("--variant", default="", help="Name of the tokenizer in the tables.")
@click.option(
    "--size",
    type=VocabularySize(0, LARGEST_VOCABULARY),
    default=0,
    help="Vocabulary size in the tables; 'own' is that of the tokenizer.",
)
@click.option("--corpus", default="", help="Name of the corpus of SHARDS in the tables.")
@output_file(mark=keys("suite", "tasks", "bits_per_byte", "manifest"), required=True, help="JSON file.")
@memory_option()
@click.argument("shards", nargs=-1, type=SHARD)
def evaluate_command(
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
    """Evaluate a model on a suite of tasks; with SHARDS of a corpus, also measure its bits per byte.

    If it needs more than --memory, it stops with one line before it starts.
    """
    from tokbench.commands.recipes import recipe_options
    from tokbench.corpus.documents import read_documents
    from tokbench.evaluation.suites import SuiteOptions, named_suites

    log_to_stderr()
    if megabytes is not None:
        from tokbench.models.evaluation_memory import check_evaluation

        check_evaluation(Path(model), shards, batch_size, device, megabytes)
    from tokbench.evaluation.evaluate import evaluate

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


@command("score_tokens", "score the tokens around the end of a vocabulary", group="stages", place=310)
@click.option("--model", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of the model.")
@click.option("--tokenizer", required=True, type=click.Path(exists=True, file_okay=False), help="Its tokenizer.")
@click.option(
    "--longer",
    required=True,
    type=click.Path(exists=True, file_okay=False),
    help="Tokenizer of the same variant with a longer vocabulary.",
)
@click.option("--reach", type=Whole(1), required=True, help="Tokens on each side of the end of the vocabulary.")
@click.option("--document-bytes", type=Whole(1, LARGEST_BYTES), help="Bytes of each document to read. Default: all.")
@click.option("--device", default="cpu", show_default=True)
@click.option("--batch-size", type=Whole(1), default=16, show_default=True)
@click.option("--model-name", "name", default="", help="Name of the model in the tables.")
@click.option("--variant", default="", help="Name of the tokenizer in the tables.")
@click.option("--size", type=Whole(0, LARGEST_VOCABULARY), default=0, help="Vocabulary size in the tables.")
@click.option("--corpus", default="", help="Name of the corpus of SHARDS in the tables.")
@output_file(mark=keys("variant", "reach", "longer", "rank", "manifest"), required=True, help="JSON file.")
@memory_option()
@click.argument("shards", nargs=-1, required=True, type=SHARD)
def score_tokens_command(
    model: str,
    tokenizer: str,
    longer: str,
    reach: int,
    document_bytes: int | None,
    device: str,
    batch_size: int,
    name: str,
    variant: str,
    size: int,
    corpus: str,
    output: str,
    megabytes: int | None,
    shards: tuple[str, ...],
) -> None:
    """Score the tokens around the end of a model's vocabulary on SHARDS of a corpus, for their causal effect.

    The LONGER vocabulary defines their occurrences. If it needs more than --memory, it stops with one line before it
    starts.
    """
    from tokbench.corpus.documents import read_documents
    from tokbench.evaluation.token_scores import score_tokens

    log_to_stderr()
    if megabytes is not None:
        from tokbench.models.evaluation_memory import check_evaluation

        check_evaluation(Path(model), shards, batch_size, device, megabytes)
    score_tokens(
        model,
        tokenizer,
        longer,
        output,
        (document.text for document in read_documents(shards)),
        reach=reach,
        document_bytes=document_bytes,
        names={"model": name, "variant": variant, "size": size, "corpus": corpus},
        batch_size=batch_size,
        device=device,
    )
