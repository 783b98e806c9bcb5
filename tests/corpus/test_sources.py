"""Every kind of source of a corpus: files, rows, the embedded one, the hub's, and languages of each.

Splits of a corpus by document, and the shards in which they lie.
"""

import hashlib
import io
import json
import re
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ODD, Tokbench, write_json_lines
from tests.support.corpora import WRAPPERS, rejected, texts
from tokbench.config.experiment import Experiment
from tokbench.config.targets import all_evaluated
from tokbench.corpus.documents import Document, read_documents
from tokbench.corpus.embedded import embedded_texts
from tokbench.corpus.formats.jsonl import JsonLinesSource
from tokbench.corpus.formats.parquet import ParquetSource
from tokbench.corpus.formats.text import TextSource
from tokbench.corpus.leakage import find_leakage
from tokbench.corpus.prepare import prepare, shard_paths
from tokbench.corpus.read import read_source
from tokbench.corpus.sources import EmbeddedSource, HubSource, Source
from tokbench.corpus.splits import UNUSED, mix, split_documents
from tokbench.errors import TokbenchError
from tokbench.stages.corpora import splits_made_from
from tokbench.tabulation.documents import leakage_table


def test_embedded_corpus_is_always_the_same_and_imports_nothing() -> None:
    found = list(embedded_texts())
    assert 1_500_000 < sum(map(len, found)) < 3_500_000
    assert len(found) > 400
    assert all(text.decode() for text in found)
    code = (
        "import hashlib, sys; from tokbench.corpus.embedded import embedded_texts\n"
        "print(hashlib.sha256(b'|'.join(embedded_texts())).hexdigest())\n"
        "assert {'this', 'antigravity', 'tkinter', 'turtle'}.isdisjoint(sys.modules)\n"
    )
    elsewhere = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert elsewhere.stdout.strip() == hashlib.sha256(b"|".join(found)).hexdigest()


@pytest.mark.parametrize("ending", WRAPPERS)
def test_text(ending: str, tmp_path: Path) -> None:
    raw = b"one\ntwo\n\n\n" + ODD + b"\n\n\nlast line without an end"
    path = tmp_path / f"text.txt{ending}"
    path.write_bytes(WRAPPERS[ending](raw))
    for documents in ("file", "paragraph", "line"):
        found = texts(TextSource(type="text", path=[str(path)], documents=documents, encoding="bytes"))
        assert b"".join(found) == (raw if documents != "line" else re.sub(rb"(?<=\n)\s*\n", b"", raw))
    assert texts(TextSource(type="text", path=[str(path)], encoding="bytes")) == [raw]
    lines = texts(TextSource(type="text", path=[str(path)], documents="line", encoding="bytes"))
    assert lines == [line for line in io.BytesIO(raw) if line.strip()]
    paragraphs = texts(TextSource(type="text", path=[str(path)], documents="paragraph", encoding="bytes"))
    assert paragraphs[0] == b"one\ntwo\n\n"


@pytest.mark.parametrize("ending", WRAPPERS)
def test_json_lines(ending: str, tmp_path: Path) -> None:
    rows = [{"text": "naïve 🦀", "language": "fr"}, {"text": ""}, {"text": "\ud800", "language": None}]
    raw = "".join(json.dumps(row) + "\n" for row in rows).encode() + b"\n"
    path = tmp_path / f"rows.jsonl{ending}"
    path.write_bytes(WRAPPERS[ending](raw))
    documents = list(read_source(JsonLinesSource(type="jsonl", path=[str(path)], language="en")))
    assert documents == [
        Document(0, "fr", "naïve 🦀".encode()),
        Document(1, "en", b""),
        Document(2, "en", b"\xed\xa0\x80"),
    ]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_parquet(kind: pa.DataType, tmp_path: Path) -> None:
    values = ["naïve", "", "a"] if pa.types.is_string(kind) or pa.types.is_large_string(kind) else [ODD, b"", b"a"]
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"content": pa.array(values, kind), "tongue": ["fr", None, "de"]}), path)
    source = ParquetSource(type="parquet", path=[str(path)], text_field="content", language_field="tongue")
    documents = list(read_source(source))
    assert [document.text for document in documents] == ["naïve".encode() if values[0] == "naïve" else ODD, b"", b"a"]
    assert [document.language for document in documents] == ["fr", "", "de"]


def test_files_folders_and_patterns(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.md", "d.rst", "inner/e.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)

    def read(*path: str) -> list[bytes]:
        return texts(TextSource(type="text", path=[str(tmp_path / part) for part in path]))

    assert read(".") == [b"a.txt", b"b.txt", b"c.md", b"inner/e.txt"]
    assert read("*.txt") == [b"a.txt", b"b.txt"]
    assert read("**/*.txt") == [b"a.txt", b"b.txt", b"inner/e.txt"]
    assert read("d.rst", "a.txt") == [b"d.rst", b"a.txt"]


def test_first_documents_only() -> None:
    assert texts(EmbeddedSource(type="embedded", max_documents=3)) == list(islice(embedded_texts(), 3))


def test_languages_of_files_and_units(tmp_path: Path) -> None:
    """A mapping of paths gives the tags; texts are cut into units."""
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\n\nthree")
    rows = write_json_lines(
        tmp_path / "b.jsonl", [{"text": "eins\n\n\nzwei", "language": "x"}, {"text": "", "language": "y"}]
    )
    lines = TextSource(type="text", path={"en": str(tmp_path / "a.txt")}, documents="line")  # type: ignore[arg-type, dict-item]
    assert [(item.language, item.text) for item in read_source(lines)] == [
        ("en", text) for text in (b"one\n", b"two\n", b"three")
    ]
    parts = JsonLinesSource(type="jsonl", path={"de": [str(rows)]}, documents="paragraph")
    found = [(item.language, item.text) for item in read_source(parts)]
    assert found == [("de", b"eins\n\n"), ("de", b"\nzwei")]
    own = JsonLinesSource(type="jsonl", path=[str(rows)])
    assert [item.language for item in read_source(own)] == ["x", "y"]


def test_limits_by_language(tmp_path: Path) -> None:
    rows = [{"text": "abcd", "language": language} for language in "xyxzyxyz"]
    path = [str(write_json_lines(tmp_path / "rows.jsonl", rows))]
    few = JsonLinesSource(type="jsonl", path=path, max_bytes_per_language=5, languages=["x", "y"])
    assert [(item.document, item.language) for item in read_source(few)] == [(0, "x"), (1, "y"), (2, "x"), (3, "y")]
    one = JsonLinesSource(type="jsonl", path=path, max_bytes_per_language=1, max_documents=2)
    assert [item.language for item in read_source(one)] == ["x", "y"]
    same = JsonLinesSource(
        type="jsonl", path=path, max_bytes_per_language=5, languages=["x", "y"], rename_languages={"z": "x", "x": "y"}
    )
    assert [(item.document, item.language) for item in read_source(same)] == [(0, "y"), (1, "y"), (2, "x"), (3, "x")]


def test_hub_corpus_needs_no_network_before_it_is_fetched() -> None:
    source = HubSource(type="hub", dataset="someone/something", revision="0" * 40)
    assert rejected(source) == "a corpus of type 'hub' must be fetched before it is read"


def test_fetching_without_a_network(tmp_path: Path) -> None:
    recipe = json.dumps({"type": "hub", "dataset": "someone/something", "revision": "0" * 40})
    output = tmp_path / "fetched.parquet"
    call = f"from tokbench.commands.main import main; main(['fetch', '--recipe', {recipe!r}, '-o', {str(output)!r}])"
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    ended = subprocess.run([sys.executable, "-c", call], env=offline, capture_output=True, text=True)
    assert ended.returncode == 2
    line = ended.stderr.splitlines()[-1]
    assert line.startswith("tokbench: someone/something at 00000000: cannot be fetched (")
    assert "Traceback" not in ended.stderr
    assert not output.exists()


FRACTIONS = {"byte_lm": 0.2, "tokenizer": 0.4, "evaluation": 0.1, "pretraining": 0.25}


@given(st.integers(0, 2**32), st.integers(0, 2**63))
def test_splits_share_bytes_as_asked(draw: int, seed: int) -> None:
    sizes = np.random.default_rng(draw).integers(0, 400, 300)
    splits = split_documents(sizes, FRACTIONS, seed)
    assert np.array_equal(splits, split_documents(sizes, FRACTIONS, seed))
    for place, fraction in enumerate(FRACTIONS.values()):
        assert abs(sizes[splits == place].sum() - fraction * sizes.sum()) <= 400
    assert UNUSED in splits


def test_splits_depend_on_the_seed_and_not_on_the_place() -> None:
    sizes = [100] * 1000
    first = split_documents(sizes, FRACTIONS, 0)
    assert not np.array_equal(first, split_documents(sizes, FRACTIONS, 1))
    halves = [int((half == list(FRACTIONS).index("tokenizer")).sum()) for half in (first[:500], first[500:])]
    assert all(150 < tokenizer < 250 for tokenizer in halves)


def test_a_split_without_documents_is_rejected() -> None:
    with pytest.raises(
        TokbenchError, match=r"split 'evaluation' \(10%\) gets none of the 1 documents; raise its fraction"
    ):
        split_documents([5], {"tokenizer": 0.9, "evaluation": 0.1}, 0)


@given(st.lists(st.tuples(st.integers(1, 50), st.sampled_from("xy")), min_size=60, max_size=90), st.integers(0, 5))
def test_each_language_is_split_by_the_same_shares(documents: list[tuple[int, str]], seed: int) -> None:
    """The shares hold in each language by itself, and its documents fall as they would without the others."""
    sizes = np.array([size for size, _ in documents])
    languages = np.array(["xy".index(language) for _, language in documents])
    splits = split_documents(sizes, {"tokenizer": 0.5, "evaluation": 0.5}, seed, languages)
    for language in set(languages):
        own = languages == language
        share = sizes[own & (splits == 0)].sum() / sizes[own].sum()
        assert abs(share - 0.5) <= 50 / sizes[own].sum()
    alone = split_documents(sizes, {"tokenizer": 0.7}, seed)
    assert np.array_equal(split_documents(sizes, {"tokenizer": 0.7}, seed, np.zeros(len(sizes))), alone)


def test_a_split_may_be_another(tmp_path: Path) -> None:
    source = EmbeddedSource(type="embedded", max_documents=9)
    prepare(source, {"tokenizer": 1.0, "evaluation": "tokenizer"}, 0, 2, tmp_path)
    [one, other] = (list(read_documents(shard_paths(tmp_path, split, 2))) for split in ("tokenizer", "evaluation"))
    assert one == other
    assert len(one) == 9


def test_the_hash_of_documents_is_splitmix64() -> None:
    """Its first numbers from seed 0, as published with it: documents never change their splits."""
    first = [int(mix(np.zeros(1, np.uint64), seed)[0]) for seed in range(3)]
    assert first == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


# Shards


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    random = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("source") / "rows.parquet"
    column = [random.integers(0, 256, length, np.uint8).tobytes() for length in random.integers(0, 300, 200)]
    pq.write_table(pa.table({"text": pa.array(column, pa.binary())}), path)
    return ParquetSource(type="parquet", path=[str(path)], language="xx")


def test_splits_and_order_do_not_depend_on_shards(source: Source, tmp_path: Path) -> None:
    whole = {document.document: document for document in read_source(source)}
    read: dict[int, dict[str, list[Document]]] = {}
    for shards in (1, 2, 7):
        folder = tmp_path / str(shards)
        totals = prepare(source, FRACTIONS, 5, shards, folder)
        read[shards] = {split: list(read_documents(shard_paths(folder, split, shards))) for split in FRACTIONS}
        for split, documents in read[shards].items():
            assert totals[split] == (len(documents), sum(len(document.text) for document in documents))
            assert len(list((folder / split).iterdir())) == shards
    assert read[1] == read[2] == read[7]
    numbers = [document.document for documents in read[1].values() for document in documents]
    assert len(set(numbers)) == len(numbers)
    for documents in read[1].values():
        assert documents == sorted(documents)
        assert all(document == whole[document.document] for document in documents)


def test_equal_documents_give_equal_files(source: Source, tmp_path: Path) -> None:
    for name in ("one", "two"):
        prepare(source, FRACTIONS, 5, 3, tmp_path / name)
    for path in (tmp_path / "one").rglob("*.parquet"):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()


def test_columns_of_a_shard(source: Source, tmp_path: Path) -> None:
    prepare(source, {"tokenizer": 1.0}, 0, 1, tmp_path)
    frame = pl.read_parquet(tmp_path / "tokenizer" / "0000.parquet")
    assert dict(frame.schema) == {"document": pl.Int64, "language": pl.String, "text": pl.Binary}
    assert frame["document"].to_list() == list(range(200))


def test_corrupt_shards(source: Source, tmp_path: Path) -> None:
    prepare(source, {"tokenizer": 1.0}, 0, 2, tmp_path)
    paths = shard_paths(tmp_path, "tokenizer", 2)

    def message() -> str:
        with pytest.raises(TokbenchError) as caught:
            list(read_documents(paths))
        return str(caught.value)

    paths[1].write_bytes(paths[1].read_bytes()[:-30])
    assert message().startswith(f"{paths[1]}: not a readable corpus shard (")
    pl.DataFrame({"document": [1]}).write_parquet(paths[1])
    assert message().startswith(f"{paths[1]}: not a readable corpus shard (")
    paths[1].unlink()
    assert message().startswith(f"{paths[1]}: not a readable corpus shard (")
    assert "\n" not in message()


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(
    ("lines", "limits", "message"),
    [
        (b"", {}, "source: there are no documents; name files with text"),
        (b'{"text": ""}\n' * 50, {}, "source: each of the 50 documents is empty; name files with text"),
        (
            b'{"text": "a", "language": "de"}\n{"text": "b", "language": "eng"}\n{"text": "c"}\n',
            {"languages": ["xyz", "und"], "rename_languages": {"eng": "en"}},
            "source.languages: no document has one of the languages xyz, und (found: documents without a language, de, "
            "en); name one of these, or leave the key out",
        ),
    ],
)
def test_a_corpus_without_text_says_why(
    lines: bytes, limits: dict[str, Any], message: str, parts: int, tmp_path: Path, tokbench: Tokbench
) -> None:
    """By one job, and in parts by the one that splits them."""
    files = [tmp_path / f"{part}.jsonl" for part in range(parts)]
    for number, file in enumerate(files):
        file.write_bytes(b"".join(lines.splitlines(keepends=True)[number::parts]))
    recipe = json.dumps({"source": {"type": "jsonl", **limits}, "parts": parts})
    command: list[Any] = ["prepare", *files]
    if parts > 1:
        sizes = [tmp_path / f"{part}.parquet" for part in range(parts)]
        for file, size in zip(files, sizes, strict=True):
            assert tokbench("read_sizes", "--recipe", recipe, "-o", size, file).status == 0
        command = ["split_corpus", *sizes]
    outcome = tokbench(*command, "--recipe", recipe, "-o", tmp_path / "made")
    assert outcome.message == f"tokbench: {message}"
    assert not (tmp_path / "made").exists()


def test_prepare_command(source: Source, tmp_path: Path, tokbench: Tokbench) -> None:
    recipe = {"source": {"type": "parquet", "language": "xx"}, "splits": FRACTIONS, "shards": 2, "seed": 5}
    corpus = tmp_path / "corpus"
    outcome = tokbench("prepare", "--recipe", json.dumps(recipe), "-o", corpus, *source.path)  # type: ignore[attr-defined]
    assert outcome.status == 0, outcome.stderr
    prepare(source, FRACTIONS, 5, 2, tmp_path / "direct")
    for split in FRACTIONS:
        direct = shard_paths(tmp_path / "direct", split, 2)
        assert list(read_documents(shard_paths(corpus, split, 2))) == list(read_documents(direct))


def test_evaluation_text_in_other_splits(tmp_path: Path, tokbench: Tokbench) -> None:
    run, other = "0123456789" * 5, "abcdefghij" * 4
    texts = {
        "evaluation": [f"x{run}y", other, "same", "ends in " + run[:49], "é" * 40],
        "tokenizer": [f"{run}!", other, "same", "é" * 24],
        "pretraining": ["é" * 26, "nothing"],
    }
    for split, documents in texts.items():
        rows = write_json_lines(tmp_path / f"{split}.jsonl", [{"text": text} for text in documents])
        recipe = json.dumps({"source": {"type": "jsonl"}, "splits": {split: 1.0}, "shards": 2})
        assert tokbench("prepare", "--recipe", recipe, "-o", tmp_path / split / "web", rows).status == 0
    splits = [tmp_path / split / "web" / split for split in texts]
    outcome = tokbench("find_leakage", "-o", tmp_path / "web.json", *splits)
    assert outcome.status == 0
    [line, second] = outcome.stderr.splitlines()
    assert line == "web/tokenizer: 1 of 5 documents and 50 of 233 bytes are in shared runs of 50 bytes"
    assert second == "web/pretraining: 1 of 5 documents and 80 of 233 bytes are in shared runs of 50 bytes"
    [row, last] = leakage_table([tmp_path / "web.json"]).rows(named=True)
    assert (row["split"], last["split"]) == ("pretraining", "tokenizer")
    assert last["equal_documents"] == 2, "short ones, too"
    assert (last["shared_documents"], last["shared_bytes"], last["shared_share"]) == (1, 50, 50 / 233)


def test_of_much_evaluation_text_some_is_looked_at(tmp_path: Path, tokbench: Tokbench) -> None:
    rows = write_json_lines(tmp_path / "rows.jsonl", [{"text": f"{number:050}"} for number in range(100)])
    recipe = json.dumps({"source": {"type": "jsonl"}, "splits": {"evaluation": 1.0}, "longest_document": None})
    assert tokbench("prepare", "--recipe", recipe, "-o", tmp_path / "web", rows).status == 0
    shards = sorted((tmp_path / "web" / "evaluation").glob("*.parquet"))
    found = find_leakage("web", shards, {("web", "evaluation"): shards}, largest=1999)
    assert (found["of_documents"], found["of_bytes"], found["documents"], found["bytes"]) == (100, 5000, 34, 1700)
    [other] = found["others"]
    assert (other["read"], other["equal_documents"], other["documents"], other["bytes"]) == (5000, 34, 34, 1700)


def test_of_a_large_split_the_first_shards_are_read(tmp_path: Path, tokbench: Tokbench) -> None:
    rows = write_json_lines(tmp_path / "rows.jsonl", [{"text": f"{number:050}"} for number in range(100)])
    recipe = json.dumps({"source": {"type": "jsonl"}, "splits": {"evaluation": 1.0}, "shards": 4})
    assert tokbench("prepare", "--recipe", recipe, "-o", tmp_path / "web", rows).status == 0
    shards = sorted((tmp_path / "web" / "evaluation").glob("*.parquet"))
    for read, taken in ((1, 1), (1250, 1), (1251, 2), (10_000, 4)):
        [other] = find_leakage("web", shards, {("web", "evaluation"): shards}, read=read)["others"]
        assert (other["read"], other["equal_documents"], other["bytes"]) == (1250 * taken, 25 * taken, 1250 * taken)


def test_splits_that_tokenizers_and_models_are_made_from(experiment: dict[str, Any]) -> None:
    source = {"source": "embedded"}
    experiment["corpora"] = {
        "pydoc": source,
        "other": source,
        "own": {**source, "splits": {"tokenizer": 1.0, "evaluation": "tokenizer"}},
    }
    experiment["measured_on"] = ["other"]
    asked = Experiment.model_validate(experiment)
    [variant, *_] = asked.built
    corpus = asked.corpus_of(variant)
    assert (corpus, "tokenizer") in splits_made_from(asked, corpus)
    assert ((corpus, "pretraining") in splits_made_from(asked, corpus)) == bool(asked.runs)
    assert (corpus, "tokenizer") in splits_made_from(asked, "other")
    assert ("own", "tokenizer") not in splits_made_from(asked, "own")
    assert set(all_evaluated(asked)) == {corpus, "other"}
