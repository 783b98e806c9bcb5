"""Prepare a parallel corpus: read its files, clean the training split, write every split aligned."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tokbench.corpus.parallel.clean import RULES, cleaned, digest
from tokbench.corpus.parallel.pairs import check_held, pair_writer
from tokbench.corpus.parallel.read import Pair, read_pairs
from tokbench.corpus.parallel.sources import ParallelCorpus
from tokbench.errors import TokbenchError

COUNTS = "counts.json"


def prepare_parallel(corpus: ParallelCorpus, seed: int, folder: Path) -> dict[str, dict[str, int]]:
    """Write ``folder/{split}.parquet`` for every split, and ``counts.json``.

    A pair stays a row throughout, so that no side can come to stand beside another. The training files are read twice
    where splits are drawn from them. Memory holds the pairs of splits that are files of their own, and some hundred
    bytes for each pair of training while duplicates are looked for.

    Args:
        corpus: files, rules and splits.
        seed: decides which pairs are drawn.
        folder: where the corpus goes.

    Returns:
        For each split how many pairs were ``read`` and ``kept``, and how many each rule left out, where any.

    Raises:
        TokbenchError: a file cannot be read, sides are not equally long, a split has no pairs, or more are drawn than
            there are.
    """
    languages = corpus.languages
    own = {
        split: check_held(read_pairs(source, languages), split)
        for split, source in corpus.sources().items()
        if split != "train"
    }
    held = frozenset(digest(pair) for pairs in own.values() for pair in pairs)
    counts: dict[str, dict[str, int]] = {}
    for split, pairs in own.items():
        with pair_writer(folder / f"{split}.parquet", languages) as write:
            for number, pair in enumerate(pairs):
                write(number, pair)
        counts[split] = {"read": len(pairs), "kept": len(pairs)}
    places = _drawn(corpus, seed, held)
    left_out = Counter[str]()
    kept = Counter[str]()
    for split in corpus.drawn():
        with pair_writer(folder / f"{split}.parquet", languages) as write:
            for place, (number, pair) in enumerate(_cleaned(corpus, held, Counter())):
                if places.get(place) == split:
                    write(number, pair)
                    kept[split] += 1
        counts[split] = {"read": kept[split], "kept": kept[split]}
    with pair_writer(folder / "train.parquet", languages) as write:
        for place, (number, pair) in enumerate(_cleaned(corpus, held, left_out)):
            if place not in places:
                write(number, pair)
                kept["train"] += 1
    if not kept["train"]:
        raise TokbenchError(f"train: no pair is left of {left_out['read']:,}; name other files or loosen 'clean'")
    rules = {rule: left_out[rule] for rule in RULES if left_out[rule]}
    drawn = {"drawn": len(places)} if places else {}
    counts["train"] = {"read": left_out["read"], **rules, **drawn, "kept": kept["train"]}
    (folder / COUNTS).write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return counts


def _cleaned(corpus: ParallelCorpus, held: frozenset[bytes], counts: Counter[str]) -> Iterator[tuple[int, Pair]]:
    return cleaned(read_pairs(corpus.train, corpus.languages), corpus.clean, held, counts)


def _drawn(corpus: ParallelCorpus, seed: int, held: frozenset[bytes]) -> dict[int, str]:
    """The split of each pair that is drawn, by its place among those that are kept."""
    wanted = corpus.drawn()
    if not wanted:
        return {}
    there = sum(1 for _ in _cleaned(corpus, held, Counter()))
    if sum(wanted.values()) >= there:
        raise TokbenchError(
            f"{', '.join(wanted)}: {sum(wanted.values()):,} pairs are to be drawn from {there:,}; draw fewer"
        )
    order = np.random.default_rng(seed).permutation(there)
    splits = [split for split, number in wanted.items() for _ in range(number)]
    return {int(place): split for place, split in zip(order, splits, strict=False)}
