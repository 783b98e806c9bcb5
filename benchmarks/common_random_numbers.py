"""What common random numbers save: how the difference of two tokenizers varies from seed to seed, with and without.

    python benchmarks/common_random_numbers.py FILE [SEEDS]

Models of 50 thousand parameters and less are trained on the same 250 kB of Python's documentation with each tokenizer,
once for each seed with ``common_random_numbers`` and once without, all in this one process, and tested in bits per byte
on 60 kB of the rest. The order of documents comes from the seed in both. FILE gets a row for every model as soon as
there is one, and a later call goes on from there.

Of two tokenizers the table has, over the seeds, the standard deviation of their difference at one seed, the one that
the difference of models of different seeds would have (the root of the sum of the two variances), and the variance of
the former without common random numbers over that with them, with the 95 % interval by Fisher's F, which takes the
differences to be normal and the two sets to be independent.
"""

import csv
import sys
import tempfile
import warnings
from collections.abc import Iterator
from itertools import accumulate, combinations, takewhile
from math import sqrt
from pathlib import Path
from statistics import variance

import tokbench
from tokbench.corpus.documents import Document
from tokbench.corpus.embedded import embedded_texts
from tokbench.pretraining.budget import TextBudget
from tokbench.pretraining.encoded import encoded
from tokbench.pretraining.options import PRESETS
from tokbench.pretraining.order import in_order
from tokbench.pretraining.pack import pack
from tokbench.pretraining.train import pretrain
from tokbench.tokenizer import Tokenizer

TOKENIZERS = {"bpe 768": ("bpe", 768), "bpe 1024": ("bpe", 1024), "unigram 1024": ("unigram", 1024)}
MODEL = PRESETS["tiny"].model_copy(
    update={"d_model": 32, "n_heads": 2, "n_layers": 1, "max_seq_len": 128, "batches": None, "text_bytes": 250_000}
)
TESTED = 60_000
COLUMNS = ("seed", "common", "tokenizer", "bits_per_byte")
Key = tuple[int, int, str]


def texts() -> tuple[list[bytes], list[bytes]]:
    """Documents to train on, and to test on."""
    every = list(embedded_texts())
    sizes = accumulate(len(text) for text in every[::5])
    tested = sum(1 for _ in takewhile(lambda size: size < TESTED, sizes))
    return [text for place, text in enumerate(every) if place % 5], every[::5][: tested + 1]


def models(seeds: int, done: dict[Key, float]) -> Iterator[tuple[Key, float]]:
    """Bits per byte of the models that are not there yet, seed by seed."""
    training, testing = texts()
    tokenizers = {
        name: tokbench.build(method, tokbench.count(training), size) for name, (method, size) in TOKENIZERS.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, seeds + 1):
            for name, tokenizer in tokenizers.items():
                keys = [(seed, common, name) for common in (1, 0) if (seed, common, name) not in done]
                if keys:
                    place = Path(folder, f"{seed} {name}")
                    packed(tokenizer, training, seed, place)
                for key in keys:
                    yield key, _trained(tokenizer, key, place, testing)


def packed(tokenizer: Tokenizer, training: list[bytes], seed: int, place: Path) -> None:
    """Leave a tokenizer and the sequences of its text in a folder."""
    place.mkdir()
    tokenizer.save(place / "tokenizer")
    documents = (Document(number, "", text) for number, text in enumerate(training))
    ordered = in_order(encoded(tokenizer, documents), seed, place)
    budget = TextBudget(text_bytes=MODEL.text_bytes)
    pack(ordered, len(tokenizer), place / "packed", sequence_length=MODEL.max_seq_len, seed=seed, budget=budget)


def _trained(tokenizer: Tokenizer, key: Key, place: Path, testing: list[bytes]) -> float:
    from transformers.models.mpt.modeling_mpt import MptForCausalLM

    from tokbench.downstream.bits_per_byte import TokenWindows, bits_per_byte

    seed, common, _ = key
    options = MODEL.model_copy(update={"seed": seed, "common_random_numbers": bool(common)})
    output = place / f"model {common}"
    pretrain(place / "packed", place / "tokenizer", options, output, place / "checkpoints")
    model = MptForCausalLM.from_pretrained(output).eval()
    half = TokenWindows(MODEL.max_seq_len, MODEL.max_seq_len // 2)

    def encode(text: bytes) -> list[int]:
        return tokenizer.encode(text).tolist()

    return bits_per_byte(model, encode, testing, len(tokenizer), cut=half, batch_size=16, device="cpu")[0]


def table(found: dict[Key, float]) -> Iterator[str]:
    """What the differences vary by, a line for every two tokenizers."""
    from scipy.stats import f

    seeds = sorted({seed for seed, _, _ in found if all((seed, c, n) in found for c in (0, 1) for n in TOKENIZERS)})
    n = len(seeds)
    yield f"{n} seeds; bits per byte"
    yield "                              with: one seed  two seeds  without: one seed  two seeds  variance without/with"
    for pair in combinations(TOKENIZERS, 2):
        spread, apart = {}, {}
        for common in (1, 0):
            one, other = ([found[seed, common, name] for seed in seeds] for name in pair)
            spread[common] = variance(a - b for a, b in zip(one, other, strict=True))
            apart[common] = variance(one) + variance(other)
        ratio, width = spread[0] / spread[1], f.ppf(0.975, n - 1, n - 1)
        yield (
            f"{' - '.join(pair):30}{sqrt(spread[1]):14.5f} {sqrt(apart[1]):10.5f} {sqrt(spread[0]):18.5f}"
            f" {sqrt(apart[0]):10.5f} {ratio:11.2f} ({ratio / width:.2f} to {ratio * width:.2f})"
        )


def main(file: str, seeds: int = 12) -> None:
    """Train what is missing, and print the table."""
    path, found = Path(file), dict[Key, float]()
    if path.exists():
        with path.open(newline="") as rows:
            for row in csv.DictReader(rows):
                found[int(row["seed"]), int(row["common"]), row["tokenizer"]] = float(row["bits_per_byte"])
    else:
        path.write_text(",".join(COLUMNS) + "\n")
    for key, bits in models(seeds, found):
        found[key] = bits
        with path.open("a", newline="") as rows:
            csv.writer(rows, lineterminator="\n").writerow((*key, f"{bits:.6f}"))
    print("\n".join(table(found)))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], *map(int, sys.argv[2:]))
