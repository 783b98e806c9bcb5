"""Values from outside: numbers, YAML, options of every class, and all wrong values of a file at once.

Paths of the worst kind: the workflow bears them, or rejects them in one line before any work.
"""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import click
import polars as pl
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from tests.conftest import EXPERIMENT, Tokbench
from tests.support.workflow.checkout import Checkout
from tokbench.commands.declaration import declarations
from tokbench.commands.main import cli
from tokbench.commands.parameters import Real, Whole
from tokbench.config.experiment import Experiment
from tokbench.config.load import read_all, validate
from tokbench.errors import TokbenchError
from tokbench.io.numbers import LARGEST_SEED, real_number, whole_number
from tokbench.io.paths import path_mistakes
from tokbench.io.yaml import dump_yaml, parse_yaml
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
NUMBER = st.integers(-LARGEST_SEED, LARGEST_SEED) | st.floats(allow_nan=False, allow_infinity=False)
VALUE = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT | st.sampled_from(["1e5", "no", "1_000", "017", "~", ".inf", "<<", ""]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=10,
)


# Numbers


@given(st.integers(-(10**25), 10**25))
def test_integers_outside_the_range_are_rejected(number: int) -> None:
    if -5 <= number <= 10**19:
        assert whole_number(str(number), -5, 10**19) == number
    else:
        with pytest.raises(ValueError, match="is not from -5 to"):
            whole_number(str(number), -5, 10**19)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_real_numbers(number: float) -> None:
    assert real_number(repr(number)) == number


@pytest.mark.parametrize("text", ["", "nan", "inf", "1e999", "1_0.5", "+1", " 1", "١.٥", "1,5", "0x1p3", "-", "."])
def test_non_finite_or_malformed_numbers_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="is not a finite number"):
        real_number(text)


def test_bounds_of_real_numbers() -> None:
    assert real_number("0.5", 0, 1) == 0.5
    for text in ("-0.1", "1.1"):
        with pytest.raises(ValueError, match="is not from 0 to 1"):
            real_number(text, 0, 1)


@pytest.mark.parametrize("name", declarations())
def test_numbers_of_the_command_line_are_of_one_type(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)  # type: ignore[attr-defined]
    bare = {"integer range", "float", "float range"}
    for parameter in command.params:
        assert parameter.type.name not in bare
        assert parameter.type is not click.INT
        if isinstance(parameter.type, Whole | Real):
            assert parameter.type.least is not None


# Options


def classes(kind: type[Options]) -> Iterator[type[Options]]:
    for inner in kind.__subclasses__():
        yield inner
        yield from classes(inner)


def kinds(annotation: Any) -> set[Any]:
    """The plain types of which an annotation is made."""
    if get_origin(annotation) is Annotated:
        return kinds(get_args(annotation)[0])
    inner = get_args(annotation)
    return {annotation} if not inner else set().union(*map(kinds, inner))


NUMBERS = [
    (kind, key)
    for kind in dict.fromkeys(classes(Options))
    if kind.__module__.startswith("tokbench.")
    for key, about in kind.model_fields.items()
    if kinds(about.annotation) & {int, float}
]


@pytest.mark.parametrize(("kind", "key"), NUMBERS, ids=lambda value: getattr(value, "__name__", value))
def test_numeric_options_reject_other_types(kind: type[BaseModel], key: str) -> None:
    too_large = [2**70] if int in kinds(kind.model_fields[key].annotation) else []
    for wrong in (True, "3", "0.5", math.nan, math.inf, -math.inf, *too_large, [True], [math.nan], {"x": math.nan}):
        with pytest.raises(ValidationError) as rejected:
            kind.model_validate({key: wrong})
        assert (key,) in {error["loc"][:1] for error in rejected.value.errors(include_url=False)}, wrong


def test_numbers_of_options_are_many() -> None:
    assert len(NUMBERS) > 80


# YAML


@settings(max_examples=40)
@given(VALUE)
def test_dumped_yaml_parses_to_the_same_value(value: Any) -> None:
    assert parse_yaml(dump_yaml(value), "x") == value


@settings(max_examples=40)
@given(VALUE)
def test_json_is_yaml(value: Any) -> None:
    assert parse_yaml(json.dumps(value), "x") == value


@pytest.mark.parametrize("word", ["yes", "no", "on", "off", "1_000", "+5", "017", "0o17", "0x1f", "1:30", "2024-01-01"])
def test_words_that_editions_of_yaml_read_differently_are_text(word: str) -> None:
    assert parse_yaml(f"a: {word}", "x") == {"a": word}


def test_aliases_and_merges() -> None:
    text = "x: &x {a: 1, b: 2}\ny: {<<: *x, b: 3}\nz: [*x, *x]\n"
    assert parse_yaml(text, "x") == yaml.safe_load(text)


def test_a_mark_of_order_and_an_empty_text() -> None:
    assert parse_yaml("\ufeffa: 1", "x") == {"a": 1}
    assert parse_yaml("", "x") is None


def test_surrogates_that_are_a_pair() -> None:
    assert parse_yaml(json.dumps("🦀"), "x") == "🦀"


@pytest.mark.parametrize(
    ("text", "place"),
    [("a: 1\na: 2\n", "f:2:1"), ("x: &x {a: 1}\ny: {<<: *x, a: 2, a: 3}\n", "f:2:19"), ("c: {d: 1, d: 2}", "f:1:11")],
)
def test_keys_are_unique(text: str, place: str) -> None:
    with pytest.raises(TokbenchError, match=f"^{place}: the key '.' occurs twice"):
        parse_yaml(text, "f")


# All wrong values of a configuration at once

WRONG = """
name: a/b
seed: -1
corpora:
  pydoc: {source: embedded, splits: {tokenizer: .nan, evaluation: 0.1}}
  other: {source: text, splits: {tokenizer: 0.7, evaluation: 0.7}}
variants:
  bpe: {pretokenization: gpt2, construction: bpee}
  second: {pretokenization: gpt2, construction: bpe, corpus: nowhere}
  path: {pretokenization: gpt2, construction: {method: pathpiece, initial_size: 512}}
sizes: [big, 1024, 3000000000]
models: {tiny: tiny, other: {preset: tiny, learning_rate: .inf}}
suites: {offline: offline}
runs:
 - {models: [tiny], variants: [bpe, bpo], suites: [offline], sizes: [4]}
 - {models: [tiny, other], variants: 3, suites: [offline]}
report: {venn: [bpe, forth], titel: x}
"""


def test_all_wrong_values_are_listed_at_once(tmp_path: Path, tokbench: Tokbench) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(WRONG)
    outcome = tokbench("validate", file)
    assert outcome.status == 2
    lines = [line.partition(str(file))[2] for line in outcome.stderr.splitlines()]
    assert sorted(line.split(": ")[1] for line in lines) == [
        "corpora.pydoc.splits.tokenizer",
        "models.other.learning_rate",
        "name",
        "report.titel",
        "runs.1.variants",
        "seed",
        "sizes.0",
        "sizes.2",
        "variants.bpe.construction",
    ]


CONTRADICTORY = """
name: a
corpora:
  pydoc: {source: embedded}
  other: {source: text, splits: {tokenizer: 0.7, evaluation: 0.7}}
variants:
  bpe: {pretokenization: gpt2, construction: bpe}
  second: {pretokenization: gpt2, construction: bpe, corpus: nowhere}
  path: {pretokenization: gpt2, construction: {method: pathpiece, initial_size: 512}}
sizes: [1024]
models: {tiny: tiny}
suites: {offline: offline}
runs:
 - {models: [tiny], variants: [bpe, bpo], suites: [offline]}
report: {venn: [bpe, forth]}
"""


def test_all_contradictions_are_listed_at_once(tmp_path: Path, tokbench: Tokbench) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(CONTRADICTORY)
    outcome = tokbench("validate", file)
    assert outcome.status == 2
    lines = [line.partition(str(file))[2] for line in outcome.stderr.splitlines()]
    assert sorted(line.split(": ")[1] for line in lines) == [
        "corpora.other.source.path",
        "corpora.other.splits",
        "report.venn",
        "report.venn",
        "runs.0.variants",
        "variants.path.construction.initial_size",
        "variants.second.corpus",
    ]


@pytest.mark.parametrize("section", ["corpora", "variants", "models", "suites", "byte_lms", "runs", "sizes", "report"])
@pytest.mark.parametrize("value", [3, [], ["x"], {"a": 3}, {"a b": {}}, None], ids=repr)
def test_a_section_that_is_none_hides_nothing_and_breaks_nothing(
    section: str, value: Any, experiment: dict[str, Any], tmp_path: Path, tokbench: Tokbench
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(experiment | {section: value, "seed": "one"}))
    outcome = tokbench("validate", file)
    assert outcome.status == 2
    assert f"{file}: seed: must be a whole number (found 'one')" in outcome.stderr


# What Snakemake was given


def test_files_and_values_of_snakemake(tmp_path: Path) -> None:
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text(EXPERIMENT)
    two.write_text("variants: {bpe: {sizes: [2048]}}\nseed: 3\n")
    read = read_all([one, two], {"seed": 4, "sizes": ["1280"], "variants": {"bpe": {"pretokenization": "none"}}})
    assert (read.seed, read.sizes, read.variants["bpe"].sizes) == (4, [1280], [2048])
    assert (read.variants["bpe"].pretokenization, read.variants["bpe"].construction.method) == ("none", "bpe")
    assert list(read.variants) == ["bpe", "pathpiece", "span"]


def test_mistakes_of_files_of_snakemake(tmp_path: Path) -> None:
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text(EXPERIMENT)
    two.write_text("seed: 017\n")
    with pytest.raises(TokbenchError) as rejected:
        read_all([one, two], {"sizes": ["1_0"]})
    assert str(rejected.value).splitlines() == [
        f"{two}: seed: must be a whole number (found '017')",
        f"{two}: sizes.0: must be a whole number (found '1_0')",
    ]
    one.write_text(EXPERIMENT + "seed: 1\nseed: 2\n")
    with pytest.raises(TokbenchError, match=r"one\.yaml:\d+:1: the key 'seed' occurs twice"):
        read_all([one, two], {})


def test_the_full_configuration_is_read_back(tmp_path: Path, tokbench: Tokbench) -> None:
    file, full = tmp_path / "mine.yaml", tmp_path / "full.yaml"
    file.write_text(EXPERIMENT + "report: {title: '1e5', summary: 'no'}\n")
    full.write_bytes(tokbench("validate", "--full", file).stdout)
    assert read_all([full], {}).report == Experiment.model_validate(parse_yaml(file.read_text(), "x")).report


# Fields of documents


def test_fields_by_name(tmp_path: Path, tokbench: Tokbench) -> None:
    table, lines = tmp_path / "a.parquet", tmp_path / "a.jsonl"
    rows = [{"body": "one two", "tongue": "en"}, {"body": "eins", "tongue": "de"}]
    pl.DataFrame(rows).write_parquet(table)
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    counted = []
    for file in (table, lines):
        output = tmp_path / f"{file.name}.counts.parquet"
        fields = ["--text-field", "body", "--language-field", "tongue"]
        assert tokbench("count", "--scheme", "gpt2", "-o", output, *fields, file).status == 0
        counted.append(output.read_bytes())
    assert counted[0] == counted[1]
    assert PretokenCounts.read(output).total == 3
    assert set(pl.read_parquet(output)["language"]) == {"de", "en"}


WORST = """-x y  $(touch pwned)`touch pwned`;touch pwned&#~!|'"\\ü東京(%s)=:,@"""
"""A name that a shell would run, cut, expand or leave out where nothing quotes it."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    checkout = Checkout(tmp_path_factory.mktemp("paths"))
    (checkout.folder / "books" / WORST).mkdir(parents=True)
    (checkout.folder / "books" / WORST / f"{WORST}.txt").write_text("It was a dark and stormy night.\n\n" * 200)
    long = checkout.folder / "books" / ("東" * 80) / ("京" * 80)
    long.mkdir(parents=True)
    for number in range(400):
        (long / f"{number}.txt").write_text("Few characters of the command line, many bytes.")
    (checkout.folder / "worst.yaml").write_text(
        yaml.safe_dump(
            {
                "name": "worst",
                "results": WORST,
                "corpora": {
                    "books": {
                        "source": {"type": "text", "path": "books", "documents": "paragraph"},
                        "splits": {"tokenizer": 0.5, "evaluation": 0.5},
                    }
                },
                "variants": {
                    "bpe": {"pretokenization": "gpt2", "construction": "bpe", "segmentation": "greedy"},
                },
                "sizes": [260],
            },
            allow_unicode=True,
        )
    )
    yield checkout
    checkout.close()


def test_worst_names_run(checkout: Checkout) -> None:
    measured = ("--configfile", "worst.yaml", "--until", "measure")
    checkout.snakemake("--cores", "2", *measured)
    assert (checkout.folder / WORST / "worst" / "intrinsic" / "bpe" / "260.json").is_file()
    assert not list(checkout.folder.rglob("pwned"))
    assert re.search(r"total\s+0\n", checkout.snakemake("--dry-run", *measured))


@pytest.mark.parametrize("results", ["a{b}", "a<b", "a>b", "a*", "a?", "[a]", "a\nb", "a\x7f", "s3://a", "", "\udcff"])
def test_impossible_results_paths_are_rejected(experiment: dict[str, Any], results: str) -> None:
    with pytest.raises(TokbenchError) as rejection:
        validate({**experiment, "results": results}, "mine.yaml")
    [line] = str(rejection.value).splitlines()
    assert line.startswith("mine.yaml: results: ")
    line.encode()


@pytest.mark.parametrize(
    ("folder", "reason"),
    [
        ("taken", "taken is a file; name a folder"),
        ("taken/deeper/still", "taken is a file; name a folder"),
        ("link", "link/trial is a file; name a folder"),
        ("loop/deeper", "loop/deeper/trial: Too many levels of symbolic links; name another folder"),
        ("n" * 300, "n" * 300 + "/trial: File name too long; name another folder"),
    ],
)
def test_unusable_results_folders_are_rejected(
    experiment: dict[str, Any], tmp_path: Path, folder: str, reason: str
) -> None:
    """The workflow engine would end in a traceback when it looks for outputs there."""
    (tmp_path / "taken").touch()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "trial").symlink_to(tmp_path / "taken")
    (tmp_path / "link").symlink_to("there")
    with pytest.raises(TokbenchError) as rejection:
        validate({**experiment, "results": str(tmp_path / folder)}, "mine.yaml")
    assert str(rejection.value) == f"mine.yaml: results: {tmp_path}/{reason}"


@pytest.mark.parametrize("name", ["a{b}.txt", "a<b>.txt", "a\nb.txt", "\udcff.txt"])
def test_files_that_cannot_be_carried_are_rejected(experiment: dict[str, Any], tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("text")
    experiment["corpora"]["pydoc"]["source"] = {"type": "text", "path": str(tmp_path)}
    with pytest.raises(TokbenchError) as rejection:
        validate(experiment, "mine.yaml")
    [line] = str(rejection.value).splitlines()
    assert line.startswith("mine.yaml: corpora.pydoc.source.path: ")
    assert "rename" in line


def test_paths_of_every_section_are_looked_at(experiment: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "a{b}"
    folder.mkdir()
    (folder / "gold.tsv").write_text("cats\tcat @@s\t100\n")
    (folder / "q.jsonl").write_text("")
    experiment["released"] = str(folder)
    experiment["resources"] = {"gold": {"type": "sigmorphon2022", "path": str(folder / "gold.tsv")}}
    task = {"format": "choices", "file": "q.jsonl"}
    experiment["suites"]["mine"] = {"source": "local", "path": str(folder), "tasks": ["q"], "files": {"q": task}}
    with pytest.raises(TokbenchError) as rejection:
        validate(experiment, "mine.yaml")
    keys = [line.split(": ")[1] for line in str(rejection.value).splitlines()]
    assert keys == ["resources.gold.path", "suites.mine.path", "released"]


def test_glob_characters_are_allowed_in_input_names() -> None:
    assert list(path_mistakes("key", ["a[1]*?.txt", WORST], patterns=True)) == []
    assert len(list(path_mistakes("key", ["a[1].txt", "b*"]))) == 1


@pytest.mark.parametrize("results", ["out/", "./out", "out//", "./out/."])
def test_results_have_one_spelling(experiment: dict[str, Any], results: str) -> None:
    assert validate({**experiment, "results": results}, "mine.yaml").folder == "out/trial"
