"""Commands that train, apply and score translation models."""

from pathlib import Path

import click

from tokbench.commands.declaration import command
from tokbench.commands.inputs import ContentPath
from tokbench.commands.outputs import OutputFolder, columns, keys, output_file
from tokbench.commands.parameters import VocabularySize, keep_option, memory_option
from tokbench.io.numbers import LARGEST_VOCABULARY
from tokbench.models.presets import BLEU_TOKENIZERS, TRANSLATION_RECIPES

FOLDER = click.Path(exists=True, file_okay=False)


@command("train_translation", "train a translation model", group="stages", place=320)
@click.option("--recipe", required=True, help=f"A preset ({', '.join(TRANSLATION_RECIPES)}) or options as JSON.")
@click.option("--corpus", required=True, type=FOLDER, help="Prepared parallel corpus.")
@click.option("--from", "source", required=True, help="Source language.")
@click.option("--to", "target", required=True, help="Target language.")
@click.option("--source-tokenizer", required=True, type=FOLDER, help="Tokenizer of the source.")
@click.option("--target-tokenizer", type=FOLDER, help="Tokenizer of the target; default: that of the source.")
@click.option(
    "--checkpoints", type=click.Path(file_okay=False), help="Folder of checkpoints; default: next to the output."
)
@keep_option
@click.option("-o", "--output", required=True, type=OutputFolder("translation model"), help="Folder of the model.")
@memory_option()
def train_translation_command(
    recipe: str,
    corpus: str,
    source: str,
    target: str,
    source_tokenizer: str,
    target_tokenizer: str | None,
    checkpoints: str | None,
    keep_checkpoints: str | None,
    output: str,
    megabytes: int | None,
) -> None:
    """Train a transformer on sentence pairs. An interrupted run resumes from its checkpoint.

    If it needs more than --memory, it stops with one line before it starts.
    """
    from tokbench.commands.parameters import log_to_stderr
    from tokbench.commands.recipes import recipe_options
    from tokbench.models.translation.options import PRESETS, TranslationOptions

    log_to_stderr()
    options = recipe_options(recipe, TranslationOptions, PRESETS)
    tokenizers = Path(source_tokenizer), Path(target_tokenizer or source_tokenizer)
    if megabytes is not None:
        from tokbench.models.memory import on_gpu, pairs_memory, translation_training_memory
        from tokbench.runtime.memory_limit import require
        from tokbench.tokenizer import Tokenizer

        ids = [Tokenizer.load(folder).id_limit for folder in tokenizers]
        joint = tokenizers[0].resolve() == tokenizers[1].resolve()
        splits = [Path(corpus, name) for name in ("train.parquet", "dev.parquet")]
        need = translation_training_memory(options, *ids, joint=joint, on_gpu=on_gpu(options.device))
        need += sum(pairs_memory(split) for split in splits if split.is_file())
        require("this training", need, megabytes, "lower batch_tokens")
    from tokbench.models.kept_checkpoints import kept_checkpoints
    from tokbench.models.translation.train import train

    folder = Path(checkpoints or f"{output}.checkpoints")
    with kept_checkpoints(folder, keep_checkpoints):
        train(Path(corpus), (source, target), tokenizers, options, Path(output), folder)


@command("translate", "translate a split with a translation model", group="stages", place=340)
@click.option(
    "--recipe", required=True, help=f"A preset ({', '.join(TRANSLATION_RECIPES)}) or options as JSON, for the search."
)
@click.option("--model", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of the model.")
@click.option("--from", "source", required=True, help="Source language.")
@click.option("--to", "target", required=True, help="Target language.")
@output_file(mark=columns("pair", "source", "reference", "translation"), required=True, help="Parquet file.")
@memory_option()
@click.argument("split", type=ContentPath("split of a parallel corpus"))
def translate_command(
    recipe: str, model: str, source: str, target: str, output: str, megabytes: int | None, split: str
) -> None:
    """Translate SPLIT, a file of a prepared parallel corpus, by beam search.

    If it needs more than --memory, it stops with one line before it starts.
    """
    from tokbench.commands.parameters import log_to_stderr
    from tokbench.commands.recipes import recipe_options
    from tokbench.models.translation.options import PRESETS, TranslationOptions

    log_to_stderr()
    options = recipe_options(recipe, TranslationOptions, PRESETS)
    if megabytes is not None:
        from tokbench.models.memory import on_gpu, pairs_memory, translation_search_memory
        from tokbench.runtime.memory_limit import require

        need = translation_search_memory(options, Path(model), on_gpu=on_gpu(options.device)) + pairs_memory(
            Path(split)
        )
        require("this translation", need, megabytes, "lower translate_batch")
    from tokbench.models.translation.translate import translate

    count = translate(Path(model), Path(split), (source, target), options, Path(output))
    click.echo(f"{count:,} sentences translated", err=True)


@command("score_translation", "score translations by BLEU, chrF and COMET", group="stages", place=350)
@click.option(
    "--tokenize",
    type=click.Choice(BLEU_TOKENIZERS),
    default="13a",
    show_default=True,
    help="Word tokenizer of sacrebleu for BLEU.",
)
@click.option("--comet", type=click.Path(), help="Checkpoint of a COMET model; needs unbabel-comet.")
@click.option("--corpus", default="", help="Name of the parallel corpus in the tables.")
@click.option("--test", default="", help="Name of the test in the tables.")
@click.option("--from", "source", default="", help="Source language in the tables.")
@click.option("--to", "target", default="", help="Target language in the tables.")
@click.option("--model-name", "model", default="", help="Name of the model in the tables.")
@click.option("--source-variant", default="", help="Name of the source's tokenizer in the tables.")
@click.option("--target-variant", default="", help="Name of the target's tokenizer in the tables.")
@click.option(
    "--size",
    type=VocabularySize(0, LARGEST_VOCABULARY),
    default=0,
    help="Vocabulary size in the tables; 'own' is that of the source's tokenizer.",
)
@output_file(mark=keys("n", "scores", "sentences"), required=True, help="JSON file.")
@click.argument("translations", type=ContentPath("file of translations"))
def score_translation_command(
    tokenize: str,
    comet: str | None,
    corpus: str,
    test: str,
    source: str,
    target: str,
    model: str,
    source_variant: str,
    target_variant: str,
    size: int | str,
    output: str,
    translations: str,
) -> None:
    """Score TRANSLATIONS, the output of 'tokbench translate', by BLEU, chrF and, with --comet, COMET."""
    from tokbench.models.translation.score import score

    names: dict[str, str | int] = {
        "parallel": corpus,
        "test": test,
        "source_language": source,
        "target_language": target,
        "model": model,
        "source_variant": source_variant,
        "target_variant": target_variant,
        "size": size,
    }
    scores = score(Path(translations), Path(output), names, tokenize, Path(comet) if comet else None)
    click.echo(", ".join(f"{metric} {value:.2f}" for metric, value in scores.items()), err=True)
