"""``tokbench measure``: measure a tokenizer on pre-token counts."""

import json
from dataclasses import asdict

import click

from tokbench import memory
from tokbench.atomic import atomic_file
from tokbench.commands.arguments import mapping_of
from tokbench.config.errors import validated
from tokbench.counting.languages import read_languages
from tokbench.errors import TokbenchError
from tokbench.intrinsic.measure import ByLanguage, measure, measure_languages
from tokbench.metric import families_of, metrics
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer


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
    memory.purpose(f"measure {folder} on {counts}")
    tokenizer = Tokenizer.load(folder)
    pretokens = PretokenCounts.read(counts)
    if pretokens.scheme not in (None, tokenizer.pretokenization):
        raise TokbenchError(
            f"{counts}: counted with '{pretokens.scheme}', but {folder} cuts by '{tokenizer.pretokenization}'; "
            f"count with --scheme {tokenizer.pretokenization}"
        )
    size = tokenizer.origin.get("requested_size", len(tokenizer))
    given = metric_families(metrics)
    families = {method.name: given.get(method.name, method.options()) for method in families_of("text")}
    rows: ByLanguage = [("", row) for row in measure(tokenizer, pretokens, families=families, nominal_size=size)]
    rows += measure_languages(tokenizer, read_languages(counts), families=given, nominal_size=size)
    write_measurements(tokenizer, rows, variant, corpus, output)


def metric_families(text: str | None) -> dict[str, Options]:
    """Options of metrics by family, from a mapping of families to mappings of options; nothing from nothing.

    Raises:
        TokbenchError: no such family or option; the message names it.
    """
    given = mapping_of(text, "--metrics") if text else {}
    return {name: validated(values, metrics[name].options, f"--metrics ({name})") for name, values in given.items()}


def write_measurements(
    tokenizer: Tokenizer, rows: ByLanguage, variant: str | None, corpus: str, output: str | None
) -> None:
    """Write the measurements of a tokenizer as JSON, to standard output where no file is named."""
    result = {
        "variant": variant or tokenizer.name,
        "size": tokenizer.origin.get("requested_size", len(tokenizer)),
        "corpus": corpus,
        "measurements": [{"language": language, **asdict(row)} for language, row in rows],
    }
    text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
    if output is None:
        click.echo(text, nl=False)
        return
    with atomic_file(output) as partial:
        partial.write_text(text, encoding="utf-8")
