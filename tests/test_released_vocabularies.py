"""The vocabularies that the authors of "Tokenization Is More Than Compression" released, at 40,960 tokens.

Table 11 and figure 5 are recomputed from them in ``test_intrinsic.py``. Here they are used: their token counts on
MiniPile hold together, their tokens are what our schemes and segmentations make of text, and text comes out in as many
tokens as the paper's order says.
"""

import gzip
import json
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.outside import DATA, PUBLISHED, needs
from tokbench.byte_level import unspell
from tokbench.pretokenization import schemes
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

TIMTC, ENGLISH = DATA / "timtc", DATA / "english"
TABLE = PUBLISHED / "tokenization_is_more_than_compression_ctc_renyi.csv"
pytestmark = needs(TIMTC, ENGLISH, TABLE)

RUNS = {
    1: ("pathpiecel_initbpe_firstspace_1_40960", "first_space", "shortest_path"),
    3: ("bpe_merge_3_40960", "gpt2", "merge"),
    6: ("sage_initbpe_firstspace_6_40960", "first_space", "greedy"),
}
"""By rank: the file, its pre-tokenization, its segmentation."""
ROWS = {1: (1, "shortest_path"), 3: (3, "merge"), 4: (3, "greedy"), 13: (3, "shortest_path"), 6: (6, "greedy")}
"""Rows of table 11: whose vocabulary, and which segmentation. Row 13 drops the tokens of more than 16 bytes."""
SPECIAL = (b"<|endoftext|>", b"<UNK>")
"""Tokens that are no part of a vocabulary; they were met in the text a few times, and counted as what they spell."""
MINIPILE_BYTES = 5_902_108_510
PREFIX_SPACES = 993_273
"""What BPE's pre-tokenizer put before the documents that do not start with a space."""


def read(name: str) -> str:
    return gzip.decompress((TIMTC / f"{name}.gz").read_bytes()).decode()


@cache
def counts(rank: int) -> dict[bytes, int]:
    """Occurrences of each token on MiniPile."""
    rows = [line.rsplit("\t", 1) for line in read(f"{RUNS[rank][0]}_token_counts.tsv").split("\n") if line]
    return {unspell(token): int(count) for token, count in rows}


@cache
def counted(rank: int) -> list[bytes]:
    """The vocabulary's tokens that occur on MiniPile."""
    return [token for token in counts(rank) if token not in SPECIAL]


@cache
def vocabulary(rank: int) -> Vocabulary:
    """A released vocabulary in its own order; BPE's with its merges."""
    if rank != 3:
        return Vocabulary(tuple(map(bytes.fromhex, read(f"{RUNS[rank][0]}.vocab").split())))
    model = released_bpe()["model"]
    tokens = tuple(token for token in map(unspell, model["vocab"]) if token not in SPECIAL)
    ids = {token: index for index, token in enumerate(tokens)}
    pairs = [tuple(map(unspell, pair.split(" "))) for pair in model["merges"]]
    merges = [(ids[left], ids[right], ids[left + right]) for left, right in pairs]
    return Vocabulary(tokens, merges=np.array(merges, np.int32))


def released_bpe() -> dict[str, Any]:
    released: dict[str, Any] = json.loads(read("bpe_merge_3_40960.json"))
    return released


@cache
def tokenizer(rank: int, segmentation: str) -> Tokenizer:
    """A released vocabulary under its own pre-tokenization, by any segmentation."""
    return Tokenizer(vocabulary(rank), RUNS[rank][1], segmentation)


def texts(name: str, most: int) -> list[str]:
    """The start of each document."""
    with gzip.open(ENGLISH / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"][:most] for line in lines]


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
