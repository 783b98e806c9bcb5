"""Preparation of a parallel corpus: read the files, clean the training split, write all splits aligned.

A pair that breaks several cleaning rules is counted under the first.

Duplicates are found by digests. If these do not fit into memory, they are distributed to files by their first byte.
Equal pairs fall into one file in their original order, so each file can be checked independently.
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
from tokbench.corpus.parallel_read import WRITING_BYTES, Pair, check_pairs, pair_writer, read_pairs
from tokbench.errors import TokbenchError
from tokbench.runtime.memory_limit import DEFAULT, MEGABYTE

RULES = {
    "not_utf8": "a side is not UTF-8",
    "empty": "a side is missing or empty",
    "too_long": "a side has more than max_characters",
    "ratio": "the longer side has more than max_ratio times the characters of the shorter",
    "held_out": "the pair stands in the development split or in a test, too",
    "duplicate": "the pair stands earlier in the training split",
}
"""Cleaning rules in the order in which they are applied."""
DIGEST = 16
"""Bytes of a digest."""
FILES: Final = 256
"""Number of files, one per first byte of a digest."""
ROW: Final = np.dtype([("high", ">u8"), ("low", ">u8"), ("number", "<i8")])
"""A digest and the number of its pair."""
COPIES_OF_ROW: Final = 4
"""Copies in memory of each row while duplicates are searched: the row, its index and the buffers of the sort."""
COUNTS = "counts.json"
LEAST = WRITING_BYTES + 50_000_000
"""Minimum memory in bytes to prepare a parallel corpus, in addition to the process."""


def digest(pair: Pair) -> bytes:
    """Return a digest of a pair (128 bits of BLAKE2b), equal for equal pairs only."""
    first, second = pair
    return hashlib.blake2b(len(first).to_bytes(8) + first + second, digest_size=DIGEST).digest()


def broken_rule(pair: Pair, options: Cleaning) -> str | None:
    """Return the first rule that a pair breaks without regard to other pairs; None if it breaks none."""
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


def clean(
    pairs: Iterable[Pair],
    options: Cleaning,
    held_out: AbstractSet[bytes],
    repeats: NDArray[np.bool_] | None,
    counts: Counter[str],
) -> Iterator[tuple[int, Pair]]:
    """Yield the pairs that break no rule, each with its number from 0.

    Args:
        pairs: pairs in the order of the files.
        options: options of the rules.
        held_out: digests of the pairs of other splits.
        repeats: whether each pair is a duplicate of an earlier one, bool [pairs], from :func:`find_duplicates`; None to
            keep duplicates.
        counts: counter that receives ``read`` and the number of pairs removed by each rule.
    """
    for number, pair in enumerate(pairs):
        counts["read"] += 1
        rule = broken_rule(pair, options)
        if rule is None and held_out and digest(pair) in held_out:
            rule = "held_out"
        if rule is None and repeats is not None and repeats[number]:
            rule = "duplicate"
        if rule is None:
            yield number, pair
        else:
            counts[rule] += 1


def find_duplicates(
    pairs: Iterable[Pair], options: Cleaning, held_out: AbstractSet[bytes], folder: Path, most: int
) -> NDArray[np.bool_]:
    """Find the pairs that occur earlier, among those that break no other rule.

    Args:
        pairs: pairs in the order of the files.
        options: options of the rules.
        held_out: digests of the pairs of other splits.
        folder: folder for temporary files of up to 24 bytes per pair; they are removed.
        most: bytes of memory, in addition to one byte per pair.

    Returns:
        Whether each pair is a duplicate of an earlier one, bool [pairs].
    """
    filter, read = DuplicateFilter(folder, most), 0
    for number, pair in enumerate(pairs):
        read += 1
        if broken_rule(pair, options) is None and (pair_digest := digest(pair)) not in held_out:
            filter.add(pair_digest, number)
    repeats = np.zeros(read, np.bool_)
    for duplicates in filter.numbers():
        repeats[duplicates] = True
    return repeats


class DuplicateFilter:
    """Search for duplicate pairs.

    Args:
        folder: folder for temporary files if memory is not sufficient; they are removed at the end.
        most: maximum bytes of rows in memory.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self._most = most
        self._rows = bytearray()
        self._folder = folder
        self._temporary: TemporaryDirectory[str] | None = None

    def add(self, digest: bytes, number: int) -> None:
        """Add the digest and number of the next pair; numbers must increase."""
        self._rows += digest
        self._rows += number.to_bytes(ROW.itemsize - DIGEST, "little")
        if len(self._rows) * COPIES_OF_ROW > self._most:
            self._spill()

    def numbers(self) -> Iterator[NDArray[np.int64]]:
        """Yield the numbers of all duplicates, in arbitrary order. Call it once, after the last pair is added."""
        if self._temporary is None:
            yield _duplicate_numbers(np.frombuffer(self._rows, ROW))
            return
        self._spill()
        with self._temporary as name:
            for path in Path(name).iterdir():
                yield _duplicate_numbers(np.fromfile(path, ROW))

    def _spill(self) -> None:
        if self._temporary is None:
            self._temporary = TemporaryDirectory(dir=self._folder, prefix=".pairs-")
        rows = np.frombuffer(self._rows, ROW)
        first = (rows["high"] >> np.uint64(56)).astype(np.uint8)
        order = np.argsort(first, kind="stable")
        ends = np.bincount(first, minlength=FILES).cumsum()
        for byte, group in enumerate(np.split(rows[order], ends[:-1])):
            if len(group):
                with Path(self._temporary.name, f"{byte:02x}").open("ab") as file:
                    file.write(group.tobytes())
        del rows
        self._rows = bytearray()


def _duplicate_numbers(rows: NDArray[np.void]) -> NDArray[np.int64]:
    """Return the numbers of the rows whose digest occurs earlier."""
    order = np.lexsort((rows["low"], rows["high"]))
    high, low = rows["high"][order], rows["low"][order]
    same = (high[1:] == high[:-1]) & (low[1:] == low[:-1])
    return np.asarray(rows["number"][order[1:][same]], np.int64)


def prepare_parallel(
    corpus: ParallelCorpus, seed: int, folder: Path, room: int = DEFAULT * MEGABYTE
) -> dict[str, dict[str, int]]:
    """Write ``folder/{split}.parquet`` for every split, and ``counts.json``.

    A pair is one row throughout, so its sides stay aligned. The training files are read several times: once to write,
    once to find duplicates if these are removed, and once per split drawn from them plus once to count. Memory grows by
    160 bytes per pair of a split that has its own files, by 1 byte per training pair, and by 8 bytes per training pair
    if splits are drawn. The search for duplicates uses temporary files if memory is not sufficient.

    Args:
        corpus: files, rules and splits.
        seed: seed of the drawn pairs.
        folder: output folder.
        room: bytes of memory in addition to the process (default: 2,000 MB). The search for duplicates uses half of it.
            The output does not depend on it.

    Returns:
        For each split the number of pairs ``read`` and ``kept``, and the number removed by each rule if any.

    Raises:
        TokbenchError: a file cannot be read, the sides differ in length, a split has no pairs, or more pairs are to
            be drawn than there are.
    """
    # Splits with their own files are written first; none of their pairs may be in training.
    training = _Training(corpus, (room - WRITING_BYTES) // 2)
    counts: dict[str, dict[str, int]] = {}
    for split, source in corpus.sources().items():
        if split != "train":
            number = -1
            with pair_writer(folder / f"{split}.parquet", corpus.languages) as write:
                read = read_pairs(source, corpus.languages)
                for number, pair in enumerate(check_pairs(read, split)):
                    write(number, pair)
                    training.exclude(pair)
            counts[split] = {"read": number + 1, "kept": number + 1}
    # Splits drawn from the training files.
    training.search(folder)
    places = training.draw_splits(seed)
    left_out = Counter[str]()
    written = Counter[str]()
    for split in corpus.drawn_splits():
        with pair_writer(folder / f"{split}.parquet", corpus.languages) as write:
            for place, (number, pair) in enumerate(training.pairs(Counter())):
                if places.get(place) == split:
                    write(number, pair)
                    written[split] += 1
        counts[split] = {"read": written[split], "kept": written[split]}
    # The remaining pairs are the training split.
    with pair_writer(folder / "train.parquet", corpus.languages) as write:
        for place, (number, pair) in enumerate(training.pairs(left_out)):
            if place not in places:
                write(number, pair)
                written["train"] += 1
    if not written["train"]:
        raise TokbenchError(f"train: no pair is left of {left_out['read']:,}; name other files or loosen 'clean'")
    rules = {rule: left_out[rule] for rule in RULES if left_out[rule]}
    drawn_count = {"drawn": len(places)} if places else {}
    counts["train"] = {"read": left_out["read"], **rules, **drawn_count, "kept": written["train"]}
    (folder / COUNTS).write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return counts


class _Training:
    """The training files of a corpus, and the digests and duplicates that cleaning needs."""

    def __init__(self, corpus: ParallelCorpus, search_memory: int) -> None:
        self._corpus = corpus
        self._search_memory = search_memory
        self._held_out: set[bytes] = set()
        self._repeats: NDArray[np.bool_] | None = None

    def exclude(self, pair: Pair) -> None:
        """Exclude a pair of another split from training."""
        self._held_out.add(digest(pair))

    def search(self, folder: Path) -> None:
        """Search for duplicates if they are to be removed."""
        if self._corpus.clean.drop_duplicates:
            self._repeats = find_duplicates(
                self._read_pairs(), self._corpus.clean, self._held_out, folder, self._search_memory
            )

    def pairs(self, counts: Counter[str]) -> Iterator[tuple[int, Pair]]:
        """Yield the pairs that break no rule; ``counts`` receives the numbers of the others."""
        return clean(self._read_pairs(), self._corpus.clean, self._held_out, self._repeats, counts)

    def draw_splits(self, seed: int) -> dict[int, str]:
        """Return the split of each drawn pair, by its index among the pairs that break no rule."""
        numbers = self._corpus.drawn_splits()
        if not numbers:
            return {}
        available = sum(1 for _ in self.pairs(Counter()))
        if sum(numbers.values()) >= available:
            raise TokbenchError(
                f"{', '.join(numbers)}: {sum(numbers.values()):,} pairs are to be drawn from {available:,}; draw fewer"
            )
        order = np.random.default_rng(seed).permutation(available)
        splits = [split for split, number in numbers.items() for _ in range(number)]
        return {int(place): split for place, split in zip(order, splits, strict=False)}

    def _read_pairs(self) -> Iterator[Pair]:
        return read_pairs(self._corpus.train, self._corpus.languages)
