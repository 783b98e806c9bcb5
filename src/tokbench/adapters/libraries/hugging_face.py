"""Hugging Face's ``tokenizers``: any ``tokenizer.json``."""

import os

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # Its threads do not outlive a fork.

import tokenizers


class HuggingFace:
    """A ``tokenizer.json``, without truncation, padding and what frames a text.

    Args:
        tokenizer: the library's.
        special: whether special tokens in a text become their ids.
        unknown: the id of what the vocabulary cannot spell.
    """

    def __init__(self, tokenizer: tokenizers.Tokenizer, special: bool, unknown: int | None) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = not special
        self.tokenizer = tokenizer
        self.unknown = unknown

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, ids: list[int]) -> bytes:
        for one in dict.fromkeys(ids):
            if self.tokenizer.id_to_token(one) is None:
                raise KeyError(one)
        return str(self.tokenizer.decode(ids, skip_special_tokens=False)).encode()

    def name(self, one: int) -> bytes:
        return str(self.tokenizer.id_to_token(one) or "").encode()

    def normalized(self, text: str) -> str:
        normalizer = self.tokenizer.normalizer
        return text if normalizer is None else str(normalizer.normalize_str(text))


def open(content: bytes, special: bool = False, unknown: int | None = None) -> HuggingFace:
    """The tokenizer of a file; an error of the library where it is none."""
    return HuggingFace(tokenizers.Tokenizer.from_str(content.decode()), special, unknown)
