"""Translations: which models are trained on which pairs, between which tokenizers, and what is asked of them."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from tokbench.options import Options, VocabularySize


class TokenizerPair(Options):
    """Separate vocabularies."""

    source: str
    """Variant that cuts the language that is translated."""
    target: str
    """Variant that cuts the language that it is translated into."""


class Translation(Options):
    """Translation models to train and test: every model with every tokenizer at every size on every corpus."""

    corpora: list[str] = Field(min_length=1)
    """Names of parallel corpora; the models are tested on all tests of theirs."""
    source: str
    """Language that is translated."""
    target: str
    """Language that it is translated into."""
    models: list[str] = Field(min_length=1)
    """Names of translation models."""
    tokenizers: list[str | TokenizerPair] = Field(min_length=1)
    """Variants: one name is a joint vocabulary, a mapping of ``source`` and ``target`` separate ones."""
    sizes: list[VocabularySize] | None = None
    """Vocabulary sizes of each side that is built; all of the source's variant where it is left out. One that was made
    elsewhere has its own always."""
    bleu_words: Literal["13a", "char", "intl", "none", "zh"] = "13a"
    """How sacrebleu cuts words for BLEU."""
    comet: Path | None = None
    """Checkpoint of a COMET model on this disk; without it there is no COMET."""

    def pairs(self) -> list[tuple[str, str]]:
        """Variants of source and target."""
        return [(one, one) if isinstance(one, str) else (one.source, one.target) for one in self.tokenizers]
