"""``tokbench compare``: tell which of two tokenizers is better at what."""

import click

from tokbench import memory
from tokbench.commands.fields import field_options
from tokbench.commands.inputs import TEXT, TOKENIZER
from tokbench.commands.numbers import Whole
from tokbench.commands.reading import Reading, reading_options
from tokbench.inputs.endings import Fields


@click.command("compare")
@click.argument("a")
@click.argument("b")
@click.argument("files", nargs=-1, type=TEXT)
@click.option("--results", type=click.Path(exists=True, file_okay=False), help="Folder of the experiment.")
@click.option("--limit", default=1000, show_default=True, type=Whole(1), help="Documents encoded at most.")
@click.option(
    "--gap", is_flag=True, help="Prove for the documents how few tokens any vocabulary needs; takes a minute."
)
@click.option("--ngram-bits", is_flag=True, help="Train token n-gram models on every other document, test on the rest.")
@click.option(
    "--train", "training", multiple=True, type=TEXT, metavar="TEXT", help="Train them on this; may be repeated."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@field_options
@reading_options
def command(
    a: str,
    b: str,
    files: tuple[str, ...],
    results: str | None,
    limit: int,
    gap: bool,
    ngram_bits: bool,
    training: tuple[str, ...],
    as_json: bool,
    fields: Fields,
    reading: Reading,
) -> None:
    """Tell which of two tokenizers is better at what, with 95 % intervals: A and B are variants of the experiment
    (VARIANT, or VARIANT/SIZE), folders of tokenizers, or what 'tokbench import' takes. With --results a path begins
    with ./, ../ or /. They are compared at the sizes they share: on the documents of FILES alone; or, without FILES, on
    the evaluation split, and, where an experiment has both, by its tables and its models' answers."""
    if results is None:
        for text in (a, b):
            TOKENIZER.convert(text, None, None)
    from tokbench.commands.comparison import Further, comparison
    from tokbench.report.terminal import comparison_text

    memory.purpose(f"compare {a} with {b}")
    further = Further(gap, ngram_bits or bool(training), training)
    found = comparison(a, b, files, results, limit, fields, reading, further)
    if as_json:
        from tokbench.commands.comparison_json import comparison_json
        from tokbench.plain_json import written

        click.echo(written(comparison_json(found)), nl=False)
        return
    click.echo(
        comparison_text(found.a, found.b, found.parts, found.unequal, found.pretokenizers, found.notes), nl=False
    )
