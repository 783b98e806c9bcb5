"""Phases of a training: the sequences of each phase, and its path through them.

A training with one phase has a folder of packed sequences. A training with two phases has a folder for each, and a file
with the share of documents in the second. The second phase reads other documents than the first (GreedTok, section
5.2).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.io.identity import Maker, require_same
from tokbench.io.json import read_json
from tokbench.models.pretraining import budget
from tokbench.models.pretraining.budget import PACKING, Course, Packing, TextRead, course, reading
from tokbench.models.pretraining.mds import read_mds
from tokbench.models.pretraining.options import ModelOptions
from tokbench.models.pretraining.pack import FOLDERS, PHASES, check_sequences
from tokbench.tokenizer import Tokenizer

AGAIN = "pack again"


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of a training.

    Attributes:
        folder: its packed sequences.
        packing: their description.
        course: its path through them.
    """

    folder: Path
    packing: Packing
    course: Course

    def check(self) -> None:
        """Compare the sequences with their digest.

        Raises:
            TokbenchError: they were changed after writing.
        """
        check_sequences(self.folder, self.packing)

    def read(self, lengths: NDArray[np.int64] | None) -> TextRead:
        """Return the amount of text that a training reads in the phase.

        Args:
            lengths: int64 [vocabulary], bytes of each token; None if unknown.
        """
        return reading(self.packing, self.course, read_mds(self.folder), lengths)


def read_phases(options: ModelOptions, packed: Path) -> tuple[Phase, ...]:
    """Return the phases of a recipe.

    Raises:
        TokbenchError: the folder does not contain the sequences of the recipe. The message says why.
    """
    folders = [packed / name for name in FOLDERS]
    if options.second_phase is None:
        if not (packed / PACKING).exists() and (packed / PHASES).exists():
            raise TokbenchError(f"{packed}: packed for two phases, and the model has one; {AGAIN}")
        folders = [packed]
    elif (share := read_json(packed / PHASES, AGAIN).get("second_phase")) != options.second_phase:
        raise TokbenchError(
            f"{packed}: packed for a second phase of {share}, and the model has one of {options.second_phase}; {AGAIN}"
        )
    packings = [Packing.read(folder) for folder in folders]
    for folder, packing in zip(folders, packings, strict=True):
        if packing.sequence_length != options.max_seq_len:
            raise TokbenchError(
                f"max_seq_len: {options.max_seq_len}, but {folder} contains sequences of {packing.sequence_length}; "
                "pack them again or change max_seq_len"
            )
    recipes = budget.by_phase(options)
    return tuple(
        Phase(folder, packing, course(recipe, packing))
        for folder, packing, recipe in zip(folders, packings, recipes, strict=True)
    )


def require_tokenizer(options: ModelOptions, packed: Path, folder: Path) -> None:
    """Check that the packed sequences of a recipe have the ids of a tokenizer.

    Raises:
        TokbenchError: they are those of another tokenizer, or the folder does not contain a tokenizer.
    """
    maker = Maker(Tokenizer.load(folder).digest, folder)
    for phase in read_phases(options, packed):
        makers = {"tokenizer": phase.packing.tokenizer}
        require_same(phase.folder, makers, "tokenizer", maker, "name the tokenizer that packed them, or pack again")


def describe_phases(phases: Sequence[Phase]) -> dict[str, Any]:
    """Return the descriptions of a training's sequences for records; for two phases, by name."""
    packings = [asdict(phase.packing) for phase in phases]
    return packings[0] if len(packings) == 1 else dict(zip(FOLDERS, packings, strict=True))


def total_text(phases: Sequence[Phase], lengths: NDArray[np.int64] | None) -> dict[str, Any]:
    """Return the amount of text that a training reads for records: in total and, with two phases, in each."""
    texts_read = [phase.read(lengths) for phase in phases]
    if len(texts_read) == 1:
        return asdict(texts_read[0])
    known = all(text.text_bytes is not None for text in texts_read)
    total = TextRead(
        documents=sum(text.documents for text in texts_read),
        text_bytes=sum(text.text_bytes or 0 for text in texts_read) if known else None,
        tokens=sum(text.tokens for text in texts_read),
        sequences=sum(text.sequences for text in texts_read),
        batches=sum(text.batches for text in texts_read),
        flops=sum(text.flops for text in texts_read),
    )
    return asdict(total) | {name: asdict(text) for name, text in zip(FOLDERS, texts_read, strict=True)}
