"""Evaluation of models on suites: oracles, guessers, mistakes, and the whole file."""

import json
import math
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from tests.support.downstream_tasks import (
    DOCUMENTS,
    OFFLINE,
    SMALL,
    prose,
    requests_of,
    rows,
    spaced,
    stub,
    tiny_mpt,
    toy_adapter,
)
from tokbench.corpus.documents import Document
from tokbench.downstream.local import write_local_tasks
from tokbench.downstream.suites import LocalTask, SuiteOptions, named_suite
from tokbench.downstream.tasks import make_tasks
from tokbench.errors import TokbenchError
from tokbench.result_files import read_result


def test_an_oracle_is_always_right_and_a_guesser_by_chance(torch: ModuleType, offline_tasks: Path) -> None:
    from tokbench.downstream.evaluate import evaluate_suite

    text = spaced(DOCUMENTS)
    suite = SuiteOptions(tasks=OFFLINE, num_fewshot=2)
    result = evaluate_suite(
        stub(lambda context, choice: float((context + choice).split("\n\n")[-1].strip() in text)), suite, offline_tasks
    )
    assert result["accuracy"] == 1
    assert result["random_baseline"] == pytest.approx(0.3125)
    assert [result["tasks"][task]["num_fewshot"] for task in OFFLINE] == [2, 2, 0, 0]
    rng = Random(0)
    guessed = evaluate_suite(stub(lambda context, choice: rng.random()), suite, offline_tasks)
    for task, outcome in guessed["tasks"].items():
        baseline, n = outcome["random_baseline"], outcome["n"]
        assert n == 40
        assert abs(outcome["accuracy"] - baseline) < 4 * math.sqrt(baseline * (1 - baseline) / n), task
        golds = [row["gold"] for row in rows(offline_tasks / f"{task}.test.jsonl")]
        for document, gold in zip(outcome["documents"], golds, strict=True):
            scores = document["log_likelihoods"]
            assert document["prediction"] == scores.index(max(scores))
            assert document["correct"] == (document["prediction"] == gold)


def test_limits_and_mistakes_of_a_suite(torch: ModuleType, offline_tasks: Path) -> None:
    from tokbench.downstream.evaluate import evaluate_suite

    one = stub(lambda context, choice: 0.0)
    suite = SuiteOptions(tasks=OFFLINE[:2], limit=10, overrides={"last_word": {"limit": 5}})  # type: ignore[dict-item]
    assert [task["n"] for task in evaluate_suite(one, suite, offline_tasks)["tasks"].values()] == [10, 5]
    assert [task["n"] for task in evaluate_suite(one, suite, offline_tasks, limit=7)["tasks"].values()] == [7, 5]
    with pytest.raises(TokbenchError, match="Did you mean 'last_word'"):
        evaluate_suite(one, SuiteOptions(tasks=("last_words",)), offline_tasks)
    with pytest.raises(TokbenchError, match="8 questions for examples"):
        evaluate_suite(one, SuiteOptions(tasks=("continuation",), num_fewshot=9), offline_tasks)
    with pytest.raises(TokbenchError, match="no metric 'acc_norm'"):
        evaluate_suite(one, SuiteOptions(tasks=("continuation",), metric="acc_norm"), offline_tasks)


def test_no_question_is_its_own_example(torch: ModuleType, tmp_path: Path) -> None:
    from tokbench.downstream.evaluate import evaluate_suite

    make_tasks([(0, prose(5, paragraphs=1))], tmp_path / "tasks", SMALL.model_copy(update={"fewshot_pool": 0}))
    asked = len(rows(tmp_path / "tasks" / "last_word.test.jsonl"))
    contexts = []
    suite = SuiteOptions(tasks=("last_word",), num_fewshot=asked - 1)
    evaluate_suite(stub(lambda context, choice: contexts.append(context) or 0.0), suite, tmp_path / "tasks")
    assert len(contexts) == 4 * asked
    assert all(len(set(context.split("\n\n"))) == asked for context in contexts)
    for context in contexts:
        *examples, question = context.split("\n\n")
        assert not any(example.startswith(question) for example in examples)


def test_schemas_scored_by_their_endings_and_texts_without_choices(torch: ModuleType, tmp_path: Path) -> None:
    from tokbench.downstream.coverings import Spellings
    from tokbench.downstream.evaluate import evaluate_suite
    from tokbench.downstream.scoring_lm import ScoringLM

    ending = {"context_options": ["The house", "The stone"], "continuation": "was here", "gold": 1}
    (tmp_path / "ending.jsonl").write_text(json.dumps(ending) + "\n")
    (tmp_path / "completion.jsonl").write_text(json.dumps({"context": "the", "continuation": "road"}) + "\n")
    files = {
        "ending": LocalTask(format="schemas", file="ending.jsonl"),
        "completion": LocalTask(format="completions", file="completion.jsonl"),
    }
    suite = SuiteOptions(source="local", tasks=tuple(files), files=files, path=tmp_path)
    write_local_tasks(suite, tmp_path / "tasks")
    model, adapter = tiny_mpt(torch), toy_adapter()
    lm = ScoringLM(
        model,
        adapter,
        lambda text: adapter.tokenizer.encode(text).tolist(),
        adapter.eos_token_id,
        spellings=Spellings(adapter.tokenizer.vocabulary.tokens),
        window=64,
        batch_size=2,
    )
    tasks = evaluate_suite(lm, suite, tmp_path / "tasks")["tasks"]
    pairs = [(opening, [" was here"]) for opening in ("The house", "The stone")]
    scores = [score for score, _ in lm.loglikelihood(requests_of(pairs))]
    (outcome,) = tasks["ending"]["documents"]
    assert outcome["log_likelihoods"] == pytest.approx(scores, abs=1e-5)
    assert outcome["correct"] == (outcome["prediction"] == 1) == (scores[1] > scores[0])
    assert tasks["ending"]["random_baseline"] == 0.5
    assert tasks["completion"]["random_baseline"] == 0
    assert tasks["completion"]["documents"][0]["prediction"] is None


def test_evaluate_writes_the_same_file_twice(
    torch: ModuleType, offline_tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokbench.adapters.transformers import TokbenchTokenizer
    from tokbench.downstream.evaluate import evaluate

    adapter = toy_adapter()
    monkeypatch.setattr(TokbenchTokenizer, "from_folder", lambda folder: adapter)
    tiny_mpt(torch, 64).save_pretrained(tmp_path / "model")
    suite = named_suite("offline").model_copy(update={"segmentations": 2})
    begun = suite.model_copy(update={"document_bytes": 500})
    written = []
    for name, asked, documents in (
        ("one", suite, [(number, text[:500]) for number, text in DOCUMENTS]),
        ("two", begun, DOCUMENTS),
    ):
        evaluate(
            tmp_path / "model",
            tmp_path,
            offline_tasks,
            asked,
            tmp_path / f"{name}.json",
            bits_per_byte_documents=[Document(number, "en", text) for number, text in documents],
        )
        result = read_result(tmp_path / f"{name}.json", "")
        assert result.pop("manifest")["device"] == "cpu"
        written.append(result)
    assert written[0] == written[1]
    assert written[0]["bits_per_byte"] > 0
    for key in ("bits_per_byte_of", "bits_per_byte_equal_context_of"):
        told = [(one["document"], one["language"], one["bytes"]) for one in written[0][key]["by_document"]]
        assert told == [(number, "en", len(text[:500])) for number, text in DOCUMENTS]
    one = written[0]["one_segmentation"]
    assert (one["samples"], one["documents"]) == (2, 2)
    assert 0 <= one["low"] <= one["bits_per_byte"] <= one["high"]
    for task in written[0]["tasks"].values():  # a model that has learned nothing
        baseline = task["random_baseline"]
        assert abs(task["accuracy"] - baseline) < 4 * math.sqrt(baseline * (1 - baseline) / task["n"])
    assert written[0]["tasks"]["last_word"]["straddling_documents"] > 0
    with pytest.raises(TokbenchError, match=r"no config\.json"):
        evaluate(tmp_path, tmp_path, offline_tasks, suite, tmp_path / "three.json")


def test_a_device_that_is_not_there(torch: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokbench.downstream.evaluate import evaluate

    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(TokbenchError, match="device 'cuda:1': torch finds no CUDA device; choose 'cpu'"):
        evaluate(tmp_path, tmp_path, None, SuiteOptions(tasks=("a",)), tmp_path / "out.json", device="cuda:1")
