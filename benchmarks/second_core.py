"""How much a second core helps: constructions and encoding by one thread and by two, in turn.

python benchmarks/second_core.py TEXT [--size 32768] [--rounds 3]

BPE and its relatives train by one thread; counting, scoring bytes and n-grams are jobs of one thread each, one for
each shard or corpus. What one thread takes is held against what the thread that leads takes of two: the time that the
second core would leave if it were idle. That is processor time, so that others on the machine show less than they do
in wall-clock time.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tokbench.construction import constructions
from tokbench.counting.count import count_pretokens
from tokbench.optimum.bounding import bounded
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import Vocabulary

SCHEME = "gpt2"
FROM_COUNTS = ("unigram", "greedtok", "greedwmc", "ngram")
FROM_TOKENS = ("pathpiece", "randtrain")
CUTS = {"merge": "bpe", "likelihood": "unigram"}
STEPS = 5
"""Of the search for a bound, which take one thread; what comes before them takes several."""
ENCODED = 4
"""Times the text that is encoded, so that it takes about a second."""
Task = Callable[[int], object]
"""What is done with so many threads."""


def build(name: str, counts: PretokenCounts, size: int, threads: int = 1, **initial: Vocabulary) -> Vocabulary:
    """A vocabulary by a construction's own defaults."""
    construction = constructions[name]
    return construction.function(counts, size, construction.options(), threads=threads, **initial)


def tasks(text: bytes, size: int) -> dict[str, Task]:
    """What is timed, by its name."""
    counts = count_pretokens([text], SCHEME)
    print(f"{len(text):,} bytes, {len(counts):,} different pre-tokens, {size:,} tokens")
    found: dict[str, Task] = {name: partial(build, name, counts, size) for name in FROM_COUNTS}
    initial = build("ngram", counts, 8 * size)
    found |= {name: partial(build, name, counts, size, initial=initial) for name in FROM_TOKENS}
    for segmentation, name in CUTS.items():
        tokenizer = Tokenizer(build(name, counts, size), SCHEME, segmentation)
        found[f"encode by {segmentation}"] = partial(tokenizer.encode, text * ENCODED)
        found[f"count tokens by {segmentation}"] = partial(tokenizer.count, text * ENCODED)
    found[f"bound, {STEPS} steps"] = lambda threads: bounded(counts, size, gap=0, steps=STEPS, threads=threads)
    return found


def seconds(task: Task, threads: int) -> tuple[float, float, float]:
    """Processor seconds of the thread that calls and of all threads, and wall-clock seconds."""
    wall, every, own = time.perf_counter(), time.process_time(), time.thread_time()
    task(threads)
    return time.thread_time() - own, time.process_time() - every, time.perf_counter() - wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("text", type=Path, help="plain text, UTF-8")
    parser.add_argument("--size", type=int, default=32_768, help="tokens of each vocabulary")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print("seconds of processor time, the least of the rounds, and their ratio; wall-clock time as it was")
    made = tasks(arguments.text.read_bytes(), arguments.size)
    print(f"{'':<28}{'one':>8}{'leads two':>11}{'all of two':>12}{'ratio':>7}{'wall':>7}")
    for name, task in made.items():
        taken = [[seconds(task, threads) for threads in (1, 2)] for _ in range(arguments.rounds)]
        (one, _, alone), (leads, every, both) = (
            [min(each[place][part] for each in taken) for part in range(3)] for place in range(2)
        )
        print(f"{name:<28}{one:>8.2f}{leads:>11.2f}{every:>12.2f}{one / leads:>7.2f}{alone / both:>7.2f}", flush=True)


if __name__ == "__main__":
    main()
