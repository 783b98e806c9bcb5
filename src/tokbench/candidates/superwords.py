"""Training of superwords: merges inside pre-tokens with their counts, runs of pre-tokens, and merges of pre-tokens.

Schmidt, Reddy, Tanner and Pinter, "Boundless Byte Pair Encoding" (2025), and its two phases in "Faster Superword
Tokenization" (2026). Phase 1 is byte-pair encoding of pre-tokens, optionally with removals as in Picky BPE. The symbols
of phase 2 are pre-tokens that are one token each. Runs of them never cross documents, and are counted once.

Reference: ``boundless`` in :mod:`tokbench.reference.superwords`.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray
from pydantic import Field

from tokbench.candidates.initial import check_bytes, check_size
from tokbench.kernels.encode import Encoder
from tokbench.kernels.pair_training import PairTraining
from tokbench.kernels.superwords import RunCounter, SuperwordSegmenter, greedy_pieces
from tokbench.kernels.threads import parallel_map
from tokbench.options import Options
from tokbench.pretokenization import pretokenization_of
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.segmentation.superwords import word_segmenter
from tokbench.tokenizer.hugging_face import spelling_ranks
from tokbench.vocabulary import BYTES, Event, Vocabulary

if TYPE_CHECKING:
    from tokbench.candidates.running_text import Documents

log = logging.getLogger(__name__)
BYTES_AT_ONCE = 1 << 20
"""Approximate bytes of documents that a thread segments at a time. The runs do not depend on it."""
ONLY_LETTERS = r"(?=.*\p{L})(?:\p{L}\p{M}*|[ _'\u2019])+"
"""Pre-tokens that may join others if nothing but letters is allowed."""


class SuperwordOptions(Options):
    tau: float | None = Field(None, gt=0, allow_inf_nan=False)
    """Share of its occurrences at or above which a merge removes one of its two tokens, if that has two bytes or more
    (Picky BPE's intersection over self). Above 1 nothing is removed. Default: no removals."""

    removed_as: Literal["bytes", "parts"] = "bytes"
    """Replacement of a removed token: its bytes (default), or the tokens that its first merge joined. Parts that were
    removed themselves are replaced in the same way."""

    pair_rule: Literal["reference", "bpe"] = "reference"
    """Counts and ties of pairs inside pre-tokens. ``reference`` (default): pairs do not overlap in a run of equal
    tokens, and ties go to the smallest pair of byte strings, as in the released code. ``bpe``: overlapping pairs
    count, and ties are as in the construction ``bpe``."""

    letters: Literal["any", "only"] = "any"
    """Pre-tokens that may join others: those with a letter (``any``, default), or those of letters with their marks,
    spaces, underscores and apostrophes (also U+2019) with at least one letter (``only``)."""

    split_runs: bool = False
    """True to split runs of pre-tokens into frequent n-grams before phase 2, the longest first from the left. It needs
    less time and memory for large texts, and loses some supermerges. Default: False."""

    split_min_count: int = Field(15, ge=1)
    """For ``split_runs``: smallest count of an n-gram. The count of the last merge of phase 1 is used if it is
    larger."""

    split_max_length: int = Field(30, ge=2)
    """For ``split_runs``: longest n-gram, in pre-tokens."""


class WordMerge(NamedTuple):
    """A merge of phase 1, with the removals that follow it.

    Attributes:
        event: the merge.
        pair_count: count of the pair before the merge.
        removals: removals, each with the parts that replace the token.
    """

    event: Event
    pair_count: int
    removals: tuple[Event, ...]


class Runs(NamedTuple):
    """Distinct runs of two or more pre-tokens.

    Attributes:
        symbols: int32 [n], concatenated runs, as ids of single-token pre-tokens.
        bounds: int64 [runs + 1], start of each run.
        counts: int64 [runs], occurrences of each run.
    """

    symbols: NDArray[np.int32]
    bounds: NDArray[np.int64]
    counts: NDArray[np.int64]


def train_words(counts: PretokenCounts, size: int, options: SuperwordOptions, method: str) -> list[WordMerge]:
    """Merge the most frequent pairs inside pre-tokens until ``size`` tokens are present or no pair is left.

    The second case is a warning, which names ``method``.

    Raises:
        TokbenchError: the unique pre-tokens have 2 GiB or more, or ``size`` is below 256. The message names ``method``.
    """
    check_size(size)
    check_bytes(counts, method)
    training = PairTraining(
        counts.data.astype(np.int32),
        counts.offsets,
        counts.counts,
        list(BYTES),
        spelling_ranks().astype(np.int64) if options.pair_rule == "bpe" else None,
        overlapping=options.pair_rule == "bpe",
        removals=options.tau is not None,
    )
    # Ids of the current tokens, and the pair that made each token.
    present = set(range(len(BYTES)))
    halves: dict[int, tuple[int, int]] = {}

    def replacement(token: int) -> list[int]:
        if options.removed_as == "bytes":
            return list(training.token(token))
        pending, pieces = [*reversed(halves[token])], []
        while pending:
            part = pending.pop()
            if part in present:
                pieces.append(part)
            else:
                pending += reversed(halves[part])
        return pieces

    merges = []
    while len(present) < size and (best := training.best()) is not None:
        pair, count = best[:2], best[2]
        before = {part: training.frequency(part) for part in pair}
        token, occurrences = training.merge()
        halves.setdefault(token, pair)
        present.add(token)
        # Parts that occurred almost only in this pair are removed (Picky BPE).
        removals = []
        for part, frequency in before.items():
            if options.tau is not None and part >= len(BYTES) and occurrences / frequency >= options.tau:
                present.discard(part)
                pieces = replacement(part)
                training.remove(part, pieces)
                removals.append(Event(True, tuple(map(training.token, pieces))))
        event = Event(False, (training.token(pair[0]), training.token(pair[1])))
        merges.append(WordMerge(event, count, tuple(removals)))
    warn_short(method, len(present), size)
    return merges


def warn_short(method: str, count: int, size: int) -> None:
    """Warn that pre-tokens have too few pairs for the first part of a construction, so the second fills the rest."""
    if count < size:
        log.warning(
            f"{method}: merges inside pre-tokens give only {count:,} of {size:,} tokens, and superwords fill the rest; "
            "use more text or a smaller size"
        )


def events_of(merges: Iterable[WordMerge]) -> tuple[Event, ...]:
    """Return the events of merges in order, removals after their merge."""
    return tuple(event for merge in merges for event in (merge.event, *merge.removals))


def joinable_tokens(tokens: Sequence[bytes], letters: str) -> NDArray[np.bool_]:
    """Return which tokens may join others if they are a pre-token, bool [tokens]; see ``SuperwordOptions.letters``."""
    match = regex.compile(r"\p{L}").search if letters == "any" else regex.compile(ONLY_LETTERS).fullmatch
    return np.array([match(token.decode(errors="replace")) is not None for token in tokens], np.bool_)


def count_runs(
    documents: "Documents", vocabulary: Vocabulary, options: SuperwordOptions, threads: int, last_count: int
) -> Runs:
    """Count the maximal runs of pre-tokens that are one token of ``vocabulary`` and may join others.

    Args:
        documents: running text.
        vocabulary: all tokens of phase 1, with their events.
        options: rules for letters and for splitting runs.
        threads: number of threads. The result does not depend on it.
        last_count: count of the last merge of phase 1.
    """
    sides = joinable_tokens(vocabulary.tokens, options.letters)
    segmenter = SuperwordSegmenter(word_segmenter(vocabulary), sides, np.empty((0, 3), np.int32))
    scheme = pretokenization_of(documents.scheme)
    counter = RunCounter()
    encoders: list[Encoder] = []  # Those that no thread uses.

    def mark_joinable(texts: list[bytes]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the ids of documents, ``~id`` for pre-tokens that may join others, and the start of each document."""
        if scheme.scanner is None:
            parts = [segmenter.marked(np.frombuffer(text, np.uint8), scheme.boundaries(text)) for text in texts]
            return np.concatenate([np.empty(0, np.int32), *parts]), np.cumsum([0, *map(len, parts)], dtype=np.int64)
        try:
            encoder = encoders.pop()
        except IndexError:
            encoder = Encoder(scheme.scanner, segmenter)
        ids, bounds = encoder.encode_all(texts)
        encoders.append(encoder)
        return ids, bounds

    for ids, bounds in parallel_map(mark_joinable, _groups(documents.texts()), threads):
        counter.add(ids, bounds)
    runs = Runs(*counter.counted())
    if not options.split_runs:
        return runs
    return split_runs(runs, max(options.split_min_count, last_count), options.split_max_length)


def _groups(texts: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield texts in groups of about ``BYTES_AT_ONCE`` bytes."""
    group: list[bytes] = []
    size = 0
    for text in texts:
        group.append(text)
        size += len(text)
        if size >= BYTES_AT_ONCE:
            yield group
            group, size = [], 0
    yield group


def split_runs(runs: Runs, min_count: int, max_length: int) -> Runs:
    """Split each run from left to right into the longest n-grams that occur ``min_count`` times or more.

    Occurrences of an n-gram may overlap. Pre-tokens that start no such n-gram are left out.
    """
    n = len(runs.symbols)
    lengths = np.diff(runs.bounds)
    room = np.repeat(runs.bounds[1:], lengths) - np.arange(n)  # pre-tokens from a position to the end of its run
    weights = np.repeat(runs.counts, lengths)
    longest = np.ones(n, np.int32)
    names = runs.symbols.astype(np.int64)  # of the n-grams of the current length; -1 for rare ones
    for length in range(2, max_length + 1):
        starts = np.flatnonzero(room >= length)
        starts = starts[(names[starts] >= 0) & (names[starts + 1] >= 0)]
        _, grams = np.unique(names[starts] << 32 | names[starts + 1], return_inverse=True)
        counts = np.zeros(grams.max(initial=-1) + 1, np.int64)
        np.add.at(counts, grams, weights[starts])
        frequent = counts[grams] >= min_count
        if not frequent.any():
            break
        names = np.full(n, -1, np.int64)
        names[starts[frequent]] = grams[frequent]
        longest[starts[frequent]] = length
    pieces, owners = greedy_pieces(longest, runs.bounds)
    counter = RunCounter()
    counter.add_counted(runs.symbols, pieces, runs.counts[owners])
    return Runs(*counter.counted())


class Phases(NamedTuple):
    """Phase 1 and the input of phase 2.

    Attributes:
        merges: all merges of phase 1.
        words: all tokens of phase 1, with their events.
        training: state of phase 2, whose initial tokens are those of ``words``.
    """

    merges: list[WordMerge]
    words: Vocabulary
    training: PairTraining


def begin(documents: "Documents", size: int, options: SuperwordOptions, threads: int, method: str) -> Phases:
    """Train phase 1 to ``size`` tokens, and count the runs of phase 2. The documents are read twice.

    Raises:
        TokbenchError: as :func:`train_words`, or the documents are unreadable.
    """
    counts = count_pretokens(documents.texts(), documents.scheme)
    merges = train_words(counts, size, options, method)
    words = word_vocabulary(merges)
    runs = count_runs(documents, words, options, threads, merges[-1].pair_count if merges else 0)
    return Phases(merges, words, PairTraining(*runs, list(words.tokens)))


def word_vocabulary(merges: Sequence[WordMerge]) -> Vocabulary:
    """Return the tokens that merges and removals leave, in order of their last creation, with the events."""
    present = dict.fromkeys(BYTES)
    for merge in merges:
        present.setdefault(merge.event.token)
        for removal in merge.removals:
            present.pop(removal.token, None)
    return Vocabulary(tuple(present), events=events_of(merges))


def next_supermerge(training: PairTraining) -> tuple[tuple[bytes, bytes], int] | None:
    """Return the foremost pair of pre-tokens and its count; None if no pair is left."""
    best = training.best()
    return None if best is None else ((training.token(best[0]), training.token(best[1])), best[2])
