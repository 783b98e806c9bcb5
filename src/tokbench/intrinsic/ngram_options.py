"""What is asked of the token n-gram models: options of their own, and what is fixed."""

from typing import Annotated, Literal

from pydantic import Field

from tokbench.io.numbers import HIGHEST_NGRAM_ORDER, LARGEST_BYTES
from tokbench.options import Options


class NgramBitsOptions(Options):
    """Bits per byte of token n-gram models, which are trained on one split and tested on the evaluation split.

    Modified Kneser-Ney smoothing, interpolated, has nothing else to choose: no seed and no other parameter.
    """

    order: int = Field(HIGHEST_NGRAM_ORDER, ge=1, le=HIGHEST_NGRAM_ORDER)
    """Highest order; every order up to it is measured."""
    split: Literal["tokenizer", "pretraining"] = "pretraining"
    """Split that the models are trained on."""
    training_bytes: list[Annotated[int, Field(ge=1, le=LARGEST_BYTES)]] | None = Field(None, min_length=1)
    """Bytes of text that the models are trained on, each a budget of its own, out of every language by its share of the
    split; all of the split and half of it where it is left out."""
