"""``tokbench score_translation``: score translations."""

from pathlib import Path

import click

from tokbench.commands.marks import keys
from tokbench.commands.numbers import VocabularySize
from tokbench.commands.outputs import output_file
from tokbench.inputs.numbers import LARGEST_VOCABULARY
from tokbench.translation.presets import TOKENIZERS


@click.command("score_translation")
@click.option(
    "--tokenize",
    type=click.Choice(TOKENIZERS),
    default="13a",
    show_default=True,
    help="How sacrebleu cuts words for BLEU.",
)
@click.option("--comet", type=click.Path(), help="Checkpoint of a COMET model; needs unbabel-comet.")
@click.option("--corpus", default="", help="Name of the parallel corpus in the tables.")
@click.option("--test", default="", help="Name of the test in the tables.")
@click.option("--from", "source", default="", help="Language that was translated, in the tables.")
@click.option("--to", "target", default="", help="Language that it was translated into, in the tables.")
@click.option("--model-name", "model", default="", help="Name of the model in the tables.")
@click.option("--source-variant", default="", help="Name of the source's tokenizer in the tables.")
@click.option("--target-variant", default="", help="Name of the target's tokenizer in the tables.")
@click.option(
    "--size",
    type=VocabularySize(0, LARGEST_VOCABULARY),
    default=0,
    help="Vocabulary size in the tables; own: the source's tokenizer's.",
)
@output_file(mark=keys("n", "scores", "sentences"), required=True, help="JSON file.")
@click.argument("translations", type=click.Path(exists=True, dir_okay=False))
def command(
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
    """Score TRANSLATIONS, a file that 'tokbench translate' wrote, by BLEU, chrF, and COMET if its model is named."""
    from tokbench.translation.score import score

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
    found = score(Path(translations), Path(output), names, tokenize, Path(comet) if comet else None)
    click.echo(", ".join(f"{metric} {value:.2f}" for metric, value in found.items()), err=True)
