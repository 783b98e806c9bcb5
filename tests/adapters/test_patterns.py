"""Patterns that other engines read: ours cut as the engine does, or the file is read by its library."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

from tests.support import library_tokenizers as made
from tests.support.external_tokenizers import few, level, library_ids, ranks, read, why  # noqa: F401
from tokbench.adapters.export_hugging_face import EDITIONS, differing, split_obstacle
from tokbench.adapters.forms.parsed import NativeTokenizer
from tokbench.adapters.forms.patterns import native_setting
from tokbench.adapters.probes import probes
from tokbench.errors import TokbenchError
from tokbench.pretokenization import pretokenization_of
from tokbench.pretokenization.patterns.coverage import MOST, access_texts, left_out, spans_words
from tokbench.pretokenization.patterns.dialects import FANCY_REGEX, ONIGURUMA, Dialect, NotNativeError, translate
from tokbench.tokenizer.adapted import AdaptedTokenizer
from tokbench.vocabulary import BYTES, Vocabulary

# ruff: noqa: F811 - fixtures are named like the parameters that they fill

TEXTS = ("a\nxx", "xx\na", "xx\n", "\nxx\n", "x\n\nx", "\n", "xxxxx", "$x^", "X x\n", "\nx\n\n", "xa\nx\n")


def native(pattern: str, dialect: Dialect) -> NativeTokenizer:
    """Our phases for a pattern of a library, as importers make them."""
    found = translate(pattern, dialect)
    return NativeTokenizer(Vocabulary(BYTES), native_setting([found]), "ranked", found.sets)


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"\n$", r"x(?:$|a)", r"x$", r"[$^]+", r"[^$x]+", r"\$\^?", r"x\$", r"[\]x$]+", r"x{1,2}", r"x{1,2}?", "x++"),
        *(r"(?i:x)+", r"(?:x|\s)+?", r"(x)+", r"[^\S\n]x?", r"(?!x|$)[\s\S]", r"a(?!$)", r"x(?=\n|$)"),
    ],
)
def test_translated_patterns_cut_as_oniguruma_does(pattern: str) -> None:
    theirs = Split(Regex(pattern), "isolated")
    scheme = pretokenization_of(native(pattern, ONIGURUMA).pretokenization)
    for text in TEXTS:
        data = text.encode()
        ours = [data[start:end].decode() for start, end in pairwise(scheme.boundaries(data).tolist())]
        assert ours == [piece for piece, _ in theirs.pre_tokenize_str(text)], text


INTERSECTED = "abcdef xyz[a&&]b] sS tT\u017f \u4e2d\u6587a\u3042\u4e2dB\u0301's 'S\u4e2d 12345 \n \u3005"


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"[a-f&&[^c]]+", r"[a-z\s&&[b-y\n]&&[^x]]", r"\[a&&[^b]+", r"(?i:[s-u&&[tT]])+"),
        *(r"[\p{L}&&[^\p{Han}]]+|\s", made.KIMI_K2),
    ],
)
def test_intersections_of_sets_are_ours(pattern: str, ranks: dict[bytes, int], tmp_path: Path) -> None:
    theirs = Split(Regex(pattern), "isolated")
    scheme = pretokenization_of(native(pattern, ONIGURUMA).pretokenization)
    for text in (*TEXTS, INTERSECTED):
        data = text.encode()
        ours = [data[start:end].decode() for start, end in pairwise(scheme.boundaries(data).tolist())]
        assert ours == [piece for piece, _ in theirs.pre_tokenize_str(text)], text
    (tmp_path / "r.tiktoken").write_bytes(made.tiktoken_file(ranks))
    total = pattern if pattern == made.KIMI_K2 else rf"{pattern}|[\s\S]"
    tokenizer = read(tmp_path / "r.tiktoken", "tiktoken", pattern=total)
    assert why(tokenizer).startswith("ids equal")
    library = tiktoken.Encoding("", pat_str=total, mergeable_ranks=ranks, special_tokens={})
    assert tokenizer.encode(INTERSECTED).tolist() == library.encode_ordinary(INTERSECTED)
    assert (tokenizer.pretokenization == "kimi_k2") == (pattern == made.KIMI_K2)


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        *((r"x{1,2}+", "{1,2}+"), (r"x{2}+", "{2}+"), (r"ax{2}?", "{2}?"), (r"x\Z", r"\Z"), (r"[\x80-\xff]", r"\x8")),
        *((r"q\xC3\xA9", r"\xC"), (r"\U00000041", r"\U")),
    ],
)
def test_error_names_the_part_that_oniguruma_reads_differently(pattern: str, part: str) -> None:
    with pytest.raises(NotNativeError) as caught:
        translate(pattern, ONIGURUMA)
    assert str(caught.value) == f"its pattern has '{part}', which tokenizers reads otherwise than we do"


@pytest.mark.parametrize("dialect", [ONIGURUMA, FANCY_REGEX])
@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        *((r"a\h+", r"\h+"), (r"a(?m:b)", "(?m:b)"), (r"(?x) a", "(?x) a"), (r"a(?i)b|c", "(?i)b|c"), ("x|^a", "^a")),
        *(
            (r"a[b[a]]", "[b[a]]"),
            (r"a[a&&b]", "[a&&b]"),
            (r"\Ax", r"\Ax"),
            (r"x\z", r"\z"),
            (r"\R", r"\R"),
            ("x{,2}", "{,2}"),
        ),
        *((r"[[:alpha:]]", "[[:alpha:]]"), (r"(?<n>x)", "(?<n>x)"), (r"x(?#a)", "(?#a)"), ("(?<=a)x", "(?<=a)x")),
        *((r"(?=(\d{3})+(?!\d))", r"(?=(\d{3})+(?!\d..."), (r"\101", r"\101"), (r"\Kx", r"\Kx"), ("(?>x)", "(?>x)")),
    ],
)
def test_error_shows_the_part_that_we_do_not_compile(pattern: str, part: str, dialect: Dialect) -> None:
    with pytest.raises(NotNativeError) as caught:
        translate(pattern, dialect)
    assert str(caught.value) == f"its pattern is not one that we compile (from '{part}' on)"


@pytest.mark.parametrize("pattern", ["a*", "$", r"x?", "a|", r"(?=x)", r"\b", "^"])
@pytest.mark.parametrize("dialect", [ONIGURUMA, FANCY_REGEX])
def test_patterns_that_match_nothing_are_not_ours(pattern: str, dialect: Dialect) -> None:
    with pytest.raises(NotNativeError):
        translate(pattern, dialect)


@pytest.mark.parametrize(
    "pattern", ["(?i:xssy)", "(?i:'st)", "(?i:office)", "(?i:s{2})", "(?i:[a-s]s)", "(?i:(?:f|x)i)"]
)
def test_case_folding_of_one_character_to_several_is_rejected_for_oniguruma(pattern: str) -> None:
    """Oniguruma matches ß with ss if it ignores case; fancy-regex does not."""
    with pytest.raises(NotNativeError, match="one character may stand for"):
        translate(pattern, ONIGURUMA)
    assert translate(pattern, FANCY_REGEX).pattern == pattern


def test_letters_of_either_case_that_stay_ours() -> None:
    for pattern in ("(?i:'s|'t|'re|'ve|'m|'ll|'d)", "'(?i:[sdmt]|ll|ve|re)"):
        assert translate(pattern, ONIGURUMA).pattern == pattern


@pytest.mark.parametrize(
    ("pattern", "library", "code"),
    [
        *((r"\w", "tokenizers", 0xB2), ("(?i:zi)", "tokenizers", 0x130), ("(?i:zi)", "tiktoken", 0x130)),
        *((r"\<", "tiktoken", 0x30), (r"[\w-]", "tokenizers", 0x200C)),
    ],
)
def test_sets_of_other_characters_are_found(pattern: str, library: str, code: int) -> None:
    dialect = ONIGURUMA if library == "tokenizers" else FANCY_REGEX
    with pytest.raises(NotNativeError, match=rf"^{library} has other characters than we do .*\(U\+{code:04X}, for one"):
        differing(native(pattern, dialect), library)


@pytest.mark.parametrize(("dialect", "library"), [(ONIGURUMA, "tokenizers"), (FANCY_REGEX, "tiktoken")])
def test_editions_of_unicode_are_named(dialect: Dialect, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that lacks the characters of its own last edition and of later ones, for any installed version."""
    assert str(differing(native(r"[a-z]+|\s", dialect), library)) == ""
    found = differing(native(r"\p{L}+|\P{L}", dialect), library)
    if found.ours == found.theirs:
        pytest.skip("the library has the edition that we have")
    number = len(found.codes)
    assert 0 < number < 100_000
    later = list(EDITIONS)[min(list(EDITIONS).index(one) for one in (found.ours, found.theirs)) + 1]
    assert EDITIONS[later] in found.codes
    assert f"they may differ on {number:,} code points that Unicode assigned or changed after " in str(found)
    assert f"the library has Unicode {found.theirs}, Tokbench {found.ours}; first: U+" in str(found)


def test_nothing_is_drawn() -> None:
    """Proved for every text, by the automaton."""
    for pattern in (made.CL100K, r"[a-z]+|[^a-z]", r"\s+(?!\S)|\s+|\S", r".|\n"):
        assert left_out(pattern) is None
    assert left_out(r"[a-z]+| ") == "\x00"
    assert left_out(r"ab|[^a]") == "a"
    assert left_out(".") == "\n"


def test_text_between_matches_may_be_sentences() -> None:
    """It has letters and blanks."""
    assert all(map(spans_words, (r"\p{N}{1,3}", r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)")))
    assert not any(map(spans_words, (" ", r"[a-z]+", r"\s+|\S+", ".")))


def test_texts_made_from_patterns_have_their_literals_and_borders() -> None:
    texts = list(access_texts([r"(?i:'kq)|[b-f]+|\s"]))
    assert len(texts) <= 2 * MOST
    together = "\n".join(texts)
    for part in ("'Kq", "'KQ", "'k", "'\u212a", "a", "b", "f", "g", "\u3000"):
        assert part in together
    assert not any("b" in text for text in access_texts(["[a-c]"], frozenset({ord("b")})))
    assert any("zy" in text for text in access_texts(["ab|c", "zy"]))  # Not one automaton.


def example(level: dict[str, Any], pattern: str, *merges: str) -> dict[str, Any]:
    """A tokenizer.json that cuts by a pattern and joins pairs of bytes, spelled as ByteLevel does."""
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    model = level["model"]
    vocabulary = model["vocab"] | {pair.replace(" ", ""): len(model["vocab"]) + i for i, pair in enumerate(merges)}
    pairs = [pair.split(" ") for pair in merges]
    return level | {
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [made.split(pattern), last]},
        "model": model | {"vocab": vocabulary, "merges": [*pairs, *model["merges"]]},
    }


@pytest.mark.parametrize(
    ("pattern", "merges", "texts"),
    [
        *((r"^1+|\S|\s", ["1 1"], ["a\n11", "11\na", "a11\n11 11"]), (r"1+$|\S|\s", ["1 1"], ["11\na", "11111"])),
        *((r"1{1,2}+|\S|\s", ["1 1"], ["11111"]), (r"1*+?|\S", ["1 1"], ["111"])),
        *((r"(?i:straße)|\s+|\S+", ["e !", "s s"], ["strasse!"]), (r"(?i:xssy)|[\s\S]", ["Ã Ł"], ["xßy"])),
        *((r"(?i:zizz)|[\s\S]+?", ["Ä °"], ["zİzz"]), (r"q\xC3\xA9|\p{L}+", ["q Ã"], ["qéa", "qÃ©"])),
        *((r"(?=(\d{3})+(?!\d))", ["1 2", "3 4"], ["1234567", "12"]), ("a*", ["b b"], ["abba"])),
        *((r"\b", ["a Ġ"], ["a b"]), ("^", ["a Ċ"], ["a\na"]), (r"[[:alpha:]]+", ["a Ġ"], ["a b"])),
    ],
)
def test_files_have_the_ids_of_the_library(
    pattern: str, merges: list[str], texts: list[str], level: dict[str, Any], tmp_path: Path
) -> None:
    values = example(level, pattern, *merges)
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert isinstance(tokenizer, AdaptedTokenizer), why(tokenizer)
    for text in texts:
        assert tokenizer.encode(text).tolist() == library_ids(values, text)


@pytest.mark.parametrize("pattern", [r"x(?:$|\s)|\S|\s", r"(?i:'s|'ll)|\S+|\s+(?!\S)|\s+", r"\s++|[^\s]{1,3}"])
def test_files_that_stay_ours(pattern: str, level: dict[str, Any], tmp_path: Path) -> None:
    values = example(level, pattern, "x Ċ", "x Ġ")
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert not isinstance(tokenizer, AdaptedTokenizer), why(tokenizer)
    assert "texts made from its pattern" in why(tokenizer)
    for text in TEXTS:
        assert tokenizer.encode(text).tolist() == library_ids(values, text)


def test_a_segmentation_needs_a_native_tokenizer(level: dict[str, Any], tmp_path: Path) -> None:
    """The library has only its own, so the choice would be ignored."""
    path = made.written(tmp_path / "tokenizer.json", example(level, "^a"))
    with pytest.raises(TokbenchError, match="greedy: needs a native tokenizer; tokenizers reads this file"):
        read(path, "tokenizer_json", segmentation="greedy")


def theirs(ranks: dict[bytes, int], pattern: str, text: str) -> list[int]:
    return tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={}).encode_ordinary(text)


@pytest.mark.parametrize(
    ("pattern", "text", "reason"),
    [
        (r"a+$|[^a]+|a", "aa\n", "its pattern has too many states for us, or may take more than linear time"),
        (r"(?s:(?!Zq).)+|q", "abZqcd", "its pattern is not one that we compile (from '(?s:(?!Zq).)+|q' on)"),
        (r"[a-z]+| ", "a B c", "its pattern may leave out characters, which tiktoken drops (U+0000, for one)"),
        (r"x\Z|[\s\S]", "x\n", r"its pattern has '\Z', which tiktoken reads otherwise than we do"),
    ],
)
def test_ranks_with_such_patterns_have_the_ids_of_tiktoken(
    pattern: str, text: str, reason: str, ranks: dict[bytes, int], tmp_path: Path
) -> None:
    more = ranks | {b"aa": len(ranks)}
    tokenizer = read(made.written(tmp_path / "a.tiktoken", made.tiktoken_file(more)), "tiktoken", pattern=pattern)
    assert why(tokenizer) == reason
    assert tokenizer.encode(text).tolist() == theirs(more, pattern, text)


def test_the_end_of_the_text_is_where_tiktoken_has_it(ranks: dict[bytes, int], tmp_path: Path) -> None:
    pattern = r"x(?:a|$)|[\s\S]"
    more = ranks | {b"xa": len(ranks)}
    tokenizer = read(made.written(tmp_path / "a.tiktoken", made.tiktoken_file(more)), "tiktoken", pattern=pattern)
    assert tokenizer.scheme.splits == (r"x(?:a|\Z)|[\s\S]",)
    for text in TEXTS:
        assert tokenizer.encode(text).tolist() == theirs(more, pattern, text)


@pytest.mark.parametrize("pattern", ["a*", r"\b", "^"])
def test_tiktoken_loses_text_that_its_pattern_does_not_match(
    pattern: str, ranks: dict[bytes, int], tmp_path: Path
) -> None:
    path = made.written(tmp_path / "a.tiktoken", made.tiktoken_file(ranks))
    with pytest.raises(TokbenchError, match="--pattern: matches the empty string, which tiktoken cannot encode"):
        read(path, "tiktoken", pattern=pattern)


def test_patterns_that_only_the_library_reads(ranks: dict[bytes, int], tmp_path: Path) -> None:
    path = made.written(tmp_path / "a.tiktoken", made.tiktoken_file(ranks))
    pattern = r"[a-z&&[^b]]+|\x{62}|[^a-z]"
    tokenizer = read(path, "tiktoken", pattern=pattern)
    assert isinstance(tokenizer, AdaptedTokenizer)
    assert tokenizer.encode("abc d").tolist() == theirs(ranks, pattern, "abc d")


def test_a_table_of_normalisations_that_is_none(level: dict[str, Any], tmp_path: Path) -> None:
    values = level | {"normalizer": {"type": "Precompiled", "precompiled_charsmap": None}}
    with pytest.raises(TokbenchError, match=r"not a tokenizer\.json"):
        read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")


@pytest.mark.parametrize("pattern", [r"^x+|\S|\s", r"x+$|\S|\s", r"x{1,2}+|\S|\s"])
def test_schemes_that_the_engine_reads_otherwise_are_not_exported(pattern: str) -> None:
    told = split_obstacle(pretokenization_of({"method": "regex", "pattern": pattern}), None)
    assert told is not None
    assert told.startswith("Hugging Face's engine cuts '")


def test_probes_have_every_sign_of_ascii_at_the_ends_of_lines() -> None:
    tried = b"\n\n".join(probes())
    for code in range(0x21, 0x7F):
        for count in range(2, 6):
            assert b"\n%b\n" % (bytes([code]) * count) in tried
            assert b" %b\n " % (bytes([code]) * count) in tried
