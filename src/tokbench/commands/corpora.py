"""Commands that fetch, split and write corpora, parallel corpora and external tokenizers."""

from pathlib import Path
from typing import Any

import click

from tokbench.commands.declaration import command
from tokbench.commands.inputs import FOLDER, SOURCE, InputPath
from tokbench.commands.outputs import OutputFolder, columns, keys, output_file
from tokbench.commands.parameters import Share, Whole, memory_option
from tokbench.errors import TokbenchError
from tokbench.runtime import exit_status
from tokbench.runtime.memory_limit import DEFAULT, allowance, check_memory


@command("fetch", "fetch a corpus from the Hugging Face hub", group="stages", place=10)
@click.option("--recipe", required=True, help="The hub source as JSON, as in the configuration.")
@output_file(required=True, help="Parquet file.")
def fetch_command(recipe: str, output: str) -> None:
    """Fetch a data set from the Hugging Face hub at a pinned revision. Later stages need no network."""
    from tokbench.commands.recipes import recipe_options
    from tokbench.corpus.fetch import fetch
    from tokbench.corpus.sources import HubSource
    from tokbench.io.encodings import Notes

    notes = Notes()
    written = fetch(recipe_options(recipe, HubSource, {}), Path(output), notes)
    for line in notes.lines().values():
        click.echo(line, err=True)
    click.echo(f"{written:,} documents", err=True)


@command("fetch_pairs", "fetch a parallel corpus from the Hugging Face hub", group="stages", place=20)
@click.option("--recipe", required=True, help="Languages, and the hub source as in the configuration, as JSON.")
@output_file(required=True, help="Parquet file.")
def fetch_pairs_command(recipe: str, output: str) -> None:
    """Fetch sentence pairs from the Hugging Face hub at a pinned revision. Later stages need no network."""
    from tokbench.commands.recipes import recipe_options
    from tokbench.corpus.fetch import fetch_pairs
    from tokbench.corpus.parallel import FetchedPairs

    written = fetch_pairs(recipe_options(recipe, FetchedPairs, {}), Path(output))
    click.echo(f"{written:,} pairs", err=True)


@command("fetch_tokenizer", "fetch a tokenizer from the Hugging Face hub", group="stages", place=30)
@click.option("--recipe", required=True, help="Name and revision on the hub as JSON: {path: NAME, revision: HASH}.")
@click.option("-o", "--output", required=True, type=OutputFolder("fetched tokenizer"), help="Folder of the files.")
def fetch_tokenizer_command(recipe: str, output: str) -> None:
    """Fetch the files of a tokenizer from the Hugging Face hub at a pinned revision. Its import needs no network."""
    from tokbench.adapters.hub import fetch_files
    from tokbench.adapters.read import HubTokenizer
    from tokbench.commands.recipes import recipe_options
    from tokbench.io.atomic import atomic_folder

    wanted = recipe_options(recipe, HubTokenizer, {})
    with atomic_folder(output, "fetched tokenizer") as folder:
        fetch_files(wanted.path, wanted.revision, Path(folder))


units_option = click.option(
    "--units",
    type=click.Path(exists=True, dir_okay=False),
    help="CSV with the columns document and unit, and domain for several sources. All documents of a unit go to the "
    "same split.",
)


@command("prepare", "split a corpus and write it in shards", group="stages", place=50)
@click.option("--recipe", required=True, help="Source, splits, shards and seed as JSON, as in the configuration.")
@click.option("-o", "--output", required=True, type=OutputFolder("corpus"), help="Folder of the corpus.")
@units_option
@memory_option(DEFAULT)
@click.argument("files", nargs=-1, type=SOURCE)
def prepare_command(recipe: str, output: str, units: str | None, megabytes: int, files: tuple[str, ...]) -> None:
    """Split a corpus by document and write it in shards. FILES are the files of the source; for a hub source, the
    fetched file. Of several sources, FILES are the files of all, and fetched files are the last.

    If the recipe has several parts, FILES are the folders that 'tokbench write_shards' wrote.
    """
    from tokbench.commands.recipes import corpus_of, mixture_of, say_findings, shares_of, source_of
    from tokbench.corpus.prepare import PreparedSource, link_shards, prepare
    from tokbench.io.atomic import atomic_folder

    corpus, seed = corpus_of(recipe)
    if corpus.parts > 1:
        with atomic_folder(output, "corpus") as folder:
            link_shards([Path(file) for file in files], shares_of(corpus), corpus.shards, folder)
            say_findings(folder)
        return
    # Read, split and write the sources.
    sources = mixture_of(corpus, files) if corpus.sources else {"": PreparedSource(*source_of(corpus, files))}
    with atomic_folder(output, "corpus") as folder:
        totals = prepare(
            sources,
            shares_of(corpus),
            seed,
            corpus.shards,
            folder,
            None,
            allowance(megabytes),
            corpus.longest_document,
            corpus.duplicates == "drop",
            Path(units) if units else None,
            corpus.normalize,
            corpus.draw,
        )
        say_findings(folder)
    for split, (documents, size) in totals.items():
        click.echo(f"{split}: {documents:,} documents, {size:,} bytes", err=True)


@command("prepare_parallel", "clean and split a parallel corpus", group="stages", place=60)
@click.option("--recipe", required=True, help="Languages, files, splits, rules and seed as JSON.")
@click.option("-o", "--output", required=True, type=OutputFolder("parallel corpus"), help="Folder of the corpus.")
@memory_option(DEFAULT)
@click.argument("files", nargs=-1, type=SOURCE)
def prepare_parallel_command(recipe: str, output: str, megabytes: int, files: tuple[str, ...]) -> None:
    """Clean a parallel corpus and split it by sentence pair. FILES must be those of the recipe, in the same order.

    For splits from the hub, append the files that 'tokbench fetch_pairs' wrote, one for each split.
    """
    from pathlib import Path

    from tokbench.commands.recipes import Seeded, check_same_files, mapping_of
    from tokbench.corpus.parallel import ParallelCorpus
    from tokbench.corpus.parallel_prepare import LEAST, prepare_parallel
    from tokbench.io.atomic import atomic_folder
    from tokbench.options import validated

    # The corpus of the recipe.
    values = mapping_of(recipe, "--recipe")
    seed = validated({"seed": values.pop("seed", 0)}, Seeded, "--recipe").seed
    corpus = validated(values, ParallelCorpus, "--recipe")
    if splits := corpus.without_path():
        raise TokbenchError(f"--recipe: {splits[0]}: no path given; add it")
    # Its files; pairs of a hub are the last.
    fetched = files[len(files) - len(corpus.on_hub()) :]
    if corpus.on_hub():
        if len(files) < len(corpus.on_hub()):
            raise click.UsageError(
                f"{len(corpus.on_hub())} of the splits are pairs of a hub; name the files that 'tokbench fetch_pairs' "
                "made of them, in order of the splits"
            )
        corpus = corpus.read_from([Path(file) for file in fetched])
    if files:
        check_same_files(files, corpus.files(), "--recipe")
    # Its splits, with their counts.
    with atomic_folder(output, "parallel corpus") as folder:
        counts = prepare_parallel(corpus, seed, folder, allowance(megabytes, LEAST).room)
    for split, numbers in counts.items():
        click.echo(f"{split}: " + ", ".join(f"{number:,} {what}" for what, number in numbers.items()), err=True)


@command("read_sizes", "read the document sizes of a part", group="stages", place=70)
@click.option("--recipe", required=True, help="Source as JSON, as in the configuration.")
@click.option("--begin", type=Share(), default="0/1", help="Fraction of the first file to skip (divisible formats).")
@click.option(
    "--end", type=Share(), default="1/1", help="Fraction of the last file at which to stop (divisible formats)."
)
@output_file(mark=columns("size", "language", optional=("digest",)), required=True, help="Parquet file of the sizes.")
@memory_option(DEFAULT)
@click.argument("files", nargs=-1, required=True, type=SOURCE)
def read_sizes_command(recipe: str, begin: Any, end: Any, output: str, megabytes: int, files: tuple[str, ...]) -> None:
    """Read size and language of every document in FILES, one part of a source, for 'tokbench split_corpus'."""
    from tokbench.commands.recipes import corpus_of, source_of, span_of
    from tokbench.corpus.limits import without_limits
    from tokbench.corpus.parts import write_sizes
    from tokbench.corpus.read import read_source
    from tokbench.corpus.reading import ReadSpan
    from tokbench.io.encodings import Notes

    exit_status.describe_task(f"read the sizes of the documents in {files[0]}{' and others' * (len(files) > 1)}")
    corpus, _ = corpus_of(recipe)
    source, cache = source_of(corpus, files)
    span = span_of(source, ReadSpan(begin, end))
    allowance(megabytes)
    notes = Notes()
    documents = read_source(without_limits(source), cache, span, corpus.longest_document, notes, corpus.normalize)
    number, size = write_sizes(documents, Path(output), notes)
    click.echo(f"{number:,} documents, {size:,} bytes", err=True)


@command("split_corpus", "split a corpus that is prepared in parts", group="stages", place=80)
@click.option("--recipe", required=True, help="Source, splits, shards and seed as JSON, as in the configuration.")
@click.option("-o", "--output", required=True, type=OutputFolder("places"), help="Folder of the places.")
@units_option
@memory_option(DEFAULT)
@click.argument("sizes", nargs=-1, required=True, type=InputPath("file of sizes", "make it with 'tokbench read_sizes'"))
def split_corpus_command(recipe: str, output: str, units: str | None, megabytes: int, sizes: tuple[str, ...]) -> None:
    """Assign every document to a shard. SIZES are the outputs of 'tokbench read_sizes' for all parts, in order."""
    from tokbench.commands.recipes import corpus_of, say_findings, shares_of
    from tokbench.corpus.shuffle import assign_documents
    from tokbench.io.atomic import atomic_folder

    exit_status.describe_task(f"split the documents of {len(sizes):,} parts")
    corpus, seed = corpus_of(recipe)
    read = [Path(path) for path in sizes]
    with atomic_folder(output, "places") as folder:
        totals = assign_documents(
            corpus.named_sources,
            shares_of(corpus),
            seed,
            corpus.shards,
            read,
            folder,
            allowance(megabytes),
            corpus.longest_document,
            corpus.duplicates == "drop",
            Path(units) if units else None,
            corpus.draw,
        )
        say_findings(folder)
    for split, (documents, size) in totals.items():
        click.echo(f"{split}: {documents:,} documents, {size:,} bytes", err=True)


@command("deal_part", "assign the documents of a part to shards", group="stages", place=90)
@click.option("--recipe", required=True, help="Source, splits, shards and parts as JSON, as in the configuration.")
@click.option("--begin", type=Share(), default="0/1", help="Fraction of the first file to skip (divisible formats).")
@click.option(
    "--end", type=Share(), default="1/1", help="Fraction of the last file at which to stop (divisible formats)."
)
@click.option("--places", required=True, type=click.Path(exists=True, dir_okay=False), help="Places of the part.")
@output_file(mark=columns("place", "document", "language", "text"), required=True, help="Parquet file of the texts.")
@memory_option(DEFAULT)
@click.argument("files", nargs=-1, required=True, type=SOURCE)
def deal_part_command(
    recipe: str, begin: Any, end: Any, places: str, output: str, megabytes: int, files: tuple[str, ...]
) -> None:
    """Sort the documents in FILES, one part of a source, by their shard, for 'tokbench write_shards'."""
    from tokbench.commands.recipes import corpus_of, groups_in, source_of, span_of
    from tokbench.corpus.limits import without_limits
    from tokbench.corpus.partitions import partition_part
    from tokbench.corpus.read import read_source
    from tokbench.corpus.reading import ReadSpan
    from tokbench.corpus.shuffle import ShardAssignment

    exit_status.describe_task(f"deal out the documents in {files[0]}{' and others' * (len(files) > 1)}")
    corpus, _ = corpus_of(recipe)
    source, cache = source_of(corpus, files)
    span = span_of(source, ReadSpan(begin, end))
    allowed = allowance(megabytes)
    documents = read_source(without_limits(source), cache, span, corpus.longest_document, None, corpus.normalize)
    groups = groups_in(corpus, ShardAssignment(Path(places)).buckets)
    partition_part(source, documents, Path(places), groups, Path(output), allowed)


@command("write_shards", "write shards from the documents of all parts", group="stages", place=100)
@click.option("--recipe", required=True, help="Splits, shards and parts as JSON, as in the configuration.")
@click.option("--group", required=True, type=Whole(0, 9998), help="Number of the group of shards.")
@click.option("--places", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of the places.")
@click.option("-o", "--output", required=True, type=OutputFolder("shards"), help="Folder of the shards.")
@memory_option(DEFAULT)
@click.argument(
    "queues", nargs=-1, required=True, type=InputPath("file of dealt documents", "make it with 'tokbench deal_part'")
)
def write_shards_command(
    recipe: str, group: int, places: str, output: str, megabytes: int, queues: tuple[str, ...]
) -> None:
    """Write one group of shards. QUEUES are the outputs of 'tokbench deal_part' for all parts, in order."""
    from tokbench.commands.recipes import corpus_of, groups_in, shares_of
    from tokbench.corpus.documents import read_findings, write_findings
    from tokbench.corpus.partitions import write_partitions
    from tokbench.corpus.shards import shard_paths
    from tokbench.corpus.shuffle import read_totals
    from tokbench.corpus.units import copy_units
    from tokbench.io.atomic import atomic_folder

    corpus, _ = corpus_of(recipe)
    groups = groups_in(corpus)
    if group >= len(groups):
        raise TokbenchError(f"--group {group}: this corpus has {len(groups)} groups of shards, from 0")
    own = groups[group]
    exit_status.describe_task(f"write {len(own):,} shards")
    allowed = allowance(megabytes)
    totals = read_totals(Path(places))
    splits = [split for split, share in shares_of(corpus).items() if not isinstance(share, str)]
    read = [Path(queue) for queue in queues]
    with atomic_folder(output, "shards") as folder:
        paths = [path for split in splits for path in shard_paths(folder, split, corpus.shards)]
        buckets, rest = divmod(len(totals.documents), len(paths))
        if rest or not buckets:
            raise TokbenchError(f"{places}: of {len(totals.documents):,} shards, where --recipe has {len(paths):,}")
        own_places = range(own.start * buckets, own.stop * buckets)
        write_partitions(read, own_places, totals, paths[own.start : own.stop], allowed)
        # Each group has the notes of the full corpus, so that any of them gives them to it.
        write_findings(folder, read_findings(Path(places)))
        copy_units(Path(places), Path(folder))


@command("find_leakage", "count evaluation text that also occurs in other splits", group="stages", place=110)
@output_file(mark=keys("corpus", "length", "others"), required=True, help="JSON file of the counts.")
@memory_option()
@click.argument("evaluation", type=FOLDER)
@click.argument("others", nargs=-1, type=FOLDER)
def find_leakage_command(output: str, megabytes: int | None, evaluation: str, others: tuple[str, ...]) -> None:
    """Count documents and runs of 50 bytes that the split EVALUATION shares with the splits OTHERS.

    Each argument is a folder CORPUS/SPLIT of shards. Above 20 MB of evaluation text only every second document is
    checked, or every third, and so on.
    """
    from tokbench.corpus.leakage import find_leakage
    from tokbench.io.json import write_result

    exit_status.describe_task(f"find text of {evaluation} in other splits")
    check_memory(megabytes)
    shards = {(path.parts[-2], path.parts[-1]): sorted(path.glob("*.parquet")) for path in map(Path, others)}
    leakage = find_leakage(Path(evaluation).parts[-2], sorted(Path(evaluation).glob("*.parquet")), shards)
    write_result(output, dict(leakage))
    for other in leakage["others"]:
        click.echo(
            f"{other['corpus']}/{other['split']}: {other['documents']:,} of {leakage['documents']:,} documents and "
            f"{other['bytes']:,} of {leakage['bytes']:,} bytes are in shared runs of {leakage['length']} bytes",
            err=True,
        )
