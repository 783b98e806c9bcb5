"""The SIGMORPHON 2022 shared task on morpheme segmentation (Batsuren et al. 2022), words.

``eng.word.dev.tsv``: ``word<TAB>m @@m @@m<TAB>code``. The morphemes are canonical, so that many words are not spelt by
theirs. The test set without its answers (``eng.word.test.tsv``) has one field a line and is rejected.
"""

from collections.abc import Iterator
from pathlib import Path

from tokbench.intrinsic.gold import SegmentedWord
from tokbench.intrinsic.rows import fields, language_tag
from tokbench.resource import ResourceOptions, resource


@resource("sigmorphon2022", gold="segmentations", files="*.word.*.tsv*", cites=("batsuren2022",))
def sigmorphon2022(path: Path, language: str, options: ResourceOptions) -> Iterator[SegmentedWord]:
    """Words with their canonical morphemes."""
    tag = language or language_tag(path, ".")
    for _, (word, morphemes, *_) in fields(path, 2, "word<TAB>m @@m<TAB>code"):
        yield SegmentedWord(tag, word, morphemes.replace(" @@", "\0").split("\0"))
