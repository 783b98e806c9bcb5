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
    results = (read_result(file, "count the tokens again") for file in files)
    return {
        (str(result["corpus"]), int(result["size"]), str(result["variant"])): (
            ColdSpeed(int(result["bytes"]), float(result["seconds"]), int(result["rounds"]))
            if "rounds" in result
            else None
        )
        for result in results
    }
