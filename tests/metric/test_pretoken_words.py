"""Words by pre-tokens: counted by hand in several scripts, and against a plain definition with ``regex``."""

import sys
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

import tokbench
from tests.metric.test_spans import Documents
from tests.support.processes import Greedy, value, vocabulary
from tokbench.intrinsic.tokenizer import measure, measure_documents, measure_languages, measure_text
from tokbench.metric.measurement import Measurement
from tokbench.metric.pretoken_words import (
    CUT_MARKS,
    KINDS,
    LETTER,
    MARK,
    NO_BLANKS,
    NUMBER,
    WITHOUT_BLANK,
    WITHOUT_BLANKS,
    Letters,
    _kinds,
    words_of_counts,
)
from tokbench.metric.segmented_words import SegmentedWordOptions
from tokbench.metric.vocabulary import VocabularyOptions
from tokbench.pretokenization import pretokenization_of
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_languages, count_pretokens
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

HINDI = "हिन्दी भाषा\n"
THAI = "ภาษา ไทย\n"
FRENCH = "le café fermé\n"
BY_PRETOKENS = [
    ("fertility", "tokens / pre-tokens$"),
    ("fertility", "tokens / pre-tokens that hold"),
    ("fertility", "those pre-tokens"),
    ("single_token_word_share", "those pre-tokens"),
    ("whole_word_share", "of the vocabulary"),
    ("whole_word_share", "/ tokens longer"),
]
BY_BLANKS = [("fertility", "spaces"), ("word_initial_share", "with a space / tokens of the text")]


def counted(text: str, pretokenization: str = "gpt2") -> PretokenCounts:
    return count_pretokens([text.encode()], pretokenization)


def measured(text: str, *tokens: str, pretokenization: str = "gpt2") -> list[Measurement]:
    return measure(Greedy(vocabulary(b"zz", *(token.encode() for token in tokens))), counted(text, pretokenization))


def reasons(rows: Sequence[Measurement], *measures: tuple[str, str]) -> set[str | None]:
    """Return the reasons of these measures; None for one with a value."""
    found = set()
    for metric, definition in measures:
        (row,) = [row for row in rows if row.metric == metric and definition in f"{row.definition}$"]
        assert (row.value is None) == (row.reason is not None)
        assert row.value is not None or row.n == 0
        found.add(row.reason)
    return found


def test_hindi_by_hand() -> None:
    """``gpt2`` cuts the two words into ह ि न ् द ी, and भ ा ष ा with a space: ten crumbs, each in one token of three."""
    counts = counted(HINDI)
    assert sorted(text.decode() for text, _ in counts.items()) == sorted(
        ["ह", "ि", "न", "्", "द", "ी", " भ", "ा", "ष", "\n"]
    )
    assert words_of_counts(counts).letters == Letters(5, 0, 5)
    rows = measured(HINDI, "हि", "न्", "दी", " भाषा")
    assert reasons(rows, *BY_PRETOKENS) == {CUT_MARKS}
    assert reasons(rows, *BY_BLANKS) == {None}
    # Of 32 bytes, each is a token: " भाषा" and the others never occur within a pre-token.
    assert value(rows, "fertility", "spaces") == 32 / 2


def test_hindi_by_pretokens_that_keep_marks() -> None:
    """Those of GPT-4o are the two words, so that Hindi has values by pre-tokens and by spaces."""
    rows = measured(HINDI, "हि", "न्", "दी", " भाषा", pretokenization="o200k")
    assert reasons(rows, *BY_PRETOKENS, *BY_BLANKS) == {None}
    assert value(rows, "fertility", "those pre-tokens") == (3 + 1) / 2
    assert value(rows, "single_token_word_share") == 1 / 2
    assert value(rows, "fertility", "spaces") == 5 / 2


@pytest.mark.parametrize("pretokenization", ["gpt2", "o200k"])
@pytest.mark.parametrize(
    "text", [THAI, "我爱北京 天安门\n", "日本語の テキスト\n", "ພາສາ ລາວ\n", "ភាសា ខ្មែរ\n", "မြန်မာ စာ\n"]
)
def test_scripts_without_blanks(text: str, pretokenization: str) -> None:
    rows = measured(text, text[:2], pretokenization=pretokenization)
    assert reasons(rows, *BY_PRETOKENS, *BY_BLANKS) == {NO_BLANKS}


@pytest.mark.parametrize(
    "text", ["the cat sat\n", "кіт і пес\n", FRENCH, "tôi yêu tiếng Việt\n", "كتاب جديد\n", "한국어 책\n"]
)
def test_letters_without_marks_of_their_own(text: str) -> None:
    """Latin, Cyrillic, Arabic without points, Hangul: pre-tokens are words, and blanks are between them."""
    words = text.split()
    rows = measured(text, words[0])
    assert reasons(rows, *BY_PRETOKENS, *BY_BLANKS) == {None}
    tokens = len(text.encode()) - len(words[0].encode()) + 1
    assert value(rows, "fertility", "tokens / pre-tokens that hold") == tokens / len(words)
    assert value(rows, "single_token_word_share") == 1 / len(words)
    assert value(rows, "fertility", "spaces") == tokens / len(words)


@pytest.mark.parametrize("text", [FRENCH, "tôi yêu tiếng Việt\n", "für die Straße\n"])
def test_decomposed_text(text: str) -> None:
    """Decomposed letters are cut from their marks: fermé becomes `` ferme`` and an acute accent."""
    rows = measured(unicodedata.normalize("NFD", text))
    assert reasons(rows, *BY_PRETOKENS) == {CUT_MARKS}
    assert reasons(rows, *BY_BLANKS) == {None}
    bare = measured(unicodedata.normalize("NFD", text), pretokenization="o200k")
    assert reasons(bare, *BY_PRETOKENS) == {None}


@pytest.mark.parametrize("text", ["كِتَابٌ جَدِيدٌ\n", "שָׁלוֹם עֲלֵיכֶם\n", "தமிழ் மொழி\n", "বাংলা ভাষা\n", "ẹ̀kọ́ èdè\n"])
def test_pointed_and_indic_text(text: str) -> None:
    rows = measured(text)
    assert reasons(rows, *BY_PRETOKENS) == {CUT_MARKS}
    assert value(rows, "fertility", "spaces") == len(text.encode()) / 2


@pytest.mark.parametrize(("letters", "reason"), [(49, CUT_MARKS), (50, CUT_MARKS), (51, None)])
def test_marks_in_a_text_of_several_scripts(letters: int, reason: str | None) -> None:
    """One letter in fifty that is cut from its mark is enough."""
    rows = measured("a" * (letters - 1) + " हि\n")
    assert words_of_counts(counted("a" * (letters - 1) + " हि\n")).letters == Letters(letters, 0, 1)
    assert reasons(rows, *BY_PRETOKENS) == {reason}
    assert reasons(rows, *BY_BLANKS) == {None}


@pytest.mark.parametrize(("letters", "reason"), [(49, NO_BLANKS), (50, NO_BLANKS), (51, None)])
def test_scripts_without_blanks_in_a_text_of_several(letters: int, reason: str | None) -> None:
    rows = measured("a" * (letters - 1) + " 我\n")
    assert reasons(rows, *BY_PRETOKENS, *BY_BLANKS) == {reason}


def test_a_text_without_letters_has_no_script() -> None:
    rows = measured("1\ufe0f\u20e3 12\n")
    assert reasons(rows, *BY_PRETOKENS, *BY_BLANKS) == {None}
    assert Letters(0, 0, 5).no_pretokens == ""


def test_letters_count_as_often_as_they_occur() -> None:
    counts = PretokenCounts.from_pairs([(b" the", 33), ("我".encode(), 1)])
    assert words_of_counts(counts).letters == Letters(100, 1, 0)
    assert words_of_counts(PretokenCounts.from_pairs([])).letters == Letters(0, 0, 0)


def test_tokens_marked_as_beginning_a_pretoken_begin_words_only_where_pretokens_do() -> None:
    marked = Vocabulary(BYTES + BYTES, continuation=np.repeat([False, True], 256))
    measured_by = ("word_initial_share", "marked as beginning a pre-token / tokens of the text")
    assert reasons(measure(Greedy(marked), counted("the cat\n")), measured_by) == {None}
    assert reasons(measure(Greedy(marked), counted(HINDI)), measured_by) == {CUT_MARKS}
    assert reasons(measure(Greedy(marked), counted(THAI)), measured_by) == {NO_BLANKS}
    assert value(measure(Greedy(marked), counted(THAI)), "word_initial_share", "marked", "vocabulary") == 1 / 2


def test_words_of_a_reference_follow_its_letters() -> None:
    families = {"vocabulary": VocabularyOptions(words_of="wiki")}
    for text, reference, reason in (("cat\n", HINDI, CUT_MARKS), (HINDI, "cat\n", None), ("cat\n", THAI, NO_BLANKS)):
        rows = measure(Greedy(vocabulary(b"zz")), counted(text), families=families, reference=counted(reference))
        assert reasons(rows, *(row for row in BY_PRETOKENS if row[0] == "whole_word_share")) == {reason}


def test_each_language_is_judged_by_its_letters() -> None:
    """Tags do not matter: Hindi with the tag of English has no values by pre-tokens. All texts as one have few letters
    of Hindi, but too many.
    """
    texts = [("en", HINDI.encode()), ("hi", b"the cat sat on the mat\n" * 8)]
    counts = count_languages(texts, "gpt2")
    rows = measure_languages(Greedy(vocabulary()), counts, families={})
    for language, reason in (("en", CUT_MARKS), ("hi", None)):
        assert reasons([row for tag, row in rows if tag == language], *BY_PRETOKENS[:4]) == {reason}
    every = measure_text(Greedy(vocabulary(b"zz")), counted(HINDI + texts[1][1].decode()), counts, families={})
    assert reasons([row for tag, row in every if not tag], *BY_PRETOKENS) == {CUT_MARKS}


@pytest.mark.parametrize("text", [HINDI, THAI, FRENCH, "ab 我\n", unicodedata.normalize("NFD", FRENCH)])
def test_documents_have_the_values_of_counts(text: str) -> None:
    """A tokenizer that is measured by the spans of its tokens has the same values and reasons."""
    tokens = vocabulary("हि".encode(), b" caf")
    documents, native = (kind(tokens, "gpt2", "greedy") for kind in (Documents, Tokenizer))
    by_counts = measure(native, counted(text))
    by_spans = measure_documents(documents, [("", text.encode())], families={})
    for metric, definition in [*BY_PRETOKENS[1:4], *BY_BLANKS]:
        one, two = (
            next(row for row in rows if row.metric == metric and definition in f"{row.definition}$")
            for rows in (by_counts, [row for _, row in by_spans])
        )
        assert one == two


def test_python_and_a_tokenizer_of_another_library() -> None:
    blanks = tokbench.wrap(lambda text: text.split(" "), name="blanks")
    rows = tokbench.measure(blanks, [HINDI] * 3)
    found = {key: (number, reason) for key, number, reason in rows.select("key", "value", "reason").iter_rows()}
    assert found["fertility_words"] == (None, CUT_MARKS)
    assert found["single_token_word_share"] == (None, CUT_MARKS)
    assert found["tokens_per_space"] == (1.0, None)


def test_runs_of_letters_are_words_only_where_blanks_are() -> None:
    with pytest.raises(ValueError, match="'letters' finds no words in scripts without blanks; set all_scripts: true"):
        SegmentedWordOptions(segmenter="letters")
    assert SegmentedWordOptions(segmenter="letters", all_scripts=True).segmenter == "letters"


# Against a plain definition

PIECES = st.text("ab é1 \n\u0301हि्กำ我ー中あאָ한۱.\u200d\ufe0f", max_size=30)


def plain_letters(pretokens: Sequence[str]) -> tuple[int, int, int]:
    """Return letters, those of scripts without blanks, and pre-tokens that begin with a mark, one by one."""
    text = "".join(pretokens)
    return (
        len(regex.findall(r"\p{L}", text)),
        sum(regex.match(f"[{WITHOUT_BLANKS}]", letter) is not None for letter in regex.findall(r"\p{L}", text)),
        sum(regex.match(r"\p{M}", pretoken) is not None for pretoken in pretokens),
    )


@given(PIECES, st.sampled_from(["gpt2", "o200k", "qwen2", "first_space"]))
@settings(max_examples=200, deadline=None)
def test_as_a_plain_definition(text: str, name: str) -> None:
    data = text.encode()
    borders = pretokenization_of(name).boundaries(data).tolist()
    pretokens = [data[start:end].decode() for start, end in pairwise(borders)]
    letters, without_blanks, cut_marks = plain_letters(pretokens)
    counts = counted(text, name)
    assert words_of_counts(counts).letters == (letters, without_blanks, cut_marks)
    no_blanks = letters > 0 and without_blanks / letters >= 0.02
    no_pretokens = no_blanks or (letters > 0 and cut_marks / letters >= 0.02)
    rows = measure(Greedy(vocabulary(b"ab")), counts)
    words = [word for word in pretokens if regex.search(r"[\p{L}\p{N}]", word)]
    tokens = len(data) - data.count(b"ab")
    blanks = data.count(b" ") + data.count(b"\n")
    expected = None if no_pretokens or not words else tokens / len(words)
    assert value(rows, "fertility", "tokens / pre-tokens that hold") == expected
    assert value(rows, "fertility", "spaces") == (None if no_blanks or not blanks else tokens / blanks)


def test_kinds_of_characters_are_those_of_regex() -> None:
    """On failure: ``python tools/make_unicode_classes.py``."""
    kinds = _kinds()
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    patterns = {
        LETTER: r"\p{L}",
        NUMBER: r"\p{N}",
        MARK: r"\p{M}",
        WITHOUT_BLANK: rf"[[{WITHOUT_BLANKS}]&&\p{{L}}]",
    }
    assert set(patterns) == set(KINDS.values())
    for kind, pattern in patterns.items():
        expected = np.zeros(len(every), np.bool_)
        for run in regex.finditer(rf"(?:{pattern})+", every, flags=regex.VERSION1):
            expected[run.start() : run.end()] = True
        assert np.array_equal(kinds & kind > 0, expected)
