"""What one segmentation loses: estimates against all segmentations of short texts."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from tokbench.downstream.coverings import Spellings
from tokbench.downstream.segmentations import Ids, Next, lost_nats, one_segmentation

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


def test_a_causal_model_is_asked_after_the_start() -> None:
    torch = pytest.importorskip("torch")
    from tests.support.downstream_tasks import tiny_mpt
    from tokbench.downstream.segmentations import next_after

    model = tiny_mpt(torch)
    found = next_after(model, 300, "cpu")([(), (5, 6, 7), (9,)])
    with torch.inference_mode():
        for row, ids in zip(found, ([300], [300, 5, 6, 7], [300, 9]), strict=True):
            logits = model(input_ids=torch.tensor([ids])).logits[0, -1].double().log_softmax(-1)
            assert row == pytest.approx(logits.numpy(), abs=1e-5)
