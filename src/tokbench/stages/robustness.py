"""Stages of robustness: perturbations of the evaluation split, and the changes of every tokenizer's segmentation."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from tokbench.config.targets import TokenizerTarget, all_tokenizers
from tokbench.io.numbers import LARGEST_BYTES
from tokbench.options import Options
from tokbench.robustness.perturbations import BYTES, KINDS, RATE, known_kinds
from tokbench.stage import Result, Section, Stage, stages

if TYPE_CHECKING:
    from tokbench.config.experiment import Experiment


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


def _reads(experiment: "Experiment") -> Iterator[tuple[tuple[str, str], str]]:
    for corpus in dict.fromkeys(map(experiment.corpus_of, experiment.variants)):
        yield (corpus, "evaluation"), "robustness perturbs"


SECTION = Section(
    "robustness",
    RobustnessOptions,
    "Perturbations of text (typos, case, spaces and others), and the changes of every tokenizer's segmentation. "
    "Default: none.",
    reads=_reads,
)


def flags(experiment: "Experiment") -> list[str]:
    """Return the options of the perturbations, as flags."""
    options = SECTION.or_default(experiment)
    settings = ("--rate", options.rate, "--bytes", options.bytes, "--seed", options.seed)
    return [*(word for kind in options.kinds for word in ("--kind", kind)), *map(str, settings)]


def measured(experiment: "Experiment") -> list[TokenizerTarget]:
    """Return the tokenizers to measure: all, or none if no robustness is configured."""
    return [] if SECTION.of(experiment) is None else all_tokenizers(experiment)


PERTURB = stages.add(
    Stage("perturb", run="tokbench.commands.robustness:perturb_command", sections=(SECTION,)),
)
MEASURE = stages.add(
    Stage(
        "measure_robustness",
        run="tokbench.commands.robustness:measure_robustness_command",
        results=(Result("robustness", "robustness/{variant}/{size}.json", measured, "Robustness of a tokenizer"),),
    )
)
