"""Picky BPE: byte-pair encoding that removes the tokens which a merge makes redundant.

"BPE Gets Picky: Efficient Vocabulary Refinement During Tokenizer Training", section 3. After a merge of x1 and x2, the
share of x1's occurrences that it has used up (intersection over self, IoS) decides whether x1 stays, then likewise for
x2. Where the paper's text and the released code differ, this follows the code: IoS must exceed the threshold, so that
a threshold of 1 is vanilla BPE; a removed token that comes up again is restored; a pair that spells a present token
becomes that token, which is not counted twice (the released code does count it, and ends with fewer tokens).

Of pairs with equal counts the smallest (left, right) is merged: bytes in the order of :mod:`tokbench.vocabulary.bpe`,
then characters by code point, then merged tokens in order of first creation. The released code takes the pair that was
inserted first into its table, so that published figures can be met closely, but not to the last token.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.kernels.picky import Training
from tokbench.pretokens import PretokenCounts
from tokbench.registry import Options, TokbenchError
from tokbench.tokens import BYTES, Event, Vocabulary
from tokbench.vocabulary import construction
from tokbench.vocabulary.bpe import byte_ranks

MAX_BYTES = 2**31 - 1
"""Bytes of unique pre-tokens that the kernel can address."""


class PickyBpeOptions(Options):
    threshold: float = Field(0.9, gt=0, le=1)
    """A token is removed where a merge uses up a greater share of its occurrences (T); 1 removes nothing."""

    alphabet: Literal["byte", "character"] = "byte"
    """What is merged at first, and never removed: bytes, or the characters of the text, which then follow the 256
    bytes in the vocabulary."""

    coverage: float = Field(0.9999, gt=0, le=1)
    """Share of the text's characters that belong to the character alphabet; the rarest ones are left to their bytes
    and take no part in merges. Without effect on the byte alphabet."""


@construction("picky_bpe", options=PickyBpeOptions, segmentation="events")
def build(
    counts: PretokenCounts, size: int, options: PickyBpeOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Merge and remove until ``size`` tokens are present, the 256 bytes and the alphabet's characters included.

    Args:
        counts: pre-tokens; no merge crosses them.
        size: tokens wanted. Fewer are returned when no pair is left to merge.
        options: the threshold and the alphabet. The paper's sizes count neither unused bytes nor bytes apart from
            ASCII characters, but four special tokens.
        seed: not used; nothing is random.
        threads: not used; training takes one thread.

    Returns:
        The alphabet, then the present tokens in order of first creation, with all events.

    Raises:
        TokbenchError: the unique pre-tokens come to 2 GiB or more, or the alphabet alone exceeds ``size``.
    """
    check_addressable(counts, "picky_bpe")
    alphabet: tuple[bytes, ...] = BYTES
    text, offsets = counts.data.astype(np.int32), counts.offsets
    if options.alphabet == "character":
        alphabet, text, offsets = character_alphabet(counts, options.coverage)
    if len(alphabet) > size:
        raise TokbenchError(
            f"picky_bpe: the alphabet has {len(alphabet)} tokens, the size is {size}; "
            "ask for a larger vocabulary, a lower coverage or the byte alphabet"
        )
    training = Training(text, offsets, counts.counts, alphabet_ranks(len(alphabet)), options.threshold)
    training.run(size)
    tokens, events = spell_out(training, alphabet)
    present, _ = training.state()
    return Vocabulary(tuple(token for token, stays in zip(tokens, present, strict=True) if stays), events=events)


def train_without_removal(counts: PretokenCounts, size: int, method: str) -> Training:
    """Vanilla BPE on bytes by the same kernel, which keeps the frequencies of tokens.

    Raises:
        TokbenchError: the unique pre-tokens come to 2 GiB or more.
    """
    check_addressable(counts, method)
    training = Training(
        counts.data.astype(np.int32), counts.offsets, counts.counts, alphabet_ranks(len(BYTES)), threshold=1.0
    )
    training.run(size)
    return training


def check_addressable(counts: PretokenCounts, method: str) -> None:
    """Refuse more text than the kernel can address.

    Raises:
        TokbenchError: the unique pre-tokens come to 2 GiB or more.
    """
    if counts.data.size > MAX_BYTES:
        raise TokbenchError(
            f"{method}: the unique pre-tokens come to {counts.data.size} bytes, the limit is {MAX_BYTES}; "
            "use a pre-tokenization with shorter pre-tokens or a smaller tokenizer split"
        )


def character_alphabet(
    counts: PretokenCounts, coverage: float
) -> tuple[tuple[bytes, ...], NDArray[np.int32], NDArray[np.int64]]:
    """Find the covered characters and cut the pre-tokens at them.

    The rarest characters are left out, of equal counts the one with the greatest code point first, as long as their
    occurrences in all stay strictly below N - round(coverage * N), with N those of all characters. Bytes that are not
    UTF-8 are no characters.

    Returns:
        alphabet: the 256 bytes, then the covered characters of two bytes or more by code point.
        text: int32 [n], the characters as ids of the alphabet; -1 for what is left to its bytes.
        offsets: int64 [words + 1], where each pre-token starts in ``text``.
    """
    words = [word.decode("utf-8", "surrogateescape") for word, _ in counts.items()]
    offsets = np.zeros(len(words) + 1, np.int64)
    np.cumsum([len(word) for word in words], out=offsets[1:])
    codes, places = np.unique(
        np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.uint32), return_inverse=True
    )
    occurrences = np.zeros(len(codes), np.int64)
    np.add.at(occurrences, places, np.repeat(counts.counts, np.diff(offsets)))
    characters = (codes < 0xD800) | (codes > 0xDFFF)
    occurrences[~characters] = 0
    total = int(occurrences.sum())
    order = np.lexsort((-codes.astype(np.int64), occurrences))
    rare = order[np.cumsum(occurrences[order]) < total - round(coverage * total)]
    covered = characters.copy()
    covered[rare] = False
    ids = np.where(covered & (codes < 0x80), codes.astype(np.int32), -1).astype(np.int32)
    long = np.flatnonzero(covered & (codes >= 0x80))
    ids[long] = np.arange(len(BYTES), len(BYTES) + len(long))
    return BYTES + tuple(chr(code).encode() for code in codes[long].tolist()), ids[places], offsets


def alphabet_ranks(size: int) -> NDArray[np.int64]:
    """int64 [size], the place of each symbol of the alphabet among ties: bytes first, the others by id."""
    return np.concatenate([byte_ranks(), np.arange(len(BYTES), size)])


def spell_out(training: Training, alphabet: tuple[bytes, ...]) -> tuple[list[bytes], tuple[Event, ...]]:
    """Every token that ever was, in order of first creation, and the events in bytes."""
    rows, parts = training.history()
    tokens = list(alphabet)
    events = []
    ids = parts.tolist()
    for split, token, first, last, _, _ in rows.tolist():
        event = Event(bool(split), tuple(tokens[part] for part in ids[first:last]))
        if token == len(tokens):
            tokens.append(event.token)
        events.append(event)
    return tokens, tuple(events)
