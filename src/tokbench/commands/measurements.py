"""Measurements as commands take and give them: options of metrics from JSON, rows to JSON."""

import json
from collections.abc import Mapping

import click

from tokbench.commands.arguments import mapping_of
from tokbench.intrinsic.measure import ByLanguage, record_of
from tokbench.metric import metrics
from tokbench.options import Options, validated
from tokbench.result_files import write_result
from tokbench.tokenizer import Tokenizer


def metric_families(text: str | None) -> dict[str, Options]:
    """Options of metrics by family, from a mapping of families to mappings of options; nothing from nothing.

    Raises:
        TokbenchError: no such family or option; the message names it.
    """
    given = mapping_of(text, "--metrics") if text else {}
    return {name: validated(values, metrics[name].options, f"--metrics ({name})") for name, values in given.items()}


def write_measurements(
    tokenizer: Tokenizer,
    rows: ByLanguage,
    variant: str | None,
    corpus: str,
    output: str | None,
    loss: Mapping[str, int] | None = None,
) -> None:
    """Write the measurements of a tokenizer as JSON, to standard output where no file is named.

    What is lost of the text stands there for one that need not give all of it back.
    """
    result = record_of(tokenizer.name, tokenizer.nominal_size, rows, variant=variant, corpus=corpus, loss=loss)
    if output is None:
        click.echo(json.dumps(result, indent=2, ensure_ascii=False))
    else:
        write_result(output, result, indent=2)
