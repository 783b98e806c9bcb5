"""A slice of the order packed by itself.

A slice knows from what the files of tokens say how many ids stand before its own. So it writes whole MDS shards where
they fall; what it has of the shards at its two ends waits for its neighbours in files of its own, see
:mod:`tokbench.pretraining.join`.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from tokbench.atomic import atomic_folder
from tokbench.errors import TokbenchError
from tokbench.inputs.json import read_json
from tokbench.occurrences import write_occurrences
from tokbench.pretraining.budget import TextBudget
from tokbench.pretraining.laying import Asked, Laying, Read
from tokbench.pretraining.mds import Shards, by_shard
from tokbench.pretraining.order import Slices, in_order, require_text
from tokbench.pretraining.sliced import Contents, read_contents, read_slice

SLICE = "slice.json"
OCCURRENCES = "occurrences.parquet"
AGAIN = "make it with 'tokbench pack_slice'"


@dataclass(frozen=True, slots=True)
class Form:
    """What documents are made into; the same for all slices of a text.

    Attributes:
        slices: the order of the documents, and how it is cut.
        sequence_length: ids in a sequence.
        vocabulary: tokens of the tokenizer, special ones not counted.
        end_of_text: id that ends every document.
        budget: text that a training reads, in all its phases; as often as it takes where it is None.
    """

    slices: Slices
    sequence_length: int
    vocabulary: int
    end_of_text: int
    budget: TextBudget | None = None

    def budgets(self) -> Sequence[TextBudget | None]:
        """The budget of each phase."""
        second = self.slices.second_phase
        if second is None:
            return (self.budget,)
        return self.budget.by_phase(second) if self.budget else (None, None)

    def described(self) -> dict[str, object]:
        """As JSON takes it."""
        return asdict(self) | {"budget": str(self.budget or "")}


@dataclass(frozen=True, slots=True)
class PackedSlice:
    """What a folder with a packed slice holds.

    Attributes:
        number: the slice's, from 0.
        split_bytes: bytes of all documents of its phase.
        read: its documents, as far as they are written.
        in_rest: all of its phase up to the end of a last pass that is not whole, where that is in this slice; else
            nothing.
    """

    number: int
    split_bytes: int
    read: Read
    in_rest: Read

    @classmethod
    def of(cls, folder: Path, form: Form) -> "PackedSlice":
        """Read the description of a folder.

        Raises:
            TokbenchError: there is none, or the slice is one of other sequences.
        """
        described = read_json(folder / SLICE, AGAIN)
        try:
            number, size = int(described["number"]), int(described["split_bytes"])
            found, read, rest = described["form"], Read(**described["read"]), Read(**described["in_rest"])
        except (KeyError, TypeError, ValueError):
            raise TokbenchError(f"{folder / SLICE}: not a packed slice; {AGAIN}") from None
        if found != form.described():
            raise TokbenchError(f"{folder}: a slice of {found}, where {form.described()} is packed; {AGAIN}")
        return cls(number, size, read, rest)


def part_name(shard: int) -> str:
    """The file with what a slice has of an MDS shard that is not all its own."""
    return f"part.{shard:05}.npy"


def pack_slice(tokens: Path, number: int, form: Form, folder: Path) -> PackedSlice:
    """Pack the documents of a slice, whole or not at all; their ids wait in a temporary file, four bytes each.

    Args:
        tokens: folder that :func:`tokbench.pretraining.sliced.gather` filled.
        number: the slice's, from 0.
        form: what its documents are made into.
        folder: gets the MDS shards that are its own, numbered as those of the whole text; its part of others as int32
            [n]; how often each id stands in them, and ``slice.json``.

    Raises:
        TokbenchError: the tokens are cut otherwise or there is no such slice, a phase has no text, or a document holds
            an id that is no token.
    """
    contents = read_contents(tokens)
    if contents.slices != form.slices:
        raise TokbenchError(f"{tokens}: {contents.slices}, not {form.slices}; encode the shards again")
    if number >= form.slices.number:
        raise TokbenchError(f"slice {number}: {tokens} has {form.slices.number}, from 0")
    asked, size, before = _place(contents, number, form)
    counted = np.zeros(form.vocabulary + 1, np.int64)
    laying = Laying(asked, form.vocabulary, form.end_of_text, counted, seen=before)
    first = Read(**asdict(before))
    shards = Shards(form.sequence_length)
    with atomic_folder(folder, "slice") as partial:
        if not laying.ended:
            pieces = in_order(read_slice(tokens, number), form.slices.seed, folder.parent).pieces
            for shard, ids in by_shard(laying.ids(pieces), shards.ids, first.tokens):
                if len(ids) == shards.ids:
                    shards.write(partial, shard, ids)
                else:
                    np.save(partial / part_name(shard), ids)
        packed = PackedSlice(number, size, laying.seen.less(first), laying.in_rest)
        write_occurrences(counted, partial / OCCURRENCES)
        described = asdict(packed) | {"form": form.described()}
        (partial / SLICE).write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")
    return packed


def _place(contents: Contents, number: int, form: Form) -> tuple[Asked, int, Read]:
    """What is asked of a slice's phase, the bytes of the phase, and what of it lies before the slice."""
    phases = form.slices.by_phase()
    sizes = [sum(contents.read[each].text_bytes for each in slices) for slices in phases]
    if form.slices.second_phase is not None:
        require_text(sizes[0], sizes[1], form.slices.seed, form.slices.second_phase)
    phase = next(phase for phase, slices in enumerate(phases) if number in slices)
    before = Read()
    for each in range(phases[phase].start, number):
        before.add(contents.read[each])
    return Asked.of(form.budgets()[phase], sizes[phase]), sizes[phase], before
