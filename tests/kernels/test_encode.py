"""The encoder, the places at which texts may be split, and the formats of ids."""

import io
import random
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.conftest import ODD, TOPICS, Tokbench
from tokbench.commands import encoding as encode_command
from tokbench.construction.bpe import BpeOptions, build
from tokbench.errors import TokbenchError
from tokbench.io import id_files
from tokbench.kernels.encode import Encoder, document_number
from tokbench.kernels.ids import decimals, from_decimals, joined
from tokbench.kernels.scan import boundaries, settled_after, settled_before
from tokbench.pretokenization import pretokenization, schemes
from tokbench.pretokenization.built_in import KERNEL_SCHEMES
from tokbench.pretokens.count import count_pretokens
from tokbench.reference import segmentation as greedy
from tokbench.reference import segmentation as merge
from tokbench.reference import segmentation as scan
from tokbench.reference import segmentation as shortest_path
from tokbench.reference import segmentation as twin
from tokbench.segmentation import segmentation, segmentations
from tokbench.segmentation.shortest_path import ShortestPathOptions
from tokbench.tokenizer import Tokenizer, encoder
from tokbench.vocabulary import BYTES, Vocabulary

BY_PLACE = ShortestPathOptions(ties="random", seed=3, draws="document")
PIECES = [
    b"a",
    b"ab",
    b"abab" * 5,
    b"b" * 17,
    b" ",
    b" ",
    b"  ",
    b"\n",
    b"\r\n",
    b"1",
    b"42",
    b"'s",
    b"'ll",
    b".",
    b"-",
]
PIECES += ["é".encode(), "東京。".encode(), "\u3000".encode(), "\xa0".encode(), "\u2028".encode(), "٣".encode()]
PIECES += [b"\xff", b"\x80", b"\xc2", b"\xe3\x80", b"\xa0", b"\x85", b"\xe3"]
TEXTS = st.one_of(
    st.binary(max_size=120),
    st.text(max_size=40).map(str.encode),
    st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join),
)


@cache
def vocabulary() -> Vocabulary:
    return build(count_pretokens([*TOPICS[:2], b"abab" * 9, ODD], "gpt2"), 500, BpeOptions())


@cache
def segmenter(name: str) -> Any:
    return segmentations[name].function(vocabulary(), segmentations[name].options())


def cuts() -> dict[str, Callable[[bytes], list[int]]]:
    """Twins of three segmentations."""
    held = vocabulary()
    ids = {token: index for index, token in enumerate(held.tokens)}
    merges = [] if held.merges is None else [(a, b, c) for a, b, c in held.merges.tolist()]
    return {
        "merge": cache(partial(merge.merge, merges=merges)),
        "greedy": cache(lambda text: greedy.greedy(text, ids, ids)),
        "shortest_path": cache(lambda text: shortest_path.longest(text, ids)),
    }


def pattern(scheme: str) -> str | None:
    return schemes[scheme].pattern


@pytest.mark.parametrize("name", ["merge", "greedy", "shortest_path"])
def test_kernel_equals_twin(name: str) -> None:
    cut = cuts()[name]

    @settings(max_examples=150)
    @given(st.lists(TEXTS, min_size=1, max_size=3), st.sampled_from([1, 2, 7, 1000]))
    def check(texts: list[bytes], remembered: int) -> None:
        for scheme, scanner in KERNEL_SCHEMES.items():
            encoder = Encoder(scanner, segmenter(name), remembered)
            for text in texts:
                ids = encoder.encode(text)
                assert ids.dtype == np.int32
                assert ids.tolist() == twin.encode(pattern(scheme), text, cut), scheme
                assert encoder.count(text) == len(ids)
                assert len(encoder) <= remembered

    check()


@cache
def many_words() -> bytes:
    """Thousands of pre-tokens, short and long, of few and many ids."""
    draw = random.Random(0)
    words = [bytes(draw.choices(b"abcde'1.", k=draw.choice([1, 3, 9, 15, 16, 17, 40, 300]))) for _ in range(3000)]
    return b" ".join(draw.choices(words, k=12_000))


@cache
def segmented(name: str) -> NDArray[np.int32]:
    """Their ids, nothing remembered."""
    text = many_words()
    bounds = boundaries(KERNEL_SCHEMES["gpt2"], text)
    return segmenter(name).segment(np.frombuffer(text, np.uint8), bounds, document_number(text))[0]


@pytest.mark.parametrize("remembered", [1, 2, 50, 3000])
@pytest.mark.parametrize("name", [cut.name for cut in segmentations.methods() if cut.needs in (None, "merges")])
def test_memory_that_overflows(name: str, remembered: int) -> None:
    """All sizes of caches."""
    text = many_words()
    encoder = Encoder(KERNEL_SCHEMES["gpt2"], segmenter(name), remembered)
    expected = segmented(name)
    for _ in range(2):
        assert np.array_equal(encoder.encode(text), expected)
    assert encoder.count(text) == len(expected)
    assert len(encoder) <= remembered


def test_large_and_small_results_in_turn() -> None:
    """A large array owns its memory, so that the next text needs other memory."""
    encoder = Encoder(KERNEL_SCHEMES["gpt2"], segmenter("merge"))
    for size in (3, 17_000, 5, 20_000, 33_000, 1, 90_000, 0, 2):
        text = many_words()[:size]
        twice = [encoder.encode(text), encoder.encode(text)]
        assert np.array_equal(*twice)
        assert b"".join(vocabulary().tokens[id] for id in twice[0]) == text


@pytest.mark.parametrize("name", ["merge", "greedy"])
def test_several_texts_in_one_call(name: str) -> None:
    @settings(max_examples=100)
    @given(st.lists(TEXTS, max_size=6))
    def check(texts: list[bytes]) -> None:
        ids, bounds = Encoder(KERNEL_SCHEMES["gpt2"], segmenter(name), 7).encode_all(texts)
        alone = Encoder(KERNEL_SCHEMES["gpt2"], segmenter(name))
        assert (ids.dtype, bounds.dtype, bounds[0], bounds[-1]) == (np.int32, np.int64, 0, len(ids))
        for text, (start, end) in zip(texts, pairwise(bounds.tolist()), strict=True):
            assert np.array_equal(ids[start:end], alone.encode(text))

    check()
    with pytest.raises(TypeError):
        Encoder(KERNEL_SCHEMES["gpt2"], segmenter(name)).encode_all([b"a", "b"])


def test_several_texts_by_random_draws() -> None:
    """The document's number is that of each text."""
    by_place = segmentations["shortest_path"].function(vocabulary(), BY_PLACE)
    encoder = Encoder(KERNEL_SCHEMES["gpt2"], by_place)
    ids, bounds = encoder.encode_all([TOPICS[0], ODD, b"", TOPICS[1]])
    for text, (start, end) in zip([TOPICS[0], ODD, b"", TOPICS[1]], pairwise(bounds.tolist()), strict=True):
        assert np.array_equal(ids[start:end], encoder.encode(text))


def test_parts() -> None:
    """A part between two boundaries is encoded as in the whole, the place of random draws included."""
    text = TOPICS[0] + ODD
    bounds = boundaries(KERNEL_SCHEMES["gpt2"], text).tolist()
    middle = bounds[len(bounds) // 2]
    by_place = segmentations["shortest_path"].function(vocabulary(), BY_PLACE)
    for cut in (segmenter("merge"), by_place):
        encoder = Encoder(KERNEL_SCHEMES["gpt2"], cut)
        parts = [encoder.encode(text, start, end) for start, end in ((0, middle), (middle, middle), (middle, None))]
        assert np.array_equal(np.concatenate(parts), encoder.encode(text))
    for start, end in ((-1, 3), (3, 2), (0, len(text) + 1)):
        with pytest.raises(ValueError, match="no part"):
            encoder.encode(text, start, end)


def test_settings_of_the_encoder() -> None:
    for wrong in (0, -1, 2**40):
        with pytest.raises(ValueError, match="remembered must be 1 to"):
            Encoder(KERNEL_SCHEMES["gpt2"], segmenter("merge"), wrong)


# Places where texts may be cut


@given(TEXTS, TEXTS, TEXTS)
@settings(max_examples=300)
def test_settled_places(before: bytes, text: bytes, after: bytes) -> None:
    """A cut at a settled place changes no pre-token, whatever stands around the text that was looked at."""
    whole = before + text + after
    for scheme, scanner in KERNEL_SCHEMES.items():
        bounds = scan.boundaries(pattern(scheme), whole)
        places = [place for place in range(len(text)) if settled_after(scanner, text, place) == place]
        for place in places:
            cut = len(before) + place
            parts = [scan.boundaries(pattern(scheme), part) for part in (whole[:cut], whole[cut:])]
            assert bounds == parts[0] + [cut + end for end in parts[1][1:]], scheme
        for place in range(len(text) + 1):
            assert settled_after(scanner, text, place) == min([p for p in places if p >= place], default=len(text))
            assert settled_before(scanner, text, place) == max([p for p in places if p < place], default=0)


@pytest.mark.parametrize("scheme", [scheme for scheme in KERNEL_SCHEMES if scheme != "none"])
def test_settled_places_are_found(scheme: str) -> None:
    """In text with words and digits there is one in reach, also in a script without spaces."""
    scanner = KERNEL_SCHEMES[scheme]
    assert settled_after(scanner, b"some words and 1 digit", 5) < 22
    assert settled_before(scanner, b"some words and 1 digit", 18) > 3
    if scheme in ("gpt2", "first_space", "first_space_digit"):
        assert settled_after(scanner, "東京。\n".encode(), 0) == 9
        assert settled_after(scanner, "東京\u3000\n".encode(), 0) == 10
    assert settled_after(KERNEL_SCHEMES["none"], b"some words", 0) == 10
    assert settled_before(KERNEL_SCHEMES["none"], b"some words", 10) == 0


# Tokenizers


@pytest.mark.parametrize("scheme", list(KERNEL_SCHEMES))
@pytest.mark.parametrize("options", [None, BY_PLACE])
def test_threads_change_nothing(
    scheme: str, options: ShortestPathOptions | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder, "PART_BYTES", 50)
    chosen = Tokenizer(vocabulary(), scheme, "shortest_path" if options else "merge", options)

    @settings(max_examples=30)
    @given(st.lists(TEXTS, max_size=8))
    def check(texts: list[bytes]) -> None:
        whole = b"".join(texts)
        ids = chosen.encode(whole)
        for threads in (2, 3):
            assert np.array_equal(chosen.encode(whole, threads), ids)
            assert chosen.count(whole, threads) == len(ids)
            batch = chosen.encode_batch(texts, threads)
            assert [part.tolist() for part in batch] == [chosen.encode(text).tolist() for text in texts]
        if options is None:
            bounds = np.array(scan.boundaries(pattern(scheme), whole), np.int64)
            assert np.array_equal(ids, chosen._segmenter.segment(np.frombuffer(whole, np.uint8), bounds)[0])

    check()


def test_equal_documents_are_cut_equally_and_places_differ() -> None:
    chosen = Tokenizer(vocabulary(), "gpt2", "shortest_path", BY_PLACE)
    text = b" abababababab" * 40
    ids = chosen.encode(text)
    assert np.array_equal(ids, chosen.encode(text))
    assert np.array_equal(ids, chosen.encode_batch([b"x", text, b"y"], threads=2)[1])
    [width] = {len(chosen.encode(b" abababababab"))}
    assert len({tuple(row) for row in ids.reshape(-1, width).tolist()}) > 1
    assert chosen.last_cut(text) == 0


def by_commas(text: bytes) -> NDArray[np.int64]:
    return np.array(scan.boundaries("[^,]+,?|,", text), np.int64)


def test_schemes_and_segmentations_of_third_parties(monkeypatch: pytest.MonkeyPatch) -> None:
    schemes.load()
    segmentations.load()
    monkeypatch.setattr(schemes, "_methods", dict(schemes._methods))
    monkeypatch.setattr(segmentations, "_methods", dict(segmentations._methods))
    pretokenization("by_commas", pattern=None)(by_commas)

    class EveryByte:
        def segment(
            self, data: NDArray[np.uint8], offsets: NDArray[np.int64]
        ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
            return data[offsets[0] : offsets[-1]].astype(np.int32), offsets - offsets[0]

    segmentation("every_byte")(lambda vocabulary, options: EveryByte())
    text = b"ab,abab, abab,,\xff" * 9
    mine = Tokenizer(vocabulary(), "by_commas", "merge")
    expected = twin.encode("[^,]+,?|,", text, cuts()["merge"])
    alone = Tokenizer(Vocabulary(BYTES), "gpt2", "every_byte")
    placed = Tokenizer(vocabulary(), "by_commas", "shortest_path", BY_PLACE)
    for threads in (1, 2):
        assert mine.encode(text, threads).tolist() == expected
        assert mine.count(text, threads) == len(expected)
        assert alone.encode(text, threads).tolist() == list(text)
        assert placed.decode(placed.encode(text, threads)) == text
    assert mine.last_cut(text) == 0
    assert alone.decode(np.concatenate([alone.encode(part) for part in (b"", text)])) == text


def test_texts_of_every_kind() -> None:
    chosen = Tokenizer(vocabulary(), "gpt2", "merge")
    ids = chosen.encode("naïve abab")
    assert np.array_equal(chosen.encode("naïve abab".encode()), ids)
    ids[0] = 7
    assert chosen.encode(b"").tolist() == chosen.encode("", threads=3).tolist() == []
    assert chosen.count("") == 0
    assert chosen.encode_batch(iter([]), threads=2) == []


# What ids are written as


@given(st.lists(st.integers(0, 2**31 - 1)))
def test_decimals(ids: list[int]) -> None:
    text = decimals(np.array(ids, np.int32))
    assert text == " ".join(map(str, ids)).encode()
    assert from_decimals(text).tolist() == ids


@given(st.lists(st.integers(-(10**18) + 1, 10**18 - 1)), st.sampled_from([" ", "\n", "\t\r\n  "]))
def test_numbers_between_blanks(numbers: list[int], blank: str) -> None:
    text = blank.join(f"{number:+d}" if number % 3 == 0 else str(number) for number in numbers)
    for written in (text, blank + text + blank):
        assert from_decimals(written.encode()).tolist() == numbers


@pytest.mark.parametrize(
    "text", [b"x", b"1 x", b"1x", b"x1", b"-", b"1 - 2", b"1-2", b"--1", b"1.0", b"\x00", b"9" * 19]
)
def test_decode_rejects_non_numbers(text: bytes) -> None:
    with pytest.raises(ValueError, match="not a decimal number"):
        from_decimals(text)


@given(st.lists(st.integers(0, 499)), st.sampled_from([np.int32, np.int64]))
def test_bytes_of_ids(ids: list[int], dtype: type) -> None:
    tokens = vocabulary().tokens
    data, offsets = vocabulary().flat()
    flat = (data, offsets[:-1].copy(), np.diff(offsets).astype(np.int32))
    assert joined(np.array(ids, dtype), *flat) == b"".join(tokens[index] for index in ids)
    for wrong in (-1, 500):
        with pytest.raises(IndexError, match=f"id {wrong} is not the index of a token"):
            joined(np.array([*ids, wrong], dtype), *flat)


# The commands, piece by piece


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "tokenizer"
    path.mkdir()
    Tokenizer(vocabulary(), "gpt2", "merge").save(path)
    return path


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_pieces(
    size: int, threads: int, folder: Path, tmp_path: Path, tokbench: Tokbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode_command, "PIECE_BYTES", size)
    monkeypatch.setattr(id_files, "PIECE", size)
    sample = TOPICS[4][:400] + ODD + "\u3000\n".encode() * 5 + b" x" * 20
    ids = Tokenizer.load(folder).encode(sample)
    (tmp_path / "sample").write_bytes(sample)
    call = ["encode", folder, tmp_path / "sample", "--threads", threads]
    assert tokbench(*call, "--count").stdout == f"{len(ids)}\n".encode()
    shown = tokbench(*call).stdout
    assert shown == " ".join(map(str, ids.tolist())).encode() + b"\n"
    assert tokbench("encode", folder, "-", stdin=sample).stdout == shown
    saved = io.BytesIO()
    np.save(saved, ids)
    assert tokbench(*call, "-o", tmp_path / "ids.npy").status == 0
    assert (tmp_path / "ids.npy").read_bytes() == saved.getvalue()
    for written in (shown, saved.getvalue(), shown.replace(b" ", b"\n"), shown.strip()):
        assert tokbench("decode", folder, "-", stdin=written).stdout == sample


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((2, 2), np.int64), np.array(["1"]), np.zeros(0)])
def test_decode_rejects_arrays_without_ids(
    array: NDArray[Any], folder: Path, tmp_path: Path, tokbench: Tokbench
) -> None:
    np.save(tmp_path / "ids.npy", array)
    assert tokbench("decode", folder, tmp_path / "ids.npy").message.endswith(
        "not a list of ids; make one with 'tokbench encode'"
    )


@pytest.mark.parametrize("kept", [5, 6, 7, 8, 9, 60, 129, 131])
def test_arrays_in_part(kept: int, folder: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    np.save(tmp_path / "ids.npy", np.arange(4, dtype=np.int32))
    (tmp_path / "part.npy").write_bytes((tmp_path / "ids.npy").read_bytes()[:kept])
    assert "not a list of ids" in tokbench("decode", folder, tmp_path / "part.npy").message


def test_a_word_of_two_gigabytes_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = Tokenizer(vocabulary(), "none", "merge")

    def reject(*arguments: Any) -> None:
        raise ValueError("a pre-token has 2147483648 bytes, more than 2147483632")

    with pytest.raises(TokbenchError, match="more than 2147483632; cut the text, or choose a pre-tokenization that"):
        chosen._encoder._by_parts(reject, b"text", 1)


def test_every_pre_token_as_a_part() -> None:
    """Caches of one text do not change the next: the same encoder over every part of a text."""
    text = TOPICS[1][:600] + ODD
    encoder = Encoder(KERNEL_SCHEMES["first_space_digit"], segmenter("merge"), 10)
    bounds = boundaries(KERNEL_SCHEMES["first_space_digit"], text).tolist()
    parts = [encoder.encode(text, start, end) for start, end in pairwise(bounds)]
    assert np.array_equal(np.concatenate(parts), encoder.encode(text))
