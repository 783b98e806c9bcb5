"""Gold words that a construction reads: options, and the words of files with segmentations.

The words are split by a seeded hash, so that alignment can be measured on the other words: set ``left_out`` and
``left_out_seed`` of a resource to the same values as ``gold_share`` and ``gold_seed``.
"""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from tokbench.errors import TokbenchError, unknown
from tokbench.metric.words import boundaries
from tokbench.options import FILE_OR_FOLDER, Options, Seed
from tokbench.resource import is_drawn, resource_types


class GoldOptions(Options):
    gold: Annotated[Path | None, FILE_OR_FOLDER] = None
    """File of gold data with segmented words, or a folder of such files."""

    gold_type: str | None = None
    """Type of the gold data, as in ``resources`` (``morphynet`` and others)."""

    gold_languages: list[str] | None = None
    """Read only words with these language tags. Default: all."""

    gold_share: float = Field(0.5, gt=0, le=1)
    """Share of the words that are read. Which words depends on ``gold_seed``."""

    gold_seed: Seed = 0
    """Seed of the choice of words."""

    @model_validator(mode="after")
    def _gold_fits(self) -> Self:
        if (self.gold is None) != (self.gold_type is None):
            raise ValueError("gold and gold_type belong together; set both or neither")
        known = [method.name for method in resource_types.methods() if method.gold == "segmentations"]
        if self.gold_type is not None and self.gold_type not in known:
            raise ValueError(unknown(self.gold_type, "type of resource with segmented words", known))
        return self


def gold_files(options: GoldOptions) -> list[Path]:
    """Return the files of gold data: the one that is named, or those in the folder with the names of their type.

    Raises:
        TokbenchError: the folder has no such file.
    """
    assert options.gold is not None
    assert options.gold_type is not None
    if not options.gold.is_dir():
        return [options.gold]
    pattern = resource_types[options.gold_type].files
    files = sorted(file for file in options.gold.glob(pattern) if file.is_file())
    if not files:
        raise TokbenchError(f"no file '{pattern}' in the folder '{options.gold}'; name the files of the resource")
    return files


def read_gold_words(options: GoldOptions) -> list[tuple[str, tuple[int, ...]]]:
    """Read the chosen gold words, each segmentation once, in the order of the files.

    Returns:
        Words with the byte offsets of the boundaries inside them. A word that is one part has none.

    Raises:
        TokbenchError: a file cannot be read, or no word is segmented.
    """
    assert options.gold_type is not None
    kind = resource_types[options.gold_type]
    words: dict[tuple[str, tuple[int, ...]], None] = {}
    for file in gold_files(options):
        for language, word, segments in kind.function(file, "", kind.options()):
            cuts = boundaries(word, segments)
            in_language = options.gold_languages is None or language in options.gold_languages
            if in_language and cuts is not None and is_drawn(word, options.gold_share, options.gold_seed):
                words[word, tuple(cuts)] = None
    if not words:
        raise TokbenchError(
            f"{options.gold}: no segmented word of a resource of type '{options.gold_type}' is among those chosen; "
            "check the file, gold_languages and gold_share"
        )
    return list(words)
