"""``tokbench tabulate``: gather measurements and results into tidy tables."""

from pathlib import Path

import click

from tokbench.commands.outputs import OutputFolder
from tokbench.errors import TokbenchError


@click.command("tabulate")
@click.option("--intrinsic", multiple=True, help="Measurements of a tokenizer; may be repeated.")
@click.option("--tokenizer", "tokenizers", multiple=True, help="Folder of a tokenizer, to compare; may be repeated.")
@click.option("--tokens", multiple=True, help="Tokens of every document by a tokenizer; may be repeated.")
@click.option("--words", multiple=True, help="A tokenizer's boundaries in every gold word; may be repeated.")
@click.option("--bound", "bounds", multiple=True, help="File CORPUS/SCHEME/SIZE.json of a bound; may be repeated.")
@click.option("--ngram-bits", multiple=True, help="Bits of a tokenizer's token n-gram models; may be repeated.")
@click.option("--embeddings", multiple=True, help="Folder embeddings/MODEL/VARIANT/SIZE; may be repeated.")
@click.option("--model", "models", multiple=True, help="Folder models/MODEL/VARIANT/SIZE, for curves; may be repeated.")
@click.option("--downstream", multiple=True, help="Results of a model; may be repeated.")
@click.option("--convergence", multiple=True, help="Results of a model's checkpoint; may be repeated.")
@click.option("--translation", "translations", multiple=True, help="Scores of translations; may be repeated.")
@click.option("--translation-embeddings", multiple=True, help="Folder of a translation model's; may be repeated.")
@click.option("--parallel", multiple=True, help="Folder of a parallel corpus; may be repeated.")
@click.option("--baseline", "baselines", multiple=True, metavar="CORPUS=VARIANT", help="What others are relative to.")
@click.option("--venn", multiple=True, help="Variant of the Venn diagram; three times.")
@click.option("-o", "--output", required=True, type=OutputFolder("tables"), help="Folder of the tables.")
def command(
    intrinsic: tuple[str, ...],
    tokenizers: tuple[str, ...],
    tokens: tuple[str, ...],
    words: tuple[str, ...],
    bounds: tuple[str, ...],
    ngram_bits: tuple[str, ...],
    embeddings: tuple[str, ...],
    models: tuple[str, ...],
    downstream: tuple[str, ...],
    convergence: tuple[str, ...],
    translations: tuple[str, ...],
    translation_embeddings: tuple[str, ...],
    parallel: tuple[str, ...],
    baselines: tuple[str, ...],
    venn: tuple[str, ...],
    output: str,
) -> None:
    """Gather what the stages wrote into tidy tables, Parquet and CSV, and compare the tokenizers with each other."""
    from tokbench.commands.baselines import by_corpus
    from tokbench.tabulation.gathered import Gathered, tabulate
    from tokbench.tabulation.reading import is_run
    from tokbench.tidy.make import write_tables

    for flag, folders in (("--embeddings", embeddings), ("--model", models)):
        for folder in folders:
            if not is_run(Path(folder)):
                raise TokbenchError(f"{flag} {folder}: expected a folder MODEL/VARIANT/SIZE")
    measurements = (*intrinsic, *(f"{folder}/measurements.json" for folder in embeddings))
    gathered = Gathered(
        measurements,
        tokenizers,
        bounds,
        embeddings,
        models,
        downstream,
        by_corpus(baselines),
        venn,
        token_files=tokens,
        ngram_files=ngram_bits,
        along=convergence,
        word_files=words,
        scored_translations=translations,
        translation_embeddings_folders=translation_embeddings,
        parallel_folders=parallel,
    )
    tables = tabulate(gathered)
    write_tables(tables, Path(output), "tables")
    for table, frame in tables.items():
        click.echo(f"{table.name}: {len(frame):,} rows", err=True)
