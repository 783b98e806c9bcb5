"""Commands that measure tokenizers on texts and gold data, and embeddings of models."""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, cast

import click

from tokbench.adapters.open import reading_options
from tokbench.commands.declaration import command
from tokbench.commands.inputs import COUNTS, TEXT, TOKENIZER_FOLDER, InputPath, TokenizerPath
from tokbench.commands.outputs import OutputFolder, keys, output_file
from tokbench.commands.parameters import FLAG, field_options, memory_option
from tokbench.errors import TokbenchError
from tokbench.io.compression import Fields
from tokbench.runtime import exit_status
from tokbench.runtime.progress import progress

CROSSES = "tokens may cross pre-tokens, so counts do not suffice"

if TYPE_CHECKING:
    from tokbench.adapters.open import ImportOptions
    from tokbench.intrinsic.tokenizer import ByLanguage
    from tokbench.io.identity import TextDigest
    from tokbench.options import Options
    from tokbench.pretokens import PretokenCounts
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
    from tokbench.adapters.open import is_ours, open_tokenizer
    from tokbench.intrinsic.texts import measure_counted_text, measure_read_texts
    from tokbench.io.identity import TextDigest
    from tokbench.pretokens.external_count import count_texts
    from tokbench.pretokens.files import all_languages, check_stage
    from tokbench.tokenizer import Tokenizer

    if (counts is None) == (not documents):
        raise TokbenchError("measure: no text, or two; pass --counts or --documents, such as --documents text.txt")
    if only_documents and (only_counts or counts is not None):
        raise TokbenchError("measure: --only-documents needs --documents; leave out --counts and --only-counts")
    if baseline is not None and (only_counts or counts is not None):
        raise TokbenchError("measure: --baseline needs --documents; leave out --counts and --only-counts")
    exit_status.describe_task(f"measure {folder} on {counts or documents[0]}")
    ours = is_ours(Path(folder)) and not reading.flags
    divisor = None if baseline is None else open_tokenizer(baseline)
    tokenizer = Tokenizer.load(folder) if ours else open_tokenizer(folder, reading)
    given = metric_families(metrics)
    text = TextDigest()
    if only_documents:
        with progress("measure"):
            rows = _of_documents(tokenizer, documents, fields, given, divisor, text)
        write_measurements(tokenizer, rows, variant, corpus, output, text=text.hexdigest())
        return
    if counts is not None and tokenizer.segments_documents:
        way = f"works through {tokenizer.library_name} and has no pre-tokens" if tokenizer.library_name else CROSSES
        raise TokbenchError(f"{folder}: {way}; pass --documents")
    if counts is not None and tokenizer.normalization:
        raise TokbenchError(f"{folder}: normalises texts, so counts of pre-tokens lack their bytes; pass --documents")
    words = None
    if reference is not None and not tokenizer.segments_documents:
        words = all_languages(_read_counts(reference, tokenizer, folder, megabytes))
    with progress("measure"):
        if counts is None:
            check = partial(check_stage, "measure", megabytes=megabytes)
            measured = measure_read_texts(
                tokenizer,
                text.watched(_texts(documents, fields), itemgetter(1)),
                families=given,
                count=lambda texts: count_texts(texts, tokenizer.scheme, megabytes, output or "-", check),
                reference=words,
            )
        else:
            by_language = _read_counts(counts, tokenizer, folder, megabytes)
            for part in by_language.values():
                text.add_counts(part.data, part.offsets, part.counts)
            measured = measure_counted_text(tokenizer, by_language, families=given, reference=words)
        rows = measured.rows
        rows += [] if only_counts else _of_documents(tokenizer, documents, fields, given, divisor, text)
    write_measurements(tokenizer, rows, variant, corpus, output, measured.loss, text=text.hexdigest())


def _read_counts(file: str, tokenizer: "Tokenizer", folder: str, megabytes: int | None) -> "dict[str, PretokenCounts]":
    """Return the pre-token counts of each language of a text.

    Raises:
        TokbenchError: they are of another pre-tokenization than the tokenizer's.
    """
    from tokbench.pretokens.files import all_languages, check_stage, read_languages

    check_stage("measure", file, megabytes)
    by_language = read_languages(file)
    if (scheme := all_languages(by_language).scheme) not in (None, tokenizer.pretokenization):
        raise TokbenchError(
            f"{file}: counted with '{scheme}', but {folder} uses '{tokenizer.pretokenization}'; "
            f"count with {FLAG} {quote(tokenizer.pretokenization)}"
        )
    return by_language


def _of_documents(
    tokenizer: "Tokenizer",
    files: tuple[str, ...],
    fields: Fields,
    families: "Mapping[str, Options]",
    baseline: "Tokenizer | None",
    digest: "TextDigest",
) -> "ByLanguage":
    """Return the metrics of documents, and lengths relative to a baseline if there is one; empty without files.

    ``digest`` becomes that of the documents.
    """
    from tokbench.corpus.text_files import read_files
    from tokbench.intrinsic.documents import measure_texts
    from tokbench.statistics.comparisons.sequence_lengths import normalised_lengths

    def read() -> Iterator[tuple[str, bytes]]:
        texts = ((document.language, document.text) for document in read_files(files, fields))
        return digest.watched(texts, itemgetter(1))

    if not files:
        return []
    rows = measure_texts(tokenizer, read, families=families)
    if baseline is not None:
        own, other = ([one.count(text) for _, text in read()] for one in (tokenizer, baseline))
        number: dict[bytes, int] = {}
        units = [number.setdefault(sha256(text).digest(), len(number)) for _, text in read()]
        rows += [("", row) for row in normalised_lengths(own, other, baseline.name, units)]
    return rows


def _texts(files: tuple[str, ...], fields: Fields) -> Iterator[tuple[str, bytes]]:
    """Yield language and text of each document."""
    from tokbench.corpus.text_files import note_untagged, read_files

    documents = note_untagged(read_files(files, fields))
    return ((document.language, document.text) for document in documents)


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
    from tokbench.intrinsic.resource import boundaries_by_word, nothing_by_word, read_resource, room
    from tokbench.intrinsic.tokenizer import measure_cut_words, measure_document_words
    from tokbench.io.identity import made_from
    from tokbench.io.json import write_result
    from tokbench.metric.document_words import document_words
    from tokbench.metric.words import words_of
    from tokbench.options import validated
    from tokbench.resource import ResourceOptions, resource_files, resource_types
    from tokbench.runtime.memory_limit import RESERVE, require, resident
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
    if megabytes is not None:
        require(f"'{name or kind}'", resident() + RESERVE + room(kind, options), megabytes)
    gold = read_resource(kind, options)
    tokenizer = Tokenizer.load(folder)
    of, families = resource_types[kind].gold, metric_families(metrics)
    found = nothing_by_word()
    if tokenizer.segments_documents:
        words, left_out = document_words(tokenizer, gold)
        rows = measure_document_words(words, left_out, of, families=families)
    else:
        words = words_of(tokenizer, gold)
        rows = measure_cut_words(words, of, families=families)
    if by_word is not None and of == "segmentations":
        found = boundaries_by_word(words)
    if by_word is not None:
        head = {"variant": variant or tokenizer.name, "size": tokenizer.nominal_size, "corpus": name or kind}
        write_result(by_word, head | made_from(tokenizer=tokenizer.digest) | found)
    write_measurements(tokenizer, rows, variant, name or kind, output)


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
    from tokbench.intrinsic.tokenizer import measure_embeddings
    from tokbench.io.atomic import atomic_folder
    from tokbench.io.identity import Maker, model_digest, require_model
    from tokbench.io.tables import write_csv
    from tokbench.metric.embeddings import embeddings_of, room
    from tokbench.models.training import read_occurrences
    from tokbench.runtime.memory_limit import RESERVE, require, resident
    from tokbench.tokenizer import Tokenizer

    loaded = Tokenizer.load(tokenizer)
    maker = Maker(loaded.digest, tokenizer)
    require_model(Path(model), "tokenizer", maker, "name the tokenizer that it was trained with")
    require("this measurement", resident() + RESERVE + room(Path(model)), megabytes)
    embeddings = embeddings_of(loaded.named, Path(model), read_occurrences(Path(counts), loaded.id_limit, maker))
    rows = [
        ("", replace(row, definition=f"{row.definition}; model {name}"))
        for row in measure_embeddings(embeddings, families=metric_families(metrics))
    ]
    with atomic_folder(output, "embeddings") as folder:
        frame = embeddings.to_frame()
        frame.write_parquet(folder / "tokens.parquet", compression="zstd")
        write_csv(frame, folder / "tokens.csv")
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
    from dataclasses import asdict

    from tokbench.intrinsic.tokenizer import measure_embeddings
    from tokbench.io.atomic import atomic_folder
    from tokbench.io.identity import made_from
    from tokbench.io.json import write_result
    from tokbench.io.tables import write_csv
    from tokbench.metric.embeddings import EmbeddingLayout, embeddings_of, room
    from tokbench.models.translation.embeddings import AGAIN, makers_of, sides_of
    from tokbench.runtime.memory_limit import RESERVE, require, resident

    rows = []
    with atomic_folder(output, "embeddings") as folder:
        for side in sides_of(Path(model)):
            layout = EmbeddingLayout((side.tensor,), side.before, "training text", AGAIN)
            require("this measurement", resident() + RESERVE + room(Path(model), layout), megabytes)
            embeddings = embeddings_of(side.tokenizer.named, Path(model), side.occurrences, layout)
            frame = embeddings.to_frame()
            frame.write_parquet(folder / f"{side.name}.parquet", compression="zstd")
            write_csv(frame, folder / f"{side.name}.csv")
            found = measure_embeddings(embeddings, families=metric_families(metrics))
            rows += [{"side": side.name, **asdict(row)} for row in found]
        write_result(
            folder / "measurements.json", made_from(**makers_of(Path(model))) | {"measurements": rows}, indent=1
        )


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
    from tokbench.metric.keys import keyed

    languages = dict.fromkeys(language for language, _ in rows)
    return [
        {"key": key, "language": language, **asdict(row)}
        for language in languages
        for key, row in keyed([row for other, row in rows if other == language])
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

    result = record_of(
        tokenizer.name,
        tokenizer.nominal_size,
        rows,
        variant=variant,
        corpus=corpus,
        pretokenization=tokenizer.pretokenizer_label,
        loss=loss,
        makers={"tokenizer": tokenizer.digest, **makers},
    )
    if output is None:
        if sys.stdout.isatty():
            result["measurements"] = _keyed(rows)
        click.echo(json.dumps(result, indent=2, ensure_ascii=False))
    else:
        write_result(output, result, indent=2)
