"""Stand-in for the evaluation of a language model: answers and bits per byte drawn from the model's name."""

import json
import math
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tokbench.corpus.documents import Document
from tokbench.evaluation.answer_measures import measure_answer
from tokbench.evaluation.suites import SuiteOptions
from tokbench.io.atomic import reject_altered
from tokbench.io.identity import made_from, model_digest
from tokbench.io.json import write_result
from tokbench.tokenizer import Tokenizer


def evaluate(
    model_folder: Path | str,
    tokenizer_folder: Path | str,
    tasks_folder: Path | str | None,
    suite: SuiteOptions,
    output: Path | str,
    *,
    suite_name: str = "offline",
    names: Mapping[str, str | int] | None = None,
    bits_per_byte_documents: Iterable[Document] | None = None,
    **unused: Any,
) -> None:
    """Write the files of an evaluation, without a model."""
    del unused
    named = dict(names or {})
    assert tasks_folder is not None
    reject_altered(Path(model_folder) / "model.safetensors", "delete its folder")
    rng = np.random.default_rng(zlib.crc32(json.dumps(named, sort_keys=True).encode()))
    tasks = {name: _answered(Path(tasks_folder) / f"{name}.test.jsonl", rng) for name in suite.tasks}
    texts = list(bits_per_byte_documents or ())
    sizes = [len(document.text) for document in texts]
    bits = [size * (2.5 + rng.random() / 10) for size in sizes]
    result = {
        **named,
        "suite": suite_name,
        "accuracy": float(np.mean([task["accuracy"] for task in tasks.values()])),
        "random_baseline": float(np.mean([task["random_baseline"] for task in tasks.values()])),
        "tasks": tasks,
        "texts": {},
        "bits_per_byte": sum(bits) / sum(sizes) if sizes else None,
        "bits_per_byte_of": _text(texts, bits) if sizes else None,
        "versions": {},
        "manifest": {"stands_in": True, "model": str(model_folder), "tokenizer": str(tokenizer_folder), "seconds": 0.0},
    }
    result |= made_from(tokenizer=Tokenizer.load(tokenizer_folder).digest, model=model_digest(Path(model_folder)))
    write_result(output, result)


def _answered(questions: Path, rng: np.random.Generator) -> dict[str, Any]:
    """Every question of a task with a choice that was drawn."""
    documents = []
    for number, line in enumerate(questions.read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        characters = [len(choice) for choice in row["choices"]]
        likelihoods = (-rng.random(len(characters)) * 50 - 1).round(6).tolist()
        prediction = int(np.argmax(likelihoods))
        answer = {
            "document": number,
            "group": "",
            "source_corpus": "",
            "source_document": None,
            "log_likelihoods": likelihoods,
            "characters": characters,
            "choice_bytes": [len(choice.encode()) for choice in row["choices"]],
            "straddling_choices": [],
            "gold": row["gold"],
            "prediction": prediction,
            "correct": prediction == row["gold"],
            "tokens": [1 + length // 4 for length in characters],
        }
        documents.append(answer | measure_answer(answer, "acc"))
    accuracy = float(np.mean([one["correct"] for one in documents]))
    choices = sum(len(one["characters"]) for one in documents)
    return {
        "accuracy": accuracy,
        "stderr": math.sqrt(accuracy * (1 - accuracy) / max(1, len(documents) - 1)),
        "metric": "acc",
        "n": len(documents),
        "choices": choices,
        "random_baseline": len(documents) / choices,
        "num_fewshot": 0,
        "straddling": 0,
        "straddling_questions": 0,
        "coverings": None,
        "truncated_documents": 0,
        "documents": documents,
    }


def _text(texts: list[Document], bits: list[float]) -> dict[str, Any]:
    sizes = [len(document.text) for document in texts]
    tokens = [1 + size // 4 for size in sizes]
    return {
        "bits": sum(bits),
        "tokens": sum(tokens),
        "bytes": sum(sizes),
        "documents": len(sizes),
        "cut": {"window": 256, "stride": 128},
        "by_document": [
            {
                "bits": bit,
                "tokens": count,
                "bytes": len(document.text),
                "document": document.document,
                "language": document.language,
                "bytes_lost": 0,
            }
            for bit, count, document in zip(bits, tokens, texts, strict=True)
        ],
    }
