"""What is asked of the search for bounds in an experiment."""

from pydantic import Field

from tokbench.options import Options


class BoundsOptions(Options):
    """Bounds on the tokens of any vocabulary, over which the metric ``gap`` is taken.

    Any number of steps proves a bound. Where it has not settled by then, the table of bounds says by how much.
    """

    steps: int = Field(400, ge=1)
    """Most steps of the search for a bound, and as many again for each language of a text in several; 2 MB in 22
    languages take 0.4 s a step. More prove a nearer bound where the search has not settled (``unsettled`` of the table
    ``bounds``)."""
