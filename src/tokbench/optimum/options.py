"""What is asked of the search for bounds in an experiment."""

from pydantic import Field

from tokbench.optimum import MAX_PRETOKEN_BYTES
from tokbench.options import Options


class BoundsOptions(Options):
    """Bounds on the tokens of any vocabulary, over which the metric ``gap`` is taken.

    Any number of steps proves a bound. Where it has not settled by then, the table of bounds says by how much.
    """

    max_pretoken_bytes: int = Field(MAX_PRETOKEN_BYTES, ge=1)
    """Longest pre-token that takes part, in bytes. Memory and time grow with the square of the longest one. Longer
    pre-tokens are left out of the bound and of the tokens that are compared with it; the table ``bounds`` has their
    number and share."""
    steps: int = Field(400, ge=1)
    """Most steps of the search for a bound, and as many again for each language of a text in several; 2 MB in 22
    languages take 0.4 s a step. More prove a nearer bound where the search has not settled (``unsettled`` of the table
    ``bounds``)."""
