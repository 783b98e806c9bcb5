"""SaGe: drop, in batches, the tokens whose removal hurts the likelihood of the text's contexts least.

Yehezkel and Pinter, "Incorporating Context into Subword Vocabularies" (2023), in version 2.0, which "Tokenization Is
More Than Compression" uses (section 2.2). Lines of text are segmented by the longest match, and skip-gram embeddings of
the tokens are trained on them. A token's loss is the log-likelihood of the contexts with its occurrences minus that
without the token. Batch sizes follow version 2.0.

Reference: :mod:`tokbench.reference.sage`.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from tokbench.candidates.initial import PAPER_INITIAL_SIZE, check_descending, check_size, fitting_tokens, own_schedule
from tokbench.construction import InitialName, construction
from tokbench.errors import TokbenchError
from tokbench.io.numbers import LARGEST_VOCABULARY
from tokbench.kernels.greedy import GreedySegmenter
from tokbench.kernels.sage import ablation_losses
from tokbench.kernels.skipgram import MAX_DIMENSIONS, train
from tokbench.kernels.threads import parallel_map
from tokbench.kernels.trie import Trie
from tokbench.options import Options
from tokbench.vocabulary import Vocabulary

if TYPE_CHECKING:
    from tokbench.candidates.running_text import Documents

PARTS = 16
"""Number of parts that the lines are processed in. Losses are integers, so the result does not depend on the
threads."""

Sizes = Annotated[tuple[Annotated[int, Field(ge=256)], ...], AfterValidator(check_descending)]


class SageOptions(Options):
    initial: InitialName = "ngram"
    """Construction of the initial vocabulary, or a mapping with its ``method`` and options."""
    initial_size: int = Field(PAPER_INITIAL_SIZE, ge=256, le=LARGEST_VOCABULARY)
    """Size of the initial vocabulary, before tokens that are too long are removed."""
    max_token_bytes: int = Field(16, ge=2)
    """Longest token, in bytes. Longer tokens of the initial vocabulary are removed."""
    lines: int = Field(1_000_000, ge=1)
    """Number of lines of text to read, chosen at random with the seed, in random order. A line ends at a line feed or
    at the end of its document. Contexts and segmentations do not cross lines."""
    schedule: Sizes | None = None
    """Descending sizes after each batch. Default: those of version 2.0, continued downwards."""
    embedding_schedule: Sizes = (262_144, 131_072, 65_536, 49_152, 40_960, 32_768)
    """Sizes of the schedule at which embeddings are retrained. They are always trained at the first size."""
    dimensions: int = Field(50, ge=1, le=MAX_DIMENSIONS)
    """Length of an embedding."""
    window: int = Field(5, ge=1)
    """Farthest context of the embeddings, in tokens."""
    negatives: int = Field(15, ge=1)
    """Negative samples per token for the embeddings."""
    epochs: int = Field(5, ge=1)
    """Passes over the text for the embeddings."""
    sample: float = Field(1e-3, ge=0, lt=1)
    """Share of the text above which occurrences of a token are randomly skipped in training embeddings. 0 skips
    none."""
    learning_rate: float = Field(0.025, gt=0)
    """Initial learning rate of the embeddings, which falls to 0.0001."""
    rows_as_released: bool = False
    """True to keep the rows of the embeddings in place while each batch renumbers the tokens, as in the released code
    of version 2.0. Until the next training, most tokens then have another token's embedding. Use it to compare with
    published vocabularies."""


class Lines(NamedTuple):
    """Concatenated lines of text.

    Attributes:
        data: uint8 [bytes], the lines with their newlines.
        offsets: int64 [lines + 1], start of each line.
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]


class SegmentedLines(NamedTuple):
    """Lines as tokens.

    Attributes:
        trie: the vocabulary.
        ids: int32 [n], the concatenated tokens of all lines.
        bounds: int64 [lines + 1], start of each line in ``ids``.
    """

    trie: Trie
    ids: NDArray[np.int32]
    bounds: NDArray[np.int64]


@construction(
    "sage", options=SageOptions, segmentation="greedy", source="documents", initial=True, cites=("yehezkel2023",)
)
def build(
    documents: "Documents",
    size: int,
    options: SageOptions,
    *,
    seed: int = 0,
    threads: int = 1,
    initial: Vocabulary,
) -> Vocabulary:
    """Drop tokens of ``initial`` until ``size`` are left: the 256 bytes, then the others in their initial order.

    A batch drops the tokens with the smallest loss, ties in their order. Tokens that do not occur in the lines have no
    loss. They do not count towards a size, may occur later, and are removed at the end. Fewer than ``size`` tokens are
    therefore returned if fewer occur. Embeddings are trained in one thread; the rest uses ``threads``. A token keeps
    its embedding until embeddings are retrained, unless ``rows_as_released`` is set.

    Raises:
        TokbenchError: ``size`` is below 256, or the documents are unreadable or contain no text.
    """
    check_size(size)
    tokens = fitting_tokens(initial, options.max_token_bytes)
    label = len(tokens)
    steps = schedule(label, size) if options.schedule is None else own_schedule(options.schedule, label, size)
    sizes = list(steps)
    if not sizes:
        return Vocabulary(tokens)
    lines = choose_lines(documents, options.lines, seed)
    data, offsets = Vocabulary(tokens).flat()
    lengths = np.diff(offsets).astype(np.int32)
    alive = np.ones(len(tokens), np.bool_)
    active = alive
    embeddings: NDArray[np.float32] | None = None
    while sizes:
        text = segment(lines, Trie(data, offsets, included=alive), threads)
        # Embeddings are trained again at some sizes only.
        if embeddings is None or label in options.embedding_schedule:
            embeddings = embed(text, len(tokens), options, seed)
            rows = embeddings[alive]
        elif options.rows_as_released:
            embeddings[alive] = rows[: alive.sum()]
        # Tokens in order of the loss without them; unused ones go first.
        losses, occurrences = ablate(lines, text, lengths, embeddings, threads)
        active = alive & ((occurrences > 0) | (lengths == 1))
        while sizes and sizes[0] >= active.sum():
            label = sizes.pop(0)
        if sizes:
            label = sizes.pop(0)
            candidates = np.flatnonzero(active & (lengths > 1))
            order = candidates[np.argsort(losses[candidates], kind="stable")]
            dropped = order[: int(active.sum()) - label]
            alive[dropped] = False
            active[dropped] = False
    return Vocabulary(tuple(token for token, stays in zip(tokens, active.tolist(), strict=True) if stays))


def schedule(initial_size: int, size: int) -> Iterator[int]:
    """Yield the vocabulary sizes after each batch, from below ``initial_size`` down to ``size``.

    The sizes are multiples of a step: 32,768 above 65,536, then 8,192 down to 32,768, then 16,384. Below 16,384 the
    step is an eighth of the smallest power of two not below the current size. From 262,144 this yields version 2.0's
    229,376, 196,608, 163,840, 131,072, 98,304, 65,536, 57,344, 49,152, 40,960, 32,768 and 16,384. The last size is
    ``size``. Nothing is yielded if ``initial_size`` is not larger.
    """
    present = initial_size
    while present > size:
        step = next((step for floor, step in ((65536, 32768), (32768, 8192), (16384, 16384)) if present > floor), 0)
        step = step or max(1, (1 << (present - 1).bit_length()) // 8)
        present = max(size, (present - 1) // step * step)
        yield present


def choose_lines(documents: "Documents", limit: int, seed: int) -> Lines:
    """Return the first ``limit`` lines, each with its newline, of a random order of all lines.

    At most twice as many lines, and the lines of one document, are in memory.

    Raises:
        TokbenchError: there is no line.
    """
    draws = np.random.default_rng(seed)
    lines: list[bytes] = []
    numbers: list[NDArray[np.uint64]] = []
    enough = np.uint64(2**64 - 1)
    for text in documents.texts():
        starts = _line_starts(text)
        line_numbers = draws.integers(1 << 64, size=len(starts) - 1, dtype=np.uint64)
        low = np.flatnonzero(line_numbers <= enough)
        lines += [text[start:end] for start, end in zip(starts[low].tolist(), starts[low + 1].tolist(), strict=True)]
        numbers.append(line_numbers[low])
        if len(lines) >= 2 * limit:
            lines, order = _foremost(lines, numbers, limit)
            numbers, enough = [order], order[-1]
    if not lines:
        raise TokbenchError("the documents contain no text; pass documents that are not empty")
    sample, _ = _foremost(lines, numbers, limit)
    offsets = np.zeros(len(sample) + 1, np.int64)
    np.cumsum([len(line) for line in sample], out=offsets[1:])
    return Lines(np.frombuffer(b"".join(sample), np.uint8), offsets)


def _foremost(
    lines: list[bytes], numbers: list[NDArray[np.uint64]], limit: int
) -> tuple[list[bytes], NDArray[np.uint64]]:
    """Return the lines with the smallest draws, in order of their draws, and the draws. Ties keep their order."""
    draws = np.concatenate(numbers)
    order = np.argsort(draws, kind="stable")[:limit]
    return [lines[index] for index in order.tolist()], draws[order]


def _line_starts(text: bytes) -> NDArray[np.int64]:
    """Return the starts of the lines and the end of the text. A line ends only after a line feed."""
    starts = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")) + 1
    last = [len(text)] if text and not text.endswith(b"\n") else []
    return np.array([0, *starts.tolist(), *last], np.int64)


def segment(lines: Lines, trie: Trie, threads: int) -> SegmentedLines:
    """Segment each line by the longest match."""
    segmenter = GreedySegmenter(trie, trie)

    def part(edge: tuple[int, int]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        cut: tuple[NDArray[np.int32], NDArray[np.int64]] = segmenter.segment(
            lines.data, lines.offsets[edge[0] : edge[1] + 1]
        )
        return cut

    parts = list(parallel_map(part, _edges(lines.offsets), threads))
    bounds = np.zeros(len(lines.offsets), np.int64)
    np.cumsum(np.concatenate([np.diff(part_bounds) for _, part_bounds in parts]), out=bounds[1:])
    return SegmentedLines(trie, np.concatenate([ids for ids, _ in parts]), bounds)


def embed(text: SegmentedLines, tokens: int, options: SageOptions, seed: int) -> NDArray[np.float32]:
    """Return embeddings, float32 [tokens, columns]; see :func:`tokbench.kernels.skipgram.train`."""
    embeddings: NDArray[np.float32] = train(
        text.ids,
        text.bounds,
        tokens,
        dimensions=options.dimensions,
        negatives=options.negatives,
        window=options.window,
        epochs=options.epochs,
        sample=options.sample,
        rate=options.learning_rate,
        seed=int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]),
    )
    return embeddings


def ablate(
    lines: Lines, text: SegmentedLines, lengths: NDArray[np.int32], embeddings: NDArray[np.float32], threads: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the loss (fixed point) and the occurrences of each token, int64 [tokens] each."""
    losses, occurrences = np.zeros(len(lengths), np.int64), np.zeros(len(lengths), np.int64)

    def part(edge: tuple[int, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        sums: tuple[NDArray[np.int64], NDArray[np.int64]] = ablation_losses(
            text.trie, lines.data, lines.offsets, text.ids, text.bounds, lengths, embeddings, *edge
        )
        return sums

    for loss, occurrence in parallel_map(part, _edges(lines.offsets), threads):
        losses += loss
        occurrences += occurrence
    return losses, occurrences


def _edges(offsets: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return the first and last line of parts with similar numbers of bytes."""
    cuts = np.searchsorted(offsets, np.linspace(0, offsets[-1], PARTS + 1)[1:-1])
    return list(pairwise([0, *cuts.tolist(), len(offsets) - 1]))
