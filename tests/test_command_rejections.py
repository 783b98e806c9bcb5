"""A mistake on the command line is told in one line that names the argument and the remedy; nothing is written."""

import json
from pathlib import Path

import pytest

from tests.conftest import SCHEMES, Tokbench
from tokbench.construction.bpe import BpeOptions, build
from tokbench.errors import TokbenchError
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer


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
        (["bpe", "--size", "255"], "--size 255: smaller than the alphabet of 'bpe', 256; ask for more"),
        (["bytespan", "--size", "767"], "--size 767: smaller than the alphabet of 'bytespan', 768; ask for more"),
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
        ("prepare", json.dumps({"source": "embeded"}), "--recipe: source: 'embeded' is not one of embedded, text"),
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
