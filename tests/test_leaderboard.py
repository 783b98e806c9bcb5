"""The scoreboard for others' sites: what it holds, that it tells no time, and checksums of corpora."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

from tests.conftest import Tokbench
from tests.support.documented_keys import documented, keys_of
from tests.support.small_report import whole
from tokbench.corpus.digest import contents, contents_in
from tokbench.corpus.documents import Document
from tokbench.statistics.scoreboard import SCOREBOARD


def test_a_corpus_has_one_checksum_however_it_is_cut() -> None:
    """Documents tell it: their numbers, languages and bytes, and where one ends."""
    documents = [Document(0, "en", b"a\tb"), Document(1, "", b"")]
    found = contents(documents)
    assert (found.documents, found.bytes) == (2, 3)
    assert found == contents(iter(documents))
    others = [
        documents[:1],
        documents[::-1],
        [Document(0, "e", b"na\tb"), documents[1]],
        [Document(0, "en", b"a\tb1\t\t0\n")],
    ]
    assert len({found.sha256, *(contents(one).sha256 for one in others)}) == 5


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> Path:
    """A corpus in one shard and in three, a tokenizer's settings, counts of a corpus without documents."""
    from tests.support.pipeline import call

    folder = tmp_path_factory.mktemp("leaderboard")
    (folder / "text.txt").write_bytes(text)
    for name, shards in (("books", 3), ("same", 1)):
        source = {"type": "text", "path": [str(folder / "text.txt")], "documents": "line", "encoding": "bytes"}
        recipe = {"source": source, "splits": {"tokenizer": 0.5, "evaluation": 0.5}, "shards": shards, "seed": 0}
        (folder / "corpus").mkdir(exist_ok=True)
        call("prepare", "--recipe", recipe, "-o", str(folder / "corpus" / name), str(folder / "text.txt"))
    counts = folder / "pretokens" / "counted" / "evaluation" / "gpt2.parquet"
    counts.parent.mkdir(parents=True)
    counts.write_bytes(b"counts")
    tokenizer = folder / "tokenizers" / "bpe" / "1024"
    tokenizer.mkdir(parents=True)
    settings = {
        "name": "bpe", "size": 1000, "sha256": "ab", "pretokenization": "gpt2", "segmentation": {"method": "merge"},
        "origin": {"construction": {"method": "bpe"}, "requested_size": 1024},
    }  # fmt: skip
    (tokenizer / "tokbench.json").write_text(json.dumps(settings))
    (folder / "statistics").mkdir()
    whole().frames["scoreboard"].write_parquet(folder / "statistics" / "scoreboard.parquet")
    return folder


def test_shards_do_not_matter(made: Path) -> None:
    found = contents_in(made)
    assert found["books/evaluation"] == found["same/evaluation"]
    assert found["books/evaluation"] != found["books/tokenizer"]
    assert found["counted/evaluation/gpt2"].documents is None


def test_leaderboard(made: Path, tokbench: Tokbench, tmp_path: Path) -> None:
    """All of the scoreboard, and what made it; nothing in it is a time, and the files are the same the next time."""
    counts = made / "pretokens" / "counted" / "evaluation" / "gpt2.parquet"
    inputs = [
        "--name", "small", "--statistics", made / "statistics", "--tokenizer", made / "tokenizers" / "bpe" / "1024",
        "--documents", made / "corpus" / "books", "--counts", counts,
    ]  # fmt: skip
    for name in ("first", "second"):
        done = tokbench("leaderboard", *inputs, "--table", tmp_path / f"{name}.csv", "-o", tmp_path / f"{name}.json")
        assert done.status == 0, done.stderr
    for ending in ("csv", "json"):
        assert (tmp_path / f"first.{ending}").read_bytes() == (tmp_path / f"second.{ending}").read_bytes()
    text = (tmp_path / "first.json").read_text()
    found = json.loads(text, parse_constant=pytest.fail)
    assert not re.search(r"\d{4}-\d\d-\d\d|seconds", text)
    scores = whole().frames["scoreboard"]
    assert found["scores"] == scores.to_dicts()
    assert {one["corpus"]: one["sha256"] for one in found["corpora"] if one["split"] == "evaluation"} == {
        "books": contents_in(made)["books/evaluation"].sha256
    }
    [tokenizer] = found["tokenizers"]
    assert (tokenizer["variant"], tokenizer["size"], tokenizer["sha256"]) == ("bpe", 1024, "ab")
    assert tokenizer["tokens"] == 1000, "fewer than its size"
    names = {name for name in keys_of(found) if not name.startswith("versions.")}
    assert names == documented("leaderboard.json") - {"scores[]"} | {f"scores[].{name}" for name in SCOREBOARD.schema}
    rows = pl.read_csv(tmp_path / "first.csv", infer_schema_length=None)
    assert rows.columns == [
        *SCOREBOARD.schema, "experiment", "tokbench", "revision", "corpus_sha256", "tokenizer_sha256"
    ]  # fmt: skip
    assert rows["value"].to_list() == pytest.approx(scores["value"].to_list())
    of_bpe = rows.filter(pl.col("variant") == "bpe", pl.col("size") == 1024)
    assert set(of_bpe["tokenizer_sha256"]) == {"ab"}
    assert len(rows) > len(of_bpe) > 0


def test_leaderboard_without_a_scoreboard(tokbench: Tokbench, tmp_path: Path) -> None:
    message = tokbench("leaderboard", "--name", "a", "--statistics", tmp_path, "-o", tmp_path / "a.json").message
    assert message.endswith("scoreboard.parquet: no such file; compute the statistics again")
