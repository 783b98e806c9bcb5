"""Tokenizers named on the command line: folders, files of other libraries, and variants of an experiment.

The module also has the options of commands that read external files, and the two sides of ``tokbench compare``.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from tokbench.errors import TokbenchError, joined, nearest, on_one_line, shortened
from tokbench.io.json import read_json

if TYPE_CHECKING:
    from tokbench.tokenizer import Tokenizer


ADDED = ("words", "text", "tokens")
SPECIAL = "Special token and id, for tiktoken rank files; may be repeated."
Sizes = Sequence[tuple[int, int]]
"""Pairs of vocabulary sizes of a and b to compare."""
PATHS = ("/", "./", "../")
"""Beginnings of an argument that is a path if an experiment is also given."""
SAY_THEIR_PATTERN = ("tokenizer_json", "tekken", "sentencepiece", "wordpiece")
"""Forms whose files contain a pattern: of several tokenizers, ``--pattern`` applies to the others."""


@dataclass(frozen=True)
class ImportOptions:
    """Settings that a tokenizer's file may lack; None if not given.

    Attributes:
        form: its form; default: detected from its content.
        pattern: pre-tokenization.
        segmentation: segmentation instead of the form's.
        added: which added tokens are tokens.
        special: special tokens of a file of ranks, as on the command line.
    """

    form: str | None = None
    pattern: str | None = None
    segmentation: str | None = None
    added: str | None = None
    special: tuple[str, ...] | None = None

    @property
    def flags(self) -> list[str]:
        """Flags of the options that are given."""
        given = [field.name for field in fields(self) if getattr(self, field.name) is not None]
        return ["--from" if name == "form" else f"--{name}" for name in given]


def names_in(*places: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return the shell completion of names in registries or mappings, ``module:attribute``, imported when called."""

    def complete(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
        found = [getattr(import_module(module), name) for module, name in (place.split(":") for place in places)]
        return sorted({name for names in found for name in names if name.startswith(typed)})

    return complete


FORM_NAMES = names_in("tokbench.adapters.forms:FORMS")
PATTERN_NAMES = names_in("tokbench.pretokenization:schemes")
SEGMENTATION_NAMES = names_in("tokbench.segmentation:segmentations")


def reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of :class:`ImportOptions` to a command, as its argument ``reading``."""

    @wraps(command)
    def bundled(*args: Any, **given: Any) -> None:
        chosen = {field.name: given.pop(field.name) or None for field in fields(ImportOptions)}
        command(*args, reading=ImportOptions(**chosen), **given)

    options = (
        click.option(
            "--from",
            "form",
            metavar="FORM",
            shell_complete=FORM_NAMES,
            help="Format of an external tokenizer; default: detected from its content.",
        ),
        click.option(
            "--pattern",
            shell_complete=PATTERN_NAMES,
            help="Pre-tokenizer name or regular expression, if the file does not include one.",
        ),
        click.option(
            "--segmentation",
            shell_complete=SEGMENTATION_NAMES,
            help="Segmentation; default: that of the format. Required for the format 'tokens'.",
        ),
        click.option(
            "--added",
            type=click.Choice(ADDED),
            help="Added tokens to recognise in texts: all but special ones (words, default), none (text) or all.",
        ),
        click.option("--special", multiple=True, metavar="NAME=ID", help=SPECIAL),
    )
    found: Callable[..., None] = bundled
    for option in reversed(options):
        found = option(found)
    return found


def special_tokens(given: tuple[str, ...] | None) -> dict[str, int] | None:
    """Parse special tokens with their ids, each ``NAME=ID``; None if there are none.

    Raises:
        TokbenchError: one is not of this form, or a name has two ids.
    """
    from tokbench.io.numbers import LARGEST_VOCABULARY, whole_number

    found: dict[str, int] = {}
    for one in given or ():
        name, _, number = one.rpartition("=")
        try:
            known = found.setdefault(name, value := whole_number(number, 0, LARGEST_VOCABULARY - 1))
        except ValueError as error:
            raise TokbenchError(f"--special {shortened(one)}: {error}; pass NAME=ID, as in '<|end|>=100257'") from None
        if not name or known != value:
            why = f"'{shortened(name)}' has the ids {known} and {value}" if name else "it has no name"
            raise TokbenchError(f"--special {shortened(one)}: {why}; pass NAME=ID, each name once")
    return found or None


@dataclass(frozen=True)
class ComparedTokenizer:
    """One of two tokenizers, at one vocabulary size or several.

    Attributes:
        name: the variant, or the folder's name.
        folders: the tokenizer's folder or file, by nominal vocabulary size.
        results: folder of its experiment; None if it is in none.
        kind: kind of the argument.
        place: the experiment's folder of a variant, as given; otherwise the path.
    """

    name: str
    folders: Mapping[int, Path]
    results: Path | None
    kind: Literal["variant", "folder", "file"] = "folder"
    place: str = ""

    @property
    def opened(self) -> str:
        """Source: the experiment of a variant, or the path."""
        return on_one_line(f"variant of {self.place}" if self.kind == "variant" else f"{self.kind} {self.place}")

    def tokens(self, size: int) -> int | None:
        """Return the number of its tokens at a size; None for an external file, which does not contain it."""
        from tokbench.tokenizer import SETTINGS

        folder = self.folders[size]
        return _size_of(folder) if (folder / SETTINGS).is_file() else None

    def described(self, sizes: Sequence[int]) -> str:
        """Return its source, with the sizes that are used, or the number of its tokens if it has one size."""
        if named := [f"{size:,}" for size in sizes if size]:
            return f"{self.opened}, {'size' if len(named) == 1 else 'sizes'} {joined(named)}"
        tokens = self.tokens(sizes[0]) if sizes else None
        return self.opened if tokens is None else f"{self.opened}, {tokens:,} tokens"


def separate(words: Sequence[str], results: str | None) -> tuple[list[str], list[str]]:
    """Separate the tokenizers at the beginning of a command line from the texts after them, by content.

    Args:
        words: arguments. The first two are tokenizers, so that two files that may also be texts can be compared.
        results: folder of the experiment whose variants are tokenizers, None if there is none.

    Returns:
        The first two arguments and the tokenizers that follow them; and the others.

    Raises:
        TokbenchError: there are fewer than two arguments, or a text is before a tokenizer.
    """
    if len(words) < 2:
        raise TokbenchError("compare: fewer than two tokenizers; name two or more, then files of text")
    tokenizers = 2 + sum(1 for _ in takewhile(lambda word: is_named(word, results), words[2:]))
    for word in words[tokenizers:]:
        if is_named(word, results):
            raise TokbenchError(f"{word}: a tokenizer after the text {words[tokenizers]}; name all tokenizers first")
    return list(words[:tokenizers]), list(words[tokenizers:])


def is_named(word: str, results: str | None) -> bool:
    """Return whether an argument is a tokenizer that cannot be a text, or a variant of an experiment."""
    from tokbench.io.contents import is_tokenizer

    if results is not None and not word.startswith(PATHS):
        variant, _, size = word.partition("/")
        known = Path(results) / "tokenizers" / variant
        if _sized(known / size) or _sized(known):
            return True
    return is_tokenizer(word)


def resolve_target(text: str, results: str | None) -> ComparedTokenizer:
    """Return the tokenizer of a name or a path.

    Args:
        text: ``VARIANT`` or ``VARIANT/SIZE`` of the experiment, or a path. A path is the folder of a tokenizer, or of
            one at several sizes, an external file, or a folder of ``transformers``. With an experiment, a path begins
            with ``/``, ``./`` or ``../``, so that no folder hides a variant.
        results: folder of the experiment, None if there is none.

    Raises:
        TokbenchError: there is no such tokenizer; the message lists known names.
    """
    from tokbench.tokenizer.folder import OWN

    if results is None or text in (".", "..") or text.startswith(PATHS):
        return _at_path(text, results)
    variant, _, size = text.partition("/")
    known = Path(results) / "tokenizers"
    found = _sized(known / variant / size) or _sized(known / variant)
    if found is None:
        names = sorted(path.name for path in known.iterdir()) if known.is_dir() else []
        path = f"; for the path write ./{text}" if os.path.exists(text) else ""
        if not names:
            remedy = f"name one, such as results/demo{f', or write ./{text}' if path else ''}"
            raise TokbenchError(f"{results}: not the folder of an experiment (no tokenizers in {known}); {remedy}")
        raise TokbenchError(
            f"{text}: no tokenizer in {known}.{nearest(variant, names)} It has {', '.join(names)}{path}"
        )
    if size not in ("", OWN, *map(str, found.folders)):
        raise TokbenchError(f"{text}: {variant} has the sizes {', '.join(map(str, found.folders))}; name one of them")
    return replace(found, kind="variant", place=results)


def _at_path(text: str, results: str | None) -> ComparedTokenizer:
    from tokbench.io.paths import is_source

    place = Path(text)
    if os.path.isdir(text) and (found := _sized(place)):
        return replace(found, place=text)
    if is_source(text):
        return ComparedTokenizer(place.name, {0: place}, None, "file", text)
    if os.path.isfile(text) or (os.path.isdir(text) and _is_external(place)):
        return ComparedTokenizer(place.name, {0: place}, None, "file" if os.path.isfile(text) else "folder", text)
    remedy = "name one, or an experiment with --results" if results is None else "name one, or a variant"
    raise TokbenchError(f"{text}: not a folder of a tokenizer; {remedy}")


def _is_external(folder: Path) -> bool:
    from tokbench.adapters.forms.transformers import file_in

    return file_in(folder) is not None


def _sized(place: Path) -> ComparedTokenizer | None:
    """Return the tokenizer in a folder, or those in its subfolders, which are named by their sizes."""
    from tokbench.tokenizer import SETTINGS
    from tokbench.tokenizer.folder import OWN

    place = place.resolve()
    if (place / OWN / SETTINGS).is_file():
        place = place / OWN
    if place.name == OWN and (place / SETTINGS).is_file():
        return ComparedTokenizer(place.parent.name, {_size_of(place): place}, _experiment(place.parent))
    if (place / SETTINGS).is_file():
        size = int(place.name) if place.name.isdecimal() else 0
        return ComparedTokenizer(place.parent.name if size else place.name, {size: place}, _experiment(place.parent))
    sizes = sorted(int(path.parent.name) for path in place.glob(f"*/{SETTINGS}") if path.parent.name.isdecimal())
    return (
        ComparedTokenizer(place.name, {size: place / str(size) for size in sizes}, _experiment(place))
        if sizes
        else None
    )


def _size_of(folder: Path) -> int:
    """Return the number of its tokens, which is the size of an external tokenizer in tables."""
    from tokbench.tokenizer import SETTINGS

    found = read_json(folder / SETTINGS, "import the tokenizer again")
    size = found.get("size") if isinstance(found, dict) else None
    return size if isinstance(size, int) else 0


def _experiment(variant: Path) -> Path | None:
    """Return the experiment whose tokenizers include a variant's folder, None if there is none."""
    return variant.parents[1] if variant.parent.name == "tokenizers" else None


def matched(a: ComparedTokenizer, b: ComparedTokenizer) -> list[tuple[int, int]]:
    """Return the sizes of a and b to compare: those that both have, or the single size of each.

    Raises:
        TokbenchError: they share none, or are the same tokenizer.
    """
    shared = sorted(a.folders.keys() & b.folders.keys())
    if shared and all(a.folders[size] == b.folders[size] for size in shared):
        raise TokbenchError(f"{a.name} and {b.name} are the same tokenizer; name another")
    if shared:
        return [(size, size) for size in shared]
    if len(a.folders) == len(b.folders) == 1:
        return [(next(iter(a.folders)), next(iter(b.folders)))]
    message = " and ".join(f"{one.name} has {', '.join(map(str, one.folders))}" for one in (a, b))
    raise TokbenchError(f"no vocabulary size in common: {message}; name one size of each, as in {a.name}/SIZE")


def unequal(a: ComparedTokenizer, b: ComparedTokenizer, sizes: Sizes) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the sizes of a and b at which their numbers of tokens differ, with these numbers.

    Two tokenizers of one nominal size may differ, since a text may yield fewer tokens than requested. External files
    are excluded, as they do not contain the number.
    """
    tokens = {(one, other): (a.tokens(one), b.tokens(other)) for one, other in sizes}
    return {
        pair: (of_a, of_b)
        for pair, (of_a, of_b) in tokens.items()
        if of_a is not None and of_b is not None and of_a != of_b
    }


def distinct(a: ComparedTokenizer, b: ComparedTokenizer) -> tuple[str, str]:
    """Return labels of the two: their names, with sizes or full paths if the names are equal."""
    if a.name != b.name:
        return a.name, b.name
    sized = tuple(f"{one.name}/{next(iter(one.folders))}" for one in (a, b))
    full = tuple(str(next(iter(one.folders.values()))) for one in (a, b))
    first, second = sized if sized[0] != sized[1] else full
    return first, second


def size_label(size_a: int, size_b: int) -> str:
    """Return the label of a comparison at a size of a and one of b; 0 is a tokenizer without a size."""
    if not size_a or not size_b:
        return "tokens"
    return f"{size_a:,}" if size_a == size_b else f"{size_a:,} against {size_b:,}"


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

    options = {"pattern": reading.pattern, "segmentation": reading.segmentation, "added": reading.added}
    return read.open_tokenizer(path, reading.form, {**options, "special_tokens": special_tokens(reading.special)})


class Opened(NamedTuple):
    """A tokenizer named on the command line.

    Attributes:
        name: label of the tokenizer.
        tokenizer: the tokenizer.
        source: the experiment of a variant, or the path.
    """

    name: str
    tokenizer: "Tokenizer"
    source: str


def opened_at_sizes(sides: Iterable[ComparedTokenizer], reading: ImportOptions = AS_IT_IS) -> list[Opened]:
    """Return the tokenizers of all names, see :func:`tokbench.adapters.open.resolve_target`, at each of their sizes.

    Raises:
        TokbenchError: one cannot be read, or options of external files are given, but no such file.
    """
    sides = list(sides)
    reject_unused(reading, [path for one in sides for path in one.folders.values()])
    return [
        Opened(f"{one.name}/{size}" if size else one.name, one_of_several(path, reading), one.opened)
        for one in sides
        for size, path in one.folders.items()
    ]


def one_of_several(path: Path, reading: ImportOptions) -> "Tokenizer":
    """Open one of several tokenizers, with those options that apply to its kind of file."""
    from tokbench.tokenizer import Tokenizer

    if is_ours(path):
        return Tokenizer.load(path)
    from tokbench.adapters.forms.transformers import detect_format, file_in

    found = file_in(path) if path.is_dir() else None
    form = reading.form or (found[1] if found else detect_format(path))
    unsaid = replace(reading, pattern=None) if form in SAY_THEIR_PATTERN else reading
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
