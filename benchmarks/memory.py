"""Memory of commands that read counts: bytes per unique pre-token, per byte of these, and per substring position.

    python benchmarks/memory.py src/tokbench/runtime/needs.csv [NAME ...]

Each construction or stage runs on the command line with default options, in a separate process, on random counts. There
are two kinds of words. Words of one to three pieces, drawn by Zipf's law from 20,000 with a leading space, share most
substrings, like those of a text. Words of independent letters share only short substrings, and need more memory. The
measure is peak resident memory. The coefficients are the smallest upper bound: they minimise the sum of relative
overestimates, and never underestimate.
"""

import csv
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from tokbench.construction import constructions
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.files import write_languages
from tokbench.runtime.memory_model import COLUMNS, places_of

CASES = (
    (50_000, 1, True),
    (100_000, 1, True),
    (200_000, 1, True),
    (100_000, 2, True),
    (50_000, 1, False),
    (100_000, 2, False),
)
"""Inputs: unique pre-tokens, repetitions of each piece (or of eight letters), and True for words of pieces."""
FEW = 40
"""Divisor of the number of pre-tokens for commands whose memory grows with substring positions."""
STAGES = ("bound", "measure", "measure_languages")
BY_LANGUAGE = ("measure_languages", "parity_bpe")
BY_PLACE = ("bound", "convextok", "toast")
BY_GOLD = ("morphbpe",)
"""Constructions that are measured with gold data in which every word has two parts."""
LANGUAGES = tuple(f"l{number}" for number in range(20))
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


def counts(words: int, spelt: int, of_pieces: bool) -> PretokenCounts:
    """Return random counts."""
    return _of_pieces(words, spelt) if of_pieces else _of_letters(words, 8 * spelt)


def _of_letters(words: int, letters: int) -> PretokenCounts:
    draw = np.random.default_rng(0)
    lengths = draw.integers(letters // 2, letters * 3 // 2 + 1, words)
    offsets = np.concatenate([[0], lengths.cumsum()]).astype(np.int64)
    data = draw.integers(97, 123, offsets[-1]).astype(np.uint8)
    return PretokenCounts.merged(data, offsets, draw.integers(1, 50, words), "gpt2")


def _of_pieces(words: int, spelt: int) -> PretokenCounts:
    draw = np.random.default_rng(0)
    pieces = [bytes(draw.integers(97, 123, draw.integers(2, 6), dtype=np.uint8)) * spelt for _ in range(PIECES)]
    weights = 1 / np.arange(1, PIECES + 1)
    words_found: dict[bytes, None] = {}
    while len(words_found) < words:
        samples = draw.choice(PIECES, (words, 3), p=weights / weights.sum())
        for indices, length in zip(samples, draw.integers(1, 4, words), strict=True):
            words_found[b" " + b"".join(pieces[index] for index in indices[:length])] = None
            if len(words_found) == words:
                break
    return PretokenCounts.from_pairs(((word, 1 + words // rank) for rank, word in enumerate(words_found, 1)), "gpt2")


def peak(name: str, file: Path, folder: Path) -> int:
    """Return peak resident memory in bytes; stages measure a BPE vocabulary."""
    match name:
        case "bound":
            arguments = ["bound", "--counts", str(file), "--size", str(SIZE), "--result", str(folder / "bound.json")]
        case "measure" | "measure_languages":
            arguments = ["measure", _bpe(file, folder), "--counts", str(file), "-o", str(folder / "measured.json")]
        case _:
            size = max(SIZE, constructions[name].alphabet + 512)
            arguments = ["build", name, "--counts", str(file), "--size", str(size), "-o", str(folder / "built")]
            if name in BY_GOLD:
                arguments += [f"--set={key}={value}" for key, value in _gold(file, folder).items()]
    return _peak(arguments)


def _bpe(file: Path, folder: Path) -> str:
    _peak(["build", "bpe", "--counts", str(file), "--size", str(SIZE), "-o", str(folder / "bpe")])
    return str(folder / "bpe")


def _gold(file: Path, folder: Path) -> dict[str, str]:
    """Write a segmentation of every word of some counts, and return the options that read it."""
    words = [pretoken.decode().strip() for pretoken, _ in PretokenCounts.read(file).items()]
    rows = (f"{word}\t{word[: len(word) // 2]} @@{word[len(word) // 2 :]}\t000\n" for word in words)
    path = folder / "eng.word.dev.tsv"
    path.write_text("".join(rows), encoding="utf-8")
    return {"gold": str(path), "gold_type": "sigmorphon2022", "gold_share": "1"}


def _peak(arguments: list[str]) -> int:
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *arguments], capture_output=True, text=True, timeout=SECONDS, check=True
    )
    return int(done.stdout.split()[-1]) * 1024


def measured(name: str, folder: Path) -> list[float]:
    """Measure a command: return a base in bytes, and bytes per pre-token, per byte and per substring position."""
    shapes, taken = [], []
    for words, spelt, of_pieces in CASES:
        apart = len(LANGUAGES) if name in BY_LANGUAGE else 1
        made = counts(words // (FEW if name in BY_PLACE else apart), spelt, of_pieces)
        file = folder / "counts.parquet"
        if name in BY_LANGUAGE:
            write_languages(dict.fromkeys(LANGUAGES, made), file)
        else:
            made.write(file)
        places = int(places_of(np.diff(made.offsets)).sum()) if name in BY_PLACE else 0
        shapes.append([1, apart * len(made), apart * int(made.offsets[-1]), apart * places])
        taken.append(peak(name, file, folder))
    return enveloped(np.array(shapes, np.float64), np.array(taken, np.float64))


def enveloped(shapes: NDArray[np.float64], taken: NDArray[np.float64]) -> list[float]:
    """Return the non-negative coefficients with the smallest overestimate that never underestimate."""
    scale = shapes.max(axis=0).clip(1)
    rows = shapes / scale / taken[:, None]
    solution = linprog(rows.sum(axis=0), A_ub=-rows, b_ub=-np.ones(len(taken)))
    return [float(value) for value in solution.x / scale]


def main(target: str, *names: str) -> None:
    """Measure the named commands (default: all that read counts) and write the table."""
    path = Path(target)
    rows: dict[str, list[object]] = {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as lines:
            rows = {row[0]: list(row) for row in list(csv.reader(lines))[1:]}
    built = (method.name for method in constructions.methods() if method.source == "counts")
    with TemporaryDirectory() as folder:
        for name in names or [*built, *STAGES]:
            base, *rest = measured(name, Path(folder))
            rows[name] = [name, round(base), *(round(value, 1) for value in rest)]
            print(*rows[name], flush=True)
            with path.open("w", encoding="utf-8", newline="") as lines:
                writer = csv.writer(lines, lineterminator="\n")
                writer.writerow(["reader", *COLUMNS])
                writer.writerows(rows[key] for key in sorted(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
