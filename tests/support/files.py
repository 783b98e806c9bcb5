"""Helpers for tests of output folders: contents, rejections, a full disk, a forked process.

Byte tokenizers that fail checks: broken in one method, lossy, or adapted from a library.

Corpus sources: compressed files, the texts of a source, and the message of a rejected one.

Sentence pairs translated word by word, parallel corpora and the smallest translation model.

Counts of a few words, small enough to try every vocabulary.
"""

import bz2
import gzip
import lzma
import os
import resource
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import zstandard
from hypothesis import strategies as st

from tokbench.corpus.parallel import ParallelCorpus
from tokbench.corpus.read import read_source
from tokbench.corpus.sources import Source
from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_folder
from tokbench.models.translation.options import PRESETS
from tokbench.options import validated
from tokbench.pretokens import PretokenCounts


def fill(folder: Path, text: str = "new", kind: Any = "tables") -> None:
    with atomic_folder(folder, kind) as partial:
        (partial / "within").mkdir()
        (partial / "a.csv").write_text(text)
        (partial / "within" / "b.csv").write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def told(block: Callable[[], Any]) -> str:
    """The message of the rejection that a call ends with."""
    with pytest.raises(TokbenchError) as rejection:
        block()
    return str(rejection.value)


def in_a_fork(action: Callable[[], None]) -> int:
    """Run something in a forked process and give how that ended."""
    if (process := os.fork()) == 0:
        try:
            action()
            os._exit(0)
        except SystemExit as end:
            os._exit(int(end.code or 0))
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@contextmanager
def small_files() -> Iterator[None]:
    """No file may have more than 64 KiB."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


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


WRAPPERS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".gzip": gzip.compress,
    ".zst": zstandard.ZstdCompressor().compress,
    ".zstd": zstandard.ZstdCompressor().compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def texts(source: Source) -> list[bytes]:
    documents = list(read_source(source))
    assert [document.document for document in documents] == list(range(len(documents)))
    return [document.text for document in documents]


def rejected(source: Source) -> str:
    with pytest.raises(TokbenchError) as caught:
        list(read_source(source))
    message = str(caught.value)
    assert "\n" not in message
    return message


PARALLEL_TEXT_WORDS = {"one": "eins", "two": "zwei", "red": "rot", "cat": "Katze", "dog": "Hund", "sees": "sieht"}
TINY = PRESETS["tiny"]


def sentences(number: int) -> list[tuple[str, str]]:
    """Pairs that are translated word by word."""
    drawn = np.random.default_rng(0).choice(list(PARALLEL_TEXT_WORDS), (number, 4))
    return [(" ".join(words), " ".join(PARALLEL_TEXT_WORDS[word] for word in words)) for words in drawn]


def corpus(folder: Path, pairs: list[tuple[str, str]], **more: Any) -> ParallelCorpus:
    """A corpus of two files of lines; a test is drawn from it unless others are given."""
    for language, side in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
        (folder / f"text.{language}").write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    path = {language: str(folder / f"text.{language}") for language in ("en", "de")}
    values = {"languages": ["en", "de"], "train": {"type": "lines", "path": path}, "tests": {"held": 1}} | more
    return validated(values, ParallelCorpus, "here")


WORDS = st.dictionaries(
    st.text("ab", min_size=1, max_size=6).map(str.encode), st.integers(1, 9), min_size=1, max_size=6
)
SHARED = {"abc": 1, "abd": 1, "abe": 1, "bc": 1, "bd": 1, "be": 1}
THREE = {"abab": 3, "ab": 2, "ba": 4, "aab": 2}


def counts_of(words: dict[bytes, int]) -> PretokenCounts:
    return PretokenCounts.from_pairs(words.items(), "gpt2")


def substrings(words: dict[bytes, int]) -> list[bytes]:
    return sorted({word[i:j] for word in words for i in range(len(word)) for j in range(i + 2, len(word) + 1)})


def encoded(words: dict[str, int]) -> dict[bytes, int]:
    return {word.encode(): count for word, count in words.items()}


def text_counts(words: int, seed: int) -> dict[bytes, int]:
    """Words over few letters, some of them frequent."""
    rng = np.random.default_rng(seed)
    found: dict[bytes, int] = {}
    for rank in range(words):
        word = bytes(rng.choice(list(b"abcde"), size=rng.integers(1, 9)).tolist())
        found[word] = found.get(word, 0) + 1 + 400 // (rank + 1)
    return found
