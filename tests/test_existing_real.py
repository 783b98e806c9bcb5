"""Tokenizers that people use, as their makers distribute them: ids as those of their own libraries.

Of every text a part is taken; ``TOKBENCH_EXISTING=1`` takes all of each, and more random strings.
"""

import gzip
import json
import os
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
import tokenizers

from tests.conftest import ODD
from tests.support.external_data import DATA, needs
from tokbench.adapters.adapted import AdaptedTokenizer
from tokbench.adapters.forms import ReadOptions
from tokbench.adapters.libraries import Library, open_library
from tokbench.adapters.loss import loss_of
from tokbench.adapters.probes import probes
from tokbench.adapters.read import read_tokenizer
from tokbench.tokenizer import Tokenizer

EXISTING = DATA / "existing"
NATIVE: dict[str, tuple[str, dict[str, Any], int, int]] = {
    "gpt2.tiktoken.gz": ("tiktoken", {"pattern": "gpt2"}, 50256, 50257),
    "p50k_base.tiktoken.gz": ("tiktoken", {"pattern": "p50k_base"}, 50280, 50281),
    "cl100k_base.tiktoken.gz": ("tiktoken", {"pattern": "cl100k"}, 100256, 100277),
    "o200k_base.tiktoken.gz": ("tiktoken", {"pattern": "o200k"}, 199998, 200019),
    "qwen.tiktoken.gz": ("tiktoken", {"pattern": "qwen"}, 151643, 151643),
    "mistral_tekken_240911.json.gz": ("tekken", {}, 130072, 131072),
    "deepseek_v3_tokenizer.json.gz": ("tokenizer_json", {}, 127997, 129280),
}
"""Those that become ours: form, options, tokens, ids."""
ADAPTED: dict[str, tuple[str, int, int]] = {
    "claude_2_tokenizer.json.gz": ("tokenizer_json", 64995, 65000),
    "mistral_v1.model.gz": ("sentencepiece", 31997, 32000),
    "mistral_v3.model.gz": ("sentencepiece", 31997, 32768),
}
"""Those that work through their library: form, tokens, ids."""
TEXTS = (
    *("english/novels", "multilingual/flores101", "multilingual/ntrex128", "multilingual/udhr"),
    *("multilingual/german_novels", "multilingual/ukrainian_novels"),
)
ALL = bool(os.environ.get("TOKBENCH_EXISTING"))
PIECE = 2000
"""Characters of every document."""
STRINGS = 10_000 if ALL else 200
PIECES = (
    *(" ", "  ", "\n", "\r\n", "\t", "'s", "'LL", "\u2019", "a", "Ab", "ZZ", "1", "23", "4567", "!", "?!", "/", "//"),
    *("\u4e2d", "\u00e9", "e\u0301", "\u00a0", "\u2028", "<|endoftext|>", "\U0001f642", "\ufb01", "\u017f"),
)

pytestmark = needs(EXISTING)


@cache
def documents() -> list[str]:
    found = []
    for name in TEXTS:
        with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            texts = [json.loads(line)["text"] for line in file]
        found += texts if ALL else [text[len(text) // 2 :][:PIECE] for text in texts[:: max(1, len(texts) // 12)]]
    return found


@cache
def strings() -> list[str]:
    """Random strings of characters that every library knows, among them what patterns tell apart."""
    return list(_strings())


def _strings() -> Iterator[str]:
    draw = Random(1)
    known = [
        chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Cs") and code != 0x295
    ]
    for _ in range(STRINGS):
        length = draw.randrange(1, 40)
        yield "".join(draw.choice(known) if draw.random() < 0.5 else draw.choice(PIECES) for _ in range(length))


def both(name: str, form: str, options: dict[str, Any]) -> tuple[Tokenizer, Library]:
    """The tokenizer, and the library that was opened to hold it against."""
    opened: list[Library] = []

    def noted(*given: Any) -> Library:
        opened.append(open_library(*given))
        return opened[-1]

    with pytest.MonkeyPatch.context() as patch:
        for module in ("read", "forms.tokenizer_json"):
            patch.setattr(f"tokbench.adapters.{module}.open_library", noted)
        tokenizer = read_tokenizer(EXISTING / name, form, ReadOptions(**options))
    [library] = opened
    return tokenizer, library


def untouched(name: str) -> Callable[[str], list[int]]:
    """What a library makes of its own file as it is; none of the texts has a special token in it."""
    content = gzip.decompress((EXISTING / name).read_bytes())
    if name.endswith(".json.gz"):
        library = tokenizers.Tokenizer.from_str(content.decode())
        return lambda text: list(library.encode(text, add_special_tokens=False).ids)
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=content)
    return lambda text: list(processor.encode(text))


@pytest.mark.parametrize("name", NATIVE)
def test_ids_are_those_of_the_library(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    form, options, tokens, ids = NATIVE[name]
    if not ALL:
        some = probes()[::11]
        monkeypatch.setattr("tokbench.adapters.read.probes", lambda: some)
    tokenizer, library = both(name, form, options)
    assert not isinstance(tokenizer, AdaptedTokenizer), tokenizer.origin
    assert (len(tokenizer), tokenizer.id_limit) == (tokens, ids)
    for text in (*documents(), *strings()):
        found = tokenizer.encode(text)
        assert found.tolist() == list(library.encode(text))
        assert tokenizer.decode(found) == text.encode()
    assert tokenizer.decode(tokenizer.encode(ODD)) == ODD
    assert tokenizer.decode(tokenizer.encode(bytes(range(256)) * 2)) == bytes(range(256)) * 2


@pytest.mark.parametrize("name", ADAPTED)
def test_adapters_have_the_ids_of_the_library(name: str, tmp_path: Path) -> None:
    """Also once saved. What they lose is seen: NFKC changes characters, and a space at the start goes."""
    form, tokens, ids = ADAPTED[name]
    tokenizer = read_tokenizer(EXISTING / name, form)
    ids_of = untouched(name)
    tokenizer.save(tmp_path / "saved")
    loaded = Tokenizer.load(tmp_path / "saved")
    assert isinstance(loaded, AdaptedTokenizer)
    assert (len(loaded), loaded.id_limit) == (tokens, ids)
    texts = documents() if ALL else documents()[::3]
    for text in texts:
        assert loaded.encode(text).tolist() == ids_of(text)
    lost = loss_of(loaded, ["\ufb01ne \u00bd".encode(), b"  two spaces", b"a  b"])
    assert lost.documents_changed == name.startswith("claude")
    assert lost.unknown_tokens == 0
    assert lost.characters_normalised == (2 if name.startswith("claude") else 0)
