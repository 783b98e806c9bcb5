"""Prepare a corpus: read its source, split it by document, write sharded Parquet."""

from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokbench.allowance import DEFAULT, Allowance
from tokbench.corpus.documents import Document, Rest
from tokbench.corpus.duplicates import DIGEST, Digester, Duplicates, compared_splits, equal_files
from tokbench.corpus.limits import check_text, language_of, without_limits
from tokbench.corpus.manifest import Findings, write_findings
from tokbench.corpus.parquet_rows import COPIES as COPIES_OF_ROW
from tokbench.corpus.read import holds_rows, read_source
from tokbench.corpus.rests import of_pieces, told_of_cuts, whole_sizes
from tokbench.corpus.shards import COPIES, LONG, LONGEST, Add, shard_paths, written_shards
from tokbench.corpus.sources import FileSource, Source, left_out
from tokbench.corpus.splits import CHUNK, UNUSED, shards_of, split_documents
from tokbench.corpus.untagged import found_untagged, merge_untagged
from tokbench.errors import TokbenchError
from tokbench.inputs.encodings import Notes
from tokbench.languages import UNDETERMINED

PER_DOCUMENT = 100
"""Bytes held for each document: a fifth of them for its size and place, the rest where it is a very short one, which
waits for its row group to be full."""
UNBOUND = Allowance(DEFAULT, 1_800_000_000)


def prepare(
    source: Source,
    shares: Mapping[str, float | str],
    seed: int,
    shards: int,
    folder: Path,
    cache: Path | None = None,
    allowed: Allowance = UNBOUND,
    longest: int | None = None,
    drop_duplicates: bool = False,
) -> dict[str, tuple[int, int]]:
    """Write ``folder/{split}/{shard}.parquet`` for every split.

    The source is read twice, once for the sizes of its documents and once for their text. Memory holds some tens of
    bytes for each document, a few copies of the longest one, or of the longest piece, and as much text as is allowed
    in addition; what is written does not depend on it. ``folder/manifest.json`` says how many documents are in pieces,
    how many have no language although others have one (theirs is written as ``und``), and what is left out or changed.

    Args:
        source: where the documents come from.
        shares: share of bytes of each split, or the name of the split that it is the same as.
        seed: decides which document falls into which split.
        shards: shards a split.
        folder: where the corpus goes, and temporary files meanwhile.
        cache: for a hub source, the Parquet file that was fetched.
        allowed: memory.
        longest: bytes above which a document is written as several, see :func:`tokbench.corpus.read.read_source`: they
            lie in one shard, one after the other. Which shard, limits and shares are matters of the whole document.
        drop_duplicates: leave documents out of the evaluation split that are also in a split that models are made
            from, see :mod:`tokbench.corpus.duplicates`.

    Returns:
        Documents and bytes of each split that has a share; a document in pieces is one.

    Raises:
        TokbenchError: a document, or their number, is too large for the memory; the source is not the same when it is
            read again; or see :func:`tokbench.corpus.splits.split_documents`.
    """
    fractions = {split: share for split, share in shares.items() if not isinstance(share, str)}
    largest = allowed.largest(COPIES)

    def documents(notes: Notes | None = None) -> Iterator[Document]:
        return read_source(source, cache, largest, longest=longest, notes=notes)

    def languages_of_all() -> Iterator[str]:
        found = read_source(without_limits(source), cache, largest, longest=longest)
        return (language_of(source, document.language) for document in found)

    notes = Notes()
    compared = bool(compared_splits(fractions))
    sizes, languages, untagged, rests, digests = _seen(documents(notes), allowed, digested=compared)
    whole = whole_sizes(sizes, rests)
    check_text(source, len(whole), int(whole.sum()), languages_of_all)
    splits = split_documents(whole, fractions, seed, languages)
    duplicates = Duplicates(digests, splits, fractions, whole)
    del digests
    if drop_duplicates:
        duplicates.drop(splits)
    places = of_pieces(_places(splits, len(fractions), shards), rests)
    paths = [path for split in fractions for path in shard_paths(folder, split, shards)]
    left = allowed.room - PER_DOCUMENT // 5 * len(sizes)
    if len(rests) and holds_rows(source):
        left -= COPIES_OF_ROW * int(whole.max(initial=0))
    long = set(places[(sizes > LONG) & (places != UNUSED)].tolist())
    with written_shards(paths, int(sizes.max(initial=0)), long, left) as add:
        _deal(documents(), places, sizes, add, UNDETERMINED if untagged else "")
    link_splits(folder, shares)
    unread = left_out(source) if isinstance(source, FileSource) else []
    equal = equal_files(source)
    findings: Findings = {**told_of_cuts(rests, longest), **found_untagged(untagged)}
    findings |= notes.lines() | duplicates.lines(drop_duplicates)
    findings |= {key: lines for key, lines in {"left_out": unread, "equal_files": equal}.items() if lines}
    write_findings(folder, findings)
    own = (whole[splits == place] for place in range(len(fractions)))
    return {split: (len(found), int(found.sum())) for split, found in zip(fractions, own, strict=True)}


def link_splits(folder: Path, shares: Mapping[str, float | str]) -> None:
    """Links in place of the splits that are the same as another."""
    for split, same in shares.items():
        if isinstance(same, str):
            (folder / split).symlink_to(same, target_is_directory=True)


class _Seen(NamedTuple):
    """What splits and findings depend on.

    Attributes:
        sizes: bytes of each piece, int64 [pieces].
        languages: a number for the language of each document, int32 [documents].
        untagged: how many documents have no language although others have one.
        rests: which pieces are no document's first, int64.
        digests: of each document if asked for, uint64 [documents, 2].
    """

    sizes: NDArray[np.int64]
    languages: NDArray[np.int32]
    untagged: int
    rests: NDArray[np.int64]
    digests: NDArray[np.uint64]


def _seen(documents: Iterator[Document], allowed: Allowance, *, digested: bool) -> _Seen:
    """Read documents, and return their sizes, languages and digests."""
    sizes, languages, rests, digests = array("q"), array("i"), array("q"), bytearray()
    digester = Digester()
    numbers: dict[str, int] = {}
    most = allowed.room // PER_DOCUMENT

    def see(document: Document) -> None:
        size = len(document.text)
        if size > LONGEST:
            raise TokbenchError(
                f"document {document.document} of the source has {size:,} bytes, and a shard takes {LONGEST:,} of one; "
                "cut it into shorter documents"
            )
        if document.document >= most:
            raise TokbenchError(
                f"more than {most:,} documents need more than the {allowed.megabytes:,} MB of memory that are allowed; "
                "allow it more (--memory), or make several corpora"
            )
        if isinstance(document, Rest):
            rests.append(len(sizes))
        else:
            languages.append(numbers.setdefault(document.language, len(numbers)))
        sizes.append(size)
        if digested:
            if isinstance(document, Rest):
                del digests[-DIGEST:]
            digests.extend(digester.digest(document))

    for _ in map(see, documents):
        pass
    tags = np.frombuffer(languages, np.int32)
    return _Seen(
        np.frombuffer(sizes, np.int64),
        tags,
        merge_untagged(tags, numbers),
        np.frombuffer(rests, np.int64),
        np.frombuffer(digests, np.uint64).reshape(-1, 2),
    )


def _places(splits: NDArray[np.int8], number: int, shards: int) -> NDArray[np.int32]:
    """The shard of each document over all splits, int32 [n]."""
    places = np.empty(len(splits), np.int32)
    dealt = np.zeros(number, np.int64)
    for first in range(0, len(splits), CHUNK):
        some = slice(first, first + CHUNK)
        places[some] = shards_of(splits[some], shards, dealt)
    return places


def _deal(
    documents: Iterator[Document], places: NDArray[np.int32], sizes: NDArray[np.int64], add: Add, untagged: str
) -> None:
    def put(place: int, size: int, document: Document) -> int:
        if len(document.text) != size:
            raise changed()
        if place != UNUSED:
            add(document if document.language else document._replace(language=untagged), place)
        return 1

    dealt: Iterator[int] = map(put, places.data, sizes.data, documents)
    if sum(dealt) < len(places) or next(documents, None) is not None:
        raise changed()


def changed() -> TokbenchError:
    """What is told of a source that was not the same when it was read again."""
    return TokbenchError("the source changed while it was read; prepare the corpus again")
