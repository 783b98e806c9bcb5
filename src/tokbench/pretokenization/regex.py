"""Pre-tokenization by any regular expression in the syntax of the ``regex`` package.

Text between two matches is a pre-token, too, so that no text is lost.

Reference: ``boundaries`` in :mod:`tokbench.reference.segmentation`.
"""

from pydantic import Field, field_validator

from tokbench.options import Options
from tokbench.pretokenization import Cut, pretokenization


class RegexOptions(Options):
    pattern: str = Field(min_length=1)
    """Regular expression in the syntax of the ``regex`` package. Each match is a pre-token, and so is the text between
    two matches. A match must not be empty. A byte that is not valid UTF-8 is one character: the lone surrogate by which
    Python decodes it, which is neither letter, number nor whitespace."""

    @field_validator("pattern")
    @classmethod
    def _cuts(cls, pattern: str) -> str:
        from tokbench.pretokenization.patterns.cut import compile_pattern

        compile_pattern(pattern)
        return pattern


@pretokenization("regex", options=RegexOptions, cites=())
def regex(options: RegexOptions) -> Cut:
    """A user-defined regular expression: its matches, and the text between them."""
    from tokbench.pretokenization.patterns.cut import cut_by_patterns

    return cut_by_patterns(options.pattern)
