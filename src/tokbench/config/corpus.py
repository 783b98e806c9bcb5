"""The section of a corpus, apart from those that know every method: what prepares corpora imports no other."""

from typing import Annotated, Literal

from pydantic import Field

from tokbench.config.short_forms import NameAlone
from tokbench.corpus.sources import SOURCE_TYPES, AnySource, CountsSource
from tokbench.options import Options

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

    @property
    def counted(self) -> bool:
        """Whether it is counts alone, without documents."""
        return isinstance(self.source, CountsSource)
