"""A tokenizer by the name under which a command line gives it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.commands.sides import side
from tokbench.errors import TokbenchError

if TYPE_CHECKING:
    from tokbench.tokenizer import Tokenizer


def opened(path: str) -> "Tokenizer | Any":
    """The tokenizer in a folder.

    What reads the files of other libraries is called here as well; so far no command does.

    Raises:
        TokbenchError: there is no such folder, or no tokenizer in it.
    """
    from tokbench.tokenizer import Tokenizer

    if Path(path).is_file():
        raise TokbenchError(f"{path}: is a file; name the folder of a tokenizer")
    if not Path(path).is_dir():
        raise TokbenchError(f"{path}: no such folder; name that of a tokenizer")
    return Tokenizer.load(path)


def opened_at_sizes(name: str, results: str | None) -> list[tuple[str, Any]]:
    """The tokenizers that a name stands for, see :func:`tokbench.commands.sides.side`, each with what to call it."""
    if Path(name).is_file():
        return [(Path(name).name, opened(name))]
    found = side(name, results)
    return [(f"{found.name}/{size}" if size else found.name, opened(str(path))) for size, path in found.folders.items()]
