"""Packed slices put together: the same files, byte for byte, as :func:`tokbench.pretraining.pack.pack` writes."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokbench.atomic import atomic_folder, link_or_copy, reject_altered
from tokbench.errors import TokbenchError
from tokbench.inputs.arrays import read_array
from tokbench.occurrences import read_occurrences, write_occurrences
from tokbench.pretraining.laying import Asked, Laying
from tokbench.pretraining.mds import Shards
from tokbench.pretraining.pack import Packing, described, padding_after
from tokbench.pretraining.pack_slice import AGAIN, OCCURRENCES, SLICE, Form, PackedSlice, part_name
from tokbench.pretraining.phases import FOLDERS, PHASES

READ_BYTES = 1 << 20


def is_slice(path: Path | str) -> bool:
    """Whether this is a folder with a packed slice."""
    return (Path(path) / SLICE).is_file()


def join(folders: Sequence[Path], form: Form, folder: Path, counts: Path | None = None) -> tuple[Packing, ...]:
    """Put the slices of a text together, whole or not at all; what is known of the sequences of each phase.

    MDS shards that lie in one slice get a second name, or are copied where they cannot have one; those across two are
    written here. All are read once, and held against their checksums.

    Args:
        folders: what :func:`tokbench.pretraining.pack_slice.pack_slice` made of every slice, in any order.
        form: what its documents were made into.
        folder: gets what :func:`tokbench.pretraining.pack.pack` writes, or
            :func:`tokbench.pretraining.phases.pack_phases`.
        counts: Parquet file for how often each id stands in the sequences.

    Raises:
        TokbenchError: a slice is missing, was altered, or is one of other sequences.
    """
    by_number = {PackedSlice.of(each, form).number: each for each in folders}
    if sorted(by_number) != list(range(form.slices.number)):
        missing = next(number for number in range(form.slices.number) if number not in by_number)
        raise TokbenchError(f"slice {missing} of {form.slices.number} is in none of the folders; {AGAIN}")
    occurrences = np.zeros(form.vocabulary + 1, np.int64)
    for each in folders:
        reject_altered(each / OCCURRENCES, AGAIN)
        occurrences += read_occurrences(each / OCCURRENCES, form.vocabulary)
    phases: list[list[Path]] = [[by_number[number] for number in phase] for phase in form.slices.by_phase()]
    with atomic_folder(folder, "packed sequences") as partial:
        if (second := form.slices.second_phase) is None:
            packed = [_phase(phases[0], form, 0, partial, occurrences)]
        else:
            packed = []
            for number, (name, own) in enumerate(zip(FOLDERS, phases, strict=True)):
                with atomic_folder(partial / name, "packed sequences") as place:
                    packed.append(_phase(own, form, number, place, occurrences))
            (partial / PHASES).write_text(json.dumps({"second_phase": second}) + "\n", encoding="utf-8")
        if counts is not None:
            write_occurrences(occurrences, counts)
    return tuple(packed)


def _phase(folders: Sequence[Path], form: Form, number: int, target: Path, occurrences: NDArray[np.int64]) -> Packing:
    """Put the slices of a phase together in an empty folder."""
    found = [PackedSlice.of(each, form) for each in folders]
    budget = form.budgets()[number]
    asked = Asked.of(budget, found[0].split_bytes)
    laying = Laying(asked, form.vocabulary, form.end_of_text, occurrences)
    for each in found:
        laying.seen.add(each.read)
        laying.in_rest.add(each.in_rest)
    digest = _shards(folders, form, laying.seen.tokens, target)
    packing = described(
        laying,
        sequence_length=form.sequence_length,
        seed=form.slices.seed,
        split_bytes=found[0].split_bytes,
        budget=budget,
        digest=digest,
    )
    packing.write(target)
    return packing


def _shards(folders: Sequence[Path], form: Form, tokens: int, target: Path) -> str:
    """Bring all shards of a phase into a folder; the digest of their ids."""
    shards = Shards(form.sequence_length)
    padding = padding_after(tokens, form.sequence_length, form.vocabulary)
    total = tokens + len(padding)
    there = defaultdict[str, list[Path]](list)
    for each in folders:
        for path in each.iterdir():
            there[path.name].append(path)
    digest = hashlib.blake2b(digest_size=16)
    for number, first in enumerate(range(0, total, shards.ids)):
        size = min(shards.ids, total - first)
        if whole := there[shards.name(number)]:
            link_or_copy(whole[0], target / shards.name(number))
            found = _add_whole(whole[0], shards, digest)
        else:
            held = [np.empty(0, np.int32), *map(_part, there[part_name(number)])]
            ids = np.concatenate([*held, padding] if first + size == total else held)
            shards.write(target, number, ids)
            digest.update(ids.data)
            found = len(ids)
        if found != size:
            raise TokbenchError(f"{folders[0].parent}: {found:,} of the {size:,} ids of shard {number}; {AGAIN}")
    shards.write_index(target, total // form.sequence_length)
    return digest.hexdigest()


def _add_whole(path: Path, shards: Shards, digest: hashlib.blake2b) -> int:
    """Add the ids of a shard that is full to a digest; how many they are."""
    reject_altered(path, AGAIN)
    size = 0
    with path.open("rb") as file:
        file.seek(shards.first(shards.ids // shards.sequence_length))
        while piece := file.read(READ_BYTES):
            digest.update(piece)
            size += len(piece)
    return size // 4


def _part(path: Path) -> NDArray[np.int32]:
    """What a slice has of a shard."""
    reject_altered(path, AGAIN)
    try:
        return read_array(path, np.int32)
    except ValueError as error:
        raise TokbenchError(f"{path}: not part of a shard ({error}); {AGAIN}") from None
