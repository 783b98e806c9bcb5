"""Commands that count pre-tokens, merge and import counts, and count tokens."""

import os

import click

from tokbench.commands import outputs
from tokbench.commands.declaration import command
from tokbench.commands.inputs import COUNTS as COUNT_FILES
from tokbench.commands.inputs import TEXT, TOKENIZER_FOLDER
from tokbench.commands.outputs import COUNTS, keys, output_file
from tokbench.commands.parameters import (
    FLAG,
    chosen_scheme,
    field_options,
    memory_option,
    pretokenization_option,
)
from tokbench.errors import TokbenchError
from tokbench.io.compression import Fields
from tokbench.runtime import exit_status
from tokbench.runtime.progress import progress


@command(
    "count",
    "count the pre-tokens of texts",
    group="essentials",
    place=60,
    example="tokbench count --pretokenization gpt2 text.txt -o counts.parquet",
)
@pretokenization_option("Pre-tokenizer.", required=True)
@output_file(mark=COUNTS, required=True, help="Parquet file of counts.")
@memory_option()
@field_options
@click.argument("texts", nargs=-1, required=True, type=TEXT)
def count_command(
    pretokenization: str,
    fields: Fields,
    output: str,
    megabytes: int | None,
    texts: tuple[str, ...],
) -> None:
    """Count the pre-tokens of TEXTS, separately for each language if documents have one.

    If the counts do not fit into --memory, they are sorted on disk, next to the output.

    Texts are files of any corpus format, see 'tokbench methods'. Format by file ending or first bytes; default: plain
    text.
    """
    from tokbench.corpus.text_files import files_in, note_untagged, read_files
    from tokbench.pretokens.external_count import count_external
    from tokbench.pretokens.spilling_counter import MemoryBound
    from tokbench.report.wording import pluralise

    scheme = chosen_scheme(pretokenization)
    exit_status.describe_task(
        f"count the pre-tokens of '{scheme.label}' in {texts[0]}{' and others' * (len(texts) > 1)}"
    )
    with progress("count"):
        read = note_untagged(read_files(texts, fields))
        documents = ((document.language, document.text) for document in read)
        totals = count_external(documents, scheme, output, MemoryBound(megabytes))
    for folder in filter(os.path.isdir, texts):
        click.echo(f"read {pluralise(len(files_in(folder)), 'file')} of {folder}", err=True)
    click.echo(f"{totals.unique:,} unique pre-tokens, {totals.total:,} in all, {totals.total_bytes:,} bytes", err=True)


@command("merge_counts", "merge the counts of shards", group="stages", place=120)
@output_file(mark=COUNTS, required=True, help="Parquet file of counts.")
@memory_option()
@click.argument("parts", nargs=-1, required=True, type=COUNT_FILES)
def merge_counts_command(output: str, megabytes: int | None, parts: tuple[str, ...]) -> None:
    """Add up the counts in PARTS, separately for each language. All must have the same pre-tokenizer.

    If the counts do not fit into --memory, they are sorted on disk, next to the output.
    """
    from tokbench.pretokens.external_count import merge_external
    from tokbench.pretokens.spilling_counter import MemoryBound

    exit_status.describe_task(f"merge {len(parts):,} files of counts")
    totals = merge_external(parts, output, MemoryBound(megabytes))
    click.echo(f"{totals.unique:,} unique pre-tokens, {totals.total:,} in all", err=True)


@command("import_counts", "import pre-token counts from files", group="stages", place=130)
@pretokenization_option("Pre-tokenizer of the counts.", required=True)
@output_file(mark=outputs.COUNTS, required=True, help="Parquet file of counts.")
@memory_option()
@click.argument("files", nargs=-1, type=COUNT_FILES, required=True)
def import_counts_command(pretokenization: str, output: str, megabytes: int | None, files: tuple[str, ...]) -> None:
    """Import pre-token counts from FILES: one table (Parquet, or TSV hex<TAB>count), or a file of words and one of
    counts.

    Words are separated by single spaces, counts are one a line; either may be compressed. A table that does not fit
    into --memory is sorted on disk, next to the output.
    """
    from tokbench.pretokens import PretokenCounts
    from tokbench.pretokens.external_count import Totals, import_external
    from tokbench.pretokens.files import read_parts, read_word_list
    from tokbench.pretokens.spilling_counter import MemoryBound

    if len(files) > 2:
        raise TokbenchError(f"{len(files)} files of counts; pass one table, or words and their counts")
    scheme = chosen_scheme(pretokenization)
    exit_status.describe_task(f"take the counts of {files[0]}")
    if len(files) == 1 and (known := read_parts(files[0])[0]) not in (None, scheme.text):
        raise TokbenchError(f"{FLAG} {scheme.text}: {files[0]} was counted with '{known}'; name that")
    if len(files) == 1:
        totals = import_external(files[0], scheme.text, output, MemoryBound(megabytes))
    else:
        read = read_word_list(files[0], files[1], megabytes)
        counts = PretokenCounts(read.data, read.offsets, read.counts, scheme.text)
        counts.write(output)
        totals = Totals(len(counts), counts.total, counts.total_bytes)
    click.echo(f"{totals.unique:,} unique pre-tokens, {totals.total:,} in all", err=True)


@command("count_tokens", "count the tokens of every document", group="stages", place=160)
@click.argument("folder", type=TOKENIZER_FOLDER)
@click.argument("shards", nargs=-1, required=True, type=TEXT, metavar="SHARD...")
@click.option("--variant", help="Name in the tables; default: that of the tokenizer.")
@click.option("--corpus", default="", help="Name of the corpus in the tables.")
@output_file("--speed", mark=keys("variant", "size", "corpus"), help="JSON file of the cold encoding speed.")
@output_file(mark=keys("variant", "size", "corpus", "documents", "tokens"), required=True, help="JSON file.")
@memory_option()
def count_tokens_command(
    folder: str,
    shards: tuple[str, ...],
    variant: str | None,
    corpus: str,
    speed: str | None,
    output: str,
    megabytes: int | None,
) -> None:
    """Count the tokens of each document in corpus shards with the tokenizer in FOLDER.

    More than 1,000 documents are counted in 1,000 groups of neighbours. --speed writes the median CPU time that new
    copies of the tokenizer need to encode the first 2 MB. It differs between runs. Tokens of an external tokenizer are
    also counted by language.
    """
    from tokbench.intrinsic.document_tokens import write_document_tokens

    exit_status.describe_task(f"count the tokens of {folder}")
    write_document_tokens(folder, shards, output, variant=variant, corpus=corpus, speed=speed, megabytes=megabytes)
