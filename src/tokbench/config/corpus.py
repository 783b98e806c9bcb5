"""The section of a corpus, apart from those that know every method: what prepares corpora imports no other."""

from typing import Annotated, Literal

from pydantic import Field

from tokbench.config.short_forms import NameAlone
from tokbench.corpus.sources import SOURCE_TYPES, AnySource, CountsSource
from tokbench.options import Options

LONGEST_DOCUMENT = 16_000_000
PIECES = 1_000_000, 2_000_000_000
"""Bytes of the longest document at least, and at most: a shard takes no more of one."""
Split = Literal["byte_lm", "tokenizer", "evaluation", "pretraining"]
DEFAULT_FRACTIONS: dict[Split, float | Split] = {
    "byte_lm": 0.15,
    "tokenizer": 0.4,
    "evaluation": 0.1,
    "pretraining": 0.35,
}


class Corpus(Options):
    """Named text with documents and splits."""

    source: Annotated[AnySource, NameAlone("type", SOURCE_TYPES)]
    """Where the documents come from."""
    shards: int = Field(1, ge=1, le=9999)
    """Files that each split is dealt out to; counting and scoring run once a shard."""
    parts: int = Field(1, ge=1, le=9999)
    """Parts of the source that are prepared side by side, to the same files. Text and JSON Lines are cut between files
    alone, Parquet between row groups, too."""
    splits: dict[Split, float | Split] = Field(default_factory=lambda: dict(DEFAULT_FRACTIONS))
    """Share of each language's bytes that a split gets, by document, or the name of the split that it is the same as
    (``evaluation: tokenizer`` measures on the training text); what is missing to 1 is left unused."""

    duplicates: Literal["keep", "drop"] = "keep"
    """What is done about documents of the evaluation split that are also in the tokenizer or pretraining split, byte
    for byte: ``keep`` counts them, ``drop`` leaves them out of the evaluation split, too. Splits that are the same as
    another by ``splits`` are not compared."""
    longest_document: int | None = Field(LONGEST_DOCUMENT, ge=PIECES[0], le=PIECES[1])
    """Bytes above which a document is written as several, so that nothing has to hold gigabytes of it; ``null`` for
    never. It is cut before a space between two letters where there is one in the second half of such a piece, after a
    line end or between two characters where there is none. Its pieces stay together, and count as one document for
    splits and limits alone."""

    @property
    def counted(self) -> bool:
        """Whether it is counts alone, without documents."""
        return isinstance(self.source, CountsSource)
