"""``tokbench measure``: measure a tokenizer on pre-token counts, or on documents."""

from collections.abc import Iterator
from functools import partial
from shlex import quote

import click

from tokbench import memory
from tokbench.commands.fields import field_options
from tokbench.commands.inputs import COUNTS, TEXT
from tokbench.commands.marks import keys
from tokbench.commands.memory_option import memory_option
from tokbench.commands.outputs import output_file
from tokbench.commands.pretokenization_option import FLAG
from tokbench.errors import TokbenchError
from tokbench.inputs.endings import Fields


@click.command("measure")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--counts", type=COUNTS, help="Pre-token counts of the text.")
@click.option(
    "--documents", multiple=True, type=TEXT, help="The text itself, where nothing has counted it; may be repeated."
)
@click.option("--variant", help="Name in the tables; the tokenizer's own if left out.")
@click.option("--corpus", default="", help="What the text is of, for the tables.")
@click.option("--metrics", help="Options of metrics as JSON, by family; see 'tokbench methods'.")
@field_options
@memory_option()
@output_file(mark=keys("variant", "size", "corpus", "measurements"), help="JSON file; standard output if left out.")
def command(
    folder: str,
    counts: str | None,
    documents: tuple[str, ...],
    variant: str | None,
    corpus: str,
    metrics: str | None,
    fields: Fields,
    megabytes: int | None,
    output: str | None,
) -> None:
    """Measure the tokenizer in FOLDER on pre-token counts, each unique pre-token segmented once; print JSON.

    A tokenizer that was made elsewhere is measured on --documents: where it is one of ours, its pre-tokens are counted
    first; where it works through another library each document is encoded, and what needs pre-tokens has no value;
    "loss" says how many documents it does not give back.
    Where the counts need more than --memory, a line says how much before anything of them is held.
    """
    from tokbench.commands.measurements import metric_families, write_measurements
    from tokbench.counting.external_count import count_texts
    from tokbench.counting.languages import all_languages, check_stage, read_languages
    from tokbench.intrinsic.measure import measure_text
    from tokbench.tokenizer import Tokenizer

    if (counts is None) == (not documents):
        raise TokbenchError("measure: give --counts or --documents, one of the two")
    memory.purpose(f"measure {folder} on {counts or documents[0]}")
    tokenizer = Tokenizer.load(folder)
    given = metric_families(metrics)
    texts = _texts(documents, fields)
    if tokenizer.library_name:
        from tokbench.adapters.loss import Watched
        from tokbench.intrinsic.measure_encoded import measure_encoded

        if counts is not None:
            raise TokbenchError(
                f"{folder}: works through {tokenizer.library_name} and has no pre-tokens; give --documents"
            )
        watched = Watched(tokenizer)
        found = measure_encoded(watched, texts, families=given, library=tokenizer.library_name)
        write_measurements(tokenizer, found, variant, corpus, output, watched.record)
        return
    if counts is None:
        check = partial(check_stage, "measure", megabytes=megabytes)
        by_language = count_texts(texts, tokenizer.scheme, megabytes, output or "-", check)
    else:
        check_stage("measure", counts, megabytes)
        by_language = read_languages(counts)
    pretokens = all_languages(by_language)
    if pretokens.scheme not in (None, tokenizer.pretokenization):
        raise TokbenchError(
            f"{counts}: counted with '{pretokens.scheme}', but {folder} cuts by '{tokenizer.pretokenization}'; "
            f"count with {FLAG} {quote(tokenizer.pretokenization)}"
        )
    rows = measure_text(tokenizer, pretokens, by_language, families=given, nominal_size=tokenizer.nominal_size)
    write_measurements(tokenizer, rows, variant, corpus, output)


def _texts(files: tuple[str, ...], fields: Fields) -> Iterator[tuple[str, bytes]]:
    """Documents with their languages."""
    from tokbench.commands.documents import documents_of, with_note

    documents = with_note(documents_of(files, fields))
    return ((document.language, document.text) for document in documents)
