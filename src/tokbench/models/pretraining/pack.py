"""Packing: tokens of a corpus split into sequences and written as MDS shards for llm-foundry.

The order of the documents is divided into slices. A slice writes the MDS shards that are completely inside it. Its
parts of the shards at its two ends are written as arrays, and these shards are completed when all slices are joined. A
text packed by one job is one slice per phase. The files do not depend on the number of slices.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.io.arrays import read_array
from tokbench.io.atomic import atomic_folder, link_or_copy, reject_altered
from tokbench.io.identity import Maker, require_same
from tokbench.io.json import read_json
from tokbench.models.pretraining.budget import Packing, TextBudget
from tokbench.models.pretraining.document_stream import DocumentStream, TextLimit, TextTotals
from tokbench.models.pretraining.mds import ShardLayout, by_shard, read_mds
from tokbench.models.pretraining.order import OrderedDocuments, Slices, by_phase
from tokbench.models.training import read_occurrences, write_occurrences

FOLDERS = ("first", "second")
"""Folders of the phases if there are two."""
PHASES = "phases.json"
"""File with the share of the documents in the second phase."""
SLICE = "slice.json"
OCCURRENCES = "occurrences.parquet"
AGAIN = "make it with 'tokbench pack_slice'"
READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class SliceForm:
    """Options of packing, equal for all slices of a text.

    Attributes:
        slices: the order of the documents, and its division.
        sequence_length: ids per sequence.
        vocabulary: tokens of the tokenizer, without special ones.
        end_of_text: id at the end of every document.
        tokenizer: the tokenizer.
        budget: text that a training reads in all its phases. Default: None, all text any number of times.
    """

    slices: Slices
    sequence_length: int
    vocabulary: int
    end_of_text: int
    tokenizer: Maker
    budget: TextBudget | None = None

    def budgets(self) -> Sequence[TextBudget | None]:
        """Return the budget of each phase."""
        second = self.slices.second_phase
        if second is None:
            return (self.budget,)
        return self.budget.by_phase(second) if self.budget else (None, None)

    def describe(self) -> dict[str, object]:
        """Return the options as JSON values."""
        return asdict(self) | {"tokenizer": self.tokenizer.digest, "budget": str(self.budget or "")}


@dataclass(frozen=True, slots=True)
class PackedSlice:
    """Description of a folder with a packed slice.

    Attributes:
        number: number of the slice, from 0.
        split_bytes: bytes of all documents of its phase.
        read: totals of its documents, as far as they are written.
        in_rest: totals of its phase up to the end of an incomplete last pass, if that end is in this slice; else zero.
    """

    number: int
    split_bytes: int
    read: TextTotals
    in_rest: TextTotals

    @classmethod
    def of(cls, folder: Path, form: SliceForm) -> "PackedSlice":
        """Read the description of a folder.

        Raises:
            TokbenchError: there is none, or the slice is part of other sequences.
        """
        description = read_json(folder / SLICE, AGAIN)
        try:
            number, size = int(description["number"]), int(description["split_bytes"])
            options = description["form"]
            read, rest = TextTotals(**description["read"]), TextTotals(**description["in_rest"])
        except (KeyError, TypeError, ValueError):
            raise TokbenchError(f"{folder / SLICE}: not a packed slice; {AGAIN}") from None
        require_same(folder, options if isinstance(options, dict) else {}, "tokenizer", form.tokenizer, AGAIN)
        if options != form.describe():
            raise TokbenchError(f"{folder}: a slice of {options}, where {form.describe()} is packed; {AGAIN}")
        return cls(number, size, read, rest)


def is_slice(path: Path | str) -> bool:
    """Return True if the path is a folder with a packed slice."""
    return (Path(path) / SLICE).is_file()


def pack(text: OrderedDocuments, form: SliceForm, folder: Path, counts: Path | None = None) -> tuple[Packing, ...]:
    """Pack a text as one slice per phase: concatenate documents, split them into sequences, write these atomically.

    Every document is followed by the end-of-text id. Sequences run across documents. The last one is filled with the
    padding id, ``form.vocabulary + 1``. A budget ends with the document that reaches it, and the rest of a larger split
    is not written. Equal text gives byte-identical files.

    Args:
        text: the documents' tokens, in the order of the seed.
        form: options of packing, with one slice per phase.
        folder: output folder of MDS shards with one column, ``tokens`` (int32 [sequence_length]), and ``packing.json``;
            with two phases, one such folder per phase, and ``phases.json``.
        counts: output Parquet file of the occurrences of each id in the sequences, see :mod:`tokbench.models.training`.
            Default: None.

    Returns:
        Description of each phase's sequences.

    Raises:
        TokbenchError: a phase has no text, or an id of a document is not a token.
    """
    with (
        atomic_folder(folder, "packed sequences") as partial,
        TemporaryDirectory(dir=partial, prefix=".slices-") as name,
    ):
        slices = {}
        for number, (phase, budget) in enumerate(zip(by_phase(text, form.slices), form.budgets(), strict=True)):
            (place := Path(name, str(number))).mkdir()
            limit = TextLimit.of(budget, phase.text_bytes)
            slices[place] = write_slice(phase, number, limit, TextTotals(), form, place)
        return _join(slices, form, partial, counts)


def write_slice(
    text: OrderedDocuments, number: int, limit: TextLimit, before: TextTotals, form: SliceForm, folder: Path
) -> PackedSlice:
    """Write the sequences of a slice into an empty folder.

    Args:
        text: the slice's documents in order, with the bytes of its phase.
        number: number of the slice, from 0.
        limit: end of its phase.
        before: totals of the documents of its phase before it.
        form: options of packing.
        folder: output folder of the complete MDS shards, numbered as those of its phase; of its parts of other shards,
            int32 [n]; of the occurrences of each id; and of ``slice.json``.

    Raises:
        TokbenchError: an id of a document is not a token.
    """
    occurrences = np.zeros(form.vocabulary + 1, np.int64)
    totals = TextTotals(**asdict(before))
    stream = DocumentStream(limit, form.vocabulary, form.end_of_text, occurrences, totals)
    shards = ShardLayout(form.sequence_length)
    for shard, ids in by_shard(stream.ids(text.pieces), shards.ids, before.tokens):
        if len(ids) == shards.ids:
            shards.write(folder, shard, ids)
        else:
            np.save(folder / part_name(shard), ids)
    packed = PackedSlice(number, text.text_bytes, totals.minus(before), stream.remainder)
    write_occurrences(occurrences, folder / OCCURRENCES, form.tokenizer)
    description = asdict(packed) | {"form": form.describe()}
    (folder / SLICE).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")
    return packed


def part_name(shard: int) -> str:
    """Return the name of the file with a slice's part of an MDS shard that it shares with other slices."""
    return f"part.{shard:05}.npy"


def join(folders: Sequence[Path], form: SliceForm, folder: Path, counts: Path | None = None) -> tuple[Packing, ...]:
    """Join the slices of a text atomically, and describe the sequences of each phase.

    MDS shards inside one slice are linked, or copied if linking fails. Shards across two slices are written here. All
    are read once and compared with their checksums.

    Args:
        folders: folders written by :func:`write_slice`, one per slice, in any order.
        form: options of packing.
        folder: output folder, see :func:`pack`.
        counts: output Parquet file of the occurrences of each id in the sequences. Default: None.

    Raises:
        TokbenchError: a slice is missing, was changed, or is part of other sequences.
    """
    slices = {slice_folder: PackedSlice.of(slice_folder, form) for slice_folder in folders}
    missing = set(range(form.slices.number)) - {packed.number for packed in slices.values()}
    if missing:
        raise TokbenchError(f"slice {min(missing)} of {form.slices.number} is in none of the folders; {AGAIN}")
    with atomic_folder(folder, "packed sequences") as partial:
        return _join(slices, form, partial, counts)


def _join(
    slices: Mapping[Path, PackedSlice], form: SliceForm, target: Path, counts: Path | None
) -> tuple[Packing, ...]:
    folders = {packed.number: folder for folder, packed in slices.items()}
    occurrences = np.zeros(form.vocabulary + 1, np.int64)
    for slice_folder in folders.values():
        reject_altered(slice_folder / OCCURRENCES, AGAIN)
        occurrences += read_occurrences(slice_folder / OCCURRENCES, form.vocabulary, form.tokenizer)
    phases = [{folders[number]: slices[folders[number]] for number in phase} for phase in form.slices.by_phase()]
    if (second := form.slices.second_phase) is None:
        packed = [_join_phase(phases[0], form, form.budget, target)]
    else:
        packed = []
        for name, phase, budget in zip(FOLDERS, phases, form.budgets(), strict=True):
            with atomic_folder(target / name, "packed sequences") as place:
                packed.append(_join_phase(phase, form, budget, place))
        (target / PHASES).write_text(json.dumps({"second_phase": second}) + "\n", encoding="utf-8")
    if counts is not None:
        write_occurrences(occurrences, counts, form.tokenizer)
    return tuple(packed)


def _join_phase(
    slices: Mapping[Path, PackedSlice], form: SliceForm, budget: TextBudget | None, target: Path
) -> Packing:
    """Join the slices of a phase, in their order, in an empty folder."""
    totals, remainder = TextTotals(), TextTotals()
    for packed in slices.values():
        totals.add(packed.read)
        remainder.add(packed.in_rest)
    split_bytes = next(iter(slices.values())).split_bytes  # That of the phase, equal in all its slices.
    padding = np.full(-totals.tokens % form.sequence_length, form.vocabulary + 1, np.int32)
    packing = Packing(
        **asdict(totals),
        sequences=(totals.tokens + len(padding)) // form.sequence_length,
        padding=len(padding),
        sequence_length=form.sequence_length,
        vocabulary=form.vocabulary,
        end_of_text=form.end_of_text,
        tokenizer=form.tokenizer.digest,
        seed=form.slices.seed,
        split_bytes=split_bytes,
        budget=str(budget or ""),
        passes=TextLimit.of(budget, split_bytes).passes,
        **{f"rest_{name}": value for name, value in asdict(remainder).items()},
        digest=_join_shards(list(slices), form, totals.tokens, padding, target),
    )
    packing.write(target)
    return packing


def _join_shards(
    folders: Sequence[Path], form: SliceForm, tokens: int, padding: NDArray[np.int32], target: Path
) -> str:
    """Write all shards of a phase into a folder; return the digest of their ids."""
    shards = ShardLayout(form.sequence_length)
    total = tokens + len(padding)
    files = defaultdict[str, list[Path]](list)
    for slice_folder in folders:
        for path in slice_folder.iterdir():
            files[path.name].append(path)
    digest = hashlib.blake2b(digest_size=16)
    for number, first in enumerate(range(0, total, shards.ids)):
        size = min(shards.ids, total - first)
        if complete := files[shards.name(number)]:
            link_or_copy(complete[0], target / shards.name(number))
            read = _add_shard(complete[0], shards, digest)
        else:
            parts = [np.empty(0, np.int32), *map(_read_part, files[part_name(number)])]
            ids = np.concatenate([*parts, padding] if first + size == total else parts)
            shards.write(target, number, ids)
            digest.update(ids.data)
            read = len(ids)
        if read != size:
            raise TokbenchError(f"{folders[0].parent}: {read:,} of the {size:,} ids of shard {number}; {AGAIN}")
    shards.write_index(target, total // form.sequence_length)
    return digest.hexdigest()


def _add_shard(path: Path, shards: ShardLayout, digest: hashlib.blake2b) -> int:
    """Add the ids of a full shard to a digest; return their number."""
    reject_altered(path, AGAIN)
    size = 0
    with path.open("rb") as file:
        file.seek(shards.first(shards.ids // shards.sequence_length))
        while piece := file.read(READ_BYTES):
            digest.update(piece)
            size += len(piece)
    return size // 4


def _read_part(path: Path) -> NDArray[np.int32]:
    reject_altered(path, AGAIN)
    try:
        return read_array(path, np.int32)
    except ValueError as error:
        raise TokbenchError(f"{path}: not part of a shard ({error}); {AGAIN}") from None


def check_sequences(folder: Path, packing: Packing) -> None:
    """Read packed sequences and compare them with their digest.

    Raises:
        TokbenchError: they were changed after writing.
    """
    digest = hashlib.blake2b(digest_size=16)
    for ids in read_mds(folder):
        digest.update(ids.data)
    if digest.hexdigest() != packing.digest:
        raise TokbenchError(f"{folder}: not the sequences that were written; delete it, and make it again")
