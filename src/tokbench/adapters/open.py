"""Opening of tokenizers: folders of Tokbench, and files of other libraries with the settings that these lack."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokbench.errors import TokbenchError

if TYPE_CHECKING:
    from tokbench.tokenizer import Tokenizer

SAY_THEIR_PATTERN = ("tokenizer_json", "tekken", "sentencepiece", "wordpiece")
"""Forms whose files contain a pattern: of several tokenizers, ``--pattern`` applies to the others."""

GUESSED = ("merges", "python")
"""Forms whose errors depend on whether the form was named."""


@dataclass(frozen=True)
class ImportOptions:
    """Settings that a tokenizer's file may lack; None if not given.

    Attributes:
        form: its form; default: detected from its content.
        pattern: pre-tokenization.
        segmentation: segmentation instead of the form's.
        added: which added tokens are tokens.
        special: special tokens of a file of ranks, with their ids.
        check: compare the ids of files with those of their library again; default: the user's cache has the result.
    """

    form: str | None = None
    pattern: str | None = None
    segmentation: str | None = None
    added: str | None = None
    special: Mapping[str, int] | None = None
    check: bool | None = None

    @property
    def flags(self) -> list[str]:
        """Flags of the options that are given."""
        given = [field.name for field in fields(self) if getattr(self, field.name) is not None]
        return ["--from" if name == "form" else f"--{name}" for name in given]


AS_IT_IS = ImportOptions()


def open_tokenizer(path: str, reading: ImportOptions = AS_IT_IS) -> "Tokenizer":
    """Open the tokenizer in a folder of Tokbench, or in a file or a folder of another library.

    Args:
        path: the folder or the file.
        reading: settings that a file may lack.

    Raises:
        TokbenchError: there is no tokenizer, or options are given for a folder of Tokbench.
    """
    from tokbench.tokenizer import Tokenizer

    if not reading.flags and is_ours(Path(path)):
        return Tokenizer.load(path)  # Without the readers of other files, whose import takes longer.
    from tokbench.adapters import read

    options: dict[str, object] = {
        "pattern": reading.pattern,
        "segmentation": reading.segmentation,
        "added": reading.added,
    }
    options |= {"special_tokens": reading.special}
    return read.open_tokenizer(path, reading.form, options, again=bool(reading.check))


def one_of_several(path: Path, reading: ImportOptions) -> "Tokenizer":
    """Open one of several tokenizers, with those options that apply to its kind of file."""
    from tokbench.tokenizer import Tokenizer

    if is_ours(path):
        return Tokenizer.load(path)
    from tokbench.adapters.forms.transformers import detect_format, file_in

    file = file_in(path) if path.is_dir() else None
    form = reading.form or (file[1] if file else detect_format(path))
    unsaid = replace(reading, pattern=None) if form in SAY_THEIR_PATTERN else reading
    if path.is_file() and form not in GUESSED:
        unsaid = replace(unsaid, form=form)  # The content is not read again.
    return open_tokenizer(str(path), unsaid if form == "tiktoken" else replace(unsaid, special=None))


def is_ours(place: Path) -> bool:
    """Return whether a folder contains a tokenizer saved by Tokbench."""
    from tokbench.tokenizer import SETTINGS

    return os.path.isfile(place / SETTINGS)


def reject_unused(reading: ImportOptions, places: Iterable[Path]) -> None:
    """Reject options of external files if no such file is given.

    Raises:
        TokbenchError: all tokenizers are folders of Tokbench, and an option is given.
    """
    if reading.flags and all(map(is_ours, places)):
        raise TokbenchError(f"{reading.flags[0]}: applies to external files, and none is given; leave it out")
