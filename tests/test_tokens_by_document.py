"""Tokens by document: what is counted, in groups where documents are many."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.conftest import Tokbench
from tests.support.small_report import altered, whole
from tokbench.corpus.documents import Document
from tokbench.encoding_speed import TOO_SHORT, ColdSpeed
from tokbench.errors import TokbenchError
from tokbench.intrinsic import neighbours
from tokbench.intrinsic.tokens_by_document import tokens_by_document
from tokbench.report.html import tables
from tokbench.report.layout import layout
from tokbench.report.speeds import read_speeds
from tokbench.result_files import write_result
from tokbench.tabulation.tokens_by_document import tokens_by_document_table


class Letters:
    """A token for each byte."""

    def count(self, text: bytes) -> int:
        return 2 * len(text)


def documents(sizes: list[int]) -> list[Document]:
    return [Document(10 + 3 * place, "", b"a" * size) for place, size in enumerate(sizes)]


def test_few_documents_stand_alone() -> None:
    found, texts = tokens_by_document(Letters(), documents([3, 0, 5]))
    assert found == {"document": [10, 13, 16], "documents": [1, 1, 1], "bytes": [3, 0, 5], "tokens": [6, 0, 10]}
    assert texts == [b"aaa", b"aaaaa"]
    assert tokens_by_document(Letters(), [])[0]["tokens"] == []


def test_many_documents_are_taken_in_groups_of_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "MOST", 7)
    sizes = np.random.default_rng(3).integers(0, 9, 30).tolist()
    found, _ = tokens_by_document(Letters(), documents(sizes))
    assert len(found["tokens"]) == 7
    assert sum(found["documents"]) == 30
    assert set(found["documents"]) == {4, 5}
    start = 0
    for first, number, size, tokens in zip(*found.values(), strict=True):
        assert first == 10 + 3 * start
        assert size == sum(sizes[start : start + number])
        assert tokens == 2 * size
        start += number


def test_from_shards_to_the_table(tokbench: Tokbench, tmp_path: Path) -> None:
    """Every document's tokens are those that encoding gives, and all of them together those of the text."""
    texts = ["the cat sat on the mat", "the hat", ""]
    rows = {"document": [4, 7, 9], "language": [""] * 3, "text": [text.encode() for text in texts]}
    pl.DataFrame(rows).write_parquet(tmp_path / "0000.parquet")
    (tmp_path / "plain.txt").write_text("\n".join(texts))
    assert tokbench("count", "--scheme", "gpt2", tmp_path / "plain.txt", "-o", tmp_path / "counts.parquet").status == 0
    out = tmp_path / "bpe"
    assert tokbench("build", "bpe", "--counts", tmp_path / "counts.parquet", "--size", "262", "-o", out).status == 0
    tokens, speed = tmp_path / "tokens.json", tmp_path / "speed.json"
    call = ("count_tokens", out, tmp_path / "0000.parquet", "--corpus", "books", "--memory", "9000")
    assert tokbench(*call, "--speed", speed, "-o", tokens).status == 0
    from tokbench.tokenizer import Tokenizer

    tokenizer = Tokenizer.load(out)
    frame = tokens_by_document_table([tokens])
    assert frame["tokens"].to_list() == [len(tokenizer.encode(text)) for text in texts]
    assert frame.select("document", "documents", "bytes", "corpus").rows() == [
        (4, 1, 22, "books"), (7, 1, 7, "books"), (9, 1, 0, "books"),
    ]  # fmt: skip
    assert read_speeds([str(speed)]) == {("books", 262, "bpe"): None}, "29 bytes are too short to be timed"
    content = json.loads(tokens.read_text())
    write_result(tokens, {key: value for key, value in content.items() if key not in ("bytes", "sha256")})
    with pytest.raises(TokbenchError, match="no key bytes; make the result again"):
        tokens_by_document_table([tokens])


def test_speed_is_a_column_of_the_page_alone() -> None:
    plain = next(table for table in tables(whole()) if table.name == "scoreboard")
    assert not any(column.timed for column in plain.columns)
    speeds = {("books", 1024, "bpe"): ColdSpeed(200_000, 200_000 / 12.345e6, 25), ("books", 1024, "sage"): None}
    content = altered(whole(), speeds={**speeds, ("other", 1024, "bpe"): ColdSpeed(60_000, 0.06, 3)})
    table = next(table for table in tables(content) if table.name == "scoreboard")
    assert [column.header for column in table.columns if column.timed] == ["encoding, cold (MB/s)"]
    place = table.frame.select("variant", "size").rows().index(("bpe", 1024))
    assert layout(table).rows[place][-1].text == "12.3"
    assert table.frame["speed"].count() == 1
    place = table.frame.select("variant", "size").rows().index(("sage", 1024))
    assert table.reasons[place, "speed"] == TOO_SHORT
