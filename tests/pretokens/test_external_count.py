"""Counting and merging within a bound of memory: spilling changes only the memory."""

import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.commands.main import main
from tokbench.corpus.documents import Document
from tokbench.corpus.shards import open_shards
from tokbench.errors import TokbenchError
from tokbench.kernels.count import MOST_COUNTED, Counter
from tokbench.kernels.runs import Merge
from tokbench.pretokenization import schemes
from tokbench.pretokenization.built_in import KERNEL_SCHEMES
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_languages, count_pretokens, merge_counts
from tokbench.pretokens.external_count import count_external, import_external, merge_external
from tokbench.pretokens.files import language_table, read_languages, read_word_list, write_languages
from tokbench.pretokens.spilling_counter import MIN_ROOM, MemoryBound, SpillingCounter
from tokbench.pretokens.tables import counts_writer
from tokbench.reference import ngram as twin
from tokbench.runtime.memory_limit import RESERVE, resident_bytes

PIECES = [b"a", b"b", b"ab" * 8, b"ab" * 7 + b"a", b"a" * 17, b"\x00", b" ", b"\n", b"1", b"'s", b"\xff", "é".encode()]
TEXTS = st.one_of(st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join), st.binary(max_size=60))
TAGGED = st.lists(st.tuples(st.sampled_from(["", "de", "en"]), TEXTS), max_size=6)
SIZES = st.tuples(st.integers(1, 5), st.integers(2, 4), st.integers(1, 7))
"""Pre-tokens held at a time, runs merged at a time, rows of a row group."""


def ample(**sizes: int) -> MemoryBound:
    """A bound that is never reached."""
    return MemoryBound(1 << 40, **sizes)


class Fixed(MemoryBound):
    """A bound with the same room however much is used."""

    def __init__(self, room: int) -> None:
        super().__init__(0)
        self._room = room

    def room(self, used: int) -> int:
        return self._room


def merge_files(parts: Sequence[Path], path: Path) -> PretokenCounts:
    """Write the sum of the counts of several files, each language by itself, without a limit of memory."""
    languages: dict[str, list[PretokenCounts]] = {}
    for part in parts:
        for language, counts in read_languages(part).items():
            languages.setdefault(language, []).append(counts)
    return write_languages({language: merge_counts(counts) for language, counts in languages.items()}, path)


def in_groups(file: Path, rows: int) -> bytes:
    """The bytes of a file of counts, had it been written with row groups of so many rows."""
    other = file.with_name("grouped.parquet")
    write_in_groups(pq.read_table(file, use_threads=False), other, rows)
    return other.read_bytes()


def write_in_groups(table: pa.Table, file: Path, rows: int) -> None:
    with counts_writer(file, table.schema, rows) as write:
        write(table)


@given(st.lists(TEXTS, max_size=4), SIZES, st.sampled_from(sorted(KERNEL_SCHEMES)))
@settings(deadline=None)
def test_counting_equals_the_twin(
    tmp_path_factory: pytest.TempPathFactory, texts: list[bytes], sizes: tuple[int, int, int], scheme: str
) -> None:
    most, runs, rows = sizes
    folder = tmp_path_factory.mktemp("within")
    count_pretokens(texts, scheme).write(folder / "whole.parquet")
    tagged = [("", text) for text in texts]
    found = count_external(tagged, scheme, folder / "a.parquet", ample(pretokens=most, runs=runs, rows=rows))
    counts = PretokenCounts.read(folder / "a.parquet")
    assert list(counts.items()) == twin.count(texts, schemes[scheme].pattern, most)
    assert (found.unique, found.total, found.total_bytes) == (len(counts), counts.total, counts.total_bytes)
    assert (folder / "a.parquet").read_bytes() == in_groups(folder / "whole.parquet", rows)
    count_external(tagged, scheme, folder / "b.parquet", ample(pretokens=most, runs=runs))
    assert (folder / "b.parquet").read_bytes() == (folder / "whole.parquet").read_bytes()
    assert {path.name for path in folder.iterdir()} == {"whole.parquet", "grouped.parquet", "a.parquet", "b.parquet"}


@given(TAGGED, SIZES)
@settings(deadline=None)
def test_languages_are_counted_and_merged_apart(
    tmp_path_factory: pytest.TempPathFactory, tagged: list[tuple[str, bytes]], sizes: tuple[int, int, int]
) -> None:
    most, runs, _ = sizes
    folder = tmp_path_factory.mktemp("within")
    shards, parts = [tagged[::2], tagged[1::2], [("", b"")]], []
    for number, shard in enumerate(shards):
        whole, bounded = folder / f"{number}.parquet", folder / f"{number}-within.parquet"
        found = count_languages(shard, "gpt2") or {"": PretokenCounts.from_pairs([], "gpt2")}
        counts = write_languages(found, whole)
        totals = count_external(shard, "gpt2", bounded, ample(pretokens=most, runs=runs))
        assert bounded.read_bytes() == whole.read_bytes()
        assert (totals.unique, totals.total, totals.total_bytes) == (len(counts), counts.total, counts.total_bytes)
        parts.append(whole)
    counts = merge_files(parts, folder / "merged.parquet")
    totals = merge_external(parts, folder / "merged-within.parquet", ample(pretokens=most, runs=runs))
    assert (folder / "merged-within.parquet").read_bytes() == (folder / "merged.parquet").read_bytes()
    assert (totals.unique, totals.total, totals.total_bytes) == (len(counts), counts.total, counts.total_bytes)
    taken = PretokenCounts.read(folder / "merged.parquet")
    taken.write(folder / "taken.parquet")
    (folder / "merged.tsv").write_text("".join(f"{pretoken.hex()}\t{count}\n" for pretoken, count in taken.items()))
    for table in ("merged.parquet", "merged.tsv"):
        import_external(folder / table, "gpt2", folder / "taken-within.parquet", ample(pretokens=most, runs=runs))
        assert (folder / "taken-within.parquet").read_bytes() == (folder / "taken.parquet").read_bytes()


@pytest.mark.parametrize("rows", [1000, 3000])
def test_row_groups_across_languages(tmp_path: Path, rows: int) -> None:
    """Many pages, and groups of one language's end and the next one's beginning."""
    draw = random.Random(1)
    tagged = [(tag, " ".join(f"{draw.getrandbits(40):x}" for _ in range(4000)).encode()) for tag in ("en", "de", "en")]
    write_languages(count_languages(tagged, "space"), tmp_path / "whole.parquet")
    table = pa.concat_tables(
        language_table(language, part) for language, part in read_languages(tmp_path / "whole.parquet").items()
    )
    write_in_groups(table, tmp_path / "grouped.parquet", rows)
    count_external(tagged, "space", tmp_path / "found.parquet", ample(pretokens=900, rows=rows))
    assert (tmp_path / "found.parquet").read_bytes() == (tmp_path / "grouped.parquet").read_bytes()


def test_the_largest_counts_stay_exact(tmp_path: Path) -> None:
    """Counts past 2^31 and 2^53 whose last bits matter, and the sum that is one too many."""
    rows = {b"a": 2**60 - 1, b"b": 2**53 + 1, b"c": 2**53, b"d": 2**31 + 1, b"e": 1}
    parts = [tmp_path / "0.parquet", tmp_path / "1.tsv"]
    PretokenCounts.from_pairs(rows.items()).write(parts[0])
    parts[1].write_text("".join(f"{token.hex()}\t{times}\n" for token, times in rows.items() if token != b"a"))
    totals = merge_external(parts, tmp_path / "merged.parquet", ample(pretokens=2, runs=2))
    found = dict(PretokenCounts.read(tmp_path / "merged.parquet").items())
    assert found == {token: times * (1 if token == b"a" else 2) for token, times in rows.items()}
    assert totals.total == sum(found.values())
    with pytest.raises(TokbenchError, match=r"0\.parquet: with the parts before it, .* past 2\^62"):
        merge_external([parts[0]] * 3, tmp_path / "merged.parquet", ample(pretokens=2))


def test_the_sum_over_languages_is_bounded(tmp_path: Path) -> None:
    half = PretokenCounts.from_pairs([(b"a", MOST_COUNTED // 4)])
    write_languages({"de": half}, tmp_path / "0.parquet")
    write_languages({"en": half}, tmp_path / "1.parquet")
    write_languages({"fr": half}, tmp_path / "2.parquet")
    merge_external([tmp_path / "0.parquet", tmp_path / "1.parquet"], tmp_path / "both.parquet", ample())
    with pytest.raises(TokbenchError, match=r"2\.parquet: with the parts before it, .* past 2\^62"):
        merge_external([tmp_path / f"{part}.parquet" for part in range(3)], tmp_path / "all.parquet", ample())


def test_parts_that_do_not_fit_each_other(tmp_path: Path) -> None:
    count_pretokens([b"a"], "space").write(tmp_path / "0.parquet")
    count_pretokens([b"a"], "gpt2").write(tmp_path / "1.parquet")
    with pytest.raises(TokbenchError, match=r"1\.parquet: .*'gpt2'.*0\.parquet has those of 'space'"):
        merge_external([tmp_path / "0.parquet", tmp_path / "1.parquet"], tmp_path / "2.parquet", ample())
    with pytest.raises(TokbenchError, match="no pre-token counts"):
        merge_external([], tmp_path / "2.parquet", ample())


def held_at_most(tables: SpillingCounter, sizes: list[int], limit: int) -> None:
    """Feed pre-tokens of these lengths in two languages, and look at what is held after each."""
    for number, size in enumerate(sizes):
        data = np.frombuffer(f"{number:x}.".encode() + bytes(size), np.uint8)
        tables.add_pretokens("en" if number % 3 else "de", data, np.array([0, len(data)], np.int64))
        assert tables.leased_bytes <= limit


def test_tables_keep_within_their_room(tmp_path: Path) -> None:
    limit = 700_000
    tables = SpillingCounter(tmp_path, Fixed(limit))
    held_at_most(tables, [*range(20, 300)] * 20 + [300_000] + [0] * 20_000, limit)
    languages = tables.spill()
    assert all(len(runs) > 1 for runs in languages.values())
    merge = Merge([str(run).encode() for runs in languages.values() for run in runs])
    merge.drain()
    assert merge.unique == 280 * 20 + 1 + 20_000
    with pytest.raises(TokbenchError, match=r"a pre-token of 800,003 bytes does not fit"):
        held_at_most(SpillingCounter(tmp_path, Fixed(limit)), [20, 800_000 + 1], limit)


def test_a_run_that_cannot_be_written(tmp_path: Path) -> None:
    counter = Counter()
    counter.add_pretokens(np.frombuffer(b"ab", np.uint8), np.array([0, 2], np.int64))
    with pytest.raises(OSError, match="cannot be written"):
        counter.spill(str(tmp_path / "no folder" / "run").encode())
    with pytest.raises(RuntimeError, match="counting failed before"):
        counter.counts()


def test_a_run_that_is_cut_short(tmp_path: Path) -> None:
    counter, run = Counter(), tmp_path / "run"
    counter.add_pretokens(np.frombuffer(b"abcdefgh" * 9, np.uint8), np.array([0, 72], np.int64))
    counter.spill(str(run).encode())
    run.write_bytes(run.read_bytes()[:-1])
    with pytest.raises(OSError, match="cut short"):
        Merge([str(run).encode()])


def text(size: int, seed: int) -> Iterator[bytes]:
    """Documents of words that hardly occur twice."""
    draw = np.random.default_rng(seed)
    for _ in range(size // 500_000):
        letters = draw.integers(97, 123, 500_000, dtype=np.uint8)
        ends = np.cumsum(draw.integers(7, 22, 60_000))
        letters[ends[ends < len(letters)]] = 32
        yield letters.tobytes()


def run(arguments: Sequence[str | Path]) -> tuple[int, str, int]:
    """Run the command line in a process of its own: status, standard error, and the most that was resident, in MB."""
    code = (
        "from tokbench.commands.main import main\n"
        "try: main()\n"
        "finally: print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stderr, int(done.stdout.split()[1]) * 1024 // 1_000_000


@pytest.fixture(scope="module")
def unbounded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two shards, their counts, and the sum of these, made without a bound."""
    folder = tmp_path_factory.mktemp("unbounded")
    for number in range(2):
        with open_shards([folder / f"{number}.parquet"]) as write:
            for index, document in enumerate(text(14_000_000, number)):
                write(Document(index, "", document))
        main(
            [
                "count",
                "--scheme",
                "gpt2",
                "-o",
                str(folder / f"counts-{number}.parquet"),
                str(folder / f"{number}.parquet"),
            ]
        )
    parts = [folder / "counts-0.parquet", folder / "counts-1.parquet"]
    merge_files(parts, folder / "merged.parquet")
    return folder


def test_the_process_keeps_within_its_memory(unbounded: Path, tmp_path: Path) -> None:
    """Without the limit the two together take more than half as much again."""
    shards, counted = [unbounded / f"{number}.parquet" for number in range(2)], tmp_path / "counts.parquet"
    status, told, peak = run(["count", "--scheme", "gpt2", "--memory", "200", "-o", counted, *shards])
    assert status == 0, told
    assert peak <= 200
    assert counted.read_bytes() == (unbounded / "merged.parquet").read_bytes()
    parts, merged = [unbounded / f"counts-{number}.parquet" for number in range(2)], tmp_path / "merged.parquet"
    status, told, peak = run(["merge_counts", "--memory", "200", "-o", merged, *parts])
    assert status == 0, told
    assert peak <= 200
    assert merged.read_bytes() == (unbounded / "merged.parquet").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["counts.parquet", "merged.parquet"]
    assert run(["count", "--scheme", "gpt2", "-o", counted, *shards])[2] > 1.5 * 200


def test_ngrams_of_bytes_keep_within_their_memory(tmp_path: Path) -> None:
    shard, model = tmp_path / "0.parquet", tmp_path / "model"
    with open_shards([shard]) as write:
        for index, document in enumerate(text(2_000_000, 0)):
            write(Document(index, "", document))
    called = ["train_byte_lm", "--recipe", "ngram", shard, "-o"]
    status, told, peak = run([*called, model, "--memory", "220"])
    assert status == 0, told
    assert peak <= 220
    assert run([*called, tmp_path / "whole"])[2] > 1.2 * 220
    for name in ("windows.npy", "counts.npy"):
        assert (model / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_measuring_documents_within_a_bound_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(b"one two three two\n" * 9)
    main(["count", "--scheme", "gpt2", "-o", str(tmp_path / "counts.parquet"), str(tmp_path / "text.txt")])
    main(["build", "bpe", "--counts", str(tmp_path / "counts.parquet"), "--size", "260", "-o", str(tmp_path / "bpe")])
    called = ["measure", str(tmp_path / "bpe"), "--documents", str(tmp_path / "text.txt"), "-o"]
    main([*called, str(tmp_path / "whole.json")])
    main([*called, str(tmp_path / "bound.json"), "--memory", "9000"])
    assert (tmp_path / "bound.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
    assert len(list(tmp_path.iterdir())) == 5


@pytest.mark.parametrize("command", ["count --scheme gpt2", "merge_counts"])
def test_a_bound_that_is_too_small(tmp_path: Path, command: str) -> None:
    (tmp_path / "text.txt").write_text("a")
    status, told, _ = run([*command.split(), "--memory", "40", "-o", tmp_path / "o.parquet", tmp_path / "text.txt"])
    assert status == 2
    assert told.startswith("tokbench: --memory 40: too little ")
    assert len(told.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_a_killed_run_leaves_nothing_for_long(tmp_path: Path) -> None:
    """Its temporary files are no output, and the next attempt at the same output removes them."""
    code = (
        "import os, sys; from tokbench.io.atomic import scratch_folder\n"
        "with scratch_folder(sys.argv[1]) as folder:\n"
        "    (folder / 'run').write_bytes(b'x'); print(folder); sys.stdout.flush(); os._exit(9)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "o.parquet"], capture_output=True, text=True)
    left = Path(done.stdout.strip())
    assert left.is_dir()
    count_external([("", b"a b")], "gpt2", tmp_path / "o.parquet", ample())
    assert [path.name for path in tmp_path.iterdir()] == ["o.parquet"]


def test_the_least_room_is_enough(tmp_path: Path) -> None:
    count_external([("", part) for part in text(4_000_000, 1)], "gpt2", tmp_path / "o.parquet", Fixed(MIN_ROOM))
    count_pretokens(text(4_000_000, 1), "gpt2").write(tmp_path / "whole.parquet")
    assert (tmp_path / "o.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()


def test_word_list_that_exceeds_memory_is_rejected_before_counting(tmp_path: Path) -> None:
    words, counts = tmp_path / "words", tmp_path / "counts"
    words.write_text(" ".join(f"word{number}" for number in range(1000)))
    counts.write_text("1\n" * 1000)
    assert len(read_word_list(words, counts, 10_000)) == 1000
    with pytest.raises(TokbenchError, match=r"--memory 10: this list of words needs about [0-9,]+ MB; allow that much"):
        read_word_list(words, counts, 10)
    words.write_text(" ".join(map(str, range(100_000))))
    allowed = (resident_bytes() + RESERVE) // 1_000_000 + 15
    with pytest.raises(TokbenchError, match=f"--memory {allowed}: this list of words needs about"):
        read_word_list(words, counts, allowed)
