"""Perturbed questions: the same text for every model, pairing with the clean ones, and results without them.

Hand-made questions, with models that score by a function or by known log-probabilities.
"""

import json
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.fake_results import requests_of, rows, stub, tiny_mpt, toy_adapter
from tokbench.evaluation.local_tasks import write_local_tasks
from tokbench.evaluation.suites import LocalTask, PerturbedQuestions, SuiteOptions
from tokbench.io.json import write_result
from tokbench.robustness.perturbations import KINDS, Edit, perturb, restore
from tokbench.statistics.comparisons.perturbed_answers import perturbed_measure_table
from tokbench.tabulation.answer_measures import PERTURBED, perturbed_answer_table

CHOICES = [
    {"query": "Paris has 2 towers and", "choices": ["one river", "no river"], "gold": 0},
    {"query": "the river runs past 14 towns", "choices": ["to the sea", "to the hill"], "gold": 0},
    {"query": "no number is here", "choices": ["at all", "today"], "gold": 1},
]
SCHEMAS = [
    {"context_options": ["The old house by the road", "The old house by the stone"], "continuation": "fell", "gold": 1}
]
COMPLETIONS = [{"context": "he saw 3 ships", "continuation": "at sea"}]
PAIRS = [{"sentence_good": "a good sentence", "sentence_bad": "a sentence good"}]
EVERY = {"kinds": ["upper", "spelt_number"], "rate": 1}


def made(folder: Path, perturbed: dict[str, Any] | None = None, **options: Any) -> SuiteOptions:
    """Write a local suite of four tasks and return it."""
    files = {}
    for name, form, questions in (
        ("query", "choices", CHOICES), ("schema", "schemas", SCHEMAS), ("completion", "completions", COMPLETIONS),
        ("pair", "minimal_pairs", PAIRS),
    ):  # fmt: skip
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in questions))
        files[name] = LocalTask(format=form, file=f"{name}.jsonl")  # type: ignore[arg-type]
    options = {"tasks": tuple(files), "perturbed": perturbed} | options
    suite = SuiteOptions(source="local", files=files, path=folder, **options)
    write_local_tasks(suite, folder / "tasks")
    return suite


def test_only_the_text_of_the_question_changes(torch: ModuleType, tmp_path: Path) -> None:
    from tokbench.evaluation.evaluate import evaluate_suite

    suite = made(tmp_path, EVERY, num_fewshot=1, tasks=("query",))
    asked: list[tuple[str, str]] = []
    score = stub(lambda context, choice: asked.append((context, choice)) or 0.0)
    evaluate_suite(score, suite, tmp_path / "tasks")
    contexts = [context for context, _ in asked]
    clean = contexts[:6]
    split = [context.rpartition("\n\n") for context in clean]
    assert contexts[6:12] == [f"{example}{gap}{question.upper()}" for example, gap, question in split]
    spelt = [question.replace("2", "two").replace("14", "fourteen") for _, _, question in split]
    assert contexts[12:] == [f"{split[place][0]}\n\n{spelt[place]}" for place in range(4)], "the third has no number"
    choices = [choice for _, choice in asked]
    assert choices[6:12] == choices[:6], "choices stay as they are"


def test_schemas_change_in_their_common_words(torch: ModuleType, tmp_path: Path) -> None:
    from tokbench.evaluation.evaluate import evaluate_suite

    suite = made(tmp_path, EVERY, tasks=("schema", "completion"))
    asked: list[tuple[str, str]] = []
    found = evaluate_suite(
        stub(lambda context, choice: asked.append((context, choice)) or 0.0), suite, tmp_path / "tasks"
    )["tasks"]
    assert asked == [
        ("The old house by the road", " fell"),
        ("The old house by the stone", " fell"),
        ("THE OLD HOUSE BY THE road", " fell"),
        ("THE OLD HOUSE BY THE stone", " fell"),
        ("he saw 3 ships", " at sea"),
        ("HE SAW 3 SHIPS", " at sea"),
        ("he saw three ships", " at sea"),
    ]
    kinds = found["schema"]["perturbed"]["kinds"]
    assert (kinds["spelt_number"]["n"], kinds["spelt_number"]["unchanged"]) == (0, 1)
    assert kinds["spelt_number"]["accuracy"] is None
    assert kinds["upper"]["documents"][0]["edits"][0] == [0, "The", "THE"]


def test_the_edits_restore_the_question(torch: ModuleType, tmp_path: Path) -> None:
    from tokbench.evaluation.evaluate import evaluate_suite

    suite = made(tmp_path, {"rate": 0.5, "seed": 3}, tasks=("query",))
    contexts: dict[str, None] = {}
    result = evaluate_suite(
        stub(lambda context, choice: contexts.setdefault(context) or 0.0), suite, tmp_path / "tasks"
    )
    task = result["tasks"]["query"]
    questions = [row["context"] for row in rows(tmp_path / "tasks" / "query.test.jsonl")]
    assert list(task["perturbed"]["kinds"]) == list(KINDS)
    for kind in task["perturbed"]["kinds"].values():
        assert kind["n"] + kind["unchanged"] == 3
        assert [one["document"] for one in kind["documents"]] == sorted({one["document"] for one in kind["documents"]})
        for one in kind["documents"]:
            changes = [Edit(*edit) for edit in one["edits"]]
            question = questions[one["document"]]
            after = perturb(question, changes)
            assert after in contexts
            assert after != question
            assert restore(after, changes) == question
            assert one["bytes"] == task["documents"][one["document"]]["bytes"], "the right answer has the same bytes"


def test_every_tokenizer_reads_the_same_text_and_runs_agree(torch: ModuleType, tmp_path: Path) -> None:
    from tokbench.evaluation.evaluate import evaluate_suite

    suite = made(tmp_path, {"rate": 0.5}, tasks=("query",))
    read: list[list[tuple[str, str]]] = []
    results = []
    for sign in (1, -1, 1):
        read.append([])
        score = lambda context, choice: read[-1].append((context, choice)) or sign * float(len(choice))  # noqa: B023, E731
        results.append(evaluate_suite(stub(score), suite, tmp_path / "tasks"))
    assert read[0] == read[1] == read[2]
    assert results[0] == results[2] != results[1]
    other = suite.model_copy(update={"perturbed": PerturbedQuestions(rate=0.5, seed=1)})
    assert evaluate_suite(stub(lambda context, choice: float(len(choice))), other, tmp_path / "tasks") != results[0]
    fewer = suite.model_copy(update={"perturbed": PerturbedQuestions(rate=0.5, kinds=("insert",))})
    some = evaluate_suite(stub(lambda context, choice: float(len(choice))), fewer, tmp_path / "tasks")
    kinds = [one["tasks"]["query"]["perturbed"]["kinds"]["insert"] for one in (results[0], some)]
    assert kinds[0] == kinds[1], "a kind does not depend on the others"


def test_a_task_without_text_is_left_out_with_a_reason(
    torch: ModuleType, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from tokbench.evaluation.evaluate import evaluate_suite
    from tokbench.evaluation.perturbed_questions import NOT_PLAIN, perturbed_outcomes

    suite = made(tmp_path, {}, tasks=("pair",))
    task = evaluate_suite(stub(lambda context, choice: 0.0), suite, tmp_path / "tasks")["tasks"]["pair"]
    assert task["perturbed"] == {"kinds": {}, "reason": "no question has text before its choices"}
    assert "task pair is not perturbed: no question has text before its choices" in caplog.text

    class Chat:
        multiple_input = 0

        @staticmethod
        def doc_to_text(doc: Any) -> str:
            return "the text"

    samples = [{"doc_id": 0, "doc": {}, "arguments": [("the text\nAnswer", " a")]}]
    never: Any = None
    found = perturbed_outcomes("chat", Chat(), samples, "acc", PerturbedQuestions(), never, never)  # type: ignore[arg-type]
    assert found == {"kinds": {}, "reason": NOT_PLAIN}


def test_without_the_key_nothing_changes(torch: ModuleType, tmp_path: Path) -> None:
    from tokbench.evaluation.evaluate import evaluate_suite

    plain, asked = made(tmp_path), made(tmp_path, EVERY)
    assert "perturbed" not in plain.model_dump(mode="json")
    assert asked.model_dump(mode="json")["perturbed"] == {"kinds": ["upper", "spelt_number"], "rate": 1.0, "seed": 0}
    assert SuiteOptions(**asked.model_dump(mode="json")) == asked
    score = lambda context, choice: -float(len(context + choice) % 7)  # noqa: E731
    clean, both = (evaluate_suite(stub(score), suite, tmp_path / "tasks") for suite in (plain, asked))
    for task in both["tasks"].values():
        del task["perturbed"]
    assert clean == both
    for wrong, message in (
        ({"kinds": ["swop"]}, "Did you mean 'swap'"),
        ({"rate": 0}, "greater than 0"),
    ):
        with pytest.raises(ValidationError, match=message):
            SuiteOptions(tasks=("continuation",), perturbed=wrong)  # type: ignore[arg-type]


def test_scores_and_table_of_a_known_model(torch: ModuleType, tmp_path: Path) -> None:
    """A language model scores perturbed questions as it scores any other, and the table pairs them."""
    from tokbench.evaluation.coverings import Spellings
    from tokbench.evaluation.evaluate import evaluate_suite
    from tokbench.evaluation.scoring import ScoringLM

    suite = made(tmp_path, EVERY, tasks=("query",))
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
    result = evaluate_suite(lm, suite, tmp_path / "tasks")
    contexts = [(row["query"].upper(), [" " + choice for choice in row["choices"]]) for row in CHOICES]
    scores = [score for score, _ in lm.loglikelihood(requests_of(contexts))]
    upper = result["tasks"]["query"]["perturbed"]["kinds"]["upper"]
    assert [score for one in upper["documents"] for score in one["log_likelihoods"]] == pytest.approx(scores, abs=1e-5)
    assert set(lm.boundaries["query"]) == {0, 1, 2}, "boundaries of the clean questions stay"
    path = tmp_path / "m.json"
    head = {"model": "m", "variant": "bpe", "size": 512, "suite": "s"}
    write_result(path, head | result)
    table = perturbed_answer_table([path])
    PERTURBED.check(table)
    assert table["kind"].to_list() == ["upper"] * 3 + ["spelt_number"] * 3
    assert table["edits"].to_list() == [4, 5, 4, 1, 1, 0]
    bits = [-scores[2 * place + CHOICES[place]["gold"]] / math.log(2) for place in range(3)]
    sizes = [1 + len(row["choices"][row["gold"]]) for row in CHOICES]
    assert table["bytes"].to_list() == sizes * 2
    assert table["bits_per_byte"].to_list()[:3] == pytest.approx(
        [one / size for one, size in zip(bits, sizes, strict=True)], abs=1e-5
    )
    assert table["correct"].to_list()[5] is None
    clean = result["tasks"]["query"]["documents"]
    assert table["clean_correct"].to_list() == [one["correct"] for one in clean] * 2
    seeded = table.with_columns(seed=None)
    for row in perturbed_measure_table(seeded).filter(kind="spelt_number", task="query").rows(named=True):
        assert (row["questions"], row["unchanged"]) == (2, 1)
    plain = tmp_path / "plain.json"
    del result["tasks"]["query"]["perturbed"]
    write_result(plain, head | result)
    assert perturbed_answer_table([plain]).is_empty()
