"""Picky BPE on word counts: time to train and to segment, events, and what the vocabulary is like, beside BPE.

Word lists are taken as in the figures of Picky BPE's released code on the UN corpus: words that begin with the mark of
a space (U+0120), which becomes their start mark. Sizes count 4 special tokens and the characters, but not the bytes.

    python benchmarks/bench_picky.py words_un.txt.gz counts_un.txt.gz
    python benchmarks/bench_picky.py counts.parquet --sizes 8192 --thresholds 0.9
"""

import argparse
import re
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from tokbench.construction import bpe_trimmed, picky_bpe, scaffold_bpe
from tokbench.construction.bpe_trimmed import BpeTrimmedOptions
from tokbench.construction.picky_bpe import AlphabetOptions, PickyBpeOptions, cut_into_characters
from tokbench.counting.word_list import read_word_list
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import Vocabulary

SPECIAL = 4
"""Special tokens that published sizes count."""

T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Processor seconds of a call, the least of three, and what it returns."""
    least = float("inf")
    for _ in range(3):
        start = time.process_time()
        result = work()
        least = min(least, time.process_time() - start)
    return least, result


def marked_words(words: str, counts: str) -> PretokenCounts:
    """The words of a list that begin with U+0120 and hold no white space, with the start mark U+2581 in its place."""
    every = [(word.decode(), count) for word, count in read_word_list(words, counts).items()]
    return PretokenCounts.from_pairs(
        ("▁".encode() + word[1:].encode(), count) for word, count in every if re.fullmatch(r"Ġ\S+", word)
    )


def tokens_per_word(tokenizer: Tokenizer, counts: PretokenCounts) -> tuple[float, float]:
    """Processor seconds of segmentation, and tokens for each word, a character outside the alphabet being one."""
    seconds, (ids, bounds) = timed(lambda: tokenizer.segment(counts))
    begins = np.concatenate([np.zeros(1, np.int64), np.cumsum((ids < 0x80) | (ids >= 0xC0))])
    return seconds, float(np.diff(begins[bounds]) @ counts.counts / counts.total)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("counts", nargs="+", help="pre-token counts; or words, then their counts")
    parser.add_argument("--sizes", type=int, nargs="+", default=[2000, 8192])
    parser.add_argument("--thresholds", type=float, nargs="+", default=[1.0, 0.9, 0.8, 0.7, 0.6])
    arguments = parser.parse_args()
    counts = PretokenCounts.read(*arguments.counts) if len(arguments.counts) == 1 else marked_words(*arguments.counts)
    alphabet, text, _ = cut_into_characters(counts, PickyBpeOptions().character_coverage)
    used = [alphabet[index] for index in np.unique(text[text >= 0]).tolist()]
    print(f"{len(counts)} words, {counts.total} in all, {len(used)} characters")
    print(f"{'':24}{'train':>8}{'merges':>8}{'splits':>8}{'initial':>9}{'length':>8}  tokens a word (ms to segment)")

    def show(name: str, train: Callable[[], Vocabulary], *segmentations: str) -> None:
        seconds, vocabulary = timed(train)
        removals = sum(event.split for event in vocabulary.events or ())
        tokens = [token.decode() for token in [*used, *vocabulary.tokens[len(alphabet) :]]]
        initial, length = np.mean([(token.startswith("▁"), len(token)) for token in tokens], axis=0)
        columns = f"{name:24}{seconds:>7.2f}s{len(vocabulary.events or ()) - removals:>8}{removals:>8}"
        cuts = [tokens_per_word(Tokenizer(vocabulary, "none", cut), counts) for cut in segmentations]
        rates = (
            f"{cut} {rate:.4f} ({seconds * 1e3:.0f})" for cut, (seconds, rate) in zip(segmentations, cuts, strict=True)
        )
        print(f"{columns}{initial:>9.1%}{length:>8.2f} ", *rates)

    for size in arguments.sizes:
        wanted = size - SPECIAL - len(used) + len(alphabet)
        options: Options
        for threshold in arguments.thresholds:
            options = PickyBpeOptions(threshold=threshold, alphabet="character")
            show(
                f"picky_bpe {size} {threshold}",
                lambda: picky_bpe.build(counts, wanted, options),  # noqa: B023
                *("events", "post_removal", "greedy", "shortest_path"),
            )
        options = BpeTrimmedOptions(threshold=min(arguments.thresholds), alphabet="character")
        show(f"bpe_trimmed {size}", lambda: bpe_trimmed.build(counts, wanted, options), "post_removal")  # noqa: B023
        options = AlphabetOptions(alphabet="character")
        show(f"scaffold_bpe {size}", lambda: scaffold_bpe.build(counts, wanted, options), "post_removal")  # noqa: B023


if __name__ == "__main__":
    main()
