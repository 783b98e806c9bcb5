"""``rs_bpe``: encoder for BPE with OpenAI's tokenizers, which it includes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rs_bpe.bpe import openai

from benchmarks.speed.peers import ENCODING

TEXT = str


def load(_folder: Path, name: str) -> Any:
    return getattr(openai, ENCODING[name])()


def encode(tokenizer: Any, text: str) -> list[int]:
    return tokenizer.encode(text)


def encode_batch(tokenizer: Any, texts: Sequence[str], _threads: int) -> list[list[int]]:
    return tokenizer.encode_batch(texts)[0]


def decode(tokenizer: Any, ids: Sequence[int]) -> str:
    return tokenizer.decode(ids)
