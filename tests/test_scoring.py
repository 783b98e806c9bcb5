"""Scores of choices by language models, sound for every tokenizer."""

from types import ModuleType

import pytest

from tests.downstream import requests_of, tiny_mpt, toy_face
from tokbench.downstream.boundary import encode_choices
from tokbench.registry import TokbenchError


def scoring(model, face, encode, window: int):
    """A language model that scores with a face's tokens."""
    from tokbench.downstream.coverings import Spellings
    from tokbench.downstream.scoring_lm import ScoringLM

    spellings = Spellings(face.tokenizer.vocabulary.tokens)
    return ScoringLM(model, face, encode, face.eos_token_id, spellings=spellings, window=window, batch_size=3)


QUESTIONS = [
    ("the stone", [" house", " river", "s"]),
    ("over the road", [" winter", " in time"]),
    ("", [" a letter", " a voice"]),
    ("time ", ["hand", "world"]),
]


@pytest.mark.parametrize("max_seq_len", [512, 4])
def test_scores_of_a_model_with_and_without_room(torch: ModuleType, max_seq_len: int) -> None:
    model, face = tiny_mpt(torch, max_seq_len), toy_face()

    def encode(text: str) -> list[int]:
        return face.tokenizer.encode(text).tolist()

    lm = scoring(model, face, encode, max_seq_len)
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
    boundaries = lm.boundaries["toy"]
    straddling = {document: boundary.straddling for document, boundary in boundaries.items() if boundary.straddling}
    assert straddling == {0: [0], 1: [0], 3: [0]}
    assert boundaries[2].tokens == [len(encode(choice)) for choice in QUESTIONS[2][1]]
    assert not lm.truncated_documents


def test_contexts_of_models_with_learned_positions_are_shortened_alike(torch: ModuleType) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(n_embd=16, n_layer=1, n_head=2, n_positions=12, vocab_size=320)).eval()
    face = toy_face()
    lm = scoring(model, face, lambda text: list(text.encode()), 12)
    scored = lm.loglikelihood(requests_of([("a long context", [" cat", " horse"]), ("so", [" cat", " horse"])]))
    assert lm.truncated_documents == {"toy": {0}}
    ids = list(b"context cat")
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
    assert scored[0][0] == pytest.approx(sum(float(logits[i - 1, ids[i]]) for i in range(7, 11)), abs=1e-4)
    with pytest.raises(TokbenchError, match="exceeds the model's window of 12"):
        lm.loglikelihood(requests_of([("a", [" choice far too long"])]))


@pytest.mark.parametrize("max_seq_len", [512, 6])
def test_endings_of_openings_that_straddle_are_given_the_text(torch: ModuleType, max_seq_len: int) -> None:
    """Against the sum over every covering of the opening that differs from its own tokens in the last alone."""
    from lm_eval.api.instance import Instance

    face = toy_face()
    tokens = face.tokenizer.vocabulary.tokens

    def encode(text: str) -> list[int]:
        return face.tokenizer.encode(text).tolist()

    reference = tiny_mpt(torch)

    def log_probability(ids: list[int]) -> float:
        with torch.inference_mode():
            logits = reference(input_ids=torch.tensor([[face.eos_token_id, *ids]])).logits[0].double().log_softmax(-1)
        return sum(float(logits[place, id]) for place, id in enumerate(ids))

    lm = scoring(tiny_mpt(torch, max_seq_len), face, encode, max_seq_len)
    openings = ["the stone", "a bird"]
    requests = [Instance("loglikelihood", {}, (text, " here"), n, ("toy", 0, 1)) for n, text in enumerate(openings)]
    scored = [score for score, _ in lm.loglikelihood(requests)]
    assert lm.boundaries["toy"][0].straddling == [0]
    for opening, score in zip(openings, scored, strict=True):
        alone = encode(opening)
        coverings = [alone]
        for place in range(len(alone)):
            rest = b"".join(tokens[id] for id in alone[place:])
            longer = [id for id, token in enumerate(tokens) if token.startswith(rest) and len(token) > len(rest)]
            coverings += [[*alone[:place], id] for id in longer]
        total = torch.logsumexp(torch.tensor([log_probability(ids) for ids in coverings], dtype=torch.float64), 0)
        assert score == pytest.approx(log_probability(encode(opening + " here")) - float(total), abs=1e-4)
        assert score < 0


def test_a_completion_is_greedy_among_tokens_that_agree_with_the_context(torch: ModuleType) -> None:
    from tokbench.downstream.coverings import Spellings, greedy

    spellings = Spellings([b"a", b"b", b" ", b"a b", b"ab"])
    given = torch.full((1, 6), -9.0).log_softmax(-1).double().numpy()
    given[0, [1, 5]] = -0.1, -0.01  # "b" and the special token would be likelier, but the context says "a".
    given[0, 3] = -1.0
    assert greedy(spellings, b"a", 0, [3], given)
    given[0, 0] = -0.5
    assert not greedy(spellings, b"a", 0, [3], given)
    assert not greedy(spellings, b"", 0, [3], given)
