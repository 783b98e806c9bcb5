"""``tokbench prepare``: split a corpus and write it in shards."""

import json
from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from tokbench.config.errors import explain
from tokbench.config.sections import Corpus
from tokbench.corpus.prepare import prepare
from tokbench.corpus.sources import HubSource
from tokbench.registry import TokbenchError
from tokbench.whole import whole_folder


@click.command("prepare")
@click.option("--recipe", required=True, help="Source, splits, shards and seed as JSON, as in the configuration.")
@click.option("-o", "--output", required=True, type=click.Path(file_okay=False), help="Folder of the corpus.")
@click.argument("files", nargs=-1)
def command(recipe: str, output: str, files: tuple[str, ...]) -> None:
    """Split a corpus by document and write it in shards; FILES are the source's own (the fetched one of a hub)."""
    values: dict[str, Any] = json.loads(recipe)
    seed = values.pop("seed", 0)
    cache = None
    if files and values["source"]["type"] == "hub":
        cache = Path(files[0])
    elif files:
        values["source"]["path"] = list(files)
    try:
        corpus = Corpus.model_validate(values)
    except ValidationError as error:
        raise TokbenchError(explain(error, Corpus, "--recipe")) from None
    if isinstance(corpus.source, HubSource) and cache is None:
        raise TokbenchError("a hub corpus is prepared from the file that 'tokbench fetch' made; name it")
    with whole_folder(output) as folder:
        totals = prepare(
            corpus.source,
            {str(split): share for split, share in corpus.splits.items()},
            seed,
            corpus.shards,
            folder,
            cache,
        )
    for split, (documents, size) in totals.items():
        click.echo(f"{split}: {documents:,} documents, {size:,} bytes", err=True)
