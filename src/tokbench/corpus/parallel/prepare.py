"""Prepare a parallel corpus: read its files, clean the training split, write every split aligned."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokbench.allowance import DEFAULT, RESERVE, Allowance, allowance, require, resident
from tokbench.corpus.parallel.again import repeated
from tokbench.corpus.parallel.clean import RULES, cleaned, digest
from tokbench.corpus.parallel.pairs import WRITING, checked, pair_writer
from tokbench.corpus.parallel.read import Pair, read_pairs
from tokbench.corpus.parallel.sources import ParallelCorpus
from tokbench.errors import TokbenchError

COUNTS = "counts.json"
LEAST = WRITING + 50_000_000
"""Bytes in which a parallel corpus can be prepared, beside the process itself."""
HELD = 160
"""Bytes that it takes to know a pair of another split again."""
COPIES = 8
"""Bytes in memory for each of a line's: as it is read, cut out, as text, and among those to be written."""


def prepare_parallel(
    corpus: ParallelCorpus, seed: int, folder: Path, allowed: Allowance | None = None
) -> dict[str, dict[str, int]]:
    """Write ``folder/{split}.parquet`` for every split, and ``counts.json``.

    A pair stays a row throughout, so that no side can come to stand beside another. The training files are read twice
    where equal pairs are left out, and once more for each split that is drawn from them, and to count what these are
    drawn from. Memory holds 160 bytes for each pair of a split that is files of its own, one for each of training, and
    eight more for these where splits are drawn; where equal pairs are looked for, what does not fit goes to disk.

    Args:
        corpus: files, rules and splits.
        seed: decides which pairs are drawn.
        folder: where the corpus goes.
        allowed: memory that may be taken, 2,000 MB beside what the process holds where left out; no file depends on it.

    Returns:
        For each split how many pairs were ``read`` and ``kept``, and how many each rule left out, where any.

    Raises:
        TokbenchError: a file cannot be read, sides are not equally long, a split has no pairs, more are drawn than
            there are, or the corpus needs more memory than that.
    """
    allowed = allowed or allowance(DEFAULT + resident() // 1_000_000, LEAST)
    training = _Training(corpus, allowed)
    counts: dict[str, dict[str, int]] = {}
    for split, source in corpus.sources().items():
        if split != "train":
            number = -1
            with pair_writer(folder / f"{split}.parquet", corpus.languages) as write:
                read = read_pairs(source, corpus.languages, training.largest)
                for number, pair in enumerate(checked(read, split)):
                    write(number, pair)
                    training.hold(split, pair)
            counts[split] = {"read": number + 1, "kept": number + 1}
    training.look(folder)
    places = training.drawn(seed)
    left_out = Counter[str]()
    kept = Counter[str]()
    for split in corpus.drawn():
        with pair_writer(folder / f"{split}.parquet", corpus.languages) as write:
            for place, (number, pair) in enumerate(training.pairs(Counter())):
                if places.get(place) == split:
                    write(number, pair)
                    kept[split] += 1
        counts[split] = {"read": kept[split], "kept": kept[split]}
    with pair_writer(folder / "train.parquet", corpus.languages) as write:
        for place, (number, pair) in enumerate(training.pairs(left_out)):
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


class _Training:
    """The training files of a corpus, and what is known of their pairs before they are written."""

    def __init__(self, corpus: ParallelCorpus, allowed: Allowance) -> None:
        quarter = (allowed.room - WRITING) // 4
        self.largest = allowed.largest(COPIES, allowed.room - quarter)
        self._corpus = corpus
        self._allowed = allowed
        self._most_held = quarter // HELD
        self._looking = 2 * quarter
        self._held: set[bytes] = set()
        self._again: NDArray[np.bool_] | None = None

    def hold(self, split: str, pair: Pair) -> None:
        """Leave a pair of another split out of training."""
        self._held.add(digest(pair))
        if len(self._held) > self._most_held:
            raise TokbenchError(
                f"{split}: more than {self._most_held:,} pairs beside training are too many for "
                f"{self._allowed.megabytes:,} MB of memory; allow it more (--memory)"
            )

    def look(self, folder: Path) -> None:
        """Find the pairs that come again, if they are to be left out."""
        if self._corpus.clean.drop_duplicates:
            self._again = repeated(self._read(), self._corpus.clean, self._held, folder, self._looking)
            size = resident() + RESERVE + WRITING + self._again.nbytes
            remedy = "keep equal pairs (clean: {drop_duplicates: false})"
            require(f"train: {len(self._again):,} pairs", size, self._allowed.megabytes, remedy)

    def pairs(self, counts: Counter[str]) -> Iterator[tuple[int, Pair]]:
        """Those that no rule leaves out; ``counts`` tells of the others."""
        return cleaned(self._read(), self._corpus.clean, self._held, self._again, counts)

    def drawn(self, seed: int) -> dict[int, str]:
        """The split of each pair that is drawn, by its place among those that are kept."""
        wanted = self._corpus.drawn()
        if not wanted:
            return {}
        there = sum(1 for _ in self.pairs(Counter()))
        if sum(wanted.values()) >= there:
            raise TokbenchError(
                f"{', '.join(wanted)}: {sum(wanted.values()):,} pairs are to be drawn from {there:,}; draw fewer"
            )
        size = resident() + RESERVE + WRITING + np.dtype(np.int64).itemsize * there
        remedy = "name files of their own for these splits"
        require(f"{', '.join(wanted)}: drawing from {there:,} pairs", size, self._allowed.megabytes, remedy)
        order = np.random.default_rng(seed).permutation(there)
        splits = [split for split, number in wanted.items() for _ in range(number)]
        return {int(place): split for place, split in zip(order, splits, strict=False)}

    def _read(self) -> Iterator[Pair]:
        return read_pairs(self._corpus.train, self._corpus.languages, self.largest)
