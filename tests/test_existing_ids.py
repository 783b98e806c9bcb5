"""Ids of a vocabulary's own, as tokenizers that were made elsewhere have them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.conftest import TOPICS, Tokbench
from tokbench.corpus.documents import Document
from tokbench.corpus.shards import open_shards
from tokbench.counting.count import count_pretokens
from tokbench.errors import TokbenchError
from tokbench.intrinsic.embeddings import embeddings_of
from tokbench.occurrences import read_occurrences
from tokbench.pretokens import PretokenCounts
from tokbench.pretraining.budget import Packing
from tokbench.pretraining.mds import read_mds
from tokbench.segmentation.shortest_path import ShortestPathOptions
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer_config import END_OF_TEXT
from tokbench.vocabulary import BYTES, Vocabulary

# Ids of a vocabulary's own


def numbered(*ids: int, **more: Any) -> Vocabulary:
    return Vocabulary((*BYTES, b"ab", b"abc"), ids=np.array([*range(10, 266), *ids], np.int32), **more)


@pytest.mark.parametrize(
    ("ids", "special", "told"),
    [
        ((300,), {}, "has 257 ids for 258 tokens"),
        ((300, 300), {}, "has the id 300 twice"),
        ((300, 301), {301: b""}, "has the id 301 twice"),
        ((300, -1), {}, "has the id -1; ids are 0 to 16777215"),
        ((300, 301), {1 << 24: b""}, "has the id 16777216"),
    ],
)
def test_ids_that_are_none(ids: tuple[int, ...], special: dict[int, bytes], told: str) -> None:
    with pytest.raises(TokbenchError, match=told):
        numbered(*ids, special=special)


def test_ids_are_written_and_read(tmp_path: Path) -> None:
    vocabulary = numbered(400, 3, special={7: b"<s>", 500: b""})
    assert vocabulary.id_limit == 501
    vocabulary.write(tmp_path)
    again = Vocabulary.read(tmp_path)
    assert again.ids is not None
    assert again.ids.tolist() == vocabulary.ids.tolist()  # type: ignore[union-attr]
    assert again.special == vocabulary.special
    Vocabulary(BYTES).write(tmp_path)
    assert Vocabulary.read(tmp_path).ids is None
    assert Vocabulary.read(tmp_path).special == {}


def test_every_way_of_cutting_gives_the_vocabulary_s_ids(tmp_path: Path) -> None:
    """By kernels, by a scheme without one, and drawn at random; metrics go by place."""
    vocabulary = numbered(400, 3, special={7: b"<s>"})
    for segmentation in ("greedy", "shortest_path", "ranked"):
        tokenizer = Tokenizer(vocabulary, "gpt2", segmentation)
        assert tokenizer.encode("abab xab").tolist() == [400, 400, 42, 130, 400]
        assert tokenizer.decode([7, 3, 400, 10]) == b"<s>abcab\0"
        ids, _ = tokenizer.segment(PretokenCounts.from_pairs([(b"abab", 2)]))
        assert ids.tolist() == [256, 256]
    by_pattern = Tokenizer(vocabulary, {"method": "regex", "pattern": "x.|[^x]+"}, "greedy")
    assert by_pattern.encode("abab xab").tolist() == [400, 400, 42, 130, 107, 108]
    drawn = Tokenizer(vocabulary, "gpt2", "shortest_path", ShortestPathOptions(ties="random", draws="document"))
    assert drawn.encode("ab xab").tolist() == [400, 42, 130, 400]


def test_embeddings_stand_in_the_rows_of_the_ids(tmp_path: Path) -> None:
    vocabulary = numbered(400, 3)
    save_file({"transformer.wte.weight": np.arange(404.0)[:, None]}, tmp_path / "model.safetensors")
    found = embeddings_of(vocabulary, tmp_path, np.arange(402))
    assert found.norms[-2:].tolist() == [400, 3]
    assert found.occurrences[:2].tolist() == [10, 11]
    assert found.to_frame()["id"].to_list()[-2:] == [400, 3]


def test_packing_leaves_every_id_its_own(tmp_path: Path, tokbench: Tokbench) -> None:
    """The end of a text is the first id after all of the file's."""
    Tokenizer(numbered(400, 3, special={7: b"<s>", 450: b"</s>"}), "gpt2", "greedy", name="a").save(tmp_path / "a")
    with open_shards([tmp_path / "0000.parquet"]) as add:
        add(Document(0, "en", b"abc ab"))
    line = ["pack", tmp_path / "a", "--sequence-length", 4, tmp_path / "0000.parquet", "-o", tmp_path / "packed"]
    assert tokbench(*line).status == 0
    assert np.concatenate(list(read_mds(tmp_path / "packed"))).ravel().tolist() == [3, 42, 400, 451]


def test_the_end_of_a_text_is_the_file_s_where_it_has_one(tmp_path: Path, tokbench: Tokbench) -> None:
    vocabulary = numbered(400, 3, special={7: END_OF_TEXT.encode(), 450: b"</s>"})
    Tokenizer(vocabulary, "gpt2", "greedy", name="a").save(tmp_path / "a")
    with open_shards([tmp_path / "0000.parquet"]) as add:
        add(Document(0, "en", b"abc ab"))
    line = ["pack", tmp_path / "a", "--sequence-length", 6, tmp_path / "0000.parquet", "-o", tmp_path / "packed"]
    assert tokbench(*line, "--token-counts", tmp_path / "counts.parquet").status == 0
    assert np.concatenate(list(read_mds(tmp_path / "packed"))).ravel().tolist() == [3, 42, 400, 7, 452, 452]
    occurrences = read_occurrences(tmp_path / "counts.parquet", 451)
    assert (occurrences[[3, 7, 42, 400]].tolist(), occurrences.sum()) == ([1, 1, 1, 1], 4)
    assert Packing.read(tmp_path / "packed").end_of_text == 7


def test_a_method_does_not_start_from_what_has_other_ids(tmp_path: Path, tokbench: Tokbench) -> None:
    Tokenizer(numbered(400, 3), "gpt2", "greedy").save(tmp_path / "a")
    count_pretokens(TOPICS, "gpt2").write(tmp_path / "counts.parquet")
    line = ["build", "pathpiece", "--counts", tmp_path / "counts.parquet", "--size", 300, "-o", tmp_path / "out"]
    assert (
        "was made elsewhere, and its first ids are not the bytes"
        in tokbench(*line, "--initial", tmp_path / "a").message
    )
