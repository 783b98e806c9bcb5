"""Suites: named sets of downstream tasks, as data."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from tokbench.errors import TokbenchError, unknown
from tokbench.io.numbers import LARGEST_BYTES, LARGEST_LEGACY_SEED
from tokbench.io.yaml import parse_yaml
from tokbench.options import Options

Metric = Literal["acc", "acc_norm"]
Format = Literal["choices", "schemas", "completions", "mmlu", "winograd", "minimal_pairs"]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]


def is_template(text: str) -> bool:
    """Return whether lm-eval would render a text as a Jinja template."""
    return any(mark in text for mark in ("{{", "{%", "{#"))


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


class LocalTask(Options):
    """Questions that lie in local files, plain or compressed."""

    format: Format
    """``choices``: JSON Lines {query, choices, gold}; ``schemas``: {context_options, continuation, gold};
    ``completions``: {context, continuation}; ``mmlu``: CSV of a question, four answers and the right one;
    ``winograd``: text with [MASK], two candidates and the right one; ``minimal_pairs``: {sentence_good,
    sentence_bad}."""
    file: str
    """File or pattern of files, under the suite's ``path``."""
    fewshot_file: str | None = None
    """File from which the examples are drawn; other questions of the task where it is left out."""
    ending: str = ""
    """Text put after every context."""
    bad_records: Literal["reject", "skip"] = "reject"
    """Questions that no model can answer (the right choice equals another, or a text is empty): ``reject`` ends the
    import at the first one, ``skip`` leaves them out and counts them."""
    description: str = ""
    """Text put before the examples; it must not contain ``{{``, ``{%`` or ``{#``, which lm-eval reads as a template."""

    @field_validator("description")
    @classmethod
    def _plain(cls, text: str) -> str:
        if is_template(text):
            raise ValueError("lm-eval reads '{{', '{%' and '{#' as a template; write the text without them")
        return text


class SuiteOptions(Options):
    """A suite of lm-eval tasks."""

    source: Literal["offline", "hub", "local"] = "offline"
    """``offline``: tasks made from the evaluation split; ``hub``: tasks of lm-eval, fetched from the Hugging Face
    hub; ``local``: questions in local files."""
    tasks: tuple[str, ...] = Field(min_length=1)
    """Names of the tasks, in the order of the tables."""
    path: Path | None = None
    """Folder of a local suite's files; it may be given on the command line."""
    files: dict[str, LocalTask] = Field(default_factory=dict)
    """Files of a local suite's tasks, by task, for those that Tokbench does not know by name."""
    texts: tuple[str, ...] = ()
    """Tasks of lm-eval whose texts are measured in bits per byte, for example wikitext."""
    revisions: dict[str, Commit] = Field(default_factory=dict)
    """By data set of the hub, the commit to fetch; the newest, which the results then name, where it is left out."""
    num_fewshot: int | None = Field(default=None, ge=0)
    """Examples in the prompt; by default what each task says itself. A task that forbids examples keeps none."""
    fewshot_seed: int = Field(default=1234, ge=0, le=LARGEST_LEGACY_SEED)
    """Seed by which lm-eval draws the examples."""
    metric: Metric = "acc"
    """The accuracy that is reported."""
    limit: int | None = Field(default=None, ge=1)
    """Only the first so many questions of each task."""
    overrides: dict[str, TaskSettings] = Field(default_factory=dict)
    """By task, what it does otherwise."""
    document_bytes: int | None = Field(default=None, ge=1, le=LARGEST_BYTES)
    """Bits per byte are of the first so many bytes of each document, a few less where a character would be cut; of all
    by default. What takes longest of an evaluation is long documents."""
    segmentations: int = Field(default=0, ge=0, le=10_000)
    """Segmentations to draw of each of some texts of the evaluation split, by which is estimated how much the
    tokenizer's own one loses; 0 for no estimate. Each draw is a pass of the model over the text for every token."""

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        for name in self.overrides:
            if name not in self.tasks:
                raise ValueError(f"overrides: {unknown(name, 'task of the suite', self.tasks)}")
        local, hub = self.source == "local", self.source == "hub"
        for key, fits in (("path", local), ("files", local), ("texts", hub), ("revisions", hub)):
            if getattr(self, key) and not fits:
                raise ValueError(f"{key}: of no use to a suite whose source is '{self.source}'; remove this key")
        for name in self.tasks if local else ():
            if name not in self.files and name not in local_tasks():
                raise ValueError(
                    f"tasks: {unknown(name, 'local task', (*self.files, *local_tasks()))} Or add it to files."
                )
        return self

    def local_task(self, task: str) -> LocalTask:
        """The files of a local suite's task."""
        return self.files.get(task) or local_tasks()[task]

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
def local_tasks() -> dict[str, LocalTask]:
    """The local tasks that Tokbench knows by name."""
    return {name: LocalTask(**options) for name, options in _shipped("local_tasks.yaml").items()}


@cache
def named_suites() -> dict[str, SuiteOptions]:
    """The suites that come with Tokbench, by name."""
    return {name: SuiteOptions(**options) for name, options in _shipped("suites.yaml").items()}


def _shipped(name: str) -> dict[str, dict[str, Any]]:
    read: dict[str, dict[str, Any]] = parse_yaml(
        files("tokbench.models.evaluation").joinpath(name).read_text(encoding="utf-8"), name
    )
    return read


def named_suite(name: str) -> SuiteOptions:
    """One of the suites that come with Tokbench.

    Raises:
        TokbenchError: no suite has this name.
    """
    if name not in named_suites():
        raise TokbenchError(unknown(name, "suite", named_suites()))
    return named_suites()[name]
