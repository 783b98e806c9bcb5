"""Parity-aware BPE: each merge is chosen for the language that is worst off.

Foroutan and others, "Parity-Aware Byte-Pair Encoding: Improving Cross-lingual Fairness in Tokenization" (2026),
algorithm 1. There is one list of merges for all languages. A step chooses the language whose development set has the
most tokens. It merges the most frequent pair of that language's training words, in the words of all languages. The
forms of the paper are options:

- base: a development set, which should be the same text in all languages;
- base with ``ratios``: no development set; the language whose training words are compressed least for its ratio;
- hybrid (``hybrid_merges`` or ``hybrid_share``): the first merges are chosen by the sum of all languages;
- window (``window``): a language that was chosen too often of late is passed over.

Ties, limits and the end of the training follow the authors' program, with three differences. If the window allows no
language, the worst one is chosen, where the program fails. With a hybrid and a window, ``alpha`` is divided by the
number of languages, where the program divides by one more. Counts of pairs are always exact. Merges of a hybrid's
first part do not enter the window.

Reference: ``parity_bpe`` in :mod:`tokbench.reference.parity`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from tokbench.candidates.initial import check_bytes
from tokbench.construction import construction
from tokbench.errors import TokbenchError, listed
from tokbench.kernels.parity_bpe import ALL_TOGETHER, COMPLETE, NO_LANGUAGE, Training
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.by_language import LanguageCounts
from tokbench.tokenizer.hugging_face import spelling_ranks
from tokbench.vocabulary import BYTES, Vocabulary

UNNAMED = "(no language)"


class ParityBpeOptions(Options):
    languages: list[str] | None = Field(None, min_length=1)
    """Languages that are read, in the order of ties: the first one is chosen. Default: all, in order of their tags."""

    ratios: dict[str, Annotated[float, Field(gt=0)]] | None = None
    """Wanted compression of each language's training words, relative to each other, without a development set.
    Default: 1 for each."""

    hybrid_merges: int | None = Field(None, ge=0)
    """Number of first merges that are chosen by the counts of all languages together (hybrid). Default: see
    ``hybrid_share``."""

    hybrid_share: float = Field(0.0, ge=0, le=1)
    """Share of the merges that are chosen by the counts of all languages together, rounded down. Default: 0, no hybrid;
    the paper's hybrid has one half."""

    window: int | None = Field(None, ge=1)
    """Number of the last choices that limit the next one. Default: no limit; the authors' program has 100."""

    alpha: float = Field(2.0, gt=0)
    """A language is passed over if its share of the window exceeds ``alpha`` / number of languages. The window divides
    by its full length from the start."""

    min_pair_count: int = Field(2, ge=1)
    """Smallest count of a pair that is merged, in the chosen language. Default: 2, as in the authors' program."""

    exhausted: Literal["stop", "skip"] = "stop"
    """End of a language's pairs: ``stop`` ends the training, as in the authors' program; ``skip`` goes on with the
    other languages."""

    ties: Literal["printable", "bytes", "bpe"] = "printable"
    """Order of pairs with equal counts. ``printable`` merges the greatest (left, right) by code points of GPT-2's
    printable characters, as in the authors' program. ``bytes`` merges the greatest by bytes. ``bpe`` merges the pair
    that the construction ``bpe`` would."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.hybrid_merges is not None and self.hybrid_share:
            raise ValueError("hybrid_merges and hybrid_share exclude each other; remove one")
        if self.languages and self.ratios and set(self.languages) != set(self.ratios):
            raise ValueError("ratios: give one to each language of 'languages', and to no other")
        return self


@construction(
    "parity_bpe",
    options=ParityBpeOptions,
    segmentation="merge",
    languages=True,
    cites=("foroutan2026", "sennrich2016"),
)
def build(
    counts: PretokenCounts, size: int, options: ParityBpeOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Merge the most frequent pair of the language that is worst off until there are ``size`` tokens.

    Args:
        counts: pre-tokens by language, with or without a development set. Counts without languages are one language.
        size: number of tokens wanted, including the 256 bytes. Fewer are returned if a language has no pair to merge.
        options: form, order and limits.
        seed: not used; nothing is random.
        threads: not used; training is single-threaded.

    Returns:
        Tokens in order of creation, with their merges. The record has ``languages``; ``merge_languages``, the number
        of the language that each merge was chosen for (null for all together); ``tokens``, those of each language's
        development set or, without one, training text; and ``stopped``, the reason of an early end (null if there is
        none).

    Raises:
        TokbenchError: languages of the text, the development set and the options differ, a language has no text, there
            are both ratios and a development set, or the unique pre-tokens have 2 GiB or more.
    """
    texts, development = _by_language(counts, options)
    names = list(texts)
    ratios = np.array([1.0 if options.ratios is None else options.ratios[name] for name in names])
    common_merges = options.hybrid_merges
    if common_merges is None:
        common_merges = int(options.hybrid_share * max(size - len(BYTES), 0))
    # Texts for training, and development texts for the choice of languages only.
    order = np.arange(256) if options.ties == "bytes" else spelling_ranks()
    training = Training(order.astype(np.int64), options.ties == "bpe", options.min_pair_count)
    for text in texts.values():
        _add(training, text, True)
    for text in (development or {}).values():
        _add(training, text, False)
    if common_merges:
        _add(training, counts if len(names) == len(_by_name(counts)) else LanguageCounts.of(texts), True)
    pairs, merge_languages, reason = training.run(
        size,
        development is not None,
        common_merges,
        options.window or 0,
        options.alpha,
        ratios / ratios[0],
        options.exhausted == "skip",
    )
    # The record has the lengths of the texts that the choice of languages was based on.
    first = len(names) if development is not None else 0
    record = {
        "languages": names,
        "merge_languages": [None if number == ALL_TOGETHER else number for number in merge_languages.tolist()],
        "tokens": dict(zip(names, training.token_counts()[first : first + len(names)], strict=True)),
        "stopped": _stop_reason(reason, names, len(pairs), options.min_pair_count),
    }
    return _vocabulary(pairs, record)


def _by_name(counts: PretokenCounts) -> Mapping[str, PretokenCounts]:
    return counts.by_language if isinstance(counts, LanguageCounts) else {"": counts}


def _by_language(
    counts: PretokenCounts, options: ParityBpeOptions
) -> tuple[dict[str, PretokenCounts], dict[str, PretokenCounts] | None]:
    """Return the training text and the development set of each language, in the order of ties."""
    texts = _by_name(counts)
    development = counts.development if isinstance(counts, LanguageCounts) else None
    names = options.languages or list(texts)
    tests = list(development if development is not None else texts) if options.languages is None else names
    for text_name, parts in (("training text", texts), ("development set", development if development else texts)):
        missing = [
            name or UNNAMED for name in dict.fromkeys((*names, *tests)) if name not in parts or not len(parts[name])
        ]
        if missing:
            raise TokbenchError(
                f"parity_bpe: the {text_name} has nothing in {listed(missing)}; add it, or list the other languages in "
                "the option languages"
            )
    if options.ratios is not None:
        if development is not None:
            raise TokbenchError("parity_bpe: ratios are for training without a development set; remove one of them")
        if set(options.ratios) != set(names):
            raise TokbenchError(f"parity_bpe: give ratios to {listed([name or UNNAMED for name in names])} only")
    for text in (*texts.values(), *(development or {}).values()):
        check_bytes(text, "parity_bpe")
    training = {name: texts[name] for name in names}
    return training, None if development is None else {name: development[name] for name in names}


def _add(training: Training, text: PretokenCounts, queued: bool) -> None:
    training.add(text.data.astype(np.int32), text.offsets, text.counts, queued)


def _stop_reason(reason: int, names: list[str], merges: int, least: int) -> str | None:
    """Return why training ended early; None if it did not."""
    if reason == COMPLETE:
        return None
    if reason == NO_LANGUAGE:
        return f"after {merges:,} merges no language had a pair with a count of {least:,} or more"
    where = "all languages together" if reason == ALL_TOGETHER else f"'{names[reason]}'"
    return f"after {merges:,} merges {where} had no pair with a count of {least:,} or more"


def _vocabulary(pairs: NDArray[np.int32], record: dict[str, Any]) -> Vocabulary:
    tokens = list(BYTES)
    for left, right in pairs.tolist():
        tokens.append(tokens[left] + tokens[right])
    results = np.arange(len(BYTES), len(tokens), dtype=np.int32)
    return Vocabulary(tuple(tokens), merges=np.column_stack([pairs, results]), record=record)
