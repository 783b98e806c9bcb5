"""Time BPE and Unigram construction from counts against the trainers of Hugging Face ``tokenizers``.

    python benchmarks/bench_vocabulary.py counts.parquet --sizes 8192 32768

``tokenizers`` is fed the same pre-tokens as lines of text to be split at spaces; the time that it takes to split and
count them is measured by training a vocabulary of nothing but bytes, and shown apart.
"""

import argparse
import time
from collections.abc import Callable, Iterator

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tokbench.pretokens import PretokenCounts
from tokbench.registry import Options
from tokbench.tokens import Vocabulary
from tokbench.vocabulary.bpe import BpeOptions
from tokbench.vocabulary.bpe import build as build_bpe
from tokbench.vocabulary.unigram import UnigramOptions
from tokbench.vocabulary.unigram import build as build_unigram

ALPHABET = [chr(256 + byte) for byte in range(256)]
LINE = 10_000

Build = Callable[..., Vocabulary]
METHODS: dict[str, tuple[Build, Options]] = {
    "bpe": (build_bpe, BpeOptions()),
    "unigram": (build_unigram, UnigramOptions()),
}


def lines(counts: PretokenCounts) -> Iterator[str]:
    """Each pre-token as often as it occurs, a byte spelt as the character of its value + 256."""
    for word, count in counts.items():
        spelt = "".join(ALPHABET[byte] for byte in word)
        for done in range(0, count, LINE):
            yield " ".join([spelt] * min(LINE, count - done))


def reference(method: str, text: list[str], size: int) -> int:
    """Train with ``tokenizers``; the number of tokens."""
    settings = {"vocab_size": size, "initial_alphabet": ALPHABET, "show_progress": False}
    if method == "bpe":
        tokenizer, trainer = Tokenizer(models.BPE()), trainers.BpeTrainer(**settings)
    else:
        tokenizer, trainer = Tokenizer(models.Unigram()), trainers.UnigramTrainer(unk_token="<unk>", **settings)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.train_from_iterator(text, trainer)
    return tokenizer.get_vocab_size()


def best_of(repeats: int, work: Callable[[], object]) -> float:
    """Least wall-clock time of a few runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("counts", help="pre-token counts, as 'tokbench count' writes them")
    parser.add_argument("--sizes", type=int, nargs="+", default=[8192, 32768])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3, help="runs of ours, of which the best is shown")
    arguments = parser.parse_args()
    counts = PretokenCounts.read(arguments.counts)
    text = list(lines(counts))
    counting = best_of(1, lambda: reference("bpe", text, 256))
    print(f"{len(counts)} unique pre-tokens, {counts.total} in all, {counts.total_bytes} bytes")
    print(f"tokenizers takes {counting:.2f} s to split and count; 'training' is without that")
    print(f"{'method':<10}{'size':>8}{'tokbench s':>12}{'tokenizers s':>14}{'training s':>12}{'ratio':>8}")
    for method in arguments.methods:
        build, options = METHODS[method]
        for size in arguments.sizes:
            ours = best_of(arguments.repeats, lambda: build(counts, size, options, threads=arguments.threads))  # noqa: B023
            theirs = best_of(1, lambda: reference(method, text, size))  # noqa: B023
            training = max(theirs - counting, 0.0)
            print(f"{method:<10}{size:>8}{ours:>12.3f}{theirs:>14.2f}{training:>12.2f}{training / ours:>8.1f}")


if __name__ == "__main__":
    main()
