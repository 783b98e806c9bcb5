"""Cold encoding speeds of tokenizers, as jobs of the run measured them."""

from collections.abc import Iterable

from tokbench.intrinsic.encoding_speed import ColdSpeed
from tokbench.io.json import read_result


def read_speeds(files: Iterable[str]) -> dict[tuple[str, int, str], ColdSpeed | None]:
    """Return speeds by corpus, size and variant; None if the text is too short.

    Args:
        files: written by ``tokbench count_tokens --speed``.

    Raises:
        TokbenchError: a file cannot be read.
    """
    found = (read_result(file, "count the tokens again") for file in files)
    return {
        (str(one["corpus"]), int(one["size"]), str(one["variant"])): (
            ColdSpeed(int(one["bytes"]), float(one["seconds"]), int(one["rounds"])) if "rounds" in one else None
        )
        for one in found
    }
