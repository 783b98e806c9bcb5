"""``tokbench price``: costs of an experiment's tokenizers at a target model."""

from pathlib import Path

import click

from tokbench.commands.declaration import command
from tokbench.commands.inputs import ResultsFolder
from tokbench.commands.parameters import OUTPUT_FORMAT
from tokbench.runtime import exit_status


@command("price", "price tokenizers at a large model", group="extras", place=45)
@click.argument("results", type=ResultsFolder())
@click.option(
    "--target", "targets", multiple=True, metavar="NAME|FILE",
    help="Target of the configuration, or YAML file of one; may be repeated. Default: all of the configuration.",
)  # fmt: skip
@OUTPUT_FORMAT
def price_command(results: str, targets: tuple[str, ...], output_format: str) -> None:
    """Show what the tokenizers of the experiment RESULTS cost in training and serving a large target model, per byte of
    text, and their bits per byte at equal total cost.

    Nothing is trained. Arithmetic and memory are computed by formula. Bits per byte are read off the fitted lines of
    the experiment's models, which must differ in text or in size. A file of a target has the keys of 'targets' in a
    configuration, such as d_model, n_layers and serving_tokens_per_training_token.
    """
    from tokbench.inspection.pricing import price_results, prices_output

    exit_status.describe_task(f"price {results}")
    click.echo(prices_output(price_results(Path(results), targets), output_format), nl=False)
