"""Checksums of corpora: of the documents, however many shards they lie in."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from tokbench.corpus.documents import Document, read_documents


def digest(documents: Iterable[Document]) -> str:
    """SHA-256 of documents in their order: for each its number, language and length, then its bytes.

    Returns:
        Sixty-four hexadecimal digits.
    """
    found = hashlib.sha256()
    for number, language, text in documents:
        found.update(f"{number}\t{language}\t{len(text)}\n".encode())
        found.update(text)
    return found.hexdigest()


def digests_in(results: Path) -> dict[str, str]:
    """Checksums of the splits of an experiment, by ``CORPUS/SPLIT``; of corpora that are counts alone, of their files.

    Args:
        results: the experiment's folder.
    """
    splits = sorted(path for path in (results / "corpus").glob("*/*") if path.is_dir())
    found = {
        f"{split.parent.name}/{split.name}": digest(read_documents(sorted(split.glob("*.parquet")))) for split in splits
    }
    texts = {split.parent.name for split in splits}
    for path in sorted((results / "pretokens").glob("*/*/*.parquet")):
        if path.parts[-3] not in texts:
            name = "/".join((*path.parts[-3:-1], path.stem))
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found
