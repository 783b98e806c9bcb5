"""What a folder holds already when a tokenizer is saved into it."""

import json
from pathlib import Path

from tokbench.errors import TokbenchError
from tokbench.tokenizer_config import CONFIGURATION, names_another_class
from tokbench.vocabulary import VOCABULARY_FILES

EXPORTED = "tokenizer.json"
OF_TRANSFORMERS = ("added_tokens.json", "special_tokens_map.json")
"""What ``save_pretrained`` writes beside our files; both hold ids or names of the tokenizer that was saved."""


def files_to_remove(before: Path, configuration: bool) -> list[str]:
    """Files of the tokenizer that was saved in a folder before; those of them that are not written again must go.

    Args:
        before: the file of the settings in that folder, if there is one.
        configuration: whether the file by which ``transformers`` finds our class is written too.

    Raises:
        TokbenchError: files of those names stand there and belong to no tokenizer of ours.
    """
    folder = before.parent
    if not before.is_file():
        for name in VOCABULARY_FILES:
            if (folder / name).exists():
                raise TokbenchError(f"{folder / name}: belongs to no saved tokenizer; save into another folder")
    if configuration and names_another_class(folder):
        raise TokbenchError(f"{folder / CONFIGURATION}: belongs to another tokenizer; save into another folder")
    return [*VOCABULARY_FILES, "adapted", *(OF_TRANSFORMERS if configuration and before.is_file() else ())]


def outdated_export(before: Path, after: Path) -> list[str]:
    """``tokenizer.json``, where it was exported of a tokenizer that gives other ids.

    Args:
        before: the file of the settings in the folder that is saved into, if there is one.
        after: the folder in which the tokenizer's files are written.
    """
    try:
        older, newer = (json.loads(file.read_text(encoding="utf-8")) for file in (before, after / before.name))
        ours = str(older["origin"]["hugging_face"]).startswith(EXPORTED)
        same = all(older[key] == newer[key] for key in ("pretokenization", "segmentation"))
    except (OSError, ValueError, TypeError, KeyError):
        return []
    same = same and all(_content(before.parent / name) == _content(after / name) for name in VOCABULARY_FILES)
    return [EXPORTED] if ours and not same else []


def _content(file: Path) -> bytes | None:
    return file.read_bytes() if file.is_file() else None
