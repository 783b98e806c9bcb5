"""Evaluation of a language model on a suite of downstream tasks and in bits per byte, through lm-eval.

Results contain the accuracy of each task and the outcome of every question, so that later analyses need no rerun. Texts
of lm-eval's own tasks, such as Wikitext, are measured in bits per byte, too.
"""

import importlib.metadata
import logging
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.errors import TokbenchError
from tokbench.evaluation.answer_measures import PER_BYTE, measure_answer
from tokbench.evaluation.language_model import check_device, check_model_folder, open_model, window_of
from tokbench.evaluation.load_tasks import load_tasks, revision
from tokbench.evaluation.suites import SuiteOptions
from tokbench.io.identity import Maker, TextDigest, made_from, model_digest, require_model
from tokbench.io.json import write_result
from tokbench.tokenizer.encoder import leading_text
from tokbench.tokenizer.folder import OWN

if TYPE_CHECKING:
    from lm_eval.api.model import LM
    from lm_eval.api.task import Task

    from tokbench.corpus.documents import Document
    from tokbench.evaluation.bits_per_byte import MeasuredBits
    from tokbench.tokenizer import Tokenizer


def outcomes(
    name: str, task: "Task", samples: list[dict[str, Any]], suite: SuiteOptions, lm: "LM", corpus: str = ""
) -> dict[str, Any]:
    """Return a task's entry in the results, see :func:`evaluate`.

    Args:
        name: name of the task.
        task: the task with its questions.
        samples: lm-eval's record of each question asked.
        suite: suite with the metric and the random baseline.
        lm: the model. Boundaries and truncated questions are included for a ``ScoringLM``.
        corpus: name of the corpus that the questions of an offline suite are made from. Default: empty.

    Raises:
        TokbenchError: the task lacks the metric.
    """
    settings = suite.settings(name)
    metric = str(settings.metric)
    if metric not in samples[0]:
        raise TokbenchError(f"suite: task '{name}' has no metric '{metric}' ({samples[0]['metrics']})")
    # Questions in their order, which that of the answers may differ from.
    boundaries = getattr(lm, "boundaries", {}).get(name, {})
    ordered = sorted(samples, key=lambda sample: sample["doc_id"])
    documents = [
        {**_source(suite.source, sample["doc"], corpus), **_answer(task, sample, metric, boundaries)}
        for sample in ordered
    ]
    choices = [document["choices"] for document in documents]

    # Totals of the task.
    n = len(documents)
    accuracy = sum(document["correct"] for document in documents) / n
    baseline = math.fsum(1 / count for count in choices if count > 1) / n
    return {
        "accuracy": accuracy,
        "stderr": math.sqrt(accuracy * (1 - accuracy) / (n - 1)) if n > 1 else None,
        "metric": metric,
        "n": n,
        "choices": sum(choices),
        "random_baseline": baseline if settings.random_baseline is None else settings.random_baseline,
        "num_fewshot": task.config.num_fewshot,
        "straddling": sum(document["straddling"] for document in documents),
        "straddling_questions": sum(bool(document["straddling"]) for document in documents),
        "coverings": unused_coverings(documents),
        "truncated_documents": len(getattr(lm, "truncated_documents", {}).get(name, ())),
        "documents": documents,
    }


def unused_coverings(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return how much likelier contexts would be with token sequences that the tokenizer produced for no choice.

    Returns:
        ``questions`` with straddling choices, and ``mean`` and ``largest`` gain in nats of their contexts. Both are
        None if the bytes of the tokens are unknown. None for a task without straddling choices.
    """
    straddling = [document for document in documents if document["straddling"]]
    if not straddling:
        return None
    gains = [document["unwritten"] for document in straddling if "unwritten" in document]
    complete = len(gains) == len(straddling)
    return {
        "questions": len(straddling),
        "mean": math.fsum(gains) / len(gains) if complete else None,
        "largest": max(gains) if complete else None,
    }


def _source(source: str, question: Mapping[str, Any], corpus: str) -> dict[str, Any]:
    """Return the source of a question of a suite whose tasks are from ``source``."""
    place: dict[str, Any] = {"group": "", "source_corpus": "", "source_document": None}
    if source == "local":
        place |= {key: question[key] for key in ("file", "record", "group")}
    elif source == "offline":
        place |= {"source_corpus": corpus, "source_document": question["document"]}
    return place


def _answer(task: "Task", sample: dict[str, Any], metric: str, boundaries: Mapping[int, Any]) -> dict[str, Any]:
    """Return the answer to a question, as the columns of the tables of questions and as lists by choice."""
    scores = [float(response[0]) for response in sample["filtered_resps"]]
    texts = _choices(task, sample)
    answer = {
        "document": sample["doc_id"],
        "log_likelihoods": [round(score, 6) for score in scores],
        "characters": [len(text) for text in texts],
        "choice_bytes": [_scored_bytes(*request) for request in sample["arguments"][: len(texts)]],
        "straddling_choices": [],
        "gold": None,
        "prediction": None,
        "correct": bool(sample[metric]),
    }
    if sample["doc_id"] in boundaries:
        boundary = boundaries[sample["doc_id"]]
        answer |= {"tokens": boundary.tokens, "straddling_choices": boundary.straddling}
        if boundary.straddling and boundary.unwritten is not None:
            answer["unwritten"] = round(boundary.unwritten, 6)
    if task.OUTPUT_TYPE == "multiple_choice":
        weights = answer["characters"] if metric == PER_BYTE else [1] * len(scores)
        values = [score / weight for score, weight in zip(scores, weights, strict=True)]
        answer |= {"gold": _gold(task, sample, texts), "prediction": values.index(max(values))}
    return answer | measure_answer(answer, metric)


def _scored_bytes(context: str, choice: str) -> int:
    """Return the bytes of the text that a log-likelihood is of: the choice and the white space before it."""
    return len((context + choice).encode()) - len(context.rstrip().encode())


def _choices(task: "Task", sample: dict[str, Any]) -> list[str]:
    """Return the texts whose lengths lm-eval's ``acc_norm`` divides by. For a task without choices, the expected
    text."""
    if task.OUTPUT_TYPE == "multiple_choice":
        return list(task.doc_to_choice(sample["doc"]))
    return [str(task.doc_to_target(sample["doc"])).strip()]


def _gold(task: "Task", sample: dict[str, Any], choices: list[str]) -> int | None:
    """Return the index of the right choice by lm-eval's rule; None if several are right."""
    gold = (task.doc_to_text if task.multiple_input else task.doc_to_target)(sample["doc"])
    if isinstance(gold, str):
        return choices.index(gold) if gold in choices else None
    return gold if isinstance(gold, int) else None


Measure = Callable[[Iterable[bytes]], "tuple[float, MeasuredBits]"]


def measure_text(name: str, task: "Task", measure: Measure, limit: int | None = None) -> dict[str, Any]:
    """Measure bits per byte of a task's texts, as lm-eval defines them.

    The model reads each text as the task prepares it (Wikitext is detokenized). The denominator is the bytes that the
    task counts, for Wikitext those of the text as distributed.

    Args:
        name: name of the task.
        task: a task of the type ``loglikelihood_rolling``.
        measure: function from documents to their bits per byte and totals.
        limit: use only this number of documents, from the first. Default: None, all.

    Returns:
        ``bits_per_byte``, ``bits``, ``bytes`` (the denominator), ``tokens``, the settings of the windows (``window``
        and ``stride`` in tokens), and ``documents``: bits, bytes (the denominator) and tokens of each.

    Raises:
        TokbenchError: the task does not count bytes, or has no text.
    """
    documents = list(task.eval_docs)[:limit]
    sizes = [task.process_results(document, [0.0]).get("bits_per_byte", (0.0, 0))[1] for document in documents]
    if not sum(sizes):
        raise TokbenchError(f"suite: task '{name}' does not count the bytes of its texts; leave it out of texts")
    _, totals = measure(str(task.doc_to_target(document)).encode() for document in documents)
    return {
        "bits_per_byte": totals["bits"] / sum(sizes),
        "bits": totals["bits"],
        "bytes": sum(sizes),
        "tokens": totals["tokens"],
        **totals["cut"],
        "documents": [
            {"document": number, "bits": measured["bits"], "bytes": size, "tokens": measured["tokens"]}
            for number, (measured, size) in enumerate(zip(totals["by_document"], sizes, strict=True))
        ],
    }


ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TQDM_DISABLE": "1"}
"""Environment variables that turn off the network, and progress bars in logs."""
TRAINED_WITH = "evaluate the model with the tokenizer that it was trained with"
EQUAL_CONTEXT = ("bits_per_byte_equal_context", "bits_per_byte_equal_context_of")
"""Keys of bits per byte with equal bytes of context for every tokenizer, and of their totals."""
PACKAGES = ("tokbench", "lm-eval", "torch", "transformers", "datasets")


def evaluate(
    model_folder: Path | str,
    tokenizer_folder: Path | str,
    tasks_folder: Path | str | None,
    suite: SuiteOptions,
    output: Path | str,
    *,
    suite_name: str = "offline",
    names: Mapping[str, str | int] | None = None,
    hub_cache: Path | str | None = None,
    batch_size: int = 16,
    device: str = "cpu",
    limit: int | None = None,
    bits_per_byte_documents: Iterable["Document"] | None = None,
) -> None:
    """Evaluate a model and write accuracies, outcomes of questions, and bits per byte of documents as one JSON file.

    ``tasks`` contains for each task:

    - ``accuracy`` (share of questions, 0 to 1, by the suite's metric) with ``stderr`` (sample standard deviation /
      sqrt(n), as in lm-eval), and ``n``;
    - ``choices`` (of all questions), ``random_baseline``, and ``num_fewshot`` as used;
    - ``straddling`` (choices where the context's own tokens are not a prefix, see
      :mod:`tokbench.evaluation.coverings`), ``straddling_questions`` and ``truncated_documents`` (numbers of
      questions), and ``coverings`` of :func:`unused_coverings`;
    - ``documents``: for each question the columns of :data:`tokbench.tabulation.answers.OUTCOMES` and
      :data:`tokbench.tabulation.answer_measures.ANSWER_MEASURES`. Further the log-likelihood (nats) of each choice,
      and its length in characters, in bytes (``choice_bytes``, of the scored text with the white space before the
      choice) and in tokens (including partial ones), and the ``straddling_choices``. For local suites also file and
      record;
    - ``perturbed``, if the suite requests it: see
      :func:`tokbench.evaluation.perturbed_questions.perturbed_outcomes`.

    ``texts`` contains the suite's texts in bits per byte. ``bits_per_byte`` is null without documents.
    ``bits_per_byte_of`` has its totals and documents, with their numbers in the source, their languages and
    ``bytes_lost``, an upper limit. ``bits_per_byte_equal_context`` is measured with equal
    bytes of context for every tokenizer. If the suite requests them, ``one_segmentation`` is the loss from using only
    one segmentation, and ``summed_bits`` are bits per byte summed over the segmentations of a beam. These three are
    null for a tokenizer of another library, because the bytes of its tokens are unknown. ``other_segmentations`` has
    documents and questions in other segmentations, if the suite requests them, see
    :func:`tokbench.evaluation.resegmented.measure_resegmented`.
    Everything but ``manifest`` is equal from run to run.

    Args:
        model_folder: a Hugging Face causal language model with the tokenizer's vocabulary.
        tokenizer_folder: the tokenizer that the model was trained with.
        tasks_folder: YAML tasks of an offline or local suite; None for a suite of the hub.
        suite: tasks and settings.
        output: the JSON file, written atomically.
        suite_name: recorded in the file. Default: ``offline``.
        names: names of this result in tables (model, variant, size), recorded in the file. The size ``own`` is recorded
            as that of the tokenizer. Default: None.
        hub_cache: for a suite of the hub, the folder filled by
            :func:`tokbench.evaluation.load_tasks.fetch_tasks`. The hub is not accessed. Default: None.
        batch_size: sequences per batch. Default: 16.
        device: a torch device, or ``auto`` for a GPU if there is one. Default: ``cpu``.
        limit: use only this number of questions of each task, in addition to the suite's limits; for trials. Default:
            None.
        bits_per_byte_documents: texts for bits per byte, with their numbers and languages. They are measured in windows
            of the model's ``max_seq_len`` tokens that move by half their length. They are measured again with nearly
            that half in bytes of context, and less than twice that. The suite may limit the bytes of each document.
            Default: None.

    Raises:
        TokbenchError: a folder or task is missing, the model does not fit the tokenizer, or the device does not exist.
    """
    began = time.time()
    model_folder = Path(model_folder)
    check_model_folder(model_folder)
    os.environ.update(ENVIRONMENT)
    if hub_cache is not None:
        os.environ["HF_HOME"] = str(Path(hub_cache).resolve())
    from tokbench.adapters.transformers import adapter_of
    from tokbench.evaluation.bits_per_byte import ByteWindows, TokenWindows, bits_per_byte
    from tokbench.evaluation.byte_beam import summed_bits
    from tokbench.evaluation.coverings import Spellings, resampled
    from tokbench.evaluation.resegmented import measure_resegmented
    from tokbench.evaluation.scoring import ScoringLM
    from tokbench.evaluation.segmentations import EXCERPT, next_after, one_segmentation

    # Model and tokenizer, which must belong together.
    device = check_device(device)
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    adapter = adapter_of(tokenizer_folder)
    tokenizer = adapter.tokenizer
    require_model(model_folder, "tokenizer", Maker(tokenizer.digest, tokenizer_folder), TRAINED_WITH)
    makers = {"tokenizer": tokenizer.digest, "model": model_digest(model_folder)}
    model = open_model(model_folder, device)
    tokens = () if tokenizer.library_name else tokenizer.vocabulary.by_id
    start = _start(model.config, tokenizer)
    rows = max(_last(tokenizer), start) + 1 if tokenizer.has_explicit_ids else len(adapter)
    if model.config.vocab_size < rows:
        raise TokbenchError(
            f"{model_folder}: vocabulary of {model.config.vocab_size}, but {tokenizer_folder} has {rows} "
            f"tokens; {TRAINED_WITH}"
        )
    window = window_of(model)

    # Questions and texts of the suite.
    encode, *draws = (partial(_encoded, sampled) for sampled in (tokenizer, *resampled(tokenizer)))
    spellings = Spellings(tokens) if tokens and not tokenizer.normalization else None
    lm = ScoringLM(
        model,
        adapter,
        encode,
        start,
        spellings=spellings,
        window=window,
        batch_size=batch_size,
        start_token=suite.start_token,
        settled=tokenizer.last_cut,
        draws=draws,
    )
    measure_with = partial(bits_per_byte, model, start=start, batch_size=batch_size, device=device)
    measure = partial(measure_with, encode)
    head = {"corpus": "", **(names or {}), "suite": suite_name}
    if head.get("size") == OWN:
        head["size"] = tokenizer.nominal_size
    corpus = str(head["corpus"])
    disjoint = partial(measure, cut=TokenWindows(window, window))
    result: dict[str, Any] = {**head, **evaluate_suite(lm, suite, tasks_folder, limit, disjoint, corpus)}
    result |= dict.fromkeys(("bits_per_byte", "bits_per_byte_of", *EQUAL_CONTEXT))
    named, windows = [], None
    if bits_per_byte_documents is not None:
        # Bits per byte of documents, in windows by tokens and in windows by bytes.
        most = suite.document_bytes
        text = TextDigest()
        read = text.watched(bits_per_byte_documents, lambda document: document.text)
        named = [document._replace(text=leading_text(document.text, most)) if most else document for document in read]
        makers["text"] = text.hexdigest()
        documents = [document.text for document in named]
        result["bits_per_byte"], overlapping = measure(documents, cut=TokenWindows(window, max(1, window // 2)))
        result["bits_per_byte_of"] = overlapping
        totals = [overlapping]
        if tokens:
            lengths = np.fromiter(map(len, tokens), np.int64)
            windows = ByteWindows(lengths, max(1, window // 2 - 1))
            equal = measure(documents, cut=windows)
            result |= zip(EQUAL_CONTEXT, equal, strict=True)
            totals.append(equal[1])
        lost = [0 if tokenizer.lossless else tokenizer.bytes_lost(text) for text in documents]
        for of_documents in totals:
            for measured, document, bytes_lost in zip(of_documents["by_document"], named, lost, strict=True):
                measured["document"], measured["language"] = document.document, document.language
                measured["bytes_lost"] = bytes_lost

        # The same texts in all segmentations together.
        after, longest = next_after(model, start, device), min(EXCERPT, window - 1)
        if suite.segmentations:
            result["one_segmentation"] = spellings and one_segmentation(
                spellings, encode, documents, after, suite.segmentations, longest=longest
            )
        if suite.byte_beam:
            result["summed_bits"] = spellings and summed_bits(
                spellings, encode, documents, after, suite.byte_beam, longest=longest
            )
    if suite.other_segmentations:
        # Documents and questions in other segmentations, one at a time.
        plain = suite.model_copy(update={"other_segmentations": (), "texts": (), "perturbed": None})
        result["other_segmentations"] = measure_resegmented(
            tokenizer,
            suite.other_segmentations,
            suite.segmentation_seed,
            lm,
            lambda other: evaluate_suite(other, plain, tasks_folder, limit, corpus=corpus),
            named,
            measure_with,
            None if windows is None else (windows, result[EQUAL_CONTEXT[1]]),
        )

    result |= made_from(**makers)
    result["versions"] = {name: importlib.metadata.version(name) for name in PACKAGES}
    result["manifest"] = {
        "model": str(model_folder),
        "tokenizer": str(tokenizer_folder),
        "tasks": None if tasks_folder is None else str(tasks_folder),
        "options": suite.model_dump(mode="json"),
        "limit": limit,
        "batch_size": batch_size,
        "device": device,
        "seconds": round(time.time() - began, 3),
    }
    write_result(output, result)


def _start(config: Any, tokenizer: "Tokenizer") -> int:
    """Return the id of the start token: the end of text, or for external ids the model's own start token.

    A model with external ids was usually not trained here, so only its configuration defines its start token.
    """
    named = [getattr(config, f"{role}_token_id", None) for role in ("bos", "eos")]
    ids = [id for id in named if type(id) is int]
    return ids[0] if tokenizer.has_explicit_ids and ids else tokenizer.end_of_text


def _last(tokenizer: "Tokenizer") -> int:
    """Return the largest id that the tokenizer can yield."""
    named = tokenizer.named
    return len(named.tokens) - 1 if named.ids is None else int(named.ids.max())


def _encoded(tokenizer: "Tokenizer", text: str | bytes) -> list[int]:
    """Return the ids of a text as a list, the form that models and lm-eval read."""
    return tokenizer.encode(text).tolist()


def evaluate_suite(
    lm: "LM",
    suite: SuiteOptions,
    tasks_folder: Path | str | None,
    limit: int | None = None,
    measure: Measure | None = None,
    corpus: str = "",
) -> dict[str, Any]:
    """Ask a model every question of a suite.

    Args:
        lm: any lm-eval model. For a ``ScoringLM``, straddling and truncated questions are also reported.
        suite: tasks and settings.
        tasks_folder: YAML tasks of an offline or local suite.
        limit: use only this number of questions of each task and texts of each text, from the first. Default: None.
        measure: function from documents to bits per byte, for the suite's texts. Default: None, texts are skipped.
        corpus: name of the corpus that the questions of an offline suite are made from. Default: empty.

    Returns:
        ``tasks`` by name (see :func:`evaluate`), ``texts`` by name (see :func:`measure_text`), ``accuracy`` and
        ``random_baseline``: unweighted means over the tasks. For a suite of the hub also ``revisions``, the commit of
        each data set.
    """
    from lm_eval.evaluator import evaluate as run

    from tokbench.evaluation.perturbed_questions import perturbed_outcomes

    with tempfile.TemporaryDirectory(prefix="tokbench-datasets-") as cache:
        # Texts in bits per byte.
        results: dict[str, Any] = {}
        tasks = load_tasks(suite, tasks_folder, cache)
        revisions = {task.config.dataset_path: revision(task) for task in tasks.values()}
        texts = {name: tasks.pop(name) for name in suite.texts}
        measured = {name: measure_text(name, text, measure, limit) for name, text in texts.items() if measure}

        # Questions, clean and perturbed.
        for name, task in tasks.items():
            limits = [value for value in (limit, suite.settings(name).limit) if value is not None]
            samples = run(
                lm=lm,
                task_dict={"tasks": {name: task}},
                limit=min(limits, default=None),
                bootstrap_iters=0,
                log_samples=True,
            )["samples"][name]
            results[name] = outcomes(name, task, samples, suite, lm, corpus)
            if suite.perturbed is not None:
                record = partial(_answer, task, metric=results[name]["metric"])
                asked = name, task, samples, results[name]["metric"]
                results[name]["perturbed"] = perturbed_outcomes(*asked, suite.perturbed, lm, record)
    return {
        "accuracy": math.fsum(task["accuracy"] for task in results.values()) / len(results),
        "random_baseline": math.fsum(task["random_baseline"] for task in results.values()) / len(results),
        "tasks": results,
        "texts": measured,
        **({"revisions": revisions} if suite.source == "hub" else {}),
    }
