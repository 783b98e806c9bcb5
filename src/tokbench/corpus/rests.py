"""Documents in pieces: splits, shards and limits are those of whole documents, whose pieces stay together."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

MANIFEST = "manifest.json"
"""In the folder of a corpus whose preparation has something to say of its documents, and in no other's."""
LONGEST = b"longest"


def whole_sizes(sizes: NDArray[np.integer], rests: ArrayLike) -> NDArray[np.integer]:
    """Bytes of documents, [documents].

    Args:
        sizes: of the pieces, [pieces]; these themselves are given back where every document is one.
        rests: which of them belong to the document before, ascending.
    """
    places = np.asarray(rests, np.int64)
    if not len(places):
        return sizes
    whole = np.delete(sizes, places)
    cut, which = np.unique(documents_of(places), return_inverse=True)
    sums = whole[cut].astype(np.int64)
    np.add.at(sums, which, sizes[places])
    whole = whole if sums.max() <= np.iinfo(whole.dtype).max else whole.astype(np.int64)
    whole[cut] = sums
    return whole


def documents_of(rests: NDArray[np.int64]) -> NDArray[np.int64]:
    """The document that each of these pieces belongs to, int64 [rests]: all but them are a document's first."""
    return rests - np.arange(1, len(rests) + 1)


def of_pieces(values: NDArray[Any], rests: ArrayLike) -> NDArray[Any]:
    """For each piece the value of its document, [pieces]."""
    places = np.asarray(rests, np.int64)
    documents = documents_of(places)
    return np.insert(values, documents + 1, values[documents]) if len(places) else values


def told_of_cuts(rests: ArrayLike, longest: int | None) -> str | None:
    """How many documents were cut into how many pieces, and why, in one line; None where none was."""
    documents = documents_of(np.asarray(rests, np.int64))
    if not len(documents):
        return None
    number = len(np.unique(documents))
    some = "1 document" if number == 1 else f"{number:,} documents"
    return f"{some} of more than {longest:,} bytes (longest_document) cut into {number + len(documents):,}"


def write_notes(folder: Path, notes: Mapping[str, str | None]) -> None:
    """Write the manifest of a folder: a sentence by key, without those that are None; no manifest without sentences."""
    if found := {key: note for key, note in notes.items() if note is not None}:
        (folder / MANIFEST).write_text(json.dumps(found) + "\n", encoding="utf-8")


def read_notes(folder: Path) -> dict[str, str]:
    """Return the sentences in the manifest of a folder; none where there is no manifest."""
    manifest = folder / MANIFEST
    return dict(json.loads(manifest.read_text(encoding="utf-8"))) if manifest.is_file() else {}


def longest_in(metadata: dict[bytes, bytes] | None) -> int:
    """Bytes of the longest document as a file of sizes or of places tells where it has documents in pieces, or 0."""
    return int((metadata or {}).get(LONGEST, 0))
