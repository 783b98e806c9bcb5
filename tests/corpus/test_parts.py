"""A corpus that is prepared in parts: the same bytes as by one job, for any source, limits and parts."""

import errno
import itertools
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.conftest import write_json_lines
from tests.support.processes import MEGABYTE, contents, peak
from tokbench.config.check import check
from tokbench.config.experiment import Experiment
from tokbench.corpus.documents import read_findings, read_shard, write_findings
from tokbench.corpus.duplicates import DIGEST
from tokbench.corpus.formats.arrow import ArrowSource
from tokbench.corpus.formats.jsonl import JsonLinesSource
from tokbench.corpus.formats.parquet import ParquetSource
from tokbench.corpus.formats.text import TextSource
from tokbench.corpus.limits import is_limited, without_limits
from tokbench.corpus.partitions import partition_part, write_partitions
from tokbench.corpus.parts import SourcePart, groups_of, parts_of, write_sizes
from tokbench.corpus.prepare import UNBOUND, link_shards, prepare
from tokbench.corpus.read import read_source
from tokbench.corpus.shards import shard_paths
from tokbench.corpus.shuffle import PER_DOCUMENT, assign_documents, read_totals
from tokbench.corpus.sources import FileSource, HubSource, Source
from tokbench.corpus.splits import UNUSED, mix, split_documents
from tokbench.errors import TokbenchError
from tokbench.io.encodings import Notes
from tokbench.runtime.memory_limit import MemoryLimit

SHARES: list[dict[str, float | str]] = [
    {"tokenizer": 1.0},
    {"tokenizer": 0.5, "evaluation": 0.3},
    {"byte_lm": 0.25, "tokenizer": 0.5, "evaluation": "tokenizer", "pretraining": 0.25},
]


def of_part(source: Source, part: SourcePart) -> Source:
    """The source that reads the files of a part, as the workflow names them."""
    if not isinstance(source, FileSource):
        return source
    tagged: dict[str, list[str]] = {}
    for tag, file in part.files:
        tagged.setdefault(tag, []).append(str(file))
    return source.model_copy(update={"path": tagged if isinstance(source.path, dict) else tagged[""]})


def in_parts(
    source: Source,
    shares: Mapping[str, float | str],
    seed: int,
    shards: int,
    parts: int,
    folder: Path,
    cache: Path | None = None,
    allowed: MemoryLimit = UNBOUND,
    longest: int | None = None,
    drop_duplicates: bool = False,
) -> dict[str, bytes]:
    """Every job, one after the other; what is in the corpus."""
    read = [(of_part(source, part), part.span) for part in parts_of(source, parts)]
    assert len(read) == parts
    sizes, queues = ([folder / f"{kind}{part}" for part in range(parts)] for kind in ("sizes", "queue"))
    for (one, span), path in zip(read, sizes, strict=True):
        notes = Notes()
        write_sizes(read_source(without_limits(one), cache, span=span, longest=longest, notes=notes), path, notes)
    places = folder / "places"
    places.mkdir()
    assign_documents(source, shares, seed, shards, sizes, places, allowed, longest, drop_duplicates)
    own = [split for split, share in shares.items() if not isinstance(share, str)]
    groups = groups_of(len(own) * shards, parts)
    for part, ((one, span), path) in enumerate(zip(read, queues, strict=True)):
        documents = read_source(without_limits(one), cache, span=span, longest=longest)
        partition_part(source, documents, places / f"{part:04}.parquet", groups, path, allowed)
    for number, group in enumerate(groups):
        into = folder / f"group{number}"
        into.mkdir()
        paths = [path for split in own for path in shard_paths(into, split, shards)][group.start : group.stop]
        write_partitions(queues, group, read_totals(places), paths, allowed)
        write_findings(into, read_findings(places))
    corpus = folder / "corpus"
    corpus.mkdir()
    link_shards([folder / f"group{number}" for number in range(len(groups))], shares, shards, corpus)
    return contents(corpus)


# The same bytes

LONG_TEXT = "long " * 60
TEXTS = st.lists(
    st.tuples(
        st.sampled_from(["", "de", "en", "fr"]), st.sampled_from(["", "a\n", "b c\n\n", "long " * 60, "é\n\nf\n"])
    ),
    max_size=8,
)
FILES = st.lists(TEXTS, min_size=1, max_size=5)
SOME = [("en", f"{number} one\n\ntwo\n\n") for number in range(6)]
LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "max_documents": st.integers(1, 20),
        "max_bytes_per_language": st.integers(1, 400),
        "languages": st.lists(st.sampled_from(["", "de", "en", "xx"]), max_size=3, unique=True),
        "rename_languages": st.dictionaries(st.sampled_from(["de", "en", "xx"]), st.sampled_from(["en", "de", "und"])),
        "language": st.sampled_from(["", "xx"]),
    },
)


def written(kind: str, files: Sequence[Sequence[tuple[str, str]]], folder: Path, **options: Any) -> Source:
    """A source with these texts in its files; a row group has two of them."""
    paths = []
    for number, rows in enumerate(files):
        path = folder / f"{number}.{kind}"
        paths.append(str(path))
        tags, texts = [tag for tag, _ in rows], [text for _, text in rows]
        if kind == "text":
            path.write_text("".join(texts))
        elif kind == "jsonl":
            write_json_lines(path, [{"text": text, "language": tag} for tag, text in rows])
        else:
            table = pa.table({"text": pa.array(texts, pa.string()), "language": pa.array(tags, pa.string())})
            if kind == "parquet":
                pq.write_table(table, path, row_group_size=2)
            else:
                new = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
                with new(path, table.schema) as writer:
                    writer.write_table(table, 2)
    if kind == "text":
        return TextSource(type="text", path=paths, documents="paragraph", **options)
    if kind == "jsonl":
        tagged = {f"x{place}": paths[place : place + 2] for place in range(0, len(paths), 2)}
        return JsonLinesSource(type="jsonl", path=tagged if options.pop("tagged") else paths, **options)
    rows = ParquetSource if kind == "parquet" else ArrowSource
    name = "parquet" if kind == "parquet" else "arrow"
    return rows(type=name, path=paths, language_field="language", documents="line", **options)  # type: ignore[arg-type]


def texts_in(folder: Path) -> dict[str, bytes]:
    """The texts of each shard, laid end to end."""
    shards = {path.relative_to(folder): read_shard(path) for path in folder.glob("*/*.parquet")}
    return {str(name): b"".join(document.text for document in shard) for name, shard in shards.items()}


@settings(max_examples=60)
@given(data=st.data())
def test_parts_give_the_same_bytes_as_one_job(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("corpus")
    kind = data.draw(st.sampled_from(["text", "jsonl", "parquet", "arrow", "stream"]))
    files = data.draw(FILES)
    files[-1] += SOME if data.draw(st.booleans()) else []
    options = data.draw(LIMITS) | ({"tagged": data.draw(st.booleans())} if kind == "jsonl" else {})
    source = written(kind, files, folder, **options)
    parts = data.draw(st.integers(1, len(files) if kind in ("text", "jsonl") else 9))
    about = data.draw(st.sampled_from(SHARES)), data.draw(st.integers(0, 3)), data.draw(st.integers(1, 4))
    allowed = data.draw(st.sampled_from([UNBOUND, MemoryLimit(60, 50_000_000)]))
    longest = data.draw(st.sampled_from([None, 2, 40]))
    drop = data.draw(st.booleans())
    with pytest.MonkeyPatch.context() as patch:
        for module in ("partitions", "shards"):
            patch.setattr(f"tokbench.corpus.{module}.GROUP_BYTES", data.draw(st.sampled_from([150, 8_000_000])))
        patch.setattr("tokbench.corpus.partitions.BYTES_OF_OWN_GROUP", data.draw(st.sampled_from([200, 1 << 22])))
        patch.setattr("tokbench.corpus.partitions.OPEN_BYTES", data.draw(st.sampled_from([30_000_000, 1])))
        patch.setattr("tokbench.corpus.parts.ROWS", data.draw(st.sampled_from([3, 1 << 16])))
        long = data.draw(st.sampled_from([250, 1 << 26]))
        for module in ("partitions", "shards"):
            patch.setattr(f"tokbench.corpus.{module}.LONG", long)
        try:
            totals = prepare(source, *about, folder / "at once", None, allowed, longest, drop)
            wanted: dict[str, bytes] | str = contents(folder / "at once")
            if longest is not None:
                assert prepare(source, *about, folder / "uncut", drop_duplicates=drop) == totals
                assert texts_in(folder / "uncut") == texts_in(folder / "at once")
        except TokbenchError as error:
            wanted = str(error)
        (folder / "parts").mkdir()
        try:
            found: dict[str, bytes] | str = in_parts(
                source, *about, parts, folder / "parts", None, allowed, longest, drop
            )
        except TokbenchError as error:
            found = str(error)
    assert of_all_parts(found, source) == of_all_parts(wanted, source)


def of_all_parts(found: dict[str, bytes] | str, source: Source) -> dict[str, Any] | str:
    """What a corpus in parts has, too: without files of equal content, and lines that are empty, which a job that
    reads to a limit counts up to there."""
    if isinstance(found, str):
        return found
    left_out = {"equal_files", *(["empty_lines"] if is_limited(source) else [])}
    manifest = json.loads(found.get("manifest.json", b"{}"))
    rest = {key: lines for key, lines in manifest.items() if key not in left_out}
    return found | {"manifest.json": rest}


def test_a_fetched_file_is_cut_between_its_row_groups(tmp_path: Path) -> None:
    cache = tmp_path / "fetched.parquet"
    table = pa.table({"text": [b"a " * number for number in range(50)], "language": ["en", "de"] * 25})
    pq.write_table(table, cache, row_group_size=3)
    source = HubSource(type="hub", dataset="some/thing", revision="0" * 40, max_documents=40)
    prepare(source, SHARES[2], 0, 2, tmp_path / "at once", cache)
    for parts in (2, 5, 40):
        folder = tmp_path / str(parts)
        folder.mkdir()
        assert in_parts(source, SHARES[2], 0, 2, parts, folder, cache) == contents(tmp_path / "at once")


# Parts


@given(st.lists(st.integers(0, 30), min_size=1, max_size=12), st.integers(1, 12), st.booleans())
def test_parts_follow_each_other_and_are_about_as_large(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], parts: int, cut: bool
) -> None:
    folder = tmp_path_factory.mktemp("files")
    paths = [str(folder / f"{number:02}") for number in range(len(sizes))]
    for path, size in zip(paths, sizes, strict=True):
        Path(path).write_bytes(b"a" * size)
    cut = cut and sum(sizes) > 0
    if not cut:
        parts = min(parts, len(sizes))
    kind: Any = ParquetSource if cut else TextSource
    found = parts_of(kind(type="parquet" if cut else "text", path=paths), parts)
    assert len(found) == parts
    read = [(str(path), share) for part in found for path, share in shares_read(part)]
    assert [path for path, _ in itertools.groupby(path for path, _ in read)] == paths
    assert all(sum(share for path, share in read if path == one) == 1 for one in paths)
    largest = sum(sizes) / parts if cut else max(sizes)
    for part in found:
        size = sum(share * Path(path).stat().st_size for path, share in shares_read(part))
        assert part.files
        assert cut or size <= sum(sizes) / parts + largest or len(part.files) == 1
        assert not cut or size <= 2 * sum(sizes) / parts


def shares_read(part: SourcePart) -> list[tuple[Path, Any]]:
    """Number of read bytes of each file of a part."""
    last = len(part.files) - 1
    return [
        (path, (part.span.end if place == last else 1) - (part.span.begin if place == 0 else 0))
        for place, (_, path) in enumerate(part.files)
    ]


def test_shards_are_grouped_into_at_most_the_number_of_parts() -> None:
    assert groups_of(1024, 100) == [range(first, min(first + 11, 1024)) for first in range(0, 1024, 11)]
    assert groups_of(4, 100) == [range(place, place + 1) for place in range(4)]
    assert groups_of(7, 2) == [range(4), range(4, 7)]


# Splits


def by_definition(
    sizes: NDArray[np.int64], fractions: Mapping[str, float], seed: int, languages: NDArray[np.int64]
) -> list[int]:
    """Each language is gone through in the order of a hash; a document's middle byte decides."""
    order = np.argsort(mix(np.arange(len(sizes), dtype=np.uint64), seed))
    assigned = np.full(len(sizes), UNUSED)
    for language in set(languages.tolist()):
        own = order[languages[order] == language]
        ends = np.cumsum(sizes[own])
        edges = np.cumsum(list(fractions.values())) * ends[-1]
        for document, middle in zip(own, ends - sizes[own] / 2, strict=True):
            passed = int((edges <= middle).sum())
            assigned[document] = passed if passed < len(fractions) else UNUSED
    return assigned.tolist()


@given(
    st.lists(st.tuples(st.integers(0, 90), st.integers(0, 4)), min_size=1, max_size=60),
    st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5]), max_size=2),
    st.integers(0, 5),
    st.integers(1, 70),
)
def test_splits_are_drawn_as_defined_however_many_at_a_time(
    documents: list[tuple[int, int]], shares: list[float], seed: int, chunk: int
) -> None:
    sizes, languages = np.array(documents).T
    fractions = dict(zip("ab", shares, strict=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokbench.corpus.splits.CHUNK", chunk)
        try:
            found = split_documents(sizes, fractions, seed, languages).tolist()
        except TokbenchError:
            found = None
    wanted = by_definition(sizes, fractions, seed, languages)
    if found is None:
        assert any(share > 0 and place not in wanted for place, share in enumerate(shares))
    else:
        assert found == wanted


# What does not fit together


@pytest.fixture
def lines(tmp_path: Path) -> Source:
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text("".join(f"{name} {number}\n" for number in range(9)))
    return TextSource(type="text", path=[str(tmp_path / f"{name}.txt") for name in "abc"], documents="line")


@pytest.mark.parametrize("other", ["a\n", "a 0\n" * 10, "a 11\n" * 9])
def test_a_source_that_changes_before_it_is_dealt_out(other: str, lines: Source, tmp_path: Path) -> None:
    place = assign_documents

    def change(*arguments: Any) -> Any:
        (tmp_path / "a.txt").write_text(other)
        return place(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "assign_documents", change)
        (tmp_path / "parts").mkdir()
        with pytest.raises(TokbenchError, match="the source changed while it was read; prepare the corpus again"):
            in_parts(lines, SHARES[0], 0, 1, 3, tmp_path / "parts")


def test_partitions_with_unexpected_documents_are_rejected(lines: Source, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    in_parts(lines, SHARES[0], 0, 2, 3, folder)
    queues, gets = [folder / f"queue{part}" for part in range(3)], read_totals(folder / "places")
    paths = shard_paths(tmp_path / "again", "tokenizer", 2)
    with pytest.raises(TokbenchError, match=r": the queues contain 9 documents of 36 bytes for tokenizer/0000.parquet"):
        write_partitions(queues[1:], range(2), gets, paths, UNBOUND)


def test_a_shard_that_nobody_wrote(lines: Source, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    in_parts(lines, SHARES[0], 0, 2, 3, folder)
    (folder / "other").mkdir()
    with pytest.raises(TokbenchError, match=r"tokenizer/0001.parquet is in none of the 1 folders"):
        link_shards([folder / "group0"], SHARES[0], 2, folder / "other")


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EPERM])
def test_shards_are_copied_where_they_cannot_be_linked(
    number: int, lines: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    (tmp_path / "linked").mkdir()
    linked = in_parts(lines, SHARES[2], 0, 2, 2, tmp_path / "linked")
    assert all(path.stat().st_nlink == 2 for path in (tmp_path / "linked" / "corpus").glob("*/*.parquet"))
    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "copied").mkdir()
    assert in_parts(lines, SHARES[2], 0, 2, 2, tmp_path / "copied") == linked


@pytest.mark.parametrize(("kind", "told"), [("text", True), ("jsonl", True), ("parquet", False), ("arrow", False)])
def test_more_parts_than_files(kind: str, told: bool, experiment: dict[str, Any], tmp_path: Path) -> None:
    source = written(kind, [[("en", "a\n")] * 9] * 3, tmp_path, **({"tagged": False} if kind == "jsonl" else {}))
    experiment["corpora"] = {"pydoc": {"source": source.model_dump(), "parts": 4}}
    line = "corpora.pydoc.parts: 4 parts of 3 files, which are not split; ask for 3, or split them further"
    mistakes = check(Experiment.model_validate(experiment))
    assert [mistake for mistake in mistakes if "parts" in mistake] == [line] * told


def test_more_documents_than_there_is_memory_for(lines: Source, tmp_path: Path) -> None:
    with pytest.raises(TokbenchError, match=r"^27 documents need more than the 1 MB of memory that are allowed"):
        in_parts(lines, SHARES[0], 0, 1, 3, tmp_path, allowed=MemoryLimit(1, 539))


def test_too_long_document_has_the_same_error_in_one_process_and_in_parts(
    lines: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "b.txt").open("a") as file:
        file.write("one\nand a long one\ntwo\n")
    told = r"^document 19 of the source has 15 bytes, and a shard accepts 14 per document; cut it into shorter doc"
    monkeypatch.setattr("tokbench.corpus.shuffle.LONGEST", 14)
    with pytest.raises(TokbenchError, match=told):
        in_parts(lines, SHARES[0], 0, 1, 3, tmp_path)
    with pytest.raises(TokbenchError, match=told):
        prepare(lines, SHARES[0], 0, 1, tmp_path / "whole")
    monkeypatch.setattr("tokbench.corpus.shuffle.LONGEST", 15)
    (tmp_path / "parts").mkdir()
    assert in_parts(lines, SHARES[0], 0, 1, 3, tmp_path / "parts")


# Through the command line


def jobs(source: Mapping[str, Any], files: Sequence[Path], shards: int, folder: Path) -> list[list[Any]]:
    """The commands that prepare a corpus with a part for each file, in order."""
    recipe = {"source": source, "splits": {"tokenizer": 0.5, "evaluation": 0.5}, "shards": shards, "parts": len(files)}
    given = ["--recipe", json.dumps(recipe)]
    sizes, queues = ([folder / f"{kind}{part}" for part in range(len(files))] for kind in ("sizes", "queue"))
    places = ["--places", folder / "places"]
    groups = range(len(groups_of(2 * shards, len(files))))
    return [
        *(["read_sizes", *given, "-o", *both] for both in zip(sizes, files, strict=True)),
        ["split_corpus", *given, "-o", folder / "places", *sizes],
        *(
            ["deal_part", *given, "--places", folder / "places" / f"{part:04}.parquet", "-o", queues[part], file]
            for part, file in enumerate(files)
        ),
        *(["write_shards", *given, "--group", group, *places, "-o", folder / f"g{group}", *queues] for group in groups),
        ["prepare", *given, "-o", folder / "corpus", *(folder / f"g{group}" for group in groups)],
    ]


def test_every_job_keeps_within_the_memory_that_is_allowed(tmp_path: Path) -> None:
    """Two parts of many documents and many shards, and one long document."""
    draw = np.random.default_rng(0)
    words = [draw.integers(97, 123, size, np.uint8).tobytes() for size in draw.integers(2, 9, 5000)]
    files = [tmp_path / f"{number}.txt" for number in range(2)]
    for path in files:
        with path.open("wb") as file:
            for row in draw.integers(0, len(words), (1000, 2000)).tolist():
                file.write(b" ".join(map(words.__getitem__, row)) + b"\n")
    with files[1].open("ab") as file:
        file.write(b"long " * 4_000_000 + b"\n")
    source = {"type": "text", "documents": "line"}
    for call in jobs(source, files, 75, tmp_path):
        assert peak(*call, "--memory", 300) <= 300 * MEGABYTE, call[0]
    recipe = {"source": source, "splits": {"tokenizer": 0.5, "evaluation": 0.5}, "shards": 75}
    peak("prepare", "--recipe", json.dumps(recipe), "-o", tmp_path / "at once", *files)
    assert contents(tmp_path / "corpus") == contents(tmp_path / "at once")


def test_splits_take_some_bytes_for_a_document(tmp_path: Path) -> None:
    taken = []
    for number in (1000, 2_000_000):
        sizes = tmp_path / f"{number}"
        drawn = pa.py_buffer(np.random.default_rng(0).bytes(DIGEST * number))
        digests = pa.Array.from_buffers(pa.binary(DIGEST), number, [None, drawn])
        table = pa.table({"size": np.full(number, 5), "language": ["en"] * number, "digest": digests})
        pq.write_table(table, sizes, row_group_size=1 << 16)
        recipe = {"source": "embedded", "splits": {"tokenizer": 0.5, "evaluation": 0.5}}
        taken.append(peak("split_corpus", "--recipe", json.dumps(recipe), "-o", tmp_path / f"places{number}", sizes))
    assert taken[1] - taken[0] < 2_000_000 * (PER_DOCUMENT + DIGEST) + 20 * MEGABYTE
