"""BPE-knockout and ReBPE against their twins, and the published rules by hand."""

import json
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.merge_tuples import merges_of, places, texts, vocabulary_of
from tests.support.workflow.checkout import Checkout
from tokbench.candidates.merge_lists import GoldWord, Parts, anneal, blame, reify, repair
from tokbench.construction.bpe import BpeOptions
from tokbench.construction.bpe import build as bpe
from tokbench.construction.bpe_knockout import BpeKnockoutOptions, build, knock_out, read_gold
from tokbench.errors import TokbenchError
from tokbench.intrinsic.resource import read_resource
from tokbench.options import validated
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.reference import morphology as twin
from tokbench.reference.segmentation import merge_tuples as segmentation_twin
from tokbench.resource import ResourceOptions, resource_types
from tokbench.tokenizer import Tokenizer

MERGES: list[Parts] = [(b"u", b"n"), (b"un", b"d"), (b"und", b"o"), (b"e", b"r"), (b"und", b"er")]
GOLD = [(b"undo", {2}), (b"under", set()), (b"undress", {2})]
WORDS = [GoldWord((word,), (frozenset(cuts),)) for word, cuts in GOLD]

gold_words = st.lists(st.tuples(texts, st.sets(st.integers(1, 13))), max_size=6)


# Blame and knockout


def test_blame_by_hand() -> None:
    joined, crossed = blame(MERGES, WORDS, False)
    assert [joined[rank] for rank in range(5)] == [3, 3, 1, 1, 1]
    assert crossed == Counter({1: 2})


def test_knockout_by_hand() -> None:
    once = knock_out(MERGES, WORDS, BpeKnockoutOptions())
    assert once == [(b"u", b"n"), (b"un", b"d", b"o"), (b"e", b"r"), (b"un", b"d", b"er")]
    cut = [b" ".join(segmentation_twin(word, once)) for word in (b"undo", b"under", b"undress")]
    assert cut == [b"undo", b"under", b"un d r e s s"]
    joined, crossed = blame(once, WORDS, False)
    assert (joined[1], crossed[1], joined[3], crossed[3]) == (2, 1, 2, 0)
    twice = knock_out(MERGES, WORDS, BpeKnockoutOptions(rounds=2))
    assert twice == [(b"u", b"n"), (b"e", b"r"), (b"un", b"d", b"er")]
    assert knock_out(MERGES, WORDS, BpeKnockoutOptions(rounds=9)) == twice


def test_tuples_once_by_hand() -> None:
    """The triple of ``undo`` counts once, with a boundary, where it counts two positions otherwise."""
    once = knock_out(MERGES, WORDS, BpeKnockoutOptions())
    joined, crossed = blame(once, WORDS, True)
    assert (joined[1], crossed[1], joined[3]) == (1, 1, 1)


def test_cascade_by_hand() -> None:
    assert knock_out(MERGES, WORDS, BpeKnockoutOptions(cascade=True)) == [(b"u", b"n"), (b"e", b"r")]


def test_repeated_parts_by_hand() -> None:
    """``abab`` is made of ab twice; ab goes, so its parts are four."""
    words = [GoldWord((b"ab",), (frozenset({1}),))]
    merges: list[Parts] = [(b"a", b"b"), (b"ab", b"ab")]
    assert knock_out(merges, words, BpeKnockoutOptions()) == [(b"a", b"b", b"a", b"b")]


@settings(max_examples=200)
@given(places, gold_words, st.booleans())
def test_blame_twin(rows: list[list[int]], gold: list[tuple[bytes, set[int]]], once: bool) -> None:
    merges = merges_of(rows)
    words = [GoldWord((word,), (frozenset(cuts),)) for word, cuts in gold]
    assert [+found for found in blame(merges, words, once)] == [+found for found in twin.blame(merges, gold, once)]


@settings(max_examples=200)
@given(
    places,
    gold_words,
    st.sampled_from([0.25, 0.5, 0.75, 1.0]),
    st.integers(1, 3),
    st.integers(0, 6),
    st.booleans(),
    st.booleans(),
)
def test_knockout_twin(
    rows: list[list[int]],
    gold: list[tuple[bytes, set[int]]],
    threshold: float,
    rounds: int,
    least: int,
    cascade: bool,
    once: bool,
) -> None:
    merges = merges_of(rows)
    words = [GoldWord((word,), (frozenset(cuts),)) for word, cuts in gold]
    options = BpeKnockoutOptions(threshold=threshold, rounds=rounds, cascade=cascade, tuples_once=once)
    limit = 0 if cascade else least
    expected = twin.knock_out(merges, gold, Fraction(threshold), rounds, limit, cascade=cascade, once=once)
    assert knock_out(merges, words, options, least=limit) == expected
    Tokenizer(vocabulary_of(expected), "none", "merge_tuples")


# Annealing and reification


def test_annealing_by_hand() -> None:
    """``un`` and ``do`` are adjacent three times without a boundary, and ``do`` and ``er`` once of two times."""
    gold = [(b"undo", set[int]()), (b"undoer", {4}), (b"undoes", {4}), (b"doer", set[int]())]
    words = [GoldWord((word,), (frozenset(cuts),)) for word, cuts in gold]
    merges: list[Parts] = [(b"u", b"n"), (b"d", b"o"), (b"e", b"r")]
    added: list[Parts] = [(b"un", b"do")]
    assert anneal(merges, words, 3, 0.8, 9) == merges + added
    assert anneal(merges, words, 1, 0.5, 9) == [*merges, *added, (b"e", b"s"), (b"do", b"er")]
    assert anneal(merges, words, 1, 0.5, 5) == [*merges, *added, (b"e", b"s")]
    assert anneal(merges, words, 4, 0.5, 9) == anneal(merges, words, 1, 0.5, 3) == merges
    options = BpeKnockoutOptions(annealing="after")
    assert knock_out(merges, words, options, most=9) == merges + added
    assert knock_out(merges, words, options) == merges


def test_annealed_tokens_are_new() -> None:
    """``abc`` exists; of the two pairs that make ``xyz``, the first is added."""
    words = [GoldWord((word,), (frozenset(),)) for word in (b"xyz", b"xyz", b"xyzz")]
    merges: list[Parts] = [(b"y", b"z"), (b"x", b"yz")]
    assert anneal(merges, words, 3, 0.8, 9) == merges
    assert anneal(merges[:1], words, 3, 0.8, 9) == merges


TUPLES: list[Parts] = [(b"i", b"d"), (b"b", b"r"), (b"br", b"id", b"s"), (b"g", b"r", b"id"), (b"br", b"id", b"e")]


def test_reification_by_hand() -> None:
    """``brid`` is in two merges of three parts, and is made before the first; ``rid`` is in one."""
    assert reify(TUPLES, set(), False, 99) == (TUPLES, False)
    made: list[Parts] = [(b"br", b"id"), (b"brid", b"s"), (b"r", b"id"), (b"g", b"rid"), (b"brid", b"e")]
    assert reify(TUPLES, {b"ids", b"gr", b"ide"}, True, 99) == (TUPLES[:2] + made, True)
    assert reify(TUPLES, {b"brid", b"ids", b"ide", b"gr", b"rid"}, True, 99) == (TUPLES, False)
    assert reify(TUPLES, set(), True, len(TUPLES)) == (TUPLES, False)
    linked: list[Parts] = [(b"b", b"r"), (b"br", b"i", b"d"), (b"i", b"d"), (b"g", b"br", b"i", b"d", b"i", b"d")]
    assert reify(linked, set(), False, 0) == ([*linked[:3], (b"g", b"br", b"id", b"id")], True)


def test_repair_by_hand() -> None:
    """``dr`` is merged first, so that the parts of ``undress`` are never adjacent."""
    merges: list[Parts] = [(b"d", b"r"), (b"u", b"n"), (b"un", b"d", b"r", b"e")]
    assert repair(merges) == [*merges[:2], (b"un", b"dr", b"e")]
    assert repair([*merges, (b"undre", b"s", b"s")])[3] == (b"undre", b"s", b"s")


def test_knockout_and_reification_by_hand() -> None:
    """``und`` goes, and is not made again; ``ndo`` is made, joins no boundary, and stays in the last knockout."""
    made = knock_out(MERGES, WORDS, BpeKnockoutOptions(reification="make"), most=9)
    assert made == [(b"u", b"n"), (b"d", b"o"), (b"e", b"r"), (b"d", b"er"), (b"un", b"der")]
    assert knock_out(MERGES, WORDS, BpeKnockoutOptions(reification="link"), most=9) == knock_out(
        MERGES, WORDS, BpeKnockoutOptions()
    )


@settings(max_examples=300)
@given(places, gold_words, st.integers(1, 3), st.sampled_from([0.3, 0.5, 0.8, 1.0]), st.integers(0, 12))
def test_annealing_twin(
    rows: list[list[int]], gold: list[tuple[bytes, set[int]]], count: int, share: float, most: int
) -> None:
    merges = merges_of(rows)
    words = [GoldWord((word,), (frozenset(cuts),)) for word, cuts in gold]
    assert anneal(merges, words, count, share, most) == twin.anneal(merges, gold, count, share, most)


@settings(max_examples=300)
@given(places, st.sets(st.text("abc", min_size=2, max_size=4).map(str.encode), max_size=5), st.booleans())
def test_reification_twin(rows: list[list[int]], removed: set[bytes], make: bool) -> None:
    merges = merges_of(rows)
    for most in (0, len(merges) + 1, 99):
        expected = twin.reify(merges, removed, make, most)
        assert reify(merges, removed, make, most) == (expected, expected != merges)
        Tokenizer(vocabulary_of(expected), "none", "merge_tuples")
    repaired = twin.repair(merges)
    assert repair(merges) == repaired
    Tokenizer(vocabulary_of(repaired), "none", "merge_tuples")


@settings(max_examples=200)
@given(
    places,
    gold_words,
    st.integers(1, 4),
    st.integers(0, 9),
    st.sampled_from([None, "before", "after", "both"]),
    st.sampled_from([None, "link", "make"]),
    st.booleans(),
)
def test_options_together_twin(
    rows: list[list[int]],
    gold: list[tuple[bytes, set[int]]],
    rounds: int,
    most: int,
    annealing: str | None,
    reification: str | None,
    repairs: bool,
) -> None:
    merges = merges_of(rows)
    words = [GoldWord((word,), (frozenset(cuts),)) for word, cuts in gold]
    changes = {"annealing": annealing, "annealing_count": 1, "annealing_share": 0.5, "start_share": 0.9}
    options = validated(
        changes | {"rounds": rounds, "reification": reification, "repair": repairs}, BpeKnockoutOptions, "test"
    )
    expected = twin.restructure(
        merges,
        gold,
        Fraction(1, 2),
        rounds,
        0,
        most,
        annealing=annealing,
        count=1,
        share=0.5,
        repairs=repairs,
        reification=reification,
    )
    assert knock_out(merges, words, options, most=most) == expected
    assert len(expected) <= max(most, len(merges))
    Tokenizer(vocabulary_of(expected), "none", "merge_tuples")


# From files


SUFFIXES = ("ing", "ed", "s", "er", "ly")


@pytest.fixture(scope="module")
def prose() -> PretokenCounts:
    return count_pretokens(["".join(topics.values())[:200_000].encode()], "gpt2")


@pytest.fixture(scope="module")
def gold_file(tmp_path_factory: pytest.TempPathFactory, prose: PretokenCounts) -> Path:
    """Words of the text that end with a suffix, in the form of MorphyNet."""
    file = tmp_path_factory.mktemp("gold") / "eng.inflectional.v1.tsv"
    words = sorted({pretoken.decode(errors="ignore").strip() for pretoken, _ in prose.items()})
    with file.open("w") as lines:
        for word in words:
            ends = [
                suffix
                for suffix in SUFFIXES
                if word.isalpha() and word.endswith(suffix) and len(word) > len(suffix) + 2
            ]
            if ends:
                stem = word[: -len(ends[0])]
                lines.write(f"{stem}\t{word}\tV\t{stem}|{ends[0]}\n")
    return file


def options_of(file: Path, **more: object) -> BpeKnockoutOptions:
    return validated({"gold": file, "gold_type": "morphynet", **more}, BpeKnockoutOptions, "test")


def recall(tokenizer: Tokenizer, words: list[tuple[str, list[int]]]) -> tuple[float, int]:
    """Share of gold boundaries at which a token ends, and the number of tokens."""
    right = boundaries = tokens = 0
    for word, cuts in words:
        cut = [tokenizer.vocabulary.tokens[index] for index in tokenizer.encode(f" {word}".encode())]
        ends = set(np.cumsum([len(token) for token in cut]) - 1)
        right += len(ends & set(cuts))
        boundaries += len(cuts)
        tokens += len(cut)
    return right / boundaries, tokens


def test_alignment_on_the_other_words_rises(prose: PretokenCounts, gold_file: Path) -> None:
    other = ResourceOptions(path=[str(gold_file)], left_out=0.5)
    table = read_resource("morphynet", resource_types["morphynet"].options.model_validate(other.model_dump()))
    words = list(zip(table["word"].to_list(), table["boundaries"].to_list(), strict=True))
    read = {b"".join(word.pretokens) for word in read_gold(options_of(gold_file), "gpt2")}
    assert 0.3 < len(read) / (len(read) + len(words)) < 0.7
    assert not read & {f" {word}".encode() for word, _ in words}
    vocabulary = build(prose, 1500, options_of(gold_file))
    knocked, plain = (
        Tokenizer(vocabulary, "gpt2", "merge_tuples"),
        Tokenizer(bpe(prose, 1500, BpeOptions()), "gpt2", "merge"),
    )
    smaller = Tokenizer(bpe(prose, len(vocabulary), BpeOptions()), "gpt2", "merge")
    after, tokens = recall(knocked, words)
    assert 1300 < len(vocabulary) < 1500
    assert after > recall(smaller, words)[0] > 0
    assert recall(plain, words)[1] < tokens
    assert max(map(len, vocabulary.tuples or ())) > 2


def test_without_gold_nothing_changes(prose: PretokenCounts) -> None:
    assert build(prose, 900, BpeKnockoutOptions()).tokens == bpe(prose, 900, BpeOptions()).tokens


@pytest.mark.parametrize("rounds", [1, 2])
def test_fill_restores_the_requested_size(prose: PretokenCounts, gold_file: Path, rounds: int) -> None:
    vocabulary = build(prose, 900, options_of(gold_file, fill=True, rounds=rounds))
    assert len(vocabulary) == 900
    assert max(map(len, vocabulary.tuples or ())) > 2


def test_fill_without_enough_text(gold_file: Path) -> None:
    counts = PretokenCounts.from_pairs([(b" walking", 3), (b" walked", 2)])
    assert len(build(counts, 5000, options_of(gold_file, fill=True))) <= len(bpe(counts, 5000, BpeOptions()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gold": "words.tsv"}, "gold and gold_type belong together"),
        ({"gold_type": "morphynet"}, "gold and gold_type belong together"),
        ({"gold": "words.tsv", "gold_type": "morfynet"}, "'morfynet' is not a type of resource with segmented words"),
        (
            {"gold": "words.tsv", "gold_type": "british_lexicon_project"},
            "is not a type of resource with segmented words",
        ),
        ({"fill": True, "cascade": True}, "fill and cascade exclude each other"),
        ({"fill": True, "annealing": "after"}, "fill excludes annealing"),
        ({"fill": True, "reification": "make"}, "fill excludes annealing"),
        ({"fill": True, "start_share": 0.9}, "fill excludes annealing"),
        ({"cascade": True, "reification": "link"}, "cascade leaves no merges of several parts"),
        ({"cascade": True, "repair": True}, "cascade leaves no merges of several parts"),
        ({"annealing": "both"}, "needs room for its merges; set start_share below 1"),
        ({"threshold": 0}, "threshold"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, object], message: str) -> None:
    with pytest.raises(TokbenchError, match=message):
        validated(options, BpeKnockoutOptions, "test")


def test_gold_without_words(prose: PretokenCounts, gold_file: Path) -> None:
    with pytest.raises(
        TokbenchError, match="no segmented word of a resource of type 'morphynet' is among those chosen"
    ):
        build(prose, 300, options_of(gold_file, gold_languages=["nld"]))


# In the workflow


EXPERIMENT = """
name: knockout
corpora:
  manual: {source: {type: text, path: manual.txt, documents: paragraph}, splits: {tokenizer: 0.6, evaluation: 0.4}}
variants:
  knockout:
    pretokenization: gpt2
    construction: {method: bpe_knockout, gold: eng.inflectional.v1.tsv, gold_type: morphynet, fill: true}
resources:
  morphynet: {type: morphynet, path: eng.inflectional.v1.tsv, left_out: 0.5}
sizes: [700]
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Checkout]:
    checkout = Checkout(tmp_path)
    yield checkout
    checkout.close()


def test_from_a_configuration_to_measures(checkout: Checkout, gold_file: Path) -> None:
    (checkout.folder / "manual.txt").write_text("\n\n".join(topics.values())[:60_000])
    (checkout.folder / gold_file.name).write_bytes(gold_file.read_bytes())
    (checkout.folder / "knockout.yaml").write_text(EXPERIMENT)
    (checkout.folder / "leaking.yaml").write_text(EXPERIMENT.replace(", left_out: 0.5", ""))
    measured = [f"results/knockout/intrinsic/knockout/700{name}.json" for name in ("", "/morphynet")]
    told = checkout.snakemake(*measured, "--cores", "2", "--configfile", "leaking.yaml", status=1)
    assert "resources.morphynet.left_out: variant 'knockout' is built from words of" in told
    checkout.snakemake(*measured, "--cores", "2", "--configfile", "knockout.yaml")
    text, gold = (json.loads((checkout.folder / file).read_text()) for file in measured)
    assert {row["metric"]: row["value"] for row in text["measurements"]}["vocabulary_size"] == 700
    assert {row["metric"]: row["value"] for row in gold["measurements"]}["morphological_alignment"] is not None
