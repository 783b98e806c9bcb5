"""Suites: named sets of downstream tasks, as data."""

from functools import cache
from importlib.resources import files
from typing import Literal, Self

import yaml
from pydantic import Field, model_validator

from tokbench.registry import Options, TokbenchError, unknown

Metric = Literal["acc", "acc_norm"]


class TaskSettings(Options):
    """What one task of a suite does otherwise than its suite."""

    num_fewshot: int | None = Field(default=None, ge=0)
    """Examples in the prompt."""
    metric: Metric | None = None
    """``acc``: the likeliest choice is the right one; ``acc_norm``: likeliest per character."""
    random_baseline: float | None = Field(default=None, ge=0, le=1)
    """Accuracy of random guessing; by default the mean of 1 / choices over the questions."""
    limit: int | None = Field(default=None, ge=1)
    """Only the first so many questions."""


class SuiteOptions(Options):
    """A suite of lm-eval tasks."""

    source: Literal["offline", "hub"] = "offline"
    """``offline``: tasks made from the evaluation split; ``hub``: tasks of lm-eval, fetched from the Hugging Face
    hub."""
    tasks: tuple[str, ...] = Field(min_length=1)
    """Names of the tasks, in the order of the tables."""
    num_fewshot: int | None = Field(default=None, ge=0)
    """Examples in the prompt; by default what each task says itself. A task that forbids examples keeps none."""
    fewshot_seed: int = 1234
    """Seed by which lm-eval draws the examples."""
    metric: Metric = "acc"
    """The accuracy that is reported."""
    limit: int | None = Field(default=None, ge=1)
    """Only the first so many questions of each task."""
    overrides: dict[str, TaskSettings] = Field(default_factory=dict)
    """By task, what it does otherwise."""

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        if len(set(self.tasks)) < len(self.tasks):
            raise ValueError("tasks: a task is named twice; remove one")
        for name in self.overrides:
            if name not in self.tasks:
                raise ValueError(f"overrides: {unknown(name, 'task of the suite', self.tasks)}")
        return self

    def settings(self, task: str) -> TaskSettings:
        """The settings of one task: its own where it has them, else the suite's."""
        own = self.overrides.get(task, TaskSettings())
        return TaskSettings(
            num_fewshot=self.num_fewshot if own.num_fewshot is None else own.num_fewshot,
            metric=own.metric or self.metric,
            random_baseline=own.random_baseline,
            limit=own.limit or self.limit,
        )


@cache
def named_suites() -> dict[str, SuiteOptions]:
    """The suites that come with Tokbench, by name."""
    text = files("tokbench.downstream").joinpath("suites.yaml").read_text(encoding="utf-8")
    return {name: SuiteOptions(**options) for name, options in yaml.safe_load(text).items()}


def named_suite(name: str) -> SuiteOptions:
    """One of the suites that come with Tokbench.

    Raises:
        TokbenchError: no suite has this name.
    """
    if name not in named_suites():
        raise TokbenchError(unknown(name, "suite", named_suites()))
    return named_suites()[name]
