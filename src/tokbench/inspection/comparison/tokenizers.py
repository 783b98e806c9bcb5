"""Comparison of two tokenizers for ``tokbench compare``: token counts, gaps to the lower bound, and n-gram bits.

Also runs the comparison within an experiment. The JSON schema is in docs/programs.md.
"""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.adapters.open import (
    AS_IT_IS,
    ComparedTokenizer,
    ImportOptions,
    Sizes,
    distinct,
    is_ours,
    matched,
    one_of_several,
    reject_unused,
    resolve_target,
    size_label,
    unequal,
)
from tokbench.corpus.documents import Document, note_of_untagged, read_documents
from tokbench.corpus.languages import tag_of_untagged
from tokbench.corpus.text_files import read_files
from tokbench.errors import TokbenchError
from tokbench.inspection.comparison.terminal import Line, LineGroup, Unequal, VerdictLine, alike, corrected, verdict
from tokbench.io.compression import AS_USUAL, Fields
from tokbench.pretokenization import pretokenization_of
from tokbench.report.wording import listed, pluralise, printed
from tokbench.statistics.bootstrap import CONFIDENCE, RESAMPLES
from tokbench.statistics.contrast import bits_per_byte, token_counts
from tokbench.statistics.verdicts import ALPHA
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.folder import is_adapted, read_settings

if TYPE_CHECKING:
    from tokbench.pretokens import PretokenCounts


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
TOKENS = "tokens of the documents, without end-of-text tokens; difference relative to b"

OF_OTHER_TEXTS = "The experiment's measures are of other texts and not shown; compare without FILES to see them."


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
    sides: tuple[ComparedTokenizer, ComparedTokenizer]
    sizes: Sizes
    left_out: str

    @property
    def notes(self) -> list[str]:
        """Sentences on the location of the two, and on measures that are not compared."""
        used = ([size for size, _ in self.sizes], [size for _, size in self.sizes])
        found = zip((self.a, self.b), self.sides, used, strict=True)
        lines = [f"{name}: {one.described(sizes)}." for name, one, sizes in found]
        counted = [line.contrast.n for part in self.parts for line in part.lines if line.definition == TOKENS]
        single = "One document: no interval. Compare on several documents for a test."
        return [*lines, *filter(None, [single if counted and max(counted) == 1 else "", self.left_out])]


def comparisons(
    names: Sequence[str],
    files: Sequence[str],
    results: str | None,
    limit: int,
    fields: Fields = AS_USUAL,
    reading: ImportOptions = AS_IT_IS,
    further: Further = NOTHING,
) -> list[TokenizerComparison]:
    """Compare tokenizers with the first; the arguments are those of the command.

    Raises:
        TokbenchError: a tokenizer does not exist, or there is nothing to compare.
    """
    first, *others = [resolve_target(name, results) for name in names]
    reject_unused(reading, [folder for one in (first, *others) for folder in one.folders.values()])
    return [comparison(first, other, files, limit, fields, reading, further) for other in others]


def comparison(
    left: ComparedTokenizer,
    right: ComparedTokenizer,
    files: Sequence[str],
    limit: int,
    fields: Fields,
    reading: ImportOptions,
    further: Further,
) -> TokenizerComparison:
    """Compare two tokenizers.

    Raises:
        TokbenchError: there is nothing to compare.
    """
    sizes = matched(left, right)
    experiment = left.results if left.results == right.results else None
    if files:
        given = [(_named(files), list(islice(read_files(files, fields), limit)))]
    elif fields.flags:
        raise TokbenchError(f"{fields.flags}: for FILES only; name files after the tokenizers")
    else:
        given = _evaluation(experiment, limit)
    trained = list(read_files(further.training, fields)) if further.training else None
    parts = []
    for where, found in given:
        parts.append(_tokens(left, right, sizes, where, found, reading))
        if further.gap and found:
            parts[-1].notes.extend(gap_notes(left, right, sizes, found, reading))
        if further.ngram_bits and found:
            parts.append(ngram_part(left, right, sizes, where, found, trained, reading))
    if experiment is not None and not files:
        from tokbench.inspection.comparison.experiments import experiment_parts

        parts += experiment_parts(left, right, sizes, experiment, counted=bool(given))
    if not (parts := [part for part in parts if part.lines]):
        raise TokbenchError("no text to compare these two on; name files of text after them")
    apart = unequal(left, right, sizes)
    names = distinct(left, right)
    first, second = (_pretokenizer(*one, reading) for one in zip(names, (left, right), strict=True))
    left_out = OF_OTHER_TEXTS if files and experiment is not None else ""
    return TokenizerComparison(
        *names, alike(corrected(parts), apart), apart, (first, second), (left, right), sizes, left_out
    )


def _pretokenizer(name: str, one: ComparedTokenizer, reading: ImportOptions) -> str:
    """Return the label of a tokenizer's pre-tokenizer; tokenizers that run through a library have their own label."""
    folder = next(iter(one.folders.values()))
    if is_ours(folder) and not is_adapted(folder):
        return pretokenization_of(read_settings(folder).pretokenization).label
    tokenizer = one_of_several(folder, reading)
    return f"{name}'s own" if tokenizer.library_name else tokenizer.scheme.label


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
    a: ComparedTokenizer,
    b: ComparedTokenizer,
    sizes: Sizes,
    where: str,
    documents: Sequence[Document],
    reading: ImportOptions,
) -> LineGroup:
    """Compare the token counts of the same documents."""
    lines = []
    notes: list[str] = []
    for size_a, size_b in sizes:
        tokenizers = [one_of_several(one.folders[size], reading) for one, size in ((a, size_a), (b, size_b))]
        counted_in = [_counts(tokenizer, documents) for tokenizer in tokenizers]
        lost = [_lost(name, one) for name, one in zip(distinct(a, b), counted_in, strict=True) if one.changed]
        notes += [note for note in lost if note not in notes]
        if found := token_counts(*(one.tokens for one in counted_in)):
            lines.append(
                Line(
                    size_label(size_a, size_b),
                    found,
                    "lowest",
                    f"token count on {where}",
                    TOKENS,
                    sizes=[(size_a, size_b)],
                    ranked=not lost,
                )
            )
    heading = f"Tokens of {pluralise(len(documents), 'document')}: {where}; intervals over documents"
    return LineGroup(heading, "count", "share", lines, notes)


class DocumentCounts(NamedTuple):
    """Token counts and losses of a tokenizer on documents.

    Attributes:
        tokens: number of tokens of each document.
        changed: number of documents that are not restored.
        bytes: total size in bytes.
        bytes_lost: upper bound on the lost bytes.
    """

    tokens: list[int]
    changed: int
    bytes: int
    bytes_lost: int


def _counts(tokenizer: Tokenizer, documents: Sequence[Document]) -> DocumentCounts:
    size = sum(len(document.text) for document in documents)
    if tokenizer.lossless:
        return DocumentCounts([tokenizer.count(document.text) for document in documents], 0, size, 0)
    from tokbench.tokenizer.roundtrip import bytes_lost

    tokens, changed, lost = [], 0, 0
    for document in documents:
        ids = tokenizer.encode(document.text)
        decoded = tokenizer.restored(ids)
        tokens.append(len(ids))
        changed += decoded != document.text
        lost += bytes_lost(document.text, decoded)
    return DocumentCounts(tokens, changed, size, lost)


def _lost(name: str, found: DocumentCounts) -> str:
    documents = pluralise(len(found.tokens), "document")
    return (
        f"  {name} does not restore all of the text: {found.changed:,} of {documents} changed, "
        f"at most {found.bytes_lost:,} of {found.bytes:,} bytes lost. Tokens are not ranked."
    )


NEAR = 0.001
STEPS = 2000
"""Limits of the search for a bound: relative gap, and number of steps."""


def gap_notes(
    a: ComparedTokenizer, b: ComparedTokenizer, sizes: Sizes, documents: Sequence[Document], reading: ImportOptions
) -> list[str]:
    """Return notes on the gap to the lower bound at every size, for the complete text and for each language."""
    from tokbench.optimum import MAX_PRETOKEN_BYTES
    from tokbench.optimum.bound import bounded_or_why
    from tokbench.optimum.gap import LowerBound, gap_of

    untagged = tag_of_untagged({document.language for document in documents})
    lacking = sum(not document.language for document in documents) if untagged else 0
    documents = [document._replace(language=document.language or untagged) for document in documents]
    texts = {"": documents}
    languages = sorted({document.language for document in documents})
    if len(languages) > 1:
        texts |= {one: [document for document in documents if document.language == one] for one in languages}
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
                    found = bounded_or_why(counted[scheme][language], size, gap=NEAR, steps=STEPS)
                    bounds[key] = None if found["bound"] is None else LowerBound.from_result(found)
                tokens = sum(tokenizer.count(document.text) for document in text)
                gap = gap_of(tokens, size, tokenizer, bounds.get(key))
                said = gap.reason if gap.value is None else f"{printed(gap.value, 'percent', 2)} % above {gap.n:,}"
                sentences.append(f"{name} none ({said})" if gap.value is None else f"{name} {said} ({scheme})")
            where = ", ".join(filter(None, (size_label(*pair), language)))
            notes.append(f"  gap, {where}: {listed(sentences)}.")
    if long := sum(sum(one.left_out.values()) for (_, language, _), one in bounds.items() if one and not language):
        notes.append(f"  Gaps exclude pre-tokens of more than {MAX_PRETOKEN_BYTES} bytes: {long:,} occurrences.")
    if len({scheme for scheme, *_ in bounds}) > 1:
        notes.append("  Gaps under different pre-tokenizations are not comparable.")
    return [*notes, "  gap: tokens above the proven minimum of any vocabulary of this size for the same pre-tokens."]


def _gap_comparison_counts(documents: Sequence[Document], scheme: str) -> "dict[str, PretokenCounts]":
    """Count the pre-tokens of each language; the empty name has those of all."""
    from tokbench.pretokens.count import count_languages, merge_counts

    parts = count_languages(((document.language, document.text) for document in documents), scheme)
    return parts | {"": merge_counts(list(parts.values()))}


BITS = "bits of the test documents under the n-gram model, end-of-text tokens included, divided by their bytes"


def ngram_part(
    a: ComparedTokenizer,
    b: ComparedTokenizer,
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
    if training is None:
        if len(documents) < 2:
            raise TokbenchError(f"--ngram-bits: {where} is one document; name a text to train on with --train")
        training, documents = documents[::2], documents[1::2]
    lines = []
    for pair in sizes:
        loaded = [one_of_several(one.folders[size], reading) for one, size in zip((a, b), pair, strict=True)]
        found = [_bits(tokenizer, training, documents) for tokenizer in loaded]
        of_document = [document["bytes"] for document in found[0]["documents"]]
        for of_a, of_b in zip(found[0]["models"], found[1]["models"], strict=True):
            if contrast := bits_per_byte(of_a["bits"], of_b["bits"], of_document):
                size = f"{size_label(*pair)}, order {of_a['order']}, {of_a['training_bytes']:,} bytes"
                what = f"bits per byte of token {of_a['order']}-grams"
                lines.append(Line(size, contrast, "lowest", what, BITS, sizes=[pair]))
    lines.sort(key=lambda line: line.what)
    heading = (
        f"Bits per byte of token n-gram models of {pluralise(len(documents), 'document')}: {where}, trained on "
        f"{pluralise(len(training), 'other document')}; intervals over documents"
    )
    return LineGroup(
        heading, "real", "real", lines, ["  Ignore a ranking that changes with the amount of training text."]
    )


def _bits(tokenizer: Tokenizer, training: Sequence[Document], tested: Sequence[Document]) -> dict[str, Any]:
    from tokbench.intrinsic.ngram_bits import ngram_bits
    from tokbench.io.numbers import HIGHEST_NGRAM_ORDER
    from tokbench.models.pretraining.order import encoded

    lost = 0 if tokenizer.lossless else sum(tokenizer.bytes_lost(document.text) for document in tested)
    if lost:
        raise TokbenchError(f"--ngram-bits: {tokenizer.name} loses {lost:,} bytes of the text; leave --ngram-bits out")
    return ngram_bits(
        lambda documents: encoded(tokenizer, documents),
        tokenizer.entries,
        lambda: training,
        tested,
        order=HIGHEST_NGRAM_ORDER,
        ids=tokenizer.id_limit,
    )


FORMAT = 1
"""Version of the schema; incremented if a key changes its meaning or is removed."""
DIFFERENCES = {"share": "(a - b) / b", "percent": "a - b", "real": "a - b"}
"""Formula of a difference, by its number format."""


def comparison_json(found: TokenizerComparison) -> dict[str, Any]:
    """Return the comparison as a JSON object."""
    said = verdict(found.parts)
    return {
        "format": FORMAT,
        "a": found.a,
        "b": found.b,
        "pretokenizations": dict(zip("ab", found.pretokenizers, strict=True)),
        "opened": {
            letter: _opened(one, [pair[place] for pair in found.sizes])
            for place, (letter, one) in enumerate(zip("ab", found.sides, strict=True))
        },
        "left_out": found.left_out or None,
        "confidence": CONFIDENCE,
        "resamples": RESAMPLES,
        "alpha": ALPHA,
        "tests": sum(line.holm is not None for part in found.parts for line in part.lines),
        "unequal_sizes": [
            {"size": size if size and size == other else None, "a": of_a, "b": of_b}
            for (size, other), (of_a, of_b) in found.unequal.items()
        ],
        "verdict": {
            "better": {side: [_told(one) for one in said.sure[side]] for side in ("a", "b")},
            "not_told_apart": [_told(one) for one in said.sure[""]],
            "not_tested": [
                _told(one) | {"reason": reason} for reason, things in said.untested.items() for one in things
            ],
            "single_numbers": {side: said.single[side] for side in ("a", "b")},
        },
        "parts": [
            {
                "heading": part.heading,
                "difference": DIFFERENCES[part.differs],
                "lines": [_line(line) for line in part.lines],
                "notes": [note.strip() for note in part.notes],
            }
            for part in found.parts
        ],
    }


def comparisons_json(found: Sequence[TokenizerComparison]) -> dict[str, Any]:
    """Return comparisons of several tokenizers with the first as a JSON object."""
    return {"format": FORMAT, "comparisons": [comparison_json(one) for one in found]}


def _opened(side: ComparedTokenizer, sizes: Sequence[int]) -> dict[str, Any]:
    return {
        "kind": side.kind,
        "place": side.place,
        "sizes": [size for size in sizes if size],
        "tokens": [side.tokens(size) for size in sizes],
    }


def _told(one: VerdictLine) -> dict[str, Any]:
    return {"what": f"{one.what} {one.under}".rstrip(), "at": list(one.at)}


def _line(line: Line) -> dict[str, Any]:
    contrast = line.contrast
    return {
        "name": line.name,
        "what": line.called,
        "definition": line.definition or None,
        "better_end": line.better,
        "a": contrast.a,
        "b": contrast.b,
        "difference": contrast.difference,
        "low": contrast.low,
        "high": contrast.high,
        "n": contrast.n,
        "p": contrast.p_value,
        "p_holm": line.holm,
        "trainings": line.trainings,
        "not_tested": line.untested or None,
        "ranked": line.ranked,
        "better": line.winner or None,
        "ahead": line.ahead or None,
    }
