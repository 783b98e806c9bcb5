"""``tokbench cite``: write what an experiment's methods and data are from."""

import click

from tokbench.commands.inputs import CONFIGURATION
from tokbench.commands.outputs import output_file


@click.command("cite")
@click.argument("configuration", required=False, type=CONFIGURATION)
@click.option("--cited", "keys", metavar="JSON", help="What is cited, as a list, in place of a configuration.")
@output_file(help="File of BibTeX; standard output if left out.")
def command(configuration: str | None, keys: str | None, output: str | None) -> None:
    """Write BibTeX of what the methods, metrics, gold data and corpora of an experiment are from. CONFIGURATION is its
    file, such as config.yaml."""
    from tokbench.citations.cited import cited
    from tokbench.citations.entries import bibliography
    from tokbench.config.experiment import Experiment
    from tokbench.errors import TokbenchError
    from tokbench.inputs.json import parse_json
    from tokbench.inputs.yaml import read_yaml
    from tokbench.options import validated

    if (configuration is None) == (keys is None):
        raise TokbenchError("cite: name the file of a configuration, or give --cited, one of the two")
    if keys is not None:
        remedy = "give a list of keys and entries as JSON"
        found = parse_json(keys, "--cited", remedy=remedy)
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise TokbenchError(f"--cited: not a list of texts; {remedy}")
    else:
        found = cited(validated(read_yaml(str(configuration)), Experiment, str(configuration)))
    text = bibliography(found)
    if output is None:
        click.echo(text, nl=False)
        return
    from tokbench.atomic import atomic_file

    with atomic_file(output) as partial:
        partial.write_text(text, encoding="utf-8")
