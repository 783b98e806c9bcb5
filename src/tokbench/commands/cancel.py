"""``tokbench cancel``: end what a dead run left behind."""

import click


@click.command("cancel")
@click.argument("results", required=False, type=click.Path(exists=True, file_okay=False))
@click.option("--configfile", type=click.Path(dir_okay=False), help="The experiment's configuration, for RESULTS.")
@click.option("--force", is_flag=True, help="The run is dead, though this machine cannot tell.")
def command(results: str | None, configfile: str | None, force: bool) -> None:
    """End what a run left behind whose snakemake was killed: cancel its jobs on SLURM, unlock its files, and say what
    is left of the experiment in RESULTS, such as results/demo, and how to go on."""
    from tokbench.commands.experiment_folder import experiment_folder
    from tokbench.status.plan import read_plan
    from tokbench.workflow.cancel import cancel

    for line in cancel(read_plan(experiment_folder(results, configfile)), force):
        click.echo(line)
