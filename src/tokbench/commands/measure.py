"""``tokbench measure``: measure a tokenizer on pre-token counts, or on documents."""

from collections.abc import Iterator
from shlex import quote

import click

from tokbench import memory
from tokbench.commands.fields import field_options
from tokbench.commands.pretokenization_option import FLAG
from tokbench.errors import TokbenchError


@click.command("measure")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--counts", type=click.Path(dir_okay=False), help="Pre-token counts of the text.")
@click.option("--documents", multiple=True, help="The text itself, where nothing has counted it; may be repeated.")
@click.option("--variant", help="Name in the tables; the tokenizer's own if left out.")
@click.option("--corpus", default="", help="What the text is of, for the tables.")
@click.option("--metrics", help="Options of metrics as JSON, by family; see 'tokbench methods'.")
@field_options
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="JSON file; standard output if left out.")
def command(
    folder: str,
    counts: str | None,
    documents: tuple[str, ...],
    variant: str | None,
    corpus: str,
    metrics: str | None,
    text_field: str | None,
    language_field: str | None,
    output: str | None,
) -> None:
    """Measure the tokenizer in FOLDER on pre-token counts, each unique pre-token segmented once; print JSON.

    A tokenizer that was made elsewhere is measured on --documents: where it is one of ours, its pre-tokens are counted
    first; where it works through another library each document is encoded, and what needs pre-tokens has no value.
    """
    from tokbench.commands.measurements import metric_families, write_measurements
    from tokbench.counting.count import count_languages, merge_counts
    from tokbench.counting.languages import read_languages
    from tokbench.intrinsic.measure import ByLanguage, measure, measure_languages
    from tokbench.metric import families_of
    from tokbench.pretokens import PretokenCounts
    from tokbench.tokenizer import Tokenizer

    if (counts is None) == (not documents):
        raise TokbenchError("measure: give --counts or --documents, one of the two")
    memory.purpose(f"measure {folder} on {counts or documents[0]}")
    tokenizer = Tokenizer.load(folder)
    given = metric_families(metrics)
    texts = _texts(documents, text_field, language_field)
    if tokenizer.library_name:
        from tokbench.intrinsic.measure_encoded import measure_encoded

        if counts is not None:
            raise TokbenchError(
                f"{folder}: works through {tokenizer.library_name} and has no pre-tokens; give --documents"
            )
        found = measure_encoded(tokenizer, texts, families=given, library=tokenizer.library_name)
        write_measurements(tokenizer, found, variant, corpus, output)
        return
    if counts is None:
        by_language = dict(sorted(count_languages(texts, tokenizer.scheme).items()))
        pretokens = merge_counts(by_language.values() or [PretokenCounts.from_pairs([], tokenizer.pretokenization)])
    else:
        by_language, pretokens = read_languages(counts), PretokenCounts.read(counts)
    if pretokens.scheme not in (None, tokenizer.pretokenization):
        raise TokbenchError(
            f"{counts}: counted with '{pretokens.scheme}', but {folder} cuts by '{tokenizer.pretokenization}'; "
            f"count with {FLAG} {quote(tokenizer.pretokenization)}"
        )
    size = tokenizer.nominal_size
    families = {method.name: given.get(method.name, method.options()) for method in families_of("text")}
    rows: ByLanguage = [("", row) for row in measure(tokenizer, pretokens, families=families, nominal_size=size)]
    rows += measure_languages(tokenizer, by_language, families=given, nominal_size=size)
    write_measurements(tokenizer, rows, variant, corpus, output)


def _texts(files: tuple[str, ...], text_field: str | None, language_field: str | None) -> Iterator[tuple[str, bytes]]:
    """Documents with their languages."""
    from tokbench.commands.documents import documents_of

    return ((document.language, document.text) for document in documents_of(files, text_field, language_field))
