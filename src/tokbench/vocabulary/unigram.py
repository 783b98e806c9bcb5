"""Unigram: from many substrings, drop again and again those whose loss would hurt the likelihood of the text least.

Kudo, "Subword Regularization" (2018), section 3.2, on bytes, with the procedure of the trainers of sentencepiece and
Hugging Face ``tokenizers``: seeds are repeated substrings; expectation-maximisation alternates with pruning; the
maximisation is that of a sparse prior (digamma; Liang and Klein, "Structured Bayesian Nonparametric Models with
Variational Inference", 2007); tokens expected less than half a time are dropped.

The defaults are the rules of ``tokenizers``, ``whole_characters`` apart, which its byte-level trainer does not know.
Sentencepiece's are ``alphabet: character``, ``seed_counts: occurrences``, ``split_by_unicode_script: true``,
``split_by_whitespace: true`` and ``final_cut: score``, on pre-tokens that are words with the space before them.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from scipy.special import digamma

from tokbench.kernels.suffix import repeats
from tokbench.kernels.trie import Trie
from tokbench.kernels.unigram import count_best, losses
from tokbench.kernels.unigram import expect as add_expected
from tokbench.pretokens import PretokenCounts
from tokbench.registry import Options, TokbenchError
from tokbench.tokens import BYTES, Vocabulary
from tokbench.vocabulary import construction
from tokbench.vocabulary.barriers import barriers
from tokbench.vocabulary.characters import covering_characters

PARTS = 8
"""Parts in which pre-tokens and tokens are gone through; fixed, so that sums are the same for any number of threads."""

MIN_EXPECTED = 0.5
"""Tokens expected less often than this are dropped."""

SLACK = 1.1
"""Pruning stops at this many times the size; the rest are cut without another round."""

UNSEEN_PENALTY = 10.0
"""Nats by which a byte without an estimate of its own is less likely than the least likely token."""

MAX_BYTES = 2**31 - 1
"""Bytes of unique pre-tokens that the kernels can address."""


class UnigramOptions(Options):
    alphabet: Literal["byte", "character"] = "byte"
    """What is always kept: the bytes; or beside them the characters of the text, as in sentencepiece."""

    character_coverage: float = Field(0.9995, gt=0, le=1)
    """For the character alphabet: share of the text's characters that are kept; the rarest are left in bytes, and no
    longer token holds them."""

    max_token_length: int = Field(16, ge=1)
    """Longest token, in characters (in bytes unless ``whole_characters``)."""

    whole_characters: bool = True
    """Tokens longer than a byte neither start nor end inside a UTF-8 character."""

    seed_size: int = Field(1_000_000, ge=1)
    """Substrings to start from, by count times length."""

    seed_counts: Literal["types", "occurrences"] = "types"
    """What is counted for a seed longer than a character: its places in the unique pre-tokens, as in ``tokenizers``;
    or its occurrences in the text, as in sentencepiece."""

    seed_boundaries: Literal["shared", "distinct"] = "shared"
    """Whether all ends of pre-tokens are one way in which a seed goes on, as in the suffix arrays of both libraries,
    which pass over strings that are only seen at the end of pre-tokens; or each is one of its own, which takes these
    in and makes shorter sequences of tokens."""

    split_by_unicode_script: bool = False
    """No token crosses from one script to another; punctuation and digits are a script, and Han, Hiragana and Katakana
    are one."""

    split_by_number: bool = True
    """With ``split_by_unicode_script``: digits count as punctuation does, rather than with every script."""

    split_by_whitespace: bool = False
    """A space is only found at the start of a token."""

    split_digits: bool = False
    """A digit is a token by itself."""

    shrinking_factor: float = Field(0.75, gt=0, lt=1)
    """Share of the tokens that a round of pruning keeps."""

    sub_iterations: int = Field(2, ge=1)
    """Steps of expectation-maximisation before each round of pruning."""

    final_cut: Literal["need", "score"] = "need"
    """What decides about the last tenth, which is cut without another round: the loss of the last round, as in
    ``tokenizers``, or the probability, as in sentencepiece."""

    @model_validator(mode="after")
    def _characters_are_whole(self) -> "UnigramOptions":
        if self.alphabet == "character" and not self.whole_characters:
            raise ValueError("alphabet 'character' needs whole_characters; leave whole_characters out")
        return self


T = TypeVar("T")


class Pieces(NamedTuple):
    """The tokens under consideration, those that are always kept first: the 256 bytes, then characters.

    Attributes:
        data: uint8 [bytes], the tokens laid end to end.
        offsets: int64 [tokens + 1], where each starts.
        scores: float64 [tokens], natural logarithms of probabilities; -inf for a token that has been dropped.
        kept: how many are always kept.
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    scores: NDArray[np.float64]
    kept: int


def gather(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Lay the slices ``data[start:end]`` end to end; int64 [slices + 1] offsets say where each starts."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(ends - starts, out=offsets[1:])
    places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], ends - starts)
    return data[places], offsets


def over_parts(work: Callable[[int, int], T], offsets: NDArray[np.int64], threads: int) -> list[T]:
    """Do ``work(first, last)`` on :data:`PARTS` runs of items of about as many bytes each; results in their order."""
    cuts = np.searchsorted(offsets, np.linspace(offsets[0], offsets[-1], PARTS + 1)[1:-1])
    edges = [0, *cuts.tolist(), len(offsets) - 1]
    if threads <= 1:
        return [work(first, last) for first, last in pairwise(edges)]
    with ThreadPoolExecutor(min(threads, PARTS)) as pool:
        return list(pool.map(work, edges[:-1], edges[1:]))


def repeated(counts: PretokenCounts, options: UnigramOptions, alphabet: list[bytes] | None) -> NDArray[np.int64]:
    """Substrings that may be tokens, int64 [m, 4] as :func:`tokbench.kernels.suffix.repeats` gives them."""
    found: NDArray[np.int64] = repeats(
        counts.data,
        counts.offsets,
        counts.counts,
        options.max_token_length,
        options.whole_characters,
        options.seed_counts == "occurrences",
        options.seed_boundaries == "distinct",
    )
    rules = options.split_by_unicode_script, options.split_by_whitespace, options.split_digits
    if not any(rules) and alphabet is None:
        return found
    crossed = np.zeros(len(counts.data) + 1, np.int32)
    np.cumsum(
        barriers(
            counts,
            split_by_unicode_script=options.split_by_unicode_script,
            split_by_number=options.split_by_number,
            split_by_whitespace=options.split_by_whitespace,
            split_digits=options.split_digits,
            alphabet=None if alphabet is None else set(alphabet),
        ),
        out=crossed[1:],
    )
    return found[crossed[found[:, 1]] == crossed[found[:, 0] + 1]]


def seeds(counts: PretokenCounts, options: UnigramOptions, alphabet: list[bytes] | None) -> Pieces:
    """The alphabet, and the repeated substrings of greatest count times length; ties fall to the greater bytes."""
    found = repeated(counts, options, alphabet)
    starts, ends, characters, occurrences = found.T
    values = (characters * occurrences).astype(np.float64)
    single = ends - starts == 1
    first = np.zeros(256 + len(alphabet or ()))
    first[counts.data[starts[single]]] = values[single]
    if alphabet is not None:
        ids = {character: 256 + index for index, character in enumerate(alphabet)}
        wide = np.flatnonzero((characters == 1) & ~single)
        for index in wide.tolist():
            first[ids[counts.data[starts[index] : ends[index]].tobytes()]] = values[index]
        single = characters == 1
    order = np.lexsort((-np.arange(len(found)), -values, characters > 1))
    chosen = order[~single[order]][: max(options.seed_size - int(single.sum()), 0)]
    spelt = np.frombuffer(b"".join(alphabet or ()), np.uint8)
    widths = np.concatenate([np.ones(256, np.int64), np.array([len(word) for word in alphabet or ()], np.int64)])
    data, offsets = gather(
        np.concatenate([np.arange(256, dtype=np.uint8), spelt, counts.data]),
        np.concatenate([np.cumsum(widths) - widths, starts[chosen] + widths.sum()]),
        np.concatenate([np.cumsum(widths), ends[chosen] + widths.sum()]),
    )
    values = np.concatenate([first, values[chosen]])
    with np.errstate(divide="ignore"):
        return Pieces(data, offsets, np.log(values / max(values.sum(), 1.0)), len(first))


def select(pieces: Pieces, chosen: NDArray[np.int64]) -> Pieces:
    """Those that are always kept and the chosen others, in the order given."""
    chosen = np.concatenate([np.arange(pieces.kept), chosen])
    data, offsets = gather(pieces.data, pieces.offsets[chosen], pieces.offsets[chosen + 1])
    return Pieces(data, offsets, pieces.scores[chosen], pieces.kept)


def with_every_byte(scores: NDArray[np.float64], kept: int = 256) -> NDArray[np.float64]:
    """The scores with a finite one for what is kept and has none: :data:`UNSEEN_PENALTY` below the least."""
    least = scores[np.isfinite(scores)].min(initial=0.0)
    unseen = (np.arange(len(scores)) < kept) & np.isneginf(scores)
    return np.where(unseen, least - UNSEEN_PENALTY, scores)


def expect(counts: PretokenCounts, trie: Trie, pieces: Pieces, threads: int) -> tuple[NDArray[np.float64], float]:
    """Expected occurrences of each token, float64 [tokens], and the log-likelihood of the text in nats."""
    scores = with_every_byte(pieces.scores, pieces.kept)
    probabilities = np.exp(scores)

    def work(first: int, last: int) -> tuple[NDArray[np.float64], float]:
        expected = np.zeros(len(scores))
        return expected, add_expected(
            trie, probabilities, counts.data, counts.offsets, counts.counts, first, last, expected
        )

    results = over_parts(work, counts.offsets, threads)
    return np.sum([expected for expected, _ in results], axis=0), sum(likelihood for _, likelihood in results)


def maximise(scores: NDArray[np.float64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """New scores from expected occurrences; tokens expected too seldom are dropped, and those dropped stay so."""
    kept = np.isfinite(scores) & (expected >= MIN_EXPECTED)
    result = np.full(len(scores), -np.inf)
    result[kept] = digamma(expected[kept]) - digamma(expected[kept].sum())
    return result


def by_loss(counts: PretokenCounts, trie: Trie, pieces: Pieces, threads: int) -> NDArray[np.int64]:
    """The tokens beyond the alphabet that are worth keeping, most needed first; ties in their present order."""
    scores = with_every_byte(pieces.scores, pieces.kept)

    def best(first: int, last: int) -> NDArray[np.int64]:
        occurrences = np.zeros(len(scores), np.int64)
        count_best(trie, scores, counts.data, counts.offsets, counts.counts, first, last, occurrences)
        return occurrences

    occurrences = np.sum(over_parts(best, counts.offsets, threads), axis=0)
    loss = np.empty(len(scores))
    over_parts(
        lambda first, last: losses(trie, scores, occurrences, pieces.data, pieces.offsets, first, last, loss),
        pieces.offsets,
        threads,
    )
    loss[: pieces.kept] = -np.inf
    order = np.argsort(-loss, kind="stable")
    return order[: np.count_nonzero(loss > -np.inf)]


@construction("unigram", options=UnigramOptions, segmentation="likelihood")
def build(counts: PretokenCounts, size: int, options: UnigramOptions, *, seed: int = 0, threads: int = 1) -> Vocabulary:
    """Prune repeated substrings to the ``size`` tokens that a unigram model needs most, the 256 bytes included.

    Args:
        counts: pre-tokens; no token crosses them.
        size: tokens wanted. Fewer are returned when there are not as many repeated substrings worth keeping.
        options: seeds and pruning.
        seed: not used; nothing is random.
        threads: threads to use; the result does not depend on them.

    Returns:
        The bytes, then the other tokens by descending score, ties in byte order; with scores. Bytes without an
        estimate score :data:`UNSEEN_PENALTY` below the least likely token, so that any text can be segmented.

    Raises:
        TokbenchError: the unique pre-tokens come to 2 GiB or more, or the alphabet is larger than ``size``.
    """
    if counts.data.size > MAX_BYTES:
        raise TokbenchError(
            f"unigram: the unique pre-tokens come to {counts.data.size} bytes, the limit is {MAX_BYTES}; "
            "use a pre-tokenization with shorter pre-tokens or a smaller tokenizer split"
        )
    alphabet = covering_characters(counts, options.character_coverage) if options.alphabet == "character" else None
    if alphabet is not None and 256 + len(alphabet) > size:
        raise TokbenchError(
            f"unigram: the alphabet of {256 + len(alphabet)} bytes and characters exceeds the vocabulary size "
            f"{size}; lower character_coverage or raise the size"
        )
    pieces = seeds(counts, options, alphabet)
    kept = pieces.kept
    enough = max(int(SLACK * size), kept)
    while True:
        trie = Trie(pieces.data, pieces.offsets)
        for _ in range(options.sub_iterations):
            expected, _ = expect(counts, trie, pieces, threads)
            pieces = pieces._replace(scores=maximise(pieces.scores, expected))
        estimated = np.isfinite(pieces.scores)
        left = int(estimated.sum())
        if left <= enough:
            break
        target = max(enough, int(options.shrinking_factor * left))
        needed = by_loss(counts, trie, pieces, threads)[: target - int(estimated[:kept].sum())]
        pieces = select(pieces, needed)
    # By now the order is that of need, which decides what the slack is cut to.
    chosen = kept + np.flatnonzero(estimated[kept:])
    if options.final_cut == "score":
        chosen = chosen[np.argsort(-pieces.scores[chosen], kind="stable")]
    pieces = select(pieces, chosen[: max(size - kept, 0)])
    text = pieces.data.tobytes()
    longer = [text[start:end] for start, end in zip(pieces.offsets[256:-1], pieces.offsets[257:], strict=True)]
    scores = with_every_byte(pieces.scores, kept)
    order = sorted(range(len(longer)), key=lambda index: (-scores[256 + index], longer[index]))
    tokens = (*BYTES, *(longer[index] for index in order))
    return Vocabulary(tokens, scores=np.concatenate([scores[:256], scores[256:][order]]))
