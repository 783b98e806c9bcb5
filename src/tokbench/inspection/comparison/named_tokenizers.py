"""Tokenizers named on the command line: folders, files of other libraries, and variants of an experiment."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from tokbench.adapters.open import AS_IT_IS, ImportOptions, one_of_several, reject_unused
from tokbench.errors import TokbenchError, joined, nearest, on_one_line
from tokbench.io.json import read_json
from tokbench.io.paths import HUB, is_hub_name

if TYPE_CHECKING:
    from tokbench.tokenizer import Tokenizer

PATHS = ("/", "./", "../")
"""Beginnings of an argument that is a path if an experiment is also given."""


@dataclass(frozen=True)
class NamedTokenizer:
    """A tokenizer at one vocabulary size or several.

    Attributes:
        name: the variant, or the folder's name.
        folders: the tokenizer's folder or file, by nominal vocabulary size.
        results: folder of its experiment; None if it is in none.
        kind: kind of the argument.
        place: the experiment's folder of a variant, as given; the name on the hub with its revision; otherwise the
            path.
    """

    name: str
    folders: Mapping[int, Path]
    results: Path | None
    kind: Literal["variant", "folder", "file", "hub"] = "folder"
    place: str = ""

    @property
    def opened(self) -> str:
        """Source: the experiment of a variant, the name on the hub, or the path."""
        if self.kind == "hub":
            return self.place
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
    return is_hub_name(word) or is_tokenizer(word)


def resolve_target(text: str, results: str | None) -> NamedTokenizer:
    """Return the tokenizer of a name or a path.

    Args:
        text: ``VARIANT`` or ``VARIANT/SIZE`` of the experiment, ``hf:OWNER/NAME`` on the hub, or a path. A path is the
            folder of a tokenizer, or of one at several sizes, an external file, or a folder of ``transformers``. With
            an experiment, a path begins with ``/``, ``./`` or ``../``, so that no folder hides a variant.
        results: folder of the experiment, None if there is none.

    Raises:
        TokbenchError: there is no such tokenizer; the message lists known names.
    """
    from tokbench.tokenizer.folder import OWN

    if is_hub_name(text):
        return _on_hub(text)
    if results is None or text in (".", "..") or text.startswith(PATHS):
        return _at_path(text, results)
    variant, _, size = text.partition("/")
    known = Path(results) / "tokenizers"
    tokenizer = _sized(known / variant / size) or _sized(known / variant)
    if tokenizer is None:
        names = sorted(path.name for path in known.iterdir()) if known.is_dir() else []
        path = f"; for the path write ./{text}" if os.path.exists(text) else ""
        if not names:
            remedy = f"name one, such as results/demo{f', or write ./{text}' if path else ''}"
            raise TokbenchError(f"{results}: not the folder of an experiment (no tokenizers in {known}); {remedy}")
        raise TokbenchError(
            f"{text}: no tokenizer in {known}.{nearest(variant, names)} It has {', '.join(names)}{path}"
        )
    if size not in ("", OWN, *map(str, tokenizer.folders)):
        raise TokbenchError(
            f"{text}: {variant} has the sizes {', '.join(map(str, tokenizer.folders))}; name one of them"
        )
    return replace(tokenizer, kind="variant", place=results)


def _on_hub(text: str) -> NamedTokenizer:
    from tokbench.adapters.hub import hub_folder, hub_name

    name = hub_name(text)
    folder = hub_folder(name)
    place = f"{HUB}{name.repository}@{folder.parent.name}"
    return NamedTokenizer(name.repository, {0: folder}, None, "hub", place)


def _at_path(text: str, results: str | None) -> NamedTokenizer:
    from tokbench.io.paths import is_source

    place = Path(text)
    if os.path.isdir(text) and (tokenizer := _sized(place)):
        return replace(tokenizer, place=text)
    if is_source(text):
        return NamedTokenizer(place.name, {0: place}, None, "file", text)
    if os.path.isfile(text) or (os.path.isdir(text) and _is_external(place)):
        return NamedTokenizer(place.name, {0: place}, None, "file" if os.path.isfile(text) else "folder", text)
    remedy = "name one, or an experiment with --results" if results is None else "name one, or a variant"
    if text.count("/") == 1 and not text.startswith("."):
        remedy += f"; on the hub it is {HUB}{text}"
    raise TokbenchError(f"{text}: not a folder of a tokenizer; {remedy}")


def _is_external(folder: Path) -> bool:
    from tokbench.adapters.forms.transformers import file_in

    return file_in(folder) is not None


def _sized(place: Path) -> NamedTokenizer | None:
    """Return the tokenizer in a folder, or those in its subfolders, which are named by their sizes."""
    from tokbench.tokenizer import SETTINGS
    from tokbench.tokenizer.folder import OWN

    place = place.resolve()
    if (place / OWN / SETTINGS).is_file():
        place = place / OWN
    if place.name == OWN and (place / SETTINGS).is_file():
        return NamedTokenizer(place.parent.name, {_size_of(place): place}, _experiment(place.parent))
    if (place / SETTINGS).is_file():
        size = int(place.name) if place.name.isdecimal() else 0
        return NamedTokenizer(place.parent.name if size else place.name, {size: place}, _experiment(place.parent))
    sizes = sorted(int(path.parent.name) for path in place.glob(f"*/{SETTINGS}") if path.parent.name.isdecimal())
    return (
        NamedTokenizer(place.name, {size: place / str(size) for size in sizes}, _experiment(place)) if sizes else None
    )


def _size_of(folder: Path) -> int:
    """Return the number of its tokens, which is the size of an external tokenizer in tables."""
    from tokbench.tokenizer import SETTINGS

    settings = read_json(folder / SETTINGS, "import the tokenizer again")
    size = settings.get("size") if isinstance(settings, dict) else None
    return size if isinstance(size, int) else 0


def _experiment(variant: Path) -> Path | None:
    """Return the experiment whose tokenizers include a variant's folder, None if there is none."""
    return variant.parents[1] if variant.parent.name == "tokenizers" else None


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


def opened_at_sizes(sides: Iterable[NamedTokenizer], reading: ImportOptions = AS_IT_IS) -> list[Opened]:
    """Return the tokenizers of all names, see :func:`resolve_target`, at each of their sizes.

    Raises:
        TokbenchError: one cannot be read, or options of external files are given, but no such file.
    """
    sides = list(sides)
    reject_unused(reading, [path for side in sides for path in side.folders.values()])
    return [
        Opened(f"{side.name}/{size}" if size else side.name, one_of_several(path, reading), side.opened)
        for side in sides
        for size, path in side.folders.items()
    ]
