"""UniMorph (Batsuren et al. 2022, and earlier releases): inflected forms.

``lemma<TAB>form<TAB>features``, and since release 4 a fourth field, the form's parts with ``|`` between them, ``-``
where they are not known. Without that field a form that begins with its lemma is cut after it.
"""

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from tokbench.intrinsic.gold import SegmentedWord
from tokbench.intrinsic.rows import fields
from tokbench.resource import ResourceOptions, resource


class UniMorphOptions(ResourceOptions):
    language: str = Field("en", min_length=1)
    """Language tag of files for which the path gives none; they do not tell it themselves."""


@resource("unimorph", gold="segmentations", files="*", options=UniMorphOptions, cites=("batsuren2022unimorph",))
def unimorph(path: Path, language: str, options: UniMorphOptions) -> Iterator[SegmentedWord]:
    """Forms with their parts, or with their lemma and its ending."""
    tag = language or options.language
    for _, (lemma, form, _, *parts) in fields(path, 3, "lemma<TAB>form<TAB>features"):
        if parts and parts[0] and parts[0] != "-":
            yield SegmentedWord(tag, form, parts[0].split("|"))
        else:
            yield SegmentedWord(tag, form, (lemma, form[len(lemma) :]) if form != lemma else (form,))
