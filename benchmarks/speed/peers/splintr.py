"""``splintr-rs``: encoder for BPE. It includes OpenAI's tokenizers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import splintr

from benchmarks.speed.peers import ENCODING

TEXT = str


def load(folder: Path, name: str) -> Any:
    if name == "own":
        return splintr.from_json(str(folder / "own.json"))
    return splintr.Tokenizer.from_pretrained(ENCODING[name])


def encode(tokenizer: Any, text: str) -> bytes:
    return tokenizer.encode_flat(text)


def encode_short(tokenizer: Any, text: str) -> list[int]:
    return tokenizer.encode(text)


def encode_batch(tokenizer: Any, texts: Sequence[str], _threads: int) -> tuple[bytes, bytes]:
    return tokenizer.encode_batch_flat(texts)


def decode(tokenizer: Any, ids: Sequence[int]) -> bytes:
    return tokenizer.decode_bytes(ids)
