"""``fastokens``: encoder for BPE."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fastokens

from benchmarks.speed.peers import ENCODING

TEXT = str


def load(folder: Path, name: str) -> Any:
    if name == "own":
        return fastokens.Tokenizer.from_file(str(folder / "own.json"))
    return fastokens.Tokenizer.from_tiktoken(str(folder / f"{name}.tiktoken"), encoding=ENCODING[name])


def encode(tokenizer: Any, text: str) -> bytes:
    return tokenizer.encode_batch_flat([text])[0]


def encode_short(tokenizer: Any, text: str) -> list[int]:
    return tokenizer.encode(text).ids


def encode_batch(tokenizer: Any, texts: Sequence[str], _threads: int) -> tuple[bytes, bytes]:
    return tokenizer.encode_batch_flat(texts)


def decode(tokenizer: Any, ids: Sequence[int]) -> str:
    return tokenizer.decode(ids)
