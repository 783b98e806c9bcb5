"""Proven bounds on the tokens of any vocabulary: true, near, checked twice, and exact."""

import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize, sparse

from tokbench.building import initial_vocabulary
from tokbench.candidates.running_text import Documents
from tokbench.candidates.scored_text import ScoredDocument, ScoredDocuments
from tokbench.candidates.signals import SignalName
from tokbench.commands import bound as bound_command
from tokbench.commands import check_bound as check_command
from tokbench.construction import constructions
from tokbench.counting.languages import write_languages
from tokbench.errors import TokbenchError
from tokbench.kernels.edges import relief
from tokbench.kernels.exchange import exchanges
from tokbench.kernels.relaxation import Relaxation
from tokbench.kernels.shares import Shares
from tokbench.optimum.check import proves
from tokbench.optimum.graph import Graph, graph_of
from tokbench.optimum.prices import proven
from tokbench.optimum.search import search
from tokbench.pretokens import PretokenCounts
from tokbench.reference import relaxation as reference
from tokbench.reference import shares as sharing
from tokbench.segmentation import segmentations
from tokbench.statistics.cells import INTRINSIC
from tokbench.tabulation.bounds import bounds_table
from tokbench.tabulation.gap import attained, gap_of, gaps, read_bounds
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import Vocabulary

WORDS = st.dictionaries(
    st.text("ab", min_size=1, max_size=6).map(str.encode), st.integers(1, 9), min_size=1, max_size=6
)
SHARED = {"abc": 1, "abd": 1, "abe": 1, "bc": 1, "bd": 1, "be": 1}
THREE = {"abab": 3, "ab": 2, "ba": 4, "aab": 2}


def counts_of(words: dict[bytes, int]) -> PretokenCounts:
    return PretokenCounts.from_pairs(words.items(), "gpt2")


def substrings(words: dict[bytes, int]) -> list[bytes]:
    return sorted({word[i:j] for word in words for i in range(len(word)) for j in range(i + 2, len(word) + 1)})


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
    return proven(graph, np.array(potentials)).bound


def encoded(words: dict[str, int]) -> dict[bytes, int]:
    return {word.encode(): count for word, count in words.items()}


@given(WORDS, st.integers(0, 3), st.lists(st.floats(-2, 3), min_size=1, max_size=12))
@settings(max_examples=50, deadline=None)
def test_any_prices_stay_below_every_vocabulary(words: dict[bytes, int], limit: int, numbers: list[float]) -> None:
    assert priced(words, limit, numbers) <= optimum(words, limit)


@given(WORDS, st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_search_is_between_bound_and_optimum(words: dict[bytes, int], limit: int) -> None:
    graph = graph_of(counts_of(words), 256 + limit)
    found = search(graph, gap=0, steps=200)
    best = optimum(words, limit)
    assert found.proven.bound <= best <= found.tokens
    assert len(found.chosen) <= limit
    assert reference.fewest(list(words.items()), set(graph.spelt(found.chosen))) == found.tokens


@pytest.mark.parametrize(
    ("words", "limit", "bound"),
    [(SHARED, 3, 9), (SHARED, 2, 11), (SHARED, 0, 15), (THREE, 1, 20), (THREE, 2, 16), ({"aaaa": 2, "aaa": 3}, 1, 7)],
)
def test_worked_examples_are_proved(words: dict[str, int], limit: int, bound: int) -> None:
    """BPE takes 10 tokens for the first, where 9 are enough."""
    found = search(graph_of(counts_of(encoded(words)), 256 + limit), gap=0, steps=400)
    assert (found.proven.bound, found.tokens) == (bound, bound)


def test_a_gap_that_no_prices_close() -> None:
    """The relaxation takes two halves: 22.5 tokens, where every vocabulary needs 24."""
    found = search(graph_of(counts_of(encoded({"bb": 3, "bbb": 3, "ca": 3, "aca": 3})), 257), gap=0, steps=400)
    assert (found.proven.bound, found.tokens) == (23, 24)


@given(WORDS, st.integers(0, 4), st.integers(1, 60), st.integers(0, 30))
@settings(max_examples=60, deadline=None)
def test_ascent_is_its_twin(words: dict[bytes, int], limit: int, steps: int, lowered: int) -> None:
    graph = graph_of(counts_of(words), 256 + limit)
    upper = float(sum(len(word) * count for word, count in words.items()))
    ascent = Relaxation(
        graph.bounds, graph.counts.counts, graph.first, graph.starts, graph.tokens, len(graph.places), limit
    )
    ascent.advance(steps, upper, lowered)
    tokens = list(graph.spelt(np.arange(len(graph.places))))
    best, kept = reference.ascend(list(graph.counts.items()), tokens, limit, steps, upper, lowered)
    assert ascent.lower == best
    assert ascent.potentials().tolist() == [value for word in kept for value in word]


@given(WORDS, st.integers(0, 4), st.integers(0, 12), st.lists(st.floats(0, 1), min_size=1, max_size=9))
@settings(max_examples=60, deadline=None)
def test_shares_are_their_twin(words: dict[bytes, int], limit: int, steps: int, numbers: list[float]) -> None:
    """To the last bit, whatever they begin with; and what they say can be attained is no less than the bound."""
    graph = graph_of(counts_of(words), 256 + limit)
    text = list(graph.counts.items())
    shares = np.resize(numbers, len(graph.places)).astype(np.float64)
    own = [[count * numbers[0] * node for node in range(len(word) + 1)] for word, count in text]
    method = Shares(
        graph.bounds, graph.counts.counts, graph.first, graph.starts, graph.tokens, shares,
        np.array([price for word in own for price in word]), limit,
    )  # fmt: skip
    method.advance(steps)
    tokens = list(graph.spelt(np.arange(len(graph.places))))
    found, units = sharing.solved(text, tokens, shares.tolist(), own, limit, steps, 64)
    assert method.shares().tolist() == found
    assert method.tokens_of(64) == units
    assert units >= 64 * (search(graph, gap=0, steps=40).proven.bound - 1)


@given(WORDS, st.lists(st.integers(-3, 9), min_size=1, max_size=20), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_relief_is_its_twin(words: dict[bytes, int], numbers: list[int], scale: int) -> None:
    graph = graph_of(counts_of(words), 300)
    counts = graph.counts
    prices = np.resize(numbers, len(counts.data)).astype(np.int64)
    own = [prices[start:end].tolist() for start, end in zip(counts.offsets, counts.offsets[1:], strict=False)]
    nodes = np.concatenate([[0, *np.cumsum(each)] for each in own]).astype(np.int64)
    found = relief(counts.offsets, counts.counts, graph.suffixes, graph.groups, nodes, scale)
    assert sorted(found.tolist()) == sorted(reference.relief(list(counts.items()), own, scale).values())


@given(WORDS, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_exchanges_tell_what_single_tokens_save(words: dict[bytes, int], random: "np.random.Generator") -> None:
    graph = graph_of(counts_of(words), 256 + 100)
    every = graph.spelt(np.arange(len(graph.places)))
    chosen = np.array([random.random() < 0.4 for _ in every], np.bool_)
    inside = {token for token, taken in zip(every, chosen, strict=True) if taken}
    text = list(words.items())
    total, worth = _worth(graph, chosen)
    assert total == reference.fewest(text, inside)
    for token, taken, told in zip(every, chosen, worth, strict=True):
        changed = reference.fewest(text, inside ^ {token})
        if taken:
            assert told == changed - total
        else:
            assert 0 <= told <= total - changed


def _worth(graph: Graph, chosen: np.ndarray) -> tuple[int, list[int]]:
    total, worth = exchanges(
        graph.bounds, graph.counts.counts, graph.first, graph.starts, graph.tokens, chosen.astype(np.uint8), True
    )
    return total, worth.tolist()


def text_counts(words: int, seed: int) -> dict[bytes, int]:
    """Words over few letters, some of them frequent."""
    rng = np.random.default_rng(seed)
    found: dict[bytes, int] = {}
    for rank in range(words):
        word = bytes(rng.choice(list(b"abcde"), size=rng.integers(1, 9)).tolist())
        found[word] = found.get(word, 0) + 1 + 400 // (rank + 1)
    return found


@pytest.mark.parametrize("limit", [3, 10, 25])
def test_bound_is_that_of_the_linear_program(limit: int) -> None:
    """HiGHS solves the relaxation; the bound comes within 0.05 % of it, and never above but by rounding up."""
    words = text_counts(60, 7)
    found = search(graph_of(counts_of(words), 256 + limit), gap=0, steps=3000)
    exact = linear_program(words, limit)
    assert exact * (1 - 0.0005) <= found.proven.bound <= np.ceil(exact - 1e-6)
    assert exact * (1 - 1e-9) <= found.relaxed <= exact * 1.0005
    assert (1 + found.unsettled) * (1 + found.unrounded) == pytest.approx(1 + found.gap) or found.unsettled == 0


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


LOW = {"min_pair_count": 1, "min_word_count": 1, "min_span_count": 1, "initial": "ngram", "dimensions": 4, "epochs": 1}
"""Options by which constructions find tokens in very little text, of those that have them."""
SIGNALS = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=1, max_size=8)


def sources(words: dict[bytes, int], signals: list[float]) -> dict[str, Any]:
    """What constructions read: counts, and each word as often as it is counted as a document, for ByteSpan scored."""
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
    """Every segmentation for which a vocabulary has what it needs, with options."""
    for cut in segmentations.methods():
        fits = vocabulary.continuation is None or cut.continuation
        if fits and (cut.needs is None or getattr(vocabulary, cut.needs) is not None):
            yield cut.name, {"dropout": 0.5} if cut.name == "bpe_dropout" else {}


@pytest.mark.parametrize("name", list(constructions))
@example(text_counts(80, 3), 44, [2.0, 1.0, 0.5])
@given(WORDS, st.integers(0, 8), SIGNALS)
@settings(max_examples=20, deadline=None)
def test_no_tokenizer_is_below_the_bound(name: str, words: dict[bytes, int], more: int, signals: list[float]) -> None:
    """Whatever chose the tokens and whatever cuts the text. Counted are the tokens of several bytes that the text has,
    one for both of a token's forms."""
    counts = counts_of(words)
    vocabulary = built(name, words, more, signals)
    usable = set(vocabulary.tokens).intersection(substrings(words))
    least = search(graph_of(counts, 256 + len(usable)), gap=0, steps=100).proven.bound
    for cut, options in allowed(vocabulary):
        method = segmentations[cut]
        _, bounds = method.function(vocabulary, method.options.model_validate(options)).segment(
            counts.data, counts.offsets
        )
        assert int(np.diff(bounds) @ counts.counts) >= least, cut


def test_gaps_of_every_language(tmp_path: Path) -> None:
    """Counts that keep languages apart are bounded by language; a gap is tokens over the bound of the same text."""
    parts = {language: counts_of(text_counts(30, seed)) for seed, language in enumerate(("de", "en"))}
    whole = write_languages(parts, tmp_path / "counts.parquet")
    result = tmp_path / "books" / "gpt2" / "270.json"
    arguments = ["--counts", str(tmp_path / "counts.parquet"), "--size", "270", "--result", str(result)]
    CliRunner().invoke(bound_command.command, arguments, catch_exceptions=False)
    bounds = read_bounds([result])
    texts = {"": whole, **parts}
    alone = {one: search(graph_of(text, 270), gap=0.001, steps=1000) for one, text in texts.items()}
    assert bounds == {("books", one, "gpt2", 270): found.proven.bound for one, found in alone.items()}
    told = json.loads(result.read_text())["languages"]["de"]
    assert (told["relaxed"], told["unsettled"]) == (alone["de"].relaxed, alone["de"].unsettled)
    rows = bounds_table([result])
    assert rows.select("corpus", "language", "pretokenization", "size").rows() == [
        ("books", one, "gpt2", 270) for one in texts
    ]
    assert rows["unrounded"].to_list() == [found.unrounded for found in alone.values()]
    (why := result.with_name("280.json")).write_text('{"bound": null, "reason": "too long", "size": 280}')
    assert bounds_table([why]).select("bound", "gap", "reason").rows() == [(None, None, "too long")]
    vocabulary = constructions["bpe"].function(whole, 270, constructions["bpe"].options(), seed=0, threads=1)
    tokenizer = Tokenizer(vocabulary, "gpt2", "merge")
    rows = [("bpe", 270, "books", one, "corpus_token_count", "", 1000.0 + at, 1, None) for at, one in enumerate(texts)]
    measured = pl.DataFrame(rows, schema=INTRINSIC, orient="row")
    for at, (one, found) in enumerate(alone.items()):
        [(key, gap)] = gaps(measured, {("bpe", 270): tokenizer}, bounds, "books", one)
        assert (key, gap.value) == (("bpe", 270), (1000 + at) / found.proven.bound - 1)
    told = gaps(measured, {("bpe", 270): tokenizer}, bounds, "books")
    pairs = pl.DataFrame([("bpe", 270, "books", "", "joined_pairs", "", 400.0, 1, None)], INTRINSIC, orient="row")
    [(_, share)] = attained(pairs, told)
    assert share.value == 400 / (1400 - alone[""].proven.bound)
    [(_, lacking)] = gaps(measured, {("bpe", 270): tokenizer}, {}, "books", "en")
    assert lacking.value is None
    assert lacking.reason == "no lower bound was proven for pre-tokens by “gpt2” at this size"


@pytest.mark.parametrize(
    ("vocabulary", "reason"),
    [
        ({"tokens": [b"ab"], "continuation": [True]}, "tokens inside a word count apart from the same letters at its "),
        ({"tokens": [b"ab"] * 1003, "continuation": None}, "the vocabulary has 1,003 tokens of two bytes or more, as "
         "it lacks some single bytes; the bound was proven for 1,000 of them at most"),
    ],
)  # fmt: skip
def test_why_there_is_no_gap(vocabulary: dict[str, Any], reason: str) -> None:
    tokenizer: Any = SimpleNamespace(library_name="", pretokenization="gpt2", vocabulary=SimpleNamespace(**vocabulary))
    found = gap_of(100.0, 1256, tokenizer, 90)
    assert found.value is None
    assert (found.reason or "").startswith(reason)


def test_where_bpe_is_far_from_the_best() -> None:
    """Words without a letter in common: each is a token of the best vocabulary, and takes BPE three merges."""
    words = {bytes(range(4 * number, 4 * number + 4)): 10 for number in range(20)}
    counts = counts_of(words)
    found = search(graph_of(counts, 256 + 20), gap=0, steps=600)
    bpe = constructions["bpe"]
    merged = bpe.function(counts, 256 + 20, bpe.options(), seed=0, threads=1)
    segment = segmentations["merge"].function(merged, segmentations["merge"].options())
    tokens = int(np.diff(segment.segment(counts.data, counts.offsets)[1]) @ counts.counts)
    assert (found.proven.bound, found.tokens, tokens) == (200, 200, 600)


def test_counts_beyond_32_bits() -> None:
    words = {word: count * (2**31 + 11) for word, count in encoded(THREE).items()}
    found = search(graph_of(counts_of(words), 258), gap=0, steps=400)
    assert found.tokens == 16 * (2**31 + 11)
    assert 0 <= found.gap < 1e-6
    with pytest.raises(TokbenchError, match="63 bits"):
        proven(graph := graph_of(counts_of({b"aaaaaaaa": 2**57}), 258), np.zeros(int(graph.bounds[-1])))


def test_certificates_are_checked_by_another_program(tmp_path: Path) -> None:
    words = text_counts(50, 1)
    counts_of(words).write(counts := tmp_path / "counts.parquet")
    certificate = tmp_path / "certificate"
    arguments = ["--counts", str(counts), "--size", "270", "--steps", "60", "-o", str(certificate)]
    ran = CliRunner().invoke(bound_command.command, arguments, catch_exceptions=False)
    told = json.loads(ran.stdout)
    assert told["bound"] <= told["tokens"]
    assert told["gap"] == told["tokens"] / told["bound"] - 1
    assert _checked(counts, certificate)["proven"] == told["bound"]
    claim, *lines = certificate.read_text().splitlines()

    def altered(*content: str) -> Path:
        (tmp_path / "altered").write_text("\n".join(content) + "\n")
        return tmp_path / "altered"

    higher = json.dumps(json.loads(claim) | {"bound": told["bound"] + 1})
    larger = json.dumps(json.loads(claim) | {"size": 300})
    word, _, prices = lines[0].partition("\t")
    dearer = f"{word}\t{' '.join(str(10**9) for _ in prices.split())}"
    cheaper = f"{word}\t{' '.join('-1000000' for _ in prices.split())}"
    for content in ((higher, *lines), (larger, *lines), (claim, dearer, *lines[1:]), (claim, cheaper, *lines[1:])):
        with pytest.raises(TokbenchError):
            _checked(counts, altered(*content))
    for content in ((claim, *lines[1:]), (claim, *lines, lines[0]), ("{}", *lines), (claim, word, *lines[1:])):
        with pytest.raises(TokbenchError):
            _checked(counts, altered(*content))


def test_a_certificate_says_how_long_tokens_may_be(tmp_path: Path) -> None:
    counts_of(text_counts(50, 1)).write(counts := tmp_path / "counts.parquet")
    arguments = ["--counts", str(counts), "--size", "270", "--steps", "60", "-o", str(tmp_path / "certificate")]
    told = [
        json.loads(CliRunner().invoke(bound_command.command, [*arguments, *more], catch_exceptions=False).stdout)
        for more in ([], ["--max-token-bytes", "2"])
    ]
    assert [one["longest"] for one in told] == [None, 2]
    assert told[0]["bound"] < told[1]["bound"]
    assert _checked(counts, tmp_path / "certificate")["proven"] == told[1]["bound"]


def _checked(counts: Path, certificate: Path) -> dict[str, int]:
    ran = CliRunner().invoke(
        check_command.command,
        [str(certificate), "--counts", str(counts)],
        catch_exceptions=False,
        standalone_mode=False,
    )
    if ran.exception:
        raise ran.exception
    told: dict[str, int] = json.loads(ran.stdout)
    return told


@given(WORDS, st.integers(0, 4))
@settings(max_examples=40, deadline=None)
def test_both_programs_prove_the_same(words: dict[bytes, int], limit: int) -> None:
    graph = graph_of(counts_of(words), 256 + limit)
    found = search(graph, gap=0, steps=40).proven
    ends = graph.counts.offsets.tolist()
    prices = {
        word: found.prices[start:end].tolist()
        for (word, _), start, end in zip(graph.counts.items(), ends, ends[1:], strict=False)
    }
    assert proves(words, prices, 256 + limit, found.scale, None) == found.bound


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
