"""Checksums of small vocabularies, of pre-tokens and of ids by every method, equal on all systems and Pythons.

``python tests/portability/vocabularies.py`` writes them to ``vocabularies.json``. With ``--check`` it compares them
with the file, and lists those that differ. It needs Tokbench's core only, so that it also tries a wheel.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokbench.candidates.running_text import Documents
from tokbench.candidates.scored_text import ScoredDocuments
from tokbench.construction import constructions
from tokbench.models.byte_lm.scores import write_scores
from tokbench.pretokenization import pretokenization_of, schemes
from tokbench.pretokens.count import count_pretokens
from tokbench.segmentation import segmentations
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import Vocabulary

EXPECTED = Path(__file__).with_name("vocabularies.json")
SCHEME, SIZE, INITIAL_SIZE, SEED = "gpt2", 800, 1600, 1
VOCABULARIES: dict[str, dict[str, Any]] = {
    "bpe": {"alphabet": "character", "character_coverage": 0.99},
    "bytespan": {"learning": "incremental", "constraint": "global", "min_span_count": 2},
    "convextok": {"max_token_bytes": 8, "steps": 20},
    "sage": {"dimensions": 8, "epochs": 1},
    "toast": {"steps": 20},
    "unigram": {"alphabet": "character", "seed_size": 3000},
    "wordpiece": {"objective": "likelihood"},
}
"""Options that make a method quick on a small text, or that reach more of its code."""
PRETOKENIZATIONS: dict[str, dict[str, Any]] = {
    "regex": {"pattern": r"\p{L}+(?=\p{N})|[^\s\p{L}]{1,4}|\s\p{Ll}*"},
    "added_tokens": {"tokens": ["ing", "inglo", "  "], "others": "gpt2"},
    "sequence": {"steps": ["gpt2", {"method": "digits", "group": 2}, "scripts"]},
}
SYLLABLES = ["ba", "der", "ing", "lo", "men", "que", "sti", "tion", "un", "wa", "ße", "né", "東", "京", "ки", "вет"]
SYLLABLES += ["ال", "🦀", "'s", "12", "7", "-"]
ENDS = [" ", " ", " ", " ", ", ", ". ", "\n", "  ", "\r\n\t", "\u2028", "\u00a0"]


@cache
def texts() -> tuple[bytes, ...]:
    """Make 60 documents of common and rare words in several scripts, and one of all bytes.

    Random numbers become indices by products, which all processors round in the same way.
    """
    random = Random(SEED)

    def choose(items: list[str]) -> str:
        chance = random.random()
        return items[int(len(items) * chance * chance * chance)]

    words = ["".join(choose(SYLLABLES) for _ in range(1 + place % 4)) for place in range(900)]
    documents = ["".join(choose(words) + choose(ENDS) for _ in range(250)) for _ in range(60)]
    return (*(document.encode() for document in documents), bytes(range(256)))


def score(text: bytes) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return surprisal and entropy of each byte, from it and its predecessor: multiples of 1/16, which are exact."""
    current = np.frombuffer(text, np.uint8).astype(np.int64)
    previous = np.concatenate([[0], current[:-1]])
    surprisal, entropy = ((values % 97 / 16).astype(np.float32) for values in (31 * current + previous, 17 * previous))
    return surprisal, entropy


@cache
def vocabulary(method: str, shard: Path, size: int) -> Vocabulary:
    """Build a vocabulary by one method; the shard has the documents and their scores."""
    construction = constructions[method]
    source: Any = {
        "counts": lambda: count_pretokens(texts(), SCHEME),
        "scores": lambda: ScoredDocuments((shard,), SCHEME),
        "documents": lambda: Documents((shard,), SCHEME),
    }[construction.source]()
    initial = {"initial": vocabulary("ngram", shard, INITIAL_SIZE)} if construction.initial else {}
    options = construction.options(**VOCABULARIES.get(method, {}))
    built: Vocabulary = construction.function(source, size, options, seed=SEED, threads=2, **initial)
    return built


def of_numbers(arrays: Iterable[NDArray[Any]]) -> str:
    """Return the SHA-256 of integers, as 64 bits in little-endian order."""
    content = hashlib.sha256()
    for array in arrays:
        content.update(array.astype("<i8").tobytes())
    return content.hexdigest()


def fits(made: Vocabulary, segmentation: str) -> bool:
    """Return whether the segmentation accepts this vocabulary."""
    needs = segmentations[segmentation].needs
    if needs is not None and getattr(made, needs) is None:
        return False
    if needs == "events" and made.supermerges is not None:
        return False
    return made.continuation is None or segmentation == "longest_prefix"


def checksums() -> dict[str, str]:
    """Return the checksum of each vocabulary, of the pre-tokens of each scheme and of the ids of each segmentation."""
    made: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        shard = Path(folder) / "scores.parquet"
        write_scores(enumerate(texts()), score, shard, "by hand")
        built = {method: vocabulary(method, shard, SIZE) for method in constructions}
    made |= {f"construction {method}": result.digest for method, result in built.items()}
    for scheme in schemes:
        split = pretokenization_of({"method": scheme, **PRETOKENIZATIONS.get(scheme, {})})
        made[f"pretokenization {scheme}"] = of_numbers(split.boundaries(text) for text in texts())
    for method in segmentations.methods():
        construction = next(name for name, result in built.items() if fits(result, method.name))
        tokenizer = Tokenizer(built[construction], SCHEME, method.name, method.options())
        made[f"segmentation {method.name} of {construction}"] = of_numbers(tokenizer.encode_batch(texts()))
    return made


def main() -> None:
    """Write or compare the checksums."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare with vocabularies.json, and write nothing")
    made = checksums()
    if not parser.parse_args().check:
        EXPECTED.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")
        return
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    different = [name for name in made | expected if made.get(name) != expected.get(name)]
    print(f"{len(made)} checksums, {len(different)} differ from {EXPECTED.name}", *different, sep="\n  ")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
