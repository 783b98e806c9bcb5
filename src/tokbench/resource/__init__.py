"""Gold data: published morphological segmentations and lexical decisions, with one reader per file format.

Every reader returns rows for one of two tables, :data:`~tokbench.intrinsic.gold_tables.SEGMENTATIONS` or
:data:`~tokbench.intrinsic.gold_tables.DECISIONS`.
"""

import glob
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, get_args

from pydantic import Field

from tokbench.corpus.sources import Paths
from tokbench.errors import TokbenchError
from tokbench.options import Options, Seed
from tokbench.registry import Method, Registry

Gold = Literal["segmentations", "lexical_decisions"]
Function = TypeVar("Function", bound=Callable[..., Iterator[Any]])


class ResourceOptions(Options):
    """Options of all resources."""

    path: Paths = Field(default_factory=list)
    """File, folder or glob pattern, or a list of them; or a mapping from language tags to these. The tags of a mapping
    take precedence over those in files. May be left out and given on the command line instead."""

    languages: list[str] | None = None
    """Read only words with these language tags (default: all)."""

    left_out: float = Field(0.0, ge=0, lt=1)
    """Share of the words that are left out (default: 0), because a construction reads them: its ``gold_share``."""

    left_out_seed: Seed = 0
    """Seed of the choice of words that are left out (default: 0): the ``gold_seed`` of the
    construction."""


class Read(Protocol):
    """Signature of a reader of gold data."""

    def __call__(self, path: Path, language: str, options: Any) -> Iterator[Any]:
        """Read the records of one file.

        The records are :class:`~tokbench.metric.words.SegmentedWord` or :class:`~tokbench.metric.words.Decision`.

        Args:
            path: the file.
            language: its language tag in the configuration; empty if there is none.
            options: an instance of the type's class of options.
        """
        ...


@dataclass(frozen=True, kw_only=True, repr=False)
class ResourceType(Method):
    """A file format of gold data.

    Attributes:
        gold: content of its files: words with their parts, or words and nonwords with reaction times and accuracies.
        files: glob pattern of its files' names, used if a path is a folder.
    """

    function: Read
    options_class: type[ResourceOptions]
    gold: Gold
    files: str


resource_types: Registry[ResourceType] = Registry("type of resource", "tokbench.resource", Read)


def resource(
    name: str,
    *,
    gold: Gold,
    files: str,
    options: type[ResourceOptions] = ResourceOptions,
    cites: tuple[str, ...] | None = None,
) -> Callable[[Function], Function]:
    """Register a type of resource; the arguments are the attributes of :class:`ResourceType`.

    Raises:
        TokbenchError: the name is not valid, ``gold`` is neither of the two, ``files`` is not text, the options have no
            path, or the function does not match :class:`Read`.
    """
    resource_types.check_name(name)

    def decorate(function: Function) -> Function:
        check = resource_types.check
        check(gold in get_args(Gold), name, f"its gold is {gold!r}; choose among {', '.join(get_args(Gold))}")
        check(isinstance(files, str) and files != "", name, f"its files is {files!r}; give a pattern of files' names")
        valid = isinstance(options, type) and issubclass(options, ResourceOptions)
        check(valid, name, f"its options are {options!r}; give a subclass of tokbench.resource.ResourceOptions")
        resource_types.add(
            ResourceType(name=name, function=function, options_class=options, gold=gold, files=files, cites=cites)
        )
        return function

    return decorate


def resource_files(kind: str, options: ResourceOptions) -> list[tuple[str, Path]]:
    """List the files of a resource with their language tags, empty if the configuration gives none.

    Args:
        kind: type of the resource.
        options: its options.

    Raises:
        TokbenchError: an entry matches no file.
    """
    tagged = options.path if isinstance(options.path, dict) else {"": options.path}
    return [(tag, file) for tag, entries in tagged.items() for entry in entries for file in _matching(entry, kind)]


def is_drawn(word: str, share: float, seed: int) -> bool:
    """Return whether a word is in a random share of all words. The draw depends only on the seed and the word."""
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8, key=str(seed).encode()).digest()
    return int.from_bytes(digest, "little") < share * 2.0**64


def _matching(entry: str, kind: str) -> list[Path]:
    path = Path(entry)
    pattern = resource_types[kind].files
    if path.is_dir():
        paths = sorted(file for file in path.rglob(pattern) if file.is_file())
        if not paths:
            raise TokbenchError(f"no file '{pattern}' in the folder '{entry}'; name the files of the resource")
        return paths
    paths = [path] if path.is_file() else sorted(file for file in map(Path, glob.glob(entry)) if file.is_file())
    if not paths:
        raise TokbenchError(f"no file at '{entry}'; name an existing file, folder or pattern")
    return paths
