"""Comparison of each kernel's time with a lower bound: bytes that it must access, divided by the memory bandwidth.

    python -m benchmarks.speed.limits build/benchmarks docs/measured/performance

The bound is the time to read the input, write the output and make the required table look-ups. Bandwidth is that of
NumPy on arrays larger than the cache; look-ups are as fast as NumPy's random gather from a table of 4 MiB. Both are
measured in the same run, on one thread. The formulas are minimum amounts: they ignore temporary data, repeated reads
and arithmetic.
"""

import argparse
import csv
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.speed.worker import Job
from tokbench.candidates.initial import fitting
from tokbench.construction import constructions
from tokbench.kernels.pathpiece import MAX_WIDTH, omission_costs
from tokbench.kernels.trie import Trie
from tokbench.kernels.unigram import expect
from tokbench.pretokenization import schemes
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import Vocabulary

ARRAY_BYTES = 1 << 29
TABLE_ENTRIES = 1 << 19
GATHERED = 1 << 22
REPEATS = 5


@dataclass(frozen=True)
class Limit:
    """The time of a kernel and its lower bound.

    Attributes:
        kernel: name of the kernel.
        formula: minimum bytes read or written, and number of look-ups, in words.
        bytes: number of bytes.
        lookups: number of look-ups.
        seconds: best of several runs on one thread.
    """

    kernel: str
    formula: str
    bytes: int
    lookups: int
    seconds: float


def best(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the minimum wall-clock time of a few runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def memory_speed() -> tuple[float, float, float]:
    """Measure bytes per second of reading and copying (read plus written), and seconds per random read of 8 bytes."""
    source = np.ones(ARRAY_BYTES // 8)
    target = np.zeros_like(source)
    read = ARRAY_BYTES / best(lambda: source.sum())
    copy = 2 * ARRAY_BYTES / best(lambda: np.copyto(target, source))
    table = np.arange(TABLE_ENTRIES)
    places = np.random.default_rng(0).integers(0, TABLE_ENTRIES, GATHERED)
    gathered = np.empty_like(places)
    return read, copy, best(lambda: np.take(table, places, out=gathered, mode="clip")) / GATHERED


def kernels(folder: Path) -> Iterator[Limit]:
    """Time every kernel from text to ids, and of the constructions, on the prepared text."""
    job = Job(folder)
    one = "shortest_path_"  # Other segmentations have several sizes.
    sizes = sorted(int(path.name.removeprefix(one)) for path in folder.glob(f"{one}*") if path.is_dir())
    job.size = min(sizes, key=lambda size: abs(size - job.size))
    text = job.text.read_bytes()
    counts = PretokenCounts.read(job.counts)
    size, pretokens, unique = len(text), counts.total, int(counts.data.size)
    scheme = schemes["gpt2"].function
    yield Limit("scan, gpt2", "text + 8 a pre-token", size + 8 * pretokens, 0, best(lambda: scheme(text)))
    seconds = best(lambda: count_pretokens([text], "gpt2"))
    yield Limit("count", "text; a place a pre-token", size, pretokens, seconds)
    for name in ("merge", "likelihood", "shortest_path", "cover", "longest_prefix"):
        tokenizer = Tokenizer.load(job.tokenizer(name))
        ids = len(tokenizer.encode(text))
        fresh = iter([Tokenizer.load(job.tokenizer(name)) for _ in range(REPEATS)])
        seconds = best(lambda: next(fresh).encode(text))  # noqa: B023
        yield Limit(f"encode, {name}", "text + 4 a token; a place a pre-token", size + 4 * ids, pretokens, seconds)
        cut = len(tokenizer.segment(counts)[0])
        seconds = best(lambda: tokenizer.segment(counts))  # noqa: B023
        formula = "unique pre-tokens + 4 a token; a place a byte"
        yield Limit(f"segment unique pre-tokens, {name}", formula, unique + 4 * cut, unique, seconds)
    yield from constructing(job, counts, unique)


def constructing(job: Job, counts: PretokenCounts, unique: int) -> Iterator[Limit]:
    """Time the training of BPE and WordPiece, the kernels of :func:`estimating`, and GreedTok."""
    for method in ("bpe", "wordpiece"):
        construction = constructions[method]
        options = construction.options()
        vocabulary = construction.function(counts, job.size, options)
        own = construction.segmentation
        merged = unique - len(Tokenizer(vocabulary, "gpt2", own).segment(counts)[0])
        seconds = best(lambda: construction.function(counts, job.size, options), 3)  # noqa: B023
        formula = "4 a unique byte + 12 a merged place; 3 places for each: its pair and its two neighbours"
        yield Limit(f"train {method}", formula, 4 * unique + 12 * merged, 3 * merged, seconds)
    yield from estimating(job, counts)
    construction = constructions["greedtok"]
    words = PretokenCounts.read(job.folder / "text_words.parquet")
    seconds = best(lambda: construction.function(words, 5256, construction.options()), 2)
    formula = "12 a byte for suffixes and their common prefixes; a place a byte"
    yield Limit("greedtok, 5,000 tokens", formula, 12 * int(words.data.size), int(words.data.size), seconds)


def estimating(job: Job, counts: PretokenCounts) -> Iterator[Limit]:
    """Time one step of Unigram's estimation, and one round of PathPiece on the tokens that PathPiece allows."""
    unique = int(counts.data.size)
    vocabulary = Vocabulary.read(job.tokenizer("likelihood"))
    trie = Trie(*vocabulary.flat())
    assert vocabulary.scores is not None
    probabilities, expected = np.exp(vocabulary.scores), np.zeros(len(vocabulary))
    text = (counts.data, counts.offsets, counts.counts, 0, len(counts))
    seconds = best(lambda: expect(trie, probabilities, *text, expected))
    formula = "unique pre-tokens + 16 a byte; a place a byte"
    yield Limit("expectation of unigram, once", formula, 17 * unique, unique, seconds)
    short = Vocabulary(fitting(vocabulary, MAX_WIDTH))
    trie = Trie(*short.flat())
    seconds = best(lambda: omission_costs(trie, *text, *np.zeros((2, len(short)), np.int64)))
    yield Limit("round of pathpiece, once", formula, 17 * unique, unique, seconds)


def machine() -> dict[str, object]:
    """Return the properties of the machine, without its name."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = information.read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(memory, 1),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        "day": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="output folder of prepare.py")
    parser.add_argument("results", type=Path, help="output folder of limits.csv and machine.json")
    arguments = parser.parse_args()
    about = machine()
    about["read"], about["copy"], about["random_read"] = memory_speed()
    arguments.results.mkdir(parents=True, exist_ok=True)
    with (arguments.results / "limits.csv").open("w", newline="", encoding="utf-8") as target:
        writer = csv.DictWriter(target, list(Limit.__dataclass_fields__), lineterminator="\n")
        writer.writeheader()
        for limit in kernels(arguments.folder):
            writer.writerow({**asdict(limit), "seconds": f"{limit.seconds:.6g}"})
    (arguments.results / "machine.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
