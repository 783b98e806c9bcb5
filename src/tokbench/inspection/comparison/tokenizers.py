"""Comparison of tokenizers for ``tokbench compare``: token counts, gaps to the lower bound, and n-gram bits.

Each is compared with the first. Also runs the comparison within an experiment. The JSON schema is in docs/programs.md.
"""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tokbench.adapters.open import AS_IT_IS, ImportOptions, is_ours, one_of_several, reject_unused
from tokbench.corpus.documents import Document, note_of_untagged, read_documents
from tokbench.corpus.language_folders import read_texts
from tokbench.corpus.languages import tag_of_untagged
from tokbench.corpus.text_files import read_files
from tokbench.errors import TokbenchError
from tokbench.inspection.comparison.named_tokenizers import NamedTokenizer, resolve_target
from tokbench.inspection.comparison.ranking import ranking_rows
from tokbench.inspection.comparison.sides import Sizes, distinct, matched, size_label, unequal
from tokbench.inspection.comparison.terminal import (
    Line,
    LineGroup,
    Unequal,
    sentences,
    single_leads,
)
from tokbench.inspection.comparison.texts import TextComparison, compare_texts, family_rows, lossy_note
from tokbench.io.compression import AS_USUAL, Fields
from tokbench.pretokenization import pretokenization_of
from tokbench.report.wording import format_value, join_all, pluralise
from tokbench.statistics.comparisons.families import NGRAM, over_documents
from tokbench.statistics.significance.verdicts import ALPHA, CONFIDENCE
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.folder import is_adapted, read_settings

if TYPE_CHECKING:
    from tokbench.pretokens import PretokenCounts

OF_OTHER_TEXTS = "The experiment's measures are of other texts and not shown; compare without FILES to see them."
NEAR = 0.001
STEPS = 2000
"""Limits of the search for a bound: relative gap, and number of steps."""
BITS = "bits of the test documents under the n-gram model, end-of-text tokens included, divided by their bytes"
FORMAT = 2
"""Version of the schema; incremented if a key changes its meaning or is removed."""
DIFFERENCES = {"share": "(b - a) / a", "percent": "b - a", "real": "b - a"}
"""Formula of a difference, by its number format."""


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


def gap_notes(
    a: NamedTokenizer, b: NamedTokenizer, sizes: Sizes, documents: Sequence[Document], reading: ImportOptions
) -> list[str]:
    """Return notes on the gap to the lower bound at every size, for the complete text and for each language."""
    from tokbench.optimum import MAX_PRETOKEN_BYTES
    from tokbench.optimum.bound import bound_or_reason
    from tokbench.optimum.gap import LowerBound, gap_of

    # The complete text and that of each language.
    untagged = tag_of_untagged({document.language for document in documents})
    lacking = sum(not document.language for document in documents) if untagged else 0
    documents = [document._replace(language=document.language or untagged) for document in documents]
    texts = {"": documents}
    languages = sorted({document.language for document in documents})
    if len(languages) > 1:
        texts |= {bound: [document for document in documents if document.language == bound] for bound in languages}
    # A bound for each pre-tokenization, language and size.
    bounds: dict[tuple[str, str, int], LowerBound | None] = {}
    counted: dict[str, dict[str, PretokenCounts]] = {}
    notes = [f"  {note_of_untagged(lacking)}."] if lacking else []
    for pair in sizes:
        loaded = [one_of_several(side.folders[size], reading) for side, size in zip((a, b), pair, strict=True)]
        for language, text in texts.items():
            sentences = []
            for name, tokenizer, size in zip(distinct(a, b), loaded, pair, strict=True):
                size = size or tokenizer.nominal_size
                key = ("" if tokenizer.segments_documents else tokenizer.pretokenization, language, size)
                scheme = key[0]
                if scheme and scheme not in counted:
                    counted[scheme] = _gap_comparison_counts(documents, scheme)
                if scheme and key not in bounds:
                    result = bound_or_reason(counted[scheme][language], size, gap=NEAR, steps=STEPS)
                    bounds[key] = None if result["bound"] is None else LowerBound.from_result(result)
                tokens = sum(tokenizer.count(document.text) for document in text)
                gap = gap_of(tokens, size, tokenizer, bounds.get(key))
                said = gap.reason if gap.value is None else f"{format_value(gap.value, 'percent', 2)} % above {gap.n:,}"
                sentences.append(f"{name} none ({said})" if gap.value is None else f"{name} {said} ({scheme})")
            where = ", ".join(filter(None, (size_label(*pair), language)))
            notes.append(f"  gap, {where}: {join_all(sentences)}.")
    # What the gaps exclude, and which cannot be compared.
    if long := sum(
        sum(bound.left_out.values()) for (_, language, _), bound in bounds.items() if bound and not language
    ):
        notes.append(f"  Gaps exclude pre-tokens of more than {MAX_PRETOKEN_BYTES} bytes: {long:,} occurrences.")
    if len({scheme for scheme, *_ in bounds}) > 1:
        notes.append("  Gaps under different pre-tokenizations are not comparable.")
    return [*notes, "  gap: tokens above the proven minimum of any vocabulary of this size for the same pre-tokens."]


def _gap_comparison_counts(documents: Sequence[Document], scheme: str) -> "dict[str, PretokenCounts]":
    """Count the pre-tokens of each language; the empty name has those of all."""
    from tokbench.pretokens.count import count_languages, merge_counts

    parts = count_languages(((document.language, document.text) for document in documents), scheme)
    return parts | {"": merge_counts(list(parts.values()))}


def ngram_part(
    a: NamedTokenizer,
    b: NamedTokenizer,
    sizes: Sizes,
    where: str,
    documents: Sequence[Document],
    training: Sequence[Document] | None,
    reading: ImportOptions,
) -> LineGroup:
    """Compare bits per byte under n-gram models of every order, trained on half of the training text and on all of it.

    Args:
        a, b: the tokenizers.
        sizes: pairs of sizes to compare.
        where: description of the documents.
        documents: the test text. If ``training`` is None, the first, third and so on are training text instead.
        training: the training text, or None.
        reading: options for reading external tokenizer files.

    Raises:
        TokbenchError: there is only one document and no training text, or a tokenizer does not restore the test text.
    """
    # Without training text, every other document is.
    if training is None:
        if len(documents) < 2:
            raise TokbenchError(f"--ngram-bits: {where} is one document; name a text to train on with --train")
        training, documents = documents[::2], documents[1::2]
    names = distinct(a, b)
    lines = []
    for pair in sizes:
        loaded = [one_of_several(side.folders[size], reading) for side, size in zip((a, b), pair, strict=True)]
        # A comparison for each order and amount of training text.
        measured = [_bits(tokenizer, training, documents) for tokenizer in loaded]
        of_document = np.array([document["bytes"] for document in measured[0]["documents"]], np.float64)
        for models in zip(measured[0]["models"], measured[1]["models"], strict=True):
            order, budget = models[0]["order"], models[0]["training_bytes"]
            bits = {name: np.array(side["bits"], np.float64) for name, side in zip(names, models, strict=True)}
            family = over_documents((None, None, NGRAM, None, None, BITS), bits, of_document, "documents")
            label = f"{size_label(*pair)}, order {order}, {budget:,} bytes"
            lines += [
                Line(label, row, "lowest", f"bits per byte of token {order}-grams")
                for row in family_rows(family, names, loaded)
                if row["b"] == names[0]
            ]
    lines.sort(key=lambda line: line.what)
    heading = (
        f"Bits per byte of token n-gram models of {pluralise(len(documents), 'document')}: {where}, trained on "
        f"{pluralise(len(training), 'other document')}"
    )
    return LineGroup(
        heading, "real", "real", lines, ["  Ignore a ranking that changes with the amount of training text."]
    )


def _bits(tokenizer: Tokenizer, training: Sequence[Document], tested: Sequence[Document]) -> dict[str, Any]:
    from tokbench.intrinsic.ngram_bits import ngram_bits
    from tokbench.io.numbers import HIGHEST_NGRAM_ORDER
    from tokbench.models.pretraining.order import encode_documents

    lost = 0 if tokenizer.lossless else sum(tokenizer.bytes_lost(document.text) for document in tested)
    if lost:
        raise TokbenchError(f"--ngram-bits: {tokenizer.name} loses {lost:,} bytes of the text; leave --ngram-bits out")
    return ngram_bits(
        lambda documents: encode_documents(tokenizer, documents),
        tokenizer.entries,
        lambda: training,
        tested,
        order=HIGHEST_NGRAM_ORDER,
        ids=tokenizer.id_limit,
    )


def comparisons_json(compared: Comparisons, premium: str | None = None) -> dict[str, Any]:
    """Return comparisons with the first tokenizer as a JSON object: one, or a list of several; and the rankings.

    Args:
        compared: the comparisons.
        premium: reference language of premiums (default: no premiums).
    """
    objects = [comparison_json(pair) for pair in compared.pairs]
    content = objects[0] if len(objects) == 1 else {"format": FORMAT, "comparisons": objects}
    rows = [
        {"source": ranking.source, **row}
        for ranking in compared.rankings
        for row in ranking_rows(ranking.comparison, premium)
    ]
    return content | ({"rows": rows} if rows else {})


def comparison_json(comparison: TokenizerComparison) -> dict[str, Any]:
    """Return the comparison as a JSON object."""
    return {
        # Keys of docs/programs.md, in its order.
        "format": FORMAT,
        "a": comparison.a,
        "b": comparison.b,
        "pretokenizations": dict(zip("ab", comparison.pretokenizers, strict=True)),
        "opened": {
            letter: _opened(side, [pair[place] for pair in comparison.sizes])
            for place, (letter, side) in enumerate(zip("ab", comparison.sides, strict=True))
        },
        "left_out": comparison.left_out or None,
        "confidence": CONFIDENCE,
        "alpha": ALPHA,
        "unequal_sizes": [
            {"size": size if size and size == other else None, "a": of_a, "b": of_b}
            for (size, other), (of_a, of_b) in comparison.unequal.items()
        ],
        "sentences": sentences(comparison.parts),
        "single_numbers": single_leads(comparison.parts),
        "parts": [
            {
                "heading": part.heading,
                "difference": DIFFERENCES[part.differs],
                "lines": [_line(line) for line in part.lines],
                "notes": [note.strip() for note in part.notes],
            }
            for part in comparison.parts
        ],
    }


def _opened(side: NamedTokenizer, sizes: Sequence[int]) -> dict[str, Any]:
    return {
        "kind": side.kind,
        "place": side.place,
        "sizes": [size for size in sizes if size],
        "tokens": [side.tokens(size) for size in sizes],
    }


def _line(line: Line) -> dict[str, Any]:
    row = line.row
    return {
        "name": line.name,
        "what": line.what,
        "definition": row.get("definition"),
        "better_end": line.better,
        "a": row["value_b"],
        "b": row["value_a"],
        **{name: row[name] for name in ("difference", "low", "high", "unit", "n", "seeds")},
        "p": row["p_value"],
        "p_holm": row["holm"],
        "verdict": row["verdict"],
        "reason": row["reason"],
        "ahead": line.leader or None,
    }
