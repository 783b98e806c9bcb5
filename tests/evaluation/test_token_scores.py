"""Tokens around the end of a ranked vocabulary: nested vocabularies, occurrences and their scores."""

import math
import pydoc_data.topics
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokbench
from tests.support.fake_results import tiny_mpt
from tokbench.errors import TokbenchError
from tokbench.evaluation.token_scores import TokenScores, ranked_tokens, score_occurrences, score_tokens
from tokbench.io.json import read_result
from tokbench.stages.token_effects import RANKED
from tokbench.tabulation.token_scores import token_scores_table
from tokbench.tokenizer import Tokenizer

Window = tuple[list[int], list[int]]
TEXT = " ".join(list(pydoc_data.topics.topics.values())[:12])
SIZES = 700, 1400


@cache
def built(method: str, size: int) -> Tokenizer:
    return tokbench.build(method, tokbench.count(TEXT), size)


@pytest.mark.parametrize("method", RANKED)
def test_a_vocabulary_begins_every_longer_one(method: str) -> None:
    """Ids of BPE, WordPiece and GreedTok; the history of Picky BPE, whose removed tokens have no rank."""
    shorter, longer = (built(method, size).vocabulary for size in SIZES)
    ranked = ranked_tokens(shorter, longer)
    assert ranked.ranks.tolist() == list(range(ranked.ranks[0], ranked.ranks[-1] + 1))
    inside = [longer.tokens[number] for number in ranked.ids[ranked.ranks < 0].tolist()]
    outside = [longer.tokens[number] for number in ranked.ids[ranked.ranks >= 0].tolist()]
    if method == "picky_bpe":
        assert longer.events is not None
        assert shorter.events is not None
        assert longer.events[: len(shorter.events)] == shorter.events
        removed = {event.token for event in longer.events if event.split}
        assert removed
        assert not removed & {*inside, *outside}
        assert set(inside) <= set(shorter.tokens)
        assert not set(outside) & set(shorter.tokens)
        made = [event.token for event in longer.events if not event.split]
        assert [token for token in made if token in {*inside, *outside}] == inside + outside
    else:
        assert longer.tokens[: len(shorter)] == shorter.tokens
        if shorter.continuation is not None and longer.continuation is not None:
            assert (longer.continuation[: len(shorter)] == shorter.continuation).all()
        assert ranked.ids.tolist() == list(range(len(longer) - len(ranked.ids), len(longer)))
        assert (ranked.ids - len(shorter)).tolist() == ranked.ranks.tolist()
    near = ranked.within(10)
    assert near.ranks.tolist() == list(range(-10, 10))


def test_a_vocabulary_without_a_ranking() -> None:
    with pytest.raises(TokbenchError, match=r"are not the first of .* needs a construction that ranks its tokens"):
        ranked_tokens(*(built("unigram", size).vocabulary for size in SIZES))
    with pytest.raises(TokbenchError, match="adds none to"):
        ranked_tokens(built("bpe", 700).vocabulary, built("bpe", 700).vocabulary)


def surprisal(before: Sequence[int], target: int) -> float:
    return 1 + (hash((len(before) and before[-1], target)) % 97) / 16


def surprisals(batch: Sequence[Window]) -> list[np.ndarray]:
    """Return nats that depend on a token and the one before it."""
    found = []
    for inputs, targets in batch:
        sequence = [*inputs, targets[-1]]
        first = len(sequence) - len(targets)
        found.append(np.array([surprisal(sequence[:place], sequence[place]) for place in range(first, len(sequence))]))
    return found


def by_hand(shorter: Tokenizer, longer: Tokenizer, inside: np.ndarray, documents: Sequence[bytes]) -> TokenScores:
    """Look for every token of the longer segmentation among the spans of the model's tokens."""
    rows = len(longer)
    scores = TokenScores(*np.zeros((3, rows), np.int64), np.zeros(rows))
    for document in documents:
        own = [shorter.end_of_text, *shorter.encode(document).tolist()]
        starts, at = {}, 0
        for place, token in enumerate(own[1:], 1):
            starts[at] = place
            at += len(shorter.vocabulary.tokens[token])
        starts[at] = len(own)
        at = 0
        for token in longer.encode(document).tolist():
            end = at + len(longer.vocabulary.tokens[token])
            scores.occurrences[token] += 1
            if at in starts and end in starts and (not inside[token] or starts[end] - starts[at] == 1):
                scores.scored[token] += 1
                scores.parts[token] += starts[end] - starts[at]
                nats = sum(surprisal(own[:place], own[place]) for place in range(starts[at], starts[end]))
                scores.bits[token] -= nats / math.log(2)
            at = end
    return scores


def members(shorter: Tokenizer, longer: Tokenizer) -> np.ndarray:
    ranked = ranked_tokens(shorter.vocabulary, longer.vocabulary)
    inside = np.array([len(token) == 1 for token in longer.vocabulary.tokens])
    inside[ranked.ids[ranked.ranks < 0]] = True
    return inside


@pytest.mark.parametrize("method", RANKED)
@settings(max_examples=6)
@given(st.lists(st.integers(0, len(TEXT) - 400), min_size=1, max_size=3), st.integers(2, 9))
def test_scores_against_spans(method: str, places: list[int], window: int) -> None:
    from tokbench.evaluation.bits_per_byte import TokenWindows

    shorter, longer = (built(method, size) for size in SIZES)
    documents = [TEXT[place : place + 300].encode() for place in places] + [b""]
    inside = members(shorter, longer)
    cut = TokenWindows(window, max(1, window // 2))
    scores = score_occurrences(surprisals, shorter, longer, inside, documents, cut=cut, batch_size=3)
    expected = by_hand(shorter, longer, inside, documents)
    assert scores.occurrences.tolist() == expected.occurrences.tolist()
    assert scores.scored.tolist() == expected.scored.tolist()
    assert scores.parts.tolist() == expected.parts.tolist()
    assert scores.bits == pytest.approx(expected.bits)


@pytest.mark.parametrize(("method", "most"), [("bpe", 0.0), ("greedtok", 0.0), ("picky_bpe", 0.05), ("wordpiece", 0.2)])
def test_share_of_occurrences_that_are_not_scored(method: str, most: float) -> None:
    """Longer vocabularies of BPE and GreedTok only join tokens, so every occurrence is scored."""
    from tokbench.evaluation.bits_per_byte import TokenWindows

    shorter, longer = (built(method, size) for size in SIZES)
    cut = TokenWindows(64, 32)
    scores = score_occurrences(
        surprisals, shorter, longer, members(shorter, longer), [TEXT.encode()], cut=cut, batch_size=16
    )
    missed = 1 - scores.scored.sum() / scores.occurrences.sum()
    assert 0 <= missed <= most


def test_scores_of_a_model(torch: ModuleType, tmp_path: Path) -> None:
    """The file of a model with random weights against its log-probabilities of a document that fits its window."""
    sizes = 300, 360
    shorter, longer = (built("bpe", size) for size in sizes)
    for name, tokenizer in (("shorter", shorter), ("longer", longer)):
        tokenizer.save(tmp_path / name)
    model = tiny_mpt(torch)
    model.save_pretrained(tmp_path / "model")
    text = TEXT[:60].encode()
    folders = (tmp_path / "model", tmp_path / "shorter", tmp_path / "longer")
    score_tokens(
        *folders,
        tmp_path / "scores.json",
        [text + b" more", b""],
        document_bytes=60,
        reach=700,
        names={"variant": "bpe"},
        batch_size=2,
    )
    content = read_result(tmp_path / "scores.json", "again")
    assert (content["variant"], content["reach"]) == ("bpe", 700)
    assert content["rank"] == list(range(256 - sizes[0], sizes[1] - sizes[0]))
    assert sum(content["occurrences"]) == sum(content["scored"]) > 5
    own = shorter.encode(text).tolist()
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([[shorter.end_of_text, *own]])).logits[0]
    logs = logits.double().log_softmax(-1).numpy()
    nats = [-logs[place, token] for place, token in enumerate(own)]
    inside = members(shorter, longer)
    expected = TokenScores(*np.zeros((3, len(longer)), np.int64), np.zeros(len(longer)))
    lengths = [np.array([len(token) for token in one.vocabulary.tokens]) for one in (longer, shorter)]
    ids = longer.encode(text).astype(np.int64)
    expected.add(ids, lengths[0][ids].cumsum(), lengths[1][own].cumsum(), np.array(nats), inside)
    ranked = ranked_tokens(shorter.vocabulary, longer.vocabulary)
    assert content["bits"] == pytest.approx(expected.bits[ranked.ids].tolist(), abs=1e-3)
    for parameter in model.parameters():
        parameter.data.zero_()
    model.save_pretrained(tmp_path / "model")
    score_tokens(*folders, tmp_path / "uniform.json", [text], reach=700)
    uniform = read_result(tmp_path / "uniform.json", "again")
    assert uniform["bits"] == pytest.approx(content["uniform_bits"], abs=1e-3), "a model of equal probabilities"
    table = token_scores_table([])
    assert table.is_empty()


def test_mistakes_of_scoring(torch: ModuleType, tmp_path: Path) -> None:
    for size in SIZES:
        built("bpe", size).save(tmp_path / str(size))
    tiny_mpt(torch).save_pretrained(tmp_path / "model")
    shorter, longer = (tmp_path / str(size) for size in SIZES)
    for folders, message in (
        ((tmp_path, shorter, longer), "no config.json of a Hugging Face model"),
        ((tmp_path / "model", shorter, longer), "vocabulary of 320, but .* has 701 tokens"),
        ((tmp_path / "model", longer, shorter), "are not the first of"),
    ):
        with pytest.raises(TokbenchError, match=message):
            score_tokens(*folders, tmp_path / "scores.json", [b"a text"], reach=10)
    with pytest.raises(TokbenchError, match="torch finds no CUDA device"):
        score_tokens(tmp_path / "model", shorter, longer, tmp_path / "s.json", [b"a"], reach=10, device="cuda:99")
