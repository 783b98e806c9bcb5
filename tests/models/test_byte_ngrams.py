"""The byte n-gram model against its formula; training, files, rejections."""

from math import log
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.conftest import TOPICS
from tokbench.candidates.scored_text import read_scores
from tokbench.construction.bytespan import ByteSpanOptions
from tokbench.construction.bytespan import build as build_bytespan
from tokbench.errors import TokbenchError
from tokbench.kernels.ngram_lm import ByteNgramModel, WindowCounter
from tokbench.models.byte_lm import ngram
from tokbench.models.byte_lm.options import PRESETS, ByteNgramOptions
from tokbench.reference import ngram as twin

texts = st.one_of(st.text("ab", max_size=20).map(str.encode), st.binary(max_size=6))


def model(documents: list[bytes], order: int) -> ByteNgramModel:
    counter = WindowCounter(order)
    for text in documents:
        counter.add(text)
    return ByteNgramModel(*counter.counts(), order)


@settings(max_examples=60)
@given(st.lists(texts, max_size=5), st.integers(1, 6), texts)
def test_twin(documents: list[bytes], order: int, text: bytes) -> None:
    surprisal, entropy = model(documents, order).score(text)
    expected = twin.score(documents, order, text)
    assert surprisal.dtype == entropy.dtype == np.float32
    np.testing.assert_allclose(surprisal, expected[0], rtol=1e-6)
    np.testing.assert_allclose(entropy, expected[1], rtol=1e-6)


def test_widest_windows_of_the_highest_byte() -> None:
    documents = [b"\xff" * 20 + bytes(20)]
    surprisal, entropy = model(documents, 6).score(documents[0])
    expected = twin.score(documents, 6, documents[0])
    np.testing.assert_allclose(surprisal, expected[0], rtol=1e-6)
    np.testing.assert_allclose(entropy, expected[1], rtol=1e-6)


def test_by_hand() -> None:
    """Of three bytes two are a, and two differ: p(a) = (2 + 2/256) / 5; after a come b and a, once each."""
    single = (2 + 2 / 256) / 5
    surprisal, _ = model([b"aab"], 2).score(b"aa")
    np.testing.assert_allclose(surprisal, [-log(single), -log((1 + 2 * single) / 4)], rtol=1e-6)


def test_without_counts_every_byte_is_as_likely() -> None:
    surprisal, entropy = model([], 5).score(b"any")
    np.testing.assert_allclose([*surprisal, *entropy], [log(256)] * 6, rtol=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.lists(texts, max_size=9), st.integers(1, 6), st.integers(2, 4))
def test_spilled_windows_are_those_in_memory(
    tmp_path_factory: pytest.TempPathFactory, documents: list[bytes], order: int, runs: int
) -> None:
    """Every document is a run, pieces of three bytes are counted at a time, and few runs are merged at a time."""
    folder, counter = tmp_path_factory.mktemp("windows"), WindowCounter(order)
    for text in documents:
        counter.add(text)
    found = counter.counts()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ngram, "PIECE", 3)
        patched.setattr(ngram, "MOST_RUNS", runs)
        total = sum(map(len, documents))
        for room in (None, 1, 1000):
            assert ngram.write_windows(documents, order, folder, room) == (counter.size, total)
            assert sorted(path.name for path in folder.iterdir()) == ["counts.npy", "windows.npy"]
            for name, values in zip(("windows", "counts"), found, strict=True):
                np.save(folder / "whole", values)
                assert (folder / f"{name}.npy").read_bytes() == (folder / "whole.npy").read_bytes()
            (folder / "whole.npy").unlink()


def test_bytes_that_a_document_has_not() -> None:
    with pytest.raises(ValueError, match="3 to 5: no bytes of a document of 4"):
        WindowCounter(2).add(b"abcd", 3, 5)


def test_files(tmp_path: Path) -> None:
    """Order of training and sharding change nothing; scores feed ByteSpan."""
    ngram.train(TOPICS[:4], PRESETS["ngram"], tmp_path / "one")
    ngram.train(TOPICS[3::-1], PRESETS["ngram"], tmp_path / "other")
    for name in ("windows.npy", "counts.npy", "model.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    rows = [(7, "en", TOPICS[4]), (8, "de", b""), (9, "", TOPICS[0])]
    ngram.score(rows, tmp_path / "one", tmp_path / "all.parquet")
    ngram.score(rows[1:], tmp_path / "one", tmp_path / "part.parquet")
    frame = pl.read_parquet(tmp_path / "all.parquet")
    assert frame.columns == ["document", "language", "text", "surprisal", "entropy"]
    assert frame["language"].to_list() == ["en", "de", ""]
    assert frame["surprisal"].list.len().to_list() == [len(text) for *_, text in rows]
    assert frame[1:].equals(pl.read_parquet(tmp_path / "part.parquet"))
    seen, unseen = frame["surprisal"][2].mean(), frame["surprisal"][0].mean()
    assert seen < 1 < unseen < 3
    built = build_bytespan(read_scores([tmp_path / "all.parquet"], "gpt2"), 1000, ByteSpanOptions())
    assert len(built) == 1000


def test_rejections(tmp_path: Path) -> None:
    with pytest.raises(TokbenchError, match="contains no text to train on"):
        ngram.train([b""], PRESETS["ngram"], tmp_path / "empty")
    with pytest.raises(TokbenchError, match=r"model\.json: cannot be read .*; train one"):
        ngram.load(tmp_path)
    with pytest.raises(ValidationError):
        ByteNgramOptions(order=7)


def test_damaged_models_are_rejected(tmp_path: Path) -> None:
    ngram.train([b"abracadabra"], PRESETS["ngram"], tmp_path / "model")
    counts = tmp_path / "model" / "counts.npy"
    whole = np.load(counts)
    counts.write_bytes(counts.read_bytes()[:-1] + b"\1")
    with pytest.raises(TokbenchError, match=r"counts\.npy: not as it was written; delete its folder and train one$"):
        ngram.load(tmp_path / "model")
    (tmp_path / "model" / ".tokbench.json").unlink()
    pickled = tmp_path / "pickled.npy"
    np.save(pickled, np.array([{"a": 1}] * len(whole), object), allow_pickle=True)
    np.save(counts, whole[1:])
    for damaged in (counts.read_bytes(), pickled.read_bytes(), b"PK\3\4", b"", counts.read_bytes()[:-3]):
        counts.write_bytes(damaged)
        with pytest.raises(TokbenchError, match=r"^[^\n]*model: not a byte n-gram model \(.*\); train one$"):
            ngram.load(tmp_path / "model")
