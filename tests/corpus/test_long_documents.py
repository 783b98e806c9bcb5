"""Documents that are split into pieces: places of the splits, equal results, and bounded memory."""

import gzip
import json
import re
import tracemalloc
from collections.abc import Iterable, Sequence
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.conftest import Tokbench
from tests.support.small_models import MAKER, Bytes, ids_of, one_job
from tokbench.config.experiment import Experiment
from tokbench.corpus import long_documents
from tokbench.corpus.documents import RESTS, ContinuationPiece, Document, read_documents, read_shard
from tokbench.corpus.formats import jsonl
from tokbench.corpus.formats.arrow import ArrowSource
from tokbench.corpus.formats.jsonl import JsonLinesSource
from tokbench.corpus.formats.parquet import ParquetSource
from tokbench.corpus.formats.text import TextSource
from tokbench.corpus.long_documents import Cutter, pieces_of
from tokbench.corpus.prepare import prepare
from tokbench.corpus.read import read_source
from tokbench.corpus.shards import open_shards
from tokbench.corpus.sources import Source
from tokbench.corpus.splits import LONGEST, document_sizes, longest_in
from tokbench.errors import TokbenchError
from tokbench.models.pretraining.budget import Packing
from tokbench.models.pretraining.order import Slices, encode_documents, sort_documents
from tokbench.models.pretraining.pack import SliceForm, join, pack
from tokbench.models.pretraining.pack_slices import gather, pack_slice, write_tokens
from tokbench.pretokenization import schemes
from tokbench.pretokens.count import count_pretokens
from tokbench.runtime.memory_limit import MemoryLimit
from tokbench.workflow.corpora import Corpora

ACROSS = {"none", "digit", "digits", "scripts", "superbpe_2"}
"""Schemes with pre-tokens that run across a space between letters."""
MADE = {"added_tokens", "regex", "sequence"}
"""Schemes that are what their options say."""
WORDS = st.sampled_from(
    [*"aZ é中.,1'\n\r\t_", "  ", " a", "a b", "\n\n", "’s", "🦀", "\u0301", "\xa0", "字 字", "\ufffd"]
)
TEXTS = st.lists(WORDS | st.sampled_from([b"\xff", b"\x80", b"\xed\xa0\x80"]), max_size=60).map(
    lambda parts: b"".join(part if isinstance(part, bytes) else part.encode() for part in parts)
)
PACKED = {"": lambda data: data, ".gz": gzip.compress}


def cut(text: bytes, longest: int) -> list[bytes]:
    return list(pieces_of([text], Cutter(longest)))


# Where documents are cut


def best_place(text: bytes, longest: int) -> int:
    """The place as it is defined, looked for one by one."""

    def around(place: int) -> tuple[str, str]:
        """The characters before and after a byte of a text, as far as they are in reach; empty where they are none."""
        before = re.search(rb"(?:[\x00-\x7f]|[\xc2-\xf4][\x80-\xbf]{1,3})\Z", text[:place])
        after = re.match(
            rb"[\x00-\x7f]|[\xc2-\xdf].|[\xe0-\xef]..|[\xf0-\xf4]...", text[place + 1 : longest], re.DOTALL
        )
        found = []
        for match in (before, after):
            try:
                found.append(match[0].decode() if match else "")
            except UnicodeDecodeError:
                found.append("")
        return found[0], found[1]

    for mark in (b" ", b"\n"):
        for place in range(longest - 1, longest // 2, -1):
            before, after = around(place)
            if text[place : place + 1] == mark and before and after.isalpha():
                if mark == b" " and before.isalpha():
                    return place
                if mark == b"\n" and not before.isspace():
                    return place + 1
    for place in range(longest, max(0, longest - 4), -1):
        if text[place] & 0xC0 != 0x80:
            return place
    return longest


@given(TEXTS, st.integers(1, 40), st.sampled_from([1, 3, 1 << 16]))
@example(b"one two three", 8, 1)
@example("ein Öl".encode(), 5, 1)
@example("\u3002\n".encode() * 9, 14, 3)
@example(b"ab.\n" * 9, 14, 3)
def test_pieces_are_cut_as_defined(text: bytes, longest: int, window: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokbench.corpus.long_documents.WINDOW", window)
        pieces = cut(text, longest)
        parts = [text[place : place + 3] for place in range(0, len(text), 3)]
        assert list(pieces_of(parts, Cutter(longest))) == pieces
    assert b"".join(pieces) == text
    start = 0
    for piece in pieces[:-1]:
        assert len(piece) == best_place(text[start:], longest)
        start += len(piece)
    assert len(text) - start <= longest


@pytest.mark.parametrize("scheme", sorted(set(schemes) - ACROSS - MADE))
def test_no_count_of_prose_changes(scheme: str) -> None:
    text = "\n".join(topics.values()).encode()[:60_000]
    pieces = cut(text, 3000)
    assert len(pieces) > 20
    assert all(re.match(rb" [A-Za-z]", piece) for piece in pieces[1:])
    assert list(count_pretokens(pieces, scheme).items()) == list(count_pretokens([text], scheme).items())


# Reading as streams


def source_of(kind: str, rows: Sequence[bytes], documents: str, folder: Path, ending: str = "") -> Source:
    path = folder / f"rows.{kind}{ending}"
    if kind == "text":
        path.write_bytes(PACKED[ending](b"".join(rows)))
        unit: Any = "file" if documents == "whole" else documents
        return TextSource(type="text", path=[str(path)], documents=unit, encoding="bytes")
    if kind == "jsonl":
        lines = [{"id": "x" * 30, "text": row.decode("utf-8", "surrogateescape"), "language": "en"} for row in rows]
        text = "".join(json.dumps(line, ensure_ascii=number % 2 == 0) + "\n" for number, line in enumerate(lines))
        path.write_bytes(PACKED[ending](text.encode("utf-8", "surrogatepass")))
        return JsonLinesSource(type="jsonl", path=[str(path)], documents=documents)  # type: ignore[arg-type]
    if kind == "arrow":
        table = pa.table({"text": pa.array(rows, pa.binary_view())})
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, 2)
        return ArrowSource(type="arrow", path=[str(path)], documents=documents)  # type: ignore[arg-type]
    pq.write_table(pa.table({"text": pa.array(rows, pa.binary())}), path, row_group_size=2)
    return ParquetSource(type="parquet", path=[str(path)], documents=documents)  # type: ignore[arg-type]


def whole(documents: Iterable[Document], longest: int) -> list[tuple[str, bytes]]:
    """Documents put together from their pieces, which are looked at."""
    found: list[tuple[str, list[bytes]]] = []
    for number, document in enumerate(documents):
        assert document.document == number
        if isinstance(document, ContinuationPiece):
            assert document.language == found[-1][0]
            found[-1][1].append(document.text)
        else:
            found.append((document.language, [document.text]))
    for _, pieces in found:
        assert pieces == cut(b"".join(pieces), longest)
    return [(language, b"".join(pieces)) for language, pieces in found]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of files and of strings of a size for tests."""
    monkeypatch.setattr(long_documents, "PART", 7)
    monkeypatch.setattr("tokbench.corpus.splitting.PART", 7)
    monkeypatch.setattr(jsonl, "PIECE", 8)


KINDS = [("text", ""), ("text", ".gz"), ("jsonl", ""), ("jsonl", ".gz"), ("parquet", ""), ("arrow", "")]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("kind", "ending"), KINDS)
@settings(max_examples=50)
@example(rows=[b"  "], documents="line", longest=1)
@example(rows=[b"    x\n"], documents="line", longest=1)
@given(
    rows=st.lists(TEXTS, min_size=1, max_size=4),
    documents=st.sampled_from(["whole", "paragraph", "line"]),
    longest=st.integers(1, 50),
)
def test_streams_give_the_documents(
    kind: str, ending: str, rows: list[bytes], documents: str, longest: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    source = source_of(kind, rows, documents, tmp_path_factory.getbasetemp(), ending)
    expected = [(document.language, document.text) for document in read_source(source)]
    assert whole(read_source(source, longest=longest), longest) == expected
    if expected:
        few = source.model_copy(update={"max_bytes_per_language": 30, "rename_languages": {"en": "e"}})
        some = [(document.language, document.text) for document in read_source(few)]
        assert whole(read_source(few, longest=longest), longest) == some


def test_rows_of_parquet_that_are_views(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    texts = [b"a b " * 9, None, b"", b"c"]
    pq.write_table(pa.table({"text": pa.array(texts).dictionary_encode()}), path)
    source = ParquetSource(type="parquet", path=[str(path)])
    documents = read_source(source, longest=20)
    assert next(documents).text == b"a b a b a b a b a"
    with pytest.raises(TokbenchError, match="row 2: no text under"):
        list(documents)


@pytest.mark.parametrize(("kind", "ending"), KINDS[:2])
def test_reading_long_documents_streams_them(
    kind: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_documents, "PART", 1 << 16)
    source = source_of(kind, [b"one two three " * 400_000], "whole", tmp_path, ending)
    source = source.model_copy(update={"encoding": "utf-8"})
    for documents in ("whole", "line"):
        unit: Any = {"documents": "file" if (kind, documents) == ("text", "whole") else documents}
        tracemalloc.start()
        size = sum(len(each.text) for each in read_source(source.model_copy(update=unit), longest=100_000))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert size == 5_600_000
        assert peak < 3_500_000


# Splits and shards


def test_sizes_of_pieces_add_up_to_documents() -> None:
    sizes, rests = np.array([5, 1, 2, 7, 2**31 - 1, 2**31 - 1], np.int32), [1, 2, 5]
    assert document_sizes(sizes, rests).tolist() == [8, 7, 2**32 - 2]
    assert document_sizes(sizes[:4], rests[:2]).dtype == np.int32


@pytest.mark.parametrize("room", [1_800_000_000, 1_000_000])
def test_a_document_in_pieces_has_one_end_of_text(room: int, tmp_path: Path) -> None:
    """Shards written together or one after the other, packed by one job or by slices: pieces are joined."""
    texts = [b"one two three " * 30, b"four", b"five six " * 40, b"seven", b"", b"eight nine " * 9]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"text": text.decode()}) + "\n" for text in texts))
    source = JsonLinesSource(type="jsonl", path=[str(path)])
    (tmp_path / "corpus").mkdir()
    prepare(source, {"pretraining": 1.0}, 0, 2, tmp_path / "corpus", allowed=MemoryLimit(2000, room), longest=50)
    shards = sorted((tmp_path / "corpus" / "pretraining").glob("*.parquet"))
    pieces = list(read_documents(shards))
    assert b"".join(piece.text for piece in pieces) == b"".join(texts)
    assert sum(isinstance(piece, ContinuationPiece) for piece in pieces) == len(pieces) - len(texts) > 10
    pack(sort_documents(encode_documents(Bytes(), iter(pieces)), 3, tmp_path), one_job(32, 3), tmp_path / "packed")
    ids = ids_of(tmp_path / "packed")
    found = bytes(id if id < 256 else 0 for id in ids).split(b"\0")
    assert sorted(found) == sorted([*texts, b""])
    assert Packing.read(tmp_path / "packed").documents == len(texts)
    form = SliceForm(Slices(3, 3), 32, 256, 256, MAKER)
    for number, shard in enumerate(shards):
        ordered = sort_documents(encode_documents(Bytes(), read_shard(shard)), 3, tmp_path).pieces
        write_tokens(ordered, form.slices, tmp_path / f"{number}.parquet", MAKER.digest)
    (tmp_path / "tokens").mkdir()
    gather([tmp_path / f"{number}.parquet" for number in range(2)], tmp_path / "tokens")
    slices = [tmp_path / f"slice{number}" for number in range(3)]
    for number, folder in enumerate(slices):
        pack_slice(tmp_path / "tokens", number, form, folder)
    join(slices, form, tmp_path / "joined", None)
    assert ids_of(tmp_path / "joined") == ids


def test_shards_without_pieces_say_nothing_of_pieces(tmp_path: Path) -> None:
    with open_shards([tmp_path / "0000.parquet"]) as add:
        add(Document(0, "en", b"a"))
    assert RESTS not in (pq.read_metadata(tmp_path / "0000.parquet").metadata or {})


def test_prepare_reports_documents_that_it_split(tmp_path: Path, tokbench: Tokbench) -> None:
    text = tmp_path / "text.txt"
    text.write_bytes(b"short\n" + b"long word " * 250_000 + b"\n" + b"short\n" * 9)
    recipe: dict[str, Any] = {"source": {"type": "text", "documents": "line"}, "splits": {"tokenizer": 1.0}}
    told = {}
    for longest in (1_000_000, None):
        folder = tmp_path / str(longest)
        call = json.dumps(recipe | {"longest_document": longest})
        outcome = tokbench("prepare", "--recipe", call, "-o", folder, text)
        assert "tokenizer: 11 documents, 2,500,061 bytes" in outcome.stderr
        told[longest] = outcome.stderr
        assert (folder / "manifest.json").exists() == (longest is not None)
    line = "1 document of more than 1,000,000 bytes (longest_document) cut into 3"
    assert line in told[1_000_000].splitlines()
    assert json.loads((tmp_path / "1000000" / "manifest.json").read_text()) == {"cut_documents": line}
    assert "cut" not in told[None]


@pytest.mark.parametrize("longest", [16_000_000, 5_000_000, None])
def test_recipes_contain_longest_document_unless_it_is_the_default(
    longest: int | None, experiment: dict[str, Any]
) -> None:
    experiment["corpora"] = {"pydoc": {"source": "embedded", "longest_document": longest}}
    corpora = Corpora(Experiment.model_validate(experiment))
    named = type("Wildcards", (), {"corpus": "pydoc", "part": "0000"})
    recipes = [
        corpora.recipe(named),
        corpora.sizes_recipe(named),
        corpora.deal_recipe(named),
        corpora.split_recipe(named),
    ]
    assert [json.loads(recipe).get("longest_document", "usual") for recipe in recipes] == [
        "usual" if longest == 16_000_000 else longest
    ] * 4


def test_file_without_metadata_has_no_pieces() -> None:
    assert [longest_in(told) for told in (None, {}, {LONGEST: b"17"})] == [0, 0, 17]
