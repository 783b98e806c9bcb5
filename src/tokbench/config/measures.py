"""Sections of an experiment for measures: bounds, token n-gram models, robustness, causal effects and statistics."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from tokbench.config.sections import ModelRuns
from tokbench.io.numbers import HIGHEST_NGRAM_ORDER, LARGEST_BYTES
from tokbench.optimum import MAX_PRETOKEN_BYTES
from tokbench.options import Options
from tokbench.robustness.perturbations import BYTES, KINDS, RATE, known_kinds
from tokbench.statistics.significance.verdicts import DETECT, LEAST


class BoundsOptions(Options):
    """Settings of the lower bound on the token count of any vocabulary, used by the metric ``gap``.

    A bound is valid after any number of steps. If the search has not converged, the table of bounds reports the
    remaining change.
    """

    max_pretoken_bytes: int = Field(MAX_PRETOKEN_BYTES, ge=1)
    """Longest pre-token that is included, in bytes. Memory and time grow with the square of the longest one. Longer
    pre-tokens are excluded from the bound and from the token counts compared with it; the table ``bounds`` has their
    number and share."""
    steps: int = Field(400, ge=1)
    """Maximum number of steps of the search, default: 400. Each language of a multilingual text has another search, of
    at most this number. 2 MB in 22 languages need 0.4 s a step. More steps give a tighter bound if the search has not
    converged (``unsettled`` in the table ``bounds``)."""


class NgramBitsOptions(Options):
    """Token n-gram models: trained on one split, and tested in bits per byte on the evaluation split.

    They use interpolated modified Kneser-Ney smoothing, which needs no seed and has no further parameter.
    """

    order: int = Field(HIGHEST_NGRAM_ORDER, ge=1, le=HIGHEST_NGRAM_ORDER)
    """Highest order; all orders up to it are computed."""
    split: Literal["tokenizer", "pretraining"] = "pretraining"
    """Split that the models are trained on."""
    training_bytes: list[Annotated[int, Field(ge=1, le=LARGEST_BYTES)]] | None = Field(None, min_length=1)
    """Training sizes in bytes; a model is trained for each. Text is drawn from every language in proportion to its
    share of the split. Default: all of the split, and half of it."""


class RobustnessOptions(Options):
    """Perturbations of the evaluation split, on which the segmentation of every tokenizer is measured."""

    kinds: list[str] = Field(default_factory=lambda: list(KINDS), min_length=1)
    """Kinds of perturbations. Default: all 20."""
    rate: float = Field(RATE, gt=0, le=1)
    """Probability that a unit (a word, a space between words, or a number) is changed."""
    bytes: int = Field(BYTES, ge=1, le=LARGEST_BYTES)
    """Bytes of text to use, from the beginnings of documents in equal shares."""
    seed: int = Field(0, ge=0)
    """Seed of the draws."""

    @field_validator("kinds")
    @classmethod
    def _known(cls, names: list[str]) -> list[str]:
        return list(known_kinds(names))


RANKED = ("bpe", "wordpiece", "greedtok", "picky_bpe")
"""Constructions whose vocabulary of a size is the beginning of every larger one."""


class CausalEffectOptions(Options):
    """Causal effect of a token on the probability of its characters, by regression discontinuity.

    A longer vocabulary of each variant is built. Every language model of ``runs`` scores the tokens around the end of
    its vocabulary on the evaluation split.
    """

    variants: list[str] | None = Field(None, min_length=1)
    """Variants of ``runs`` to measure; their constructions must rank tokens. Default: all variants of ``runs``."""
    reach: int | None = Field(None, ge=16)
    """Number of ranks to score on each side of the end of the vocabulary; placebo cut-offs are among them. Default:
    half of the vocabulary size. The longer vocabulary has this number of tokens more."""
    bandwidth: int | None = Field(None, ge=4)
    """Number of ranks on each side of a cut-off through which a line is fitted. Default: a quarter of ``reach``."""

    document_bytes: int | None = Field(None, ge=1, le=LARGEST_BYTES)
    """Use only this number of bytes of each document, from the start, without splitting a character. Default: all.
    Every model reads this text, which takes about as long as bits per byte."""

    @model_validator(mode="after")
    def _fits(self) -> "CausalEffectOptions":
        if self.reach is not None and self.bandwidth is not None and 2 * self.bandwidth > self.reach:
            raise ValueError(
                f"bandwidth: {self.bandwidth} leaves no room for placebo cut-offs within a reach of {self.reach}; "
                f"choose {self.reach // 2} or less"
            )
        return self

    def reach_at(self, size: int) -> int:
        """Return the ranks to score on each side at a vocabulary size."""
        return size // 2 if self.reach is None else self.reach

    def variants_of(self, runs: list[ModelRuns]) -> list[str]:
        """Return the variants to measure."""
        return list(dict.fromkeys(self.variants or [name for run in runs for name in run.variants]))

    def recipe(self) -> dict[str, int]:
        """Return the options of the statistics; defaults are left out."""
        return {} if self.bandwidth is None else {"bandwidth": self.bandwidth}


class StatisticsOptions(Options):
    """Power analysis before the runs: the number of seeds needed, estimated from a finished pilot."""

    pilot: Path | None = None
    """Folder ``statistics`` of an experiment that trained similar models with two seeds or more. The number of seeds
    needed is written to ``power/`` before any model is trained, and to the report."""
    detect: float = Field(DETECT, ge=LEAST)
    """Difference in bits per byte that should be detected."""
