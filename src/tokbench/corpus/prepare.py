"""Preparation of a corpus: read its source, split it by document, write sharded Parquet."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

from tokbench.corpus.documents import Findings, read_findings, write_findings
from tokbench.corpus.duplicates import equal_files
from tokbench.corpus.limits import check_text, language_of, without_limits
from tokbench.corpus.mixing import Draw
from tokbench.corpus.partitions import batches_of, partition_part, write_partitions
from tokbench.corpus.parts import write_sizes
from tokbench.corpus.read import read_source
from tokbench.corpus.shards import shard_paths
from tokbench.corpus.shuffle import assign_documents, read_totals
from tokbench.corpus.source_files import left_out
from tokbench.corpus.sources import FileSource, Source
from tokbench.corpus.units import copy_units
from tokbench.errors import TokbenchError
from tokbench.io.atomic import link_or_copy
from tokbench.io.encodings import Notes
from tokbench.runtime.memory_limit import DEFAULT, MemoryLimit

UNBOUND = MemoryLimit(DEFAULT, 1_800_000_000)


class PreparedSource(NamedTuple):
    """A source that can be read.

    Attributes:
        source: its options.
        cache: downloaded Parquet file of a hub source (default: none).
    """

    source: Source
    cache: Path | None = None


def prepare(
    source: Source | Mapping[str, PreparedSource],
    shares: Mapping[str, float | str],
    seed: int,
    shards: int,
    folder: Path,
    cache: Path | None = None,
    allowed: MemoryLimit = UNBOUND,
    longest: int | None = None,
    drop_duplicates: bool = False,
    units: Path | None = None,
    normalize: Literal["nfc"] | None = None,
    draw: Draw | None = None,
) -> dict[str, tuple[int, int]]:
    """Write ``folder/{split}/{shard}.parquet`` for every split.

    The steps are those of a corpus in parts; each source is a part. The sizes of the documents are read, and documents
    are assigned to shards. Then the source is read again, its texts are sorted by shard, and the shards are written.
    The memory limit bounds the texts in memory; the output does not depend on it.

    ``folder/manifest.json`` lists how many documents are in pieces, how many have no language although others have one
    (written as ``und``), and everything that is drawn, left out or changed.

    Args:
        source: source of the documents, or the sources of a mixture by name.
        shares: share of bytes of each split, or the name of an identical split.
        seed: seed of the assignment of documents to splits.
        shards: number of shards per split.
        folder: output folder, also used for temporary files.
        cache: downloaded Parquet file of a single hub source.
        allowed: memory limit.
        longest: bytes above which a document is written in pieces, see :func:`tokbench.corpus.read.read_source`
            (default: no limit). Pieces are consecutive rows of one shard. Shard, limits and shares depend on the total
            size of all pieces.
        drop_duplicates: remove documents from the evaluation split that are also in a training split, see
            :mod:`tokbench.corpus.duplicates` (default: False).
        units: table of documents that belong together and fall into one split, see :mod:`tokbench.corpus.units`.
        normalize: normalization of each document (default: none).
        draw: documents to draw and shuffle, see :mod:`tokbench.corpus.mixing` (default: all in their order).

    Returns:
        Documents and bytes of each split that has a share; a document in pieces counts as one.

    Raises:
        TokbenchError: a document, or the number of documents, is too large for the memory; the source changed between
            reads; or see :func:`tokbench.corpus.splits.split_documents`.
    """
    sources = source if isinstance(source, Mapping) else {"": PreparedSource(source, cache)}
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder, prefix=".parts-") as name:
        places = Path(name)
        # Sizes, splits and shards of the documents, then their texts sorted by shard.
        sizes = [places / f"sizes-{part:04}.parquet" for part in range(len(sources))]
        for (domain, prepared), path in zip(sources.items(), sizes, strict=True):
            _write_sizes(domain, prepared, path, longest, normalize)
        plain = {domain: without_limits(prepared.source) for domain, prepared in sources.items()}
        split_totals = assign_documents(
            plain, shares, seed, shards, sizes, places, allowed, longest, drop_duplicates, units, draw
        )
        totals = read_totals(places)
        all_places = range(len(totals.documents))
        queues = [places / f"queue-{part:04}.parquet" for part in range(len(sources))]
        for part, (domain, prepared) in enumerate(sources.items()):
            documents = read_source(prepared.source, prepared.cache, longest=longest, normalize=normalize)
            groups = batches_of(all_places, totals, allowed)
            partition_part(plain[domain], documents, places / f"{part:04}.parquet", groups, queues[part], allowed)
        paths = [path for split in split_totals for path in shard_paths(folder, split, shards)]
        write_partitions(queues, all_places, totals, paths, allowed)
        findings: Findings = read_findings(places)
        copy_units(places, folder)
    # Splits that equal others, and the notes of the manifest.
    link_splits(folder, shares)
    read = [prepared.source for prepared in sources.values()]
    unread = [line for one in read if isinstance(one, FileSource) for line in left_out(one)]
    findings |= {key: lines for key, lines in {"left_out": unread, "equal_files": equal_files(*read)}.items() if lines}
    write_findings(folder, findings)
    return split_totals


def _write_sizes(
    domain: str, prepared: PreparedSource, path: Path, longest: int | None, normalize: Literal["nfc"] | None
) -> None:
    """Write the sizes of a source's documents.

    Raises:
        TokbenchError: the source has no text.
    """
    source, cache = prepared
    notes = Notes()

    def languages() -> Iterator[str]:
        documents = read_source(without_limits(source), cache, longest=longest)
        return (language_of(source, document.language) for document in documents)

    documents = read_source(source, cache, longest=longest, notes=notes, normalize=normalize)
    key = f"sources.{domain}" if domain else "source"
    check_text(source, *write_sizes(documents, path, notes), languages, key)


def link_shards(groups: Sequence[Path], shares: Mapping[str, float | str], shards: int, folder: Path) -> None:
    """Fill a corpus's folder with the shards that several jobs wrote.

    A shard is hard-linked, or copied where links are not possible. The original stays, so that nothing is lost if the
    process is killed.

    Args:
        groups: folders with ``{split}/{shard}.parquet``; each shard is in one of them.
        shares: see :func:`prepare`.
        shards: number of shards per split.
        folder: output folder.

    Raises:
        TokbenchError: a group is not a folder, or a shard is in none of them.
    """
    for group in groups:
        if not group.is_dir():
            raise TokbenchError(
                f"{group}: not a folder of shards; a corpus in parts is prepared from those that 'tokbench "
                "write_shards' made, and one without 'parts' from its source"
            )
    files = {file.relative_to(group): file for group in groups for file in group.glob("*/*.parquet")}
    for split, share in shares.items():
        if isinstance(share, str):
            continue
        (folder / split).mkdir()
        for path in shard_paths(folder, split, shards):
            shard = files.get(path.relative_to(folder))
            if shard is None:
                message = f"{split}/{path.name} is in none of the {len(groups)} folders of shards"
                raise TokbenchError(f"{message}; name all that 'tokbench write_shards' made")
            link_or_copy(shard, path)
    link_splits(folder, shares)
    write_findings(folder, read_findings(groups[0]))
    copy_units(groups[0], folder)


def link_splits(folder: Path, shares: Mapping[str, float | str]) -> None:
    """Link the splits that are identical to another."""
    for split, same in shares.items():
        if isinstance(same, str):
            (folder / split).symlink_to(same, target_is_directory=True)
