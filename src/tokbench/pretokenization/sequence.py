"""Several pre-tokenizations applied in turn, as in ``Sequence`` of the ``tokenizers`` library.

Each step splits every pre-token of the step before as if it were a complete text. One pattern with alternatives would
differ: a step sees nothing outside its piece.

Reference: ``boundaries`` in :mod:`tokbench.reference.segmentation`.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, pairwise, takewhile
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PlainValidator, WithJsonSchema

from tokbench.errors import TokbenchError
from tokbench.options import Options
from tokbench.pretokenization import Boundaries, Cut, Pretokenization, pretokenization, pretokenization_of


def _step(setting: Any) -> Any:
    """Validate a step and return it with all its options."""
    try:
        scheme = pretokenization_of(setting, "step")
    except TokbenchError as error:
        raise ValueError(str(error)) from None
    if scheme.method.name == "sequence":
        raise ValueError("is a sequence within a sequence; put its steps here")
    return scheme.setting


FORMS = {"anyOf": [{"type": "string"}, {"type": "object"}]}
Step = Annotated[str | dict[str, Any], PlainValidator(_step), WithJsonSchema(FORMS)]


class SequenceOptions(Options):
    steps: tuple[Step, ...] = Field(min_length=1)
    """Pre-tokenizations, each a name or a mapping with ``method`` and options; each splits every pre-token of the one
    before."""


@pretokenization("sequence", options=SequenceOptions, cites=())
def sequence(options: SequenceOptions) -> Cut:
    """Several pre-tokenizations in turn, each applied to every pre-token of the one before."""
    steps = [pretokenization_of(setting, "step") for setting in options.steps]
    splits = [step.splits for step in steps]
    known = None if None in splits else tuple(chain.from_iterable(split for split in splits if split))
    modules = tuple(chain.from_iterable(step.modules for step in steps))
    return replace(_cut(steps, known), modules=modules)


def _cut(steps: list[Pretokenization], splits: tuple[str, ...] | None) -> Cut:
    """Return one scanner for all steps if possible, else a scanner for the first steps and functions."""
    from tokbench.pretokenization.patterns.cut import cut_by_scanner

    compiled = list(takewhile(lambda step: step.scanner is not None and step.splits is not None, steps))
    first, done = None, 0
    for count in range(len(compiled), 0, -1):
        patterns = tuple(chain.from_iterable(step.splits or () for step in compiled[:count]))
        scanned = compiled[0].cut if count == 1 else cut_by_scanner(*patterns) if patterns else None
        if scanned is not None and count == len(steps):
            return replace(scanned, splits=splits)
        if scanned is not None:
            first, done = scanned.boundaries, len(patterns)
            break
    if any(step.scanner is None and step.cut.characters is None for step in steps):
        return Cut(boundaries=_in_sequence([step.boundaries for step in steps]), splits=splits)
    from tokbench.pretokenization.patterns.cut import cut_by_functions, regex_cut

    characters = (
        map(regex_cut, step.splits or ()) if step.cut.characters is None else step.cut.characters for step in steps
    )
    return cut_by_functions(*chain.from_iterable(characters), splits=splits, first=first, done=done)


def _in_sequence(steps: Sequence[Boundaries]) -> Boundaries:
    def boundaries(text: bytes) -> NDArray[np.int64]:
        bounds = np.array([0, len(text)] if text else [0], np.int64)
        for cut in steps:
            inner = [cut(text[start:end])[1:] + start for start, end in pairwise(bounds.tolist())]
            bounds = np.concatenate([np.zeros(1, np.int64), *inner])
        return bounds

    return boundaries
