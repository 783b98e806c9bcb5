"""Benchmark of the speed-up of constructions and encoding with a second thread.

python benchmarks/second_core.py TEXT... [--size 32768] [--rounds 3] [--only NAME ...]

BPE and similar methods train on one thread: several would have to synchronise at each of ten thousands of merges, and
wait for the same memory in between. The same is true of SaGe's embeddings, in which each step depends on the previous
one. Counting, scoring bytes and n-grams are single-threaded jobs, one per shard or corpus. For SaGe, the ablation is
timed. Bounds, the basis of ConvexTok, are computed on a part of the text, and the scores for ByteSpan are random.

The comparison is the processor time of one thread with that of the leading thread of two. Processor time depends less
on other load than wall-clock time. First, the current speed-up of the machine is measured: the work of two independent
processes, relative to one.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from tokbench.candidates.scored_text import ScoredDocuments
from tokbench.construction import constructions
from tokbench.construction.sage import Lines, ablate, segment
from tokbench.kernels.trie import Trie
from tokbench.models.byte_lm.scores import write_scores
from tokbench.optimum.bound import bound_counts
from tokbench.optimum.graph import graph_of
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import Vocabulary

SCHEME = "gpt2"
FROM_COUNTS = ("unigram", "greedtok", "greedwmc", "ngram")
FROM_TOKENS = ("pathpiece", "randtrain")
CUTS = {"merge": "bpe", "likelihood": "unigram"}
ALONE = """
import time
begin, sum = time.perf_counter(), 0
for number in range(20_000_000):
    sum += number
print(time.perf_counter() - begin)
"""
"""Program of an independent process; prints its seconds."""
LINES, COLUMNS = 200_000, 56
"""Lines of text for SaGe's ablation, and columns of its random embeddings (50 plus padding)."""
ENCODED = 4
"""Repetitions of the encoded text, for about one second."""
BOUNDED, STEPS = 16_000_000, 100
"""Bytes at the start of the text for the bound, and its number of steps."""
DOCUMENT = 10_000
"""Size in bytes of the documents with scores."""
Task = Callable[[int], object]
"""Function of the number of threads."""


def ceiling() -> float:
    """Measure the work of two independent processes, relative to one."""
    seconds = []
    for number in (1, 2):
        started = [subprocess.Popen([sys.executable, "-c", ALONE], stdout=subprocess.PIPE) for _ in range(number)]
        seconds.append(sum(float(one.communicate()[0]) for one in started) / number)
    return 2 * seconds[0] / seconds[1]


def ablation(text: bytes, vocabulary: Vocabulary) -> Task:
    """Return SaGe's ablation on the first lines of a text."""
    lines = text.splitlines(keepends=True)[:LINES]
    offsets = np.cumsum([0, *map(len, lines)])
    chosen = Lines(np.frombuffer(b"".join(lines), np.uint8), offsets)
    data, starts = vocabulary.flat()
    lengths = np.diff(starts).astype(np.int32)
    cut = segment(chosen, Trie(data, starts), 1)
    embeddings = np.random.default_rng(0).normal(0, 0.1, (len(lengths), COLUMNS)).astype(np.float32)
    return partial(ablate, chosen, cut, lengths, embeddings)


def scored(text: bytes, file: Path) -> ScoredDocuments:
    """Return a text with random scores of its bytes."""
    draw = np.random.default_rng(0)
    documents = ((place, text[place : place + DOCUMENT]) for place in range(0, len(text), DOCUMENT))

    def scores(part: bytes) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        numbers = draw.gamma(1.5, size=(2, len(part))).astype(np.float32)
        return numbers[0], numbers[1]

    write_scores(documents, scores, file, "random")
    return ScoredDocuments((file,), SCHEME)


def build(
    name: str, counts: PretokenCounts | ScoredDocuments, size: int, threads: int = 1, **initial: Vocabulary
) -> Vocabulary:
    """Build a vocabulary with default options."""
    construction = constructions[name]
    return construction.function(counts, size, construction.options(), threads=threads, **initial)


def tasks(text: bytes, size: int, folder: Path) -> dict[str, Task]:
    """Return the timed tasks by name."""
    counts = count_pretokens([text], SCHEME)
    print(f"{len(text):,} bytes, {len(counts):,} different pre-tokens, {size:,} tokens")
    found: dict[str, Task] = {name: partial(build, name, counts, size) for name in FROM_COUNTS}
    initial = build("ngram", counts, 8 * size)
    found |= {name: partial(build, name, counts, size, initial=initial) for name in FROM_TOKENS}
    for segmentation, name in CUTS.items():
        tokenizer = Tokenizer(build(name, counts, size), SCHEME, segmentation)
        found[f"encode by {segmentation}"] = partial(tokenizer.encode, text * ENCODED)
        found[f"count tokens by {segmentation}"] = partial(tokenizer.count, text * ENCODED)
    found["bytespan"] = partial(build, "bytespan", scored(text, folder / "scores.parquet"), size)
    found["sage's ablation"] = ablation(text, initial)
    found["graph of a bound"] = partial(graph_of, counts, size, None)
    part = count_pretokens([text[:BOUNDED]], SCHEME)
    found["a bound"] = lambda threads: bound_counts(part, size, gap=0, steps=STEPS, threads=threads)
    return found


def seconds(task: Task, threads: int) -> tuple[float, float, float]:
    """Return processor seconds of the calling thread and of all threads, and wall-clock seconds."""
    wall, every, own = time.perf_counter(), time.process_time(), time.thread_time()
    task(threads)
    return time.thread_time() - own, time.process_time() - every, time.perf_counter() - wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("text", type=Path, nargs="+", help="plain text, UTF-8")
    parser.add_argument("--size", type=int, default=32_768, help="size of each vocabulary")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="prefixes of the names of tasks; default: all")
    arguments = parser.parse_args()
    print(f"two processes that share nothing get {ceiling():.2f} times as much done as one, on the clock")
    print("one thread alone trains BPE, its relatives and SaGe's embeddings, which are not in this table")
    print("seconds of processor time, the least of the rounds, and their ratio; wall-clock time as it was")
    text = b"".join(path.read_bytes() for path in arguments.text)
    with TemporaryDirectory() as folder:
        compare(tasks(text, arguments.size, Path(folder)), arguments.only, arguments.rounds)


def compare(made: dict[str, Task], only: Sequence[str] | None, rounds: int) -> None:
    """Time the tasks whose names begin with a prefix, alternating one and two threads, and print a line for each."""
    print(f"{'':<28}{'one':>8}{'leads two':>11}{'all of two':>12}{'ratio':>7}{'wall':>7}")
    for name, task in made.items():
        if only and not name.startswith(tuple(only)):
            continue
        taken = [[seconds(task, threads) for threads in (1, 2)] for _ in range(rounds)]
        (one, _, alone), (leads, every, both) = (
            [min(each[place][part] for each in taken) for part in range(3)] for place in range(2)
        )
        print(f"{name:<28}{one:>8.2f}{leads:>11.2f}{every:>12.2f}{one / leads:>7.2f}{alone / both:>7.2f}", flush=True)


if __name__ == "__main__":
    main()
