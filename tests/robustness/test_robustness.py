"""Perturbations and their reversal; edit distances of tokens; changes of segmentations, by hand and by command."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Tokbench
from tokbench.corpus.documents import Document
from tokbench.errors import TokbenchError
from tokbench.kernels.edit_distance import distances
from tokbench.reference.edit_distance import edit_distance
from tokbench.robustness.lines import LINES, originals, perturbed_lines
from tokbench.robustness.perturbations import KINDS, Edit, edits, in_words, perturb, restore
from tokbench.robustness.segmentations import changed_segmentations
from tokbench.statistics.comparisons.robustness import compare_robustness, robustness_by_kind
from tokbench.tabulation.robustness import ROBUSTNESS_DOCUMENTS, robustness_documents_table
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

TEXT = "The naïve café, 1984: don't mix 42 apples  and 007 modern rivers."
EXPECTED = {
    "lower": "the naïve café, 1984: don't mix 42 apples  and 007 modern rivers.",
    "upper": "THE NAÏVE CAFÉ, 1984: DON'T MIX 42 APPLES  AND 007 MODERN RIVERS.",
    "title": "The Naïve Café, 1984: Don't Mix 42 Apples  And 007 Modern Rivers.",
    "no_diacritics": "The naive cafe, 1984: don't mix 42 apples  and 007 modern rivers.",
    "decomposed": "The nai\u0308ve cafe\u0301, 1984: don't mix 42 apples  and 007 modern rivers.",
    "joined": "Thenaïvecafé,1984:don'tmix42apples  and007modernrivers.",
    "doubled_space": "The  naïve  café,  1984:  don't  mix  42  apples  and  007  modern  rivers.",
    "spelt_number": "The naïve café, one thousand nine hundred eighty-four: don't mix forty-two apples  and "
    "zero zero seven modern rivers.",
}


def changed(text: str, kind: str, seed: int = 0) -> str:
    return perturb(text, list(edits(text, kind, 1, Random(seed))))


@pytest.mark.parametrize(("kind", "expected"), EXPECTED.items())
def test_kinds_without_a_draw(kind: str, expected: str) -> None:
    assert changed(TEXT, kind) == expected


@pytest.mark.parametrize(
    ("kind", "word", "forms"),
    [
        ("swap", "abcd", {"acbd", "abdc"}),
        ("swap", "abb", {"abb"}),
        ("drop", "abc", {"ac", "ab"}),
        ("drop", "a", {"a"}),
        ("double", "ab", {"aab", "abb"}),
        ("replace", "Ap", {"Ao"}),
        ("replace", "s", {"a", "d"}),
        ("full_width", "aé", {"ａé"}),
        ("zero_width", "ab", {"a\u200bb"}),
        ("soft_hyphen", "abc", {"a\u00adbc", "ab\u00adc"}),
        ("homoglyphs", "pot", {"роt"}),
        ("misread", "corn", {"com"}),
        ("misread", "ok", {"ok"}),
    ],
)
def test_forms_of_a_word(kind: str, word: str, forms: set[str]) -> None:
    assert {changed(word, kind, seed) for seed in range(60)} == forms


def test_random_perturbations_draw_from_their_documented_sets() -> None:
    inserted = {changed("ab", "insert", seed) for seed in range(200)}
    assert all(len(form) == 3 and form[0] == "a" and "b" in form for form in inserted)
    assert len(inserted) > 30
    assert {changed("ab", "mixed_case", seed) for seed in range(60)} == {"ab", "aB", "Ab", "AB"}
    assert changed("a b\tc  d", "no_break_space") == "a\u00a0b\tc  d"


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "zero"), (19, "nineteen"), (20, "twenty"), (101, "one hundred one"), (2_000_030, "two million thirty"),
     (999_999_999, "nine hundred ninety-nine million nine hundred ninety-nine thousand nine hundred ninety-nine")],
)  # fmt: skip
def test_numbers_in_words(number: int, words: str) -> None:
    assert in_words(number) == words


@given(st.text(st.sampled_from("abzIORn 'é0127ß\u0130.,\n"), max_size=40), st.sampled_from([*KINDS]), st.integers(0, 9))
@settings(max_examples=300)
def test_the_original_is_restored(text: str, kind: str, seed: int) -> None:
    changes = list(edits(text, kind, 0.7, Random(seed)))
    assert all(text[edit.start :].startswith(edit.before) and edit.before != edit.after for edit in changes)
    assert restore(perturb(text, changes), changes) == text
    assert changes == list(edits(text, kind, 0.7, Random(seed)))


def test_edits_that_change_lengths() -> None:
    changes = [Edit(0, "ab", "x"), Edit(3, "", "yy"), Edit(4, "e", "")]
    assert perturb("abcdef", changes) == "xcyydf"
    assert restore("xcyydf", changes) == "abcdef"


TOKENS = st.lists(st.integers(0, 3), max_size=30)


@given(st.lists(st.tuples(TOKENS, TOKENS), max_size=5))
@settings(max_examples=200)
def test_distances_equal_the_twin(pairs: list[tuple[list[int], list[int]]]) -> None:
    assert of_pairs(pairs) == [edit_distance(*pair) for pair in pairs]


def test_long_sequences() -> None:
    draw = np.random.default_rng(0)
    base = draw.integers(0, 5, 400).tolist()
    pairs = [(base, base[:100] + base[130:]), (base, base[::-1]), ([], base), (base, base), ([1] * 90, [2] * 70)]
    assert of_pairs(pairs) == [edit_distance(*pair) for pair in pairs]


def of_pairs(pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[int]:
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    arrays = [
        array
        for side in sides
        for array in (
            np.array([token for ids in side for token in ids], np.int32),
            np.cumsum([0, *map(len, side)], dtype=np.int64),
        )
    ]
    found: list[int] = distances(*arrays).tolist()
    return found


def test_wrong_bounds() -> None:
    ids, bounds = np.zeros(3, np.int32), np.array([0, 2, 3])
    with pytest.raises(ValueError, match="equal numbers"):
        distances(ids, bounds, ids, bounds[:2])
    with pytest.raises(ValueError, match="within the ids"):
        distances(ids, np.array([0, 2, 4]), ids, bounds)
    with pytest.raises(ValueError, match="ascend"):
        distances(ids, np.array([0, 3, 2]), ids, bounds)


DOCUMENTS = [
    Document(3, "en", b"The cat sat on the mat.\nA dog ran over 12 hills and far away.\n" * 20),
    Document(5, "de", "Über den Fluß ging ein Mann.\n".encode() * 4 + b"\xff\xfe bad bytes here\n"),
]


def test_lines_of_documents() -> None:
    lines = perturbed_lines(DOCUMENTS, rate=0.5, size=600, seed=1)
    assert dict(lines.schema) == LINES
    assert set(lines["kind"]) == set(KINDS)
    assert lines.equals(perturbed_lines(DOCUMENTS, rate=0.5, size=600, seed=1))
    assert not lines.equals(perturbed_lines(DOCUMENTS, rate=0.5, size=600, seed=2))
    texts = {document.document: document.text.decode(errors="replace").split("\n") for document in DOCUMENTS}
    places = lines.select("document", "line").rows()
    before = dict(zip(places, originals(lines), strict=True))
    assert all(text == texts[document][line] for (document, line), text in before.items())
    assert sum(len(text.encode()) + 1 for text in before.values()) <= 600
    assert not any("bad" in text for text in lines["text"])
    chosen = ["swap", "upper"]
    some = perturbed_lines(DOCUMENTS[1:], kinds=chosen, rate=0.5, size=600, seed=1)
    assert some.equals(lines.filter(pl.col("document") == 5, pl.col("kind").is_in(chosen)))
    assert len({line for document, line in places if document == 3}) * 25 < 600
    with pytest.raises(TokbenchError, match="no text"):
        perturbed_lines([Document(0, "", b" ")])


def test_bytes_bound_a_long_line() -> None:
    """A line of a megabyte is cut between two words, and only its beginning is used."""
    long = Document(0, "en", b"the cat sat " * 100_000)
    lines = perturbed_lines([long], kinds=["upper"], rate=1, size=1000)
    assert originals(lines) == [("the cat sat " * 84)[:995]]
    letters = Document(0, "ja", "\u732b".encode() * 100_000)
    assert originals(perturbed_lines([letters], kinds=["insert"], rate=1, size=1000)) == ["\u732b" * 333]
    many = [long._replace(document=number) for number in range(30)]
    total = sum(len(text) for text in originals(perturbed_lines(many, kinds=["upper"], rate=1, size=1000)))
    assert 800 < total <= 1000


def test_changes_by_hand() -> None:
    """In upper case, ``ab`` is two other tokens: one more, at a distance of two. ``c`` is one other token."""
    tokenizer = Tokenizer(Vocabulary((*BYTES, b"ab")), "space", "greedy")
    documents = [Document(number, "", b"ab ab c1\nab") for number in range(2)]
    [upper] = changed_segmentations(tokenizer, perturbed_lines(documents, kinds=["upper"], rate=1, size=10**6))
    assert upper == {
        "kind": "upper", "documents": [0, 1], "edits": [4, 4], "tokens": [7, 7], "added": [3, 3], "changed": [7, 7],
    }  # fmt: skip
    [joined] = changed_segmentations(tokenizer, perturbed_lines(documents[:1], kinds=["joined"], rate=1, size=10**6))
    assert (joined["edits"], joined["added"], joined["changed"]) == ([2], [-2], [2])


def by_document(**added: list[int]) -> pl.DataFrame:
    """Return the table of documents with two edits each, by variant."""
    rows = [
        (variant, 300, "text", "swap", number, 2, 9, value, 2 * value)
        for variant, values in added.items()
        for number, value in enumerate(values)
    ]
    return pl.DataFrame(rows, schema=ROBUSTNESS_DOCUMENTS.schema, orient="row")


def test_values_and_differences_over_documents() -> None:
    """Two of four documents add one token more with ``b``: .25 per edit, with Student's t of three degrees."""
    documents = by_document(a=[1, 1, 2, 2], b=[2, 2, 2, 2], c=[0, 0, 0, 0])
    table = robustness_by_kind(documents)
    assert table["variant"].to_list() == ["a", "b", "c"]
    assert table["added"].to_list() == [0.75, 1, 0]
    assert table["changed"].to_list() == [1.5, 2, 0]
    half = 3.182446 * (0.5**2 / 3 / 4) ** 0.5  # Deviations of .25 from the mean on both sides.
    assert table.row(0, named=True)["added_low"] == pytest.approx(0.75 - half, abs=1e-5)
    assert table.row(1, named=True)["added_high"] is None, "the documents do not vary"
    compared = compare_robustness(documents, {})
    assert compared.select("a", "b", "difference").rows() == [("a", "b", -0.25), ("a", "c", 0.75), ("b", "c", 1.0)]
    first = compared.row(0, named=True)
    assert (first["low"], first["high"]) == pytest.approx((-0.25 - half, -0.25 + half), abs=1e-5)
    assert set(compared["verdict"]) == {"not tested"}
    assert compared["reason"].to_list()[0].endswith("4 documents; a verdict needs 6")
    more = compare_robustness(by_document(a=[1, 1, 2, 2, 1, 2], b=[2, 3, 3, 3, 2, 4]), {})
    assert more["verdict"].to_list() == ["better"]
    left_out = compare_robustness(documents, {}, {("b", 300)})
    assert left_out["verdict"].to_list()[::2] == ["not tested", "not tested"]
    alone = by_document(a=[1], b=[2])
    assert robustness_by_kind(alone)["added_low"].to_list() == [None, None]
    [row] = compare_robustness(alone, {}).rows(named=True)
    assert (row["difference"], row["low"], row["verdict"]) == (-0.5, None, "not tested")
    assert row["reason"] == "not tested: 1 document; a verdict needs 6"


def test_commands(tokbench: Tokbench, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(DOCUMENTS[0].text)
    Tokenizer(Vocabulary((*BYTES, b"at", b" the")), "gpt2", "greedy", name="mine").save(tmp_path / "mine")
    lines = tmp_path / "lines.parquet"
    perturb = ["perturb", tmp_path / "text.txt", "--rate", "0.5", "-o", lines]
    assert tokbench(*perturb, "--kind", "swap", "--kind", "joined").status == 0
    assert set(pl.read_parquet(lines)["kind"]) == {"swap", "joined"}
    assert (
        tokbench(
            "measure_robustness", tmp_path / "mine", lines, "--corpus", "text", "-o", tmp_path / "mine.json"
        ).status
        == 0
    )
    table = robustness_documents_table([tmp_path / "mine.json"])
    assert table["kind"].to_list() == ["swap", "joined"]
    assert set(table.select("variant", "size", "corpus", "document").rows()) == {("mine", 258, "text", 0)}
    assert table["edits"].min() > 0  # type: ignore[operator]
    for wrong, reason in (
        ([*perturb, "--kind", "swop"], "Did you mean 'swap'"),
        ([*perturb, "--kind", "spelt_number", "--bytes", "10"], "nothing was perturbed"),
        (["measure_robustness", tmp_path / "mine", tmp_path / "mine.json"], "make it with 'tokbench perturb'"),
    ):
        assert reason in tokbench(*wrong).message
