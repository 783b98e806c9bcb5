"""Comparison of tokenizers for ``tokbench compare``: token counts, gaps to the lower bound, and n-gram bits.

Each is compared with the first. Also runs the comparison within an experiment.
"""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tokbench.adapters.open import AS_IT_IS, ImportOptions, is_ours, one_of_several, reject_unused
from tokbench.corpus.documents import Document, read_documents
from tokbench.corpus.language_folders import read_texts
from tokbench.corpus.text_files import read_files
from tokbench.errors import TokbenchError
from tokbench.inspection.comparison.gaps import gap_notes
from tokbench.inspection.comparison.named_tokenizers import NamedTokenizer, resolve_target
from tokbench.inspection.comparison.ngram_bits import ngram_part
from tokbench.inspection.comparison.sides import Sizes, distinct, matched, size_label, unequal
from tokbench.inspection.comparison.terminal import (
    Line,
    LineGroup,
    Unequal,
)
from tokbench.inspection.comparison.texts import TextComparison, compare_texts, lossy_note
from tokbench.io.compression import AS_USUAL, Fields
from tokbench.pretokenization import pretokenization_of
from tokbench.report.wording import pluralise
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.folder import is_adapted, read_settings

if TYPE_CHECKING:
    pass

OF_OTHER_TEXTS = "The experiment's measures are of other texts and not shown; compare without FILES to see them."


class Further(NamedTuple):
    """Optional parts of a comparison.

    Attributes:
        gap: compute the gap to the lower bound on tokens. Default: False.
        ngram_bits: train token n-gram models. Default: False.
        training: files of training text for them. Default: every other document.
    """

    gap: bool = False
    ngram_bits: bool = False
    training: Sequence[str] = ()


NOTHING = Further()


class TokenizerComparison(NamedTuple):
    """Comparison of two tokenizers.

    Attributes:
        a, b: their names.
        parts: tables of measures.
        unequal: pairs of sizes at which they have different numbers of tokens, with these numbers.
        pretokenizers: labels of the pre-tokenizers of a and b.
        sides: location of a and b.
        sizes: pairs of sizes that are compared.
        left_out: sentence on measures that are not compared; empty if there are none.
    """

    a: str
    b: str
    parts: Sequence[LineGroup]
    unequal: Unequal
    pretokenizers: tuple[str, str]
    sides: tuple[NamedTokenizer, NamedTokenizer]
    sizes: Sizes
    left_out: str

    @property
    def named_sides(self) -> list[tuple[str, NamedTokenizer]]:
        """The two with their names."""
        return list(zip((self.a, self.b), self.sides, strict=True))

    @property
    def notes(self) -> list[str]:
        """Sentences on the location of the two, and on measures that are not compared."""
        used = ([size for size, _ in self.sizes], [size for _, size in self.sizes])
        sides = zip((self.a, self.b), self.sides, used, strict=True)
        return [f"{name}: {side.described(sizes)}." for name, side, sizes in sides] + [self.left_out] * bool(
            self.left_out
        )


class Ranking(NamedTuple):
    """All tokenizers compared on one text.

    Attributes:
        source: description of the text.
        label: vocabulary size; empty if there is only one ranking.
        comparison: the comparison.
    """

    source: str
    label: str
    comparison: TextComparison


class Comparisons(NamedTuple):
    """Result of a comparison.

    Attributes:
        pairs: each tokenizer with the first.
        rankings: all tokenizers by their tokens of the files; none without files.
    """

    pairs: list[TokenizerComparison]
    rankings: list[Ranking]


def comparisons(
    names: Sequence[str],
    files: Sequence[str],
    results: str | None,
    limit: int,
    fields: Fields = AS_USUAL,
    reading: ImportOptions = AS_IT_IS,
    further: Further = NOTHING,
) -> Comparisons:
    """Compare tokenizers with the first; the arguments are those of the command.

    Tests are corrected for all pairs of the tokenizers.

    Raises:
        TokbenchError: a tokenizer does not exist, or there is nothing to compare.
    """
    # The tokenizers, and the sizes at which each is compared with the first.
    sides = [resolve_target(name, results) for name in names]
    reject_unused(reading, [folder for side in sides for folder in side.folders.values()])
    first, *others = sides
    sizes = [matched(first, other) for other in others]
    experiment = first.results if all(side.results == first.results for side in sides) else None
    # The text: files, or the evaluation splits of the experiment.
    if files:
        texts = [(_named(files), list(read_texts(files, fields, limit)))]
    elif fields.flags:
        raise TokbenchError(f"{fields.flags}: for FILES only; name files after the tokenizers")
    else:
        texts = _evaluation(experiment, limit) if further.gap or further.ngram_bits else []
    trained = list(read_files(further.training, fields)) if further.training else None
    # Each tokenizer with the first one.
    opened = _Opened(sides, reading)
    compared = []
    for other, pairs in zip(others, sizes, strict=True):
        parts = [] if experiment is None or files else _experiment_parts(first, other, pairs, experiment)
        for where, documents in texts:
            part = _tokens(opened, first, other, pairs, where, documents)
            if further.gap and documents:
                part.notes.extend(gap_notes(first, other, pairs, documents, reading))
            parts.append(part)
            if further.ngram_bits and documents:
                parts.append(ngram_part(first, other, pairs, where, documents, trained, reading))
        if not (parts := [part for part in parts if part.lines]):
            raise TokbenchError("no text to compare these two on; name files of text after them")
        both = distinct(first, other)
        labels = (_pretokenizer(opened, first), _pretokenizer(opened, other))
        left_out = OF_OTHER_TEXTS if files and experiment is not None else ""
        apart = unequal(first, other, pairs)
        compared.append(TokenizerComparison(*both, parts, apart, labels, (first, other), pairs, left_out))
    return Comparisons(compared, opened.rankings() if files else [])


def _experiment_parts(a: NamedTokenizer, b: NamedTokenizer, sizes: Sizes, experiment: Path) -> list[LineGroup]:
    from tokbench.inspection.comparison.experiments import experiment_parts

    return experiment_parts(a, b, sizes, experiment)


class _Opened:
    """Tokenizers of all sides, opened once, and their comparisons on texts."""

    def __init__(self, sides: Sequence[NamedTokenizer], reading: ImportOptions) -> None:
        self.sides = sides
        self.reading = reading
        self.compared: dict[tuple[str, tuple[int, ...]], TextComparison] = {}
        self.tokenizers: dict[Path, Tokenizer] = {}

    def tokenizer(self, side: NamedTokenizer, size: int) -> Tokenizer:
        """Return the tokenizer of a side at a size."""
        folder = side.folders[size]
        if folder not in self.tokenizers:
            self.tokenizers[folder] = one_of_several(folder, self.reading)
        return self.tokenizers[folder]

    def at(self, pair: tuple[int, int], where: str, documents: Sequence[Document]) -> TextComparison:
        """Return the comparison of all sides at a pair of sizes; sides without the size have their only one."""
        size, other = pair
        sizes = [size]
        for side in self.sides[1:]:
            sizes.append(other if other in side.folders else next(iter(side.folders)))
        key = (where, tuple(sizes))
        if key not in self.compared:
            tokenizers = [self.tokenizer(side, at) for side, at in zip(self.sides, sizes, strict=True)]
            texts = [document.text for document in documents]
            languages = [document.language for document in documents]
            self.compared[key] = compare_texts(labels_of(self.sides), tokenizers, texts, languages=languages)
        return self.compared[key]

    def rankings(self) -> list[Ranking]:
        """Return the rankings of all sides, one for each text and vocabulary size."""
        several = len(self.compared) > 1
        return [
            Ranking(where, f"{sizes[0]:,}" if several and sizes[0] else "", comparison)
            for (where, sizes), comparison in self.compared.items()
            if comparison.bytes
        ]


def labels_of(sides: Sequence[NamedTokenizer]) -> list[str]:
    """Return distinct labels of tokenizers: their names, or their places if names are equal."""
    names = [side.name for side in sides]
    if len(sides) == 2:
        return list(distinct(*sides))
    return [name if names.count(name) == 1 else side.place or name for name, side in zip(names, sides, strict=True)]


def _pretokenizer(opened: _Opened, side: NamedTokenizer) -> str:
    """Return the label of a tokenizer's pre-tokenizer."""
    size, folder = next(iter(side.folders.items()))
    if is_ours(folder) and not is_adapted(folder):
        return pretokenization_of(read_settings(folder).pretokenization).label
    return opened.tokenizer(side, size).pretokenizer_label


def _named(files: Sequence[str]) -> str:
    return files[0] if len(files) == 1 else f"{files[0]} and {pluralise(len(files) - 1, 'other')}"


def _evaluation(experiment: Path | None, limit: int) -> list[tuple[str, list[Document]]]:
    """Return the documents of every evaluation split, with a description."""
    folders = [] if experiment is None else sorted((experiment / "corpus").glob("*/evaluation"))
    return [
        (f"the evaluation split of {folder.parent.name}", list(islice(read_documents(shards), limit)))
        for folder in folders
        if (shards := sorted(folder.glob("*.parquet")))
    ]


def _tokens(
    opened: _Opened,
    a: NamedTokenizer,
    b: NamedTokenizer,
    sizes: Sizes,
    where: str,
    documents: Sequence[Document],
) -> LineGroup:
    """Compare the token counts of the same documents."""
    lines, notes = [], []
    names = labels_of(opened.sides)
    left, right = (names[opened.sides.index(side)] for side in (a, b))
    for pair in sizes:
        comparison = opened.at(pair, where, documents)
        counts = dict(zip(comparison.names, comparison.counts, strict=True))
        notes += [
            f"  {lossy_note(side, counts[side], comparison.bytes)}" for side in (left, right) if counts[side].changed
        ]
        notes += [f"  Copies of a document count once: {pluralise(comparison.copies, 'copy', 'copies')}."] * bool(
            comparison.copies
        )
        for row in comparison.rows():
            if (row["a"], row["b"]) == (right, left):
                lines.append(Line(size_label(*pair), row, "lowest", f"token count on {where}", main=True))
    heading = f"Tokens of {pluralise(len(documents), 'document')}: {where}"
    return LineGroup(heading, "count", "share", lines, list(dict.fromkeys(notes)))
