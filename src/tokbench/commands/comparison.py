"""What ``tokbench compare`` compares: tokens of the same documents, an experiment's tables, its models' answers."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tokbench.commands.opened import AS_IT_IS, one_of_several, reject_unused
from tokbench.commands.reading import Reading
from tokbench.commands.sides import Side, Sizes, distinct, matched, side, size_label, unequal
from tokbench.corpus.documents import Document, read_documents
from tokbench.corpus.text_files import read_files
from tokbench.errors import TokbenchError
from tokbench.inputs.endings import AS_USUAL, Fields
from tokbench.report.terminal import Line, Part, Unequal, alike, corrected
from tokbench.report.wording import counted
from tokbench.statistics.contrast import token_counts
from tokbench.tokenizer import Tokenizer


class Further(NamedTuple):
    """What is compared on request.

    Attributes:
        gap: whether to bound the tokens of the documents.
        ngram_bits: whether to train token n-gram models.
        training: texts to train them on; every other document where there is none.
    """

    gap: bool = False
    ngram_bits: bool = False
    training: Sequence[str] = ()


NOTHING = Further()
TOKENS = "tokens of the documents, without end-of-text tokens; their difference over those of b"

OF_OTHER_TEXTS = "The experiment's own measures are of other texts and left out; compare without FILES to see them."


class Compared(NamedTuple):
    """Two tokenizers side by side.

    Attributes:
        a, b: what they are called.
        parts: what they are compared by.
        unequal: sizes of a and of b at which their vocabularies are not of equal size, with the tokens of each.
        pretokenizers: of a and of b.
        sides: where a and b were found.
        sizes: sizes of a and of b that are compared.
        left_out: what the experiment has and is not compared, and why; empty where there is nothing.
    """

    a: str
    b: str
    parts: Sequence[Part]
    unequal: Unequal
    pretokenizers: tuple[str, str]
    sides: tuple[Side, Side]
    sizes: Sizes
    left_out: str

    @property
    def notes(self) -> list[str]:
        """Lines that say where the two were found and what was left out."""
        used = ([size for size, _ in self.sizes], [size for _, size in self.sizes])
        found = zip((self.a, self.b), self.sides, used, strict=True)
        lines = [f"{name}: {one.described(sizes)}." for name, one, sizes in found]
        return [*lines, *filter(None, [self.left_out])]


def comparison(
    a: str,
    b: str,
    files: Sequence[str],
    results: str | None,
    limit: int,
    fields: Fields = AS_USUAL,
    reading: Reading = AS_IT_IS,
    further: Further = NOTHING,
) -> Compared:
    """The comparison of two tokenizers; the arguments are those of the command.

    Raises:
        TokbenchError: there is no such tokenizer, or nothing to compare the two on.
    """
    left, right = side(a, results), side(b, results)
    reject_unused(reading, [*left.folders.values(), *right.folders.values()])
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
            from tokbench.commands.gap_comparison import gap_notes

            parts[-1].notes.extend(gap_notes(left, right, sizes, found, reading))
        if further.ngram_bits and found:
            from tokbench.commands.ngram_comparison import ngram_part

            parts.append(ngram_part(left, right, sizes, where, found, trained, reading))
    if experiment is not None and not files:
        from tokbench.commands.experiment_comparison import experiment_parts

        parts += experiment_parts(left, right, sizes, experiment, counted=bool(given))
    if not (parts := [part for part in parts if part.lines]):
        raise TokbenchError("nothing to compare these two on; name files of text after them")
    apart = unequal(left, right, sizes)
    names = distinct(left, right)
    first, second = (_pretokenizer(*one, reading) for one in zip(names, (left, right), strict=True))
    left_out = OF_OTHER_TEXTS if files and experiment is not None else ""
    return Compared(*names, alike(corrected(parts), apart), apart, (first, second), (left, right), sizes, left_out)


def _pretokenizer(name: str, one: Side, reading: Reading) -> str:
    """Return the label of a tokenizer's pre-tokenizer; one that works through its library has a label of its own."""
    tokenizer = one_of_several(next(iter(one.folders.values())), reading)
    return f"{name}'s own" if tokenizer.library_name else tokenizer.scheme.label


def _named(files: Sequence[str]) -> str:
    return files[0] if len(files) == 1 else f"{files[0]} and {counted(len(files) - 1, 'other')}"


def _evaluation(experiment: Path | None, limit: int) -> list[tuple[str, list[Document]]]:
    """Documents to encode of every evaluation split, and what they are."""
    folders = [] if experiment is None else sorted((experiment / "corpus").glob("*/evaluation"))
    return [
        (f"the evaluation split of {folder.parent.name}", list(islice(read_documents(shards), limit)))
        for folder in folders
        if (shards := sorted(folder.glob("*.parquet")))
    ]


def _tokens(a: Side, b: Side, sizes: Sizes, where: str, documents: Sequence[Document], reading: Reading) -> Part:
    """Tokens of the same documents."""
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
    heading = f"Tokens of {counted(len(documents), 'document')}: {where}; intervals over documents"
    return Part(heading, "count", "share", lines, notes)


class Counts(NamedTuple):
    """What a tokenizer makes of documents.

    Attributes:
        tokens: of each.
        changed: how many are not given back.
        bytes: of all of them.
        bytes_lost: at most so many are not found again.
    """

    tokens: list[int]
    changed: int
    bytes: int
    bytes_lost: int


def _counts(tokenizer: Tokenizer, documents: Sequence[Document]) -> Counts:
    size = sum(len(document.text) for document in documents)
    if tokenizer.lossless:
        return Counts([tokenizer.count(document.text) for document in documents], 0, size, 0)
    from tokbench.adapters.roundtrip import bytes_lost

    tokens, changed, lost = [], 0, 0
    for document in documents:
        ids = tokenizer.encode(document.text)
        decoded = tokenizer.decode(ids)
        tokens.append(len(ids))
        changed += decoded != document.text
        lost += bytes_lost(document.text, decoded)
    return Counts(tokens, changed, size, lost)


def _lost(name: str, found: Counts) -> str:
    documents = counted(len(found.tokens), "document")
    return (
        f"  {name} does not give back all of the text: {found.changed:,} of {documents} not restored, "
        f"at most {found.bytes_lost:,} of {found.bytes:,} bytes lost. Tokens are not ranked."
    )
