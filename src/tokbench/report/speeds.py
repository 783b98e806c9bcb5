"""How fast tokenizers encode, as jobs of the run have timed it."""

from collections.abc import Iterable

from tokbench.result_files import read_result

MEGABYTE = 1e6


def read_speeds(files: Iterable[str]) -> dict[tuple[str, int, str], float]:
    """MB of text a second, by corpus, size and variant.

    Args:
        files: what ``tokbench count_tokens --speed`` wrote; one without a time is passed over.

    Raises:
        TokbenchError: a file cannot be read.
    """
    found = (read_result(file, "count the tokens again") for file in files)
    return {
        (str(one["corpus"]), int(one["size"]), str(one["variant"])): one["bytes"] / one["seconds"] / MEGABYTE
        for one in found
        if "seconds" in one
    }
