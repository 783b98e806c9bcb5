"""Packing against a plain list, and whatever way its documents come."""

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.packing import DOCUMENTS, packed_documents, pieces
from tokbench.errors import TokbenchError
from tokbench.pretraining.encoded import Encoded, read_encoded, write_encoded
from tokbench.pretraining.mds import read_mds, write_mds
from tokbench.pretraining.pack import Packing, check_sequences, pack, read_occurrences


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed_documents(tmp_path_factory.mktemp("packing") / "packed")


def test_packed_sequences(packed: Path) -> None:
    from streaming import LocalDataset

    tokens = [token for document in DOCUMENTS for token in (*document, 256)]
    whole = len(tokens) // 32
    packing = Packing.read(packed)
    assert (packing.documents, packing.text_bytes, packing.tokens) == (3, len(tokens) - 3, len(tokens))
    assert (packing.sequences, packing.dropped_tokens) == (whole, len(tokens) - 32 * whole)
    assert (packing.sequence_length, packing.vocabulary, packing.end_of_text) == (32, 256, 256)
    data = LocalDataset(str(packed))
    assert [data[index]["tokens"].tolist() for index in range(len(data))] == [
        tokens[start : start + 32] for start in range(0, 32 * whole, 32)
    ]


def test_packing_ignores_how_documents_are_grouped(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokbench.pretraining.encoded.ENCODE_BYTES", 1)
    monkeypatch.setattr("tokbench.pretraining.pack.JOINED", 5)
    pack(pieces(DOCUMENTS), 256, tmp_path / "packed", sequence_length=32)
    names = sorted(file.name for file in packed.iterdir())
    assert names == sorted(file.name for file in (tmp_path / "packed").iterdir())
    assert all((packed / name).read_bytes() == (tmp_path / "packed" / name).read_bytes() for name in names)


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=30), st.integers(1, 5), st.integers(1, 50))
def test_shards_that_were_encoded_side_by_side(
    tmp_path_factory: pytest.TempPathFactory, documents: list[bytes], shards: int, group: int
) -> None:
    folder = tmp_path_factory.mktemp("shards")
    whole = list(pieces([*documents, bytes(8)]))
    paths = [folder / f"{shard}.parquet" for shard in range(shards)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokbench.pretraining.encoded.GROUP_IDS", group)
        for shard, path in enumerate(paths):
            write_encoded(whole[shard::shards], path)
    found = list(read_encoded(paths))
    assert [piece[:3] for piece in found] == [piece[:3] for piece in whole]
    assert [piece.ids.tolist() for piece in found] == [piece.ids.tolist() for piece in whole]
    assert pack(found, 256, folder / "found", sequence_length=8) == pack(whole, 256, folder / "w", sequence_length=8)


def test_occurrences_are_those_of_the_sequences(packed: Path, tmp_path: Path) -> None:
    pack(pieces(DOCUMENTS), 256, tmp_path / "packed", sequence_length=32, counts=tmp_path / "counts.parquet")
    stands = Counter(int(token) for ids in read_mds(packed) for token in ids)
    assert dict(enumerate(read_occurrences(tmp_path / "counts.parquet", 256))) == {n: stands[n] for n in range(257)}


@pytest.mark.parametrize("wrong", [-1, 257])
def test_ids_of_another_tokenizer_are_not_packed(wrong: int, tmp_path: Path) -> None:
    foreign = Encoded(0, True, 4, np.array([1, wrong, 2, 3], np.int32))
    with pytest.raises(TokbenchError, match=f"id {wrong} is no token of this tokenizer"):
        pack([foreign], 256, tmp_path / "packed", sequence_length=2)
    assert not (tmp_path / "packed").exists()


def test_altered_sequences_are_not_trained_on(packed: Path, tmp_path: Path) -> None:
    altered = tmp_path / "packed"
    shutil.copytree(packed, altered)
    check_sequences(altered, Packing.read(altered))
    shard = altered / "shard.00000.mds"
    held = bytearray(shard.read_bytes())
    held[-3] ^= 1
    shard.write_bytes(held)
    with pytest.raises(TokbenchError, match="packed: not the sequences that were written; delete it"):
        check_sequences(altered, Packing.read(altered))


def test_shards_are_those_of_streaming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from streaming import MDSWriter

    monkeypatch.setattr("tokbench.pretraining.mds.SHARD_BYTES", 1000)
    sequences = np.arange(70 * 16, dtype=np.int32).reshape(70, 16)
    (tmp_path / "ours").mkdir()
    assert write_mds(tmp_path / "ours", [sequences[:3], sequences[3:3], sequences[3:]], 16) == 70
    columns = {"tokens": "ndarray:int32:16"}
    with MDSWriter(out=str(tmp_path / "theirs"), columns=columns, size_limit=1000) as writer:
        for sequence in sequences:
            writer.write({"tokens": sequence})
    ours, theirs = ({file.name: file.read_bytes() for file in (tmp_path / who).iterdir()} for who in ("ours", "theirs"))
    assert len(ours) > 3
    assert ours == theirs


def test_too_little_text_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(TokbenchError, match="has 4 tokens, fewer than one sequence of 32"):
        pack(pieces([b"abc"]), 256, tmp_path / "packed", sequence_length=32)
    assert not (tmp_path / "packed").exists()
