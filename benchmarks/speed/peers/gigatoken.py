"""``gigatoken``: encoder for BPE, counter of pre-tokens and trainer of BPE."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gigatoken
from gigatoken import gigatoken_rs

TEXT = bytes
DECODES_ARRAYS = True


def load(folder: Path, name: str) -> Any:
    if name == "own":
        return gigatoken.Tokenizer.from_json((folder / "own.json").read_bytes())
    return gigatoken.Tokenizer.from_tiktoken(folder / f"{name}.tiktoken", pretokenizer=name)


def encode(tokenizer: Any, text: bytes) -> Any:
    return tokenizer.encode(text)


def encode_batch(tokenizer: Any, texts: Sequence[bytes], threads: int) -> Any:
    return tokenizer.encode_batch(texts, parallel=threads > 1)


def decode(tokenizer: Any, ids: Any) -> bytes:
    return tokenizer.decode(ids)


def count(text: bytes) -> int:
    return len(gigatoken_rs.pretokenized_counts(text))


def train_bpe(path: Path, _documents: Sequence[str], size: int) -> int:
    return len(gigatoken.train_bpe(path, size, [])[0])
