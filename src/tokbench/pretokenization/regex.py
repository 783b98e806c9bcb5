"""Any regular expression, in the syntax of the ``regex`` package.

Whatever the pattern does not match is a pre-token, too, so that nothing of a text is lost.

Reference: ``boundaries`` in :mod:`tokbench.reference.segmentation`.
"""

from pydantic import Field, field_validator

from tokbench.options import Options
from tokbench.pretokenization import Cut, pretokenization


class RegexOptions(Options):
    pattern: str = Field(min_length=1)
    """Regular expression in the syntax of the ``regex`` package. Each match is a pre-token, and what lies between two;
    a match has a character or more. A byte that is not valid UTF-8 is a character, the lone surrogate that Python puts
    in its place, which is neither letter, number nor blank."""

    @field_validator("pattern")
    @classmethod
    def _cuts(cls, pattern: str) -> str:
        from tokbench.pretokenization.patterns.cut import compiled

        compiled(pattern)
        return pattern


@pretokenization("regex", options=RegexOptions, cites=())
def regex(options: RegexOptions) -> Cut:
    """A regular expression of your own: its matches, and what lies between them."""
    from tokbench.pretokenization.patterns.cut import cut_by_patterns

    return cut_by_patterns(options.pattern)
