"""Prepare a corpus: read its source, split it by document, write sharded Parquet."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from tokbench.corpus.documents import Document, shard_writers
from tokbench.corpus.read import read_source
from tokbench.corpus.sources import Source
from tokbench.corpus.splits import split_documents


def prepare(
    source: Source,
    shares: Mapping[str, float | str],
    seed: int,
    shards: int,
    folder: Path,
    cache: Path | None = None,
) -> dict[str, tuple[int, int]]:
    """Write ``folder/{split}/{shard}.parquet`` for every split.

    The source is read twice, once for the sizes of its documents and once for their text, so memory is bounded.

    Args:
        source: where the documents come from.
        shares: share of bytes of each split, or the name of the split that it is the same as.
        seed: decides which document falls into which split.
        shards: shards a split.
        folder: where the corpus goes.
        cache: for a hub source, the Parquet file that was fetched.

    Returns:
        Documents and bytes of each split that has a share.
    """
    fractions = {split: share for split, share in shares.items() if not isinstance(share, str)}
    seen = [(len(document.text), document.language) for document in read_source(source, cache)]
    splits = split_documents([size for size, _ in seen], fractions, seed, [language for _, language in seen])
    totals = dict.fromkeys(fractions, (0, 0))
    with ExitStack() as stack:
        add = {split: stack.enter_context(shard_writers(shard_paths(folder, split, shards))) for split in fractions}
        for document, split in _paired(read_source(source, cache), splits):
            if split is not None:
                add[split](document)
                documents, size = totals[split]
                totals[split] = documents + 1, size + len(document.text)
    for split, same in shares.items():
        if isinstance(same, str):
            (folder / split).symlink_to(same, target_is_directory=True)
    return totals


def shard_paths(folder: Path, split: str, shards: int) -> list[Path]:
    """Paths of a split's shards, ``0000.parquet`` onwards."""
    return [folder / split / f"{shard:04}.parquet" for shard in range(shards)]


def _paired(documents: Iterator[Document], splits: list[str | None]) -> Iterator[tuple[Document, str | None]]:
    return zip(documents, splits, strict=True)
