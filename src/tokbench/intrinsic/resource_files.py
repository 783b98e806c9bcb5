"""The files of a resource: those that a configuration names, or those of its type in a folder."""

import glob
from pathlib import Path

from tokbench.errors import TokbenchError
from tokbench.resource import ResourceOptions, resource_types


def resource_files(kind: str, options: ResourceOptions) -> list[tuple[str, Path]]:
    """The files of a resource with their language tags, empty where the configuration gives none.

    Args:
        kind: type of the resource.
        options: its options.

    Raises:
        TokbenchError: an entry matches no file.
    """
    tagged = options.path if isinstance(options.path, dict) else {"": options.path}
    return [(tag, file) for tag, entries in tagged.items() for entry in entries for file in _matching(entry, kind)]


def _matching(entry: str, kind: str) -> list[Path]:
    path = Path(entry)
    pattern = resource_types[kind].files
    if path.is_dir():
        found = sorted(file for file in path.rglob(pattern) if file.is_file())
        if not found:
            raise TokbenchError(f"no file '{pattern}' in the folder '{entry}'; name the files of the resource")
        return found
    found = [path] if path.is_file() else sorted(file for file in map(Path, glob.glob(entry)) if file.is_file())
    if not found:
        raise TokbenchError(f"no file at '{entry}'; name an existing file, folder or pattern")
    return found
