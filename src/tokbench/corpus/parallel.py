"""Configuration of parallel corpora: pairs of a sentence and its translation, by file format."""

import functools
import glob
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, create_model, model_validator

from tokbench.corpus.formats import CorpusFormat, corpus_formats
from tokbench.corpus.sources import HubDataset, PathList
from tokbench.errors import TokbenchError
from tokbench.io.numbers import LARGEST_COUNT
from tokbench.options import Language, Options, TestName


class LinePairs(Options):
    """Files of lines (plain or compressed), one per language; lines with the same number are a pair."""

    type: Literal["lines"]
    path: dict[Language, PathList] = Field(default_factory=dict)
    """File of each language, or a list of files that are read in order. May be left out and given on the command line
    instead."""

    def files(self) -> list[Path]:
        """List all files, the first language's first.

        Raises:
            TokbenchError: a pattern matches none.
        """
        return [file for entries in self.path.values() for file in _files(entries)]


class _Pairs(Options):
    """Files that contain both sides of each pair."""

    path: PathList = Field(default_factory=list)
    """File or glob pattern, or a list of them. May be left out and given on the command line instead."""

    def files(self) -> list[Path]:
        """List all files in order.

        Raises:
            TokbenchError: a pattern matches none.
        """
        return _files(self.path)


class TmxPairs(_Pairs):
    """Translation memories (TMX, plain or compressed), one pair per unit; markup codes within a segment are removed."""

    type: Literal["tmx"]


class RecordPairs(_Pairs):
    """Files of a format of records, one pair per record; a null text is empty. :data:`RECORD_PAIRS` has a class for
    each format."""

    fields: dict[Language, str] = Field(default_factory=dict)
    """Field of each language's text (default: the name of the language). A dot leads into an object or a structure, as
    in ``translation.de``."""


class HubPairs(HubDataset):
    """A data set of the Hugging Face hub, one pair per row, streamed once by its own rule at a pinned revision."""

    type: Literal["hub"]
    fields: dict[Language, str] = Field(default_factory=dict)
    """Column of each language's text (default: the name of the language). A dot leads into a structure, as in
    ``translation.de``."""

    def files(self) -> list[Path]:
        """Return an empty list: the data set is not a file of the user's."""
        return []


def _pairs_of(method: CorpusFormat) -> type[RecordPairs]:
    """Return the options of pairs in files of a format of records."""
    return create_model(
        f"{method.name}_pairs",
        __base__=RecordPairs,
        __doc__=f"{method.label} files, one pair per record. A null text is empty.",
        type=(Literal[method.name], ...),  # type: ignore[arg-type]
    )


RECORD_PAIRS = {method.name: _pairs_of(method) for method in corpus_formats.methods() if method.rows}
"""Options of pairs in files of each format of records, by its name."""
AnyPairs = LinePairs | TmxPairs | RecordPairs | HubPairs
if TYPE_CHECKING:
    PairSource = AnyPairs
else:
    PAIRS = (LinePairs, TmxPairs, *RECORD_PAIRS.values(), HubPairs)
    PairSource = Annotated[functools.reduce(operator.or_, PAIRS), Field(discriminator="type")]
HeldOut = PairSource | Annotated[int, Field(ge=1, le=LARGEST_COUNT)]


class Cleaning(Options):
    """Rules that filter the pairs of the training split; pairs of other splits are never filtered."""

    max_characters: int = Field(1000, ge=1, le=LARGEST_COUNT)
    """maximum characters of either side"""
    max_ratio: float | None = Field(3.0, ge=1)
    """maximum ratio of the characters of the longer side to those of the shorter; no limit if null"""
    drop_duplicates: bool = True
    """whether only the first of equal pairs is kept"""


class ParallelCorpus(Options):
    """Pairs of sentences in two languages, in a training split, a development split and tests."""

    languages: tuple[Language, Language]
    """The two languages; models translate in both directions."""
    train: PairSource
    """Source of the training pairs; vocabularies are built from their sides."""
    dev: HeldOut | None = None
    """Pairs whose loss selects the best checkpoint: files, or the number of pairs to draw from the training pairs."""
    tests: dict[TestName, HeldOut] = Field(min_length=1)
    """Named tests: files, or the number of pairs to draw from the training pairs."""
    clean: Cleaning = Field(default_factory=Cleaning)
    """Rules that filter the training split. A table lists the number of pairs that each removes."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.languages[0] == self.languages[1] or "pair" in self.languages:
            raise ValueError("languages: two different names, neither of them 'pair'")
        if reserved := {"train", "dev"} & self.tests.keys():
            raise ValueError(f"tests: '{reserved.pop()}' is the name of another split; rename the test")
        if self.drawn_splits() and not self.clean.drop_duplicates:
            raise ValueError(
                "drop_duplicates: false would leave in training what is drawn for dev or tests; leave it true, or give "
                "dev and tests as files"
            )
        for split, source in self.sources().items():
            if split in self.without_path():
                continue
            names = source.path if isinstance(source, LinePairs) else getattr(source, "fields", {})
            wrong = names.keys() - set(self.languages)
            missing = set(self.languages) - names.keys() if isinstance(source, LinePairs) else set()
            if wrong or missing:
                raise ValueError(f"{split}: names must be those of languages, {' and '.join(self.languages)}")
        return self

    def without_path(self) -> list[str]:
        """Return the splits whose files are not named; a run gets them on its command line."""
        sources = self.sources().items()
        return [split for split, source in sources if not isinstance(source, HubPairs) and not source.path]

    def held_out_splits(self) -> dict[str, HeldOut]:
        """Return the splits other than training, in order."""
        return ({} if self.dev is None else {"dev": self.dev}) | dict(self.tests)

    def drawn_splits(self) -> dict[str, int]:
        """Return the number of pairs of each split that is drawn from the training pairs."""
        return {split: source for split, source in self.held_out_splits().items() if isinstance(source, int)}

    def sources(self) -> dict[str, AnyPairs]:
        """Return the source of each split that is read from files or the hub, training first."""
        files = {split: source for split, source in self.held_out_splits().items() if not isinstance(source, int)}
        return {"train": self.train, **files}

    def on_hub(self) -> list["FetchedPairs"]:
        """List the data sets to download, in the order of the splits."""
        return [
            FetchedPairs(languages=self.languages, source=source)
            for source in self.sources().values()
            if isinstance(source, HubPairs)
        ]

    def read_from(self, fetched: Sequence[Path]) -> Self:
        """Return the corpus with downloaded files in place of hub data sets, one file per entry of :meth:`on_hub`."""
        files = iter(fetched)
        sources = {
            split: _fetched_pairs(next(files)) if isinstance(source, HubPairs) else source
            for split, source in self.sources().items()
        }
        tests = {name: sources.get(name, source) for name, source in self.tests.items()}
        return self.model_copy(update={"train": sources["train"], "dev": sources.get("dev", self.dev), "tests": tests})

    def files(self) -> list[Path]:
        """List all of the user's files that are read.

        Raises:
            TokbenchError: a pattern matches none.
        """
        return [file for source in self.sources().values() for file in source.files()]


class FetchedPairs(Options):
    """A hub data set of pairs, and the languages that name its columns after download."""

    languages: tuple[Language, Language]
    """The two languages."""
    source: HubPairs
    """The data set."""


def _fetched_pairs(path: Path) -> RecordPairs:
    """Return the options of pairs in a Parquet file that was fetched."""
    return RECORD_PAIRS["parquet"].model_validate({"type": "parquet", "path": [str(path)]})


def _files(entries: list[str]) -> list[Path]:
    paths: list[Path] = []
    for entry in entries:
        files = [Path(entry)] if Path(entry).is_file() else sorted(map(Path, glob.glob(entry, recursive=True)))
        if not any(file.is_file() for file in files):
            raise TokbenchError(f"no file at '{entry}'; name an existing file or pattern")
        paths += [file for file in files if file.is_file()]
    return paths
