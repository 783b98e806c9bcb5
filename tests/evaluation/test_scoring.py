"""Scores of choices by language models, sound for every tokenizer.

Offline tasks: passages of plain text, and questions right by construction.
"""

import json
from pathlib import Path
from random import Random
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fake_results import (
    DOCUMENTS,
    OFFLINE,
    SMALL,
    prose,
    requests_of,
    rows,
    spaced,
    tiny_mpt,
    toy_adapter,
)
from tokbench.errors import TokbenchError
from tokbench.evaluation.offline_tasks import (
    Paragraph,
    TaskOptions,
    continuation,
    last_word,
    make_tasks,
    read_paragraphs,
    sentences,
    word_order,
)


def scoring(model, adapter, encode, window: int, start_token: str = "every_context"):
    """A language model that scores with an adapter's tokens."""
    from tokbench.evaluation.coverings import Spellings
    from tokbench.evaluation.scoring import ScoringLM

    spellings = Spellings(adapter.tokenizer.vocabulary.tokens)
    return ScoringLM(
        model,
        adapter,
        encode,
        adapter.eos_token_id,
        spellings=spellings,
        window=window,
        batch_size=3,
        start_token=start_token,
    )


QUESTIONS = [
    ("the stone", [" house", " river", "s"]),
    ("over the road", [" winter", " in time"]),
    ("", [" a letter", " a voice"]),
    ("time ", ["hand", "world"]),
]
STRADDLING = {0: [0], 1: [0], 3: [0]}


def log_probability(torch: ModuleType, model, adapter, ids: list[int], begin: int = 0, begun: bool = True) -> float:
    """Of a sequence of tokens from a place on: after the start token, or else without the first token."""
    read = [adapter.eos_token_id, *ids] if begun else ids
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([read])).logits[0].double().log_softmax(-1)
    scored = range(max(begin, not begun), len(ids))
    return sum(float(logits[place - (not begun), ids[place]]) for place in scored)


def log_beginning(torch: ModuleType, model, adapter, context: str, begun: bool = True) -> float:
    """Of a context: before each of its places the tokens of the text, then one that reaches beyond, where written."""
    data, tokens = context.encode(), adapter.tokenizer.vocabulary.tokens
    ways = [adapter.tokenizer.encode(data).tolist()]
    for place in range(len(data)):
        longer = [id for id, token in enumerate(tokens) if token.startswith(data[place:]) and token != data[place:]]
        tried = [[*adapter.tokenizer.encode(data[:place]).tolist(), id] for id in longer]
        ways += [way for way in tried if way == adapter.tokenizer.encode(b"".join(tokens[id] for id in way)).tolist()]
    terms = [log_probability(torch, model, adapter, ids, begun=begun) for ids in ways]
    return float(torch.logsumexp(torch.tensor(terms, dtype=torch.float64), 0))


def test_scores_of_questions_are_those_of_lm_evals_own_model(torch: ModuleType) -> None:
    """By default it reads a start token only where the context is empty."""
    from lm_eval.models.huggingface import HFLM

    adapter = toy_adapter()
    questions = [
        ("the stones", [" house", " river", "s"]), ("over there", [" winter", " in time"]), ("x", [" y", "y y y"]),
        ("", [" a letter", " a voice"]), ("a letter of", [" time"]), ("time ", ["world", "bird"]),
    ]  # fmt: skip
    own = HFLM(pretrained=tiny_mpt(torch), tokenizer=adapter, backend="causal", batch_size=2, max_length=512)
    theirs = own.loglikelihood(requests_of(questions), disable_tqdm=True)
    lm = scoring(tiny_mpt(torch), adapter, lambda text: adapter.tokenizer.encode(text).tolist(), 512, "empty_context")
    ours = lm.loglikelihood(requests_of(questions))
    assert not any(one.straddling for one in lm.boundaries["toy"].values())
    assert [score for score, _ in ours] == pytest.approx([score for score, _ in theirs], abs=1e-4)
    assert [most_likely for _, most_likely in ours] == [most_likely for _, most_likely in theirs]
    every = scoring(tiny_mpt(torch), adapter, lambda text: adapter.tokenizer.encode(text).tolist(), 512)
    begun = every.loglikelihood(requests_of(questions))
    asked = [context for context, choices in questions for _ in choices]
    gaps = [abs(first[0] - second[0]) for first, second in zip(begun, ours, strict=True)]
    assert [gap for gap, context in zip(gaps, asked, strict=True) if not context] == [0, 0]
    assert max(gaps) > 1e-3, "other contexts differ"


@pytest.mark.parametrize("start_token", ["every_context", "empty_context"])
@pytest.mark.parametrize("max_seq_len", [512, 4])
def test_scores_of_a_model_with_and_without_room(torch: ModuleType, max_seq_len: int, start_token: str) -> None:
    """A question of which a choice straddles is scored given the text of its context, others given its tokens."""
    model, adapter = tiny_mpt(torch, max_seq_len), toy_adapter()

    def encode(text: str | bytes) -> list[int]:
        return adapter.tokenizer.encode(text).tolist()

    lm = scoring(model, adapter, encode, max_seq_len, start_token)
    scored = [score for score, _ in lm.loglikelihood(requests_of(QUESTIONS))]
    reference = tiny_mpt(torch)
    expected = []
    for number, (context, choices) in enumerate(QUESTIONS):
        begun = start_token == "every_context" or not context
        for choice in choices:
            whole = encode(context + choice)
            if number in STRADDLING:  # The first token is the same in all, so that its probability cancels.
                covered = log_beginning(torch, reference, adapter, context.rstrip(), begun)
                expected.append(log_probability(torch, reference, adapter, whole, begun=begun) - covered)
            else:
                known = len(encode(context.rstrip()))
                expected.append(log_probability(torch, reference, adapter, whole, known, begun=begun))
    assert scored == pytest.approx(expected, abs=1e-4)
    boundaries = lm.boundaries["toy"]
    assert {document: one.straddling for document, one in boundaries.items() if one.straddling} == STRADDLING
    assert boundaries[2].tokens == [len(encode(choice)) for choice in QUESTIONS[2][1]]
    assert boundaries[0].tokens == [5, 5, 1]
    assert not lm.truncated_documents


def test_where_no_bytes_are_known_choices_are_ordered_as_where_they_are(torch: ModuleType) -> None:
    """All choices of a question have one cut, so that they differ by what the probability of the context divides by."""
    from tokbench.evaluation.scoring import ScoringLM

    adapter = toy_adapter()

    def encode(text: str | bytes) -> list[int]:
        return adapter.tokenizer.encode(text).tolist()

    known = scoring(tiny_mpt(torch), adapter, encode, 512)
    unknown = ScoringLM(
        tiny_mpt(torch),
        adapter,
        encode,
        adapter.eos_token_id,
        spellings=None,
        window=512,
        batch_size=3,
        start_token="every_context",
    )
    first, second = ([score for score, _ in lm.loglikelihood(requests_of(QUESTIONS))] for lm in (known, unknown))
    place = 0
    for number, (_, choices) in enumerate(QUESTIONS):
        gaps = [second[place + one] - first[place + one] for one in range(len(choices))]
        assert gaps == pytest.approx([gaps[0]] * len(choices), abs=1e-4)
        assert (abs(gaps[0]) > 1e-3) == (number in STRADDLING)
        boundary = unknown.boundaries["toy"][number]
        assert (boundary.straddling, boundary.unwritten) == (STRADDLING.get(number, []), None)
        place += len(choices)


@pytest.mark.parametrize("max_seq_len", [512, 6])
def test_endings_of_openings_are_given_each_opening_where_one_straddles(torch: ModuleType, max_seq_len: int) -> None:
    from lm_eval.api.instance import Instance

    adapter = toy_adapter()
    lm = scoring(
        tiny_mpt(torch, max_seq_len), adapter, lambda text: adapter.tokenizer.encode(text).tolist(), max_seq_len
    )
    openings = ["the stone", "a bird", ""]
    requests = [Instance("loglikelihood", {}, (text, " here"), n, ("toy", 0, 1)) for n, text in enumerate(openings)]
    scored = [score for score, _ in lm.loglikelihood(requests)]
    assert lm.boundaries["toy"][0].straddling == [0]
    reference = tiny_mpt(torch)
    for opening, score in zip(openings, scored, strict=True):
        whole = adapter.tokenizer.encode(opening + " here").tolist()
        covered = log_beginning(torch, reference, adapter, opening) if opening else 0
        assert score == pytest.approx(log_probability(torch, reference, adapter, whole) - covered, abs=1e-4)


@pytest.mark.parametrize("known", [True, False])
def test_a_first_token_that_straddles_follows_the_start_token(torch: ModuleType, known: bool) -> None:
    """No token of the context is known, so its first one would have no probability."""
    adapter = toy_adapter()

    def scores(start_token: str) -> list[tuple[float, bool]]:
        lm = scoring(tiny_mpt(torch), adapter, lambda text: adapter.tokenizer.encode(text).tolist(), 512, start_token)
        lm.spellings = lm.spellings if known else None
        found = lm.loglikelihood(requests_of([("e", [" house", "r", " a"])]))
        assert lm.boundaries["toy"][0].straddling == [0, 1]
        return found

    assert scores("empty_context") == scores("every_context")


def test_of_several_draws_scores_are_means(torch: ModuleType) -> None:
    """The probability of the whole, the mean over the draws, over that of the context; what is not written is told."""
    adapter = toy_adapter()
    model, reference = tiny_mpt(torch), tiny_mpt(torch)

    def encode(text: str | bytes) -> list[int]:
        return adapter.tokenizer.encode(text).tolist()

    def single(text: str | bytes) -> list[int]:
        return list(text.encode() if isinstance(text, str) else text)

    lm = scoring(model, adapter, encode, 512)
    lm.draws = [single]
    [(score, _)] = lm.loglikelihood(requests_of([("the stone", [" house"])]))
    whole, context = "the stone house", "the stone"
    wholes = [log_probability(torch, reference, adapter, draw(whole)) for draw in (encode, single)]
    contexts = [
        log_beginning(torch, reference, adapter, context),
        log_probability(torch, reference, adapter, single(context)),
    ]
    assert score == pytest.approx(np.logaddexp(*wholes) - np.logaddexp(*contexts), abs=1e-4)
    assert lm.boundaries["toy"][0].unwritten > 0


def test_random_segmentations_are_resampled_for_scores() -> None:
    from tokbench.evaluation.coverings import DRAWS, resampled
    from tokbench.segmentation import segmentations
    from tokbench.tokenizer import Tokenizer
    from tokbench.vocabulary import Vocabulary

    vocabulary = Vocabulary(tuple([bytes([value]) for value in range(256)] + [b"ab", b"ba"]))

    def made(**options: object) -> Tokenizer:
        return Tokenizer(vocabulary, "none", "shortest_path", segmentations["shortest_path"].options(**options))

    assert resampled(made()) == resampled(Tokenizer(vocabulary, "none", "greedy")) == []
    drawn = resampled(made(ties="random", seed=3))
    assert [one.options.seed for one in drawn] == list(range(4, 3 + DRAWS))
    text = b"aba" * 6
    assert len({tuple(one.encode(text).tolist()) for one in drawn}) > 1


def test_contexts_are_truncated_equally_for_all_choices(torch: ModuleType) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(n_embd=16, n_layer=1, n_head=2, n_positions=12, vocab_size=320)).eval()
    adapter = toy_adapter()
    lm = scoring(model, adapter, lambda text: list(text.encode()), 12)
    scored = lm.loglikelihood(requests_of([("a long context", [" cat", " horse"]), ("so", [" cat", " horse"])]))
    assert lm.truncated_documents == {"toy": {0}}
    ids = list(b"context cat")
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
    assert scored[0][0] == pytest.approx(sum(float(logits[i - 1, ids[i]]) for i in range(7, 11)), abs=1e-4)
    longest = " twelve byte"
    [(kept, _)] = lm.loglikelihood(requests_of([("a", [longest])]))
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([list(b"a" + longest[:-1].encode())])).logits[0].log_softmax(-1)
    assert kept == pytest.approx(sum(float(logits[at, byte]) for at, byte in enumerate(longest.encode())), abs=1e-4)
    with pytest.raises(TokbenchError, match="a choice of 13 tokens exceeds the model's window of 12"):
        lm.loglikelihood(requests_of([("a", [f"{longest}s"])]))


def test_long_sequences_are_read_fewer_at_a_time(torch: ModuleType) -> None:
    """Attention over twice the window takes four times the memory."""
    adapter = toy_adapter()
    lm = scoring(tiny_mpt(torch), adapter, lambda text: list(text.encode()), 10)
    lm.most = 12, 10
    assert [lm._rows(length) for length in (1, 10, 20, 30, 40)] == [12, 12, 3, 1, 1]


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


@pytest.mark.parametrize("task", OFFLINE)
def test_the_right_choice_is_in_the_text_and_the_others_are_not(offline_tasks: Path, task: str) -> None:
    text = spaced(DOCUMENTS)
    for row in rows(offline_tasks / f"{task}.test.jsonl") + rows(offline_tasks / f"{task}.fewshot.jsonl"):
        for position, choice in enumerate(row["choices"]):
            assert (f"{row['context']} {choice}".strip() in text) == (position == row["gold"])
        assert len(set(row["choices"])) == len(row["choices"])


def test_shape_of_the_choices(offline_tasks: Path) -> None:
    for row in rows(offline_tasks / "continuation.test.jsonl"):
        assert len(row["context"].split()) == SMALL.context_words
        assert {len(choice.split()) for choice in row["choices"]} == {SMALL.continuation_words}
        assert len({len(choice) for choice in row["choices"]}) == 1
    for task in ("unperturbed", "word_order"):
        for row in rows(offline_tasks / f"{task}.test.jsonl"):
            assert row["context"] == ""
            assert len({tuple(sorted(choice.split())) for choice in row["choices"]}) == 1
    for row in rows(offline_tasks / "last_word.test.jsonl"):
        assert all(choice.isalpha() for choice in row["choices"])


@pytest.mark.parametrize("task", OFFLINE)
def test_positions_are_balanced_and_examples_kept_apart(offline_tasks: Path, task: str) -> None:
    asked, pool = rows(offline_tasks / f"{task}.test.jsonl"), rows(offline_tasks / f"{task}.fewshot.jsonl")
    assert (len(asked), len(pool)) == (40, 8)
    choices = len(asked[0]["choices"])
    positions = [sum(row["gold"] == position for row in asked) for position in range(choices)]
    assert max(positions) - min(positions) <= 1
    keys = [(row["context"], row["choices"][row["gold"]]) for row in asked + pool]
    assert len(set(keys)) == len(keys)


def test_task_files_depend_on_the_seed_and_not_on_other_tasks(offline_tasks: Path, tmp_path: Path) -> None:
    make_tasks(iter(DOCUMENTS), tmp_path / "one", SMALL.model_copy(update={"tasks": ("word_order",)}))
    make_tasks(DOCUMENTS, tmp_path / "other", SMALL.model_copy(update={"tasks": ("word_order",), "seed": 1}))
    read = [
        (where / "word_order.test.jsonl").read_bytes()
        for where in (offline_tasks, tmp_path / "one", tmp_path / "other")
    ]
    assert read[0] == read[1] != read[2]


def test_manifest_and_short_texts(offline_tasks: Path, tmp_path: Path) -> None:
    manifest = json.loads((offline_tasks / "tasks.json").read_text())
    assert manifest["lines_not_utf8"] == 1
    assert manifest["documents"] == 2
    assert [manifest["tasks"][task]["random_baseline"] for task in OFFLINE] == [0.25, 0.25, 0.5, 0.25]
    make_tasks([(0, prose(1, paragraphs=2))], tmp_path / "short", SMALL)
    short = json.loads((tmp_path / "short" / "tasks.json").read_text())["tasks"]["unperturbed"]
    assert short["questions"] == len(rows(tmp_path / "short" / "unperturbed.test.jsonl")) < short["asked_for"]
    with pytest.raises(
        TokbenchError, match="questions of the task 'unperturbed' are left for examples, and a suite asks"
    ):
        make_tasks([(0, prose(1, paragraphs=2))], tmp_path / "none", SMALL, {"unperturbed": 9})
    assert not (tmp_path / "none").exists()
    with pytest.raises(TokbenchError, match="no question for the task 'continuation'"):
        make_tasks([(0, b"too short")], tmp_path / "none", SMALL)
    assert not (tmp_path / "none").exists()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(alphabet='ab .\n"T\u2028é', max_size=300), max_size=3))
def test_any_text_gives_questions_or_a_rejection(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    options = TaskOptions(context_words=6, continuation_words=1)
    path = tmp_path_factory.mktemp("any") / "tasks"
    documents = [(number, text.encode()) for number, text in enumerate(texts)]
    try:
        make_tasks(documents, path, options)
    except TokbenchError:
        return
    assert all(rows(path / f"{task}.test.jsonl") for task in OFFLINE)


def test_passages_fill_a_paragraph_without_overlap() -> None:
    """Two in every paragraph of twice their words, the first at its beginning."""
    lengths = SMALL.model_copy(update={"context_words": 6, "continuation_words": 2})
    paragraphs = [Paragraph(n, tuple(f"{n}{place:02}" for place in range(16))) for n in range(5)]
    asked = list(continuation(paragraphs, lengths, Random(0)))
    opening = [question.context.split()[0] for question in asked]
    assert opening == [f"{n}{start:02}" for n in range(5) for start in (0, 8)]
    assert [question.truth.split() for question in asked[:2]] == [["006", "007"], ["014", "015"]]


def test_last_passage_includes_the_end_of_the_paragraph() -> None:
    lengths = SMALL.model_copy(update={"context_words": 6, "continuation_words": 2})
    paragraphs = [Paragraph(n, (*"abcdef", "last", f"word{n}")) for n in range(4)]
    assert len(list(continuation(paragraphs, lengths, Random(0)))) == 4


def test_names_keep_their_places() -> None:
    paragraph = Paragraph(
        0, ("We", "saw", "old", "Tom", "near", "a", "deep", "Red", "river", "that", "Ann", "did", "not", "like.")
    )
    for seed in range(20):
        [question] = word_order([paragraph], SMALL, Random(seed))
        for swapped in question.distractors:
            moved = [one for one, other in zip(swapped.split(), paragraph.words, strict=True) if one != other]
            assert len(moved) in (2, 4)
            assert all(word.islower() for word in moved)


def test_last_word_questions_have_the_requested_context_length() -> None:
    lengths = SMALL.model_copy(update={"context_words": 6})
    ends = ("stone", "river", "night", "table", "house")
    paragraphs = [
        Paragraph(0, (*["Nine", "words", "stand", "here", "before", "the", "last", "one"], f"{end}.")) for end in ends
    ]
    asked = list(last_word(paragraphs, lengths, Random(0)))
    assert [question.context for question in asked] == ["stand here before the last one"] * len(ends)


@pytest.mark.parametrize(("ends", "asked"), [(4, 4), (3, 0)])
def test_a_last_word_is_asked_for_where_there_are_three_others(ends: int, asked: int) -> None:
    paragraphs = [
        Paragraph(0, (*["Some", "words", "that", "stand", "before", "it", "all"], f"{end}."))
        for end in ("stone", "river", "night", "table")[:ends]
    ]
    questions = list(last_word(paragraphs, SMALL, Random(0)))
    assert len(questions) == asked
    assert all(len(set(question.distractors)) == 3 for question in questions)
