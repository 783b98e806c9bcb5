"""``tokbench methods``: list methods of every kind and types of resources, with their options."""

import shutil

import click


@click.command("methods")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.argument("names", nargs=-1)
def command(as_json: bool, names: tuple[str, ...]) -> None:
    """List constructions, segmentations, pre-tokenizations, metrics and types of resource, or only NAMES.

    Each comes with its options and their defaults.
    """
    from tokbench.commands.method_listing import as_json_text, as_text, methods_named

    methods = methods_named(names)
    if as_json:
        click.echo(as_json_text(methods))
        return
    for kind, text in as_text(methods, width=min(shutil.get_terminal_size().columns, 110)):
        click.secho(f"{kind}s".capitalize(), bold=True)
        click.echo(f"{text}\n")
