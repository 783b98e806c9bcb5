"""``tokie``: encoder for BPE."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tokie

TEXT = str


def load(folder: Path, name: str) -> Any:
    return tokie.Tokenizer.from_json(str(folder / f"{name}.json"))


def encode(tokenizer: Any, text: str) -> Any:
    return tokenizer.encode_batch_flat([text], False)[0]


def encode_short(tokenizer: Any, text: str) -> list[int]:
    return tokenizer.encode(text, False).ids


def encode_batch(tokenizer: Any, texts: Sequence[str], _threads: int) -> tuple[Any, Any]:
    return tokenizer.encode_batch_flat(texts, False)


def decode(tokenizer: Any, ids: Sequence[int]) -> bytes:
    return tokenizer.decode_bytes(ids)
