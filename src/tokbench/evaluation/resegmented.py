"""Documents and questions read in other segmentations, next to the same ones in the tokenizer's own segmentation.

Documents are read in the windows of :class:`tokbench.evaluation.bits_per_byte.ByteWindows`, so that the bits of
the same bytes are compared, with equal bytes of context. Questions are asked with context and choices segmented
otherwise. A text without a token that differs is left out and counted.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from lm_eval.api.instance import Instance

from tokbench.evaluation.bits_per_byte import MeasuredBits, WindowCutter
from tokbench.evaluation.coverings import EncodedChoices
from tokbench.evaluation.other_segmentations import NO_TEXT, OtherSegmentation, why_none
from tokbench.evaluation.scoring import ScoringLM

if TYPE_CHECKING:
    from tokbench.corpus.documents import Document
    from tokbench.tokenizer import Tokenizer

Measure = Callable[..., tuple[float, MeasuredBits]]
Question = tuple[str, int]
"""Task and number."""


class ResegmentedLM(ScoringLM):
    """The same language model, with questions in another segmentation.

    A question without a different token is not read, and its scores have no meaning.

    Attributes:
        own: questions that have only the tokenizer's tokens, by task.
        longer: questions that are longer than the model's window, by task.
    """

    def __init__(self, lm: ScoringLM, segmentation: OtherSegmentation) -> None:
        batch_size, window = lm.most
        super().__init__(
            lm.model,
            lm.tokenizer,
            segmentation.encode,
            lm.start,
            spellings=lm.spellings,
            window=window,
            batch_size=batch_size,
            start_token=lm.start_token,
        )
        self.segmentation = segmentation
        self.own: dict[str, set[int]] = defaultdict(set)
        self.longer: dict[str, set[int]] = defaultdict(set)
        self._encoded: dict[tuple[str, tuple[str, ...]], tuple[EncodedChoices, bool]] = {}

    def encode_choices(self, context: str, choices: Sequence[str]) -> EncodedChoices:
        return self._encode(context, choices)[0]

    def loglikelihood(self, requests: Sequence[Instance], disable_tqdm: bool = True) -> list[tuple[float, bool]]:
        """Return the scores of choices, as the base class; zero for questions that are not read."""
        self._encoded.clear()
        contexts: dict[Question, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for request in requests:
            contexts[request.task_name, request.doc_id][request.args[0]].append(request.args[1])
        for (task, document), of_question in contexts.items():
            encoded = [self._encode(context, choices) for context, choices in of_question.items()]
            if not any(differs for _, differs in encoded):
                self.own[task].add(document)
            elif max(len(whole) for choices, _ in encoded for whole in choices.wholes) > self.most[1]:
                self.longer[task].add(document)
        places = [place for place, request in enumerate(requests) if request.doc_id not in self.own[request.task_name]]
        scores = dict(
            zip(places, super().loglikelihood([requests[place] for place in places], disable_tqdm), strict=True)
        )
        return [scores.get(place, (0.0, False)) for place in range(len(requests))]

    def _encode(self, context: str, choices: Sequence[str]) -> tuple[EncodedChoices, bool]:
        key = context, tuple(choices)
        if key not in self._encoded:
            self._encoded[key] = self.segmentation.encode_choices(context, choices)
        return self._encoded[key]


def measure_resegmented(
    tokenizer: "Tokenizer",
    kinds: Sequence[str],
    seed: int,
    lm: ScoringLM,
    ask: Callable[[ScoringLM], dict[str, Any]],
    documents: Sequence["Document"],
    measure: Measure,
    equal_context: tuple[WindowCutter, MeasuredBits] | None,
) -> dict[str, dict[str, Any]]:
    """Measure bits per byte and ask the questions of a suite, in each of some other segmentations.

    Args:
        tokenizer: the tokenizer.
        kinds: kinds of segmentations, see :class:`tokbench.evaluation.other_segmentations.OtherSegmentation`.
        seed: seed of random segmentations.
        lm: the model with the tokenizer's own segmentation.
        ask: function that asks a model every question, see :func:`tokbench.evaluation.evaluate.evaluate_suite`.
        documents: texts for bits per byte; none if they are not measured.
        measure: :func:`tokbench.evaluation.bits_per_byte.bits_per_byte` of the model.
        equal_context: windows by bytes, and the documents' bits in these with the tokenizer's own tokens. None if they
            are not measured.

    Returns:
        By kind: ``reason`` (why nothing is measured, null if something is), ``documents`` (for each document with a
        different token its number, language, bytes, and bits and tokens in both segmentations, ``own_bits`` and
        ``own_tokens`` being the tokenizer's), ``documents_left_out``, and ``tasks`` in the form of
        :func:`tokbench.evaluation.evaluate.evaluate`, where ``documents`` are the questions with a different
        token, ``left_out`` counts the others, and ``longer_documents`` those longer than the model's window.
    """
    measurements: dict[str, dict[str, Any]] = {}
    for kind in kinds:
        reason = why_none(tokenizer)
        if reason is not None:
            measurements[kind] = {"reason": reason, "documents": [], "documents_left_out": len(documents), "tasks": {}}
            continue
        segmentation = OtherSegmentation(tokenizer, kind, seed)
        rows = _documents(segmentation, lm, documents, measure, *equal_context) if equal_context else []
        tasks = _tasks(ResegmentedLM(lm, segmentation), ask)
        measured = rows or any(task["documents"] for task in tasks.values())
        measurements[kind] = {
            "reason": None if measured else NO_TEXT,
            "documents": rows,
            "documents_left_out": len(documents) - len(rows),
            "tasks": tasks,
        }
    return measurements


def _documents(
    segmentation: OtherSegmentation,
    lm: ScoringLM,
    documents: Sequence["Document"],
    measure: Measure,
    cut: WindowCutter,
    own: MeasuredBits,
) -> list[dict[str, Any]]:
    """Return a row for each document with a different token."""
    ids = [np.array(segmentation.encode(document.text), np.int64) for document in documents]
    chosen = [
        number
        for number, (document, other) in enumerate(zip(documents, ids, strict=True))
        if not np.array_equal(other, lm.encode(document.text))
    ]
    if not chosen:
        return []
    others = iter([ids[number].tolist() for number in chosen])
    _, totals = measure(lambda text: next(others), [documents[number].text for number in chosen], cut=cut)
    return [
        {
            "document": documents[number].document,
            "language": documents[number].language,
            "bytes": measured["bytes"],
            "own_bits": own["by_document"][number]["bits"],
            "bits": measured["bits"],
            "own_tokens": own["by_document"][number]["tokens"],
            "tokens": measured["tokens"],
        }
        for number, measured in zip(chosen, totals["by_document"], strict=True)
    ]


def _tasks(lm: ResegmentedLM, ask: Callable[[ScoringLM], dict[str, Any]]) -> dict[str, Any]:
    """Return the outcomes of a suite's tasks, of the questions with a different token only."""
    tasks = {}
    for name, task in ask(lm)["tasks"].items():
        own = lm.own[name]
        questions = [question for question in task["documents"] if question["document"] not in own]
        tasks[name] = {
            "metric": task["metric"],
            "n": len(questions),
            "left_out": len(task["documents"]) - len(questions),
            "longer_documents": len(lm.longer[name]),
            "truncated_documents": task["truncated_documents"],
            "documents": questions,
        }
    return tasks
