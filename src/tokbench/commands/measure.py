"""``tokbench measure``: measure a tokenizer on pre-token counts."""

from shlex import quote

import click

from tokbench import memory
from tokbench.commands.pretokenization_option import FLAG
from tokbench.errors import TokbenchError


@click.command("measure")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option("--counts", required=True, type=click.Path(dir_okay=False), help="Pre-token counts of the text.")
@click.option("--variant", help="Name in the tables; the tokenizer's own if left out.")
@click.option("--corpus", default="", help="What the counts were taken of, for the tables.")
@click.option("--metrics", help="Options of metrics as JSON, by family; see 'tokbench methods'.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="JSON file; standard output if left out.")
def command(
    folder: str, counts: str, variant: str | None, corpus: str, metrics: str | None, output: str | None
) -> None:
    """Measure the tokenizer in FOLDER on pre-token counts, each unique pre-token segmented once; print JSON."""
    from tokbench.commands.measurements import metric_families, write_measurements
    from tokbench.counting.languages import read_languages
    from tokbench.intrinsic.measure import ByLanguage, measure, measure_languages
    from tokbench.metric import families_of
    from tokbench.pretokens import PretokenCounts
    from tokbench.tokenizer import Tokenizer

    memory.purpose(f"measure {folder} on {counts}")
    tokenizer = Tokenizer.load(folder)
    pretokens = PretokenCounts.read(counts)
    if pretokens.scheme not in (None, tokenizer.pretokenization):
        raise TokbenchError(
            f"{counts}: counted with '{pretokens.scheme}', but {folder} cuts by '{tokenizer.pretokenization}'; "
            f"count with {FLAG} {quote(tokenizer.pretokenization)}"
        )
    size = tokenizer.origin.get("requested_size", len(tokenizer))
    given = metric_families(metrics)
    families = {method.name: given.get(method.name, method.options()) for method in families_of("text")}
    rows: ByLanguage = [("", row) for row in measure(tokenizer, pretokens, families=families, nominal_size=size)]
    rows += measure_languages(tokenizer, read_languages(counts), families=given, nominal_size=size)
    write_measurements(tokenizer, rows, variant, corpus, output)
