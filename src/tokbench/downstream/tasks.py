"""Downstream tasks made from the evaluation split: no network, no licence, any language that writes spaces.

Each task is an lm-eval task over local JSON lines: ``{task}.yaml``, ``{task}.test.jsonl`` and, for examples in the
prompt, ``{task}.fewshot.jsonl``; ``tasks.json`` says what was made of what.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from pydantic import Field

from tokbench.atomic import atomic_folder
from tokbench.downstream.passages import read_paragraphs
from tokbench.downstream.question_makers import MAKERS, Question
from tokbench.errors import TokbenchError
from tokbench.inputs.numbers import LARGEST_BYTES
from tokbench.options import Options, Seed

if TYPE_CHECKING:
    from tokbench.downstream.suites import SuiteOptions

TaskName = Literal["continuation", "last_word", "unperturbed", "word_order"]


class TaskOptions(Options):
    """How the offline tasks are made."""

    tasks: tuple[TaskName, ...] = Field(
        default=("continuation", "last_word", "unperturbed", "word_order"), min_length=1
    )
    """Tasks to make: the true continuation of a passage, the last word of a sentence, a sentence against two of its
    words exchanged, a sentence against neighbouring words swapped."""
    questions: int = Field(default=200, ge=1)
    """Questions of each task; fewer are made where the text gives no more."""
    fewshot_pool: int = Field(default=16, ge=0)
    """Further questions of each task, never among those asked, from which the examples in a prompt are drawn."""
    context_words: int = Field(default=24, ge=6)
    """Words before a continuation; the most words before a last word."""
    continuation_words: int = Field(default=8, ge=1)
    """Words of each continuation."""
    max_sentence_words: int = Field(default=40, ge=8)
    """The longest sentence that is set against a perturbation of itself, in words."""
    max_bytes: int = Field(default=4_000_000, ge=1, le=LARGEST_BYTES)
    """Text read from the start of the split, in bytes, which bounds the memory."""
    seed: Seed = 0
    """Seed of every draw."""


class Examples(Options):
    """Examples that prompts need."""

    tasks: dict[TaskName, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    """By task, how many."""


def make_tasks(
    documents: Iterable[tuple[int, bytes]],
    folder: Path | str,
    options: TaskOptions,
    examples: Mapping[TaskName, int] | None = None,
) -> None:
    """Write the offline tasks of one evaluation split, the folder whole or not at all.

    Questions are drawn without repetition, the right answer stands equally often (within one) at each position, and
    the draws of one task do not depend on which others are made. Where the text is short, at most a quarter of the
    questions found go to the few-shot pool.

    Args:
        documents: (position in the source, bytes), in ascending order.
        folder: where the files go; it is replaced.
        options: what to make.
        examples: by task, how many examples a prompt needs.

    Raises:
        TokbenchError: the text does not give a single question for one of the tasks, or too few for the examples.
    """
    examples = examples or {}
    paragraphs, invalid = read_paragraphs(documents, options.max_bytes)
    manifest: dict[str, Any] = {
        "options": options.model_dump(mode="json"),
        "documents": len({paragraph.document for paragraph in paragraphs}),
        "words": sum(len(paragraph.words) for paragraph in paragraphs),
        "lines_not_utf8": invalid,
        "tasks": {},
    }
    with atomic_folder(folder, "tasks") as partial:
        for task in dict.fromkeys(options.tasks):
            rng = Random(f"{options.seed} {task}")
            found = _distinct(MAKERS[task](paragraphs, options, rng))
            if not found:
                raise TokbenchError(
                    f"evaluation split: its {manifest['words']} words give no question for the task '{task}' "
                    f"({invalid} lines are not UTF-8); give a longer split of running text, or leave '{task}' out"
                )
            rng.shuffle(found)
            pool = min(options.fewshot_pool, len(found) // 4)
            if pool < (needed := examples.get(task, 0)):
                raise TokbenchError(
                    f"evaluation split: {pool} questions of the task '{task}' are left for examples, and a suite asks "
                    f"for {needed} (num_fewshot); lower num_fewshot, or give a longer split of running text"
                )
            asked = found[pool : pool + options.questions]
            _write_questions(partial / f"{task}.test.jsonl", asked, rng)
            if pool:
                _write_questions(partial / f"{task}.fewshot.jsonl", found[:pool], rng)
            (partial / f"{task}.yaml").write_text(_task_yaml(task, fewshot=pool > 0), encoding="utf-8")
            manifest["tasks"][task] = {
                "questions": len(asked),
                "asked_for": options.questions,
                "found": len(found),
                "fewshot_pool": pool,
                "random_baseline": 1 / (1 + len(asked[0].distractors)),
            }
        (partial / "tasks.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def examples_of(suite: "SuiteOptions") -> dict[str, int]:
    """Return by task how many examples the prompts of an offline suite have, without tasks that have none."""
    asked = {name: suite.settings(name).num_fewshot or 0 for name in suite.tasks if suite.source == "offline"}
    return {name: number for name, number in asked.items() if number and name in MAKERS and _allows_examples(name)}


def _allows_examples(task: str) -> bool:
    return bool(yaml.safe_load(_template(task)).get("num_fewshot", 1))


def _template(task: str) -> str:
    return files("tokbench.downstream").joinpath("templates", f"{task}.yaml").read_text(encoding="utf-8")


def _distinct(questions: Iterable[Question]) -> list[Question]:
    return list({(question.context, question.truth): question for question in questions}.values())


def _write_questions(path: Path, questions: Sequence[Question], rng: Random) -> None:
    choices = 1 + len(questions[0].distractors)
    golds = [number % choices for number in range(len(questions))]
    rng.shuffle(golds)
    with path.open("w", encoding="utf-8", newline="\n") as lines:
        for question, gold in zip(questions, golds, strict=True):
            row = {
                "document": question.document,
                "context": question.context,
                "choices": [*question.distractors[:gold], question.truth, *question.distractors[gold:]],
                "gold": gold,
            }
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")


def _task_yaml(task: str, *, fewshot: bool) -> str:
    """The task's template; without its few-shot split when that is empty."""
    text = _template(task)
    if fewshot:
        return text
    config = yaml.safe_load(text)
    for key in ("training_split", "fewshot_split"):
        del config[key]
    del config["dataset_kwargs"]["data_files"]["train"]
    return yaml.safe_dump(config, sort_keys=False)
