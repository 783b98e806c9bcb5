"""Seeds of Unigram: the repeated substrings that pruning starts from, and the rules that restrict them."""

from collections.abc import Collection
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from tokbench.candidates.alphabet import frequent_characters, token_boundaries
from tokbench.kernels.elementary import logs_of
from tokbench.kernels.flat_arrays import gather
from tokbench.kernels.order import descending
from tokbench.kernels.suffix import Suffixes
from tokbench.kernels.threads import over_ranges, parallel_for
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES

PART_BYTES = 1 << 16
"""Smallest size of a part of the pre-tokens, in bytes."""
MOST_PARTS = 16


def repeats(
    counts: PretokenCounts,
    max_length: int,
    *,
    whole_characters: bool = False,
    by_occurrence: bool = False,
    distinct_ends: bool = False,
    threads: int = 1,
) -> NDArray[np.int64]:
    """Return substrings that occur repeatedly and cannot be extended: some two occurrences continue differently.

    By type, a substring counts once for each position in the unique pre-tokens, as in ``tokenizers``. By occurrence, a
    position counts as often as its pre-token, as in sentencepiece. In the suffix arrays of both libraries, all ends of
    pre-tokens are the same continuation. With distinct ends each end is a different one, so that pre-tokens that occur
    twice are also found.

    Args:
        counts: the pre-tokens, with fewer than 2**31 bytes.
        max_length: longest substring, in characters.
        whole_characters: characters are those of UTF-8, and an invalid byte is a character. If False (default) every
            byte is a character.
        by_occurrence: count by occurrence rather than by type. Default: False.
        distinct_ends: every end of a pre-token is a different continuation. Default: False.
        threads: number of threads. The result does not depend on it.

    Returns:
        int64 [m, 4] in byte order of the substrings: start and end of an occurrence in ``counts.data``, characters,
        count. All substrings of one character are included, and always counted by occurrence.

    Raises:
        ValueError: the text is too long.
    """
    parts = min(MOST_PARTS, 1 + len(counts.data) // PART_BYTES)
    edges = np.searchsorted(counts.offsets, np.linspace(0, len(counts.data), parts + 1))
    edges[0], edges[-1] = 0, len(counts)
    suffixes = Suffixes(
        counts.data, counts.offsets, counts.counts, edges, max_length, whole_characters, by_occurrence, distinct_ends
    )
    parallel_for(suffixes.tally, range(parts), threads)
    suffixes.place()
    parallel_for(suffixes.put, range(parts), threads)
    parallel_for(suffixes.search, range(suffixes.divide()), threads)
    return suffixes.found()


class SeedOptions(Options):
    alphabet: Literal["byte", "character"] = "byte"
    """Tokens that are never pruned: the bytes (``byte``), or the bytes and the frequent characters of the text
    (``character``), as in sentencepiece."""

    character_coverage: float = Field(0.9995, gt=0, le=1)
    """For the character alphabet: share of the text's characters that tokens may contain. The rarest remain bytes, and
    no longer token contains them."""

    max_token_length: int = Field(16, ge=1)
    """Longest token, in characters (in bytes without ``whole_characters``)."""

    whole_characters: bool = True
    """Tokens longer than a byte neither start nor end inside a UTF-8 character."""

    seed_size: int = Field(1_000_000, ge=1)
    """Number of seeds, the substrings with the greatest count times length."""

    seed_counts: Literal["types", "occurrences"] = "types"
    """Count of a seed longer than a character: its positions in the unique pre-tokens (``types``), as in
    ``tokenizers``, or its occurrences in the text (``occurrences``), as in sentencepiece."""

    seed_boundaries: Literal["shared", "distinct"] = "shared"
    """Treatment of the ends of pre-tokens. ``shared``: all ends are the same continuation, as in the suffix arrays of
    both libraries, which miss strings that only occur at the end of pre-tokens. ``distinct``: each end is different,
    which includes these strings and gives shorter token sequences."""

    split_by_unicode_script: bool = False
    """No token crosses from one script to another. Punctuation and digits are a script. Han, Hiragana and Katakana are
    one script."""

    split_by_number: bool = True
    """With ``split_by_unicode_script``: digits are treated like punctuation. If false they match every script."""

    split_by_whitespace: bool = False
    """A space occurs only at the start of a token."""

    split_digits: bool = False
    """Each digit is a separate token."""

    @model_validator(mode="after")
    def _check_alphabet(self) -> "SeedOptions":
        if self.alphabet == "character" and not self.whole_characters:
            raise ValueError("alphabet 'character' needs whole_characters; leave whole_characters out")
        return self


class CandidateTokens(NamedTuple):
    """Candidate tokens, starting with those that are never pruned: the 256 bytes, then characters.

    Attributes:
        data: uint8 [bytes], the concatenated tokens.
        offsets: int64 [tokens + 1], start of each token.
        scores: float64 [tokens], natural logarithms of probabilities; -inf for a dropped token.
        fixed: number of tokens that are never pruned.
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    scores: NDArray[np.float64]
    fixed: int


def repeated_substrings(
    counts: PretokenCounts, options: SeedOptions, alphabet: Collection[bytes] | None, threads: int
) -> NDArray[np.int64]:
    """Return substrings that may be tokens, int64 [m, 4], in the form of :func:`tokbench.candidates.seeds.repeats`."""
    substrings = repeats(
        counts,
        options.max_token_length,
        whole_characters=options.whole_characters,
        by_occurrence=options.seed_counts == "occurrences",
        distinct_ends=options.seed_boundaries == "distinct",
        threads=threads,
    )
    rules = options.split_by_unicode_script, options.split_by_whitespace, options.split_digits
    if not any(rules) and alphabet is None:
        return substrings
    crossed = np.zeros(len(counts.data) + 1, np.int32)
    np.cumsum(
        token_boundaries(
            counts,
            split_by_unicode_script=options.split_by_unicode_script,
            split_by_number=options.split_by_number,
            split_by_whitespace=options.split_by_whitespace,
            split_digits=options.split_digits,
            alphabet=alphabet,
        ),
        out=crossed[1:],
    )
    return substrings[crossed[substrings[:, 1]] == crossed[substrings[:, 0] + 1]]


def seeds(counts: PretokenCounts, options: SeedOptions, threads: int = 1) -> CandidateTokens:
    """Return the alphabet and the repeated substrings with the greatest count times length; ties prefer the greater
    bytes."""
    alphabet = frequent_characters(counts, options.character_coverage) if options.alphabet == "character" else None
    wide = [character for character in alphabet or () if len(character) > 1]
    substrings = repeated_substrings(counts, options, None if alphabet is None else set(alphabet), threads)
    starts, ends, characters, occurrences = np.ascontiguousarray(substrings[::-1].T)
    values = characters.astype(np.float64) * occurrences  # a long run of one character exceeds 64 bits
    single = characters == 1
    in_alphabet = single if alphabet is not None else ends - starts == 1
    places = {token: place for place, token in enumerate([*BYTES, *wide])}
    first = np.zeros(len(places))
    for index in np.flatnonzero(in_alphabet).tolist():
        first[places[counts.data[starts[index] : ends[index]].tobytes()]] = values[index]
    groups = [np.flatnonzero(single & ~in_alphabet), np.flatnonzero(~single & ~in_alphabet)]
    order = np.concatenate([group[descending(values[group])] for group in groups])
    best = order[: max(options.seed_size - int(in_alphabet.sum()), 0)]
    spelling = np.frombuffer(b"".join(places), np.uint8)
    lengths = np.fromiter(map(len, places), np.int64)
    data, offsets = gather(
        np.concatenate([spelling, counts.data]),
        np.concatenate([np.cumsum(lengths) - lengths, starts[best] + len(spelling)]),
        np.concatenate([lengths, ends[best] - starts[best]]),
        threads,
    )
    values = np.concatenate([first, values[best]])
    scores = np.empty(len(values))
    total = max(values.sum(), 1.0)

    def score(low: int, high: int) -> None:
        scores[low:high] = logs_of(values[low:high] / total)

    over_ranges(score, len(values), threads)
    return CandidateTokens(data, offsets, scores, len(first))
