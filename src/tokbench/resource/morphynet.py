"""MorphyNet (Batsuren, Bella and Giunchiglia 2021): inflection and derivation in many languages.

``eng.inflectional.v1.tsv``: lemma, form, features, and the form's parts with ``|`` between them (``-`` where they are
not known). ``eng.derivational.v1.tsv``: source, target, their parts of speech, affix, and ``prefix`` or ``suffix``.
The two are told apart by their fields. The language is the file's name up to the first dot.
"""

from collections.abc import Iterator
from pathlib import Path

from tokbench.errors import TokbenchError
from tokbench.intrinsic.gold import SegmentedWord
from tokbench.intrinsic.rows import fields, language_tag
from tokbench.resource import ResourceOptions, resource

AFFIXES = ("prefix", "suffix")


@resource("morphynet", gold="segmentations", files="*.v1.tsv*", cites=("batsuren2021",))
def morphynet(path: Path, language: str, options: ResourceOptions) -> Iterator[SegmentedWord]:
    """Inflected forms with their parts; derived words with their source and its affix."""
    tag = language or language_tag(path, ".")
    for number, row in fields(path, 4, "lemma<TAB>form<TAB>features<TAB>parts"):
        if len(row) < 6:
            yield SegmentedWord(tag, row[1], row[3].split("|") if row[3] != "-" else ())
            continue
        source, target, _, _, affix, kind = (field.strip() for field in row[:6])
        if kind not in AFFIXES:
            raise TokbenchError(f"{path}:{number}: {kind[:60]!r} is neither prefix nor suffix; mend the line")
        bare = affix.strip("-")
        yield SegmentedWord(tag, target, (bare, source) if kind == "prefix" else (source, bare))
