"""GreedTok and GreedWMC against their twins, the paper's examples, and its figures on the UN corpus."""

import gzip
from functools import partial
from itertools import pairwise, product, takewhile
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.external_tokenizers import DATA, skip_without
from tokbench.construction import greedtok, greedwmc
from tokbench.construction.greedtok import GreedTokOptions, choose_tokens
from tokbench.errors import TokbenchError
from tokbench.kernels.substrings import distinct_substrings, occurrences_of
from tokbench.kernels.suffix_order import order_suffixes
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.pretokens.files import read_word_list
from tokbench.reference.greedtok import choose as twin
from tokbench.reference.greedtok import substrings
from tokbench.segmentation.cover import cover
from tokbench.vocabulary import BYTES, Vocabulary, write_tokens

UN = DATA / "english" / "un"

KERNELS = {True: greedtok.choose, False: greedwmc.choose}
"""By whether a token takes only places where cuts stand at both ends."""

words = st.dictionaries(
    st.one_of(
        st.text("ab", min_size=1, max_size=12).map(str.encode),
        st.text("aé ", min_size=1, max_size=8).map(str.encode),
        st.binary(min_size=1, max_size=5),
        st.tuples(st.sampled_from([b"a", b"ab", b"aab"]), st.integers(1, 12)).map(lambda run: run[0] * run[1]),
    ),
    st.integers(1, 5),
    max_size=6,
)
limits = st.one_of(st.none(), st.integers(2, 9))


def tokens_per_word(counts: PretokenCounts, gains: np.ndarray) -> float:
    return (counts.total_bytes - int(gains.sum())) / counts.total


@settings(max_examples=150)
@given(words, st.integers(0, 12), limits, st.booleans())
def test_twin(counted: dict[bytes, int], wanted: int, longest: int | None, constrained: bool) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    tokens, gains = choose_tokens(counts, 256 + wanted, GreedTokOptions(max_token_bytes=longest), KERNELS[constrained])
    candidates = substrings(list(counted.items()), longest or 99)
    assert list(zip(tokens, gains.tolist(), strict=True)) == twin(
        list(counted.items()), candidates, wanted, constrained
    )


@settings(max_examples=60)
@given(words, st.sets(st.text("ab", max_size=5).map(str.encode), max_size=8), st.booleans())
def test_twin_with_candidates(
    tmp_path_factory: pytest.TempPathFactory, counted: dict[bytes, int], candidates: set[bytes], constrained: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "candidates.vocab"
    write_tokens(sorted(candidates, reverse=True), path)
    counts = PretokenCounts.from_pairs(counted.items())
    tokens, gains = choose_tokens(counts, 300, GreedTokOptions(candidates=path), KERNELS[constrained])
    multiple = {token for token in candidates if len(token) > 1}
    assert list(zip(tokens, gains.tolist(), strict=True)) == twin(list(counted.items()), multiple, 44, constrained)


@settings(max_examples=25)
@given(
    st.dictionaries(
        st.tuples(st.sampled_from([b"a", b"ab", b"aab", b"ab!"]), st.integers(60, 120)).map(
            lambda run: (run[0] * run[1])[: run[1]]
        ),
        st.integers(1, 5),
        max_size=3,
    ),
    st.booleans(),
)
def test_twin_on_long_words(counted: dict[bytes, int], constrained: bool) -> None:
    """Words and tokens longer than the 64 cuts of a machine word; such words keep account of their living places."""
    pairs = list(counted.items())
    counts = PretokenCounts.from_pairs(pairs)
    tokens, gains = choose_tokens(counts, 259, GreedTokOptions(max_token_bytes=70), KERNELS[constrained])
    assert list(zip(tokens, gains.tolist(), strict=True)) == twin(pairs, substrings(pairs, 70), 3, constrained)


@settings(max_examples=60)
@given(words, st.integers(0, 12), limits, st.booleans())
def test_threads_do_not_show(counted: dict[bytes, int], wanted: int, longest: int | None, constrained: bool) -> None:
    """All work is shared with threads, single places, too."""
    counts = PretokenCounts.from_pairs(counted.items())
    options = GreedTokOptions(max_token_bytes=longest)

    def chosen(threads: int) -> tuple[tuple[bytes, ...], list[int]]:
        tokens, gains = choose_tokens(
            counts, 256 + wanted, options, partial(KERNELS[constrained], enough=1), threads=threads
        )
        return tokens, gains.tolist()

    assert chosen(1) == chosen(2) == chosen(3) == chosen(7)


@pytest.mark.parametrize("module", [greedtok, greedwmc])
def test_threads_do_not_show_in_a_text(module: object) -> None:
    """Large groups, taken apart among threads, and long words beside short ones."""
    text = "\n".join(topics.values()).encode()
    lines = count_pretokens([text[: 1 << 15]], "none")
    counts = count_pretokens([text], "gpt2")
    both = PretokenCounts.from_pairs([*counts.items(), *lines.items(), (b"=" * 90, 7), (b"-=" * 60, 3)])
    built = [module.build(both, 900, GreedTokOptions(), threads=threads) for threads in (1, 2, 3, 7)]  # type: ignore[attr-defined]
    assert len(built[0]) == 900
    assert all(other.tokens == built[0].tokens for other in built[1:])


def test_threads_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work for other threads is done by any thread that runs."""
    counts = count_pretokens(["\n".join(topics.values())[:20_000].encode()], "gpt2")
    alone = choose_tokens(counts, 400, GreedTokOptions(), KERNELS[True])[0]

    def never(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("_thread.start_new_thread", never)
    choose = partial(KERNELS[True], enough=1)
    assert choose_tokens(counts, 400, GreedTokOptions(), choose, threads=3)[0] == alone


@given(words, st.integers(1, 10))
def test_substrings(counted: dict[bytes, int], longest: int) -> None:
    """Each group stands for substrings of its own, at all their places."""
    counts = PretokenCounts.from_pairs(counted.items())
    suffixes, groups = distinct_substrings(counts.data, counts.offsets, longest)
    for threads, enough in ((1, 1), (2, 1), (3, 2), (7, 5)):
        again = distinct_substrings(counts.data, counts.offsets, longest, threads, enough)
        assert (again[0].tolist(), again[1].tolist()) == (suffixes.tolist(), groups.tolist())
    text = counts.data.tobytes()
    ends = np.repeat(counts.offsets[1:], np.diff(counts.offsets)).tolist()
    found: dict[bytes, set[int]] = {}
    for low, high, shortest, most in groups.tolist():
        places = suffixes[low:high].tolist()
        for length in range(shortest, most + 1):
            token = text[places[0] : places[0] + length]
            assert token not in found
            found[token] = set(places)
    assert set(found) == substrings(list(counted.items()), longest)
    for token, places in found.items():
        assert places == {
            place for place in range(len(text)) if text.startswith(token, place) and place + len(token) <= ends[place]
        }
    wanted = sorted([*found, b"ba" * longest, b"zz"])
    offsets = np.cumsum([0, *map(len, wanted)])
    full = distinct_substrings(counts.data, counts.offsets, 99)[0]
    rows = occurrences_of(counts.data, counts.offsets, full, np.frombuffer(b"".join(wanted), np.uint8), offsets)
    for token, (low, high, shortest, most) in zip(wanted, rows.tolist(), strict=True):
        assert shortest == most == len(token)
        if token in found:
            assert set(full[low:high].tolist()) == found[token]
        elif token not in substrings(list(counted.items()), 99):
            assert low == high


@given(words, st.integers(1, 10), st.integers(1, 5))
def test_order_of_suffixes(counted: dict[bytes, int], longest: int, deep: int) -> None:
    """The same order and the same shared bytes, wherever ranks take over from bytes and parts of the text end."""
    counts = PretokenCounts.from_pairs(counted.items())
    suffixes, shared = order_suffixes(counts.data, counts.offsets, longest, deep)
    for threads, enough in ((1, 1), (2, 1), (3, 2), (7, 5)):
        again = order_suffixes(counts.data, counts.offsets, longest, deep, threads, enough)
        assert (again[0].tolist(), again[1].tolist()) == (suffixes.tolist(), shared.tolist())
    text = counts.data.tobytes()
    ends = np.repeat(counts.offsets[1:], np.diff(counts.offsets)).tolist()
    spelt = [text[place : min(ends[place], place + longest)] for place in suffixes.tolist()]
    assert sorted(suffixes.tolist()) == list(range(len(text)))
    assert spelt == sorted(spelt)
    common = [
        sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*two, strict=False))) for two in pairwise(spelt)
    ]
    assert shared.tolist() == [0, *common][: len(text)]


def test_texts_that_cannot_be_ordered() -> None:
    with pytest.raises(ValueError, match="do not span the text"):
        order_suffixes(np.zeros(3, np.uint8), np.array([0, 2]), 9)


@pytest.mark.parametrize("module", [greedtok, greedwmc])
@given(counted=words)
def test_size(module: object, counted: dict[bytes, int]) -> None:
    """Smaller vocabularies begin larger ones; the bytes come first."""
    counts = PretokenCounts.from_pairs(counted.items())
    large = module.build(counts, 266, GreedTokOptions()).tokens  # type: ignore[attr-defined]
    assert large[:256] == BYTES
    assert module.build(counts, 260, GreedTokOptions()).tokens == large[:260]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("counted", "chosen", "left"),
    [
        ({b"random": 1, b"randose": 1, b"rosey": 1, b"randy": 1}, [(b"rand", 9), (b"ose", 4)], 10),
        ({b"ayaya": 1, b"bananas": 5, b"ana": 2}, [(b"bananas", 30), (b"ana", 4), (b"ayaya", 4)], 8),
        ({b"ayaya": 1}, [(b"ayaya", 4)], 1),
    ],
)
def test_examples(counted: dict[bytes, int], chosen: list[tuple[bytes, int]], left: int) -> None:
    counts = PretokenCounts.from_pairs(counted.items())
    tokens, gains = choose_tokens(counts, 256 + len(chosen), GreedTokOptions(), KERNELS[True])
    assert list(zip(tokens, gains.tolist(), strict=True)) == chosen
    assert counts.total_bytes - int(gains.sum()) == left


@pytest.mark.parametrize(("constrained", "gain"), [(True, 2), (False, 4)])
def test_overlapping_places(tmp_path: Path, constrained: bool, gain: int) -> None:
    """GreedTok takes the first of two places that overlap; GreedWMC takes both and counts each cut once."""
    write_tokens([b"aya"], tmp_path / "candidates.vocab")
    options = GreedTokOptions(candidates=tmp_path / "candidates.vocab")
    counts = PretokenCounts.from_pairs([(b"ayaya", 1)])
    tokens, gains = choose_tokens(counts, 300, options, KERNELS[constrained])
    assert (tokens, gains.tolist()) == ((b"aya",), [gain])


def test_min_word_count() -> None:
    counts = PretokenCounts.from_pairs([(b"abc", 2), (b"xyz", 1), (b"", 9)])
    assert greedtok.build(counts, 300, GreedTokOptions(min_word_count=2)).tokens[256:] == (b"abc",)
    assert greedtok.build(counts, 300, GreedTokOptions(min_word_count=3)).tokens == BYTES


def test_counts_beyond_32_bits() -> None:
    counts = PretokenCounts.from_pairs([(b"ab", 2**40), (b"bc", 2**40 + 1), (b"cab", 2**33)])
    assert greedtok.build(counts, 259, GreedTokOptions()).tokens[256:] == (b"ab", b"bc", b"cab")


def test_counts_near_the_limit() -> None:
    """A run's overlapping places, each as often as it occurs, exceed 64 bits by far."""
    counts = PretokenCounts.from_pairs([(b"=" * 1000, 2**51), (b"=" * 70, 2**50), (b"ab" * 20, 2**50)])
    for module in (greedtok, greedwmc):
        small = PretokenCounts(counts.data, counts.offsets, counts.counts >> 50)
        built = [module.build(either, 300, GreedTokOptions()).tokens for either in (counts, small)]
        assert built[0] == built[1]


def test_a_document_without_pretokens() -> None:
    """One long text, all its substrings: the choice is the whole, at once."""
    text = np.random.default_rng(5).integers(97, 101, 100_000, np.uint8).tobytes()
    counts = PretokenCounts.from_pairs([(text, 1)])
    for module in (greedtok, greedwmc):
        assert module.build(counts, 300, GreedTokOptions()).tokens[256:] == (text,)


def test_rejections(tmp_path: Path) -> None:
    counts = PretokenCounts.from_pairs([(b"ab", 1)])
    with pytest.raises(TokbenchError, match="size 255 is below 256"):
        greedtok.build(counts, 255, GreedTokOptions())
    with pytest.raises(TokbenchError, match=r"absent\.vocab: not a readable vocabulary"):
        greedwmc.build(counts, 300, GreedTokOptions(candidates=tmp_path / "absent.vocab"))


@pytest.fixture(scope="module")
def un() -> PretokenCounts:
    skip_without(UN)
    return read_word_list(UN / "words_un.txt.gz", UN / "counts_un.txt.gz")


def test_published_figures(un: PretokenCounts) -> None:
    """Tables 2 and 3, UN: tokens per word, their total, and GreedTok's share of GreedWMC's objective."""
    assert (len(un), un.total, un.total_bytes) == (105_505, 36_985_645, 224_133_548)
    tokens, gains = choose_tokens(un, 5256, GreedTokOptions(), KERNELS[True])
    assert (tokens[0], gains[0]) == ("Ġ".encode(), 30_035_114)
    assert gains.sum() == 181_111_127
    sizes = range(1000, 5001, 1000)
    assert [round(tokens_per_word(un, gains[:k]), 4) for k in sizes] == [1.6067, 1.3738, 1.2676, 1.2046, 1.1632]
    _, relaxed = choose_tokens(un, 5256, GreedTokOptions(), KERNELS[False])
    shares = [round(gains[:k].sum() / relaxed[:k].sum(), 4) for k in sizes]
    assert shares == [0.8804, 0.9261, 0.9471, 0.9596, 0.9677]
    segmenter = cover(Vocabulary(BYTES + tokens), Options())
    _, bounds = segmenter.segment(un.data, un.offsets)
    assert int(np.diff(bounds) @ un.counts) == un.total_bytes - 181_111_127


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize(("words", "counts"), list(product(["w.txt", "w.gz"], ["c.txt", "c.gz"])))
def test_word_list(tmp_path: Path, words: str, counts: str) -> None:
    spelt = write(tmp_path / words, "It Ġis \n Ġ".encode())
    read = read_word_list(spelt, write(tmp_path / counts, b"3\n2\n5\n1\n"))
    assert list(read.items()) == [(b"\n", 5), (b"It", 3), ("Ġis".encode(), 2), ("Ġ".encode(), 1)]


@pytest.mark.parametrize(
    ("words", "counts", "message"),
    [
        (b"a b", b"1", "words.txt: 2 words, but .*counts.txt has 1 lines"),
        (b"a b a", b"1\n2\n3", "words.txt: word 3 'a' is repeated"),
        (b"a  b", b"1\n2\n3", "words.txt: word 2 is empty"),
        (b"a b", b"1\nx", "counts.txt:2: 'x' is not a count"),
        (b"\x1f\x8bbad", b"1", "words.txt: cannot be read"),
    ],
)
def test_word_list_rejections(tmp_path: Path, words: bytes, counts: bytes, message: str) -> None:
    first, second = tmp_path / "words.txt", tmp_path / "counts.txt"
    first.write_bytes(words)
    second.write_bytes(counts)
    with pytest.raises(TokbenchError, match=message):
        read_word_list(first, second)
