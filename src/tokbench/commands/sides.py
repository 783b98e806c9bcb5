"""The two sides of ``tokbench compare``: variants of an experiment, or tokenizers' folders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tokbench.errors import TokbenchError, nearest, on_one_line
from tokbench.inputs.json import read_json
from tokbench.report.wording import listed
from tokbench.tokenizer import SETTINGS
from tokbench.tokenizer_folder import OWN

Sizes = Sequence[tuple[int, int]]
"""Vocabulary sizes of a and of b that are compared."""
PATHS = ("/", "./", "../")
"""Beginnings of an argument that is a path where an experiment is named too."""


@dataclass(frozen=True)
class Side:
    """One of two tokenizers, at one vocabulary size or several.

    Attributes:
        name: the variant, or the folder's name.
        folders: the tokenizer's folder, by vocabulary size as asked for.
        results: folder of the experiment that it belongs to; None for a tokenizer by itself.
        kind: what the argument named.
        place: the experiment's folder of a variant, as it was given; else the path.
    """

    name: str
    folders: Mapping[int, Path]
    results: Path | None
    kind: Literal["variant", "folder", "file"] = "folder"
    place: str = ""

    @property
    def opened(self) -> str:
        """Where it was found: the experiment of a variant, or the path."""
        return on_one_line(f"variant of {self.place}" if self.kind == "variant" else f"{self.kind} {self.place}")

    def tokens(self, size: int) -> int | None:
        """Return the number of its tokens at a size; None for a file of another library, which does not say."""
        folder = self.folders[size]
        return _size_of(folder) if (folder / SETTINGS).is_file() else None

    def described(self, sizes: Sequence[int]) -> str:
        """Return where it was found, with the sizes that are used, or the number of its tokens if it has one size."""
        if named := [f"{size:,}" for size in sizes if size]:
            return f"{self.opened}, {'size' if len(named) == 1 else 'sizes'} {listed(named)}"
        tokens = self.tokens(sizes[0]) if sizes else None
        return self.opened if tokens is None else f"{self.opened}, {tokens:,} tokens"


def side(text: str, results: str | None) -> Side:
    """Return the tokenizer of a name or a path.

    Args:
        text: ``VARIANT`` or ``VARIANT/SIZE`` of the experiment; or a path: the folder of a tokenizer, or of one at
            several sizes, the file of a tokenizer of another library, or a folder of ``transformers`` with one. With an
            experiment, a path begins with ``/``, ``./`` or ``../``, so that no folder hides a variant.
        results: folder of the experiment.

    Raises:
        TokbenchError: there is no such tokenizer; the message names those that there are.
    """
    if results is None or text in (".", "..") or text.startswith(PATHS):
        return _at_path(text, results)
    variant, _, size = text.partition("/")
    known = Path(results) / "tokenizers"
    found = _sized(known / variant / size) or _sized(known / variant)
    if found is None:
        names = sorted(path.name for path in known.iterdir()) if known.is_dir() else []
        path = f"; for the path write ./{text}" if Path(text).exists() else ""
        raise TokbenchError(
            f"{text}: no tokenizer in {known}.{nearest(variant, names)} It has {', '.join(names) or 'none'}{path}"
        )
    if size not in ("", OWN, *map(str, found.folders)):
        raise TokbenchError(f"{text}: {variant} has the sizes {', '.join(map(str, found.folders))}; name one of them")
    return replace(found, kind="variant", place=results)


def _at_path(text: str, results: str | None) -> Side:
    place = Path(text)
    if place.is_dir() and (found := _sized(place)):
        return replace(found, place=text)
    if place.is_file() or (place.is_dir() and _made_elsewhere(place)):
        return Side(place.name, {0: place}, None, "file" if place.is_file() else "folder", text)
    remedy = "name one, or an experiment with --results" if results is None else "name one, or a variant"
    raise TokbenchError(f"{text}: no folder of a tokenizer; {remedy}")


def _made_elsewhere(folder: Path) -> bool:
    from tokbench.adapters.forms.transformers import file_in

    return file_in(folder) is not None


def _sized(place: Path) -> Side | None:
    """The tokenizer in a folder, or those in its folders, which bear their sizes for names."""
    place = place.resolve()
    if (place / OWN / SETTINGS).is_file():
        place = place / OWN
    if place.name == OWN and (place / SETTINGS).is_file():
        return Side(place.parent.name, {_size_of(place): place}, _experiment(place.parent))
    if (place / SETTINGS).is_file():
        size = int(place.name) if place.name.isdecimal() else 0
        return Side(place.parent.name if size else place.name, {size: place}, _experiment(place.parent))
    sizes = sorted(int(path.parent.name) for path in place.glob(f"*/{SETTINGS}") if path.parent.name.isdecimal())
    return Side(place.name, {size: place / str(size) for size in sizes}, _experiment(place)) if sizes else None


def _size_of(folder: Path) -> int:
    """The number of its tokens, by which tables know a tokenizer that was made elsewhere."""
    found = read_json(folder / SETTINGS, "import the tokenizer again")
    size = found.get("size") if isinstance(found, dict) else None
    return size if isinstance(size, int) else 0


def _experiment(variant: Path) -> Path | None:
    """The experiment that has a variant's folder among its tokenizers."""
    return variant.parents[1] if variant.parent.name == "tokenizers" else None


def matched(a: Side, b: Side) -> list[tuple[int, int]]:
    """Sizes of a and of b to compare with each other: those they share, or the single size of each.

    Raises:
        TokbenchError: they share none, or are one and the same.
    """
    shared = sorted(a.folders.keys() & b.folders.keys())
    if shared and all(a.folders[size] == b.folders[size] for size in shared):
        raise TokbenchError(f"{a.name} and {b.name} are the same tokenizer; name another")
    if shared:
        return [(size, size) for size in shared]
    if len(a.folders) == len(b.folders) == 1:
        return [(next(iter(a.folders)), next(iter(b.folders)))]
    told = " and ".join(f"{one.name} has {', '.join(map(str, one.folders))}" for one in (a, b))
    raise TokbenchError(f"no vocabulary size in common: {told}; name one size of each, as in {a.name}/SIZE")


def unequal(a: Side, b: Side, sizes: Sizes) -> dict[tuple[int, int], tuple[int, int]]:
    """Sizes of a and of b at which one has fewer tokens than the other, with the tokens of each.

    Two may bear one size and not be of it, since a text may yield fewer tokens than were asked for. Nothing is told of
    tokenizers in the files of other libraries, which do not say how many tokens they have.
    """
    tokens = {(one, other): (a.tokens(one), b.tokens(other)) for one, other in sizes}
    return {
        pair: (of_a, of_b)
        for pair, (of_a, of_b) in tokens.items()
        if of_a is not None and of_b is not None and of_a != of_b
    }


def distinct(a: Side, b: Side) -> tuple[str, str]:
    """What to call the two: their names, with their sizes or in full where the names are the same."""
    if a.name != b.name:
        return a.name, b.name
    sized = tuple(f"{one.name}/{next(iter(one.folders))}" for one in (a, b))
    full = tuple(str(next(iter(one.folders.values()))) for one in (a, b))
    first, second = sized if sized[0] != sized[1] else full
    return first, second


def size_label(size_a: int, size_b: int) -> str:
    """What to call a comparison at a size of a and one of b; 0 is a tokenizer by itself."""
    if not size_a or not size_b:
        return "tokens"
    return f"{size_a:,}" if size_a == size_b else f"{size_a:,} against {size_b:,}"
