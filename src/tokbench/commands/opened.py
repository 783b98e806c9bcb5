"""A tokenizer by the name under which a command line gives it."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.commands.reading import Reading, special_tokens
from tokbench.commands.sides import Side
from tokbench.errors import TokbenchError, unknown
from tokbench.tokenizer import SETTINGS, Tokenizer

if TYPE_CHECKING:
    from tokbench.adapters.forms import ReadOptions

SAY_THEIR_PATTERN = ("tokenizer_json", "tekken", "sentencepiece")
"""Forms whose files say how texts are cut: where several tokenizers are given, a pattern is of the others."""
AS_IT_IS = Reading()


def opened(path: str, reading: Reading = AS_IT_IS) -> Tokenizer:
    """The tokenizer in a folder of ours, or in a file or a folder of another library.

    Args:
        path: the folder or the file.
        reading: what a file does not say.

    Raises:
        TokbenchError: there is none there, or a folder of ours is given with options of files.
    """
    place = Path(path)
    if not place.exists():
        raise TokbenchError(f"{path}: no such file or folder; name that of a tokenizer")
    if reading.form is None and is_ours(place):
        if reading.flags:
            raise TokbenchError(f"{path}: the folder says all of its tokenizer; leave {reading.flags[0]} out")
        return Tokenizer.load(place)
    return _read(place, reading)


def _read(place: Path, reading: Reading) -> Tokenizer:
    from tokbench.adapters.forms import FORMS
    from tokbench.adapters.forms.recognised import form_of
    from tokbench.adapters.forms.transformers import file_in
    from tokbench.adapters.read import read_tokenizer

    if reading.form is None and place.is_dir() and file_in(place) is None:
        return Tokenizer.load(place)  # Which says what is missing.
    form = reading.form or form_of(place)
    if form not in FORMS:
        raise TokbenchError(f"--from: {unknown(form, 'form', FORMS)}")
    return read_tokenizer(place, form, _options(reading))


def _options(reading: Reading) -> "ReadOptions":
    from tokbench.adapters.forms import ReadOptions
    from tokbench.options import validated

    given: dict[str, Any] = {"pattern": reading.pattern, "segmentation": reading.segmentation, "added": reading.added}
    given["special_tokens"] = special_tokens(reading.special)
    return validated({key: value for key, value in given.items() if value is not None}, ReadOptions, "import")


class Opened(NamedTuple):
    """A tokenizer that a name on the command line led to.

    Attributes:
        name: what to call it.
        tokenizer: the tokenizer.
        source: where it was found.
    """

    name: str
    tokenizer: Tokenizer
    source: str


def opened_at_sizes(sides: Iterable[Side], reading: Reading = AS_IT_IS) -> list[Opened]:
    """Return the tokenizers of all names, see :func:`tokbench.commands.sides.side`, at each of their sizes.

    Raises:
        TokbenchError: one cannot be read, or options of files are given where there is none.
    """
    sides = list(sides)
    reject_unused(reading, [path for one in sides for path in one.folders.values()])
    return [
        Opened(f"{one.name}/{size}" if size else one.name, one_of_several(path, reading), one.opened)
        for one in sides
        for size, path in one.folders.items()
    ]


def one_of_several(path: Path, reading: Reading) -> Tokenizer:
    """One of the tokenizers that a command was given, read with those options that are of its kind of file."""
    if is_ours(path):
        return Tokenizer.load(path)
    from tokbench.adapters.forms.recognised import form_of
    from tokbench.adapters.forms.transformers import file_in

    found = file_in(path) if path.is_dir() else None
    form = reading.form or (found[1] if found else form_of(path))
    unsaid = replace(reading, pattern=None) if form in SAY_THEIR_PATTERN else reading
    return opened(str(path), unsaid if form == "tiktoken" else replace(unsaid, special=None))


def is_ours(place: Path) -> bool:
    """Whether a folder holds a tokenizer that was saved here."""
    return (place / SETTINGS).is_file()


def reject_unused(reading: Reading, places: Iterable[Path]) -> None:
    """Reject options of files of other libraries where there is none.

    Raises:
        TokbenchError: there is none, and an option was given.
    """
    if reading.flags and all(map(is_ours, places)):
        raise TokbenchError(f"{reading.flags[0]}: is of files of other libraries, and none is given; leave it out")
