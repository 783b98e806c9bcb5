"""Evaluation of models on suites: oracles, guessers, mistakes, and the complete file.

Suites as data: names, settings, and that lm-eval has their tasks.

Loss by one segmentation: estimates against all segmentations of short texts.
"""

import json
import math
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from tests.support.fake_results import (
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
from tokbench.errors import TokbenchError
from tokbench.evaluation.coverings import Spellings
from tokbench.evaluation.local_tasks import write_local_tasks
from tokbench.evaluation.offline_tasks import make_tasks
from tokbench.evaluation.segmentations import Ids, Next, interval_per_byte, lost_nats, one_segmentation
from tokbench.evaluation.suites import LocalTask, SuiteOptions, named_suite, named_suites
from tokbench.io.json import read_result
from tokbench.statistics.significance.estimate import ratio


def test_an_oracle_is_always_right_and_a_guesser_by_chance(torch: ModuleType, offline_tasks: Path) -> None:
    from tokbench.evaluation.evaluate import evaluate_suite

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
        for document, row in zip(outcome["documents"], rows(offline_tasks / f"{task}.test.jsonl"), strict=True):
            assert document["choice_bytes"] == [1 + len(choice.encode()) for choice in row["choices"]], "with the space"
            assert document["source_document"] == row["document"]


def test_bytes_are_those_after_the_text_of_the_context(torch: ModuleType) -> None:
    from tokbench.evaluation.evaluate import _scored_bytes

    for context, choice, scored in (
        ("the", " road", " road"), ("the ", "road", " road"), ("the\n\n", " é", "\n\n é"), ("", " road", " road"),
        (" ", "road", " road"), ("the", "road", "road"),
    ):  # fmt: skip
        assert _scored_bytes(context, choice) == len(scored.encode())


def test_limits_and_mistakes_of_a_suite(torch: ModuleType, offline_tasks: Path) -> None:
    from tokbench.evaluation.evaluate import evaluate_suite

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
    from tokbench.evaluation.evaluate import evaluate_suite

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
    from tokbench.evaluation.coverings import Spellings
    from tokbench.evaluation.evaluate import evaluate_suite
    from tokbench.evaluation.scoring import ScoringLM

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
    assert outcome["choice_bytes"] == [len(" was here")] * 2, "the scored text, not the choices"
    assert tasks["completion"]["documents"][0]["choice_bytes"] == [len(" road")]
    assert tasks["ending"]["random_baseline"] == 0.5
    assert tasks["completion"]["random_baseline"] == 0
    assert tasks["completion"]["documents"][0]["prediction"] is None


def test_evaluate_writes_the_same_file_twice(
    torch: ModuleType, offline_tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokbench.adapters.transformers import TokbenchTokenizer
    from tokbench.evaluation.evaluate import evaluate

    adapter = toy_adapter()
    monkeypatch.setattr(TokbenchTokenizer, "from_folder", lambda folder: adapter)
    tiny_mpt(torch, 64).save_pretrained(tmp_path / "model")
    suite = named_suite("offline").model_copy(update={"segmentations": 2, "byte_beam": 3})
    begun = suite.model_copy(update={"document_bytes": 500})
    written, makers = [], []
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
        makers.append(result.pop("made_from"))
        written.append(result)
    assert written[0] == written[1]
    assert [one["tokenizer"] for one in makers] == ["a toy"] * 2
    assert makers[0]["model"] == makers[1]["model"]
    assert makers[0]["text"] != makers[1]["text"], "of the whole documents"
    assert written[0]["bits_per_byte"] > 0
    for key in ("bits_per_byte_of", "bits_per_byte_equal_context_of"):
        told = [(one["document"], one["language"], one["bytes"]) for one in written[0][key]["by_document"]]
        assert told == [(number, "en", len(text[:500])) for number, text in DOCUMENTS]
    one = written[0]["one_segmentation"]
    assert (one["samples"], one["documents"]) == (2, 2)
    assert 0 <= one["low"] <= one["bits_per_byte"] <= one["high"]
    beam = written[0]["summed_bits"]
    assert (beam["width"], beam["documents"], beam["bytes"]) == (3, 2, one["bytes"])
    assert 0 <= beam["low"] <= beam["gap"] <= beam["high"]
    assert beam["own_bits_per_byte"] == pytest.approx(beam["bits_per_byte"] + beam["gap"])
    for task in written[0]["tasks"].values():  # a model that has learned nothing
        baseline = task["random_baseline"]
        assert abs(task["accuracy"] - baseline) < 4 * math.sqrt(baseline * (1 - baseline) / task["n"])
    assert written[0]["tasks"]["last_word"]["straddling_questions"] > 0
    with pytest.raises(TokbenchError, match=r"no config\.json"):
        evaluate(tmp_path, tmp_path, offline_tasks, suite, tmp_path / "three.json")


def test_a_device_that_is_not_there(torch: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokbench.evaluation.evaluate import evaluate

    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(TokbenchError, match="device 'cuda:1': torch finds no CUDA device; choose 'cpu'"):
        evaluate(tmp_path, tmp_path, None, SuiteOptions(tasks=("a",)), tmp_path / "out.json", device="cuda:1")


def test_named_suites() -> None:
    assert set(named_suites()) >= {"offline", "tokenization_is_more_than_compression"}
    published = named_suite("tokenization_is_more_than_compression")
    assert len(published.tasks) == 10
    baselines = [published.settings(task).random_baseline for task in published.tasks]
    assert sum(map(float, baselines)) / 10 == pytest.approx(0.32)  # type: ignore[arg-type]
    assert {published.settings(task).num_fewshot for task in published.tasks} == {5}
    assert named_suite("offline").tasks == OFFLINE
    with pytest.raises(TokbenchError, match="Did you mean 'offline'"):
        named_suite("ofline")


def test_suite_mistakes_are_named() -> None:
    with pytest.raises(ValidationError, match="Did you mean 'copa'"):
        SuiteOptions(tasks=("copa",), overrides={"coppa": {}})  # type: ignore[dict-item]
    with pytest.raises(ValidationError, match="listed twice"):
        SuiteOptions(tasks=("copa", "copa"))


def test_hub_suites_name_tasks_that_lm_eval_has(torch: ModuleType) -> None:
    import lm_eval.tasks

    @cache
    def written(place: Path) -> list[str]:
        return [file.read_text(encoding="utf-8") for file in place.rglob("*") if "yaml" in file.name]

    collection = Path(lm_eval.tasks.__file__).parent
    folders = {"arc_easy": "arc", "arc_challenge": "arc", "copa": "super_glue", "boolq": "super_glue"}
    for suite in named_suites().values():
        texts = []
        for task in (*suite.tasks, *suite.texts) if suite.source == "hub" else ():
            texts += written(collection / folders.get(task, task.split("_")[0]))
            assert any(f"task: {task}\n" in text or f'"task": "{task}"' in text for text in texts), task
        for data_set in suite.revisions:
            assert any(f"dataset_path: {data_set}\n" in text for text in texts), data_set


def test_data_sets_are_loaded_at_their_pinned_revision(
    torch: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets
    from lm_eval.tasks import TaskManager

    from tokbench.evaluation.load_tasks import pinned, revision, unpinned_line

    asked = []

    def load_dataset(**given: Any) -> None:
        asked.append(given)
        raise FileNotFoundError

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    commit = "0123456789" * 4
    (tmp_path / "toy.yaml").write_text("task: toy\ndataset_path: some/set\ndataset_kwargs: {data_dir: x}\n")
    manager = TaskManager(include_path=str(tmp_path), include_defaults=False)
    suite = SuiteOptions(source="hub", tasks=("toy",))
    assert pinned(manager, "toy", suite) == "toy"
    told = unpinned_line(suite, {"some/set": commit, "other/set": None})
    assert told == (
        "warning: not pinned, the newest commit was fetched: some/set, other/set; to pin them, add to the revisions "
        f"of the suite: some/set: {commit}, other/set: COMMIT"
    )
    suite = SuiteOptions(source="hub", tasks=("toy",), revisions={"some/set": commit})
    assert unpinned_line(suite, {"some/set": commit}) is None
    with pytest.raises(FileNotFoundError):
        manager.load([pinned(manager, "toy", suite)])
    assert asked == [{"path": "some/set", "name": None, "data_dir": "x", "revision": commit}]
    with pytest.raises(TokbenchError, match="Did you mean 'toy'"):
        pinned(manager, "toi", suite)
    cached = SimpleNamespace(cache_files=[{"filename": f"cache/some___set/default/0.0.0/{commit}/set-test.arrow"}])
    assert revision(SimpleNamespace(dataset={"test": cached})) == commit  # type: ignore[arg-type]
    local = SimpleNamespace(cache_files=[{"filename": "cache/json/default/0.0.0/ab/json-test.arrow"}])
    assert revision(SimpleNamespace(dataset={"test": local})) is None  # type: ignore[arg-type]


TOKENS = [b"a", b"b", b" ", b"ab", b"ba", b"aba", b" a", b"b b"]
SPELLINGS = Spellings(TOKENS)


def model(seed: int) -> Next:
    """The next token's probabilities depend on all tokens before it."""

    def after(sequences: Sequence[Ids]) -> np.ndarray:
        rows = [np.random.default_rng([seed, *ids]).dirichlet(np.ones(len(TOKENS) + 1)) for ids in sequences]
        return np.log(np.array(rows))

    return after


def every(text: bytes) -> Iterator[Ids]:
    if not text:
        yield ()
    for id in SPELLINGS.opening(text):
        for rest in every(text[len(TOKENS[id]) :]):
            yield id, *rest


def probability(ids: Ids, after: Next) -> float:
    return math.exp(sum(float(after([ids[:place]])[0, id]) for place, id in enumerate(ids)))


@pytest.mark.parametrize(("seed", "samples"), [(0, 8), (1, 8), (2, 8), (3, 8), (0, 1)])
def test_draws_have_the_sum_over_all_segmentations_as_their_mean(seed: int, samples: int) -> None:
    text, after = b"abab ab b", model(seed)
    own = min(every(text), key=len)
    probabilities = {ids: probability(ids, after) for ids in every(text)}
    expected = sum(probabilities.values()) / probabilities[own]
    rng = np.random.default_rng(seed)
    found = [math.exp(lost_nats(SPELLINGS, text, own, after, samples, rng)) for _ in range(480 // samples)]
    assert all(one >= 1 for one in found)
    spread = np.std(found) / math.sqrt(len(found))
    assert abs(np.mean(found) - expected) < 4 * spread + 1e-9
    assert spread < 0.2 * expected


def test_a_text_that_can_be_spelt_in_one_way_loses_nothing() -> None:
    spellings = Spellings([b"a", b"b", b" "])
    after = model(0)
    assert lost_nats(spellings, b"ab a", (0, 1, 2, 0), after, 3, np.random.default_rng(0)) == 0
    nothing = one_segmentation(spellings, lambda text: [b"ab ".index(value) for value in text], [b""], after, 3)
    assert nothing is None


def test_the_estimate_over_documents() -> None:
    def encode(text: bytes) -> list[int]:
        return list(min(every(text), key=len))

    documents = [b"ab ba", b"", b" ", b"abab " * 9, b"ba ab b"]
    found = one_segmentation(SPELLINGS, encode, documents, model(1), 16, longest=12)
    assert found == one_segmentation(SPELLINGS, encode, documents, model(1), 16, longest=12)
    assert found is not None
    assert (found["documents"], found["bytes"], found["samples"]) == (4, 5 + 1 + 9 + 7, 16)
    assert 0 <= found["low"] <= found["bits_per_byte"] <= found["high"]
    assert found["low"] < found["high"]


def test_an_interval_of_lost_bits_is_that_of_a_ratio_over_documents_and_ends_at_zero() -> None:
    bits, sizes = np.array([4.0, 0, 2, 8, 1, 3]), np.array([20.0, 10, 30, 20, 10, 10])
    expected = ratio(bits, sizes)
    assert expected is not None
    assert interval_per_byte(bits, sizes) == (0.18, *expected.ends())
    value, low, high = interval_per_byte(bits[2:4], sizes[2:4])
    assert (value, low) == (0.2, 0)
    assert high is not None
    assert high > 1


def test_one_document_has_no_interval_and_equal_ones_have_none() -> None:
    assert interval_per_byte(np.array([2.0]), np.array([10.0])) == (0.2, None, None)
    assert interval_per_byte(np.zeros(9), np.ones(9)) == (0, None, None)


def test_a_causal_model_is_asked_after_the_start() -> None:
    torch = pytest.importorskip("torch")
    from tests.support.fake_results import tiny_mpt
    from tokbench.evaluation.segmentations import next_after

    model = tiny_mpt(torch)
    found = next_after(model, 300, "cpu")([(), (5, 6, 7), (9,)])
    with torch.inference_mode():
        for row, ids in zip(found, ([300], [300, 5, 6, 7], [300, 9]), strict=True):
            logits = model(input_ids=torch.tensor([ids])).logits[0, -1].double().log_softmax(-1)
            assert row == pytest.approx(logits.numpy(), abs=1e-5)
