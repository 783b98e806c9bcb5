"""``tokbench validate``: check a configuration."""

import click

from tokbench.commands.inputs import CONFIGURATION


@click.command("validate")
@click.argument("configuration", type=CONFIGURATION)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Top-level key; may be repeated.")
@click.option("--full", is_flag=True, help="Print the configuration with every default filled in.")
def command(configuration: str, settings: tuple[str, ...], full: bool) -> None:
    """Check CONFIGURATION and say what it would run; mistakes come one a line, each naming its key.

    Recipes that are equal, or that nothing uses, are no mistakes; a note names each.
    """
    from tokbench.commands.arguments import settings_of
    from tokbench.config.load import read
    from tokbench.inputs.yaml import dump_yaml

    experiment = read(configuration, settings_of(settings, "--set"))
    if full:
        click.echo(dump_yaml(experiment.model_dump(mode="json")), nl=False)
        return
    from tokbench.config.notes import notes
    from tokbench.config.unread import files_left_out, files_with_equal_content
    from tokbench.report.wording import counted
    from tokbench.workflow.translation import Translations

    tokenizers = sum(len(experiment.sizes_of(variant)) for variant in experiment.variants)
    models = {
        (model, variant, size)
        for run in experiment.runs
        for model in run.models
        for variant in run.variants
        for size in experiment.sizes_in(run, variant)
    }
    counts = [
        counted(len(experiment.corpora), "corpus", "corpora"),
        counted(len(experiment.variants), "variant"),
        counted(tokenizers, "tokenizer"),
        counted(len(models), "language model"),
    ]
    if translators := len(Translations(experiment).trained):
        counts.append(counted(translators, "translation model"))
    click.echo(f"{configuration}: experiment '{experiment.name}' with {', '.join(counts[:-1])} and {counts[-1]}")
    for line in (*files_left_out(experiment), *files_with_equal_content(experiment)):
        click.echo(line)
    for note in notes(experiment):
        click.echo(f"note: {note}", err=True)
