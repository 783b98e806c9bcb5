"""Answers to perturbed questions, which are paired with the answers to the clean ones.

The text of a question is changed by each kind of :mod:`tokbench.robustness.perturbations`. Choices, examples in the
prompt and the task's description stay as they are. So the right answer has the same bytes, and its bits differ only by
the question. TokSuite (Altıntaş and others 2025) also varies the question before its choices; there, annotators write
the variations, each with its choices.

The text is perturbed before it is tokenized. Its edits depend on the seed, the kind, the task and the number of the
question only, so every tokenizer and model reads the same text.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.evaluation.suites import PerturbedQuestions
from tokbench.robustness.perturbations import Edit, edits, perturb

if TYPE_CHECKING:
    from lm_eval.api.model import LM
    from lm_eval.api.task import Task

log = logging.getLogger(__name__)
Sample = dict[str, Any]
"""lm-eval's record of a question asked."""
Record = Callable[..., dict[str, Any]]
"""Function from a sample, and boundaries by question, to the question's entry in the results."""
NO_TEXT = "no question has text before its choices"
NOT_PLAIN = "the prompt does not end with the text of the question"
LEFT_OUT_KEYS = ("characters",)
"""Keys of a clean question's entry that perturbed ones do not repeat."""


class Question(NamedTuple):
    """Text of a question, within its contexts.

    Attributes:
        text: the text that is perturbed. For schemas, it is the part that all openings begin with, up to their last
            common space.
        endings: by context, its end from ``text`` on.
    """

    text: str
    endings: Sequence[str]


def question_of(task: "Task", sample: Sample) -> Question | None:
    """Return the text of a question; None if the contexts do not end with it.

    Args:
        task: a task of the type ``multiple_choice`` or ``loglikelihood``.
        sample: the question.
    """
    contexts = [context for context, _ in sample["arguments"]]
    if task.multiple_input:
        endings = list(task.doc_to_choice(sample["doc"]))
        text = common_words(endings)
    else:
        text = task.doc_to_text(sample["doc"])
        if not isinstance(text, str):
            return None
        # lm-eval also asks for choices without a context, if a metric subtracts their log-likelihoods.
        endings = [text if context else "" for context in contexts]
    if not all(context.endswith(ending) for context, ending in zip(contexts, endings, strict=True)):
        return None
    return Question(text, endings)


def common_words(texts: Sequence[str]) -> str:
    """Return the words that all texts begin with, without the white space after them."""
    first, last = min(texts), max(texts)
    pairs = enumerate(zip(first, last, strict=False))
    shared = first[: next((place for place, (a, b) in pairs if a != b), len(first))]
    ends = [place for place, character in enumerate(shared) if character.isspace()]
    return shared[: ends[-1]] if ends else ""


def perturbed_arguments(sample: Sample, question: Question, changes: Sequence[Edit]) -> list[tuple[str, str]]:
    """Return the contexts and choices of a question after edits of its text."""
    text = perturb(question.text, changes)
    asked = []
    for (context, choice), ending in zip(sample["arguments"], question.endings, strict=True):
        before = context[: len(context) - len(ending)]
        asked.append((before + text + ending[len(question.text) :] if ending else context, choice))
    return asked


def perturbed_outcomes(
    name: str,
    task: "Task",
    samples: Sequence[Sample],
    metric: str,
    options: PerturbedQuestions,
    lm: "LM",
    record: Record,
) -> dict[str, Any]:
    """Ask the questions of a task again after perturbations.

    Args:
        name: name of the task.
        task: the task.
        samples: lm-eval's record of each clean question.
        metric: metric of the suite.
        options: kinds of perturbations, their rate and seed.
        lm: the model.
        record: function from a sample and boundaries to the entry of its question.

    Returns:
        ``kinds``: for each kind ``accuracy`` and ``n`` of the questions that it changes, ``unchanged`` (number of
        others, which are not asked again), ``truncated_documents``, and ``documents``: the entries of these questions
        with their ``edits`` (position in the original text in characters, original and new characters). If the task
        cannot be perturbed, ``kinds`` is empty and ``reason`` says why.
    """
    ordered = sorted(samples, key=lambda sample: sample["doc_id"])
    questions = [question_of(task, sample) for sample in ordered]
    reason = NOT_PLAIN if None in questions else None
    if reason is None and not any(question and question.text.strip() for question in questions):
        reason = NO_TEXT
    if reason:
        log.warning("task %s is not perturbed: %s", name, reason)
        return {"kinds": {}, "reason": reason}
    known = [question for question in questions if question is not None]
    answers = {
        kind: _of_kind(f"{name}, {kind}", task, list(_changed(name, kind, ordered, known, options)), metric, lm, record)
        for kind in options.kinds
    }
    return {"kinds": {kind: {**task, "unchanged": len(ordered) - task["n"]} for kind, task in answers.items()}}


def _changed(
    name: str, kind: str, samples: Sequence[Sample], questions: Sequence[Question], options: PerturbedQuestions
) -> Iterator[tuple[Sample, list[Edit]]]:
    """Yield the questions that a kind changes, with their edits."""
    for sample, question in zip(samples, questions, strict=True):
        draw = Random(f"{options.seed}/{kind}/{name}/{sample['doc_id']}")
        changes = list(edits(question.text, kind, options.rate, draw))
        if changes:
            yield {**sample, "arguments": perturbed_arguments(sample, question, changes)}, changes


def _of_kind(
    label: str, task: "Task", changed: Sequence[tuple[Sample, list[Edit]]], metric: str, lm: "LM", record: Record
) -> dict[str, Any]:
    """Return the results of the questions that a kind changes. ``label`` names task and kind."""
    from lm_eval.api.instance import Instance

    requests = [
        Instance("loglikelihood", sample["doc"], arguments, place, (label, sample["doc_id"], 1))
        for sample, _ in changed
        for place, arguments in enumerate(sample["arguments"])
    ]
    answers = iter(lm.loglikelihood(requests) if requests else [])
    boundaries: Mapping[int, Any] = getattr(lm, "boundaries", {}).get(label, {})
    documents = []
    for sample, changes in changed:
        responses = [next(answers) for _ in sample["arguments"]]
        value = task.process_results(sample["doc"], responses)[metric]
        entry = record(sample={**sample, "filtered_resps": responses, metric: value}, boundaries=boundaries)
        kept = {key: value for key, value in entry.items() if key not in LEFT_OUT_KEYS}
        documents.append({**kept, "edits": [list(change) for change in changes]})
    return {
        "accuracy": sum(document["correct"] for document in documents) / len(documents) if documents else None,
        "n": len(documents),
        "truncated_documents": len(getattr(lm, "truncated_documents", {}).get(label, ())),
        "documents": documents,
    }
