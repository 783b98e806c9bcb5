"""``tokbench init``: write what runs the workflow from a folder of one's own."""

from collections.abc import Iterator
from pathlib import Path

import click

from tokbench.atomic import atomic_file
from tokbench.atomic.places import place_of_folder
from tokbench.errors import TokbenchError
from tokbench.workflow.packaged import FILES

SNAKEFILE = """\
# Tokbench's workflow as it is installed, for the experiments of this folder. Say `snakemake --cores 2`, or add
# `--configfile mine.yaml`. Rules of your own may follow below.
from tokbench.workflow.packaged import SNAKEFILE
from tokbench.workflow.run import begin, end

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
    begin(workflow, log)


onsuccess:
    end(workflow)


onerror:
    end(workflow)
"""


@click.command("init")
@click.argument("folder", type=click.Path(file_okay=False))
def command(folder: str) -> None:
    """Write a Snakefile, a configuration and profiles into FOLDER, from which 'snakemake --cores 2' then runs.

    The Snakefile takes its rules from the installed package. The configuration is the demonstration's: change it into
    your experiment. Nothing that stands in the folder is replaced.
    """
    place = place_of_folder(folder)
    contents = {name: text.encode() for name, text in written().items()}
    for name in contents:
        if (place / name).exists():
            raise TokbenchError(f"{Path(folder) / name}: stands here already; name another folder, or move it away")
    for name, content in contents.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(place / name) as partial:
            partial.write_bytes(content)
    click.echo(f"{folder}: {', '.join(contents)}")
    click.echo(
        f"Change {Path(folder) / 'config.yaml'} into your experiment, then say: cd {folder} && snakemake --cores 2"
    )


def written() -> dict[str, str]:
    """The text of every file, by its name in the folder."""
    return {"Snakefile": SNAKEFILE} | {name: (FILES / name).read_text(encoding="utf-8") for name in _copied()}


def _copied() -> Iterator[str]:
    yield "config.yaml"
    for file in sorted((FILES / "profiles").glob("*/config.yaml")):
        yield f"profiles/{file.parent.name}/config.yaml"
