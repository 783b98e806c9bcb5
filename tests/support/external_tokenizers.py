"""Fixtures and readers for tests of external tokenizers, with a subset of the probes."""

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import strategies as st

from tests.support import library_tokenizers as made
from tokbench.adapters.forms import ReadOptions
from tokbench.adapters.probes import probes
from tokbench.adapters.read import read_tokenizer
from tokbench.tokenizer import Tokenizer

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
    """Some of the probes, all of which are tried on the real ones; of the forms that 'check' writes the quickest."""
    monkeypatch.setattr("tokbench.fitness.exports.FORMS", ("tiktoken",))
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
