"""A file that is not what it should be is named in one line, with what is wrong and the remedy."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.conftest import Tokbench
from tokbench.pretokens import PretokenCounts


def replaced(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_foreign_folder(tmp_path: Path, plain: Path, tokbench: Tokbench) -> None:
    for verb in (["encode", tmp_path, plain], ["decode", tmp_path, plain], ["measure", tmp_path, "--counts", plain]):
        expected = f"tokbench: {tmp_path}: no tokenizer here (tokbench.json is missing); build one"
        assert tokbench(*verb).message == expected


def test_missing_folder(tmp_path: Path, plain: Path, tokbench: Tokbench) -> None:
    absent = tmp_path / "absent"
    message = tokbench("encode", absent, plain).message
    assert message.startswith(f"tokbench encode: Invalid value for 'FOLDER': Directory '{absent}' does not exist.")
    message = tokbench("encode", tmp_path, absent).message
    assert message.startswith(f"tokbench encode: Invalid value for 'FILE': '{absent}': No such file or directory")


def test_damaged_settings(tokenizer: Path, plain: Path, tokbench: Tokbench) -> None:
    settings = tokenizer / "tokbench.json"
    whole = settings.read_text()
    settings.write_text(whole[:40])
    assert tokbench("encode", tokenizer, plain).message.startswith(f"tokbench: {settings}: damaged (")
    settings.write_text(whole.replace('"method": "merge"', '"method": "mergee"'))
    assert "'mergee' is not a segmentation" in tokbench("encode", tokenizer, plain).message
    settings.write_text(whole.replace('"method": "merge"', '"method": "merge", "ties": 1'))
    assert tokbench("encode", tokenizer, plain).message.startswith(f"tokbench: {settings}: ")
    settings.write_text(whole.replace('"format": 1', '"format": 2'))
    assert tokbench("encode", tokenizer, plain).message.endswith("format 2 is not 1; build it again")


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
        ("tokens.vocab", "ff\n", "ff\nzz\n", "tokens.vocab:257: 'zz' is not a token in hexadecimal"),
        ("tokens.vocab", "ff\n", "ff\n6161\n6161\n", "tokens.vocab: vocabulary holds the token 6161 twice; remove one"),
        ("tokens.vocab", "ff\n", "ff\n\n", "tokens.vocab: vocabulary holds an empty token (id 256); remove it"),
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
        f"tokbench: {tokenizer}: the vocabulary is not the one that was saved; build the tokenizer again"
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
            tokbench("decode", tokenizer, plain).message == f"tokbench: id {wrong} is not in the vocabulary (0 to 299)"
        )


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
    assert build_from(other, "--scheme", "none").startswith(f"tokbench: --scheme none: {other} was counted with 'gpt2'")
    replaced(tokenizer / "tokbench.json", '"gpt2"', '"space"')
    assert tokbench("measure", tokenizer, "--counts", other).message.startswith(
        f"tokbench: {other}: counted with 'gpt2', but {tokenizer} cuts by 'space'; count with --scheme space"
    )
    empty = tmp_path / "empty.tsv"
    empty.touch()
    outcome = tokbench("build", "bpe", "--size", 300, "--counts", empty, "--scheme", "none", "-o", tmp_path / "built")
    assert outcome.message == "tokbench: the counts hold no pre-token; count a text that is not empty"
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
    assert "the vocabulary is not the one that was saved" in tokbench("encode", part, plain).message
