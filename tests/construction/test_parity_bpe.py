"""Parity-aware BPE: the vector by hand, the kernel against plain Python, other orders, and files to tokenizers."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokbench as package
from tests.conftest import Tokbench
from tests.support.workflow.checkout import Checkout
from tokbench.adapters.export_hugging_face import export
from tokbench.building.files import read_counts
from tokbench.construction.bpe import BpeOptions
from tokbench.construction.bpe import build as bpe
from tokbench.construction.parity_bpe import ParityBpeOptions, build
from tokbench.errors import TokbenchError
from tokbench.options import validated
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.by_language import LanguageCounts, read_language_counts
from tokbench.pretokens.count import count_pretokens
from tokbench.pretokens.files import write_languages
from tokbench.reference import parity as twin
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import CHARACTERS, spelling_ranks
from tokbench.vocabulary import Vocabulary

Words = list[tuple[bytes, int]]
TRAINING: dict[str, Words] = {"one": [(b"abab", 4), (b"abc", 2)], "two": [(b"xyz", 3), (b"xyab", 2)]}
DEVELOPMENT: dict[str, Words] = {"one": [(b"abab", 2), (b"abc", 1)], "two": [(b"xyz", 2), (b"xyab", 2)]}
WORD = st.one_of(st.text("ab", min_size=1, max_size=9).map(str.encode), st.binary(min_size=1, max_size=4))
TEXT = st.dictionaries(WORD, st.integers(1, 4), min_size=1, max_size=5).map(lambda words: list(words.items()))


def counts_of(training: dict[str, Words], development: dict[str, Words] | None = None) -> LanguageCounts:
    made = {name: PretokenCounts.from_pairs(words) for name, words in training.items()}
    tests = {name: PretokenCounts.from_pairs(words) for name, words in (development or {}).items()}
    return LanguageCounts.of(made, tests or None)


def merges_of(vocabulary: Vocabulary) -> list[tuple[int, int]]:
    assert vocabulary.merges is not None
    return [(left, right) for left, right, _ in vocabulary.merges.tolist()]


def record_of(vocabulary: Vocabulary) -> dict[str, Any]:
    assert vocabulary.record is not None
    return dict(vocabulary.record)


# By hand


@pytest.mark.parametrize(
    ("merges", "tokens"),
    [(0, (11, 14)), (1, (11, 10)), (2, (6, 8)), (3, (6, 6)), (4, (4, 6)), (5, (4, 4)), (6, (3, 4))],
)
def test_steps_by_hand(merges: int, tokens: tuple[int, int]) -> None:
    vocabulary = build(counts_of(TRAINING, DEVELOPMENT), 256 + merges, ParityBpeOptions())
    assert vocabulary.tokens[256:] == (b"xy", b"ab", b"xyz", b"abab", b"xyab", b"abc")[:merges]
    record = record_of(vocabulary)
    assert record["merge_languages"] == [1, 0, 1, 0, 1, 0][:merges]
    assert record["tokens"] == dict(zip(("one", "two"), tokens, strict=True))
    assert record["languages"] == ["one", "two"]
    assert record["stopped"] is None


def test_end_of_the_pairs_of_a_language() -> None:
    """After six merges, language two is worst off with the words xyz and xyab as tokens."""
    counts = counts_of(TRAINING, DEVELOPMENT)
    stopped = record_of(build(counts, 300, ParityBpeOptions()))
    assert stopped["stopped"] == "after 6 merges 'two' had no pair with a count of 2 or more"
    other = counts_of({"one": [(b"abcd", 5)], "two": [(b"xy", 2)]}, {"one": [(b".", 1)], "two": [(b".", 9)]})
    assert build(other, 300, ParityBpeOptions()).tokens[256:] == (b"xy",)
    skipped = build(other, 300, ParityBpeOptions(exhausted="skip"))
    assert skipped.tokens[256:] == (b"xy", b"cd", b"bcd", b"abcd")
    assert record_of(skipped)["stopped"] == "after 4 merges no language had a pair with a count of 2 or more"


def test_hybrid_by_hand() -> None:
    """Together, a+b is the most frequent pair: 12. The next choice is for language two: 8 tokens against 6."""
    for options in (ParityBpeOptions(hybrid_merges=1), ParityBpeOptions(hybrid_share=0.5)):
        vocabulary = build(counts_of(TRAINING, DEVELOPMENT), 258, options)
        assert vocabulary.tokens[256:] == (b"ab", b"xy")
        assert record_of(vocabulary)["merge_languages"] == [None, 1]
    stopped = record_of(build(counts_of(TRAINING), 300, ParityBpeOptions(hybrid_merges=50)))["stopped"]
    assert stopped == "after 6 merges all languages together had no pair with a count of 2 or more"


def test_window_by_hand() -> None:
    """Development sets that no merge shortens: (100, 10). A share of the window above a half passes over."""
    letters = [bytes([65 + number, 97 + number]) for number in range(12)]
    training: dict[str, Words] = {"one": [(word, 2) for word in letters], "two": [(word[::-1], 2) for word in letters]}
    development: dict[str, Words] = {"one": [(b".", 100)], "two": [(b".", 10)]}
    options = ParityBpeOptions(window=4, alpha=1)
    vocabulary = build(counts_of(training, development), 256 + 11, options)
    assert record_of(vocabulary)["merge_languages"] == [0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0]
    only = ParityBpeOptions(window=4, alpha=0.1)
    assert record_of(build(counts_of(training, development), 262, only))["merge_languages"] == [0, 1, 0, 0, 0, 0]


def test_ratios_by_hand() -> None:
    """Both languages begin with a ratio of 1; the wanted ratio of language two is twice as large."""
    training: dict[str, Words] = {"one": [(b"abcd", 5)], "two": [(b"wxyz", 5)]}
    vocabulary = build(counts_of(training), 262, ParityBpeOptions(ratios={"one": 1, "two": 2}))
    assert record_of(vocabulary)["merge_languages"] == [1, 1, 0, 1, 0, 0]
    assert record_of(build(counts_of(training), 262, ParityBpeOptions()))["merge_languages"] == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize(("ties", "first"), [("printable", b" a"), ("bytes", b"za"), ("bpe", b"!a")])
def test_ties_by_hand(ties: Literal["printable", "bytes", "bpe"], first: bytes) -> None:
    """The space is printed as U+0120, which follows all letters."""
    counts = counts_of({"one": [(b"za", 2), (b" a", 2), (b"!a", 2), (b"\x00", 1)]})
    assert build(counts, 257, ParityBpeOptions(ties=ties)).tokens[256] == first


# Against plain Python


@settings(max_examples=150)
@given(
    st.lists(TEXT, min_size=1, max_size=3),
    st.one_of(st.none(), st.lists(TEXT, min_size=3, max_size=3)),
    st.integers(0, 14),
    st.integers(0, 6),
    st.one_of(st.none(), st.integers(1, 5)),
    st.sampled_from([0.5, 1.0, 1.1, 2.0]),
    st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=3, max_size=3),
    st.integers(1, 3),
    st.sampled_from(["stop", "skip"]),
    st.sampled_from(["printable", "bytes", "bpe"]),
)
def test_kernel_equals_twin(
    languages: list[Words],
    development: list[Words] | None,
    more: int,
    together: int,
    window: int | None,
    alpha: float,
    ratios: list[float],
    least: int,
    exhausted: Literal["stop", "skip"],
    ties: Literal["printable", "bytes", "bpe"],
) -> None:
    names = ["c", "a", "b"][: len(languages)]
    tests = None if development is None else development[: len(languages)]
    options = ParityBpeOptions(
        languages=names,
        ratios=None if tests is not None else dict(zip(names, ratios, strict=False)),
        hybrid_merges=together,
        window=window,
        alpha=alpha,
        min_pair_count=least,
        exhausted=exhausted,
        ties=ties,
    )
    counts = counts_of(
        dict(zip(names, languages, strict=True)), None if tests is None else dict(zip(names, tests, strict=True))
    )
    vocabulary = build(counts, 256 + more, options)
    orders: dict[str, Callable[[bytes], tuple[int, ...]] | None] = {"printable": printable, "bytes": tuple, "bpe": None}
    merges, chosen, tokens = twin.parity_bpe(
        languages,
        tests,
        256 + more,
        orders[ties],
        spelling_ranks().tolist(),
        ratios=[ratio / ratios[0] for ratio in ratios],
        common_merges=together,
        window=window or 0,
        alpha=alpha,
        min_count=least,
        skip=exhausted == "skip",
    )
    assert merges_of(vocabulary) == merges
    record = record_of(vocabulary)
    assert record["merge_languages"] == chosen
    assert list(record["tokens"].values()) == tokens
    assert (record["stopped"] is None) == (len(merges) == more)


def printable(token: bytes) -> tuple[int, ...]:
    return tuple(ord(CHARACTERS[byte]) for byte in token)


@given(TEXT, st.integers(0, 12), st.integers(1, 3))
def test_one_language_is_bpe(words: Words, more: int, least: int) -> None:
    counts = PretokenCounts.from_pairs(words)
    plain = bpe(counts, 256 + more, BpeOptions(min_pair_count=least))
    options = ParityBpeOptions(ties="bpe", min_pair_count=least)
    for one in (counts, LanguageCounts.of({"en": counts}), LanguageCounts.of({"en": counts}, {"en": counts})):
        assert merges_of(build(one, 256 + more, options)) == merges_of(plain)
    several = LanguageCounts.of({"en": counts, "de": counts})
    alike = ParityBpeOptions(ties="bpe", min_pair_count=least, hybrid_merges=more)
    doubled = bpe(counts, 256 + more, BpeOptions(min_pair_count=-(-least // 2)))
    assert merges_of(build(several, 256 + more, alike)) == merges_of(doubled)


@given(TEXT, TEXT, st.permutations(["a", "b", "c"]), st.integers(0, 12))
def test_equal_corpora_in_another_order(words: Words, tests: Words, names: list[str], more: int) -> None:
    counts = counts_of(dict.fromkeys("abc", words), dict.fromkeys("abc", tests))
    given_order, permuted = (
        build(counts, 256 + more, ParityBpeOptions(languages=order)) for order in (["a", "b", "c"], list(names))
    )
    assert set(given_order.tokens) == set(permuted.tokens)


# Texts


@pytest.fixture(scope="module")
def texts() -> dict[str, list[bytes]]:
    """Three "languages" of the same paragraphs: as they are, in capitals, and with two bytes for each letter."""
    parts = "\n".join(topics.values())[:60_000].split("\n\n")
    wide = str.maketrans({letter: chr(0x430 + number) for number, letter in enumerate("abcdefghijklmnopqrstuvwxyz")})
    forms: dict[str, Callable[[str], str]] = {
        "en": str,
        "EN": str.upper,
        "ru": lambda part: part.lower().translate(wide),
    }
    return {name: [form(part).encode() for part in parts] for name, form in forms.items()}


@pytest.fixture(scope="module")
def counts(texts: dict[str, list[bytes]]) -> LanguageCounts:
    training, tests = ({name: half(parts, odd) for name, parts in texts.items()} for odd in (0, 1))
    training["en"] += 3 * training["en"]
    return LanguageCounts.of(*({name: count_pretokens(x, "gpt2") for name, x in y.items()} for y in (training, tests)))


def half(parts: list[bytes], odd: int) -> list[bytes]:
    return parts[odd::2]


@pytest.mark.parametrize("options", [{}, {"window": 20, "alpha": 1.5}, {"hybrid_share": 0.5}])
def test_tokens_of_the_development_set_by_encoding(counts: LanguageCounts, options: dict[str, Any]) -> None:
    vocabulary = build(counts, 900, ParityBpeOptions(**options))
    tokenizer = Tokenizer(vocabulary, "gpt2", "merge")
    assert counts.development is not None
    for name, part in counts.development.items():
        _, bounds = tokenizer.segment(part)
        assert int(np.diff(bounds) @ part.counts) == record_of(vocabulary)["tokens"][name]


def test_costs_are_more_equal_than_those_of_bpe(counts: LanguageCounts) -> None:
    vocabularies = {
        "base": build(counts, 900, ParityBpeOptions()),
        "hybrid": build(counts, 900, ParityBpeOptions(hybrid_share=0.5)),
        "bpe": bpe(counts, 900, BpeOptions()),
    }
    assert counts.development is not None
    costs = {}
    for name, vocabulary in vocabularies.items():
        tokenizer = Tokenizer(vocabulary, "gpt2", "merge")
        totals = [int(np.diff(tokenizer.segment(part)[1]) @ part.counts) for part in counts.development.values()]
        costs[name] = max(totals) / min(totals)
    assert costs["base"] < costs["hybrid"] < costs["bpe"]


def test_from_python_and_back(counts: LanguageCounts, tmp_path: Path) -> None:
    assert repr(counts).startswith("LanguageCounts(3 languages, ")
    tokenizer = package.build("parity_bpe", counts, 700, window=20)
    tokenizer.save(tmp_path / "saved")
    loaded = Tokenizer.load(tmp_path / "saved")
    assert loaded.vocabulary.record == tokenizer.vocabulary.record
    assert merges_of(loaded.vocabulary) == merges_of(tokenizer.vocabulary)
    assert export(tokenizer, None, tmp_path).startswith("tokenizer.json")


def test_from_the_command_line(counts: LanguageCounts, tmp_path: Path, tokbench: Tokbench) -> None:
    write_languages(counts.by_language, tmp_path / "training.parquet")
    assert counts.development is not None
    write_languages(counts.development, tmp_path / "development.parquet")
    arguments = ["build", "parity_bpe", f"--counts={tmp_path / 'training.parquet'}", "--size=600"]
    with_tests = [*arguments, f"--development={tmp_path / 'development.parquet'}"]
    runs = {"base": with_tests, "ratios": [*arguments, "--set=ratios={en: 1, EN: 1, ru: 2}"]}
    for name, command in runs.items():
        assert tokbench(*command, "-o", tmp_path / name).status == 0
    assert (
        Tokenizer.load(tmp_path / "base").vocabulary.tokens
        == build(
            LanguageCounts.of(dict(sorted(counts.by_language.items())), counts.development), 600, ParityBpeOptions()
        ).tokens
    )
    record = json.loads((tmp_path / "ratios" / "record.json").read_text())
    assert record["languages"] == ["EN", "en", "ru"]
    wrong = tokbench("build", "bpe", *with_tests[2:], "-o", tmp_path / "wrong")
    assert "--development: 'bpe' does not read it" in wrong.message
    short = tokbench(*arguments, "--set=min_pair_count=9999", "-o", tmp_path / "short")
    assert "stopped early: after 0 merges 'EN' had no pair with a count of 9,999 or more" in short.stderr


def test_rare_pretokens_are_dropped_by_their_count_in_all_languages(tmp_path: Path) -> None:
    parts: dict[str, Words] = {"a": [(b"xy", 2), (b"z", 1)], "b": [(b"xy", 1), (b"w", 3)]}
    made = counts_of(parts)
    write_languages(made.by_language, tmp_path / "counts.parquet")
    total, _ = read_counts(str(tmp_path / "counts.parquet"), "none", 3)
    found = read_language_counts(tmp_path / "counts.parquet", None, total, 3)
    assert {name: dict(part.items()) for name, part in found.by_language.items()} == {
        "a": {b"xy": 2},
        "b": {b"xy": 1, b"w": 3},
    }
    assert found.scheme == "none"


# Mistakes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hybrid_merges": 5, "hybrid_share": 0.5}, "hybrid_merges and hybrid_share exclude each other"),
        ({"languages": ["a"], "ratios": {"b": 1.0}}, "ratios: give one to each language of 'languages'"),
        ({"ratios": {"b": 0.0}}, "ratios"),
        ({"window": 0}, "window"),
        ({"ties": "longest"}, "ties"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, object], message: str) -> None:
    with pytest.raises(TokbenchError, match=message):
        validated(options, ParityBpeOptions, "test")


@pytest.mark.parametrize(
    ("training", "development", "options", "message"),
    [
        ("ab", "a", {}, "the development set has nothing in b"),
        ("a", "ab", {}, "the training text has nothing in b"),
        ("ab", "ab", {"languages": ["a", "c"]}, "the training text has nothing in c"),
        ("ab", "ab", {"ratios": {"a": 1.0, "b": 1.0}}, "ratios are for training without a development set"),
        ("ab", "", {"ratios": {"a": 1.0}}, "give ratios to a, b only"),
    ],
)
def test_languages_that_do_not_fit(training: str, development: str, options: dict[str, Any], message: str) -> None:
    counts = counts_of(dict.fromkeys(training, TRAINING["one"]), dict.fromkeys(development, TRAINING["one"]))
    with pytest.raises(TokbenchError, match=message):
        build(counts, 260, ParityBpeOptions(**options))


def test_a_language_that_is_not_listed_is_not_read() -> None:
    counts = counts_of({**TRAINING, "three": [(b"qq", 50)]}, {**DEVELOPMENT, "four": [(b"qq", 50)]})
    named = build(counts, 260, ParityBpeOptions(languages=["one", "two"]))
    assert named.tokens == build(counts_of(TRAINING, DEVELOPMENT), 260, ParityBpeOptions()).tokens
    hybrid = ParityBpeOptions(languages=["one", "two"], hybrid_merges=2)
    assert build(counts_of({**TRAINING, "three": [(b"qq", 50)]}), 258, hybrid).tokens[256:] == (b"ab", b"xy")


def test_counts_of_different_pretokenizations() -> None:
    parts = {name: count_pretokens([b"a b"], name) for name in ("gpt2", "space")}
    with pytest.raises(TokbenchError, match=r"pre-tokenizations differ \(gpt2, space\)"):
        LanguageCounts.of(parts)
    with pytest.raises(TokbenchError, match="pass a mapping of languages to counts"):
        LanguageCounts.of({})


# In the workflow


EXPERIMENT = """
name: parity
corpora:
  text:
    source: {type: jsonl, path: text.jsonl}
    splits: {tokenizer: 0.7, evaluation: 0.3}
  parallel:
    source: {type: jsonl, path: parallel.jsonl, rename_languages: {deu: de}}
    splits: {tokenizer: 1, evaluation: tokenizer}
variants:
  bpe: {pretokenization: gpt2, construction: bpe}
  parity: {pretokenization: gpt2, construction: {method: parity_bpe, hybrid_share: 0.25}, development: parallel}
sizes: [400]
measured_on: [parallel]
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Checkout]:
    checkout = Checkout(tmp_path)
    yield checkout
    checkout.close()


def test_from_a_configuration_to_measures(checkout: Checkout, texts: dict[str, list[bytes]]) -> None:
    def lines(name: str, tags: dict[str, str], part: slice) -> None:
        rows = [{"language": tag, "text": text.decode()} for tag, key in tags.items() for text in texts[key][part]]
        (checkout.folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))

    lines("text.jsonl", {"en": "en", "de": "ru"}, slice(0, 60))
    lines("parallel.jsonl", {"en": "en", "deu": "ru"}, slice(60, 90))
    (checkout.folder / "parity.yaml").write_text(EXPERIMENT)
    (checkout.folder / "wrong.yaml").write_text(
        EXPERIMENT.replace("bpe: {p", "bpe: {development: parallel, p").replace(
            "development: parallel}", "development: x}"
        )
    )
    measured = [f"results/parity/intrinsic/{name}/400/on/parallel.json" for name in ("bpe", "parity")]
    told = checkout.snakemake(*measured, "--cores", "2", "--configfile", "wrong.yaml", status=1)
    assert "variants.bpe.development: 'bpe' does not compare languages; remove this key" in told
    assert "variants.parity.development: 'x' is not a corpus" in told
    checkout.snakemake(*measured, "--cores", "2", "--configfile", "parity.yaml")
    values = []
    for file in measured:
        rows = json.loads((checkout.folder / file).read_text())["measurements"]
        values.append({row["metric"]: row["value"] for row in rows if not row["language"]})
    assert values[1]["parity_gini"] < values[0]["parity_gini"]
    record = json.loads((checkout.folder / "results/parity/tokenizers/parity/400/record.json").read_text())
    assert record["languages"] == ["de", "en"]
    assert record["merge_languages"].count(None) == 36
