"""Packed sequences have an end of text where a document ends, and only there."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.small_models import MAKER, Bytes, ids_of, one_job
from tokbench.corpus.documents import ContinuationPiece, Document
from tokbench.errors import TokbenchError
from tokbench.models.pretraining.budget import Packing, TextBudget
from tokbench.models.pretraining.order import (
    EncodedDocument,
    OrderedDocuments,
    Slices,
    encode_documents,
    reject_repeated,
    sort_documents,
)
from tokbench.models.pretraining.pack import FOLDERS, SliceForm, join, pack
from tokbench.models.pretraining.pack_slices import gather, pack_slice, write_tokens

END = 256


def in_pieces(documents: Sequence[bytes], longest: int) -> list[Document]:
    """Documents as in a shard: numbered rows, long documents in several."""
    rows: list[Document] = []
    for text in documents:
        for start in range(0, max(1, len(text)), longest):
            kind = ContinuationPiece if start else Document
            rows.append(kind(len(rows), "", text[start : start + longest]))
    return rows


def documents_of(folder: Path) -> list[bytes]:
    """Texts between the ends; the last one has an end, too."""
    texts = bytes(id if id < END else 0 for id in ids_of(folder)).split(b"\0")
    assert texts.pop() == b""
    return texts


TEXTS = st.lists(st.binary(max_size=40).map(lambda text: text.replace(b"\0", b"\1")), min_size=1, max_size=9)


@settings(max_examples=25)
@given(TEXTS.filter(any), st.integers(1, 9), st.floats(0.05, 2.5), st.integers(1, 3))
def test_every_document_has_one_end(
    tmp_path_factory: pytest.TempPathFactory, documents: list[bytes], longest: int, epochs: float, seed: int
) -> None:
    """In pieces of a shard and of the encoder, with budgets that end in a document, by one job and by slices."""
    folder = tmp_path_factory.mktemp("ends")
    budget = TextBudget(epochs)
    rows = in_pieces(documents, longest)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokbench.models.pretraining.order.ENCODE_BYTES", 7)
        text = sort_documents(encode_documents(Bytes(), rows), seed, folder)
    pack(text, one_job(8, seed, budget=budget), folder / "packed")
    found = documents_of(folder / "packed")
    assert Packing.read(folder / "packed").documents == len(found)
    left = [*documents]
    for each in found:
        left.remove(each)
    size = sum(map(len, documents))
    asked = max(1, int(epochs * size))
    assert sum(map(len, found)) == size or sum(map(len, found)) - len(found[-1]) < asked <= sum(map(len, found))
    form = SliceForm(Slices(seed, 3), 8, 256, END, MAKER, budget)
    (folder / "tokens").mkdir()
    half = next((row.document for row in rows[len(rows) // 2 :] if not isinstance(row, ContinuationPiece)), len(rows))
    shards = [row for row in (rows[:half], rows[half:]) if row]
    for number, shard in enumerate(shards):
        ordered = sort_documents(encode_documents(Bytes(), shard), seed, folder).pieces
        write_tokens(ordered, form.slices, folder / f"{number}.parquet", MAKER.digest)
    gather([folder / f"{number}.parquet" for number in range(len(shards))], folder / "tokens")
    slices = [folder / f"slice{number}" for number in range(3)]
    for number, place in enumerate(slices):
        pack_slice(folder / "tokens", number, form, place)
    join(slices, form, folder / "joined")
    assert ids_of(folder / "joined") == ids_of(folder / "packed")


def test_both_phases_have_ends(tmp_path: Path) -> None:
    documents = [bytes([number + 1]) * (number % 7) for number in range(40)]
    text = sort_documents(encode_documents(Bytes(), in_pieces(documents, 3)), 1, tmp_path)
    pack(text, one_job(8, 1, second_phase=0.5), tmp_path / "packed")
    found = [documents_of(tmp_path / "packed" / name) for name in FOLDERS]
    assert all(found)
    assert sorted([*found[0], *found[1]]) == sorted(documents)


def test_documents_with_one_number_are_not_joined(tmp_path: Path) -> None:
    """Shards of two corpora: read together they are rejected, encoded one by one they keep their ends."""
    corpora = [in_pieces([b"a", b"bb"], 9), in_pieces([b"cc", b"ddd"], 9)]
    merged = sorted([*corpora[0], *corpora[1]], key=lambda row: row.document)
    with pytest.raises(TokbenchError, match="document 0 is in two shards; name each shard of one corpus once"):
        list(encode_documents(Bytes(), reject_repeated(merged)))
    pieces = [EncodedDocument(0, True, 1, np.array([letter], np.int32)) for letter in b"xy"]
    pack(sort_documents(pieces, 1, tmp_path), one_job(8, 1), tmp_path / "packed")
    assert documents_of(tmp_path / "packed") == [b"x", b"y"]


@pytest.mark.parametrize(("end", "ids"), [(256, [1, 256, 2]), (7, [1, 7, 2]), (7, [7])])
def test_no_text_gives_the_end_of_text(end: int, ids: list[int], tmp_path: Path) -> None:
    document = EncodedDocument(0, True, 3, np.array(ids, np.int32))
    with pytest.raises(TokbenchError, match=f"a text of the corpus gives id {end}, the end of text"):
        pack(OrderedDocuments(3, [document]), one_job(4, 0, end=end), tmp_path / "packed")
    assert not (tmp_path / "packed").exists()
    ids = [8 if one == end else one for one in ids]
    accepted = document._replace(ids=np.array(ids, np.int32))
    pack(OrderedDocuments(3, [accepted]), one_job(4, 0, end=end), tmp_path / "packed")


def test_the_name_of_the_end_is_text(tmp_path: Path) -> None:
    """The string of the end token in a document is encoded as text, and the document stays one."""
    import tokbench
    from tokbench.tokenizer.hugging_face import END_OF_TEXT

    text = f"one {END_OF_TEXT} two"
    tokenizer = tokbench.build("bpe", tokbench.count(text * 20), 300)
    rows = [Document(0, "", text.encode()), Document(1, "", b"three")]
    ordered = sort_documents(encode_documents(tokenizer, rows), 0, tmp_path)
    end = tokenizer.end_of_text
    pack(ordered, one_job(4, 0, vocabulary=tokenizer.id_limit, end=end), tmp_path / "packed")
    assert Packing.read(tmp_path / "packed").documents == 2
    ids = ids_of(tmp_path / "packed")
    assert ids.count(end) == 2
