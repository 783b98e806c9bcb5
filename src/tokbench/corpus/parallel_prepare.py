"""Prepare a parallel corpus: read its files, clean the training split, write every split aligned.

The rules by which pairs are left out of training, each pair counted under the first that it breaks.

Which pairs stand earlier, too: found by what equal pairs share, in as much memory as there is.

What is more than memory takes goes to files by its first bits. What is equal comes into one file, in the order in which
it came, so that each file by itself tells which of its pairs came before.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tokbench.corpus.parallel import Cleaning, ParallelCorpus
from tokbench.corpus.parallel_read import WRITING, Pair, checked, pair_writer, read_pairs
from tokbench.errors import TokbenchError
from tokbench.runtime.memory_limit import DEFAULT, RESERVE, MemoryLimit, allowance, require, resident

RULES = {
    "not_utf8": "a side is not UTF-8",
    "empty": "a side is missing or empty",
    "too_long": "a side has more than max_characters",
    "ratio": "the longer side has more than max_ratio times the characters of the shorter",
    "held_out": "the pair stands in the development split or in a test, too",
    "duplicate": "the pair stands earlier in the training split",
}
"""In the order in which they are asked."""
DIGEST = 16
"""Bytes of a digest."""


def digest(pair: Pair) -> bytes:
    """What equal pairs share, and no others do, but by a chance that nobody meets (128 bits of BLAKE2b)."""
    first, second = pair
    return hashlib.blake2b(len(first).to_bytes(8) + first + second, digest_size=DIGEST).digest()


def broken_rule(pair: Pair, options: Cleaning) -> str | None:
    """The first rule that a pair breaks by itself; None for a good one."""
    try:
        lengths = [len(side.decode()) for side in pair]
    except UnicodeDecodeError:
        return "not_utf8"
    if not min(lengths):
        return "empty"
    if max(lengths) > options.max_characters:
        return "too_long"
    if options.max_ratio is not None and max(lengths) > options.max_ratio * min(lengths):
        return "ratio"
    return None


def cleaned(
    pairs: Iterable[Pair],
    options: Cleaning,
    held: AbstractSet[bytes],
    again: NDArray[np.bool_] | None,
    counts: Counter[str],
) -> Iterator[tuple[int, Pair]]:
    """The pairs that break no rule, each with its number from 0.

    Args:
        pairs: as they are read.
        options: of the rules.
        held: digests of the pairs of other splits.
        again: bool [pairs], which of them stand earlier, too (:func:`tokbench.corpus.parallel_prepare.repeated`); None
            where these are kept.
        counts: gets ``read``, and how many were left out by each rule.
    """
    for number, pair in enumerate(pairs):
        counts["read"] += 1
        rule = broken_rule(pair, options)
        if rule is None and held and digest(pair) in held:
            rule = "held_out"
        if rule is None and again is not None and again[number]:
            rule = "duplicate"
        if rule is None:
            yield number, pair
        else:
            counts[rule] += 1


FILES: Final = 256
"""One for each first byte of a digest."""
ROW: Final = np.dtype([("high", ">u8"), ("low", ">u8"), ("number", "<i8")])
"""A digest and the number of its pair."""
AGAIN_COPIES: Final = 4
"""Rows in memory for each that is looked at: itself, its place in order, and what sorting takes."""


def repeated(
    pairs: Iterable[Pair], options: Cleaning, held: AbstractSet[bytes], folder: Path, most: int
) -> NDArray[np.bool_]:
    """Which pairs stand earlier among those that break no other rule.

    Args:
        pairs: as they are read.
        options: of the rules.
        held: digests of the pairs of other splits.
        folder: takes what memory does not, up to 24 bytes a pair; nothing is left there.
        most: bytes of memory, beside one for each pair.

    Returns:
        bool [pairs].
    """
    found, read = DuplicateFilter(folder, most), 0
    for number, pair in enumerate(pairs):
        read += 1
        if broken_rule(pair, options) is None and (own := digest(pair)) not in held:
            found.add(own, number)
    again = np.zeros(read, np.bool_)
    for some in found.numbers():
        again[some] = True
    return again


class DuplicateFilter:
    """Pairs that come again.

    Args:
        folder: where files go that are too much for memory; they are removed at the end.
        most: bytes of rows that are held.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self._most = most
        self._held = bytearray()
        self._folder = folder
        self._spilled: TemporaryDirectory[str] | None = None

    def add(self, digest: bytes, number: int) -> None:
        """Note the next pair: what it shares with its equals, and its number, which is greater than those before."""
        self._held += digest
        self._held += number.to_bytes(ROW.itemsize - DIGEST, "little")
        if len(self._held) * AGAIN_COPIES > self._most:
            self._spill()

    def numbers(self) -> Iterator[NDArray[np.int64]]:
        """Numbers of the pairs that have an equal before them, in no order of their own; once, after the last."""
        if self._spilled is None:
            yield _again(np.frombuffer(self._held, ROW))
            return
        self._spill()
        with self._spilled as name:
            for path in Path(name).iterdir():
                yield _again(np.fromfile(path, ROW))

    def _spill(self) -> None:
        if self._spilled is None:
            self._spilled = TemporaryDirectory(dir=self._folder, prefix=".pairs-")
        rows = np.frombuffer(self._held, ROW)
        first = (rows["high"] >> np.uint64(56)).astype(np.uint8)
        order = np.argsort(first, kind="stable")
        ends = np.bincount(first, minlength=FILES).cumsum()
        for byte, some in enumerate(np.split(rows[order], ends[:-1])):
            if len(some):
                with Path(self._spilled.name, f"{byte:02x}").open("ab") as file:
                    file.write(some.tobytes())
        del rows
        self._held = bytearray()


def _again(rows: NDArray[np.void]) -> NDArray[np.int64]:
    """Numbers of the rows whose digest stands before, too."""
    order = np.lexsort((rows["low"], rows["high"]))
    high, low = rows["high"][order], rows["low"][order]
    same = (high[1:] == high[:-1]) & (low[1:] == low[:-1])
    return np.asarray(rows["number"][order[1:][same]], np.int64)


COUNTS = "counts.json"
LEAST = WRITING + 50_000_000
"""Bytes in which a parallel corpus can be prepared, beside the process itself."""
HELD = 160
"""Bytes that it takes to know a pair of another split again."""
COPIES = 8
"""Bytes in memory for each of a line's: as it is read, cut out, as text, and among those to be written."""


def prepare_parallel(
    corpus: ParallelCorpus, seed: int, folder: Path, allowed: MemoryLimit | None = None
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

    def __init__(self, corpus: ParallelCorpus, allowed: MemoryLimit) -> None:
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
