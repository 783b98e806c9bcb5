"""The vocabularies that the authors of "Tokenization Is More Than Compression" released, at 40,960 tokens."""

import gzip
import json
from functools import cache
from typing import Any

import numpy as np

from tests.support.external_data import DATA
from tokbench.byte_level import unspell
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import Vocabulary

TIMTC, ENGLISH = DATA / "timtc", DATA / "english"
RUNS = {
    1: ("pathpiecel_initbpe_firstspace_1_40960", "first_space", "shortest_path"),
    3: ("bpe_merge_3_40960", "gpt2", "merge"),
    6: ("sage_initbpe_firstspace_6_40960", "first_space", "greedy"),
}
"""By rank: the file, its pre-tokenization, its segmentation."""
SPECIAL = (b"<|endoftext|>", b"<UNK>")
"""Tokens that are no part of a vocabulary; they were met in the text a few times, and counted as what they spell."""


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
