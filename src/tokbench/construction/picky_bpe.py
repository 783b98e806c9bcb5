"""Picky BPE: byte-pair encoding that removes the tokens which a merge makes redundant.

Chizhov, Arnett, Korotkova and Yamshchikov, "BPE Gets Picky: Efficient Vocabulary Refinement During Tokenizer Training"
(2024), section 3. After a merge of x1 and x2, the share of x1's occurrences that it has used up (intersection over
self, IoS) decides whether x1 stays, then likewise for x2. Where the paper's text and the released code differ this
follows the code, but for one count: IoS must exceed the threshold, so that a threshold of 1 is vanilla BPE (the text
has "at least", see ``inclusive``); a removed token that comes up again is restored; a pair that spells a present token
becomes that token, and is not counted as a new one (the released code counts it, and ends with fewer tokens than it was
asked for).

Of pairs with equal counts the smallest (left, right) is merged: bytes in the order of :mod:`tokbench.construction.bpe`,
then characters, then merged tokens in order of first creation. The released code takes the pair that was inserted
first into its table, so that published figures can be met closely, but not to the last token.

Reference: ``picky_bpe`` in :mod:`tokbench.reference.bpe`.
"""

from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.candidates.alphabet import count_characters, cut_by_longest_match
from tokbench.candidates.initial import check_alphabet, check_bytes
from tokbench.construction import construction
from tokbench.kernels.picky import Training
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer.hugging_face import spelling_ranks
from tokbench.vocabulary import BYTES, Event, Vocabulary


class AlphabetOptions(Options):
    alphabet: Literal["byte", "character"] = "byte"
    """What merging starts from and never removes: the bytes, or the characters of the text, of which those of two
    bytes or more follow the 256 bytes in the vocabulary."""

    character_coverage: float = Field(0.9999, gt=0, le=1)
    """For the character alphabet: share of the text's characters that belong to it; the rarest are left in bytes and
    are not merged."""


class PickyBpeOptions(AlphabetOptions):
    threshold: float = Field(0.9, gt=0, le=1)
    """A token is removed where a merge uses up a greater share of its occurrences (T); 1 removes nothing."""

    inclusive: bool = False
    """Whether a share that equals the threshold removes the token too, as the paper's text has it (section 3, IoS ≥ T).
    The released code removes it only above the threshold."""


@construction("picky_bpe", options=PickyBpeOptions, segmentation="events", cites=("chizhov2024",))
def build(
    counts: PretokenCounts, size: int, options: PickyBpeOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Merge and remove until ``size`` tokens are present, the 256 bytes and the alphabet's characters included.

    The paper's sizes count four special tokens and of the bytes only those that are characters of the text.

    Args:
        counts: pre-tokens; no merge crosses them.
        size: tokens wanted. Fewer are returned when no pair is left to merge.
        options: the threshold and the alphabet.
        seed: not used; nothing is random.
        threads: not used; training takes one thread.

    Returns:
        The alphabet, then the present tokens in order of first creation, with all events.

    Raises:
        TokbenchError: the unique pre-tokens come to 2 GiB or more, or the alphabet is larger than ``size``.
    """
    below = float(np.nextafter(options.threshold, 0)) if options.inclusive else options.threshold
    alphabet, training = train(counts, size, options, below, "picky_bpe")
    tokens, events = spell_out(training, alphabet)
    present, _ = training.state()
    return Vocabulary(tuple(token for token, stays in zip(tokens, present, strict=True) if stays), events=events)


def train(
    counts: PretokenCounts, size: int, options: AlphabetOptions, threshold: float, method: str
) -> tuple[list[bytes], Training]:
    """Lay out the text in symbols of the alphabet and train until ``size`` tokens are present.

    Returns:
        The alphabet, and the training run, which may be continued.

    Raises:
        TokbenchError: see :func:`build`; the message names ``method``.
    """
    check_bytes(counts, method)
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
    """Choose the characters that belong to the alphabet and cut the pre-tokens into them.

    The rarest characters are left out, of equal counts the one with the greatest code point first, as long as their
    occurrences in all stay below N - round(coverage N), N being those of all characters.

    Returns:
        alphabet: the 256 bytes, then the chosen characters of two bytes or more, by count descending, then bytes.
        text: int32 [n], the pre-tokens end to end in ids of the alphabet; -1 for a byte of anything else.
        offsets: int64 [pre-tokens + 1], where each pre-token starts in ``text``.
    """
    found = count_characters(counts)
    budget = sum(found.values()) - round(coverage * sum(found.values()))
    common = sorted(found, key=lambda character: (-found[character], character))
    rare = 0
    while common and rare + found[common[-1]] < budget:
        rare += found[common.pop()]
    alphabet = list(BYTES) + [character.encode() for character in common if ord(character) >= 128]
    text, offsets = cut_by_longest_match(counts, alphabet)
    symbols = np.arange(len(alphabet), dtype=np.int32)
    symbols[: len(BYTES)] = -1
    narrow = [ord(character) for character in common if ord(character) < 128]
    symbols[narrow] = narrow
    return alphabet, symbols[text], offsets


def spell_out(training: Training, alphabet: list[bytes]) -> tuple[list[bytes], tuple[Event, ...]]:
    """Every token that ever was, in order of first creation, and the events in bytes."""
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
