"""External test data: paths, readers and fixtures, including the released vocabularies of PathPiece at 40,960 tokens.

``TOKBENCH_DATA`` is the folder of the data (default: ``../shared/data`` next to the checkout); docs/data.md lists the
files and their sources. Tests are skipped if their data are missing, with the path as the reason. The vocabularies are
those of the authors of "Tokenization Is More Than Compression".
"""

import gzip
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import strategies as st

from tests.support import library_tokenizers as made
from tests.support.workflow.checkout import ROOT
from tokbench.adapters.forms.parsed import ReadOptions
from tokbench.adapters.probes import probes
from tokbench.adapters.read import read_tokenizer
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import unspell
from tokbench.vocabulary import Vocabulary

TEXT = "I'LL pay 12345 now!!\n\n  ok \u4e2d\u6587 na\u00efve \U0001f642 for x in range(3): print(x)"
STRINGS = st.lists(st.sampled_from([*"aB1 !\n\u00e9\u4e2d", "'s", "  ", "the", "\U0001f642"]), max_size=30).map("".join)


@pytest.fixture(scope="module")
def level() -> dict[str, Any]:
    return made.byte_level()


@pytest.fixture(scope="module")
def ranks() -> dict[bytes, int]:
    return made.ranks()


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use few probes and the fastest export forms; the real tokenizers are tested with all."""
    monkeypatch.setattr("tokbench.inspection.checks.agreement.FORMS", ("tiktoken",))
    chosen = probes()[::29]
    monkeypatch.setattr("tokbench.adapters.read.probes", lambda: chosen)


def read(path: Path, form: str, **options: Any) -> Tokenizer:
    return read_tokenizer(path, form, ReadOptions(**options))


def why(tokenizer: Tokenizer) -> str:
    return str(tokenizer.origin["imported"]["why"])


def library_ids(values: dict[str, Any], text: str, special: bool = False) -> list[int]:
    library = tokenizers.Tokenizer.from_str(json.dumps(values))
    library.encode_special_tokens = not special
    ids: list[int] = library.encode(text, add_special_tokens=False).ids
    return ids


DATA = Path(os.environ.get("TOKBENCH_DATA") or ROOT.parent / "shared" / "data")
PUBLISHED = DATA.parent / "published"
"""Transcribed tables of the papers, next to the data."""


def needs(*paths: Path) -> pytest.MarkDecorator:
    """Return a marker that skips tests if a path is missing."""
    return pytest.mark.skipif(bool(absent(*paths)), reason=absent(*paths))


def skip_without(*paths: Path) -> None:
    """Skip the running test if a path is missing."""
    if told := absent(*paths):
        pytest.skip(told)


def absent(*paths: Path) -> str:
    """Return a message on missing paths; empty if all exist."""
    gone = [path for path in paths if not path.exists()]
    return f"{gone[0]} is absent; docs/data.md says where to get it, TOKBENCH_DATA where it is" if gone else ""


TIMTC, ENGLISH = DATA / "timtc", DATA / "english"
RUNS = {
    1: ("pathpiecel_initbpe_firstspace_1_40960", "first_space", "shortest_path"),
    3: ("bpe_merge_3_40960", "gpt2", "merge"),
    6: ("sage_initbpe_firstspace_6_40960", "first_space", "greedy"),
}
"""File, pre-tokenization and segmentation by rank."""
SPECIAL = (b"<|endoftext|>", b"<UNK>")
"""Special tokens, which are not in the vocabulary; the counts include their few occurrences as text."""


def released_files_read(name: str) -> str:
    return gzip.decompress((TIMTC / f"{name}.gz").read_bytes()).decode()


@cache
def counts(rank: int) -> dict[bytes, int]:
    """Return the count of each token on MiniPile."""
    rows = [
        line.rsplit("\t", 1) for line in released_files_read(f"{RUNS[rank][0]}_token_counts.tsv").split("\n") if line
    ]
    return {unspell(token): int(count) for token, count in rows}


@cache
def counted(rank: int) -> list[bytes]:
    """Return the tokens of the vocabulary that occur on MiniPile."""
    return [token for token in counts(rank) if token not in SPECIAL]


@cache
def vocabulary(rank: int) -> Vocabulary:
    """Return a released vocabulary in its order, for BPE with merges."""
    if rank != 3:
        return Vocabulary(tuple(map(bytes.fromhex, released_files_read(f"{RUNS[rank][0]}.vocab").split())))
    model = released_bpe()["model"]
    tokens = tuple(token for token in map(unspell, model["vocab"]) if token not in SPECIAL)
    ids = {token: index for index, token in enumerate(tokens)}
    pairs = [tuple(map(unspell, pair.split(" "))) for pair in model["merges"]]
    merges = [(ids[left], ids[right], ids[left + right]) for left, right in pairs]
    return Vocabulary(tokens, merges=np.array(merges, np.int32))


def released_bpe() -> dict[str, Any]:
    released: dict[str, Any] = json.loads(released_files_read("bpe_merge_3_40960.json"))
    return released


@cache
def tokenizer(rank: int, segmentation: str) -> Tokenizer:
    """Return a tokenizer of a released vocabulary with its pre-tokenization and any segmentation."""
    return Tokenizer(vocabulary(rank), RUNS[rank][1], segmentation)


def texts(name: str, most: int) -> list[str]:
    """Return the start of each document."""
    with gzip.open(ENGLISH / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"][:most] for line in lines]
