"""Picky BPE: byte-pair encoding that removes tokens which a merge makes redundant.

Chizhov, Arnett, Korotkova and Yamshchikov, "BPE Gets Picky: Efficient Vocabulary Refinement During Tokenizer Training"
(2024), section 3. After a merge of x1 and x2, x1 is removed if the merge used a large enough share of its occurrences
(intersection over self, IoS). The same test then applies to x2. If the paper's text and the released code differ, this
module follows the code, with one exception:

- IoS must exceed the threshold, so that a threshold of 1 is plain BPE. The text has "at least", see ``inclusive``.
- A removed token that is created again is restored.
- A pair that spells an existing token becomes that token and does not count as a new one. This is the exception: the
  released code counts it and returns fewer tokens than requested.

Of pairs with equal counts the smallest (left, right) is merged: bytes in the order of :mod:`tokbench.construction.bpe`,
then characters, then merged tokens in order of first creation. The released code merges the pair that was inserted
first into its table. Published figures can therefore be matched closely, but not to the last token.

Reference: ``train_picky_bpe`` in :mod:`tokbench.reference.bpe`.
"""

from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.candidates.alphabet import count_characters, cut_by_longest_match
from tokbench.candidates.initial import check_alphabet, check_bytes
from tokbench.candidates.reserved import ReservedOptions, without_reserved
from tokbench.construction import construction
from tokbench.kernels.picky import Training
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer.hugging_face import spelling_ranks
from tokbench.vocabulary import BYTES, Event, Vocabulary


class AlphabetOptions(ReservedOptions):
    alphabet: Literal["byte", "character"] = "byte"
    """Symbols that merging starts from and never removes: the bytes (default), or the characters of the text.
    Characters of two or more bytes follow the 256 bytes in the vocabulary."""

    character_coverage: float = Field(0.9999, gt=0, le=1)
    """For the character alphabet: share of the text's characters that belong to it. The rarest remain bytes and are not
    merged."""


class PickyBpeOptions(AlphabetOptions):
    threshold: float = Field(0.9, gt=0, le=1)
    """A token is removed if a merge uses more than this share of its occurrences (T). At 1 nothing is removed."""

    inclusive: bool = False
    """True if a share equal to the threshold also removes the token, as in the paper's text (section 3, IoS ≥ T).
    Default: False, as in the released code."""


@construction("picky_bpe", options=PickyBpeOptions, segmentation="events", cites=("chizhov2024",))
def build(
    counts: PretokenCounts, size: int, options: PickyBpeOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Merge and remove until ``size`` tokens are present, including the 256 bytes and the alphabet's characters.

    The paper's sizes include four special tokens, and only those bytes that are characters of the text.

    Args:
        counts: pre-tokens. No merge crosses their boundaries.
        size: number of tokens wanted. Fewer are returned if no pair is left to merge.
        options: threshold and alphabet.
        seed: not used; nothing is random.
        threads: not used; training is single-threaded.

    Returns:
        The alphabet, then the present tokens in order of first creation, with all events.

    Raises:
        TokbenchError: the unique pre-tokens have 2 GiB or more, or the alphabet is larger than ``size``.
    """
    below = float(np.nextafter(options.threshold, 0)) if options.inclusive else options.threshold
    alphabet, training = train(counts, size, options, below, "picky_bpe")
    tokens, events = spell_out(training, alphabet)
    present, _ = training.state()
    return Vocabulary(tuple(token for token, stays in zip(tokens, present, strict=True) if stays), events=events)


def train(
    counts: PretokenCounts, size: int, options: AlphabetOptions, threshold: float, method: str
) -> tuple[list[bytes], Training]:
    """Split the text into symbols of the alphabet and train until ``size`` tokens are present.

    Returns:
        The alphabet, and the training run, which may be continued.

    Raises:
        TokbenchError: see :func:`build`. The message names ``method``.
    """
    check_bytes(counts, method)
    counts = without_reserved(counts, options.reserved, method)
    alphabet, text, offsets = list(BYTES), counts.data.astype(np.int32), counts.offsets
    if options.alphabet == "character":
        alphabet, text, offsets = cut_into_characters(counts, options.character_coverage)
    check_alphabet(alphabet, size, method)
    ranks = np.concatenate([spelling_ranks(), np.arange(len(BYTES), len(alphabet))])
    training = Training(text, offsets, counts.counts, ranks, threshold)
    training.run(size)
    return alphabet, training


def cut_into_characters(
    counts: PretokenCounts, coverage: float
) -> tuple[list[bytes], NDArray[np.int32], NDArray[np.int64]]:
    """Choose the characters of the alphabet and split the pre-tokens into them.

    The rarest characters are left out as long as their occurrences in total stay below N - round(coverage N), where N
    is the number of all characters. Of equal counts the greatest code point is left out first.

    Returns:
        alphabet: the 256 bytes, then the chosen characters of two or more bytes, by descending count, then bytes.
        text: int32 [n], the concatenated pre-tokens as ids of the alphabet; -1 for a byte of any other character.
        offsets: int64 [pre-tokens + 1], start of each pre-token in ``text``.
    """
    characters = count_characters(counts)
    budget = sum(characters.values()) - round(coverage * sum(characters.values()))
    common = sorted(characters, key=lambda character: (-characters[character], character))
    rare = 0
    while common and rare + characters[common[-1]] < budget:
        rare += characters[common.pop()]
    alphabet = list(BYTES) + [character.encode() for character in common if ord(character) >= 128]
    text, offsets = cut_by_longest_match(counts, alphabet)
    symbols = np.arange(len(alphabet), dtype=np.int32)
    symbols[: len(BYTES)] = -1
    narrow = [ord(character) for character in common if ord(character) < 128]
    symbols[narrow] = narrow
    return alphabet, symbols[text], offsets


def spell_out(training: Training, alphabet: list[bytes]) -> tuple[list[bytes], tuple[Event, ...]]:
    """Return every token ever created, in order of first creation, and the events in bytes."""
    rows, bounds, parts = training.history()
    tokens = list(alphabet)
    events = []
    ids = parts.tolist()
    for (split, token, _, _), (start, end) in zip(rows.tolist(), pairwise(bounds.tolist()), strict=True):
        event = Event(bool(split), tuple(tokens[part] for part in ids[start:end]))
        if token == len(tokens):
            tokens.append(event.token)
        events.append(event)
    return tokens, tuple(events)
