"""Packing against a plain list, for any order and source of documents."""

import shutil
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.small_models import (
    DOCUMENTS,
    MAKER,
    Bytes,
    Pairs,
    ids_of,
    one_job,
    packed_documents,
    pieces,
    write_mds,
)
from tokbench.corpus.documents import Document
from tokbench.errors import TokbenchError
from tokbench.models.pretraining.budget import Packing, TextBudget, course, flops_per_token, reading
from tokbench.models.pretraining.mds import read_mds
from tokbench.models.pretraining.options import MptOptions
from tokbench.models.pretraining.order import (
    EncodedDocument,
    OrderedDocuments,
    encode_documents,
    place_of,
    sort_documents,
)
from tokbench.models.pretraining.pack import check_sequences, pack
from tokbench.models.training import read_occurrences


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed_documents(tmp_path_factory.mktemp("packing") / "packed")


def joined(documents: Sequence[bytes], seed: int = 17) -> list[int]:
    """Documents in the order of the seed, each with its end of text."""
    order = sorted(range(len(documents)), key=lambda number: place_of(number, seed))
    return [token for number in order for token in (*documents[number], 256)]


def test_packed_sequences(packed: Path) -> None:
    from streaming import LocalDataset

    tokens = joined(DOCUMENTS)
    sequences = -(-len(tokens) // 32)
    packing = Packing.read(packed)
    assert (packing.documents, packing.text_bytes, packing.tokens) == (3, len(tokens) - 3, len(tokens))
    assert (packing.sequences, packing.padding) == (sequences, 32 * sequences - len(tokens))
    assert (packing.sequence_length, packing.vocabulary, packing.end_of_text) == (32, 256, 256)
    tokens += [257] * packing.padding
    data = LocalDataset(str(packed))
    assert [data[index]["tokens"].tolist() for index in range(len(data))] == [
        tokens[start : start + 32] for start in range(0, len(tokens), 32)
    ]


def test_document_order_is_a_random_permutation() -> None:
    orders = [sorted(range(1000), key=lambda number, seed=seed: place_of(number, seed)) for seed in range(3)]
    assert len({tuple(order) for order in orders}) == 3
    assert all(order != sorted(order) for order in orders)
    assert len({place_of(number, 5) for number in range(100_000)}) == 100_000
    first = [place_of(0x9E3779B97F4A7C15 * number % 2**64, -1) for number in (1, 2, 3)]
    assert first == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F], "SplitMix64's from seed 0"
    of_seed = place_of((0x9E3779B97F4A7C15 - first[0]) % 2**64, 0)
    assert of_seed == first[0], "documents are counted from where the seed's own number of SplitMix64's stands"
    middles = [sum(order.index(number) for number in range(500)) / 500 for order in orders]
    assert all(400 < middle < 600 for middle in middles)


def test_packing_ignores_how_documents_are_grouped(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokbench.models.pretraining.order.ENCODE_BYTES", 1)
    monkeypatch.setattr("tokbench.models.pretraining.document_stream.JOINED", 5)
    packed_documents(tmp_path / "packed")
    names = sorted(file.name for file in packed.iterdir())
    assert names == sorted(file.name for file in (tmp_path / "packed").iterdir())
    assert all((packed / name).read_bytes() == (tmp_path / "packed" / name).read_bytes() for name in names)


DRAWN = st.lists(st.binary(max_size=60), min_size=1, max_size=12).filter(any)


@given(DRAWN, st.floats(0.01, 3.5), st.integers(0, 5))
def test_a_budget_of_text_ends_with_the_document_that_reaches_it(
    tmp_path_factory: pytest.TempPathFactory, documents: list[bytes], epochs: float, seed: int
) -> None:
    folder = packed_documents(tmp_path_factory.mktemp("budget") / "packed", documents, TextBudget(epochs), seed)
    packing = Packing.read(folder)
    size, order = sum(map(len, documents)), sorted(range(len(documents)), key=lambda number: place_of(number, seed))
    asked = max(1, int(Fraction(epochs) * size))
    whole, rest = divmod(asked, size) if asked > size else (0, asked)
    read = order * whole
    for number in order if rest else ():
        read.append(number)
        if sum(len(documents[number]) for number in read[whole * len(order) :]) >= rest:
            break
    passes = packing.passes
    assert passes * packing.documents + packing.rest_documents == len(read)
    assert passes * packing.text_bytes + packing.rest_text_bytes == sum(len(documents[number]) for number in read)
    assert packing.split_bytes == size
    tokens = [token for number in read for token in (*documents[number], 256)]
    assert (ids_of(folder) * (passes + 1))[: len(tokens)] == tokens
    assert passes * packing.tokens + packing.rest_tokens == len(tokens)
    way = course(MptOptions(batch=1, max_seq_len=32, seed=seed, epochs=epochs), packing)
    before = passes if packing.rest_tokens else passes - 1
    assert 32 * (way.sequences - before * packing.sequences - 1) + way.last == (packing.rest_tokens or packing.tokens)


@given(DRAWN, st.one_of(st.floats(0.01, 3.5), st.integers(1, 2000)))
def test_any_two_tokenizers_read_the_same_documents(
    tmp_path_factory: pytest.TempPathFactory, documents: list[bytes], budget: float | int
) -> None:
    folder = tmp_path_factory.mktemp("two")
    asked = TextBudget(text_bytes=budget) if isinstance(budget, int) else TextBudget(budget)
    given = [Document(number, "", text) for number, text in enumerate(documents)]
    packings = []
    for name, tokenizer in (("one", Bytes()), ("two", Pairs())):
        text = sort_documents(encode_documents(tokenizer, given), 1, folder)
        packings += pack(text, one_job(8, 1, budget=asked), folder / name)
    options = MptOptions(batch=1, max_seq_len=8, seed=1, epochs=asked.epochs, text_bytes=asked.text_bytes)
    read = [reading(packing, course(options, packing), (), None) for packing in packings]
    assert len({(one.documents, one.text_bytes) for one in read}) == 1
    assert read[0].text_bytes is not None
    assert read[0].text_bytes >= min(asked.bytes_of(packings[0].split_bytes), 1)
    assert read[0].tokens >= read[1].tokens


@pytest.mark.parametrize("batches", [1, 2, 5, 9])
def test_budget_of_batches_reads_that_many_tokens(packed: Path, batches: int) -> None:
    options = MptOptions(batch=4, max_seq_len=32, seed=17, batches=batches, d_model=16, n_heads=2)
    packing = Packing.read(packed)
    one_pass = [token for block in read_mds(packed) for token in block.tolist()]
    stream = (one_pass * 3)[: 4 * 32 * batches]
    tokens = [token for token in stream if token != 257]
    found = reading(packing, course(options, packing), read_mds(packed), np.ones(256, np.int64))
    assert (found.batches, found.sequences, found.tokens) == (batches, 4 * batches, len(tokens))
    assert found.text_bytes == sum(token < 256 for token in tokens)
    assert found.documents == tokens.count(256) + (tokens[-1] != 256)
    assert found.flops == flops_per_token(options, 256) * len(stream)
    assert reading(packing, course(options, packing), read_mds(packed), None).tokens == len(tokens)


def test_last_sequence_is_full_except_at_the_end_of_a_pass(packed: Path) -> None:
    packing = Packing.read(packed)
    assert packing.padding > 0
    for batch, last in ((packing.sequences, 32 - packing.padding), (packing.sequences - 1, 32)):
        assert course(MptOptions(batch=batch, max_seq_len=32, seed=17, batches=2), packing).last == last


def test_equal_compute_is_fewer_batches_of_more_rows(packed: Path) -> None:
    packing = Packing.read(packed)
    base = MptOptions(batch=2, max_seq_len=32, seed=17, flops=1e9, d_model=16, n_heads=2, n_layers=1)
    small = course(base, packing)
    wide = course(base.model_copy(update={"vocab_multiple": 4096}), packing)
    assert small.batches > wide.batches
    for way, options in ((small, base), (wide, base.model_copy(update={"vocab_multiple": 4096}))):
        batch = flops_per_token(options, 256) * 64
        assert way.flops == way.batches * batch
        assert 0 <= 1e9 - way.flops < batch
    with pytest.raises(TokbenchError, match="flops: 10 is less than one batch needs"):
        course(base.model_copy(update={"flops": 10.0}), packing)


def test_sequences_of_another_order_or_budget_are_rejected(packed: Path) -> None:
    packing = Packing.read(packed)
    for wrong in ({"seed": 18, "batches": 3}, {"seed": 17, "epochs": 0.5}):
        with pytest.raises(TokbenchError, match="pack again"):
            course(MptOptions(batch=2, max_seq_len=32, **wrong), packing)
    with pytest.raises(TokbenchError, match="batch: 999 sequences, but there are only"):
        course(MptOptions(batch=999, max_seq_len=32, seed=17, batches=1), packing)


def test_occurrences_are_those_of_the_sequences(packed: Path, tmp_path: Path) -> None:
    text = sort_documents(pieces(DOCUMENTS), 17, tmp_path)
    counted = tmp_path / "counts.parquet"
    pack(text, one_job(32, 17), tmp_path / "packed", counted)
    stands = Counter(int(token) for ids in read_mds(packed) for token in ids)
    assert dict(enumerate(read_occurrences(tmp_path / "counts.parquet", 256, MAKER))) == {
        n: stands[n] for n in range(257)
    }


@pytest.mark.parametrize("wrong", [-1, 257])
def test_ids_of_another_tokenizer_are_not_packed(wrong: int, tmp_path: Path) -> None:
    foreign = EncodedDocument(0, True, 4, np.array([1, wrong, 2, 3], np.int32))
    with pytest.raises(TokbenchError, match=f"id {wrong} is not a token of this tokenizer"):
        pack(OrderedDocuments(4, [foreign]), one_job(2, 0), tmp_path / "packed")
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


@pytest.mark.parametrize("last", [-4, 36])
def test_a_shard_ends_after_it_begins_and_within_its_file(last: int, tmp_path: Path) -> None:
    """Two sequences of four tokens, 32 bytes, whose end is told to be another place."""
    write_mds(tmp_path, [np.arange(8, dtype=np.int32)], 4)
    assert [ids.tolist() for ids in read_mds(tmp_path)] == [[*range(8)]]
    shard = tmp_path / "shard.00000.mds"
    places = np.frombuffer(held := bytearray(shard.read_bytes()), "<u4", 3, 4)
    places[2] = int(places[0]) + last
    shard.write_bytes(held)
    with pytest.raises(TokbenchError, match=r"shard\.00000\.mds: truncated"):
        list(read_mds(tmp_path))


def test_shards_are_those_of_streaming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from streaming import MDSWriter

    monkeypatch.setattr("tokbench.models.pretraining.mds.SHARD_BYTES", 1000)
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


def test_no_text_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(TokbenchError, match="the pretraining split has no text"):
        packed_documents(tmp_path / "packed", [b"", b""])
    assert not (tmp_path / "packed").exists()
