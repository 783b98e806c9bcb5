"""ByteSpan: spans, the threshold, byte scores on disk, the vocabulary."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from pydantic import ValidationError

from tokbench.candidates import scored_text as scores
from tokbench.construction import bpe_wp, bytespan
from tokbench.errors import TokbenchError
from tokbench.kernels import bytespan as kernel
from tokbench.pretokenization import Scheme, schemes
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.reference import bytespan as twin
from tokbench.report.figures.signals import byte_signals, byte_table, draw
from tokbench.report.figures.style import COLUMN, svg
from tokbench.tokenizer import Tokenizer

Boundaries = Callable[[bytes], NDArray[np.int64]]
Documents = list[tuple[bytes, list[float]]]
VECTOR = b" unstable and evap."
SIGNAL = [9, 7, 3, 5, 4, 2, 1.5, 1, 1.2, 0.5, 6, 2, 1, 0.3, 5, 6, 3, 2, 4]


def spaces(text: bytes) -> NDArray[np.int64]:
    """Pre-tokens that start with a space each, or are runs of digits."""
    cuts = [match.end() for match in re.finditer(rb" ?[^ 0-9]+| |[0-9]+", text)]
    return np.array([0, *cuts], np.int64)


@pytest.fixture(autouse=True)
def only_this_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemes, "_methods", {"spaces": Scheme(name="spaces", function=spaces, pattern=None)})
    monkeypatch.setattr(schemes, "_loaded", True)


TEXTS = st.text("ab 1", max_size=24).map(str.encode)
BPE_WP = Tokenizer(
    bpe_wp.build(PretokenCounts.from_pairs([(b" abba", 3), (b"ab", 2)]), 800, bpe_wp.BpeWpOptions(min_pair_count=1)),
    "none",
    "longest_prefix",
)
LEVELS = st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 3.0])


@st.composite
def scored(draw: st.DrawFn) -> tuple[bytes, list[float]]:
    text = draw(TEXTS)
    return text, draw(st.lists(LEVELS, min_size=len(text), max_size=len(text)))


def spans(
    text: bytes, signal: list[float], threshold: float, fall: float = 0.0, peaks: bool = True
) -> list[tuple[int, int, bool]]:
    found = kernel.find_spans(text, np.array(signal, np.float32), spaces(text), threshold, fall, peaks)
    return [(start, end, bool(inside)) for start, end, inside in found.tolist()]


@settings(deadline=None)
@given(scored(), st.sampled_from([-np.inf, 0.0, 0.5, 1.25, 9.0]), st.sampled_from([0.0, 0.5, -1.0]), st.booleans())
def test_spans_equal_twin(document: tuple[bytes, list[float]], threshold: float, fall: float, peaks: bool) -> None:
    text, signal = document
    expected = twin.find_spans(text, signal, spaces(text), threshold, fall, peaks)
    assert spans(text, signal, threshold, fall, peaks) == expected


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (-np.inf, [(b" un", False), (b"stabl", True), (b" and", False), (b"vap", True)]),
        (1.3, [(b" un", False), (b"stable", True), (b" and", False), (b"vap", True)]),
    ],
)
def test_monotonic_and_combined_constraint(threshold: float, expected: list[twin.Form]) -> None:
    assert [(VECTOR[start:end], inside) for start, end, inside in spans(VECTOR, SIGNAL, threshold)] == expected


def test_first_byte_is_a_peak_even_below_the_threshold() -> None:
    assert spans(b"abab", [0.1, 5, 0.2, 0.1], 1.0) == [(1, 4, True)]


def test_spans_of_a_sentence_are_drawn_byte_by_byte() -> None:
    """Figure 1: the word "unstable" under the three constraints, as a table and as a figure that never changes."""
    values = np.array(SIGNAL, np.float32)
    sentence = byte_signals(VECTOR, (values, values[::-1].copy()), spaces(VECTOR), "surprisal", 1.3)
    parts = {name: [VECTOR[start:end] for start, end in found] for name, found in sentence.spans.items()}
    assert parts["global"] == [b"le"]
    assert parts["monotonic"] == [b" un", b"stabl", b" and", b"vap"]
    assert parts["combined"] == [b" un", b"stable", b" and", b"vap"]
    frame = byte_table([sentence])
    assert frame["byte"].to_list() == list(VECTOR)
    assert frame.filter("starts_pretoken")["position"].to_list() == spaces(VECTOR)[:-1].tolist()
    assert frame["combined"].to_list() == [1] * 3 + [2] * 6 + [3] * 4 + [None] * 2 + [4] * 3 + [None]
    assert svg(draw(sentence, width=COLUMN)) == svg(draw(sentence, width=COLUMN))


def test_a_space_of_its_own_is_left_alone() -> None:
    """A digit is a pre-token of its own, so the space before it is not part of its word."""
    assert spans(b"a 12", [1, 3, 4, 2], -np.inf) == [(2, 4, False)]


def test_misfitting_arrays_are_rejected() -> None:
    with pytest.raises(ValueError, match="cover the text"):
        kernel.find_spans(b"ab", np.zeros(1, np.float32), np.array([0, 2]), 0.0, 0.0)


@settings(deadline=None)
@given(
    st.lists(
        arrays.arrays(
            np.float32, st.integers(0, 9), elements=st.floats(width=32, allow_nan=False, allow_infinity=False)
        )
    ),
    st.sampled_from([0, 12.5, 30, 50, 99, 100]),
    st.integers(1, 3),
)
def test_percentile_equals_sorting(parts: list[NDArray[np.float32]], percent: float, threads: int) -> None:
    values = np.sort(np.concatenate([*parts, np.empty(0, np.float32)])).astype(np.float64)
    found = bytespan.percentile([lambda part=part: iter([part]) for part in parts], percent, threads)
    if not len(values):
        assert found == -np.inf
        return
    place = percent / 100 * (len(values) - 1)
    lower, upper = values[int(place)], values[min(int(place) + 1, len(values) - 1)]
    assert found == lower + (upper - lower) * (place - int(place))


def test_percentile_of_many_values() -> None:
    values = np.random.default_rng(0).exponential(2, 100_000).astype(np.float32)
    parts = np.array_split(values, 7)
    assert bytespan.percentile([lambda: parts[:3], lambda: parts[3:]], 30) == pytest.approx(
        np.percentile(values.astype(np.float64), 30), rel=1e-12
    )


def write(path: Path, documents: Documents, first: int = 0, step: int = 1, languages: list[str] | None = None) -> Path:
    numbers = [first + step * row for row in range(len(documents))]
    signals = pl.Series([signal for _, signal in documents], dtype=pl.List(pl.Float32))
    frame = {"document": numbers, "text": [text for text, _ in documents], "surprisal": signals, "entropy": signals}
    written = pl.DataFrame(frame, schema_overrides={"document": pl.Int64, "text": pl.Binary})
    if languages is not None:
        written = written.with_columns(pl.Series("language", languages, pl.String))
    written.write_parquet(path, row_group_size=2)
    return path


def made(path: Path, size: int, threads: int = 1, **options: object) -> list[twin.Form]:
    read = scores.read_scores([path], "spaces")
    built = bytespan.build(read, size, bytespan.ByteSpanOptions(**options), threads=threads)
    assert built.continuation is not None
    return list(zip(built.tokens, built.continuation.tolist(), strict=True))


@settings(deadline=None)
@given(st.lists(scored(), max_size=6), st.sampled_from(["combined", "monotonic", "global"]), st.integers(1, 3))
def test_build_equals_twin(
    tmp_path_factory: pytest.TempPathFactory, documents: Documents, constraint: str, threads: int
) -> None:
    path = write(tmp_path_factory.mktemp("scores") / "0.parquet", documents)
    values = [np.array(signal, np.float32) for _, signal in documents]
    threshold = -np.inf if constraint == "monotonic" else bytespan.percentile([lambda: values], 30)
    expected = twin.build(documents, lambda text: spaces(text).tolist(), 775, threshold, peaks=constraint != "global")
    assert made(path, 775, threads, constraint=constraint) == expected


@settings(deadline=None)
@given(st.lists(scored(), max_size=6), st.integers(768, 776), st.integers(1, 3), st.integers(1, 7))
def test_incremental_equals_twin(
    tmp_path_factory: pytest.TempPathFactory, documents: Documents, size: int, least: int, step: int
) -> None:
    path = write(tmp_path_factory.mktemp("scores") / "0.parquet", documents)
    options = {"constraint": "global", "learning": "incremental", "min_span_count": least, "activations": step}
    expected = twin.incremental(documents, lambda text: spaces(text).tolist(), size, least, step)
    assert made(path, size, **options) == expected


@settings(deadline=None, max_examples=50)
@given(st.lists(scored(), max_size=6), st.sampled_from([0.0, 0.99, 0.995, 1.0]), st.integers(0, 2))
def test_seeding_equals_twin(
    tmp_path_factory: pytest.TempPathFactory, documents: Documents, share: float, least: int
) -> None:
    path = write(tmp_path_factory.mktemp("scores") / "0.parquet", documents)
    options = {"constraint": "monotonic", "learning": "seeding", "seeding_share": share, "min_pair_count": least}
    counts = count_pretokens([text for text, _ in documents], "spaces")
    seeds = twin.build(documents, lambda text: spaces(text).tolist(), max(768, int(share * 780)), -np.inf)
    found = made(path, 780, **options)
    assert found == twin.bpe(list(counts.items()), seeds, 780, least)
    assert len(set(found)) == len(found)
    if share == 0:
        vocabulary = bpe_wp.build(counts, 780, bpe_wp.BpeWpOptions(min_pair_count=least))
        assert found == list(zip(vocabulary.tokens, vocabulary.continuation.tolist(), strict=True))
    if share == 1:
        assert found[: len(seeds)] == made(path, 780, constraint="monotonic")


def test_global_constraint_leaves_the_unpredictable_byte_out() -> None:
    found = kernel.find_spans(VECTOR, np.array(SIGNAL, np.float32), spaces(VECTOR), 4.5, 0.0, False)
    assert [VECTOR[start:end] for start, end, _ in found.tolist()] == [b"table", b"nd", b"ap."]


def test_incremental_absorbs_the_space_of_a_word(tmp_path: Path) -> None:
    """The words' letters become active from the last to the first; the space never needs to be."""
    path = write(tmp_path / "0.parquet", [(b" the", [9, 3, 2, 1])] * 3)
    options = {"constraint": "global", "learning": "incremental", "min_span_count": 3, "activations": 3}
    assert made(path, 769, **options)[768:] == [(b"he", True)]
    assert made(path, 770, **options)[768:] == [(b" the", False)]


def test_languages_in_turn(tmp_path: Path) -> None:
    """The second language's spans are rarer; one that both have is counted once and its turn goes to the next."""
    documents = [(b" aa bb", [9, 2, 1, 9, 2, 1])] * 4 + [(b" aa cc dd", [9, 2, 1, 9, 2, 1, 9, 2, 1])]
    path = write(tmp_path / "0.parquet", documents, languages=["x"] * 4 + ["y"])
    together = made(path, 770, constraint="monotonic")
    assert [text for text, _ in together[768:]] == [b" aa", b" bb"]
    balanced = made(path, 771, constraint="monotonic", balance_languages=True)
    assert [text for text, _ in balanced[768:]] == [b" aa", b" cc", b" bb"]
    assert [item.language for item in scores.read_scores([path], "spaces").documents("entropy")] == [*"xxxxy"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"learning": "incremental"}, "set constraint to global"),
        ({"learning": "incremental", "constraint": "global", "balance_languages": True}, "cannot balance languages"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        bytespan.ByteSpanOptions(**options)


def test_base_vocabulary_has_each_byte_three_times() -> None:
    forms = bytespan.ALPHABET
    assert len(set(forms)) == len(forms) == 768
    assert forms[65], forms[256 + 65] == ((b"A", False), (b"A", True))
    assert forms[512 + 65] == (b" A", False)


def test_shards_do_not_show(tmp_path: Path) -> None:
    words = [b" predictable spans of bytes", b" stable bytes, stable spans", b"", b" in a language model"] * 50
    noise = np.random.default_rng(1)
    documents = [(text, noise.exponential(2, len(text)).astype(np.float32).tolist()) for text in words]
    whole = scores.read_scores([write(tmp_path / "whole.parquet", documents)], "spaces")
    shards = [write(tmp_path / f"{part}.parquet", documents[part::3], part, 3) for part in (2, 0, 1)]
    parts = scores.read_scores(shards, "spaces")
    assert [item.document for item in parts.documents("entropy")] == list(range(200))
    options = bytespan.ByteSpanOptions(signal="entropy")
    one, other = (bytespan.build(source, 850, options, threads=number) for source, number in ((whole, 1), (parts, 3)))
    assert one.tokens == other.tokens
    assert len(one) == 850
    assert np.array_equal(one.continuation, other.continuation)


def test_too_little_text_gives_a_smaller_vocabulary(tmp_path: Path) -> None:
    path = write(tmp_path / "0.parquet", [(VECTOR, SIGNAL)])
    options = bytespan.ByteSpanOptions(constraint="monotonic")
    built = bytespan.build(scores.read_scores([path], "spaces"), 1000, options)
    assert built.tokens[768:] == (b" and", b" un", b"stabl", b"vap")
    with pytest.raises(TokbenchError, match="ask for 768 or more"):
        bytespan.build(scores.read_scores([path], "spaces"), 767, options)


def read_all(*paths: Path) -> None:
    for _ in scores.read_scores(paths, "spaces").documents("surprisal"):
        pass


def read_in_parts(*paths: Path) -> None:
    bytespan.build(scores.read_scores(paths, "spaces"), 800, bytespan.ByteSpanOptions(), threads=2)


@pytest.mark.parametrize("read", [read_all, read_in_parts])
def test_bad_scores_are_named(read: Callable[..., None], tmp_path: Path) -> None:
    good = write(tmp_path / "good.parquet", [(b"ab", [1, 2]), (b"c", [3])])
    with pytest.raises(TokbenchError, match="no files of byte scores"):
        read()
    with pytest.raises(TokbenchError, match=r"absent\.parquet: no such file"):
        read(tmp_path / "absent.parquet")
    with pytest.raises(TokbenchError, match="document 0 occurs twice"):
        read(good, good)
    with pytest.raises(TokbenchError, match=r"short\.parquet: document 0 has 2 bytes but 1 values of surprisal"):
        read(write(tmp_path / "short.parquet", [(b"ab", [1])]))
    with pytest.raises(TokbenchError, match=r"nan\.parquet: .*not a finite number"):
        read(write(tmp_path / "nan.parquet", [(b"a", [float("nan")])]))
    with pytest.raises(TokbenchError, match="document 0 is out of order"):
        read(write(tmp_path / "order.parquet", [(b"a", [1]), (b"b", [1])], first=1, step=-1))
    with pytest.raises(TokbenchError, match=r"twice\.parquet: document 3 is out of order"):
        read(write(tmp_path / "twice.parquet", [(b"a", [1]), (b"b", [1])], first=3, step=0))
    (tmp_path / "junk.parquet").write_bytes(b"junk")
    with pytest.raises(TokbenchError, match=r"junk\.parquet: not a readable file"):
        read(tmp_path / "junk.parquet")
    pl.read_parquet(good).drop("surprisal").write_parquet(tmp_path / "column.parquet")
    with pytest.raises(TokbenchError, match="no column 'surprisal'"):
        read(tmp_path / "column.parquet")
    pl.read_parquet(good).cast({"surprisal": pl.List(pl.Float64)}).write_parquet(tmp_path / "double.parquet")
    with pytest.raises(TokbenchError, match="not lists of float32"):
        read(tmp_path / "double.parquet")


@given(st.one_of(st.binary(max_size=20), TEXTS))
def test_bpe_wp_gives_any_bytes_back(text: bytes) -> None:
    assert BPE_WP.decode(BPE_WP.encode(text)) == text
