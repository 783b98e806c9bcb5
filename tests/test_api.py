"""The functions of ``import tokbench``: those of the command line, typed, and imported on first use.

Texts and ids as arguments: each type is read correctly, or rejected in one line.
"""

import ast
import copy
import doctest
import inspect
import json
import pickle
import platform
import re
import subprocess
import sys
from array import array
from collections import UserDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import tokbench
from tests.conftest import Tokbench as Command
from tokbench import PretokenCounts, Tokenizer, Vocabulary
from tokbench import count as tokbench_count
from tokbench.api.comparison import SCHEMA, Comparison
from tokbench.candidates.running_text import Documents
from tokbench.construction import InitialRecipe, constructions
from tokbench.corpus.text_files import read_files
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
    assert [name for name in dir(tokbench) if not name.startswith("__")] == tokbench.__all__
    with pytest.raises(AttributeError, match="no attribute 'tokenise'"):
        _ = tokbench.tokenise  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", ["bpe", "unigram", "wordpiece", "pathpiece"])
def test_build_equals_the_command_line(method: str, counts: PretokenCounts, tmp_path: Path, tokbench: Command) -> None:
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


def test_recipe_of_the_initial_vocabulary(counts: PretokenCounts) -> None:
    named, mapped, given = (
        tokbench.build("pathpiece", counts, 270, initial_size=300, initial=initial)
        for initial in ("bpe", {"method": "bpe"}, {"method": "bpe", "max_token_bytes": 3})
    )
    assert mapped.vocabulary.tokens == named.vocabulary.tokens
    assert mapped.origin == named.origin
    large = tokbench.build("bpe", counts, 300, max_token_bytes=3)
    start = tokbench.build("pathpiece", counts, 270, initial=large.vocabulary, initial_size=300)
    assert given.vocabulary.tokens == start.vocabulary.tokens != named.vocabulary.tokens
    recipe = given.origin["construction"]["initial"]
    assert recipe == large.origin["construction"]


def test_recipes_copy_and_read_as_a_name(counts: PretokenCounts) -> None:
    """Methods look the construction up by its name."""
    recipe = InitialRecipe("bpe", constructions["bpe"].options(max_token_bytes=3))
    for same in (copy.deepcopy(recipe), pickle.loads(pickle.dumps(recipe))):
        assert (same, same.options, same.setting) == ("bpe", recipe.options, recipe.setting)
    drawn = tokbench.build("randtrain", counts, 270, initial_size=300, initial=recipe.setting)
    assert max(map(len, drawn.vocabulary.tokens)) == 3


def test_measure_takes_texts_or_counts(counts: PretokenCounts) -> None:
    """Texts have the rows of their counts, then those of metrics of documents."""
    made = tokbench.build("bpe", counts, 280)
    rows, of_counts = tokbench.measure(made, TEXTS), tokbench.measure(made, counts)
    assert rows.head(len(of_counts)).equals(of_counts)
    assert rows["key"][len(of_counts)] == "three_digit_precision"
    tokens = sum(len(made.encode(text)) for text in TEXTS)
    assert rows.filter(metric="corpus_token_count")["value"].item() == tokens
    assert rows.schema["value"] == pl.Float64
    low, high = (tokbench.measure(made, TEXTS, renyi={"orders": [order]}) for order in (0.5, 3.0))
    assert not low.equals(high)
    assert rows.columns[0] == "key"
    assert rows["key"].is_unique().all()
    assert rows["key"].head(3).to_list() == ["corpus_token_count", "bytes_per_token", "fertility"]


def test_every_definition_has_a_key_of_its_own(counts: PretokenCounts) -> None:
    """A number is added to a key only if no rule names the definition."""
    from tokbench.metric.keys import FIRST, key_of
    from tokbench.metric.measurement import Measurement

    rows = tokbench.measure(tokbench.build("wordpiece", counts, 780), counts)
    several = rows.group_by("metric").len().filter(pl.col("len") > 1)["metric"].to_list()
    keys = [
        key_of(Measurement(row["metric"], row["definition"], None, 0), row["metric"] not in several)
        for row in rows.iter_rows(named=True)
    ]
    assert sorted(keys) == sorted(rows["key"])
    assert set(FIRST) <= set(keys)


def test_the_terminal_has_keys_and_files_have_not(
    counts: PretokenCounts, tmp_path: Path, tokbench: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokbench import build

    build("bpe", counts, 280).save(tmp_path / "bpe")
    counts.write(tmp_path / "counts.parquet")
    command = ("measure", tmp_path / "bpe", "--counts", tmp_path / "counts.parquet")
    printed = json.loads(tokbench(*command).stdout)["measurements"]
    assert "key" not in printed[0]
    monkeypatch.setattr("tokbench.commands.measures.sys.stdout.isatty", lambda: True, raising=False)
    shown = json.loads(tokbench(*command).stdout)["measurements"]
    assert [row["key"] for row in shown[:2]] == ["corpus_token_count", "bytes_per_token"]
    assert sorted(str({**row, "key": ""}) for row in shown) == sorted(str({"key": "", **row}) for row in printed)


def test_compare(counts: PretokenCounts) -> None:
    small, large = (tokbench.build("bpe", counts, size, name=f"bpe {size}") for size in (260, 300))
    held_out = ["the cat and the mat", "the cat sat on the mat", b"the hat \xff"]
    table = tokbench.compare([small, large], held_out)
    assert table.columns == [
        "language", "name", "pretokenization", "size", "tokens", "bytes_per_token", "changed",
        "difference", "low", "high", "holm", "verdict", "reason", "documents",
        "difference_best", "low_best", "high_best", "holm_best", "verdict_best", "reason_best", "premium",
    ]  # fmt: skip
    tokens = [sum(one.count(text) for text in held_out) for one in (small, large)]
    assert table["tokens"].to_list() == tokens
    assert table["bytes_per_token"].to_list() == [50 / number for number in tokens]
    assert table["difference"].to_list() == [None, tokens[1] / tokens[0] - 1]
    assert table["low"][1] <= table["difference"][1] <= table["high"][1] < 0
    assert table["documents"].to_list() == [3, 3]
    assert table["reason"].to_list() == [None, "not tested: different sizes, 260 and 278 tokens"]
    alone = tokbench.compare([small, large], held_out[0])
    assert alone["low"].to_list() == [None, None]
    same = tokbench.compare([small, small], held_out)
    assert same["name"].to_list() == ["bpe 260 (1)", "bpe 260 (2)"]
    assert same["verdict"].to_list() == [None, "not tested"]


def comparison(*rows: tuple[str, int, float | None, float | None, float | None, str | None, str | None]) -> Comparison:
    names = ("name", "tokens", "difference", "low", "high", "verdict", "reason")
    shared = {"size": 9, "pretokenization": "gpt2", "bytes_per_token": 4.0, "changed": 0, "holm": None, "documents": 8}
    return Comparison([shared | dict(zip(names, row, strict=True)) for row in rows], schema=SCHEMA)


BASELINE = ("a", 100, None, None, None, None, None)


@pytest.mark.parametrize(
    ("others", "said"),
    [
        (
            [("b", 90, -0.1, -0.2, -0.05, "better", None)],
            "b needs 10.0 % fewer tokens than a (95 % interval −20.0 % to −5.0 %; 8 documents): significantly better.",
        ),
        (
            [("b", 99, -0.01, -0.02, 0.001, "no significant difference", None)],
            "b needs 1.0 % fewer tokens than a (95 % interval −2.0 % to +0.1 %; 8 documents): no significant "
            "difference.",
        ),
        (
            [("b", 110, 0.1, 0.05, 0.2, "worse", None)],
            "b needs 10.0 % more tokens than a (95 % interval +5.0 % to +20.0 %; 8 documents): significantly worse.",
        ),
        (
            [("b", 100, 0.0, None, None, "not tested", "not tested: 1 document; a verdict needs 6")],
            "b needs the same number of tokens as a (no interval; 8 documents): "
            "not tested: 1 document; a verdict needs 6.",
        ),
        (
            [("b", 95, -0.05, -0.1, -0.01, "better", None), ("c", 90, -0.1, -0.2, -0.05, "better", None)],
            "c needs 10.0 % fewer tokens than a (95 % interval −20.0 % to −5.0 %; 8 documents): significantly better.",
        ),
    ],
)
def test_the_best_of_a_comparison_in_a_sentence(others: list[Any], said: str) -> None:
    table = comparison(BASELINE, *others)
    assert table.baseline == "a"
    assert table.best() == said
    assert repr(table) == f"{table}\ndifference: to the tokens of a\n{said}"
    assert table._repr_html_().endswith(f"<p>difference: to the tokens of a<br>{said}</p>")


def test_a_tokenizer_that_loses_text_is_not_the_best() -> None:
    table = comparison(
        BASELINE,
        ("folds", 50, -0.5, -0.6, -0.4, "not tested", "not tested: folds does not restore all of the text"),
        ("b", 95, -0.05, -0.1, -0.01, "better", None),
    )
    table = Comparison(table.with_columns(changed=pl.when(pl.col("name") == "folds").then(3).otherwise(0)))
    assert table.best().startswith("b needs 5.0 % fewer tokens than a")
    assert table.sentence("folds").endswith(": not tested: folds does not restore all of the text.")
    with pytest.raises(TokbenchError, match="'d' has no difference in this table"):
        table.sentence("d")


def test_parts_of_a_comparison_have_no_sentence() -> None:
    table = comparison(BASELINE, ("b", 90, -0.1, None, None, "better", None))
    for part in (table[:1], table.drop("low")):
        assert isinstance(part, pl.DataFrame)
        assert repr(part) == str(part)
    with pytest.raises(TokbenchError, match="the table has no row of the baseline, or not all columns"):
        Comparison({"name": ["a"]}).best()
    with pytest.raises(TokbenchError, match="compare two or more tokenizers"):
        comparison(BASELINE).best()


def test_reprs_have_one_line(counts: PretokenCounts, pair: list[Tokenizer]) -> None:
    assert re.fullmatch(r"PretokenCounts\(\d+ unique, [\d,]+ in all, gpt2\)", repr(counts))
    assert (
        repr(PretokenCounts.from_pairs([(b"a", 2)])) == "PretokenCounts(1 unique, 2 in all, pre-tokenization not known)"
    )
    assert repr(pair[0].vocabulary) == "Vocabulary(260 tokens, merges)"
    assert repr(tokbench.metrics["renyi"]) == "Metric('renyi', options: orders)"
    assert "longest tokens: <code> the</code>" in pair[0]._repr_html_()
    for registry in (tokbench.constructions, tokbench.pretokenizations, tokbench.segmentations, tokbench.metrics):
        for name in registry:
            assert not re.search(r"\n| at 0x", repr(registry[name]))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda counts: tokbench.build("bpee", counts, 300), "Did you mean 'bpe'"),
        (lambda counts: tokbench.build("bpe", counts, 300, max_token=3), "bpe: max_token: unknown key"),
        (lambda counts: tokbench.build("bpe", counts, 30), "size 30: smaller than the alphabet of 'bpe' (256)"),
        (lambda counts: tokbench.build("bpe", tokbench.count([]), 300), "the counts contain no pre-token"),
        (
            lambda counts: tokbench.build("bpe", "a text", 300),
            "source: 'bpe' reads tokbench.pretokens.PretokenCounts, not str; make it with tokbench.count(texts)",
        ),
        (
            lambda counts: tokbench.build("bytespan", counts, 1000),
            "'bytespan' reads tokbench.candidates.scored_text.Sc",
        ),
        (lambda counts: tokbench.build("sage", counts, 300), "make it with tokbench.candidates.running_text.read_docu"),
        (
            lambda counts: tokbench.build("sage", Documents((), "gpt2"), 300),
            "initial: 'sage' needs an initial vocabulary, which is built only from counts; pass one",
        ),
        (
            lambda counts: tokbench.build("bpe", counts, 300, initial="ngram"),
            "initial: 'bpe' has no initial vocabulary; leave it out",
        ),
        (lambda counts: tokbench.build("pathpiece", counts, 300, initial=5), "initial 5: pass a tokbench.Vocabulary"),
        (
            lambda counts: tokbench.build("pathpiece", counts, 300, initial={"method": "randtrain"}),
            "pathpiece: initial: 'randtrain' is not an initial vocabulary (bpe, ngram, unigram)",
        ),
        (
            lambda counts: tokbench.build("pathpiece", counts, 300, initial={"method": "bpe", "max_token": 3}),
            "pathpiece: initial.max_token: unknown key. Did you mean 'max_token_bytes'?",
        ),
        (
            lambda counts: tokbench.build("bpe", counts, 300, initial={"method": "ngram"}),
            "initial: 'bpe' has no initial vocabulary; leave it out",
        ),
        (lambda counts: tokbench.build("bpe", counts, 300, segmentation=5), "'5' is not a segmentation"),
        (lambda counts: tokbench.build(5, counts, 300), "'5' is not a construction"),
        (
            lambda counts: tokbench.measure(tokbench.build("bpe", counts, 260), counts, cognition={}),
            "cognition: a metric of lexical decisions; measure accepts only metrics of a text; leave it out",
        ),
        (lambda counts: tokbench.measure("bpe", counts), "measure: 'bpe' is not a tokenizer"),
        (lambda counts: tokbench.measure(tokbench.build("bpe", counts, 260), 5), "texts 5: pass a text"),
        (lambda counts: tokbench.compare(["one", "two"], "x"), "compare: 'one' is not a tokenizer"),
        (lambda counts: tokbench.bound("x", 300), "bound: 'x' is not pre-token counts; make them with tokbench.count"),
        (lambda counts: tokbench.bound(counts, 30), "size 30"),
        (lambda counts: tokbench.bound(counts, 300, steps=0), "steps 0: must be a whole number from 1"),
        (lambda counts: tokbench.ngram_bits("bpe", "x", "x"), "ngram_bits: 'bpe' is not a tokenizer"),
        (lambda counts: tokbench.ngram_bits(tokbench.wrap(list), "x", "x"), "pass size to tokbench.wrap"),
        (lambda counts: tokbench.ngram_bits(tokbench.build("bpe", counts, 260), "x", "a/b.txt"), "looks like a path"),
        (lambda counts: tokbench.check("bpe"), "check: 'bpe' is not a tokenizer"),
        (lambda counts: tokbench.check(tokbench.build("bpe", counts, 260), "a/b.txt"), "check: 'a/b.txt' looks like"),
        (lambda counts: tokbench.compare(tokbench.build("bpe", counts, 260), "x"), "two or more tokenizers"),
        (lambda counts: tokbench.count(["x", 5]), "5 is not text; pass str or bytes"),
        (lambda counts: tokbench.count([None]), "None is not text; pass str or bytes"),
        (lambda counts: tokbench.count("x", "gtp2"), "'gtp2' is not a pre-tokenization"),
        (
            lambda counts: tokbench.measure(tokbench.build("bpe", counts, 260), tokbench.count("x", "space")),
            "count with pretokenization='gpt2'",
        ),
        (lambda counts: tokbench.measure(tokbench.build("bpe", counts, 260), counts, reny={}), "Did you mean 'renyi'"),
        (lambda counts: tokbench.compare([tokbench.build("bpe", counts, 260)], "x"), "two or more tokenizers"),
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


def test_example_of_the_readme_prints_its_output(tmp_path: Path) -> None:
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


EXAMPLES = sorted(name for name in tokbench.__all__ if ">>>" in (inspect.getdoc(getattr(tokbench, name)) or ""))


def test_every_function_has_an_example() -> None:
    assert {name for name in tokbench.__all__ if inspect.isfunction(getattr(tokbench, name))} <= set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_docstrings(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finder = doctest.DocTestFinder(recurse=False)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for test in finder.find(getattr(tokbench, name), name, module=False, globs={"tokbench": tokbench}):
        output: list[str] = []
        assert not runner.run(test, out=output.append).failed, "".join(output)


def test_the_page_of_methods_names_every_method_and_metric() -> None:
    named = set(re.findall(r"`(\w+)`", (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")))
    for methods in (tokbench.constructions, tokbench.pretokenizations, tokbench.segmentations, tokbench.metrics):
        assert not set(methods) - named


Call = Callable[[Any], object]
COLUMN = "pass one column"


@pytest.fixture(scope="module")
def pair() -> list[Tokenizer]:
    counts = tokbench.count(["the cat sat on the mat and the hat " * 20])
    return [tokbench.build("bpe", counts, size) for size in (260, 270)]


@pytest.fixture
def calls(pair: list[Tokenizer]) -> dict[str, Call]:
    return {
        "count": lambda texts: list(tokbench.count(texts).items()),
        "measure": lambda texts: tokbench.measure(pair[0], texts),
        "compare": lambda texts: tokbench.compare(pair, texts),
        "encode_batch": lambda texts: [one.tolist() for one in pair[0].encode_batch(texts)],
    }


def rejected(call: Call, value: object) -> str:
    """The message with which a call rejects a value."""
    with pytest.raises(TokbenchError) as found:
        call(value)
    assert "\n" not in str(found.value)
    return str(found.value)


def frames() -> dict[str, Any]:
    table = pa.table({"text": ["the cat", "a hat"]})
    pandas, datasets = pytest.importorskip("pandas"), pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"text": ["the cat", "a hat"]})
    return {
        "pandas": pandas.DataFrame({"text": ["the cat", "a hat"]}),
        "polars": pl.DataFrame(table),
        "lazy": pl.DataFrame(table).lazy(),
        "table": table,
        "batch": table.to_batches()[0],
        "rows": rows,
        "splits": datasets.DatasetDict(train=rows, test=rows),
        "stream": rows.to_iterable_dataset(),
    }


def test_names_of_frames_are_no_texts(calls: dict[str, Call], pair: list[Tokenizer]) -> None:
    for frame in frames().values():
        for call in [*calls.values(), pair[0].encode]:
            assert COLUMN in rejected(call, frame)


@pytest.mark.parametrize("mapping", [{"a": "the cat"}, UserDict(a="the cat")])
def test_keys_of_mappings_are_no_texts(mapping: Any, calls: dict[str, Call], pair: list[Tokenizer]) -> None:
    for call in [*calls.values(), pair[0].encode]:
        assert "pass its texts, for example mapping.values()" in rejected(call, mapping)
    for call in calls.values():
        assert "row['text']" in rejected(call, [mapping])


def test_columns_of_texts(calls: dict[str, Call]) -> None:
    pandas = pytest.importorskip("pandas")
    words = ["the cat", "a hat"]
    columns = [
        *(pandas.Series(words), pl.Series(words), pa.array(words), pa.chunked_array([words[:1], words[1:]])),
        *(
            np.array(words),
            np.array(words, object),
            np.array([b"the cat", b"a hat"]),
            [b"the cat", bytearray(b"a hat")],
        ),
        *(pa.array([b"the cat", b"a hat"]), tuple(words), dict(enumerate(words)).values()),
        *(frames()[name]["text"] for name in ("pandas", "polars", "table", "batch", "rows")),
    ]
    for name, call in calls.items():
        expected = call(words)
        for column in columns:
            found = call(column)
            assert found.equals(expected) if isinstance(found, pl.DataFrame) else found == expected, name
        assert "None is not text" in rejected(call, pa.array(["a", None]))


def test_one_text_in_any_buffer_of_bytes(calls: dict[str, Call], pair: list[Tokenizer]) -> None:
    buffers = [bytearray(b"the cat"), memoryview(b"the cat"), array("B", b"the cat"), pa.py_buffer(b"the cat")]
    arrays = [np.frombuffer(b"the cat", np.uint8), memoryview(b"t-h-e- -c-a-t")[::2]]
    scalars = [np.bytes_(b"the cat"), np.str_("the cat"), pa.scalar("the cat")]
    texts: list[Any] = [*buffers, *arrays, *scalars]
    for text in texts:
        assert tokbench.count(text).total == 2
        assert tokbench.compare(pair, text)["documents"].to_list() == [1, 1]
        assert pair[0].encode(text).tolist() == pair[0].encode("the cat").tolist()
        assert "not a list of texts" in rejected(calls["encode_batch"], text)


@pytest.mark.parametrize(
    "value", [np.array([5, 6]), np.array([1.5]), array("i", [5]), np.array([True]), np.array("abc"), np.array([["a"]])]
)
def test_memory_of_numbers_is_no_text(value: Any, calls: dict[str, Call], pair: list[Tokenizer]) -> None:
    for call in [*calls.values(), pair[0].encode, pair[0].count, pair[0].offsets]:
        assert "text" in rejected(call, value)


@pytest.mark.parametrize("call", ["count", "measure", "compare"])
def test_paths_are_no_texts(call: str, calls: dict[str, Call], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("README.md").write_text("the cat", encoding="utf-8")
    Path("my notes").write_text("the cat", encoding="utf-8")
    Path("folder").mkdir()
    for there in ("README.md", "my notes", "folder"):
        assert rejected(calls[call], there) == (
            f"{call}: '{there}' looks like a path; pass pathlib.Path('{there}') for the file, or ['{there}'] to "
            f"{call} the string"
        )
    for missing in ("/no/such/file", "novel.txt", "a/b"):
        assert rejected(calls[call], missing) == (
            f"{call}: '{missing}' looks like a path; there is no such file, so correct it or pass ['{missing}'] to "
            f"{call} the string"
        )
    assert rejected(calls[call], Path("none.txt")) == "none.txt: no such file; name an existing file"
    for text in ("cat", "the cat and/or the hat", ["README.md"], b"README.md", "a" * 5000 + "/"):
        calls[call](text)


def test_paths_have_the_documents_of_their_files(pair: list[Tokenizer], tmp_path: Path) -> None:
    lines, notes = tmp_path / "lines.jsonl", tmp_path / "notes.txt"
    lines.write_text('{"text": "the cat"}\n{"text": "a hat"}\n', encoding="utf-8")
    notes.write_text("the mat", encoding="utf-8")
    assert tokbench.compare(pair, lines).equals(tokbench.compare(pair, ["the cat", "a hat"]))
    texts = [document.text for document in read_files([str(lines), str(notes)])]
    for given in ([lines, notes], sorted(tmp_path.glob("*")), [*texts[:2], notes]):
        assert tokbench.compare(pair, given).equals(tokbench.compare(pair, texts))
    assert "a path, not a text" in rejected(pair[0].encode, notes)


def test_bound_and_ngram_bits_are_those_of_the_command_line(
    pair: list[Tokenizer], tmp_path: Path, tokbench: Command
) -> None:
    from tokbench import bound, ngram_bits

    counts = tokbench_count(TEXTS)
    counts.write(tmp_path / "counts.parquet")
    told = json.loads(tokbench("bound", "--counts", tmp_path / "counts.parquet", "--size", 270).stdout)
    del told["seconds"], told["made_from"]
    assert json.loads(json.dumps(bound(counts, 270))) == told
    train, test = tmp_path / "train.txt", tmp_path / "test.txt"
    train.write_text("the cat sat on the mat " * 40)
    test.write_text("the hat on the cat")
    pair[0].save(tmp_path / "bpe")
    told = json.loads(tokbench("ngram_bits", tmp_path / "bpe", "--train", train, "--test", test, "--order", 2).stdout)
    bits = ngram_bits(pair[0], train, [test], order=2)
    columns = ("training_bytes", "order", "bits_per_byte")
    assert bits.select(columns).rows() == [tuple(one[column] for column in columns) for one in told["models"]]
    assert ngram_bits(pair[0], train, test, training_bytes=[100])["training_bytes"].to_list() == [100] * 5


def test_files_are_read_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text('{"text": "the cat", "body": "one"}\n{"text": "a hat", "body": "two"}\n')
    Path("b.txt").write_bytes("the café".encode("latin-1"))
    assert tokbench.read("a.jsonl") == tokbench.read([Path("a.jsonl")]) == [b"the cat", b"a hat"]
    assert tokbench.read("*.jsonl", text_field="body") == [b"one", b"two"]
    assert tokbench.read(["a.jsonl", "*.txt"], encoding="latin-1") == [b"the cat", b"a hat", "the café".encode()]
    counted = tokbench.count_files("a.jsonl", "space")
    assert dict(counted.items()) == dict(tokbench.count(["the cat", "a hat"], "space").items())
    assert (counted.pretokenization, tokbench.count_files("a.jsonl").pretokenization) == ("space", "gpt2")


@pytest.mark.parametrize(
    ("paths", "options", "said"),
    [
        ("none.txt", {}, "none.txt: no such file; name an existing file"),
        ("*.nothing", {}, "*.nothing: no such file; name an existing file"),
        ([], {}, "paths: no path; pass one"),
        (b"the cat", {}, "paths b'the cat': pass a path, or several"),
        ([5], {}, "path 5: pass a str or a pathlib.Path; texts go to tokbench.count"),
        (
            "a.txt",
            {"text_field": "body"},
            "text_field body: text has no fields; name a file of Arrow, JSON Lines or Parquet",
        ),
    ],
)
def test_files_that_cannot_be_read(
    paths: Any, options: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("the cat")
    for call in (tokbench.read, tokbench.count_files):
        with pytest.raises(TokbenchError) as error:
            call(paths, **options)
        assert str(error.value) == said


def test_tokenizers_in_any_iterable(pair: list[Tokenizer]) -> None:
    expected = tokbench.compare(pair, ["the cat"])
    assert tokbench.compare(iter(pair), ["the cat"]).equals(expected)
    assert tokbench.compare(tuple(pair), ["the cat"]).equals(expected)
    for wrong, said in (
        ({"a": pair[0]}, "mapping.values()"),
        ("bpe", "two or more tokenizers"),
        (5, "two or more tokenizers"),
    ):
        assert said in rejected(lambda given: tokbench.compare(given, ["the cat"]), wrong)


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ([[97, 98], [98, 99]], "ids of 2 sequences; decode one sequence at a time"),
        (bytearray(b"ab"), "a text, not ids"),
        (b"ab", "a text, not ids"),
        ({97: 1}, "pass integers"),
        (np.ma.array([97, 98], mask=[False, True]), "some are masked"),
    ],
)
def test_decode_rejects_values_that_are_not_ids(ids: Any, said: str, pair: list[Tokenizer]) -> None:
    assert said in rejected(pair[0].decode, ids)


def test_one_sequence_of_ids(pair: list[Tokenizer]) -> None:
    for ids in ([97, 98], np.array([[97, 98]]), pa.array([97, 98]), pl.Series([97, 98]), array("i", [97, 98])):
        assert pair[0].decode(ids) == b"ab"


@pytest.mark.parametrize("pairs", [{b"ab": 1}, [(b"a", 1.7)], [("a", 1)], [(b"a", "12")], [b"ab"]])
def test_pairs_that_are_none(pairs: Any) -> None:
    assert re.match("pairs: ", rejected(PretokenCounts.from_pairs, pairs))


def test_options_of_another_class(pair: list[Tokenizer]) -> None:
    with pytest.raises(TokbenchError, match=r"^options \{.*\}: not an instance of the options; pass \w+$"):
        Tokenizer(pair[0].vocabulary, "gpt2", "bpe_dropout", {"dropout": 0.5})  # type: ignore[arg-type]


@pytest.mark.parametrize("token", ["ab", 5, bytearray(b"ab")])
def test_tokens_that_are_no_bytes(token: Any) -> None:
    tokens = (*(bytes([byte]) for byte in range(256)), token)
    assert rejected(Vocabulary, tokens) == (
        f"vocabulary: token 256 is {type(token).__name__}, not bytes; pass each token as bytes"
    )


def test_cells_of_the_notebook_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cells are run in order, in one namespace, as a notebook runs them. They print the outputs that are kept."""
    notebook = json.loads((ROOT / "docs" / "tour.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) == 10
    assert [cell["execution_count"] for cell in cells] == list(range(1, 11))
    results = [part["data"] for cell in cells for part in cell["outputs"] if part["output_type"] == "execute_result"]
    monkeypatch.chdir(ROOT / "docs")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    namespace: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for cell in cells:
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), namespace)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), "cell", "eval"), namespace))
    # Values of another version of Python are other numbers, as its help pages are other text.
    if notebook["metadata"]["language_info"]["version"] == platform.python_version():
        assert ["".join(data["text/plain"]) for data in results] == [
            repr(value) for value in shown if value is not None
        ]
    assert namespace["table"].baseline == "bpe"
    assert any(value is True for value in shown)
    cuts = next(value for value in shown if type(value).__name__ == "Cuts")
    assert "<table>" in cuts._repr_html_()
