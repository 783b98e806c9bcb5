"""``tokbench trainings``: what the trainings of models took."""

from pathlib import Path

import click

from tokbench.commands.numbers import Real

LEAST_PEAK = 1e-12


@click.command("trainings")
@click.argument("results", type=click.Path(exists=True, file_okay=False))
@click.option(
    "--peak-tflops",
    type=Real(LEAST_PEAK),
    help="TFLOP/s of a device in the trainings' arithmetic, in place of what is known by its name in bfloat16.",
)
@click.option("--csv", "as_csv", is_flag=True, help="As CSV, numbers in full.")
def command(results: str, peak_tflops: float | None, as_csv: bool) -> None:
    """Tell what training the models of the experiment in RESULTS took: tokens a second, MFU, memory and joules."""
    import csv
    import sys

    from tokbench.status.trainings import Training, shown, trainings

    rows = list(trainings(Path(results), peak_tflops))
    if as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerows([Training._fields, *rows])
    else:
        click.echo("\n".join(shown(rows)))
