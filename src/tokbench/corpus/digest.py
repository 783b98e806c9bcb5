"""Checksums of corpora: of the documents, however many shards they lie in."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tokbench.corpus.documents import Document, read_documents


class Contents(NamedTuple):
    """What a split holds.

    Attributes:
        documents: how many; None of counts alone.
        bytes: of their text; None of counts alone.
        sha256: sixty-four hexadecimal digits.
    """

    documents: int | None
    bytes: int | None
    sha256: str


def contents(documents: Iterable[Document]) -> Contents:
    """Number and bytes of documents, and SHA-256 of them in their order: for each its number, language and length, then
    its bytes."""
    found, number, size = hashlib.sha256(), 0, 0
    for document, language, text in documents:
        found.update(f"{document}\t{language}\t{len(text)}\n".encode())
        found.update(text)
        number += 1
        size += len(text)
    return Contents(number, size, found.hexdigest())


def splits_of(corpus: Path) -> dict[str, Contents]:
    """What the splits in a corpus's folder hold, by ``CORPUS/SPLIT``."""
    splits = sorted(path for path in corpus.iterdir() if path.is_dir() and any(path.glob("*.parquet")))
    return {f"{corpus.name}/{one.name}": contents(read_documents(sorted(one.glob("*.parquet")))) for one in splits}


def counts_of(path: Path) -> dict[str, Contents]:
    """What a file of counts ``CORPUS/SPLIT/SCHEME.parquet`` holds, by its name without the ending."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    return {"/".join((*path.parts[-3:-1], path.stem)): Contents(None, None, found)}


def contents_in(results: Path) -> dict[str, Contents]:
    """What the corpora in an experiment's folder hold: their splits, of those that are counts alone their files."""
    found: dict[str, Contents] = {}
    corpora = sorted(path for path in (results / "corpus").glob("*") if path.is_dir())
    for corpus in corpora:
        found |= splits_of(corpus)
    for path in sorted((results / "pretokens").glob("*/*/*.parquet")):
        if path.parts[-3] not in {corpus.name for corpus in corpora}:
            found |= counts_of(path)
    return found
