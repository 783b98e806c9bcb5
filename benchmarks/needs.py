"""How much memory each construction takes for each unique pre-token, and for each byte of these.

    python benchmarks/needs.py src/tokbench/needs.csv [CONSTRUCTION ...]

A construction is built by the command line, with its own options, in a process of its own, from made-up counts: words
of one to three pieces drawn by Zipf's law among 20,000, each with a space before it. What it took is the most that was
resident. It is measured for 100,000 words, for 200,000, and for 200,000 whose pieces are spelt twice. Bytes per byte
are from the longer words, bytes per pre-token from twice as many, and the base is what is left of the two.
"""

import csv
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tokbench.construction import constructions
from tokbench.pretokens import PretokenCounts

CASES = ((100_000, 1), (200_000, 1), (200_000, 2))
"""Unique pre-tokens, and how often each piece is spelt."""
SIZE = 4096
PIECES = 20_000
SECONDS = 900
PEAK = """
import sys
from tokbench.commands.main import main
try:
    main(sys.argv[1:])
finally:
    print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


def counts(words: int, spelt: int) -> PretokenCounts:
    """Made-up counts."""
    draw = np.random.default_rng(0)
    pieces = [bytes(draw.integers(97, 123, draw.integers(2, 6), dtype=np.uint8)) * spelt for _ in range(PIECES)]
    weights = 1 / np.arange(1, PIECES + 1)
    found: dict[bytes, None] = {}
    while len(found) < words:
        drawn = draw.choice(PIECES, (words, 3), p=weights / weights.sum())
        for chosen, length in zip(drawn, draw.integers(1, 4, words), strict=True):
            found[b" " + b"".join(pieces[index] for index in chosen[:length])] = None
            if len(found) == words:
                break
    return PretokenCounts.from_pairs(((word, 1 + words // rank) for rank, word in enumerate(found, 1)), "gpt2")


def peak(construction: str, file: Path) -> int:
    """Bytes that were resident at the most."""
    size = max(SIZE, constructions[construction].alphabet + 512)
    arguments = ["build", construction, "--counts", str(file), "--size", str(size), "-o", str(file.with_suffix(""))]
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *arguments], capture_output=True, text=True, timeout=SECONDS, check=True
    )
    return int(done.stdout.split()[-1]) * 1024


def measured(construction: str, files: list[Path], shapes: list[tuple[int, int]]) -> tuple[int, float, float]:
    """Base, bytes per pre-token and bytes per byte."""
    half, whole, longer = (peak(construction, file) for file in files)
    (half_rows, half_size), (rows, size), (_, long_size) = shapes
    per_byte = max((longer - whole) / (long_size - size), 0.0)
    per_pretoken = max((whole - half - per_byte * (size - half_size)) / (rows - half_rows), 0.0)
    base = max(whole - per_pretoken * rows - per_byte * size, half - per_pretoken * half_rows - per_byte * half_size)
    return round(base), round(per_pretoken, 1), round(per_byte, 1)


def main(target: str, *names: str) -> None:
    """Measure constructions, all that read counts where none is named, and write the table."""
    path = Path(target)
    rows: dict[str, list[object]] = {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as lines:
            rows = {row[0]: list(row) for row in list(csv.reader(lines))[1:]}
    with TemporaryDirectory() as folder:
        files, shapes = [], []
        for words, spelt in CASES:
            made = counts(words, spelt)
            files.append(Path(folder, f"{words}-{spelt}.parquet"))
            made.write(files[-1])
            shapes.append((len(made), int(made.offsets[-1])))
        for name in names or [method.name for method in constructions.methods() if method.source == "counts"]:
            rows[name] = [name, *measured(name, files, shapes)]
            print(*rows[name], flush=True)
            with path.open("w", encoding="utf-8", newline="") as lines:
                writer = csv.writer(lines, lineterminator="\n")
                writer.writerow(["construction", "base_bytes", "bytes_per_pretoken", "bytes_per_byte"])
                writer.writerows(rows[key] for key in sorted(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
