"""``tiktoken``: encoder for BPE. It reads merges as the ranks of the tokens that they make."""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tiktoken

TEXT = str


def load(folder: Path, name: str) -> tiktoken.Encoding:
    lines = (folder / f"{name}.tiktoken").read_bytes().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}
    pattern = json.loads((folder / "facts.json").read_text(encoding="utf-8"))["patterns"][name]
    return tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


def encode(tokenizer: tiktoken.Encoding, text: str) -> Any:
    return tokenizer.encode_to_numpy(text, disallowed_special=())


def encode_short(tokenizer: tiktoken.Encoding, text: str) -> list[int]:
    return tokenizer.encode_ordinary(text)


def encode_batch(tokenizer: tiktoken.Encoding, texts: list[str], threads: int) -> list[list[int]]:
    return tokenizer.encode_ordinary_batch(texts, num_threads=threads)


def decode(tokenizer: tiktoken.Encoding, ids: Sequence[int] | Any) -> bytes:
    return tokenizer.decode_bytes(ids)
