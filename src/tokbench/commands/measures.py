"""Commands that measure tokenizers on texts and gold data, and embeddings of models."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from tokbench.commands.declaration import command
from tokbench.commands.inputs import COUNTS, TEXT, TOKENIZER_FOLDER, InputPath, TokenizerPath
from tokbench.commands.outputs import OutputFolder, keys, output_file
from tokbench.commands.parameters import field_options, memory_option, reading_options
from tokbench.errors import TokbenchError
from tokbench.io.compression import Fields
from tokbench.runtime import exit_status
from tokbench.runtime.progress import progress

if TYPE_CHECKING:
    import polars as pl

    from tokbench.adapters.open import ImportOptions
    from tokbench.intrinsic.tokenizer import ByLanguage
    from tokbench.options import Options
    from tokbench.tokenizer import Tokenizer


@command(
    "measure",
    "measure a tokenizer on a text",
    group="essentials",
    place=50,
    example="tokbench measure bpe --counts counts.parquet",
)
@click.argument("folder", type=TokenizerPath())
@click.option("--counts", type=COUNTS, help="Pre-token counts of the text.")
@click.option("--documents", multiple=True, type=TEXT, help="The text, if it is not counted yet; may be repeated.")
@click.option("--reference", type=COUNTS, help="Counts of the reference text of the metric vocabulary (words_of).")
@click.option("--variant", help="Name in the tables; default: that of the tokenizer.")
@click.option("--corpus", default="", help="Name of the corpus in the tables.")
@click.option("--metrics", help="Options of metrics as JSON, by family; see 'tokbench methods'.")
@click.option("--only-counts", is_flag=True, help="Leave out metrics that need documents, as experiments do.")
@click.option("--only-documents", is_flag=True, help="Compute only metrics that need documents.")
@click.option(
    "--baseline",
    type=click.Path(exists=True),
    help="Tokenizer whose token counts divide those of FOLDER (normalised sequence length); needs --documents.",
)
@reading_options
@field_options
@memory_option()
@output_file(mark=keys("variant", "size", "corpus", "measurements"), help="JSON file; default: standard output.")
def measure_command(
    folder: str,
    counts: str | None,
    documents: tuple[str, ...],
    reference: str | None,
    variant: str | None,
    corpus: str,
    metrics: str | None,
    only_counts: bool,
    only_documents: bool,
    baseline: str | None,
    reading: "ImportOptions",
    fields: Fields,
    megabytes: int | None,
    output: str | None,
) -> None:
    """Measure the tokenizer in FOLDER on pre-token counts, or on documents; print JSON.

    External tokenizers, also files and folders of other libraries, need --documents. If ours returns the same ids, the
    documents' pre-tokens are counted first.
    Tokenizers that run through another library, or whose tokens may cross pre-tokens, encode each document. They are
    measured by the byte spans of their tokens, and metrics over pre-tokens have no value. "loss" is the number of
    documents that are not restored. If it needs more than --memory, it stops with one line before it starts.
    """
    from tokbench.adapters.open import open_tokenizer
    from tokbench.intrinsic.files import (
        MeasuredTokenizer,
        measure_counts_file,
        measure_document_files,
        measure_text_files,
    )

    if (counts is None) == (not documents):
        raise TokbenchError("measure: no text, or two; pass --counts or --documents, such as --documents text.txt")
    if only_documents and (only_counts or counts is not None):
        raise TokbenchError("measure: --only-documents needs --documents; leave out --counts and --only-counts")
    if baseline is not None and (only_counts or counts is not None):
        raise TokbenchError("measure: --baseline needs --documents; leave out --counts and --only-counts")
    exit_status.describe_task(f"measure {folder} on {counts or documents[0]}")
    # Both tokenizers are opened before any text is read.
    divisor = None if baseline is None else open_tokenizer(baseline)
    tokenizer = open_tokenizer(folder, reading)
    measured = MeasuredTokenizer(
        tokenizer=tokenizer, path=folder, families=metric_families(metrics), megabytes=megabytes
    )

    rows: ByLanguage = []
    loss = None
    # Measures of pre-tokens, then those of documents.
    with progress("measure"):
        if counts is not None:
            rows, text, loss = measure_counts_file(measured, counts, reference)
        elif not only_documents:
            rows, text, loss = measure_text_files(
                measured, documents, fields, reference=reference, output=output or "-"
            )
        if documents and not only_counts:
            of_documents = measure_document_files(measured, documents, fields, baseline=divisor)
            rows, text = rows + of_documents.rows, of_documents.text
    write_measurements(tokenizer, rows, variant, corpus, output, loss, text=text)


@command("measure_resource", "measure a tokenizer on gold data", group="stages", place=170)
@click.argument("folder", type=TOKENIZER_FOLDER)
@click.option("--recipe", "text", required=True, help="Type of the resource, or its options as JSON: {type: ladec}.")
@click.option("--name", help="Name of the resource in the tables; default: its type.")
@click.option("--variant", help="Name of the tokenizer in the tables; default: its own.")
@click.option("--metrics", help="Options of metrics as JSON, by family.")
@memory_option()
@output_file("--by-word", help="JSON file of every word's boundaries, for intervals.")
@output_file(mark=keys("variant", "size", "corpus", "measurements"), help="JSON file; default: standard output.")
@click.argument("files", nargs=-1, type=InputPath("file of gold data"))
def measure_resource_command(
    folder: str,
    text: str,
    name: str | None,
    variant: str | None,
    metrics: str | None,
    megabytes: int | None,
    by_word: str | None,
    output: str | None,
    files: tuple[str, ...],
) -> None:
    """Measure the tokenizer in FOLDER on the words of a resource; print JSON. FILES are the files of the resource.

    --by-word also writes each word's part of the alignment with morphemes, if the resource has morphemes. If it needs
    more than --memory, it stops with one line before it starts.
    """
    from tokbench.commands.recipes import check_same_files, mapping_of
    from tokbench.intrinsic.resource import measure_resource
    from tokbench.io.identity import made_from
    from tokbench.io.json import write_result
    from tokbench.options import validated
    from tokbench.resource import ResourceOptions, resource_files, resource_types
    from tokbench.tokenizer import Tokenizer

    values = mapping_of(text, "--recipe") if text.lstrip().startswith("{") else {"type": text}
    kind = str(values.pop("type", ""))
    options = validated(values, cast(type[ResourceOptions], resource_types[kind].options), f"--recipe ({kind})")
    if files and options.path:
        check_same_files(files, [path for _, path in resource_files(kind, options)], f"--recipe ({kind})")
    elif files:
        options = options.model_copy(update={"path": list(files)})
    if not options.path:
        raise TokbenchError(f"--recipe {kind}: no file of the resource; name its files after FOLDER")
    tokenizer, families = Tokenizer.load(folder), metric_families(metrics)
    resource = name or kind
    measured = measure_resource(tokenizer, kind, options, families=families, name=resource, megabytes=megabytes)
    if by_word is not None:
        head = {"variant": variant or tokenizer.name, "size": tokenizer.nominal_size, "corpus": resource}
        write_result(by_word, head | made_from(tokenizer=tokenizer.digest) | measured.by_word)
    write_measurements(tokenizer, measured.rows, variant, resource, output)


@command("measure_embeddings", "measure the embeddings of a language model", group="stages", place=270)
@click.option("--model", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of the model.")
@click.option(
    "--token-counts",
    "counts",
    required=True,
    type=click.Path(exists=True, dir_okay=False),
    help="Occurrences of each id in the training text, written by 'tokbench pack'.",
)
@click.option("--tokenizer", required=True, type=click.Path(exists=True, file_okay=False), help="Its tokenizer.")
@click.option("--model-name", "name", required=True, help="Name of the model in the tables.")
@click.option("--variant", help="Name of the tokenizer in the tables; default: its own.")
@click.option("--corpus", default="", help="Name of the pretraining text in the tables.")
@click.option("--metrics", help="Options of metrics as JSON, by family.")
@memory_option()
@click.option("-o", "--output", required=True, type=OutputFolder("embeddings"), help="Folder of the results.")
def measure_embeddings_command(
    model: str,
    counts: str,
    tokenizer: str,
    name: str,
    variant: str | None,
    corpus: str,
    metrics: str | None,
    megabytes: int | None,
    output: str,
) -> None:
    """Write norm, occurrences and probability of every token, and metrics over them.

    If it needs more than --memory, it stops with one line before it starts.
    """
    from tokbench.intrinsic.embeddings import measure_language_model
    from tokbench.io.atomic import atomic_folder
    from tokbench.io.identity import model_digest
    from tokbench.tokenizer import Tokenizer

    loaded = Tokenizer.load(tokenizer)
    families = metric_families(metrics)
    measured = measure_language_model(
        Path(model), loaded, Path(counts), path=tokenizer, families=families, megabytes=megabytes
    )
    rows = [("", replace(row, definition=f"{row.definition}; model {name}")) for row in measured.rows]
    with atomic_folder(output, "embeddings") as folder:
        write_tokens(measured.tokens, folder / "tokens")
        place = str(folder / "measurements.json")
        write_measurements(loaded, rows, variant, corpus, place, model=model_digest(Path(model)))


@command("measure_translation_embeddings", "measure embedding norms of a translation model", group="stages", place=330)
@click.option("--model", required=True, type=click.Path(exists=True, file_okay=False), help="Folder of the model.")
@click.option("--metrics", help="Options of metrics as JSON, by family.")
@memory_option()
@click.option("-o", "--output", required=True, type=OutputFolder("embeddings"), help="Folder of the results.")
def measure_translation_embeddings_command(model: str, metrics: str | None, megabytes: int | None, output: str) -> None:
    """Write norm, occurrences and probability of every token of encoder and decoder, and metrics over them.

    If it needs more than --memory, it stops with one line before it starts.
    """
    from tokbench.intrinsic.embeddings import measure_translation_model
    from tokbench.io.atomic import atomic_folder
    from tokbench.io.identity import made_from
    from tokbench.io.json import write_result
    from tokbench.models.translation.embeddings import makers_of

    sides = measure_translation_model(Path(model), families=metric_families(metrics), megabytes=megabytes)
    rows = [{"side": side, **asdict(row)} for side, measured in sides.items() for row in measured.rows]
    with atomic_folder(output, "embeddings") as folder:
        for side, measured in sides.items():
            write_tokens(measured.tokens, folder / side)
        makers = made_from(**makers_of(Path(model)))
        write_result(folder / "measurements.json", makers | {"measurements": rows}, indent=1)


def write_tokens(tokens: "pl.DataFrame", place: Path) -> None:
    """Write a table of tokens as Parquet and CSV; ``place`` has no ending."""
    from tokbench.io.tables import write_csv

    tokens.write_parquet(place.with_suffix(".parquet"), compression="zstd")
    write_csv(tokens, place.with_suffix(".csv"))


def metric_families(text: str | None) -> "dict[str, Options]":
    """Parse options of metrics from JSON: a mapping of families to mappings of options; empty without a text.

    Raises:
        TokbenchError: no such family or option; the message names it.
    """
    from tokbench.commands.recipes import mapping_of
    from tokbench.metric import metrics
    from tokbench.options import validated

    given = mapping_of(text, "--metrics") if text else {}
    return {name: validated(values, metrics[name].options, f"--metrics ({name})") for name, values in given.items()}


def _keyed(rows: "ByLanguage") -> list[dict[str, Any]]:
    """Return the rows of each language with their keys, as JSON has them."""
    from tokbench.metric.keys import assign_keys

    languages = dict.fromkeys(language for language, _ in rows)
    return [
        {"key": key, "language": language, **asdict(row)}
        for language in languages
        for key, row in assign_keys([row for other, row in rows if other == language])
    ]


def write_measurements(
    tokenizer: "Tokenizer",
    rows: "ByLanguage",
    variant: str | None,
    corpus: str,
    output: str | None,
    loss: Mapping[str, int] | None = None,
    **makers: str,
) -> None:
    """Write the measurements of a tokenizer as JSON, to a file or (default) to standard output.

    ``loss`` counts the documents that decoding does not restore; only for tokenizers that may lose text. On a
    terminal, rows have keys, and the common ones are first. ``makers`` are digests of the text or the model.
    """
    from tokbench.intrinsic.tokenizer import record_of
    from tokbench.io.json import write_result

    result = record_of(tokenizer, rows, variant=variant, corpus=corpus, loss=loss, **makers)
    if output is None:
        if sys.stdout.isatty():
            result["measurements"] = _keyed(rows)
        click.echo(json.dumps(result, indent=2, ensure_ascii=False))
    else:
        write_result(output, result, indent=2)
