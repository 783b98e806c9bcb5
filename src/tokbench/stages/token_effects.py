"""Stage of the causal effect of a token: scores of the tokens around the end of a vocabulary."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from tokbench.config.sections import ModelRuns
from tokbench.config.targets import Trained, all_trained
from tokbench.construction import constructions
from tokbench.errors import unknown_names
from tokbench.io.numbers import LARGEST_BYTES
from tokbench.options import Options
from tokbench.stage import Result, Section, Stage, stages

if TYPE_CHECKING:
    from tokbench.config.experiment import Experiment

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


def _mistakes(experiment: "Experiment") -> Iterator[str]:
    """Yield variants whose vocabularies have no ranking, and sizes that the options do not fit."""
    options = SECTION.of(experiment)
    trained = list(dict.fromkeys(name for run in experiment.runs for name in run.variants))
    if not trained:
        yield "causal_effect: needs language models; add runs, or remove this key"
    yield from unknown_names("causal_effect.variants", "variant of runs", options.variants or [], trained)
    named = [name for name in options.variants_of(experiment.runs) if name in trained and name in experiment.variants]
    for name in named:
        method = experiment.built[name].construction.method if name in experiment.built else None
        if method not in RANKED:
            why = f"is built by '{method}', which does" if method else "is external and does"
            yield (
                f"causal_effect.variants: '{name}' {why} not rank its tokens; name variants of runs that are built by "
                f"{', '.join(RANKED[:-1])} or {RANKED[-1]}"
            )
            continue
        runs = [run for run in experiment.runs if name in run.variants]
        for size in dict.fromkeys(size for run in runs for size in experiment.sizes_in(run, name)):
            learned = int(size) - constructions[str(method)].alphabet
            least = 2 * options.bandwidth if options.bandwidth else 16
            if options.reach is not None and options.reach > learned:
                yield f"causal_effect.reach: '{name}' at {size} has {learned} learned tokens; choose at most that"
            elif min(options.reach_at(int(size)), learned) < least:
                yield f"causal_effect: '{name}' at {size} has too few learned tokens; use a larger size"


SECTION = Section(
    "causal_effect",
    CausalEffectOptions,
    "Causal effect of a token on the probability of its characters, from the models of ``runs``. Default: none.",
    mistakes=_mistakes,
)


def scored_models(experiment: "Experiment") -> list[Trained]:
    """Return the models of the section's variants; none without the section."""
    options = SECTION.of(experiment)
    if options is None:
        return []
    named = options.variants_of(experiment.runs)
    return [trained for trained in all_trained(experiment) if trained.variant in named]


@dataclass(frozen=True)
class TokenEffects:
    """Parameters of the rule. Wildcards name a model, a variant and a vocabulary size."""

    experiment: "Experiment"

    def reach(self, wildcards: Any) -> int:
        """Return the number of tokens to score on each side of the end of the vocabulary."""
        reach: int = SECTION.or_default(self.experiment).reach_at(int(wildcards.size))
        return reach

    def flags(self, wildcards: Any) -> list[str]:
        """Return the options of scoring, as flags."""
        limit = SECTION.or_default(self.experiment).document_bytes
        limited = [] if limit is None else ["--document-bytes", str(limit)]
        return ["--reach", str(self.reach(wildcards)), *limited]

    def longer(self, wildcards: Any) -> int:
        """Return the size of the longer vocabulary."""
        return int(wildcards.size) + self.reach(wildcards)


SCORE_TOKENS = stages.add(
    Stage(
        "score_tokens",
        run="tokbench.commands.evaluation:score_tokens_command",
        results=(
            Result(
                "token_scores",
                "token_scores/{model}/{variant}/{size}.json",
                scored_models,
                "A model's scores of tokens",
            ),
        ),
        sections=(SECTION,),
        libraries=("torch", "transformers"),
        cites=("lesci2025",),
    )
)
