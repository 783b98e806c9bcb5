"""Commands that start, check and follow an experiment."""

from collections.abc import Iterator
from pathlib import Path

import click

from tokbench.commands.declaration import command
from tokbench.commands.inputs import CONFIGURATION, TEXT, ResultsFolder, TokenizerPath
from tokbench.commands.outputs import output_file
from tokbench.commands.parameters import Real
from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_file
from tokbench.io.output_place import place_of_folder

SNAKEFILE = """\
# Tokbench's workflow as it is installed, for the experiments of this folder. Say `snakemake --cores 2`, or add
# `--configfile mine.yaml`. Rules of your own may follow below.
from tokbench.workflow.shell import SNAKEFILE
from tokbench.workflow.run import on_end, on_start

if not workflow.configfiles:

    configfile: "config.yaml"


module tokbench:
    snakefile:
        SNAKEFILE
    config:
        config


use rule * from tokbench


# One run at a time in a folder of results, whose plan `tokbench status` reads.
onstart:
    on_start(workflow, log)


onsuccess:
    on_end(workflow)


onerror:
    on_end(workflow)
"""


@command(
    "init",
    "write a Snakefile and a configuration into a folder",
    group="essentials",
    place=100,
    example="tokbench init mystudy",
)
@click.argument("folder", type=click.Path(file_okay=False))
@click.argument("files", nargs=-1, type=TokenizerPath())
@click.option("--existing", is_flag=True, help="Compare the tokenizers FILES on the texts of --text.")
@click.option("--text", "texts", multiple=True, type=TEXT, help="File or folder of texts; may be repeated.")
def init_command(folder: str, files: tuple[str, ...], existing: bool, texts: tuple[str, ...]) -> None:
    """Write a Snakefile, a configuration and profiles into FOLDER. Then run 'snakemake --cores 2' there.

    The Snakefile uses the rules of the installed package. The configuration is that of the demo; edit it. With
    'tokbench init FOLDER --existing FILES --text FILE', it compares the tokenizers FILES. Existing files are never
    overwritten.
    """
    if (existing or files or texts) and not (existing and files and texts):
        raise TokbenchError("--existing needs files of tokenizers, and a text: --existing FILES --text FILE")
    from tokbench.config.existing import settings_to_add

    place = place_of_folder(folder)
    contents = {name: text.encode() for name, text in written().items()}
    if existing:
        contents["config.yaml"] = configured(files, texts, place).encode()
    for name in contents:
        if (place / name).exists():
            raise TokbenchError(f"{Path(folder) / name}: already exists; name another folder, or move it away")
    for name, content in contents.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(place / name) as partial:
            partial.write_bytes(content)
    click.echo(f"{folder}: {', '.join(contents)}")
    run = f"cd {folder} && snakemake --cores 2"
    configuration = Path(folder) / "config.yaml"
    if not existing:
        click.echo(f"Edit {configuration} for your experiment, then run: {run}")
        return
    lacking = settings_to_add(files)
    for line in lacking:
        click.echo(f"{configuration}: {line}")
    click.echo(f"Edit {configuration}, then run: {run}" if lacking else f"Run: {run}")


def configured(tokenizers: tuple[str, ...], texts: tuple[str, ...], place: Path) -> str:
    """Return a configuration that compares tokenizers on texts, as YAML."""
    from tokbench.config.existing import existing_configuration
    from tokbench.io.yaml import dump_yaml

    head = "# Existing tokenizers, compared on the texts below. Paths are relative to this folder.\n"
    return head + dump_yaml(existing_configuration(tokenizers, texts, place))


def written() -> dict[str, str]:
    """Return the content of every file, by its name in the folder."""
    from tokbench.workflow.shell import FILES

    return {"Snakefile": SNAKEFILE} | {name: (FILES / name).read_text(encoding="utf-8") for name in _copied()}


def _copied() -> Iterator[str]:
    from tokbench.workflow.shell import FILES

    yield "config.yaml"
    for file in sorted((FILES / "profiles").glob("*/config.yaml")):
        yield f"profiles/{file.parent.name}/config.yaml"


@command(
    "validate",
    "check a configuration and list its errors",
    group="essentials",
    place=110,
    example="tokbench validate mystudy/config.yaml",
)
@click.argument("configurations", nargs=-1, required=True, metavar="CONFIGURATION...", type=CONFIGURATION)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Top-level key; may be repeated.")
@click.option("--full", is_flag=True, help="Print the configuration with every default filled in.")
def validate_command(configurations: tuple[str, ...], settings: tuple[str, ...], full: bool) -> None:
    """Check CONFIGURATION and print the size of the experiment. Errors are one line each and name the key.

    Later files override earlier ones, as those of 'snakemake --configfile' do. Equal or unused recipes are notes, not
    errors. So are paths that the command line of a run gives, and files that 'tokbench download tokenizers' makes.
    """
    from tokbench.commands.recipes import settings_of
    from tokbench.config.load import validate_but_paths
    from tokbench.io.yaml import dump_yaml

    experiment, missing = validate_but_paths(configurations, settings_of(settings, "--set"))
    if full:
        click.echo(dump_yaml(experiment.model_dump(mode="json")), nl=False)
        return
    from tokbench.config.load import files_left_out, files_with_equal_content, notes
    from tokbench.report.wording import pluralise
    from tokbench.workflow.models import Translations

    # What the experiment has.
    tokenizers = sum(len(experiment.sizes_of(variant)) for variant in experiment.variants)
    models = {
        (model, variant, size)
        for run in experiment.runs
        for model in run.models
        for variant in run.variants
        for size in experiment.sizes_in(run, variant)
    }
    counts = [
        pluralise(len(experiment.corpora), "corpus", "corpora"),
        pluralise(len(experiment.variants), "variant"),
        pluralise(tokenizers, "tokenizer"),
        pluralise(len(models), "language model"),
    ]
    if translators := len(Translations(experiment).entries):
        counts.append(pluralise(translators, "translation model"))
    click.echo(
        f"{' '.join(configurations)}: experiment '{experiment.name}' with {', '.join(counts[:-1])} and {counts[-1]}"
    )
    # What its files may not be meant to be.
    for line in (*files_left_out(experiment), *files_with_equal_content(experiment)):
        click.echo(line)
    for note in notes(experiment):
        click.echo(f"note: {note}", err=True)
    if missing:
        for making in dict.fromkeys(mistake.command for mistake in missing if mistake.command):
            click.echo(f"note: files of tokenizers are missing; make them with {making}", err=True)
        given = [mistake.setting for mistake in missing if not mistake.command]
    if missing and given:
        run, check = (" ".join(f"{option}{setting}" for setting in given) for option in ("", "--set "))
        click.echo(f"note: paths are missing; run snakemake with --config {run}, and check them with {check}", err=True)


def experiment_folder(results: str | None, configfile: str | None) -> str:
    """Return the folder of an experiment; default: that of ``config.yaml``, as in the workflow.

    Raises:
        TokbenchError: both are given, or neither and there is no ``config.yaml``.
    """
    if results is not None:
        if configfile is not None:
            raise TokbenchError("RESULTS, --configfile: both name the experiment's folder; leave one out")
        return results
    if configfile is None and not Path("config.yaml").exists():
        raise TokbenchError(
            "RESULTS: missing, and there is no config.yaml here; name the folder of an experiment, such as results/demo"
        )

    from tokbench.config.load import read_all

    return str(read_all([configfile or "config.yaml"], {}).folder)


@command(
    "status",
    "show the progress of an experiment",
    group="essentials",
    place=120,
    example="tokbench status results/demo",
)
@click.argument("results", required=False, type=ResultsFolder())
@click.option(
    "--configfile", type=click.Path(dir_okay=False), help="Configuration of the experiment, instead of RESULTS."
)
@click.option("--jobs", is_flag=True, help="List every job.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status_command(results: str | None, configfile: str | None, jobs: bool, as_json: bool) -> None:
    """Show the progress of the experiment in RESULTS, such as results/demo: jobs done, running, failed and missing,
    time by stage, and work left. It reads only the files of the last run.
    """
    from tokbench.workflow.job_states import read_plan
    from tokbench.workflow.status import build_overview

    seen = build_overview(read_plan(experiment_folder(results, configfile)))
    if as_json:
        import json

        from tokbench.workflow.status import as_json as plain

        click.echo(json.dumps(plain(seen), indent=1))
        return
    from tokbench.workflow.status_output import overview_text

    click.echo(overview_text(seen, complete=jobs), nl=False)


LEAST_PEAK = 1e-12


@command("trainings", "show the cost of each training", group="extras", place=50)
@click.argument("results", type=ResultsFolder())
@click.option(
    "--peak-tflops",
    type=Real(LEAST_PEAK),
    help="Peak TFLOP/s of a device in the precision of the training; default: bfloat16, by the device's name.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV with all digits.")
def trainings_command(results: str, peak_tflops: float | None, as_csv: bool) -> None:
    """Show the cost of each model's training in the experiment RESULTS: tokens per second, MFU, memory and joules."""
    import csv
    import sys

    from tokbench.workflow.trainings import Training, trainings, trainings_text

    rows = list(trainings(Path(results), peak_tflops))
    if as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerows([Training._fields, *rows])
    else:
        click.echo("\n".join(trainings_text(rows)))


@command("cancel", "clean up after a run that was killed", group="extras", place=60)
@click.argument("results", required=False, type=ResultsFolder())
@click.option(
    "--configfile", type=click.Path(dir_okay=False), help="Configuration of the experiment, instead of RESULTS."
)
@click.option("--force", is_flag=True, help="Assume that the run is dead, if this machine cannot find out.")
def cancel_command(results: str | None, configfile: str | None, force: bool) -> None:
    """Clean up after a Snakemake process that was killed: cancel its SLURM jobs and unlock its files.

    It then prints the work left of the experiment in RESULTS, such as results/demo, and how to resume.
    """
    from tokbench.workflow.cancel import cancel
    from tokbench.workflow.job_states import read_plan

    for line in cancel(read_plan(experiment_folder(results, configfile)), force):
        click.echo(line)


@command("write_experiment", "write the configuration for the last stages", group="stages", place=355)
@click.option("--settings", required=True, help="Part of the configuration that a stage reads, as JSON.")
@output_file(required=True, help="JSON file.")
def write_experiment_command(settings: str, output: str) -> None:
    """Write the part of a validated configuration that one of the last stages reads."""
    from tokbench.io.json import parse_json, write_result

    write_result(output, parse_json(settings, "--settings", remedy="pass one JSON object"))
