"""A bound of what a process keeps in memory, Python and its libraries included."""

from tokbench.allowance import resident, to_allow
from tokbench.errors import TokbenchError

MEGABYTE = 1_000_000
"""As in Snakemake's ``mem_mb``."""
MARGIN = 40 * MEGABYTE
"""Left free for what comes and goes between two looks: a batch that is being read, a page that is being compressed."""
LEAST = 48 * MEGABYTE
"""Room without which counting does not begin: the buffers of a merge, and a table that is worth being written."""


class Bound:
    """A bound of resident memory.

    Args:
        megabytes: of 1,000,000 bytes.
    """

    def __init__(self, megabytes: int) -> None:
        self.megabytes = megabytes
        self._outside = 0

    def room(self, held: int) -> int:
        """Bytes that tables and buffers may take in all.

        What the rest of the process takes is the most that has been seen of it, so room only shrinks.

        Args:
            held: bytes that they take now.
        """
        self._outside = max(self._outside, resident() - held)
        return self.megabytes * MEGABYTE - MARGIN - self._outside

    def require(self, size: int, what: str, held: int = 0) -> None:
        """See that there is room.

        Args:
            size: bytes wanted.
            what: what they are for: ``to count``.
            held: bytes of them that are taken now.

        Raises:
            TokbenchError: there is not; the message says what would do.
        """
        lacking = size - self.room(held)
        if lacking > 0:
            needed = to_allow(self.megabytes * MEGABYTE + lacking)
            raise TokbenchError(f"--memory {self.megabytes}: too little {what}; allow {needed} MB or more")
