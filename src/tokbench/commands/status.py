"""``tokbench status``: tell how far an experiment is."""

import click


@click.command("status")
@click.argument("results", required=False, type=click.Path(exists=True, file_okay=False))
@click.option("--configfile", type=click.Path(dir_okay=False), help="The experiment's configuration, for RESULTS.")
@click.option("--jobs", is_flag=True, help="List every job.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(results: str | None, configfile: str | None, jobs: bool, as_json: bool) -> None:
    """Tell how far an experiment is: what of its last run's plan is done, running, failed and missing, how long each
    stage took and what is left, from the files in RESULTS alone, such as results/demo."""
    from tokbench.commands.experiment_folder import experiment_folder
    from tokbench.status.overview import overview
    from tokbench.status.plan import read_plan

    seen = overview(read_plan(experiment_folder(results, configfile)))
    if as_json:
        import json

        from tokbench.status.overview import as_json as plain

        click.echo(json.dumps(plain(seen), indent=1))
        return
    from tokbench.status.terminal import overview_text

    click.echo(overview_text(seen, every=jobs), nl=False)
