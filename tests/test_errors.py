"""A wrong file is named in one line, with the mistake and the remedy.

A mistake on the command line is a one-line error with the argument and the remedy; nothing is written.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.conftest import SCHEMES, Tokbench
from tokbench.construction.bpe import BpeOptions, build
from tokbench.errors import TokbenchError
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.files import read_word_list
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary


def replaced(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_foreign_folder(tmp_path: Path, plain: Path, tokbench: Tokbench) -> None:
    for command in (["encode", tmp_path, plain], ["decode", tmp_path, plain], ["measure", tmp_path, "--counts", plain]):
        expected = f"tokbench: {tmp_path}: no tokenizer here (tokbench.json is missing); build one"
        assert tokbench(*command).message == expected


def test_missing_folder(tmp_path: Path, plain: Path, tokbench: Tokbench) -> None:
    absent = tmp_path / "absent"
    message = tokbench("encode", absent, plain).message
    assert message.startswith(f"tokbench encode: Invalid value for 'TOKENIZER': Path '{absent}' does not exist.")
    message = tokbench("encode", tmp_path, absent).message
    assert message.startswith(f"tokbench encode: Invalid value for 'FILE': '{absent}': No such file or directory")


def test_damaged_settings(tokenizer: Path, plain: Path, tokbench: Tokbench) -> None:
    settings = tokenizer / "tokbench.json"
    whole = settings.read_text()
    settings.write_text(whole[:40])
    assert tokbench("encode", tokenizer, plain).message.startswith(f"tokbench: {settings}:4:3: not JSON (")
    settings.write_text(whole.replace('"method": "merge"', '"method": "mergee"'))
    assert "'mergee' is not a segmentation" in tokbench("encode", tokenizer, plain).message
    settings.write_text(whole.replace('"method": "merge"', '"method": "merge", "ties": 1'))
    assert tokbench("encode", tokenizer, plain).message.startswith(f"tokbench: {settings}: ")
    settings.write_text(whole.replace('"format": 2', '"format": 3'))
    message = tokbench("encode", tokenizer, plain).message
    assert message.endswith("format 3 is neither 1 nor 2; build the tokenizer again")


def test_vocabulary_that_lacks_bytes(tokenizer: Path, plain: Path, tokbench: Tokbench) -> None:
    replaced(tokenizer / "tokens.vocab", "00\n01\n", "")
    message = tokbench("encode", tokenizer, plain).message
    assert message == (
        f"tokbench: {tokenizer / 'tokens.vocab'}: vocabulary lacks 2 of the 256 bytes (first: 00); "
        "add every single byte, so that any text can be encoded"
    )


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("tokens.vocab", "ff\n", "ff\nzz\n", "tokens.vocab:257: this line is not a token in hexadecimal"),
        ("tokens.vocab", "ff\n", "ff\n6161\n6161\n", "tokens.vocab: vocabulary has the token 6161 twice; remove one"),
        ("tokens.vocab", "ff\n", "ff\n\n", "tokens.vocab: vocabulary has an empty token (id 256); remove it"),
        ("merges.tsv", "\t", " ", "merges.tsv:1: "),
    ],
)
def test_damaged_vocabulary(
    file: str, old: str, new: str, expected: str, tokenizer: Path, plain: Path, tokbench: Tokbench
) -> None:
    replaced(tokenizer / file, old, new)
    assert tokbench("encode", tokenizer, plain).message.startswith(f"tokbench: {tokenizer}/{expected}")


def test_tampered_vocabulary(tokenizer: Path, plain: Path, tokbench: Tokbench) -> None:
    (tokenizer / "tokens.vocab").open("a").write("6162636465\n")
    assert tokbench("encode", tokenizer, plain).message == (
        f"tokbench: {tokenizer}: the vocabulary or the settings have changed since they were saved; "
        "build the tokenizer again"
    )


def test_ids_that_are_none(tokenizer: Path, tmp_path: Path, plain: Path, tokbench: Tokbench) -> None:
    expected = "not a list of ids; make one with 'tokbench encode'"
    assert tokbench("decode", tokenizer, plain).message == f"tokbench: {plain}: {expected}"
    numbers = tmp_path / "ids.npy"
    np.save(numbers, np.array([0.5]))
    assert tokbench("decode", tokenizer, numbers).message == f"tokbench: {numbers}: {expected}"
    numbers.write_bytes(numbers.read_bytes()[:20])
    assert tokbench("decode", tokenizer, numbers).message == f"tokbench: {numbers}: {expected}"
    for wrong in (300, -1):
        plain.write_text(f"5 {wrong} 6")
        assert (
            tokbench("decode", tokenizer, plain).message
            == f"tokbench: {plain}: id {wrong} is not in the vocabulary (0 to 299)"
        )


def npy(header: str, data: bytes = b"", version: bytes = b"\1\0") -> bytes:
    """An array's file with any header."""
    size = len(header).to_bytes(2 if version == b"\1\0" else 4, "little")
    return b"\x93NUMPY" + version + size + header.encode() + data


touched: list[str] = []
"""File that a loaded pickle would write here."""


class Bomb:
    def __reduce__(self) -> Any:
        return touched.append, ("loaded",)


def test_arrays_that_are_no_ids(tokenizer: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    """Pickles are never loaded, and what a header says is never believed before the bytes are there."""
    head = "{'descr': '<i4', 'fortran_order': False, 'shape': (%s,), }"
    numbers = np.arange(3, dtype="<i4").tobytes()
    pickled = tmp_path / "pickled.npy"
    np.save(pickled, np.array([Bomb()], object), allow_pickle=True)
    cases = {
        "negative": npy(head % -3, numbers),
        "huge": npy(head % 10**15, numbers),
        "truncated": npy(head % 3, numbers[:-1]),
        "longer": npy(head % 2, numbers),
        "two dimensions": npy(head % "1, 3", numbers),
        "floats": npy(head.replace("i4", "f4") % 3, numbers),
        "booleans": npy(head.replace("<i4", "|b1") % 3, b"\1\0\1"),
        "structures": npy("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (3,), }", numbers),
        "subarrays": npy("{'descr': ('<i4', (3,)), 'fortran_order': False, 'shape': (1,), }", numbers),
        "nested": npy("(" * 9000, version=b"\2\0"),
        "long header": b"\x93NUMPY\2\0\xff\xff\xff\xff",
        "mixed keys": npy("{'descr': 1, 2: 3, None: 4}"),
        "version": b"\x93NUMPY\7\0",
        "pickled": pickled.read_bytes(),
    }
    for name, content in cases.items():
        file = tmp_path / f"{name}.npy"
        file.write_bytes(content)
        message = tokbench("decode", tokenizer, file).message
        assert message == f"tokbench: {file}: not a list of ids; make one with 'tokbench encode'", name
    assert not touched
    for kind in ("<i4", ">i2", "<u8", "|u1"):
        np.save(tmp_path / "right.npy", np.array([97, 98], kind))
        assert tokbench("decode", tokenizer, tmp_path / "right.npy").stdout == b"ab"
    big = tmp_path / "big.npy"
    np.save(big, np.array([2**63], np.uint64))
    message = tokbench("decode", tokenizer, big).message
    assert message == f"tokbench: {big}: id {2**63} is not in the vocabulary (0 to 299)"


def test_columns_that_are_no_counts(tmp_path: Path) -> None:
    path = tmp_path / "counts.parquet"
    for columns, told in (
        ({"pretoken": pl.Series([1, 2]), "count": [1, 2]}, "column 'pretoken' has type int64, not text"),
        ({"pretoken": [b"a"], "count": [1.0]}, "column 'count' has type double, not whole numbers"),
        ({"pretoken": [b"a"], "count": ["1"]}, "column 'count' has type large_string, not whole numbers"),
        ({"pretoken": [b"a"], "count": pl.Series([2**63], dtype=pl.UInt64)}, ""),
        ({"pretoken": [b"a", None], "count": [1, 2]}, "a pre-token or a count is missing, or a count is negative"),
        ({"pretoken": [b"a", b"b"], "count": [1, None]}, "a pre-token or a count is missing, or a count is negative"),
        ({"pretoken": [b"a"], "count": [-1]}, "a pre-token or a count is missing, or a count is negative"),
    ):
        pl.DataFrame(columns).write_parquet(path)
        with pytest.raises(TokbenchError, match=rf"^{path}: not a readable file of pre-token counts \(.*{told}.*\)"):
            PretokenCounts.read(path)
    lines = tmp_path / "counts.tsv"
    for wrong in (str(2**63), "9" * 5000, "1e3", "1_000", "+5", " 5", "05", "٥"):
        lines.write_text(f"6161\t{wrong}\n")
        with pytest.raises(TokbenchError, match=rf"^{lines}:1: expected 'hex<TAB>count', found"):
            PretokenCounts.read(lines)
    words, numbers = tmp_path / "words", tmp_path / "numbers"
    words.write_text("a")
    for wrong in (str(2**63), "9" * 5000, "1e3", "1_000", "+5", "05", "٥"):
        numbers.write_text(wrong)
        with pytest.raises(TokbenchError, match=rf"^{numbers}:1: .* is not a count"):
            read_word_list(words, numbers)


@pytest.mark.parametrize("wrong", ["1_0.5", "+5", " 5", "nan", "inf", "Infinity", "1e999", "٥", ""])
def test_scores_are_plain_numbers(wrong: str, tmp_path: Path) -> None:
    """Minus infinity is the one that is not finite: it bars a token."""
    Vocabulary(BYTES, scores=np.array([-np.inf, -0.0, -1e-300, *range(253)])).write(tmp_path)
    scores = Vocabulary.read(tmp_path).scores
    assert scores is not None
    assert scores[:3].tolist() == [-np.inf, -0.0, -1e-300]
    lines = (tmp_path / "scores.txt").read_text().splitlines()
    (tmp_path / "scores.txt").write_text("\n".join([*lines[:4], wrong, *lines[5:]]))
    with pytest.raises(TokbenchError, match=r"scores.txt: not a readable|scores.txt:5: invalid line"):
        Vocabulary.read(tmp_path)


def test_counts(tmp_path: Path, plain: Path, counts: PretokenCounts, tokenizer: Path, tokbench: Tokbench) -> None:
    def build_from(path: Path, *more: Any) -> str:
        return tokbench("build", "bpe", "--size", 300, "--counts", path, "-o", tmp_path / "built", *more).message

    absent = tmp_path / "absent.parquet"
    assert build_from(absent) == f"tokbench: {absent}: no such file of pre-token counts; make one with 'tokbench count'"
    lines = tmp_path / "counts.tsv"
    for bad in ("6161 3", "zz\t3", "6161\tmany", "6161\t-1"):
        lines.write_text(f"6162\t2\n{bad}\n")
        assert build_from(lines) == f"tokbench: {lines}:2: expected 'hex<TAB>count', found {bad!r}"
    corrupt = tmp_path / "corrupt.parquet"
    corrupt.write_bytes(b"PAR1 nothing else")
    assert build_from(corrupt).startswith(f"tokbench: {corrupt}: not a readable file of pre-token counts (")
    foreign = tmp_path / "foreign.parquet"
    pl.DataFrame({"word": ["a"]}).write_parquet(foreign)
    assert build_from(foreign).startswith(f"tokbench: {foreign}: not a readable file of pre-token counts (")
    other = tmp_path / "other.parquet"
    counts.write(other)
    assert build_from(other, "--scheme", "none").startswith(
        f"tokbench: --pretokenization none: {other} was counted with 'gpt2'"
    )
    Tokenizer(Vocabulary(BYTES), "space", "greedy").save(tokenizer)
    assert tokbench("measure", tokenizer, "--counts", other).message.startswith(
        f"tokbench: {other}: counted with 'gpt2', but {tokenizer} uses 'space'; count with --pretokenization space"
    )
    empty = tmp_path / "empty.tsv"
    empty.touch()
    outcome = tokbench("build", "bpe", "--size", 300, "--counts", empty, "--scheme", "none", "-o", tmp_path / "built")
    assert outcome.message == "tokbench: the counts contain no pre-token; count a text that is not empty"
    assert not (tmp_path / "built").exists()


def test_merging_counts_of_two_schemes(tmp_path: Path, tokbench: Tokbench) -> None:
    for scheme in ("gpt2", "none"):
        PretokenCounts.from_pairs([(b"a", 1)], scheme).write(tmp_path / f"{scheme}.parquet")
    parts = [tmp_path / "gpt2.parquet", tmp_path / "none.parquet"]
    message = tokbench("merge_counts", "-o", tmp_path / "all.parquet", *parts).message
    assert "gpt2" in message
    assert "none" in message


def test_a_folder_copied_in_part(tokenizer: Path, tmp_path: Path, plain: Path, tokbench: Tokbench) -> None:
    part = tmp_path / "part"
    part.mkdir()
    shutil.copy(tokenizer / "tokbench.json", part)
    assert tokbench("encode", part, plain).message.startswith(f"tokbench: {part / 'tokens.vocab'}: not a readable")
    shutil.copy(tokenizer / "tokens.vocab", part)
    assert "the vocabulary or the settings have changed" in tokbench("encode", part, plain).message


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["bpee"], "'bpee' is not a construction ("),
        (
            ["bpe", "--set", "max_token_byte=3"],
            "--set (bpe): max_token_byte: unknown key. Did you mean 'max_token_bytes'?",
        ),
        (
            ["bpe", "--set", "max_token_bytes=long"],
            "--set (bpe): max_token_bytes: must be a whole number (found 'long')",
        ),
        (["bpe", "--set", "max_token_bytes"], "--set max_token_bytes: expected option=value"),
        (["bpe", "--set", "max_token_bytes=["], "--set max_token_bytes:1:2: not YAML ("),
        (["bpe", "--segmentation", "gready"], "'gready' is not a segmentation ("),
        (
            ["bpe", "--segmentation", "{method: shortest_path, tie: x}"],
            "--segmentation (shortest_path): tie: unknown key.",
        ),
        (
            ["bpe", "--segmentation", "[merge]"],
            "--segmentation [merge]: expected a method's name, or {method: name, option: value}",
        ),
        (["bpe", "--segmentation", "likelihood"], "segmentation 'likelihood' needs scores, which this vocabulary"),
        (["bpe", "--size", "255"], "--size 255: smaller than the alphabet of 'bpe' (256); use a larger size"),
        (["bytespan", "--size", "767"], "--size 767: smaller than the alphabet of 'bytespan' (768); use a larger size"),
        (["bytespan", "--size", "800"], "'bytespan' reads byte scores; name them with --scores"),
        (["bytespan", "--size", "800", "--scores", "absent"], "absent: no such file of byte scores; make it with"),
        (["pathpiece", "--initial", "absent"], "absent/tokens.vocab: not a readable vocabulary ("),
    ],
)
def test_building(
    arguments: list[str], expected: str, counts: PretokenCounts, tmp_path: Path, tokbench: Tokbench
) -> None:
    counts.write(tmp_path / "counts.parquet")
    size = [] if "--size" in arguments else ["--size", "300"]
    counted = [] if "--scores" in expected else ["--counts", tmp_path / "counts.parquet"]
    outcome = tokbench("build", *arguments, *size, *counted, "-o", tmp_path / "built")
    assert outcome.message.startswith(f"tokbench: {expected}")
    assert not (tmp_path / "built").exists()


def test_building_without_counts(tmp_path: Path, tokbench: Tokbench) -> None:
    message = tokbench("build", "bpe", "--size", 300, "-o", tmp_path / "built").message
    assert message == "tokbench: 'bpe' reads pre-token counts; name them with --counts"


def test_counting(tmp_path: Path, plain: Path, tokbench: Tokbench) -> None:
    output = tmp_path / "counts.parquet"
    absent = tmp_path / "absent.txt"
    assert tokbench("count", "--scheme", "gpt2", "-o", output, absent).message == f"tokbench: {absent}: no such file"
    message = tokbench("count", "--scheme", "gtp2", "-o", output, plain).message
    assert message == f"tokbench: 'gtp2' is not a pre-tokenization ({SCHEMES}). Did you mean 'gpt2'?"
    assert not output.exists()


@pytest.mark.parametrize(
    ("command", "recipe", "expected"),
    [
        ("fetch", "{", "--recipe:1:2: not YAML ("),
        (
            "fetch",
            json.dumps({"type": "hub", "dataset": "a/b", "revision": "main"}),
            "--recipe: revision: 'main' is not",
        ),
        ("prepare", "[1]", "--recipe: expected a mapping, {key: value}, found '[1]'"),
        ("prepare", json.dumps({"source": "embeded"}), "--recipe: source: 'embeded' is not one of embedded, arrow"),
    ],
)
def test_recipes(command: str, recipe: str, expected: str, tmp_path: Path, tokbench: Tokbench) -> None:
    assert tokbench(command, "--recipe", recipe, "-o", tmp_path / "x").message.startswith(f"tokbench: {expected}")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["biuld"], "tokbench: 'biuld' is not a command. Did you mean 'build'? See 'tokbench --help'."),
        (["count"], "tokbench count: Missing argument 'TEXTS...'. See 'tokbench count --help'."),
        (["build", "bpe", "--size", "many", "-o", "x"], "tokbench build: Invalid value for '--size': 'many' is not"),
        (["encode", "--cuont", ".", "x"], "tokbench encode: No such option '--cuont'."),
        (
            ["compare", "a\nb", "c"],
            r"tokbench: a\nb: no such folder or file of a tokenizer; name one, or an experiment",
        ),
        (["check", ".", "--documents=a\nb"], r"tokbench: a\nb: no such file"),
    ],
)
def test_use_of_the_command_line(arguments: list[str], expected: str, tokbench: Tokbench) -> None:
    assert tokbench(*arguments).message.startswith(expected)


def test_an_output_that_cannot_be_written(tokenizer: Path, plain: Path, tokbench: Tokbench) -> None:
    message = tokbench("encode", tokenizer, plain, "-o", plain / "ids").message
    assert message.startswith(f"tokbench: {plain}")


def test_a_vocabulary_of_another_kind(counts: PretokenCounts) -> None:
    vocabulary = build(counts, 300, BpeOptions())
    with pytest.raises(
        TokbenchError, match="segmentation 'likelihood' needs scores, which this vocabulary does not have"
    ):
        Tokenizer(vocabulary, "gpt2", "likelihood")


@pytest.mark.parametrize("threads", ["0", "00"])
def test_no_threads_for_tables(threads: str, monkeypatch: pytest.MonkeyPatch, tokbench: Tokbench) -> None:
    """Polars would end the process with a traceback."""
    monkeypatch.setenv("POLARS_MAX_THREADS", threads)
    line = f"tokbench: POLARS_MAX_THREADS: must be at least 1 (found {threads}); change it, or unset it"
    assert tokbench("methods").message == line
