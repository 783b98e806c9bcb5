"""SentencePiece's treatment of spaces: every space begins a pre-token, which ends before the next space.

SentencePiece (Kudo and Richardson, 2018) and ``Metaspace`` of the ``tokenizers`` library write U+2581 for a space and
split before it. Here a space stays the byte 0x20, so U+2581 in a text is an ordinary character. No space is added
before a text, removed or merged with others, so the bytes of the text do not change. Line feeds and tabs are not
spaces. The same is true of the two libraries unless they normalise these to spaces first.

Reference: ``boundaries`` in :mod:`tokbench.reference.segmentation`.
"""

from tokbench.pretokenization import Cut, pretokenization

PATTERN = " [^ ]*|[^ ]+"


@pretokenization("metaspace", pattern=PATTERN, chosen=True, cites=("kudo2018sentencepiece",))
def metaspace(options: object) -> Cut:
    """SentencePiece: every space begins a pre-token, which ends before the next space; none is added to a text."""
    from tokbench.pretokenization.patterns.cut import cut_by_patterns

    return cut_by_patterns(PATTERN)
