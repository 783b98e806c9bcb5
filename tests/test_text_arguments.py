"""What functions of Python receive as texts and ids: each is read as what it is, or rejected in one line."""

import re
from array import array
from collections import UserDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import tokbench
from tokbench import PretokenCounts, TokbenchError, Tokenizer, Vocabulary
from tokbench.corpus.text_files import read_files

Call = Callable[[Any], object]
COLUMN = "give one column"


@pytest.fixture(scope="module")
def pair() -> list[Tokenizer]:
    counts = tokbench.count(["the cat sat on the mat and the hat " * 20])
    return [tokbench.build("bpe", counts, size) for size in (260, 270)]


@pytest.fixture
def calls(pair: list[Tokenizer]) -> dict[str, Call]:
    return {
        "count": lambda texts: list(tokbench.count(texts).items()),
        "measure": lambda texts: tokbench.measure(pair[0], texts),
        "compare": lambda texts: tokbench.compare(pair, texts),
        "encode_batch": lambda texts: [one.tolist() for one in pair[0].encode_batch(texts)],
    }


def rejected(call: Call, value: object) -> str:
    """The message with which a call rejects a value."""
    with pytest.raises(TokbenchError) as found:
        call(value)
    assert "\n" not in str(found.value)
    return str(found.value)


def frames() -> dict[str, Any]:
    table = pa.table({"text": ["the cat", "a hat"]})
    pandas, datasets = pytest.importorskip("pandas"), pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"text": ["the cat", "a hat"]})
    return {
        "pandas": pandas.DataFrame({"text": ["the cat", "a hat"]}),
        "polars": pl.DataFrame(table),
        "lazy": pl.DataFrame(table).lazy(),
        "table": table,
        "batch": table.to_batches()[0],
        "rows": rows,
        "splits": datasets.DatasetDict(train=rows, test=rows),
        "stream": rows.to_iterable_dataset(),
    }


def test_names_of_frames_are_no_texts(calls: dict[str, Call], pair: list[Tokenizer]) -> None:
    for frame in frames().values():
        for call in [*calls.values(), pair[0].encode]:
            assert COLUMN in rejected(call, frame)


@pytest.mark.parametrize("mapping", [{"a": "the cat"}, UserDict(a="the cat")])
def test_keys_of_mappings_are_no_texts(mapping: Any, calls: dict[str, Call], pair: list[Tokenizer]) -> None:
    for call in [*calls.values(), pair[0].encode]:
        assert "give its texts, as in mapping.values()" in rejected(call, mapping)
    for call in calls.values():
        assert "row['text']" in rejected(call, [mapping])


def test_columns_of_texts(calls: dict[str, Call]) -> None:
    pandas = pytest.importorskip("pandas")
    words = ["the cat", "a hat"]
    columns = [
        *(pandas.Series(words), pl.Series(words), pa.array(words), pa.chunked_array([words[:1], words[1:]])),
        *(
            np.array(words),
            np.array(words, object),
            np.array([b"the cat", b"a hat"]),
            [b"the cat", bytearray(b"a hat")],
        ),
        *(pa.array([b"the cat", b"a hat"]), tuple(words), dict(enumerate(words)).values()),
        *(frames()[name]["text"] for name in ("pandas", "polars", "table", "batch", "rows")),
    ]
    for name, call in calls.items():
        expected = call(words)
        for column in columns:
            found = call(column)
            assert found.equals(expected) if isinstance(found, pl.DataFrame) else found == expected, name
        assert "None is no text" in rejected(call, pa.array(["a", None]))


def test_one_text_in_any_buffer_of_bytes(calls: dict[str, Call], pair: list[Tokenizer]) -> None:
    buffers = [bytearray(b"the cat"), memoryview(b"the cat"), array("B", b"the cat"), pa.py_buffer(b"the cat")]
    arrays = [np.frombuffer(b"the cat", np.uint8), memoryview(b"t-h-e- -c-a-t")[::2]]
    scalars = [np.bytes_(b"the cat"), np.str_("the cat"), pa.scalar("the cat")]
    texts: list[Any] = [*buffers, *arrays, *scalars]
    for text in texts:
        assert tokbench.count(text).total == 2
        assert tokbench.compare(pair, text)["documents"].to_list() == [1, 1]
        assert pair[0].encode(text).tolist() == pair[0].encode("the cat").tolist()
        assert "give several" in rejected(calls["encode_batch"], text)


@pytest.mark.parametrize(
    "value", [np.array([5, 6]), np.array([1.5]), array("i", [5]), np.array([True]), np.array("abc"), np.array([["a"]])]
)
def test_memory_of_numbers_is_no_text(value: Any, calls: dict[str, Call], pair: list[Tokenizer]) -> None:
    for call in [*calls.values(), pair[0].encode, pair[0].count, pair[0].offsets]:
        assert "text" in rejected(call, value)


@pytest.mark.parametrize("call", ["count", "measure", "compare"])
def test_paths_are_no_texts(call: str, calls: dict[str, Call], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("README.md").write_text("the cat", encoding="utf-8")
    Path("my notes").write_text("the cat", encoding="utf-8")
    Path("folder").mkdir()
    for there in ("README.md", "my notes", "folder"):
        assert rejected(calls[call], there) == (
            f"{call}: '{there}' looks like a path; pass pathlib.Path('{there}') for the file, or ['{there}'] to "
            f"{call} the string"
        )
    for missing in ("/no/such/file", "novel.txt", "a/b"):
        assert rejected(calls[call], missing) == (
            f"{call}: '{missing}' looks like a path; there is no such file, so correct it or pass ['{missing}'] to "
            f"{call} the string"
        )
    assert rejected(calls[call], Path("none.txt")) == "none.txt: no such file; name an existing file"
    for text in ("cat", "the cat and/or the hat", ["README.md"], b"README.md", "a" * 5000 + "/"):
        calls[call](text)


def test_paths_have_the_documents_of_their_files(pair: list[Tokenizer], tmp_path: Path) -> None:
    lines, notes = tmp_path / "lines.jsonl", tmp_path / "notes.txt"
    lines.write_text('{"text": "the cat"}\n{"text": "a hat"}\n', encoding="utf-8")
    notes.write_text("the mat", encoding="utf-8")
    assert tokbench.compare(pair, lines).equals(tokbench.compare(pair, ["the cat", "a hat"]))
    texts = [document.text for document in read_files([str(lines), str(notes)])]
    for given in ([lines, notes], sorted(tmp_path.glob("*")), [*texts[:2], notes]):
        assert tokbench.compare(pair, given).equals(tokbench.compare(pair, texts))
    assert "a path, not a text" in rejected(pair[0].encode, notes)


def test_tokenizers_in_any_iterable(pair: list[Tokenizer]) -> None:
    expected = tokbench.compare(pair, ["the cat"])
    assert tokbench.compare(iter(pair), ["the cat"]).equals(expected)
    assert tokbench.compare(tuple(pair), ["the cat"]).equals(expected)
    for wrong, said in (({"a": pair[0]}, "mapping.values()"), ("bpe", "two tokenizers or more"), (5, "two tokenizers")):
        assert said in rejected(lambda given: tokbench.compare(given, ["the cat"]), wrong)


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ([[97, 98], [98, 99]], "ids of 2 sequences; decode one sequence at a time"),
        (bytearray(b"ab"), "a text, not ids"),
        (b"ab", "a text, not ids"),
        ({97: 1}, "give whole numbers"),
        (np.ma.array([97, 98], mask=[False, True]), "some are masked"),
    ],
)
def test_what_is_no_sequence_of_ids(ids: Any, said: str, pair: list[Tokenizer]) -> None:
    assert said in rejected(pair[0].decode, ids)


def test_one_sequence_of_ids(pair: list[Tokenizer]) -> None:
    for ids in ([97, 98], np.array([[97, 98]]), pa.array([97, 98]), pl.Series([97, 98]), array("i", [97, 98])):
        assert pair[0].decode(ids) == b"ab"


@pytest.mark.parametrize("pairs", [{b"ab": 1}, [(b"a", 1.7)], [("a", 1)], [(b"a", "12")], [b"ab"]])
def test_pairs_that_are_none(pairs: Any) -> None:
    assert re.match("pairs: ", rejected(PretokenCounts.from_pairs, pairs))


def test_options_of_another_class(pair: list[Tokenizer]) -> None:
    with pytest.raises(TokbenchError, match=r"^options \{.*\}: give an instance of \w+$"):
        Tokenizer(pair[0].vocabulary, "gpt2", "bpe_dropout", {"dropout": 0.5})  # type: ignore[arg-type]


@pytest.mark.parametrize("token", ["ab", 5, bytearray(b"ab")])
def test_tokens_that_are_no_bytes(token: Any) -> None:
    tokens = (*(bytes([byte]) for byte in range(256)), token)
    assert rejected(Vocabulary, tokens) == (
        f"vocabulary: token 256 is {type(token).__name__}, not bytes; give each token as bytes"
    )
