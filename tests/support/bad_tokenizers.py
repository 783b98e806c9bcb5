"""Byte tokenizers that fail checks: broken in one method, lossy, or adapted from a library."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, ClassVar

from tokbench.errors import TokbenchError


class Plain:
    """A tokenizer of single bytes with nothing but what every one answers; what breaks it overrides one call."""

    def __len__(self) -> int:
        return 256

    def encode(self, text: bytes, threads: int = 1) -> Any:
        return list(text)

    def decode(self, ids: Iterable[int]) -> bytes:
        return bytes(ids)

    def encode_batch(self, texts: Iterable[bytes], threads: int = 1) -> list[Any]:
        return [self.encode(text) for text in texts]

    def count(self, text: bytes, threads: int = 1) -> int:
        return len(self.encode(text))


def broken(**calls: Any) -> Any:
    return type("Broken", (Plain,), calls)()


def drops(what: bytes) -> Any:
    return broken(encode=lambda self, text, threads=1: list(text.replace(what, b"")))


class Lossy(Plain):
    """Lower-cased, blanks joined, in composed form, by the ``tokenizers`` library, as adapters of it are."""

    def __init__(self) -> None:
        from tokenizers import Tokenizer, models, normalizers

        characters = {chr(code): place for place, code in enumerate(range(0x20, 0x7F))}
        self.library = Tokenizer(models.BPE(characters, [], unk_token="?"))
        self.library.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
        self.unknown_id = self.library.token_to_id("?")

    def __len__(self) -> int:
        return int(self.library.get_vocab_size())

    def normalized(self, text: str) -> str:
        return str(self.library.normalizer.normalize_str(text))

    def encode(self, text: bytes, threads: int = 1) -> Any:
        return self.library.encode(text.decode("utf-8", "replace"), add_special_tokens=False).ids

    def decode(self, ids: Iterable[int]) -> bytes:
        return "".join(self.library.id_to_token(one) for one in ids).encode()


class Adapted(Plain):
    """As adapters are that work through a library: ids beyond its tokens, and no part of ours."""

    ids = id_limit = 300
    special: ClassVar[dict[int, bytes]] = {299: b"</s>"}

    def __init__(self) -> None:
        self.library = SimpleNamespace(unknown=0, normalized=lambda text: text)

    def decode(self, ids: Iterable[int]) -> bytes:
        found = list(ids)
        if max(found, default=0) < 256:
            return bytes(found)
        return b"".join(self.special.get(one) or bytes([one]) for one in found)

    def __getattr__(self, name: str) -> Any:
        raise TokbenchError(f"it has no {name}")
