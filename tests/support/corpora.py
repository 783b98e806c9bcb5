"""Corpora for tests: compressed files, texts of a source or split, error messages, and parallel corpora."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

from tokbench.corpus.documents import ContinuationPiece, read_documents
from tokbench.corpus.parallel import ParallelCorpus
from tokbench.corpus.read import read_source
from tokbench.corpus.sources import Source
from tokbench.errors import TokbenchError
from tokbench.models.translation.options import PRESETS
from tokbench.options import validated

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
    """Return pairs of sentences, translated word by word."""
    drawn = np.random.default_rng(0).choice(list(PARALLEL_TEXT_WORDS), (number, 4))
    return [(" ".join(words), " ".join(PARALLEL_TEXT_WORDS[word] for word in words)) for words in drawn]


def corpus(folder: Path, pairs: list[tuple[str, str]], **more: Any) -> ParallelCorpus:
    """Write a parallel corpus of two files of lines; by default, a test is sampled from it."""
    for language, side in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
        (folder / f"text.{language}").write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    path = {language: str(folder / f"text.{language}") for language in ("en", "de")}
    values = {"languages": ["en", "de"], "train": {"type": "lines", "path": path}, "tests": {"held": 1}} | more
    return validated(values, ParallelCorpus, "here")


def whole_texts(folder: Path) -> list[bytes]:
    """Return the documents of a split, each joined from its pieces."""
    found: list[bytes] = []
    for document in read_documents(sorted(folder.glob("*.parquet"))):
        if isinstance(document, ContinuationPiece):
            found[-1] += document.text
        else:
            found.append(document.text)
    return found
