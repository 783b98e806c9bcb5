"""The vocabularies that the authors of "Tokenization Is More Than Compression" released, at 40,960 tokens.

Table 11 and figure 5 are recomputed from them in ``test_intrinsic.py``. Here they are used: their token counts on
MiniPile hold together, their tokens are what our schemes and segmentations make of text, and text comes out in as many
tokens as the paper's order says.
"""

import json

import numpy as np
import polars as pl
import pytest

from tests.support.external_data import PUBLISHED, needs
from tests.support.released_files import (
    ENGLISH,
    RUNS,
    SPECIAL,
    TIMTC,
    counted,
    counts,
    released_bpe,
    texts,
    tokenizer,
    vocabulary,
)
from tokbench.pretokenization import schemes
from tokbench.vocabulary import BYTES

TABLE = PUBLISHED / "tokenization_is_more_than_compression_ctc_renyi.csv"
pytestmark = needs(TIMTC, ENGLISH, TABLE)

ROWS = {1: (1, "shortest_path"), 3: (3, "merge"), 4: (3, "greedy"), 13: (3, "shortest_path"), 6: (6, "greedy")}
"""Rows of table 11: whose vocabulary, and which segmentation. Row 13 drops the tokens of more than 16 bytes."""
MINIPILE_BYTES = 5_902_108_510
PREFIX_SPACES = 993_273
"""What BPE's pre-tokenizer put before the documents that do not start with a space."""


def test_bytes_of_minipile() -> None:
    """All three runs cut the same bytes; BPE's has the spaces that its pre-tokenizer adds, and nothing else, more."""
    seen = {}
    for rank in RUNS:
        seen[rank] = np.zeros(256, np.int64)
        for token, count in counts(rank).items():
            np.add.at(seen[rank], np.frombuffer(token, np.uint8), count)
    spaces = np.where(np.arange(256) == ord(" "), PREFIX_SPACES, 0)
    assert seen[1].sum() == MINIPILE_BYTES
    assert np.array_equal(seen[1], seen[6])
    assert np.array_equal(seen[1] + spaces, seen[3])
    never = [0xC0, 0xC1, 0xF2, *range(0xF5, 0x100)]
    for rank in RUNS:
        assert np.flatnonzero(seen[rank] == 0).tolist() == never


@pytest.mark.parametrize("rank", RUNS)
def test_counted_tokens_are_in_the_vocabulary(rank: int) -> None:
    """All tokens occur but bytes that the text lacks and, by merging, two that only lead to longer ones."""
    tokens = set(vocabulary(rank).tokens)
    assert set(counted(rank)) <= tokens
    longer = {token for token in tokens - set(counted(rank)) if len(token) > 1}
    assert longer == ({b"scimon", b"medscimon"} if rank == 3 else set())
    assert set(BYTES) <= tokens


@pytest.mark.parametrize("rank", RUNS)
def test_tokens_are_cut_into_themselves(rank: int) -> None:
    tokens = counted(rank)
    offsets = np.cumsum([0, *map(len, tokens)])
    segmenter = tokenizer(rank, RUNS[rank][2])._segmenter
    ids, bounds = segmenter.segment(np.frombuffer(b"".join(tokens), np.uint8), offsets)
    assert np.diff(bounds).tolist() == [1] * len(tokens)
    assert [vocabulary(rank).tokens[index] for index in ids.tolist()] == tokens


@pytest.mark.parametrize("rank", RUNS)
def test_tokens_lie_in_one_pretoken(rank: int) -> None:
    """But for a few that end or begin inside a character, which has no class before it is whole."""
    boundaries = schemes[RUNS[rank][1]].function
    across = [token for token in counted(rank) if len(boundaries(token)) > 2]
    assert len(across) == (10 if rank == 3 else 0)
    assert all("\ufffd" in token.decode(errors="replace") for token in across)


@pytest.mark.parametrize(("name", "most"), [("novels", 30_000), ("arxiv_sample", 40_000)])
def test_text_takes_as_many_tokens_as_published(name: str, most: int) -> None:
    """The order of table 11 among five rows, and tokens relative to BPE's within some percent, on other text."""
    table = pl.read_csv(TABLE).filter(pl.col("vocab_size") == 40_960)
    billions = dict(table.select("rank", "corpus_token_count_billions").iter_rows())
    documents = texts(name, most)
    found = {
        row: sum(map(len, tokenizer(rank, segmentation).encode_batch(documents)))
        for row, (rank, segmentation) in ROWS.items()
    }
    assert sorted(found, key=found.__getitem__) == sorted(ROWS, key=billions.__getitem__) == [1, 13, 4, 3, 6]
    for row in ROWS:
        assert found[row] / found[3] == pytest.approx(billions[row] / billions[3], rel=0.06)


@pytest.mark.parametrize(("name", "most"), [("novels", 8_000), ("arxiv_sample", 20_000)])
def test_bpe_is_its_authors_tokenizer(name: str, most: int) -> None:
    """The released file, read by Hugging Face ``tokenizers`` as it stands, gives our ids two further on."""
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer.from_str(json.dumps(released_bpe()))
    ours = tokenizer(3, "merge")
    for text in texts(name, most):
        spaced = text if text.startswith(" ") else f" {text}"
        assert theirs.encode(text).ids == (ours.encode(spaced) + len(SPECIAL)).tolist()
