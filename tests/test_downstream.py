"""Downstream tasks: questions right by construction, scores sound for every tokenizer."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tokbench.downstream.boundary import encode_choices
from tokbench.downstream.passages import Paragraph, read_paragraphs, sentences
from tokbench.downstream.suites import SuiteOptions, named_suite, named_suites
from tokbench.downstream.tasks import TaskOptions, make_tasks
from tokbench.registry import TokbenchError

WORDS = [
    "time",
    "hand",
    "world",
    "house",
    "river",
    "night",
    "garden",
    "letter",
    "window",
    "stone",
    "morning",
    "voice",
    "road",
    "winter",
    "friend",
    "table",
]
OFFLINE = ("continuation", "last_word", "unperturbed", "word_order")
SMALL = TaskOptions(questions=40, fewshot_pool=8)


def prose(seed: int, paragraphs: int = 60) -> bytes:
    """Sentences of drawn words, capitalised and closed, eight to a paragraph."""
    rng = Random(seed)
    written = []
    for _ in range(paragraphs):
        lines = [" ".join(rng.choices(WORDS, k=rng.randint(9, 14))).capitalize() + "." for _ in range(8)]
        written.append("\n".join(lines))
    return "\n\n".join(written).encode()


DOCUMENTS = [(3, prose(3)), (7, b"\xff\xfe not text\n" + prose(7)), (9, b"")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("downstream") / "tasks"
    make_tasks(DOCUMENTS, path, SMALL)
    return path


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def spaced(documents: list[tuple[int, bytes]]) -> str:
    return "\n\n".join(" ".join(p.words) for p in read_paragraphs(documents, 10**9)[0])


# Passages


def test_paragraphs_end_at_blank_and_undecodable_lines() -> None:
    text = b"one two\nthree\n\nfour\n\xff\xff\nfive \xc2\xa0six"
    paragraphs, invalid = read_paragraphs([(1, text), (2, b"seven")], 10**6)
    assert [(p.document, p.words) for p in paragraphs] == [
        (1, ("one", "two", "three")),
        (1, ("four",)),
        (1, ("five", "six")),
        (2, ("seven",)),
    ]
    assert invalid == 1


def test_reading_stops_at_the_limit() -> None:
    paragraphs, _ = read_paragraphs([(1, b"one two three"), (2, b"four")], 9)
    assert [p.words for p in paragraphs] == [("one", "two")]


def test_sentences() -> None:
    words = ("He", "met", "Mr.", "Brown.", '"Who?"', "asked", "he.", "No", "end")
    cut = [" ".join(words[begin:end]) for begin, end in sentences(Paragraph(0, words))]
    assert cut == ["He met Mr. Brown.", '"Who?" asked he.']


# Questions


@pytest.mark.parametrize("task", OFFLINE)
def test_the_right_choice_is_in_the_text_and_the_others_are_not(folder: Path, task: str) -> None:
    text = spaced(DOCUMENTS)
    for row in rows(folder / f"{task}.test.jsonl") + rows(folder / f"{task}.fewshot.jsonl"):
        for position, choice in enumerate(row["choices"]):
            assert (f"{row['context']} {choice}".strip() in text) == (position == row["gold"])
        assert len(set(row["choices"])) == len(row["choices"])


def test_shape_of_the_choices(folder: Path) -> None:
    for row in rows(folder / "continuation.test.jsonl"):
        assert len(row["context"].split()) == SMALL.context_words
        assert {len(choice.split()) for choice in row["choices"]} == {SMALL.continuation_words}
        assert len({len(choice) for choice in row["choices"]}) == 1
    for task in ("unperturbed", "word_order"):
        for row in rows(folder / f"{task}.test.jsonl"):
            assert row["context"] == ""
            assert len({tuple(sorted(choice.split())) for choice in row["choices"]}) == 1
    for row in rows(folder / "last_word.test.jsonl"):
        assert all(choice.isalpha() for choice in row["choices"])


@pytest.mark.parametrize("task", OFFLINE)
def test_positions_are_balanced_and_examples_kept_apart(folder: Path, task: str) -> None:
    asked, pool = rows(folder / f"{task}.test.jsonl"), rows(folder / f"{task}.fewshot.jsonl")
    assert (len(asked), len(pool)) == (40, 8)
    choices = len(asked[0]["choices"])
    positions = [sum(row["gold"] == position for row in asked) for position in range(choices)]
    assert max(positions) - min(positions) <= 1
    keys = [(row["context"], row["choices"][row["gold"]]) for row in asked + pool]
    assert len(set(keys)) == len(keys)


def test_same_seed_same_files_whatever_else_is_made(folder: Path, tmp_path: Path) -> None:
    make_tasks(iter(DOCUMENTS), tmp_path / "one", SMALL.model_copy(update={"tasks": ("word_order",)}))
    make_tasks(DOCUMENTS, tmp_path / "other", SMALL.model_copy(update={"tasks": ("word_order",), "seed": 1}))
    read = [(where / "word_order.test.jsonl").read_bytes() for where in (folder, tmp_path / "one", tmp_path / "other")]
    assert read[0] == read[1] != read[2]


def test_manifest_and_short_texts(folder: Path, tmp_path: Path) -> None:
    manifest = json.loads((folder / "tasks.json").read_text())
    assert manifest["lines_not_utf8"] == 1
    assert manifest["documents"] == 2
    assert [manifest["tasks"][task]["random_baseline"] for task in OFFLINE] == [0.25, 0.25, 0.5, 0.25]
    make_tasks([(0, prose(1, paragraphs=2))], tmp_path / "short", SMALL)
    short = json.loads((tmp_path / "short" / "tasks.json").read_text())["tasks"]["unperturbed"]
    assert short["questions"] == len(rows(tmp_path / "short" / "unperturbed.test.jsonl")) < short["asked_for"]
    with pytest.raises(TokbenchError, match="no question for the task 'continuation'"):
        make_tasks([(0, b"too short")], tmp_path / "none", SMALL)
    assert not (tmp_path / "none").exists()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(alphabet='ab .\n"T\u2028é', max_size=300), max_size=3))
def test_any_text_gives_questions_or_a_refusal(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    options = TaskOptions(context_words=6, continuation_words=1)
    path = tmp_path_factory.mktemp("any") / "tasks"
    documents = [(number, text.encode()) for number, text in enumerate(texts)]
    try:
        make_tasks(documents, path, options)
    except TokbenchError:
        return
    assert all(rows(path / f"{task}.test.jsonl") for task in OFFLINE)


# Suites


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
    with pytest.raises(ValidationError, match="named twice"):
        SuiteOptions(tasks=("copa", "copa"))


# The boundary between context and choice

TOKENS = sorted({"a", "b", " ", "ab", " a", "a b", "ba", "b a", " b ", "aab"}, key=len, reverse=True)
IDS = {token: number for number, token in enumerate(TOKENS)}


def greedy(text: str) -> list[int]:
    """Longest match from the left, with tokens that straddle spaces."""
    ids = []
    while text:
        token = next(token for token in TOKENS if text.startswith(token))
        ids.append(IDS[token])
        text = text[len(token) :]
    return ids


def backward(text: str) -> list[int]:
    """Longest match from the right: one more letter can change every token before it."""
    ids = []
    while text:
        token = next(token for token in TOKENS if text.endswith(token))
        ids.append(IDS[token])
        text = text[: -len(token)]
    return ids[::-1]


def log_probability(ids: list[int], begin: int = 0) -> float:
    """A toy bigram model: the sum from ``begin`` on."""
    previous = [len(IDS), *ids]
    return sum(-1.0 - (7 * previous[i] + 3 * ids[i]) % 11 for i in range(begin, len(ids)))


texts = st.text(alphabet="ab ", min_size=1, max_size=8)


@pytest.mark.parametrize("encode", [greedy, backward])
@given(context=st.text(alphabet="ab ", max_size=12), choices=st.lists(texts, min_size=2, max_size=4))
def test_scores_differ_as_the_probabilities_of_whole_texts(encode, context: str, choices: list[str]) -> None:
    encoded = encode_choices(encode, context, choices)
    wholes = [encode(context + choice) for choice in choices]
    assert [encoded.context + continuation for continuation in encoded.continuations] == wholes
    assert all(encoded.continuations)
    cut = len(encoded.context)
    scores = [log_probability(whole, cut) for whole in wholes]
    for score, whole in zip(scores, wholes, strict=True):
        assert score - scores[0] == pytest.approx(log_probability(whole) - log_probability(wholes[0]))
    alone = encode(context.rstrip())
    assert encoded.straddling == [whole[: len(alone)] != alone for whole in wholes]
    if not any(encoded.straddling):
        assert encoded.context == alone


def test_a_straddling_token_moves_the_cut_of_every_choice() -> None:
    def spelt(ids: list[int]) -> list[str]:
        return [TOKENS[number] for number in ids]

    usual = encode_choices(greedy, "ba", [" b", "b"])
    assert (spelt(usual.context), usual.straddling) == (["ba"], [False, False])
    straddled = encode_choices(greedy, "a", [" b", "  b"])
    assert (spelt(straddled.context), straddled.straddling) == ([], [True, False])
    assert [spelt(ids) for ids in straddled.continuations] == [["a b"], ["a", " ", " ", "b"]]


# Language models


@pytest.fixture(scope="module")
def torch() -> Iterator[ModuleType]:
    """torch, where the language-model stack, an extra of the package, is installed; the hub switched off."""
    pytest.importorskip("lm_eval")
    from tokbench.downstream.evaluate import ENVIRONMENT as VARIABLES

    with pytest.MonkeyPatch.context() as patch:
        for key, value in VARIABLES.items():
            patch.setenv(key, value)
        module = pytest.importorskip("torch")
        module.set_num_threads(1)
        yield module


def stub(score):
    """An lm-eval model that scores (context, choice) with a function."""
    from lm_eval.api.model import LM

    class Stub(LM):
        def loglikelihood(self, requests, disable_tqdm=False):
            return [(score(*request.args), False) for request in requests]

        def loglikelihood_rolling(self, requests, disable_tqdm=False):
            raise AssertionError

        def generate_until(self, requests, disable_tqdm=False):
            raise AssertionError

    return Stub()


def test_an_oracle_is_always_right_and_a_guesser_by_chance(torch: ModuleType, folder: Path) -> None:
    from tokbench.downstream.evaluate import evaluate_suite

    text = spaced(DOCUMENTS)
    suite = SuiteOptions(tasks=OFFLINE, num_fewshot=2)
    result = evaluate_suite(
        stub(lambda context, choice: float((context + choice).split("\n\n")[-1].strip() in text)), suite, folder
    )
    assert result["accuracy"] == 1
    assert result["random_baseline"] == pytest.approx(0.3125)
    assert [result["tasks"][task]["num_fewshot"] for task in OFFLINE] == [2, 2, 0, 0]
    rng = Random(0)
    guessed = evaluate_suite(stub(lambda context, choice: rng.random()), suite, folder)
    for task, outcome in guessed["tasks"].items():
        baseline, n = outcome["random_baseline"], outcome["n"]
        assert n == 40
        assert abs(outcome["accuracy"] - baseline) < 4 * math.sqrt(baseline * (1 - baseline) / n), task
        golds = [row["gold"] for row in rows(folder / f"{task}.test.jsonl")]
        for document, gold in zip(outcome["documents"], golds, strict=True):
            scores = document["log_likelihoods"]
            assert document["prediction"] == scores.index(max(scores))
            assert document["correct"] == (document["prediction"] == gold)


def test_limits_and_mistakes_of_a_suite(torch: ModuleType, folder: Path) -> None:
    from tokbench.downstream.evaluate import evaluate_suite

    one = stub(lambda context, choice: 0.0)
    suite = SuiteOptions(tasks=OFFLINE[:2], limit=10, overrides={"last_word": {"limit": 5}})  # type: ignore[dict-item]
    assert [task["n"] for task in evaluate_suite(one, suite, folder)["tasks"].values()] == [10, 5]
    assert [task["n"] for task in evaluate_suite(one, suite, folder, limit=7)["tasks"].values()] == [7, 5]
    with pytest.raises(TokbenchError, match="Did you mean 'last_word'"):
        evaluate_suite(one, SuiteOptions(tasks=("last_words",)), folder)
    with pytest.raises(TokbenchError, match="8 questions for examples"):
        evaluate_suite(one, SuiteOptions(tasks=("continuation",), num_fewshot=9), folder)
    with pytest.raises(TokbenchError, match="no metric 'acc_norm'"):
        evaluate_suite(one, SuiteOptions(tasks=("continuation",), metric="acc_norm"), folder)


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


def test_hub_suites_name_tasks_that_lm_eval_has(torch: ModuleType) -> None:
    import lm_eval.tasks

    collection = Path(lm_eval.tasks.__file__).parent
    folders = {"arc_easy": "arc", "arc_challenge": "arc", "copa": "super_glue", "boolq": "super_glue"}
    for suite in named_suites().values():
        for task in suite.tasks if suite.source == "hub" else ():
            place = collection / folders.get(task, task.split("_")[0])
            named = (file.read_text(encoding="utf-8") for file in place.rglob("*.yaml"))
            assert any(f"task: {task}\n" in text or f'"task": "{task}"' in text for text in named), task


def toy_face():
    """A byte-level Hugging Face tokenizer with tokens that straddle spaces."""
    import numpy as np
    from transformers import PreTrainedTokenizer

    vocabulary = [bytes([value]) for value in range(256)] + [b"e h", b"d w", b"er", b" w", b"in", b"t r"]
    ids = {token: number for number, token in enumerate(vocabulary)}

    class Tokenizer:
        def encode(self, text: str | bytes):
            data = text.encode() if isinstance(text, str) else text
            found = []
            while data:
                length = next(length for length in (3, 2, 1) if data[:length] in ids)
                found.append(ids[data[:length]])
                data = data[length:]
            return np.array(found, np.int32)

    class Face(PreTrainedTokenizer):
        tokenizer = Tokenizer()

        def __init__(self) -> None:
            super().__init__(eos_token="<|endoftext|>", pad_token="<|padding|>")

        @property
        def vocab_size(self) -> int:
            return len(vocabulary)

        def get_vocab(self) -> dict[str, int]:
            return {token.hex(): number for token, number in ids.items()}

        def _tokenize(self, text: str, **_) -> list[str]:
            return [vocabulary[number].hex() for number in self.tokenizer.encode(text).tolist()]

        def _convert_token_to_id(self, token: str) -> int | None:
            return ids.get(bytes.fromhex(token)) if not token.startswith("<") else None

        def _convert_id_to_token(self, index: int) -> str:
            return vocabulary[index].hex()

    return Face()


def tiny_mpt(torch: ModuleType, max_seq_len: int = 512):
    from transformers import MptConfig, MptForCausalLM

    torch.manual_seed(0)
    config = MptConfig(
        d_model=32, n_heads=2, n_layers=1, max_seq_len=max_seq_len, vocab_size=320, expansion_ratio=4, use_cache=False
    )
    return MptForCausalLM(config).eval()


def requests_of(questions: list[tuple[str, list[str]]]):
    from lm_eval.api.instance import Instance

    return [
        Instance("loglikelihood", {}, (context, choice), index, ("toy", number, 1))
        for number, (context, choices) in enumerate(questions)
        for index, choice in enumerate(choices)
    ]


QUESTIONS = [
    ("the stone", [" house", " river", "s"]),
    ("over the road", [" winter", " in time"]),
    ("", [" a letter", " a voice"]),
    ("time ", ["hand", "world"]),
]


@pytest.mark.parametrize("max_seq_len", [512, 4])
def test_scores_of_a_model_with_and_without_room(torch: ModuleType, max_seq_len: int) -> None:
    from tokbench.downstream.scoring_lm import ScoringLM

    model, face = tiny_mpt(torch, max_seq_len), toy_face()

    def encode(text: str) -> list[int]:
        return face.tokenizer.encode(text).tolist()

    lm = ScoringLM(model, face, encode, face.eos_token_id, window=max_seq_len, batch_size=3)
    scored = [score for score, _ in lm.loglikelihood(requests_of(QUESTIONS))]
    reference = tiny_mpt(torch)
    expected = []
    for context, choices in QUESTIONS:
        encoded = encode_choices(encode, context, choices)
        for continuation in encoded.continuations:
            ids = [face.eos_token_id, *encoded.context, *continuation]
            with torch.inference_mode():
                logits = reference(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
            begin = len(ids) - len(continuation)
            expected.append(sum(float(logits[i - 1, ids[i]]) for i in range(begin, len(ids))))
    assert scored == pytest.approx(expected, abs=1e-4)
    assert lm.straddling["toy"] == 3
    assert lm.straddling_documents["toy"] == {0, 1, 3}
    assert not lm.truncated_documents


def test_contexts_of_models_with_learned_positions_are_shortened_alike(torch: ModuleType) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    from tokbench.downstream.scoring_lm import ScoringLM

    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(n_embd=16, n_layer=1, n_head=2, n_positions=12, vocab_size=320)).eval()
    face = toy_face()
    lm = ScoringLM(model, face, lambda text: list(text.encode()), face.eos_token_id, window=12, batch_size=4)
    scored = lm.loglikelihood(requests_of([("a long context", [" cat", " horse"]), ("so", [" cat", " horse"])]))
    assert lm.truncated_documents == {"toy": {0}}
    ids = list(b"context cat")
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
    assert scored[0][0] == pytest.approx(sum(float(logits[i - 1, ids[i]]) for i in range(7, 11)), abs=1e-4)
    with pytest.raises(TokbenchError, match="exceeds the model's window of 12"):
        lm.loglikelihood(requests_of([("a", [" choice far too long"])]))


LOCAL_TASKS = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {name}.jsonl}}}}
output_type: {kind}
test_split: test
doc_to_text: {text}
doc_to_target: {target}
{choice}
metric_list: [{{metric: acc, aggregation: mean, higher_is_better: true}}]
"""


def test_schemas_scored_by_their_endings_and_texts_without_choices(torch: ModuleType, tmp_path: Path) -> None:
    from tokbench.downstream.evaluate import evaluate_suite
    from tokbench.downstream.scoring_lm import ScoringLM

    made = {
        "ending": ("multiple_choice", "gold", "ending", "doc_to_choice: openings"),
        "completion": ("loglikelihood", "opening", '" {{ending}}"', ""),
    }
    for name, (kind, text, target, choice) in made.items():
        written = LOCAL_TASKS.format(name=name, kind=kind, text=text, target=target, choice=choice)
        (tmp_path / f"{name}.yaml").write_text(written)
    ending = {"openings": ["The house", "The stone"], "ending": "was here", "gold": 1}
    (tmp_path / "ending.jsonl").write_text(json.dumps(ending) + "\n")
    (tmp_path / "completion.jsonl").write_text(json.dumps({"opening": "the", "ending": "road"}) + "\n")
    model, face = tiny_mpt(torch), toy_face()
    lm = ScoringLM(
        model, face, lambda text: face.tokenizer.encode(text).tolist(), face.eos_token_id, window=64, batch_size=2
    )
    tasks = evaluate_suite(lm, SuiteOptions(tasks=("ending", "completion")), tmp_path)["tasks"]
    pairs = [(opening, [" was here"]) for opening in ending["openings"]]
    scores = [score for score, _ in lm.loglikelihood(requests_of(pairs))]
    (outcome,) = tasks["ending"]["documents"]
    assert outcome["log_likelihoods"] == pytest.approx(scores, abs=1e-5)
    assert outcome["correct"] == (outcome["prediction"] == 1) == (scores[1] > scores[0])
    assert tasks["ending"]["random_baseline"] == 0.5
    assert tasks["completion"]["random_baseline"] == 0
    assert tasks["completion"]["documents"][0]["prediction"] is None


# Bits per byte


@given(length=st.integers(0, 30), window=st.integers(1, 9), data=st.data())
def test_windows_predict_every_token_once(torch: ModuleType, length: int, window: int, data: st.DataObject) -> None:
    from tokbench.downstream.bits_per_byte import windows

    stride = data.draw(st.integers(1, window))
    sequence = list(range(100, 101 + length))
    cut = list(windows(sequence, window, stride))
    assert [target for _, targets in cut for target in targets] == sequence[1:]
    for inputs, targets in cut:
        assert len(inputs) <= window
        assert inputs[-len(targets) :] == [target - 1 for target in targets]
        assert inputs[0] == 100 or len(inputs) == window


def test_bits_per_byte_against_one_pass(torch: ModuleType) -> None:
    from tokbench.downstream.bits_per_byte import bits_per_byte

    model, face = tiny_mpt(torch), toy_face()
    documents = [b"the time in the road \xff", b"", b"winter over her window"]
    start = face.eos_token_id

    def measure(window: int, stride: int, batch_size: int) -> float:
        value, of = bits_per_byte(
            model,
            lambda text: face.tokenizer.encode(text).tolist(),
            documents,
            start,
            window=window,
            stride=stride,
            batch_size=batch_size,
            device="cpu",
        )
        assert of["bytes"] == sum(map(len, documents))
        assert of["tokens"] == sum(len(face.tokenizer.encode(document)) for document in documents)
        assert value == of["bits"] / of["bytes"]
        return of["bits"]

    expected = 0.0
    for document in documents:
        ids = [start, *face.tokenizer.encode(document).tolist()]
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
        expected -= sum(float(logits[i - 1, ids[i]]) for i in range(1, len(ids))) / math.log(2)
    assert measure(512, 256, 2) == pytest.approx(expected, abs=1e-3)
    assert measure(8, 4, 3) == pytest.approx(measure(8, 4, 1), abs=1e-3)
    with pytest.raises(TokbenchError, match="no text"):
        bits_per_byte(model, list, [b""], start, window=8, stride=4, batch_size=1, device="cpu")


# The whole


def test_evaluate_writes_the_same_file_twice(
    torch: ModuleType, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokbench import hugging_face
    from tokbench.downstream.evaluate import evaluate

    face = toy_face()
    monkeypatch.setattr(hugging_face.TokbenchTokenizer, "from_folder", lambda folder: face)
    tiny_mpt(torch, 64).save_pretrained(tmp_path / "model")
    suite = named_suite("offline")
    written = []
    for name in ("one", "two"):
        evaluate(
            tmp_path / "model",
            tmp_path,
            folder,
            suite,
            tmp_path / f"{name}.json",
            bits_per_byte_documents=[text[:500] for _, text in DOCUMENTS],
        )
        result = json.loads((tmp_path / f"{name}.json").read_text())
        assert result.pop("manifest")["device"] == "cpu"
        written.append(result)
    assert written[0] == written[1]
    assert written[0]["bits_per_byte"] > 0
    for task in written[0]["tasks"].values():  # a model that has learned nothing
        baseline = task["random_baseline"]
        assert abs(task["accuracy"] - baseline) < 4 * math.sqrt(baseline * (1 - baseline) / task["n"])
    assert written[0]["tasks"]["last_word"]["straddling_documents"] > 0
    with pytest.raises(TokbenchError, match=r"no config\.json"):
        evaluate(tmp_path, tmp_path, folder, suite, tmp_path / "three.json")
