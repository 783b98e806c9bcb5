"""SaGe: embeddings, ablation losses, schedule, lines, the descent; agreement with the package ``sage-tokenizer``."""

import json
import os
import re
import subprocess
import tracemalloc
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from pydoc_data.topics import topics
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tokbench.candidates.running_text import Documents, read_documents
from tokbench.construction import bpe, ngram, sage
from tokbench.construction.sage import SageOptions
from tokbench.errors import TokbenchError
from tokbench.kernels import sage as kernel
from tokbench.kernels.sage import UNITS
from tokbench.kernels.skipgram import alias_table, train
from tokbench.kernels.trie import Trie
from tokbench.pretokens.count import count_pretokens
from tokbench.reference import sage as skipgram_twin
from tokbench.reference import sage as twin
from tokbench.vocabulary import BYTES, Vocabulary, read_tokens, write_tokens

LINES = st.lists(st.text("ab\n", max_size=24).map(str.encode), min_size=1, max_size=6).filter(any)
TOKENS = st.lists(st.text("ab", min_size=2, max_size=6).map(str.encode), max_size=14, unique=True)
LONG_LINES = st.lists(
    st.tuples(st.sampled_from([b"a", b"ab", b"aab"]), st.integers(1, 150), st.sampled_from([b"", b"b", b"abb"])).map(
        lambda parts: (parts[0] * parts[1])[: parts[1]] + parts[2]
    ),
    min_size=1,
    max_size=2,
)
"""Other ways through them are long before they meet the line's own."""
QUICK = {"dimensions": 8, "epochs": 1, "negatives": 3}
PUBLISHED = [262144, 229376, 196608, 163840, 131072, 98304, 65536, 57344, 49152, 40960, 32768, 16384]


def laid(lines: Iterable[bytes]) -> sage.Lines:
    rows = list(lines)
    return sage.Lines(np.frombuffer(b"".join(rows), np.uint8), np.cumsum([0, *map(len, rows)]))


def some_embeddings(tokens: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(0, 1, (tokens, 8)).astype(np.float32)


def kernel_losses(
    lines: list[bytes], vocabulary: Vocabulary, embeddings: NDArray[np.float32]
) -> tuple[dict[bytes, float], dict[bytes, int]]:
    """Losses in nats and occurrences, of tokens that occur."""
    data, offsets = vocabulary.flat()
    rows = laid(lines)
    text = sage.segment(rows, Trie(data, offsets), 1)
    losses, occurrences = sage.ablate(rows, text, np.diff(offsets).astype(np.int32), embeddings, 1)
    seen = np.flatnonzero(occurrences).tolist()
    named = {vocabulary.tokens[index]: losses[index] / kernel.UNITS for index in seen if index > 255}
    return named, {vocabulary.tokens[index]: int(occurrences[index]) for index in seen}


@settings(max_examples=50)
@given(st.one_of(LINES, LONG_LINES), TOKENS, st.integers(0, 99))
def test_losses_equal_twin(lines: list[bytes], extra: list[bytes], seed: int) -> None:
    vocabulary = Vocabulary(BYTES + tuple(extra))
    embeddings = some_embeddings(len(vocabulary), seed)
    found, occurrences = kernel_losses(lines, vocabulary, embeddings)
    counts: dict[twin.Triple, int] = {}
    for line in lines:
        for triple, n in twin.triples(line, set(vocabulary.tokens)).items():
            counts[triple] = counts.get(triple, 0) + n
    named = dict(zip(vocabulary.tokens, embeddings.tolist(), strict=True))
    assert found == pytest.approx(twin.losses(counts, named), rel=1e-5, abs=2e-4)
    base = [token for line in lines for token in twin.segment(line, set(vocabulary.tokens))]
    assert occurrences == {token: base.count(token) for token in set(base)}


VECTOR = Vocabulary((*BYTES, b"ab", b"abc", b"bc", b"cd", b"de", b"bcd"))


def test_published_vector() -> None:
    """Version 2.0's example: abcde is abc de; without abc it is ab cd e, without de abc d e."""
    found = twin.triples(b"abcde", set(VECTOR.tokens))
    for gone, centre in ((b"abc", (b"ab", b"cd", b"e")), (b"de", (b"abc", b"d", b"e"))):
        expected = {(gone, one, other): 1 for one in centre for other in centre if one != other}
        expected |= {(gone, b"abc", b"de"): -1, (gone, b"de", b"abc"): -1}
        assert {triple: n for triple, n in found.items() if triple[0] == gone and n} == expected
    embeddings = some_embeddings(len(VECTOR))
    named = dict(zip(VECTOR.tokens, embeddings.tolist(), strict=True))
    assert kernel_losses([b"abcde"], VECTOR, embeddings)[0] == pytest.approx(twin.losses(found, named), abs=1e-5)


@pytest.mark.parametrize("scale", [0.0, 3.0, 30.0])
def test_losses_of_any_size(scale: float) -> None:
    """Products inside and outside the range that is looked up."""
    embeddings = some_embeddings(len(VECTOR)) * np.float32(scale)
    named = dict(zip(VECTOR.tokens, embeddings.tolist(), strict=True))
    expected = twin.losses(twin.triples(b"abcdeabcd", set(VECTOR.tokens)), named)
    assert kernel_losses([b"abcdeabcd"], VECTOR, embeddings)[0] == pytest.approx(expected, rel=1e-5, abs=1e-5)


# Embeddings


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=40).filter(any))
def test_alias_table_reproduces_the_weights(weights: list[int]) -> None:
    thresholds, aliases = alias_table(np.array(weights, np.float64))
    share = np.zeros(len(weights))
    for place, (threshold, alias) in enumerate(zip(thresholds.tolist(), aliases.tolist(), strict=True)):
        share[place] += threshold / (2**32 - 1)
        share[alias] += 1 - threshold / (2**32 - 1)
    assert share / len(weights) == pytest.approx(np.array(weights) / sum(weights), abs=1e-6)


@settings(max_examples=25)
@given(st.lists(st.lists(st.integers(0, 9), max_size=12), min_size=1, max_size=4), st.integers(0, 2**64 - 1))
def test_embeddings_equal_twin(sentences: list[list[int]], seed: int) -> None:
    options = {"dimensions": 10, "negatives": 4, "window": 3, "epochs": 2, "sample": 0.05, "rate": 0.4, "seed": seed}
    ids = np.array([token for sentence in sentences for token in sentence], np.int32)
    found = train(ids, np.cumsum([0, *map(len, sentences)]), 12, **options)
    assert found.shape == (12, 64)
    assert not found[:, 10:].any()
    if len(ids):
        expected = skipgram_twin.train(sentences, 12, alias_table, **options)
        assert found[:, :10] == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("dimensions", [10, 70])
def test_width_of_vectors_does_not_show(dimensions: int) -> None:
    """Bit for bit, with products on both sides of where the sigmoid's table ends."""
    ids = (np.arange(4000) // 40 % 61).astype(np.int32)
    options = {"dimensions": dimensions, "negatives": 6, "epochs": 3, "sample": 0, "rate": 0.5, "seed": 5}
    plain, *wider = (train(ids, np.arange(0, 4001, 20), 61, width=width, **options) for width in (4, 8, 16))
    assert np.linalg.norm(plain, axis=1).mean() > 2
    assert all(found.tobytes() == plain.tobytes() for found in wider)


def test_neighbours_come_to_lie_together() -> None:
    """Two worlds of tokens that never meet: inside a world embeddings agree."""
    draws = np.random.default_rng(1).integers(0, 20, (400, 30)) + 20 * (np.arange(400) % 2)[:, None]
    found = train(
        draws.ravel().astype(np.int32), np.arange(401) * 30, 40, dimensions=16, negatives=5, epochs=10, sample=0
    )
    unit = found / np.linalg.norm(found, axis=1, keepdims=True)
    alike = unit @ unit.T
    assert alike[:20, :20].mean() > alike[:20, 20:].mean() + 0.5


# Lines and sizes


def test_schedule_is_the_published_one() -> None:
    assert list(sage.schedule(PUBLISHED[0], 16384)) == PUBLISHED[1:]
    assert list(sage.schedule(2048, 1000)) == [1792, 1536, 1280, 1024, 1000]


@given(st.integers(0, 600_000), st.integers(256, 300_000))
def test_schedule_descends_to_the_size(start: int, size: int) -> None:
    sizes = [start, *sage.schedule(start, size)]
    assert sizes[-1] == min(start, size)
    assert all(later < earlier for earlier, later in pairwise(sizes))


def write(path: Path, rows: list[tuple[int, bytes]]) -> Path:
    schema = {"document": pl.Int64, "text": pl.Binary}
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(path)
    return path


def test_lines_do_not_depend_on_shards(tmp_path: Path) -> None:
    texts = [b"one\ntwo\r\n\nthree", b"", b"\xff\xfe\nfour\n"]
    rows = list(enumerate(texts))
    whole = read_documents([write(tmp_path / "0.parquet", rows)], "none")
    parts = [write(tmp_path / "a.parquet", rows[::2]), write(tmp_path / "b.parquet", rows[1::2])]
    apart = read_documents(parts[::-1], "none")
    assert list(whole.texts()) == list(apart.texts()) == texts
    one, other = sage.choose_lines(whole, 99, 5), sage.choose_lines(apart, 99, 5)
    assert one.data.tobytes() == other.data.tobytes()
    ends = one.offsets.tolist()
    lines = [one.data.tobytes()[start:end] for start, end in pairwise(ends)]
    assert sorted(lines) == sorted([b"one\n", b"two\r\n", b"\n", b"three", b"\xff\xfe\n", b"four\n"])
    assert lines[:3] == [sage.choose_lines(whole, 3, 5).data.tobytes()[a:b] for a, b in pairwise(ends[:4])]


@given(st.lists(st.text("a\n", max_size=12).map(str.encode), max_size=30), st.integers(1, 9), st.integers(0, 9))
def test_lines_are_the_least_drawn(texts: list[bytes], limit: int, seed: int) -> None:
    """One draw for each line; those of the least draws, equal ones in their order."""

    class Some(Documents):
        def texts(self) -> Iterator[bytes]:
            return iter(texts)

    lines = [line for text in texts for line in re.findall(rb"[^\n]*\n|[^\n]+", text)]
    assume(lines)
    rng = np.random.default_rng(seed)
    draws = [rng.integers(1 << 64, dtype=np.uint64) for _ in lines]
    expected = [lines[index] for index in sorted(range(len(lines)), key=draws.__getitem__)[:limit]]
    chosen = sage.choose_lines(Some((), "none"), limit, seed)
    assert [chosen.data.tobytes()[a:b] for a, b in pairwise(chosen.offsets.tolist())] == expected


def test_line_sampling_keeps_only_sampled_lines_in_memory() -> None:
    class Many(Documents):
        def texts(self) -> Iterator[bytes]:
            return (b"%d of many lines, all of them read\n" % part * 1000 for part in range(100))

    tracemalloc.start()
    chosen = sage.choose_lines(Many((), "none"), 50, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(chosen.offsets) == 51
    assert peak < 1_000_000 < sum(map(len, Many((), "none").texts()))


def test_rejections(tmp_path: Path) -> None:
    good = write(tmp_path / "0.parquet", [(0, b"a"), (1, b"")])
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1")
    pl.DataFrame({"text": [b"a"]}).write_parquet(tmp_path / "text.parquet")
    for paths, message in (
        ([good, good], "occurs twice"),
        ([broken], "not a readable file of documents"),
        ([tmp_path / "text.parquet"], "no column 'document'"),
        ([write(tmp_path / "1.parquet", [(1, b"a"), (0, b"b")])], "out of order"),
    ):
        with pytest.raises(TokbenchError, match=message):
            list(read_documents(paths, "none").texts())
    for missing, message in (([], "no files of documents"), ([tmp_path / "no.parquet"], "no such file")):
        with pytest.raises(TokbenchError, match=message):
            read_documents(missing, "none")
    with pytest.raises(TokbenchError, match="contain no text"):
        sage.choose_lines(read_documents([write(tmp_path / "2.parquet", [(0, b"")])], "none"), 9, 0)


# The whole descent


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Documents:
    path = tmp_path_factory.mktemp("documents") / "0000.parquet"
    return read_documents([write(path, [(i, text.encode()) for i, text in enumerate(topics.values())])], "gpt2")


@pytest.fixture(scope="module")
def start(documents: Documents) -> Vocabulary:
    return ngram.build(count_pretokens(documents.texts(), "gpt2"), 3000, ngram.NgramOptions())


def test_threads_do_not_show(documents: Documents, start: Vocabulary) -> None:
    options = SageOptions(**QUICK, embedding_schedule=(2048,))
    one, *others = (sage.build(documents, 900, options, seed=7, threads=n, initial=start) for n in (1, 2, 3, 7))
    assert all(other.tokens == one.tokens for other in others)
    assert len(one) == 900
    assert one.tokens[:256] == BYTES
    survivors = set(one.tokens)
    assert one.tokens == tuple(token for token in start.tokens if token in survivors)
    assert sage.build(documents, 900, options, seed=8, initial=start).tokens != one.tokens


def test_one_batch_drops_the_least_losses(documents: Documents, start: Vocabulary) -> None:
    """From start to size in one step, by hand."""
    options = SageOptions(**QUICK, schedule=(), lines=400)
    built = sage.build(documents, 700, options, seed=2, initial=start)
    data, offsets = start.flat()
    lines = sage.choose_lines(documents, 400, 2)
    text = sage.segment(lines, Trie(data, offsets), 1)
    embeddings = sage.embed(text, len(start), options, 2)
    losses, occurrences = sage.ablate(lines, text, np.diff(offsets).astype(np.int32), embeddings, 1)
    active = [index for index in range(256, len(start)) if occurrences[index]]
    stay = sorted(active, key=lambda index: (losses[index], index))[len(active) + 256 - 700 :]
    assert built.tokens == BYTES + tuple(start.tokens[index] for index in sorted(stay))


@pytest.mark.parametrize("released", [False, True])
def test_embeddings_of_the_second_batch(documents: Documents, start: Vocabulary, released: bool) -> None:
    """A token keeps its embedding; in the released code it has that of the token which had its new number before."""
    options = SageOptions(**QUICK, lines=400, schedule=(900,), rows_as_released=released)
    built = sage.build(documents, 700, options, seed=2, initial=start)
    data, offsets = start.flat()
    lines, lengths = sage.choose_lines(documents, 400, 2), np.diff(offsets).astype(np.int32)
    alive = list(range(len(start)))
    trained = sage.embed(sage.segment(lines, Trie(data, offsets), 1), len(start), options, 2)
    for size in (900, 700):
        included = np.isin(np.arange(len(start)), alive)
        text = sage.segment(lines, Trie(data, offsets, included=included), 1)
        embeddings = np.zeros_like(trained)
        for number, index in enumerate(alive):
            embeddings[index] = trained[number if released else index]
        losses, occurrences = sage.ablate(lines, text, lengths, embeddings, 1)
        active = [index for index in alive if index < 256 or occurrences[index]]
        order = sorted(active[256:], key=lambda index: (losses[index], index))
        gone = set(order[: len(active) - size])
        alive, active = ([index for index in kind if index not in gone] for kind in (alive, active))
    assert built.tokens == tuple(start.tokens[index] for index in active)


def test_tokens_that_do_not_occur_are_left_out(documents: Documents, start: Vocabulary) -> None:
    """Few lines use few tokens: fewer come back than asked for, and no token that the lines do not hold."""
    built = sage.build(documents, 1500, SageOptions(**QUICK, lines=9), seed=1, initial=start)
    text = sage.choose_lines(documents, 9, 1).data.tobytes()
    assert 256 < len(built) < 1500
    assert all(token in text for token in built.tokens[256:])


def test_small_sizes_and_long_tokens(documents: Documents, start: Vocabulary) -> None:
    options = SageOptions(**QUICK, lines=300)
    assert sage.build(documents, 256, options, initial=start).tokens == BYTES
    assert sage.build(documents, 5000, options, initial=start).tokens == start.tokens
    short = SageOptions(**QUICK, lines=300, max_token_bytes=3)
    assert max(map(len, sage.build(documents, 600, short, initial=start).tokens)) == 3
    with pytest.raises(TokbenchError, match="below 256"):
        sage.build(documents, 255, options, initial=start)


INTERPRETER = os.environ.get("TOKBENCH_SAGE", "")
PACKAGE_SIZES = (1536, 1344, 1152, 960, 768)
PACKAGE_EMBEDDING_SIZES = (1536, 1152)
LOSSES = """
import contextlib, io, os, numpy as np
from sage_tokenizer import embeddings, model, utils
from sage_tokenizer.Word2VecParams import Word2VecParams
lines = open("lines.txt", encoding="utf-8", newline="\\n").readlines()
tokenizer = model.SaGeTokenizer(utils.load_vocab("initial.vocab"))
os.makedirs("data", exist_ok=True)
with contextlib.redirect_stdout(io.StringIO()):
    rows = embeddings.train_embeddings(tokenizer, lines, 1, Word2VecParams(50, 15, 0.025, 5, 1, 1))
    losses, _, _, _ = utils.sage_per_chunk(0, tokenizer, lines, rows)
table = np.full(tokenizer.vocab_size(), np.nan)
table[list(losses)] = list(losses.values())
np.savez("losses.npz", rows=rows, losses=table, lines=len(lines))
"""
DESCENT = """
import contextlib, io, json, os, sys
from sage_tokenizer.SaGeVocabBuilder import SaGeVocabBuilder
sizes, embedding_sizes = json.loads(sys.argv[1])
os.makedirs("data", exist_ok=True)
with contextlib.redirect_stdout(io.StringIO()):
    SaGeVocabBuilder(sizes, embedding_sizes, workers_number=1).build_vocab(
        "sage", "lines.txt", "initial.vocab", partial_corpus_filepath="lines.txt")
"""

needs_package = pytest.mark.skipif(not INTERPRETER, reason="TOKBENCH_SAGE names no interpreter with sage-tokenizer 2.0")
"""The package needs other versions of numpy and scipy than ours, so it has an interpreter of its own."""


def run(program: str, folder: Path, *words: str) -> None:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"}
    subprocess.run([INTERPRETER, "-c", program, *words], cwd=folder, check=True, env=environment, capture_output=True)


@pytest.fixture(scope="module")
def texts() -> list[bytes]:
    """Documents that both read as the same lines: each ends with a line feed, and none has a carriage return."""
    chosen = [text for _, text in sorted(topics.items())[:40]]
    return [(text.replace("\r", " ").rstrip("\n") + "\n").encode() for text in chosen]


@pytest.fixture(scope="module")
def initial(texts: list[bytes]) -> Vocabulary:
    return bpe.build(count_pretokens(texts, "gpt2"), PACKAGE_SIZES[0], bpe.BpeOptions(max_token_bytes=16))


@pytest.fixture(scope="module")
def folder(texts: list[bytes], initial: Vocabulary, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The input of the package: every line of the documents, and the initial vocabulary."""
    made = tmp_path_factory.mktemp("sage")
    (made / "lines.txt").write_bytes(b"".join(texts))
    write_tokens(initial.tokens, made / "initial.vocab")
    return made


@needs_package
def test_losses_agree(texts: list[bytes], initial: Vocabulary, folder: Path) -> None:
    """Under the package's embeddings, within the error of single precision."""
    run(LOSSES, folder)
    theirs = np.load(folder / "losses.npz")
    lines = laid(b"".join(texts).splitlines(keepends=True))
    assert len(lines.offsets) - 1 == int(theirs["lines"])
    data, offsets = initial.flat()
    lengths = np.diff(offsets).astype(np.int32)
    rows = np.zeros((len(initial), 64), np.float32)
    rows[:, : theirs["rows"].shape[1]] = theirs["rows"]
    text = sage.segment(lines, Trie(data, offsets), 1)
    losses, occurrences = sage.ablate(lines, text, lengths, rows, 1)
    seen = (occurrences > 0) & (lengths > 1)
    assert np.abs(losses / UNITS - theirs["losses"])[seen].max() < 0.005
    assert seen.sum() > 500


def embeddings_of(folder: Path, vocabulary: Vocabulary) -> Iterator[NDArray[np.float32]]:
    """The package's embeddings in the order of their training, each with the rows of the initial vocabulary."""
    place = {token: index for index, token in enumerate(vocabulary.tokens)}
    results = folder / "results" / "sage"
    paths = {int(path.stem.split("_")[1]): path for path in (results / "embeddings").glob("embeddings_*.npy")}
    for size in sorted(paths, reverse=True):
        file = results / "sage_vocabs" / f"sage_vocab_{size}.vocab"
        rows = np.load(paths[size])
        table = np.zeros((len(vocabulary), 64), np.float32)
        tokens = read_tokens(file) if file.exists() else vocabulary.tokens
        table[[place[token] for token in tokens], : rows.shape[1]] = rows
        yield table


@needs_package
def test_the_descent_agrees(texts: list[bytes], initial: Vocabulary, folder: Path) -> None:
    """With the package's embeddings every token of its result is one of ours."""
    run(DESCENT, folder, json.dumps([PACKAGE_SIZES, PACKAGE_EMBEDDING_SIZES]))
    theirs = read_tokens(folder / "results" / "sage" / "sage_vocabs" / f"active_vocab_{PACKAGE_SIZES[-1]}.vocab")
    lines = laid(b"".join(texts).splitlines(keepends=True))
    options = sage.SageOptions(
        lines=len(lines.offsets),
        schedule=PACKAGE_SIZES,
        embedding_schedule=PACKAGE_EMBEDDING_SIZES,
        rows_as_released=True,
    )
    with (
        patch.object(sage, "embed", side_effect=embeddings_of(folder, initial)),
        patch.object(sage, "choose_lines", return_value=lines),
    ):
        ours = sage.build([], PACKAGE_SIZES[-1], options, initial=initial)  # type: ignore[arg-type]
    assert set(ours.tokens) == set(theirs)
