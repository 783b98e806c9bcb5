"""``quicktok-v1``: encoder for BPE with OpenAI's tokenizers, which it includes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import quicktok

from benchmarks.speed.peers import ENCODING

TEXT = str


def load(_folder: Path, name: str) -> Any:
    return quicktok.get_encoding(ENCODING[name])


def encode(tokenizer: Any, text: str) -> Any:
    return tokenizer.encode_batch([text], 1)[0]


def encode_short(tokenizer: Any, text: str) -> list[int]:
    return tokenizer.encode_ordinary(text)


def encode_batch(tokenizer: Any, texts: Sequence[str], threads: int) -> tuple[Any, Any]:
    return tokenizer.encode_batch(texts, threads)


def decode(tokenizer: Any, ids: Sequence[int]) -> bytes:
    return tokenizer.decode_bytes(ids)
