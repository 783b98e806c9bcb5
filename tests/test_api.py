"""What ``import tokbench`` offers: the same as the command line, typed, and nothing before it is used."""

import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tokbench
from tests.conftest import Tokbench as Command
from tests.conftest import tool_of
from tokbench import PretokenCounts, Tokenizer
from tokbench.candidates.running_text import Documents
from tokbench.errors import TokbenchError

TEXTS = ["the cat sat on the mat and the hat " * 20, "a cat, a hat; a mat. " * 30, b"\xff\x00 the end \xc3\xa9"]
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def counts() -> PretokenCounts:
    return tokbench.count(TEXTS)


def test_importing_imports_nothing_until_it_is_used() -> None:
    said = subprocess.run(
        [sys.executable, "-c", "import sys, tokbench; print([m for m in ('numpy', 'pydantic') if m in sys.modules])"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "[]\n"


def test_every_name_is_there_and_no_other() -> None:
    for name in tokbench.__all__:
        assert getattr(tokbench, name).__doc__
        assert name in dir(tokbench)
    with pytest.raises(AttributeError, match="no attribute 'tokenise'"):
        _ = tokbench.tokenise  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", ["bpe", "unigram", "wordpiece", "pathpiece"])
def test_builds_what_the_command_line_builds(
    method: str, counts: PretokenCounts, tmp_path: Path, tokbench: Command
) -> None:
    from tokbench import build

    options = {"initial": "bpe", "initial_size": 300} if method == "pathpiece" else {}
    size = 780 if method == "wordpiece" else 280
    mine = build(method, counts, size, seed=3, name="one", **options)
    counts.write(tmp_path / "counts.parquet")
    settings = [word for key, value in options.items() for word in ("--set", f"{key}={value}")]
    where = ["--counts", tmp_path / "counts.parquet", "-o", tmp_path / "theirs", "--name", "one"]
    tokbench("build", method, "--size", size, "--seed", 3, *settings, *where)
    theirs = Tokenizer.load(tmp_path / "theirs")
    mine.save(tmp_path / "mine")
    for file in (tmp_path / "mine").iterdir():
        if file.name not in ("tokbench.json", ".tokbench.json"):
            assert file.read_bytes() == (tmp_path / "theirs" / file.name).read_bytes()
    assert (mine.segmentation, mine.options, mine.pretokenization) == (
        theirs.segmentation,
        theirs.options,
        theirs.pretokenization,
    )
    assert {**mine.origin, "hugging_face": theirs.origin["hugging_face"]} == theirs.origin


def test_another_segmentation_with_options(counts: PretokenCounts) -> None:
    made = tokbench.build(
        "bpe", counts, 280, segmentation="bpe_dropout", segmentation_options={"dropout": 0.5, "seed": 4}
    )
    assert (made.segmentation, made.options.model_dump()["dropout"]) == ("bpe_dropout", 0.5)


def test_initial_vocabulary_given(counts: PretokenCounts) -> None:
    large = tokbench.build("bpe", counts, 300)
    drawn = tokbench.build("randtrain", counts, 270, initial=large.vocabulary)
    assert set(drawn.vocabulary.tokens) < set(large.vocabulary.tokens)


def test_measure_takes_texts_or_counts(counts: PretokenCounts) -> None:
    made = tokbench.build("bpe", counts, 280)
    rows = tokbench.measure(made, TEXTS)
    assert rows.equals(tokbench.measure(made, counts))
    tokens = sum(len(made.encode(text)) for text in TEXTS)
    assert rows.filter(metric="corpus_token_count")["value"].item() == tokens
    assert rows.schema["value"] == pl.Float64
    low, high = (tokbench.measure(made, TEXTS, renyi={"orders": [order]}) for order in (0.5, 3.0))
    assert not low.equals(high)


def test_compare(counts: PretokenCounts) -> None:
    small, large = (tokbench.build("bpe", counts, size, name=f"bpe {size}") for size in (260, 300))
    held_out = ["the cat and the mat", "the cat sat on the mat", b"the hat \xff"]
    table = tokbench.compare([small, large], held_out)
    assert table.columns == ["name", "size", "tokens", "bytes_per_token", "difference", "low", "high", "documents"]
    tokens = [sum(one.count(text) for text in held_out) for one in (small, large)]
    assert table["tokens"].to_list() == tokens
    assert table["bytes_per_token"].to_list() == [50 / number for number in tokens]
    assert table["difference"].to_list() == [None, tokens[1] / tokens[0] - 1]
    assert table["low"][1] <= table["difference"][1] <= table["high"][1] < 0
    assert table["documents"].to_list() == [3, 3]
    assert tokbench.compare([small, large], held_out[0])["low"].to_list() == [None, None]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda counts: tokbench.build("bpee", counts, 300), "Did you mean 'bpe'"),
        (lambda counts: tokbench.build("bpe", counts, 300, max_token=3), "bpe: max_token: unknown key"),
        (lambda counts: tokbench.build("bpe", counts, 30), "size 30: smaller than the alphabet of 'bpe', 256"),
        (lambda counts: tokbench.build("bpe", tokbench.count([]), 300), "the counts hold no pre-token"),
        (
            lambda counts: tokbench.build("bpe", "a text", 300),
            "source: 'bpe' reads tokbench.pretokens.PretokenCounts, and this is str; make it by tokbench.count(texts)",
        ),
        (
            lambda counts: tokbench.build("bytespan", counts, 1000),
            "'bytespan' reads tokbench.candidates.scored_text.Sc",
        ),
        (lambda counts: tokbench.build("sage", counts, 300), "make it by tokbench.candidates.running_text.read_docu"),
        (
            lambda counts: tokbench.build("sage", Documents((), "gpt2"), 300),
            "initial: 'sage' starts from a vocabulary, and none is built without counts; give one",
        ),
        (
            lambda counts: tokbench.build("bpe", counts, 300, initial="ngram"),
            "initial: 'bpe' starts from no vocabulary; leave it out",
        ),
        (lambda counts: tokbench.build("pathpiece", counts, 300, initial=5), "initial 5: give a tokbench.Vocabulary"),
        (lambda counts: tokbench.build("bpe", counts, 300, segmentation=5), "'5' is not a segmentation"),
        (lambda counts: tokbench.build(5, counts, 300), "'5' is not a construction"),
        (
            lambda counts: tokbench.measure(tokbench.build("bpe", counts, 260), counts, cognition={}),
            "cognition: a metric of lexical decisions, and measure takes those of a text; leave it out",
        ),
        (lambda counts: tokbench.measure("bpe", counts), "measure: 'bpe' is no tokenizer"),
        (lambda counts: tokbench.measure(tokbench.build("bpe", counts, 260), 5), "texts 5: give a text"),
        (lambda counts: tokbench.compare(["one", "two"], "x"), "compare: 'one' is no tokenizer"),
        (lambda counts: tokbench.compare(tokbench.build("bpe", counts, 260), "x"), "two tokenizers or more"),
        (lambda counts: tokbench.count(["x", 5]), "5 is no text; give str or bytes"),
        (lambda counts: tokbench.count([None]), "None is no text; give str or bytes"),
        (lambda counts: tokbench.count("x", "gtp2"), "'gtp2' is not a pre-tokenization"),
        (
            lambda counts: tokbench.measure(tokbench.build("bpe", counts, 260), tokbench.count("x", "space")),
            "count with scheme='gpt2'",
        ),
        (lambda counts: tokbench.measure(tokbench.build("bpe", counts, 260), counts, reny={}), "Did you mean 'renyi'"),
        (lambda counts: tokbench.compare([tokbench.build("bpe", counts, 260)], "x"), "two tokenizers or more"),
        (lambda counts: tokbench.compare([tokbench.build("bpe", counts, 260)] * 2, [""]), "the texts are empty"),
    ],
)
def test_mistakes(call: object, said: str, counts: PretokenCounts) -> None:
    with pytest.raises(TokbenchError, match=re.escape(said)):
        call(counts)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("argument", "wrong"),
    [
        ("size", [True, 300.0, 300.7, "300", None, float("nan"), 2**24 + 1, 2**31, 2**63, 2**64, 0, -1]),
        ("seed", [True, 1.5, "1", -1, 2**64]),
        ("threads", [True, 1.0, "2", 0, -1, 1025, 2**40]),
    ],
)
def test_numbers_that_are_none(argument: str, wrong: list[Any], counts: PretokenCounts) -> None:
    """Neither taken for others nor left to fail somewhere within."""
    for value in wrong:
        with pytest.raises(tokbench.TokbenchError, match=rf"^{argument} \S+: must be a whole number from \d+ to \d+$"):
            tokbench.build("bpe", counts, **{"size": 300, argument: value})


@pytest.mark.parametrize("threads", [True, 1.0, "2", 0, -1, 1025, 2**40])
def test_threads_that_are_none(threads: Any, counts: PretokenCounts) -> None:
    tokenizer = tokbench.build("bpe", counts, np.int64(300), seed=2**64 - 1)
    calls = {
        "encode": lambda: tokenizer.encode(b"the cat", threads),
        "count": lambda: tokenizer.count(b"the cat", threads),
        "encode_batch": lambda: tokenizer.encode_batch([b"the cat"], threads),
        "segment": lambda: tokenizer.segment(counts, threads),
        "compare": lambda: tokbench.compare([tokenizer, tokenizer], "the cat", threads=threads),
    }
    for call in calls.values():
        with pytest.raises(tokbench.TokbenchError, match=r"^threads \S+: must be a whole number from 1 to 1024$"):
            call()


def test_example_of_the_readme_as_it_stands(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", readme, re.DOTALL) if "tokbench.compare" in block]
    assert len(code.strip().splitlines()) <= 12
    said = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    shown, told = readme.partition(code)[2].split("```")[2:4]
    shown = shown.removeprefix("\n")
    if f"Python {platform.python_version()}:" in told:
        assert said == shown
    rows = [[line.split()[1] for line in text.splitlines() if line.startswith("│")] for text in (said, shown)]
    assert rows[0] == rows[1]


def test_the_readme_names_every_method() -> None:
    named = set(re.findall(r"`(\w+)`", (ROOT / "README.md").read_text(encoding="utf-8")))
    for methods in (tokbench.constructions, tokbench.schemes, tokbench.segmentations):
        assert not set(methods) - named


def test_page_of_the_interface_is_up_to_date() -> None:
    remedy = "run python tools/make_api_docs.py"
    assert (ROOT / "docs" / "api.md").read_text(encoding="utf-8") == tool_of("make_api_docs").page(), remedy


def test_page_of_the_interface_shows_every_public_name() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    registries = {"constructions", "metrics", "resource_types", "schemes", "segmentations"}
    for name in set(tokbench.__all__) - registries:
        assert f"### `tokbench.{name}`\n" in page
