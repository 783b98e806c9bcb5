"""Commands of bounds: those of every language, gaps to them, and certificates that another program checks."""

import json
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from tests.support.texts import counts_of, text_counts
from tokbench.commands import bounds as bound_command
from tokbench.commands import bounds as check_command
from tokbench.construction import constructions
from tokbench.errors import TokbenchError
from tokbench.io.json import read_result, write_result
from tokbench.metric.usage import usage_of
from tokbench.optimum.gap import LowerBound, gap_of
from tokbench.optimum.graph import graph_of
from tokbench.optimum.search import search
from tokbench.pretokens.files import write_languages
from tokbench.statistics.cells import INTRINSIC
from tokbench.tabulation.bounds import attained, bounds_table, gaps, read_bounds
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary
from tokbench.workflow.resources import memory_for_counts


def test_gaps_of_every_language(tmp_path: Path) -> None:
    """Counts that keep languages apart are bounded by language; a gap is tokens over the bound of the same text."""
    parts = {language: counts_of(text_counts(30, seed)) for seed, language in enumerate(("de", "en"))}
    whole = write_languages(parts, tmp_path / "counts.parquet")
    result = tmp_path / "books" / "gpt2" / "270.json"
    arguments = ["--counts", str(tmp_path / "counts.parquet"), "--size", "270", "--result", str(result)]
    CliRunner().invoke(bound_command.bound_command, arguments, catch_exceptions=False)
    bounds = read_bounds([result])
    texts = {"": whole, **parts}
    alone = {one: search(graph_of(text, 270), gap=0.001, steps=1000) for one, text in texts.items()}
    assert bounds == {("books", one, "gpt2", 270): LowerBound(found.proof.bound) for one, found in alone.items()}
    told = json.loads(result.read_text())["languages"]["de"]
    assert (told["relaxed"], told["unsettled"]) == (alone["de"].relaxation, alone["de"].search_excess)
    rows = bounds_table([result])
    assert rows.select("corpus", "language", "pretokenization", "size").rows() == [
        ("books", one, "gpt2", 270) for one in texts
    ]
    assert rows["unrounded"].to_list() == [found.rounding_excess for found in alone.values()]
    write_result(why := result.with_name("280.json"), {"bound": None, "reason": "too long", "size": 280})
    assert bounds_table([why]).select("bound", "gap", "reason").rows() == [(None, None, "too long")]
    vocabulary = constructions["bpe"].function(whole, 270, constructions["bpe"].options(), seed=0, threads=1)
    tokenizer = Tokenizer(vocabulary, "gpt2", "merge")
    rows = [("bpe", 270, "books", one, "corpus_token_count", "", 1000.0 + at, 1, None) for at, one in enumerate(texts)]
    measured = pl.DataFrame(rows, schema=INTRINSIC, orient="row")
    for at, (one, found) in enumerate(alone.items()):
        [(key, gap)] = gaps(measured, {("bpe", 270): tokenizer}, bounds, "books", one)
        assert (key, gap.value) == (("bpe", 270), (1000 + at) / found.proof.bound - 1)
    told = gaps(measured, {("bpe", 270): tokenizer}, bounds, "books")
    pairs = pl.DataFrame([("bpe", 270, "books", "", "joined_pairs", "", 400.0, 1, None)], INTRINSIC, orient="row")
    [(_, share)] = attained(pairs, told, {("bpe", 270): tokenizer}, bounds, "books")
    assert share.value == 400 / (1400 - alone[""].proof.bound)
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
    tokenizer: Any = SimpleNamespace(
        segments_documents=False, normalization=(), pretokenization="gpt2", vocabulary=SimpleNamespace(**vocabulary)
    )
    found = gap_of(100.0, 1256, tokenizer, LowerBound(90))
    assert found.value is None
    assert (found.reason or "").startswith(reason)


def test_gap_is_reported_only_for_comparable_vocabularies() -> None:
    """It is proven for so many tokens longer than a byte as a size leaves beside all bytes."""
    plain, pairs = (Tokenizer(Vocabulary((*BYTES, *more)), "none", "greedy") for more in ((), (b"ab", b"cd")))
    assert [gap_of(150.0, size, pairs, LowerBound(100)).value for size in (257, 258, 300)] == [None, 0.5, 0.5]
    assert (gap_of(150.0, 200, plain, LowerBound(100)).value, gap_of(100.0, 256, plain, LowerBound(100)).n) == (
        0.5,
        100,
    )
    foreign: Any = SimpleNamespace(library_name="another library", segments_documents=True)
    for unknown in (
        gap_of(1.0, 300, foreign, LowerBound(1)),
        gap_of(1.0, 300, plain, None),
        gap_of(0.0, 300, plain, LowerBound(0)),
    ):
        assert (unknown.value, unknown.n) == (None, 0)
        assert unknown.reason


def test_certificates_are_checked_by_another_program(tmp_path: Path) -> None:
    words = text_counts(50, 1)
    counts_of(words).write(counts := tmp_path / "counts.parquet")
    certificate = tmp_path / "certificate"
    arguments = ["--counts", str(counts), "--size", "270", "--steps", "60", "-o", str(certificate)]
    ran = CliRunner().invoke(bound_command.bound_command, arguments, catch_exceptions=False)
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
        json.loads(CliRunner().invoke(bound_command.bound_command, [*arguments, *more], catch_exceptions=False).stdout)
        for more in ([], ["--max-token-bytes", "2"])
    ]
    assert [one["longest"] for one in told] == [None, 2]
    assert told[0]["bound"] < told[1]["bound"]
    assert _checked(counts, tmp_path / "certificate")["proven"] == told[1]["bound"]


LONG = "".join(Random(0).choices("abcdefgh", k=20_000)).encode()
"""A run of letters without a blank, as text of the web has."""


def test_a_long_pretoken_is_drawn_of_both_sides(tmp_path: Path) -> None:
    """The bound is that of the text without it, and so are the tokens and the pairs that are compared with it."""
    words = text_counts(50, 1)
    counts_of(words).write(short := tmp_path / "short.parquet")
    (both := counts_of({**words, LONG: 3})).write(counts := tmp_path / "counts.parquet")
    certificate, result = tmp_path / "certificate", tmp_path / "books" / "gpt2" / "270.json"
    found = []
    for path, more in ((short, []), (counts, ["--memory", "600", "-o", str(certificate)])):
        arguments = ["--counts", str(path), "--size", "270", "--steps", "60", "--result", str(result), *more]
        ran = CliRunner().invoke(bound_command.bound_command, arguments, catch_exceptions=False)
        found.append(read_result(result, ""))
    assert "3 pre-tokens of more than 256 bytes are left out, " in ran.stderr
    (plain, long) = (dict(one) for one in found)
    left_out = long.pop("left_out")
    assert plain.pop("made_from") != long.pop("made_from")
    assert plain.pop("left_out") == {"pretokens": 0, "share": 0.0, "counts": {}}
    assert plain == long
    assert left_out == {"pretokens": 3, "share": 60_000 / both.total_bytes, "counts": {LONG.hex(): 3}}
    assert _checked(counts, certificate)["proven"] == long["bound"]
    table = bounds_table([result])
    assert table.select("left_out_pretokens", "left_out_share").row(0) == (3, left_out["share"])
    method = constructions["bpe"]
    tokenizer = Tokenizer(method.function(both, 270, method.options(), seed=0, threads=1), "gpt2", "merge")
    tokens, kept = (sum(usage_of(tokenizer, text).frequencies.tolist()) for text in (both, counts_of(words)))
    rows = [
        ("bpe", 270, "books", "", "corpus_token_count", "", float(tokens), 1, None),
        ("bpe", 270, "books", "", "joined_pairs", "", float(both.total_bytes - tokens), 1, None),
    ]
    measured, bounds = pl.DataFrame(rows, schema=INTRINSIC, orient="row"), read_bounds([result])
    told = gaps(measured, {("bpe", 270): tokenizer}, bounds, "books")
    assert told[0][1].value == kept / long["bound"] - 1
    [(_, share)] = attained(measured, told, {("bpe", 270): tokenizer}, bounds, "books")
    size = counts_of(words).total_bytes
    assert share.value == (size - kept) / (size - long["bound"])


def test_convextok_chooses_from_pretokens_that_are_not_too_long() -> None:
    method, words = constructions["convextok"], text_counts(50, 1)
    built = [
        method.function(counts_of(text), 270, method.options(), seed=0, threads=1).tokens
        for text in (words, {**words, LONG: 3})
    ]
    assert built[0] == built[1]


def test_the_request_for_memory_leaves_long_pretokens_out(tmp_path: Path) -> None:
    counts_of({**text_counts(50, 1), LONG: 1}).write(path := tmp_path / "counts.parquet")
    asked = [memory_for_counts(["bound"], str(path), 1, max_pretoken_bytes=longest) for longest in (None, 256)]
    assert asked[0] > 5000
    assert asked[1] < 1000


def _checked(counts: Path, certificate: Path) -> dict[str, int]:
    ran = CliRunner().invoke(
        check_command.check_bound_command,
        [str(certificate), "--counts", str(counts)],
        catch_exceptions=False,
        standalone_mode=False,
    )
    if ran.exception:
        raise ran.exception
    told: dict[str, int] = json.loads(ran.stdout)
    return told
