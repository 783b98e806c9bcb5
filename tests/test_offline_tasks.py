"""Offline tasks: passages of plain text, and questions right by construction."""

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.downstream_tasks import DOCUMENTS, OFFLINE, SMALL, prose, rows, spaced
from tokbench.downstream.passages import Paragraph, read_paragraphs, sentences
from tokbench.downstream.question_makers import continuation, last_word, word_order
from tokbench.downstream.tasks import TaskOptions, make_tasks
from tokbench.errors import TokbenchError


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


def test_same_seed_same_files_whatever_else_is_made(offline_tasks: Path, tmp_path: Path) -> None:
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


def test_passages_stand_side_by_side_to_the_end() -> None:
    """Two in every paragraph of twice their words, the first at its beginning."""
    lengths = SMALL.model_copy(update={"context_words": 6, "continuation_words": 2})
    paragraphs = [Paragraph(n, tuple(f"{n}{place:02}" for place in range(16))) for n in range(5)]
    asked = list(continuation(paragraphs, lengths, Random(0)))
    opening = [question.context.split()[0] for question in asked]
    assert opening == [f"{n}{start:02}" for n in range(5) for start in (0, 8)]
    assert [question.truth.split() for question in asked[:2]] == [["006", "007"], ["014", "015"]]


def test_a_paragraphs_end_stands_among_the_passages() -> None:
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


def test_the_last_word_follows_as_many_words_as_asked_for() -> None:
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
