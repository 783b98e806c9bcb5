"""SuperBPE: byte-pair encoding of pre-tokens, then of longer spans in which tokens may cross blanks.

Liu, Hayase, Hofmann, Oh, Smith and Choi, "SuperBPE: Space Travel for Language Models" (2025). Stage 1 splits text into
words, stage 2 into spans such as sentences. Stage 2 begins with the segmentation that the merges of stage 1 give in the
spans, and continues the same list of merges. Any adjacent tokens may join, parts of words too. The pre-tokenization of
the tokenizer is that of stage 2.

Reference: ``superbpe`` in :mod:`tokbench.reference.superwords`.
"""

import logging
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import regex
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from tokbench.candidates.initial import check_bytes, check_size
from tokbench.candidates.superwords import warn_short
from tokbench.construction import construction
from tokbench.construction.bpe import BpeOptions
from tokbench.construction.bpe import build as build_bpe
from tokbench.errors import TokbenchError
from tokbench.kernels.merge import MergeSegmenter
from tokbench.kernels.pair_training import PairTraining
from tokbench.options import Options
from tokbench.pretokenization import pretokenization_of
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.segmentation.merge import replay_merges
from tokbench.tokenizer.hugging_face import spelling_ranks
from tokbench.vocabulary import BYTES, Vocabulary

if TYPE_CHECKING:
    from tokbench.candidates.running_text import Documents

log = logging.getLogger(__name__)
MOST_SPANS = 0.5
"""Number of pre-tokens of stage 2, relative to those of stage 1, above which a warning is given."""
WORD_STARTS = regex.compile(r"(?:^|(?<= ))\p{L}")


def _check_setting(setting: str | dict[str, Any]) -> str | dict[str, Any]:
    try:
        return pretokenization_of(setting, "stage_1_pretokenization").setting
    except TokbenchError as error:
        raise ValueError(str(error)) from None


class StageOptions(Options):
    stage_1_share: float = Field(0.9, gt=0, le=1)
    """Share of the vocabulary, including the 256 bytes, that stage 1 fills."""

    stage_1_size: int | None = Field(None, ge=256)
    """Number of tokens of stage 1, including the 256 bytes. Default: by ``stage_1_share``."""


class SuperbpeOptions(StageOptions):
    stage_1_pretokenization: Annotated[str | dict[str, Any], AfterValidator(_check_setting)] = "superbpe_1"
    """Pre-tokenization of stage 1: a name, or a mapping with its ``method`` and options. That of stage 2 is the
    tokenizer's; the paper's is ``superbpe_2``."""

    max_words: int | None = Field(4, ge=1)
    """Most words of a token; null for no limit. A word begins at a space that is followed by a letter, or at a letter
    that begins the token. The released vocabularies have 4."""

    inner_colons: bool = False
    """True to allow tokens with a colon and a space before their end. Default: False, as in the released
    vocabularies."""


def stage_1_size(size: int, options: StageOptions) -> int:
    """Return the number of tokens of stage 1, including the 256 bytes.

    Raises:
        TokbenchError: it is larger than ``size``.
    """
    if options.stage_1_size is None:
        return max(int(options.stage_1_share * size), min(size, len(BYTES)))
    if options.stage_1_size > size:
        raise TokbenchError(
            f"stage_1_size {options.stage_1_size}: larger than the size {size}; use a smaller one, or stage_1_share"
        )
    return options.stage_1_size


@construction("superbpe", options=SuperbpeOptions, segmentation="merge", source="documents", cites=("liu2025",))
def build(
    documents: "Documents", size: int, options: SuperbpeOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Merge in the pre-tokens of stage 1 until it is full, then in those of stage 2 until there are ``size`` tokens.

    Counts and ties of pairs are as in the construction ``bpe``, in both stages. Limits exclude a merge from stage 2,
    and do not change the counts of others.

    Args:
        documents: running text, with the pre-tokenization of stage 2. The result does not depend on the order of the
            documents.
        size: number of tokens wanted. Fewer are returned if no pair is left to merge. If that is so in stage 1, stage 2
            adds more tokens, with a warning. Another warning says that stage 2 has more than half as many pre-tokens as
            stage 1, so that there are no tokens of several words.
        options: size and pre-tokenization of stage 1, and limits on the tokens of stage 2.
        seed: not used; nothing is random.
        threads: not used; training is single-threaded.

    Returns:
        Tokens in order of creation, with the merges that created them, int32 [merges, 3].

    Raises:
        TokbenchError: ``size`` is below 256 or below the size of stage 1, the unique pre-tokens of a stage have 2 GiB
            or more, or the documents are unreadable.
    """
    check_size(size)
    words = count_pretokens(documents.texts(), options.stage_1_pretokenization)
    first_size = stage_1_size(size, options)
    first = build_bpe(words, first_size, BpeOptions())
    warn_short("superbpe", len(first), first_size)
    spans = count_pretokens(documents.texts(), documents.scheme)
    check_bytes(spans, "superbpe")
    if len(words.counts) and spans.counts.sum() > MOST_SPANS * words.counts.sum():
        log.warning(
            "superbpe: pre-tokens of the tokenizer are hardly longer than those of stage 1, so no token spans several "
            "words; set pretokenization to superbpe_2, the paper's"
        )
    return continue_merges(first, spans, size, options)


def continue_merges(first: Vocabulary, spans: PretokenCounts, size: int, options: SuperbpeOptions) -> Vocabulary:
    """Continue the merges of a vocabulary in other pre-tokens until there are ``size`` tokens."""
    assert first.merges is not None
    text, offsets = MergeSegmenter(*replay_merges(first, "merge")).segment(spans.data, spans.offsets)
    ranks = np.concatenate([spelling_ranks(), np.arange(len(BYTES), len(first))]).astype(np.int64)
    training = PairTraining(text, offsets, spans.counts, list(first.tokens), ranks, overlapping=True)
    merges: list[tuple[int, int, int]] = []
    while len(training) < size and (best := training.best()) is not None:
        if is_barred(training.token(best[0]) + training.token(best[1]), options):
            training.bar()
            continue
        merges.append((*best[:2], training.merge()[0]))
    tokens = tuple(map(training.token, range(len(training))))
    added: NDArray[np.int32] = np.array(merges, np.int32).reshape(-1, 3)
    return Vocabulary(tokens, merges=np.concatenate([first.merges, added]))


def is_barred(token: bytes, options: SuperbpeOptions) -> bool:
    """Return whether a limit excludes a token."""
    if not options.inner_colons and b": " in token[:-1]:
        return True
    return options.max_words is not None and count_words(token) > options.max_words


def count_words(token: bytes) -> int:
    """Return the number of words: letters that begin the token or follow a space."""
    return len(WORD_STARTS.findall(token.decode(errors="replace")))
