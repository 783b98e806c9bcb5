"""A folder of ``transformers``: whichever of the other forms is in it. No code of a folder's is ever run."""

from pathlib import Path

from tokbench.adapters.forms import Found, ReadOptions, read_form
from tokbench.adapters.forms.files import named_file
from tokbench.adapters.forms.folder_settings import FolderSettings, folder_settings
from tokbench.errors import TokbenchError, listed
from tokbench.tokenizer_config import names_another_class
from tokbench.tokenizer_folder import SETTINGS

FILES = {
    "tokenizer.json": "tokenizer_json",
    "tekken.json": "tekken",
    "tokenizer.model": "sentencepiece",
    "spiece.model": "sentencepiece",
    "sentencepiece.bpe.model": "sentencepiece",
    "merges.txt": "merges",
}
"""Files by which a folder is read, the first that is there, with their forms."""
OWN = ("tokens.vocab", "adapted")
"""Files of which every tokenizer that Tokbench saved has one."""
RANKS = "tiktoken"
"""Form of a folder that has none of these files, but one file of ranks."""


def read(path: Path, options: ReadOptions, settings: FolderSettings) -> Found:
    """The tokenizer of a folder, with the settings in it.

    Raises:
        TokbenchError: no file in it is known, or it is no folder.
    """
    if not path.is_dir():
        raise TokbenchError(
            f"{path}: no folder of transformers; name one, or a name on the hub with --revision, its full hash"
        )
    found = file_in(path)
    if found is None and (path / SETTINGS).is_file():
        raise TokbenchError(f"{path}: is a tokenizer's folder already; take it as it is")
    if found is None:
        raise TokbenchError(f"{path}: no tokenizer that is known; it has none of {', '.join(FILES)} and *.tiktoken")
    file, form = found
    return read_form(file, form, options, folder_settings(path))


def file_in(folder: Path) -> tuple[Path, str] | None:
    """The file by which a folder is read, and its form; None where there is none.

    Raises:
        TokbenchError: it has several files of ranks, and nothing says which is meant, or it is a folder of ours whose
            settings are missing.
    """
    _check_complete(folder)
    for name, form in FILES.items():
        if file := named_file(folder, name):
            return file, form
    ranks = _ranks(folder)
    if len(ranks) > 1:
        raise TokbenchError(
            f"{folder}: several files of ranks ({listed(file.name for file in ranks)}); name one of them"
        )
    return (ranks[0], RANKS) if ranks else None


def _check_complete(folder: Path) -> None:
    """Reject a folder of ours that lacks its settings: another file in it may be of another tokenizer."""
    own = next((name for name in OWN if (folder / name).is_file()), None)
    if own is not None and not (folder / SETTINGS).exists() and not names_another_class(folder):
        raise TokbenchError(
            f"{folder}: {SETTINGS} is missing next to {own}, a file of a tokenizer that Tokbench saved; restore it, or "
            "name another file in the folder"
        )


def _ranks(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob("*.tiktoken*") if not file.is_dir())
