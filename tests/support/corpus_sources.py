"""Corpus sources: compressed files, the texts of a source, and the message of a rejected one."""

import bz2
import gzip
import lzma
from collections.abc import Callable

import pytest
import zstandard

from tokbench.corpus.read import read_source
from tokbench.corpus.sources import Source
from tokbench.errors import TokbenchError

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
