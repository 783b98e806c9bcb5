"""Commands that perturb texts and measure tokenizers on them."""

import json

import click

from tokbench.commands.declaration import command
from tokbench.commands.inputs import TEXT, TOKENIZER_FOLDER, ContentPath
from tokbench.commands.outputs import columns, keys, output_file
from tokbench.commands.parameters import Real, Whole, field_options, memory_option
from tokbench.io.compression import Fields
from tokbench.io.numbers import LARGEST_BYTES, LARGEST_SEED
from tokbench.runtime import exit_status
from tokbench.runtime.progress import progress

DEFAULT = 1000
"""Default memory limit in MB, which is enough for 4 MB of text and all kinds."""
COLUMNS = ("kind", "document", "language", "line", "text", "starts", "before", "after")


@command("perturb", "perturb the lines of texts", group="stages", place=200)
@click.argument("texts", nargs=-1, required=True, type=TEXT)
@click.option("--kind", "kinds", multiple=True, help="Kind of perturbation; may be repeated. Default: all.")
@click.option("--rate", type=Real(0, 1), help="Probability that a unit is changed. Default: 0.1.")
@click.option("--bytes", "size", type=Whole(1, LARGEST_BYTES), help="Bytes of text to use. Default: 200,000.")
@click.option("--seed", type=Whole(0, LARGEST_SEED), help="Seed of the draws. Default: 0.")
@output_file(mark=columns(*COLUMNS), required=True, help="Parquet file of perturbed lines and their edits.")
@memory_option(DEFAULT)
@field_options
def perturb_command(
    texts: tuple[str, ...],
    kinds: tuple[str, ...],
    rate: float | None,
    size: int | None,
    seed: int | None,
    output: str,
    megabytes: int | None,
    fields: Fields,
) -> None:
    """Perturb the lines of TEXTS: typos, case, spaces and others, one row per line and kind.

    The file has the edits of each line, from which the original can be restored. Kinds: swap, drop, double, replace,
    insert, lower, upper, title, mixed_case, no_diacritics, decomposed, full_width, zero_width, soft_hyphen, homoglyphs,
    misread, joined, doubled_space, no_break_space, spelt_number.
    """
    from tokbench.io.atomic import atomic_file
    from tokbench.io.job_record import job_metadata
    from tokbench.robustness.files import perturb_files

    exit_status.describe_task(f"perturb {texts[0]}{' and others' * (len(texts) > 1)}")
    with progress("perturb"):
        lines = perturb_files(texts, fields, kinds=kinds, rate=rate, size=size, seed=seed, megabytes=megabytes)
    with atomic_file(output) as partial:
        lines.write_parquet(partial, compression="zstd", metadata=job_metadata())


@command("measure_robustness", "measure a tokenizer on perturbed lines", group="stages", place=210)
@click.argument("folder", type=TOKENIZER_FOLDER)
@click.argument("lines", type=ContentPath("file of perturbed lines"))
@click.option("--variant", help="Name in the tables; default: that of the tokenizer.")
@click.option("--corpus", default="", help="Name of the corpus in the tables.")
@output_file(mark=keys("variant", "size", "corpus", "kinds"), help="JSON file; default: standard output.")
@memory_option()
def measure_robustness_command(
    folder: str, lines: str, variant: str | None, corpus: str, output: str | None, megabytes: int | None
) -> None:
    """Measure the tokenizer in FOLDER on LINES, a file of 'tokbench perturb'; print JSON.

    For each kind of perturbation and each document: edits of the text, tokens before them, tokens added, and edit
    distance of the tokens.
    """
    from tokbench.io.identity import made_from
    from tokbench.io.json import write_result
    from tokbench.robustness.files import measure_lines
    from tokbench.tokenizer import Tokenizer

    exit_status.describe_task(f"measure the robustness of {folder}")
    tokenizer = Tokenizer.load(folder)
    with progress("robustness"):
        kinds = measure_lines(tokenizer, lines, megabytes=megabytes)
    head = {"variant": variant or tokenizer.name, "size": tokenizer.nominal_size, "corpus": corpus}
    result = head | made_from(tokenizer=tokenizer.digest) | {"kinds": kinds}
    if output is None:
        click.echo(json.dumps(result, ensure_ascii=False))
    else:
        write_result(output, result)
