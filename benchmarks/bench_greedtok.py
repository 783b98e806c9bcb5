"""Time GreedTok and its segmentation, and print what "A partition cover approach to tokenization" tabulates.

    python benchmarks/bench_greedtok.py words_un.txt.gz counts_un.txt.gz
    python benchmarks/bench_greedtok.py counts.parquet --sizes 2000 4000 6000 8000 10000

Sizes are the paper's k: tokens beside the 256 bytes. Tokens per word are those of table 2, the share of GreedWMC's
objective that of table 3, tokens in common with BPE and the Unigram objectives those of appendix B, where the cover
segmentation cuts the words for BPE's tokens, too.
"""

import argparse
import time
from collections.abc import Callable
from typing import TypeVar

from tokbench.construction import bpe
from tokbench.construction.greedtok import GreedTokOptions, choose_tokens
from tokbench.counting.word_list import read_word_list
from tokbench.intrinsic.usage import usage_of
from tokbench.kernels import greedtok, greedwmc
from tokbench.metric.unigram_objective import unigram_objective
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Wall-clock seconds of a call, and what it returns."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("counts", nargs="+", help="pre-token counts; or words, then their counts")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 2000, 3000, 4000, 5000])
    arguments = parser.parse_args()
    counts = PretokenCounts.read(*arguments.counts) if len(arguments.counts) == 1 else read_word_list(*arguments.counts)
    most = max(arguments.sizes)
    options = GreedTokOptions()
    seconds, (tokens, gains) = timed(lambda: choose_tokens(counts, 256 + most, options, greedtok.choose))
    wmc_seconds, (_, covered) = timed(lambda: choose_tokens(counts, 256 + most, options, greedwmc.choose))
    bpe_seconds, merged = timed(lambda: bpe.build(counts, 256 + most, bpe.BpeOptions()))
    print(f"{len(counts)} words, {counts.total} in all, {counts.total_bytes} bytes; {most} tokens")
    print(f"greedtok {seconds:.2f} s, greedwmc {wmc_seconds:.2f} s, bpe {bpe_seconds:.2f} s")
    for chosen in (Tokenizer(Vocabulary(BYTES + tokens), "gpt2", "cover"), Tokenizer(merged, "gpt2", "merge")):
        seconds = min(timed(lambda: chosen.segment(counts))[0] for _ in range(3))  # noqa: B023
        print(f"{chosen.segmentation} {seconds * 1e3:.1f} ms, {len(counts) / seconds / 1e6:.2f} M unique words/s")
    print(f"{'k':>7}{'greedtok':>10}{'bpe':>10}{'ratio d':>9}{'common':>8}{'objective':>13}{'of bpe':>13}")
    for k in arguments.sizes:
        ours, theirs = Vocabulary(BYTES + tokens[:k]), first_merges(merged, k)
        common = len(set(ours.tokens[256:]) & set(theirs.tokens[256:])) / k
        lengths = [
            usage_of(Tokenizer(vocabulary, "gpt2", cut), counts).total / counts.total
            for vocabulary, cut in ((ours, "cover"), (theirs, "merge"))
        ]
        assert round(lengths[0] * counts.total) == counts.total_bytes - int(gains[:k].sum())
        ratio = gains[:k].sum() / covered[:k].sum()
        objectives = [objective(vocabulary, counts) for vocabulary in (ours, theirs)]
        print(
            f"{k:>7}{lengths[0]:>10.4f}{lengths[1]:>10.4f}{ratio:>9.4f}{common:>8.3f}",
            *map("{:>12.4e}".format, objectives),
        )


def first_merges(vocabulary: Vocabulary, number: int) -> Vocabulary:
    """The vocabulary as it was after so many merges."""
    assert vocabulary.merges is not None
    return Vocabulary(vocabulary.tokens[: 256 + number], merges=vocabulary.merges[:number])


def objective(vocabulary: Vocabulary, counts: PretokenCounts) -> float | None:
    """Unigram objective of the text as the cover segmentation cuts it, in nats."""
    return unigram_objective(usage_of(Tokenizer(vocabulary, "gpt2", "cover"), counts), Options())[0].value


if __name__ == "__main__":
    main()
