"""``tokbench prepare``: split a corpus and write it in shards."""

from pathlib import Path

import click

from tokbench.allowance import DEFAULT, allowance
from tokbench.commands.memory_option import memory_option
from tokbench.commands.outputs import OutputFolder
from tokbench.errors import TokbenchError


@click.command("prepare")
@click.option("--recipe", required=True, help="Source, splits, shards and seed as JSON, as in the configuration.")
@click.option("-o", "--output", required=True, type=OutputFolder("corpus"), help="Folder of the corpus.")
@memory_option(DEFAULT)
@click.argument("files", nargs=-1)
def command(recipe: str, output: str, megabytes: int, files: tuple[str, ...]) -> None:
    """Split a corpus by document and write it in shards; FILES are the source's own (the fetched one of a hub)."""
    from tokbench.atomic import atomic_folder
    from tokbench.commands.arguments import Seeded, check_same_files, mapping_of
    from tokbench.config.errors import validated
    from tokbench.config.sections import Corpus
    from tokbench.corpus.prepare import prepare
    from tokbench.corpus.sources import EmbeddedSource, FileSource, HubSource, files_of

    values = mapping_of(recipe, "--recipe")
    seed = validated({"seed": values.pop("seed", 0)}, Seeded, "--recipe").seed
    corpus = validated(values, Corpus, "--recipe")
    cache = Path(files[0]) if files and isinstance(corpus.source, HubSource) else None
    if isinstance(corpus.source, HubSource) and cache is None:
        raise TokbenchError("a hub corpus is prepared from the file that 'tokbench fetch' made; name it")
    source = corpus.source
    if files and isinstance(source, EmbeddedSource):
        raise TokbenchError("the embedded source reads no files; leave them out")
    if cache is not None and len(files) > 1:
        raise TokbenchError("a hub corpus is prepared from one file, that which 'tokbench fetch' made; name it alone")
    if files and isinstance(source, FileSource):
        if source.path:
            check_same_files(files, files_of(source), "--recipe")
        else:
            source = source.model_copy(update={"path": list(files)})
    with atomic_folder(output, "corpus") as folder:
        totals = prepare(
            source,
            {str(split): share for split, share in corpus.splits.items()},
            seed,
            corpus.shards,
            folder,
            cache,
            allowance(megabytes),
        )
    for split, (documents, size) in totals.items():
        click.echo(f"{split}: {documents:,} documents, {size:,} bytes", err=True)
