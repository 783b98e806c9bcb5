"""Scores of choices by language models, sound for every tokenizer."""

from types import ModuleType

import numpy as np
import pytest

from tests.support.downstream_tasks import requests_of, tiny_mpt, toy_adapter
from tokbench.errors import TokbenchError


def scoring(model, adapter, encode, window: int):
    """A language model that scores with an adapter's tokens."""
    from tokbench.downstream.coverings import Spellings
    from tokbench.downstream.scoring_lm import ScoringLM

    spellings = Spellings(adapter.tokenizer.vocabulary.tokens)
    return ScoringLM(model, adapter, encode, adapter.eos_token_id, spellings=spellings, window=window, batch_size=3)


QUESTIONS = [
    ("the stone", [" house", " river", "s"]),
    ("over the road", [" winter", " in time"]),
    ("", [" a letter", " a voice"]),
    ("time ", ["hand", "world"]),
]
STRADDLING = {0: [0], 1: [0], 3: [0]}


def log_probability(torch: ModuleType, model, adapter, ids: list[int], begin: int = 0) -> float:
    """Of a sequence of tokens after the start token, from a place on."""
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([[adapter.eos_token_id, *ids]])).logits[0].double().log_softmax(-1)
    return sum(float(logits[place, id]) for place, id in enumerate(ids) if place >= begin)


def log_beginning(torch: ModuleType, model, adapter, context: str) -> float:
    """Of a context: before each of its places the tokens of the text, then one that reaches beyond, where written."""
    data, tokens = context.encode(), adapter.tokenizer.vocabulary.tokens
    ways = [adapter.tokenizer.encode(data).tolist()]
    for place in range(len(data)):
        longer = [id for id, token in enumerate(tokens) if token.startswith(data[place:]) and token != data[place:]]
        tried = [[*adapter.tokenizer.encode(data[:place]).tolist(), id] for id in longer]
        ways += [way for way in tried if way == adapter.tokenizer.encode(b"".join(tokens[id] for id in way)).tolist()]
    terms = [log_probability(torch, model, adapter, ids) for ids in ways]
    return float(torch.logsumexp(torch.tensor(terms, dtype=torch.float64), 0))


@pytest.mark.parametrize("max_seq_len", [512, 4])
def test_scores_of_a_model_with_and_without_room(torch: ModuleType, max_seq_len: int) -> None:
    """A question of which a choice straddles is scored given the text of its context, others given its tokens."""
    model, adapter = tiny_mpt(torch, max_seq_len), toy_adapter()

    def encode(text: str | bytes) -> list[int]:
        return adapter.tokenizer.encode(text).tolist()

    lm = scoring(model, adapter, encode, max_seq_len)
    scored = [score for score, _ in lm.loglikelihood(requests_of(QUESTIONS))]
    reference = tiny_mpt(torch)
    expected = []
    for number, (context, choices) in enumerate(QUESTIONS):
        for choice in choices:
            whole = encode(context + choice)
            if number in STRADDLING:
                covered = log_beginning(torch, reference, adapter, context.rstrip())
                expected.append(log_probability(torch, reference, adapter, whole) - covered)
            else:
                expected.append(log_probability(torch, reference, adapter, whole, len(encode(context.rstrip()))))
    assert scored == pytest.approx(expected, abs=1e-4)
    boundaries = lm.boundaries["toy"]
    assert {document: one.straddling for document, one in boundaries.items() if one.straddling} == STRADDLING
    assert boundaries[2].tokens == [len(encode(choice)) for choice in QUESTIONS[2][1]]
    assert boundaries[0].tokens == [5, 5, 1]
    assert not lm.truncated_documents


def test_where_no_bytes_are_known_choices_are_ordered_as_where_they_are(torch: ModuleType) -> None:
    """All choices of a question have one cut, so that they differ by what the probability of the context divides by."""
    from tokbench.downstream.scoring_lm import ScoringLM

    adapter = toy_adapter()

    def encode(text: str | bytes) -> list[int]:
        return adapter.tokenizer.encode(text).tolist()

    known = scoring(tiny_mpt(torch), adapter, encode, 512)
    unknown = ScoringLM(
        tiny_mpt(torch), adapter, encode, adapter.eos_token_id, spellings=None, window=512, batch_size=3
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


def test_tokenizers_that_draw_are_drawn_anew() -> None:
    from tokbench.downstream.draws import DRAWS, drawn_anew
    from tokbench.segmentation import segmentations
    from tokbench.tokenizer import Tokenizer
    from tokbench.vocabulary import Vocabulary

    vocabulary = Vocabulary(tuple([bytes([value]) for value in range(256)] + [b"ab", b"ba"]))

    def made(**options: object) -> Tokenizer:
        return Tokenizer(vocabulary, "none", "shortest_path", segmentations["shortest_path"].options(**options))

    assert drawn_anew(made()) == drawn_anew(Tokenizer(vocabulary, "none", "greedy")) == []
    drawn = drawn_anew(made(ties="random", seed=3))
    assert [one.options.seed for one in drawn] == list(range(4, 3 + DRAWS))
    text = b"aba" * 6
    assert len({tuple(one.encode(text).tolist()) for one in drawn}) > 1


def test_contexts_of_models_with_learned_positions_are_shortened_alike(torch: ModuleType) -> None:
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
