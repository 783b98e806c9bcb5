"""SentencePiece's way with spaces: every space begins a pre-token, which goes on to the next space.

SentencePiece (Kudo and Richardson, 2018) and ``Metaspace`` of the ``tokenizers`` library write U+2581 for a space and
cut before it. Here the space stays the byte 0x20, so U+2581 in a text is a character like any other; and no space is
put before a text, removed or joined with others: its bytes come back as they were. Line feeds and tabs are no spaces,
as there, where they are not made spaces before.

Reference: ``boundaries`` in :mod:`tokbench.reference.segmentation`.
"""

from tokbench.options import Options
from tokbench.pretokenization import Cut, pretokenization

PATTERN = " [^ ]*|[^ ]+"


@pretokenization("metaspace", pattern=PATTERN, options=Options, cites=("kudo2018sentencepiece",))
def metaspace(options: Options) -> Cut:
    """SentencePiece: every space begins a pre-token that goes on to the next space; no space is put before a text."""
    from tokbench.pretokenization.patterns.cut import cut_by_patterns

    return cut_by_patterns(PATTERN)
