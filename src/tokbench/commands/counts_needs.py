"""What a stage takes that holds a file of counts, told before it reads it."""

import numpy as np

from tokbench.counting.languages import has_languages
from tokbench.needs import Profile, of_languages, require
from tokbench.pretoken_files import read_parts


def check_stage(
    stage: str, path: str, megabytes: int | None, *, longest: int | None = None, max_pretoken_bytes: int | None = None
) -> None:
    """End where a stage would take more memory than allowed, before anything of the counts is held.

    Args:
        stage: its name.
        path: the file of counts.
        megabytes: what is allowed; anything where it is None.
        longest: bytes of the longest substring that is looked at; no limit when None.
        max_pretoken_bytes: longest pre-token that the stage keeps; no limit when None.

    Raises:
        TokbenchError: it needs more, or the file holds no counts.
    """
    if megabytes is not None:
        _, parts = read_parts(path)
        batches = ((np.diff(offsets), counts) for _, (_, offsets, counts) in parts)
        profile = Profile.of(batches, 1, longest, max_pretoken_bytes)
        require([of_languages(stage, has_languages(path))], profile, 1, megabytes, whole=True)
