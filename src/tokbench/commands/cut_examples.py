"""``tokbench cut_examples``: cut the sentences that the report shows."""

from collections.abc import Sequence
from pathlib import Path

import click

from tokbench import memory
from tokbench.commands.outputs import OutputFolder
from tokbench.errors import TokbenchError


@click.command("cut_examples")
@click.option("--recipe", required=True, help="JSON: examples, tokenizers of them, tokenizers by corpus.")
@click.option("--tokenizer", "folders", multiple=True, help="Folder tokenizers/VARIANT/SIZE; may be repeated.")
@click.option("--shard", "shards", multiple=True, metavar="CORPUS=FILE", help="A shard of an evaluation split.")
@click.option("-o", "--output", required=True, type=OutputFolder("examples"), help="Folder of the tables.")
def command(recipe: str, folders: tuple[str, ...], shards: tuple[str, ...], output: str) -> None:
    """Choose sentences on which tokenizers differ and cut these and the user's own, for the report.

    The recipe has the keys 'examples', a list of texts, 'shown', the tokenizers that cut them as VARIANT/SIZE, and
    'corpora', a mapping of corpora to the tokenizers that cut their sentences.
    """
    from tokbench.examples.chosen import Chosen, cut_examples
    from tokbench.examples.recipe import Recipe
    from tokbench.inputs.json import parse_json
    from tokbench.options import validated
    from tokbench.tidy.make import write_tables

    memory.purpose("cut examples")
    asked = validated(parse_json(recipe, "--recipe", remedy="give one JSON object"), Recipe, "--recipe")
    known = {"/".join(Path(folder).parts[-2:]): folder for folder in folders}
    chosen = Chosen(
        _folders(asked.shown, known),
        {corpus: _folders(names, known) for corpus, names in asked.corpora.items()},
        dict(map(_shard, shards)),
        asked.examples,
    )
    write_tables(cut_examples(chosen), Path(output), "examples")


def _folders(names: Sequence[str], known: dict[str, str]) -> list[str]:
    for name in names:
        if name not in known:
            raise TokbenchError(f"--recipe: no --tokenizer is the folder of {name}; name it")
    return [known[name] for name in names]


def _shard(text: str) -> tuple[str, Path]:
    corpus, separator, path = text.partition("=")
    if not separator:
        raise TokbenchError(f"--shard {text}: expected CORPUS=FILE")
    return corpus, Path(path)
