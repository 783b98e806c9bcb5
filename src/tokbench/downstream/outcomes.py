"""What came of a task: accuracy, and every question's outcome, so that later questions need no rerun."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tokbench.downstream.suites import SuiteOptions
from tokbench.errors import TokbenchError

if TYPE_CHECKING:
    from lm_eval.api.model import LM
    from lm_eval.api.task import Task

KEPT = ("file", "record", "group")
"""Where a question of a local suite comes from."""


def outcomes(name: str, task: "Task", samples: list[dict[str, Any]], suite: SuiteOptions, lm: "LM") -> dict[str, Any]:
    """A task's entry in the results: see ``evaluate``.

    Args:
        name: of the task.
        task: with its questions.
        samples: lm-eval's record of each question asked.
        suite: for the metric and the random baseline.
        lm: of a ``ScoringLM`` the boundaries and the truncated questions are told too.

    Raises:
        TokbenchError: the task lacks the metric.
    """
    settings = suite.settings(name)
    metric = str(settings.metric)
    if metric not in samples[0]:
        raise TokbenchError(f"suite: task '{name}' has no metric '{metric}' ({samples[0]['metrics']})")
    boundaries = getattr(lm, "boundaries", {}).get(name, {})
    ordered = sorted(samples, key=lambda sample: sample["doc_id"])
    kept = KEPT if suite.source == "local" else ()
    documents = [_outcome(task, sample, metric, boundaries, kept) for sample in ordered]
    choices = [len(document["log_likelihoods"]) for document in documents]
    n = len(documents)
    accuracy = sum(document["correct"] for document in documents) / n
    baseline = math.fsum(1 / count for count in choices if count > 1) / n
    return {
        "accuracy": accuracy,
        "accuracy_stderr": math.sqrt(accuracy * (1 - accuracy) / (n - 1)) if n > 1 else None,
        "metric": metric,
        "n": n,
        "choices": sum(choices),
        "random_baseline": baseline if settings.random_baseline is None else settings.random_baseline,
        "num_fewshot": task.config.num_fewshot,
        "straddling": sum(len(document["straddling"]) for document in documents),
        "straddling_documents": sum(bool(document["straddling"]) for document in documents),
        "truncated_documents": len(getattr(lm, "truncated_documents", {}).get(name, ())),
        "documents": documents,
    }


def _outcome(
    task: "Task", sample: dict[str, Any], metric: str, boundaries: dict[int, Any], kept: Sequence[str]
) -> dict[str, Any]:
    scores = [float(response[0]) for response in sample["filtered_resps"]]
    texts = _choices(task, sample)
    found = {
        "document": sample["doc_id"],
        **{key: sample["doc"][key] for key in kept},
        "log_likelihoods": [round(score, 6) for score in scores],
        "characters": [len(text) for text in texts],
        "straddling": [],
        "gold": None,
        "prediction": None,
        "correct": bool(sample[metric]),
    }
    if sample["doc_id"] in boundaries:
        boundary = boundaries[sample["doc_id"]]
        found |= {"tokens": boundary.tokens, "straddling": boundary.straddling}
        if boundary.straddling and boundary.unwritten is not None:
            found["unwritten"] = round(boundary.unwritten, 6)
    if task.OUTPUT_TYPE == "multiple_choice":
        weights = found["characters"] if metric == "acc_norm" else [1] * len(scores)
        values = [score / weight for score, weight in zip(scores, weights, strict=True)]
        found |= {"gold": _gold(task, sample, texts), "prediction": values.index(max(values))}
    return found


def _choices(task: "Task", sample: dict[str, Any]) -> list[str]:
    """The texts whose lengths lm-eval's ``acc_norm`` divides by; of a task without choices the text that is asked."""
    if task.OUTPUT_TYPE == "multiple_choice":
        return list(task.doc_to_choice(sample["doc"]))
    return [str(task.doc_to_target(sample["doc"])).strip()]


def _gold(task: "Task", sample: dict[str, Any], choices: list[str]) -> int | None:
    """The right choice, by lm-eval's rule; None where several are right."""
    gold = (task.doc_to_text if task.multiple_input else task.doc_to_target)(sample["doc"])
    if isinstance(gold, str):
        return choices.index(gold) if gold in choices else None
    return gold if isinstance(gold, int) else None
