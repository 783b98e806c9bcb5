"""Seeds of Unigram: the repeated substrings that pruning starts from, and the rules that say which may be tokens.

Repeated substrings of pre-tokens, found by several threads.
"""

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
"""Bytes of pre-tokens that are worth a part of their own."""
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
    """Substrings that occur repeatedly and could not be longer: some two occurrences are followed differently.

    By type, a substring counts once for each place in the unique pre-tokens, as for ``tokenizers``; by occurrence, a
    place counts as often as its pre-token, as for sentencepiece. In the suffix arrays of both, all ends of pre-tokens
    are one way to go on. With distinct ends each is a way of its own, so that pre-tokens which occur twice are found
    too.

    Args:
        counts: the pre-tokens, of fewer than 2**31 bytes.
        max_length: longest substring, in characters.
        whole_characters: characters are those of UTF-8, where a byte that is out of place is one of its own; else
            every byte is a character.
        by_occurrence: count by occurrence rather than by type.
        distinct_ends: every end of a pre-token is a way of its own to go on.
        threads: threads to use; the result does not depend on them.

    Returns:
        int64 [m, 4] in order of the substrings' bytes: start and end of an occurrence in ``counts.data``, characters,
        count. Substrings of one character are all there, always counted by occurrence.

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
    """What is always kept: the bytes; or beside them the frequent characters of the text, as in sentencepiece."""

    character_coverage: float = Field(0.9995, gt=0, le=1)
    """For the character alphabet: share of the text's characters that tokens are made of; the rarest are left in
    bytes, and no longer token holds them."""

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

    @model_validator(mode="after")
    def _characters_are_whole(self) -> "SeedOptions":
        if self.alphabet == "character" and not self.whole_characters:
            raise ValueError("alphabet 'character' needs whole_characters; leave whole_characters out")
        return self


class CandidateTokens(NamedTuple):
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


def repeated(
    counts: PretokenCounts, options: SeedOptions, alphabet: Collection[bytes] | None, threads: int
) -> NDArray[np.int64]:
    """Substrings that may be tokens, int64 [m, 4] as :func:`tokbench.candidates.seeds.repeats` gives them."""
    found = repeats(
        counts,
        options.max_token_length,
        whole_characters=options.whole_characters,
        by_occurrence=options.seed_counts == "occurrences",
        distinct_ends=options.seed_boundaries == "distinct",
        threads=threads,
    )
    rules = options.split_by_unicode_script, options.split_by_whitespace, options.split_digits
    if not any(rules) and alphabet is None:
        return found
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
    return found[crossed[found[:, 1]] == crossed[found[:, 0] + 1]]


def seeds(counts: PretokenCounts, options: SeedOptions, threads: int = 1) -> CandidateTokens:
    """The alphabet, and the repeated substrings of greatest count times length; ties fall to the greater bytes."""
    alphabet = frequent_characters(counts, options.character_coverage) if options.alphabet == "character" else None
    wide = [character for character in alphabet or () if len(character) > 1]
    found = repeated(counts, options, None if alphabet is None else set(alphabet), threads)
    starts, ends, characters, occurrences = np.ascontiguousarray(found[::-1].T)
    values = characters.astype(np.float64) * occurrences  # beyond 64 bits in a long run of one character
    single = characters == 1
    kept = single if alphabet is not None else ends - starts == 1
    places = {token: place for place, token in enumerate([*BYTES, *wide])}
    first = np.zeros(len(places))
    for index in np.flatnonzero(kept).tolist():
        first[places[counts.data[starts[index] : ends[index]].tobytes()]] = values[index]
    groups = [np.flatnonzero(single & ~kept), np.flatnonzero(~single & ~kept)]
    order = np.concatenate([group[descending(values[group])] for group in groups])
    chosen = order[: max(options.seed_size - int(kept.sum()), 0)]
    spelt = np.frombuffer(b"".join(places), np.uint8)
    lengths = np.fromiter(map(len, places), np.int64)
    data, offsets = gather(
        np.concatenate([spelt, counts.data]),
        np.concatenate([np.cumsum(lengths) - lengths, starts[chosen] + len(spelt)]),
        np.concatenate([lengths, ends[chosen] - starts[chosen]]),
        threads,
    )
    values = np.concatenate([first, values[chosen]])
    scores = np.empty(len(values))
    total = max(values.sum(), 1.0)

    def score(low: int, high: int) -> None:
        scores[low:high] = logs_of(values[low:high] / total)

    over_ranges(score, len(values), threads)
    return CandidateTokens(data, offsets, scores, len(first))
