"""Evaluation suites: named sets of downstream tasks, as data."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer, model_validator

from tokbench.errors import TokbenchError, unknown
from tokbench.io.numbers import LARGEST_BYTES, LARGEST_LEGACY_SEED
from tokbench.io.yaml import parse_yaml
from tokbench.options import Options, Seed
from tokbench.robustness.perturbations import KINDS, RATE, known_kinds

Metric = Literal["acc", "acc_norm"]
Format = Literal["choices", "schemas", "completions", "mmlu", "winograd", "minimal_pairs"]
SegmentationKind = Literal["random", "characters", "digits_right"]
StartToken = Literal["empty_context", "every_context"]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]


def is_template(text: str) -> bool:
    """Return True if lm-eval would render a text as a Jinja template."""
    return any(mark in text for mark in ("{{", "{%", "{#"))


class TaskSettings(Options):
    """Settings of one task that differ from those of its suite."""

    num_fewshot: int | None = Field(default=None, ge=0)
    """Examples in the prompt."""
    metric: Metric | None = None
    """``acc``: the right choice is the most likely one; ``acc_norm``: the most likely per character."""
    random_baseline: float | None = Field(default=None, ge=0, le=1)
    """Accuracy of random guessing. By default the mean of 1 / choices over the questions."""
    limit: int | None = Field(default=None, ge=1)
    """Use only this number of questions, from the first."""


class LocalTask(Options):
    """Questions in local files, plain or compressed."""

    format: Format
    """``choices``: JSON Lines {query, choices, gold}; ``schemas``: {context_options, continuation, gold};
    ``completions``: {context, continuation}; ``mmlu``: CSV of a question, four answers and the right one; ``winograd``:
    text with [MASK], two candidates and the right one; ``minimal_pairs``: {sentence_good, sentence_bad}."""
    file: str
    """File or pattern of files, relative to the suite's ``path``."""
    fewshot_file: str | None = None
    """File from which examples are drawn. By default examples are other questions of the task."""
    ending: str = ""
    """Text appended to every context."""
    bad_records: Literal["reject", "skip"] = "reject"
    """Treatment of questions that no model can answer (the right choice equals another, or a text is empty). ``reject``
    stops the import at the first one; ``skip`` leaves them out and counts them."""
    description: str = ""
    """Text before the examples. It must not contain ``{{``, ``{%`` or ``{#``, which lm-eval reads as a template."""

    @field_validator("description")
    @classmethod
    def _plain(cls, text: str) -> str:
        if is_template(text):
            raise ValueError("lm-eval reads '{{', '{%' and '{#' as a template; write the text without them")
        return text


class PerturbedQuestions(Options):
    """Perturbations of the text of every question, see :mod:`tokbench.evaluation.perturbed_questions`."""

    kinds: tuple[str, ...] = Field(default=tuple(KINDS), min_length=1)
    """Kinds of perturbations. Default: all 20. Every kind takes up to as long as the questions themselves."""
    rate: float = Field(default=RATE, gt=0, le=1)
    """Probability that a unit (a word, a space between words, or a number) is changed."""
    seed: Seed = 0
    """Seed of the draws."""

    @field_validator("kinds")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(known_kinds(names))


class SuiteOptions(Options):
    """A suite of lm-eval tasks."""

    source: Literal["offline", "hub", "local"] = "offline"
    """``offline``: tasks made from the evaluation split; ``hub``: tasks of lm-eval, fetched from the Hugging Face hub;
    ``local``: questions in local files."""
    tasks: tuple[str, ...] = Field(min_length=1)
    """Names of the tasks, in the order of the tables."""
    path: Path | None = None
    """Folder of a local suite's files. It may be given on the command line instead."""
    files: dict[str, LocalTask] = Field(default_factory=dict)
    """Files of a local suite's tasks, by task, for tasks that are not built in."""
    texts: tuple[str, ...] = ()
    """Tasks of lm-eval whose texts are measured in bits per byte, for example wikitext."""
    revisions: dict[str, Commit] = Field(default_factory=dict)
    """Commit to fetch of each data set of the hub. By default the newest, which the results then name."""
    num_fewshot: int | None = Field(default=None, ge=0)
    """Examples in the prompt. By default each task's own number. A task that forbids examples has none."""
    fewshot_seed: int = Field(default=1234, ge=0, le=LARGEST_LEGACY_SEED)
    """Seed with which lm-eval draws the examples."""
    metric: Metric = "acc"
    """Accuracy to report."""
    start_token: StartToken = "empty_context"
    """Contexts of questions that the start token (end of text) precedes. ``empty_context``: only empty ones, as in
    lm-eval's own ``hf`` model with a tokenizer that adds no token. ``every_context``: all, as with its
    ``add_bos_token=True``. Bits per byte always begin with it."""
    limit: int | None = Field(default=None, ge=1)
    """Use only this number of questions of each task, from the first."""
    overrides: dict[str, TaskSettings] = Field(default_factory=dict)
    """Settings of single tasks that differ from those of the suite."""
    document_bytes: int | None = Field(default=None, ge=1, le=LARGEST_BYTES)
    """Use only this number of bytes of each document for bits per byte, from the start, without splitting a character.
    By default all. Long documents take most of an evaluation's time."""
    segmentations: int = Field(default=0, ge=0, le=10_000)
    """Number of segmentations to draw for each of some texts of the evaluation split. They estimate the loss from using
    only the tokenizer's own segmentation. 0 for no estimate. Each draw needs a pass of the model over the text for
    every token."""
    byte_beam: int = Field(default=0, ge=0, le=10_000)
    """Number of segmentations, at least 2, that a beam follows through each of some texts of the evaluation split. It
    measures bits per byte with all of them together. 0 for none. It needs up to this number of passes of the model for
    every byte."""
    other_segmentations: tuple[SegmentationKind, ...] = ()
    """Other segmentations into the tokenizer's own tokens, in which documents and questions are read again. ``random``:
    each pre-token in one of all its segmentations, with equal probability; ``characters``: each character a token, or
    its bytes; ``digits_right``: runs of digits in groups of three from the right. By default none. Each takes as long
    as the evaluation, or longer, because there are more tokens."""
    segmentation_seed: Seed = 0
    """Seed of ``random`` segmentations. They depend on the text, and not on the model."""
    perturbed: PerturbedQuestions | None = None
    """Ask every question again after perturbations of its text, such as typos. ``{}`` for all kinds. By default
    questions are asked once."""

    @model_serializer(mode="wrap")
    def _without_unused(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out other segmentations and perturbations if there are none, so that older recipes stay equal."""
        written: dict[str, Any] = write(self)
        if not self.other_segmentations:
            written.pop("other_segmentations", None)
            if self.segmentation_seed == 0:
                written.pop("segmentation_seed", None)
        if self.perturbed is None:
            written.pop("perturbed", None)
        return written

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        if self.byte_beam == 1:
            raise ValueError("byte_beam: must be 0, or 2 or more")
        for name in self.overrides:
            if name not in self.tasks:
                raise ValueError(f"overrides: {unknown(name, 'task of the suite', self.tasks)}")
        local, hub = self.source == "local", self.source == "hub"
        for key, fits in (("path", local), ("files", local), ("texts", hub), ("revisions", hub)):
            if getattr(self, key) and not fits:
                raise ValueError(f"{key}: has no effect in a suite whose source is '{self.source}'; remove this key")
        for name in self.tasks if local else ():
            if name not in self.files and name not in local_tasks():
                raise ValueError(
                    f"tasks: {unknown(name, 'local task', (*self.files, *local_tasks()))} Or add it to files."
                )
        return self

    def local_task(self, task: str) -> LocalTask:
        """Return the files of a local suite's task."""
        return self.files.get(task) or local_tasks()[task]

    def settings(self, task: str) -> TaskSettings:
        """Return the settings of one task: its own, or else those of the suite."""
        own = self.overrides.get(task, TaskSettings())
        return TaskSettings(
            num_fewshot=self.num_fewshot if own.num_fewshot is None else own.num_fewshot,
            metric=own.metric or self.metric,
            random_baseline=own.random_baseline,
            limit=own.limit or self.limit,
        )


@cache
def local_tasks() -> dict[str, LocalTask]:
    """Return the built-in local tasks by name."""
    return {name: LocalTask(**options) for name, options in _shipped("local_tasks.yaml").items()}


@cache
def named_suites() -> dict[str, SuiteOptions]:
    """Return the built-in suites by name."""
    return {name: SuiteOptions(**options) for name, options in _shipped("suites.yaml").items()}


def _shipped(name: str) -> dict[str, dict[str, Any]]:
    read: dict[str, dict[str, Any]] = parse_yaml(
        files("tokbench.evaluation").joinpath(name).read_text(encoding="utf-8"), name
    )
    return read


def named_suite(name: str) -> SuiteOptions:
    """Return a built-in suite.

    Raises:
        TokbenchError: no suite has this name.
    """
    if name not in named_suites():
        raise TokbenchError(unknown(name, "suite", named_suites()))
    return named_suites()[name]
