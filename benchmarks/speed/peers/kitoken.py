"""``kitoken``: encoder for BPE."""

from pathlib import Path

from kitoken import Kitoken

TEXT = str


def load(folder: Path, name: str) -> Kitoken:
    if name == "own":
        return Kitoken.from_tokenizers_file(str(folder / "own.json"))
    return Kitoken.from_tiktoken_file(str(folder / f"{name}.tiktoken"))


def encode(tokenizer: Kitoken, text: str) -> list[int]:
    return tokenizer.encode(text)


def encode_batch(tokenizer: Kitoken, texts: list[str], _threads: int) -> list[list[int]]:
    return tokenizer.encode_all(texts)


def decode(tokenizer: Kitoken, ids: list[int]) -> bytes:
    return tokenizer.decode(ids)
