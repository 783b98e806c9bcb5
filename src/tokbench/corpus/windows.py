"""The memory that decompression needs: some compressed files make a reader keep many megabytes of earlier text."""

from collections.abc import Sequence
from dataclasses import replace

from tokbench.allowance import LEAST, Allowance, to_allow
from tokbench.corpus.sources import FileSource, JsonLinesSource, Source, TextSource, tagged_files
from tokbench.errors import TokbenchError
from tokbench.inputs.compression import HEAD, LARGEST_WINDOW, USUAL_WINDOW, compression_of, window_of

LINE_READERS = 2
"""Times that a file of JSON Lines is open at once: the second reader follows for long strings."""


def check_windows(sources: Sequence[Source], room: int, megabytes: int) -> int:
    """Return the bytes that decompression keeps at most, beyond what the general reserve covers.

    Args:
        sources: sources whose files are read one after another.
        room: bytes that are free.
        megabytes: memory that is allowed in all, for messages.

    Raises:
        TokbenchError: a file needs more than is allowed.
    """
    most = 0
    for source in sources:
        if not isinstance(source, TextSource | JsonLinesSource):
            continue
        for _, path in tagged_files(source):
            with path.open("rb") as file:
                head = file.read(HEAD)
            compression = compression_of(head)
            window = window_of(head, compression)
            if not USUAL_WINDOW < window <= LARGEST_WINDOW:  # A larger one is rejected when the file is opened.
                continue
            held = window * (LINE_READERS if isinstance(source, JsonLinesSource) else 1)
            if held + LEAST > room:
                needed = to_allow(megabytes * 1_000_000 - room + held + LEAST)
                raise TokbenchError(
                    f"{path}: {compression} with a window of {window:,} bytes needs about {needed:,} MB of memory, and "
                    f"{megabytes:,} are allowed; allow more (--memory), or compress it with a smaller window"
                )
            most = max(most, held)
    return most


def without_windows(allowed: Allowance, source: Source) -> Allowance:
    """Return an allowance without the memory that decompression needs.

    Raises:
        TokbenchError: see :func:`check_windows`.
    """
    if not isinstance(source, FileSource):
        return allowed
    return replace(allowed, room=allowed.room - check_windows([source], allowed.room, allowed.megabytes))
