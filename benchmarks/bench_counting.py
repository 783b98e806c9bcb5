"""Speed of pre-token counting: this package, ``regex`` with a dictionary, and Hugging Face ``tokenizers``.

    python benchmarks/bench_counting.py TEXT [--scheme gpt2] [--repeats 5] [--megabytes 30]

TEXT is plain text or JSON Lines with a key ``text``, either of them gzipped or not. All run on one core and give the
same counts, which is checked; ``tokenizers`` is only to be had for gpt2. It appears twice: its pre-tokenizer, whose
result becomes Python lists that a dictionary counts, and its word-level trainer, which counts without leaving Rust.
Both run about 1.6 times as fast on single lines as on whole novels, but counts then change where lines end. The best
of several repeats is shown, the slowest beside it.
"""

import argparse
import gzip
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import regex

from tokbench.pretokenization import schemes
from tokbench.pretokenization.count import count_pretokens

os.environ["RAYON_NUM_THREADS"] = "1"


def read_texts(path: Path, limit: int) -> list[str]:
    """Documents of at most ``limit`` bytes together; a file of plain text is one document."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8", "surrogateescape")
    documents = [json.loads(line)["text"] for line in text.splitlines()] if ".jsonl" in path.suffixes else [text]
    taken = []
    for document in documents:
        if limit <= 0:
            break
        taken.append(document[:limit])
        limit -= len(document.encode("utf-8", "surrogateescape"))
    return taken


def count_by_regex(texts: Iterable[str], pattern: str) -> dict[str, int]:
    find = regex.compile(pattern).findall
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(find(text))
    return counts


def count_by_tokenizers(texts: Iterable[str]) -> dict[str, int]:
    from tokenizers.pre_tokenizers import ByteLevel

    cut = ByteLevel(add_prefix_space=False).pre_tokenize_str
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(piece for piece, _ in cut(text))
    return counts


def unique_by_trainer(texts: Iterable[str]) -> int:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import ByteLevel
    from tokenizers.trainers import WordLevelTrainer

    tokenizer = Tokenizer(WordLevel())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(texts, WordLevelTrainer(vocab_size=1 << 31, show_progress=False))
    return tokenizer.get_vocab_size()


def seconds(run: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Shortest and longest of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times), max(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--scheme", default="gpt2")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--megabytes", type=float, default=30)
    arguments = parser.parse_args()
    texts = read_texts(arguments.text, int(arguments.megabytes * 1e6))
    documents = [text.encode("utf-8", "surrogateescape") for text in texts]
    size = sum(map(len, documents))
    pattern = schemes[arguments.scheme].traits["pattern"]
    if pattern is None:
        parser.error("scheme 'none' has nothing to compare with")

    counts = count_pretokens(documents, arguments.scheme)
    by_regex = count_by_regex(texts, pattern)
    if {token.decode("utf-8", "surrogateescape"): count for token, count in counts.items()} != by_regex:
        raise SystemExit("the counts differ from those of regex")
    runs: list[tuple[str, Callable[[], object], int]] = [
        ("tokbench", lambda: count_pretokens(documents, arguments.scheme), arguments.repeats),
        ("regex + Counter", lambda: count_by_regex(texts, pattern), 2),
    ]
    if arguments.scheme == "gpt2":
        if sorted(count_by_tokenizers(texts).values()) != sorted(by_regex.values()):
            raise SystemExit("the counts differ from those of tokenizers")
        if unique_by_trainer(texts) != len(counts):
            raise SystemExit("the trainer of tokenizers finds other pre-tokens")
        runs.append(("tokenizers + Counter", lambda: count_by_tokenizers(texts), 2))
        runs.append(("tokenizers, trainer", lambda: unique_by_trainer(texts), 2))

    print(f"{arguments.text.name}: {size / 1e6:.1f} MB, {counts.total:,} pre-tokens, {len(counts):,} unique")
    print(f"{'counting by':22}{'seconds':>10}{'slowest':>10}{'MB/s':>10}{'ours is':>12}")
    ours = None
    for name, run, repeats in runs:
        best, worst = seconds(run, repeats)
        ours = ours or best
        print(f"{name:22}{best:10.3f}{worst:10.3f}{size / best / 1e6:10.1f}{best / ours:11.1f}x")


if __name__ == "__main__":
    main()
