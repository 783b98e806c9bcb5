"""Proven bounds on the tokens of any vocabulary: true, near, exact, and as their twins in plain Python have them.

No construction and no segmentation is below the bound; ConvexTok, which is made of it.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize, sparse

from tests.conftest import TOPICS
from tests.support.texts import SHARED, THREE, WORDS, counts_of, encoded, substrings, text_counts
from tokbench.building import initial_vocabulary
from tokbench.candidates import SignalName
from tokbench.candidates.running_text import Documents
from tokbench.candidates.scored_text import ScoredDocument, ScoredDocuments
from tokbench.construction import constructions
from tokbench.errors import TokbenchError
from tokbench.kernels.byte_prices import BytePrices
from tokbench.kernels.edges import relief
from tokbench.kernels.exchange import exchanges
from tokbench.kernels.relaxation import Relaxation
from tokbench.kernels.shares import Shares
from tokbench.optimum.certificate import proves
from tokbench.optimum.graph import SubstringGraph, graph_of, prove_bound
from tokbench.optimum.search import search
from tokbench.pretokens.count import count_pretokens
from tokbench.reference import bounds
from tokbench.reference import bounds as reference
from tokbench.reference import bounds as sharing
from tokbench.segmentation import segmentations
from tokbench.vocabulary import Vocabulary

THREADS = st.integers(1, 3)


def optimum(words: dict[bytes, int], limit: int) -> int:
    """Fewest tokens by any vocabulary, all of them tried."""
    every = substrings(words)
    tries = combinations(every, min(limit, len(every)))
    return min(reference.fewest(list(words.items()), set(vocabulary)) for vocabulary in tries)


def priced(words: dict[bytes, int], limit: int, numbers: list[float]) -> int:
    """The bound by prices of bytes that are given as shares of what a byte may cost."""
    graph = graph_of(counts_of(words), 256 + limit)
    text = graph.counts
    potentials = []
    shares = np.resize(numbers, len(text.data))
    for start, end, count in zip(text.offsets, text.offsets[1:], text.counts, strict=False):
        potentials += [0.0, *np.cumsum(shares[start:end] * count)]
    return prove_bound(graph, np.array(potentials)).bound


@given(WORDS, st.integers(0, 3), st.lists(st.floats(-2, 3), min_size=1, max_size=12))
@settings(max_examples=50, deadline=None)
def test_any_prices_stay_below_every_vocabulary(words: dict[bytes, int], limit: int, numbers: list[float]) -> None:
    assert priced(words, limit, numbers) <= optimum(words, limit)


@given(WORDS, st.integers(0, 3), THREADS)
@settings(max_examples=60, deadline=None)
def test_search_is_between_bound_and_optimum(words: dict[bytes, int], limit: int, threads: int) -> None:
    graph = graph_of(counts_of(words), 256 + limit, threads=threads)
    found = search(graph, gap=0, steps=200, threads=threads)
    best = optimum(words, limit)
    assert found.proof.bound <= best <= found.tokens
    assert len(found.vocabulary) <= limit
    assert reference.fewest(list(words.items()), set(graph.spell(found.vocabulary))) == found.tokens


@pytest.mark.parametrize(
    ("words", "limit", "bound"),
    [(SHARED, 3, 9), (SHARED, 2, 11), (SHARED, 0, 15), (THREE, 1, 20), (THREE, 2, 16), ({"aaaa": 2, "aaa": 3}, 1, 7)],
)
def test_worked_examples_are_proved(words: dict[str, int], limit: int, bound: int) -> None:
    """BPE takes 10 tokens for the first, where 9 are enough."""
    found = search(graph_of(counts_of(encoded(words)), 256 + limit), gap=0, steps=400)
    assert (found.proof.bound, found.tokens) == (bound, bound)


def test_a_gap_that_no_prices_close() -> None:
    """The relaxation takes two halves: 22.5 tokens, where every vocabulary needs 24; after few steps only if asked."""
    graph = graph_of(counts_of(encoded({"bb": 3, "bbb": 3, "ca": 3, "aca": 3})), 257)
    found = search(graph, gap=0, steps=400)
    assert (found.proof.bound, found.tokens) == (23, 24)
    few = [search(graph, gap=0, steps=60, shares=shares).relaxation for shares in (False, True)]
    assert few == [24, pytest.approx(22.5, rel=0.01)]


def test_counts_beyond_32_bits() -> None:
    words = {word: count * (2**31 + 11) for word, count in encoded(THREE).items()}
    found = search(graph_of(counts_of(words), 258), gap=0, steps=400)
    assert found.tokens == 16 * (2**31 + 11)
    assert 0 <= found.gap < 1e-6
    with pytest.raises(TokbenchError, match="63 bits"):
        prove_bound(graph := graph_of(counts_of({b"aaaaaaaa": 2**57}), 258), np.zeros(int(graph.bounds[-1])))


def test_prices_of_bytes_take_over_where_pretokens_are_long() -> None:
    """Lines of a text, uncut: prices of edges leave half of it open."""
    counts = count_pretokens(TOPICS[0].splitlines(keepends=True), "none")
    found = search(graph_of(counts, 280), gap=0, steps=400)
    assert found.steps == 400
    assert found.search_excess < 0.1
    assert found.proof.bound <= found.relaxation <= found.tokens


@given(WORDS, st.integers(0, 4), st.integers(1, 60), st.integers(0, 30), THREADS)
@settings(max_examples=60, deadline=None)
def test_ascent_is_its_twin(words: dict[bytes, int], limit: int, steps: int, lowered: int, threads: int) -> None:
    graph = graph_of(counts_of(words), 256 + limit)
    upper = float(sum(len(word) * count for word, count in words.items()))
    ascent = Relaxation(
        graph.bounds, graph.counts.counts, graph.first, graph.starts, graph.tokens, len(graph.places), limit, threads,
        lowered,
    )  # fmt: skip
    ascent.advance(steps // 2, upper)
    ascent.advance(steps - steps // 2, upper)
    tokens = list(graph.spell(np.arange(len(graph.places))))
    best, kept = reference.ascend(list(graph.counts.items()), tokens, limit, steps, upper, lowered)
    assert ascent.lower == best
    assert ascent.potentials().tolist() == [value for word in kept for value in word]


@given(WORDS, st.integers(0, 3), st.integers(1, 60), st.lists(st.floats(-1, 2), min_size=1, max_size=9), THREADS)
@settings(max_examples=60, deadline=None)
def test_ascent_by_prices_of_bytes_is_its_twin(
    words: dict[bytes, int], limit: int, steps: int, numbers: list[float], threads: int
) -> None:
    """To the last bit, whatever prices it begins with."""
    graph = graph_of(counts_of(words), 256 + limit)
    text = list(graph.counts.items())
    upper = float(sum(len(word) * count for word, count in text))
    own = [[count * sum(np.resize(numbers, node).tolist()) for node in range(len(word) + 1)] for word, count in text]
    ascent = BytePrices(
        graph.bounds, graph.counts.counts, graph.first, graph.starts, graph.tokens, len(graph.places), limit,
        np.array([price for word in own for price in word]), threads,
    )  # fmt: skip
    ascent.advance(steps // 2, upper)
    ascent.advance(steps - steps // 2, upper)
    tokens = list(graph.spell(np.arange(len(graph.places))))
    best, kept = bounds.ascend_byte_prices(text, tokens, own, limit, steps, upper)
    assert ascent.lower == best
    assert ascent.potentials().tolist() == [value for word in kept for value in word]
    assert np.ceil(best - 1e-6) <= optimum(words, limit)


@given(WORDS, st.integers(0, 4), st.integers(0, 12), st.lists(st.floats(0, 1), min_size=1, max_size=9), THREADS)
@settings(max_examples=60, deadline=None)
def test_shares_are_their_twin(
    words: dict[bytes, int], limit: int, steps: int, numbers: list[float], threads: int
) -> None:
    """To the last bit, whatever they begin with; and what they say can be attained is no less than the bound."""
    graph = graph_of(counts_of(words), 256 + limit)
    text = list(graph.counts.items())
    shares = np.resize(numbers, len(graph.places)).astype(np.float64)
    own = [[count * numbers[0] * node for node in range(len(word) + 1)] for word, count in text]
    method = Shares(
        graph.bounds, graph.counts.counts, graph.first, graph.starts, graph.tokens, shares,
        np.array([price for word in own for price in word]), limit, threads,
    )  # fmt: skip
    method.advance(steps)
    tokens = list(graph.spell(np.arange(len(graph.places))))
    found, units = sharing.solved(text, tokens, shares.tolist(), own, limit, steps, 64)
    assert method.shares().tolist() == found
    assert method.tokens_of(64) == units
    assert units >= 64 * (search(graph, gap=0, steps=40).proof.bound - 1)


@given(WORDS, st.lists(st.integers(-3, 9), min_size=1, max_size=20), st.integers(1, 3), THREADS)
@settings(max_examples=60, deadline=None)
def test_relief_is_its_twin(words: dict[bytes, int], numbers: list[int], scale: int, threads: int) -> None:
    graph = graph_of(counts_of(words), 300)
    counts = graph.counts
    prices = np.resize(numbers, len(counts.data)).astype(np.int64)
    own = [prices[start:end].tolist() for start, end in zip(counts.offsets, counts.offsets[1:], strict=False)]
    nodes = np.concatenate([[0, *np.cumsum(each)] for each in own]).astype(np.int64)
    found = relief(counts.offsets, counts.counts, graph.suffixes, graph.groups, nodes, scale, threads)
    assert sorted(found.tolist()) == sorted(reference.relief(list(counts.items()), own, scale).values())


@given(WORDS, st.randoms(use_true_random=False), THREADS)
@settings(max_examples=60, deadline=None)
def test_local_search_computes_the_saving_of_single_tokens(
    words: dict[bytes, int], random: "np.random.Generator", threads: int
) -> None:
    graph = graph_of(counts_of(words), 256 + 100)
    every = graph.spell(np.arange(len(graph.places)))
    chosen = np.array([random.random() < 0.4 for _ in every], np.bool_)
    inside = {token for token, taken in zip(every, chosen, strict=True) if taken}
    text = list(words.items())
    total, worth = _worth(graph, chosen, threads)
    assert total == reference.fewest(text, inside)
    for token, taken, told in zip(every, chosen, worth, strict=True):
        changed = reference.fewest(text, inside ^ {token})
        if taken:
            assert told == changed - total
        else:
            assert 0 <= told <= total - changed


def _worth(graph: SubstringGraph, chosen: np.ndarray, threads: int) -> tuple[int, list[int]]:
    arrays = graph.bounds, graph.counts.counts, graph.first, graph.starts, graph.tokens
    total, worth = exchanges(*arrays, chosen.astype(np.uint8), True, threads, enough=1)
    return total, worth.tolist()


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_do_not_show(threads: int) -> None:
    """To the last bit, in a text large enough for every one of them: sums are rounded as one thread rounds them."""
    counts = counts_of(text_counts(4000, 3))
    alone, shared = (graph_of(counts, 256 + 300, threads=number) for number in (1, threads))
    for name in ("suffixes", "groups", "bounds", "places", "first", "starts", "tokens"):
        assert np.array_equal(getattr(alone, name), getattr(shared, name)), name
    one, many = (search(alone, gap=0, steps=120, shares=True, threads=number) for number in (1, threads))
    assert (one.tokens, one.relaxation, one.steps, one.proof.bound) == (
        *(many.tokens, many.relaxation, many.steps, many.proof.bound),
    )
    for left, right in (
        (one.vocabulary, many.vocabulary),
        (one.shares, many.shares),
        (one.proof.prices, many.proof.prices),
    ):
        assert np.array_equal(left, right)


@pytest.mark.parametrize("limit", [3, 10, 25])
def test_bound_is_that_of_the_linear_program(limit: int) -> None:
    """HiGHS solves the relaxation; the bound comes within 0.05 % of it, and never above but by rounding up."""
    words = text_counts(60, 7)
    found = search(graph_of(counts_of(words), 256 + limit), gap=0, steps=3000)
    exact = linear_program(words, limit)
    assert exact * (1 - 0.0005) <= found.proof.bound <= np.ceil(exact - 1e-6)
    assert exact * (1 - 1e-9) <= found.relaxation <= exact * 1.0005
    assert (1 + found.search_excess) * (1 + found.rounding_excess) == pytest.approx(
        1 + found.gap
    ) or found.search_excess == 0


def linear_program(words: dict[bytes, int], limit: int) -> float:
    """Least tokens with shares of tokens: flows through words, at most the token's share on each edge."""
    number = {token: index for index, token in enumerate(substrings(words))}
    costs, flows, caps, nodes = [0.0] * len(number), [], [], 0
    right, variable = [], len(number)
    for word, count in words.items():
        for start in range(len(word)):
            for end in range(start + 1, len(word) + 1):
                costs.append(count)
                flows += [(nodes + start, variable, 1), (nodes + end, variable, -1)]
                if end - start > 1:
                    caps.append((variable, number[word[start:end]]))
                variable += 1
        right += [1, *[0] * (len(word) - 1), -1]
        nodes += len(word) + 1
    rows, columns, values = zip(*flows, strict=True)
    equal = sparse.csr_matrix((values, (rows, columns)), (nodes, variable))
    entries = [entry for row, (edge, token) in enumerate(caps) for entry in ((row, edge, 1), (row, token, -1))]
    entries += [(len(caps), token, 1) for token in range(len(number))]
    rows, columns, values = zip(*entries, strict=True)
    above = sparse.csr_matrix((values, (rows, columns)), (len(caps) + 1, variable))
    solved = optimize.linprog(costs, above, [0] * len(caps) + [limit], equal, right, bounds=(0, 1), method="highs")
    assert solved.status == 0
    return float(solved.fun)


@given(WORDS, st.integers(0, 4))
@settings(max_examples=40, deadline=None)
def test_both_programs_prove_the_same(words: dict[bytes, int], limit: int) -> None:
    graph = graph_of(counts_of(words), 256 + limit)
    found = search(graph, gap=0, steps=40).proof
    ends = graph.counts.offsets.tolist()
    prices = {
        word: found.prices[start:end].tolist()
        for (word, _), start, end in zip(graph.counts.items(), ends, ends[1:], strict=False)
    }
    assert proves(words, prices, 256 + limit, found.scale, None) == found.bound


LOW = {"min_pair_count": 1, "min_word_count": 1, "min_span_count": 1, "initial": "ngram", "dimensions": 4, "epochs": 1}
"""Options by which constructions find tokens in very little text, of those that have them."""
SIGNALS = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=1, max_size=8)


def sources(words: dict[bytes, int], signals: list[float]) -> dict[str, Any]:
    """Inputs of constructions: counts, and each word as often as it is counted as a document, for ByteSpan scored."""
    texts = [word for word, count in words.items() for _ in range(count)]

    class Running(Documents):
        def texts(self) -> Iterator[bytes]:
            return iter(texts)

    class Scored(ScoredDocuments):
        def documents(self, signal: SignalName) -> Iterator[ScoredDocument]:
            for number, text in enumerate(texts):
                yield ScoredDocument(number, "", text, np.resize(signals, len(text)).astype(np.float32))

        def signals(self, signal: SignalName) -> Iterator[NDArray[np.float32]]:
            return (item.signal for item in self.documents(signal))

        def parts(self) -> list[ScoredDocuments]:
            return [self]

    return {"counts": counts_of(words), "documents": Running((), "none"), "scores": Scored((), "none")}


def built(name: str, words: dict[bytes, int], more: int, signals: list[float]) -> Vocabulary:
    """The vocabulary of a construction that has room for some tokens beyond its alphabet."""
    method = constructions[name]
    size = method.alphabet + more
    given = {key: value for key, value in LOW.items() if key in method.options.model_fields}
    options = method.options.model_validate(given | ({"initial_size": size + 30} if method.initial else {}))
    read = sources(words, signals)
    extra = {"initial": initial_vocabulary(read["counts"], options, seed=0, threads=1)} if method.initial else {}
    return method.function(read[method.source], size, options, seed=0, threads=1, **extra)


def allowed(vocabulary: Vocabulary) -> Iterator[tuple[str, dict[str, float]]]:
    """Every segmentation of pre-tokens for which a vocabulary has what it needs, with options."""
    for cut in segmentations.methods():
        if cut.segments_documents:
            continue
        fits = vocabulary.continuation is None or cut.continuation
        if fits and (cut.needs is None or getattr(vocabulary, cut.needs) is not None):
            yield cut.name, {"dropout": 0.5} if cut.name == "bpe_dropout" else {}


@pytest.mark.parametrize("name", list(constructions))
@example(text_counts(80, 3), 44, [2.0, 1.0, 0.5])
@given(WORDS, st.integers(0, 8), SIGNALS)
@settings(max_examples=20, deadline=None)
def test_no_tokenizer_is_below_the_bound(name: str, words: dict[bytes, int], more: int, signals: list[float]) -> None:
    """For all constructions and segmentations. Counted are the tokens of several bytes that the text has,
    one for both of a token's forms."""
    counts = counts_of(words)
    vocabulary = built(name, words, more, signals)
    usable = set(vocabulary.tokens).intersection(substrings(words))
    least = search(graph_of(counts, 256 + len(usable)), gap=0, steps=100).proof.bound
    for cut, options in allowed(vocabulary):
        method = segmentations[cut]
        _, bounds = method.function(vocabulary, method.options.model_validate(options)).segment(
            counts.data, counts.offsets
        )
        assert int(np.diff(bounds) @ counts.counts) >= least, cut


def test_where_bpe_is_far_from_the_best() -> None:
    """Words without a letter in common: each is a token of the best vocabulary, and takes BPE three merges."""
    words = {bytes(range(4 * number, 4 * number + 4)): 10 for number in range(20)}
    counts = counts_of(words)
    found = search(graph_of(counts, 256 + 20), gap=0, steps=600)
    bpe = constructions["bpe"]
    merged = bpe.function(counts, 256 + 20, bpe.options(), seed=0, threads=1)
    segment = segmentations["merge"].function(merged, segmentations["merge"].options())
    tokens = int(np.diff(segment.segment(counts.data, counts.offsets)[1]) @ counts.counts)
    assert (found.proof.bound, found.tokens, tokens) == (200, 200, 600)


@pytest.mark.parametrize("rounding", ["best", "det", "bias", "int", "prob"])
def test_convextok_rounds_as_the_paper_does(rounding: str) -> None:
    counts = counts_of(text_counts(80, 5))
    method = constructions["convextok"]
    options = method.options.model_validate({"rounding": rounding, "gap": 0, "steps": 300})
    vocabulary = method.function(counts, 276, options, seed=4, threads=1)
    assert isinstance(vocabulary, Vocabulary)
    assert len(vocabulary) == 276 if rounding != "int" else 256 <= len(vocabulary) <= 276
    again = method.function(counts, 276, options, seed=4, threads=2)
    assert vocabulary.tokens == again.tokens


@pytest.mark.parametrize("rounding", ["best", "det"])
def test_texts_with_nothing_to_choose(rounding: str) -> None:
    """No pre-token, one of a byte, no room, and more room than substrings."""
    method = constructions["convextok"]
    options = method.options.model_validate({"rounding": rounding})
    for words, size, more in (({}, 300, 0), ({b"a": 3}, 300, 0), ({b"abc": 3}, 256, 0), ({b"abc": 3}, 300, 3)):
        assert len(method.function(counts_of(words), size, options, seed=0, threads=1)) == 256 + more
