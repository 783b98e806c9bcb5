"""The command line from text to ids and back, without the workflow.

Each plain-Python reference runs by hand, and every link to one leads somewhere.
"""

import gzip
import io
import json
import os
import re
import shlex
import shutil
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import zstandard
from click import Option
from click.testing import CliRunner

from tests.conftest import ODD, TOPICS, Tokbench, write_json_lines
from tests.support.pipeline import combinations, done
from tests.support.rules import COMMAND_OF, RULES
from tests.support.workflow.checkout import ROOT
from tokbench.commands import declaration
from tokbench.commands.declaration import declarations
from tokbench.commands.main import cli
from tokbench.commands.parameters import Real, Whole
from tokbench.construction import constructions
from tokbench.pretokenization import schemes
from tokbench.pretokens import PretokenCounts
from tokbench.segmentation import segmentations
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES

QUICK: dict[str, list[str]] = {
    "convextok": ["--set", "steps=20"],
    "toast": ["--set", "steps=20"],
    "pathpiece": ["--set", "initial_size=2000"],
    "randtrain": ["--set", "initial_size=2000"],
    "sage": ["--set", "initial_size=2000", "--set", "dimensions=8", "--set", "epochs=1"],
}
"""Options that make a method quick on a small text."""
SHORT = {"greedwmc", "mingram", "mingram_pp"}
"""Methods that stop where nothing is left to gain, before a small text gives the size asked for."""


DIALECT = re.compile(r"\b(?:told|tells?|beside|stands?|whole|holds?|held|whatever|elsewhere|anew|apart|so many)\b")


@pytest.mark.parametrize("command", declarations())
def test_help(command: str) -> None:
    result = CliRunner().invoke(cli, [command, "--help"])
    assert result.exit_code == 0, result.exception
    assert f"{command} [OPTIONS]" in result.output
    assert cli.get_command(None, command).help  # type: ignore[arg-type, union-attr]
    assert not DIALECT.findall(result.output)


def test_commands_are_written_with_underscores_and_accepted_with_hyphens() -> None:
    hyphenated = [name.replace("_", "-") for name in declarations() if "_" in name]
    for name in hyphenated:
        assert CliRunner().invoke(cli, [name, "--help"]).exit_code == 0, name
    spelt = re.compile(rf"\btokbench\s+({'|'.join(hyphenated)})\b")
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py"), *ROOT.glob("rules/*")]
    assert len(pages) > 100
    assert not [path for path in pages if spelt.search(path.read_text(encoding="utf-8"))]


def test_an_option_that_is_a_number_is_one_in_every_command() -> None:
    kinds: dict[str, set[bool]] = {}
    for name in declarations():
        command = cli.get_command(None, name)  # type: ignore[arg-type]
        for option in command.params if command else []:
            if isinstance(option, Option) and not option.is_flag:
                for spelt in option.opts:
                    kinds.setdefault(spelt, set()).add(isinstance(option.type, Real | Whole))
    assert not {spelt for spelt, numbers in kinds.items() if len(numbers) > 1}


def test_declarations_in_the_sources_are_those_of_the_imported_modules() -> None:
    for path in Path(declaration.__file__).parent.glob("*.py"):
        import_module(f"tokbench.commands.{path.stem}")
    assert {name: declared for name, (declared, _) in declaration.registered.items()} == declarations()


def test_help_lists_commands_by_group_and_those_of_the_workflow_are_called_by_rules() -> None:
    result = CliRunner().invoke(cli, ["--help"])
    assert not DIALECT.findall(result.output)
    listed = re.findall(r"^  ([a-z_]+)  ", result.output, re.MULTILINE)
    assert listed == list(declarations())
    groups = {group: {name for name in listed if declarations()[name].group == group} for group in declaration.GROUPS}
    assert groups["essentials"] == {name for name in listed if declarations()[name].example}
    called = {COMMAND_OF.get(name, name) for name in RULES}
    assert groups["stages"] == called - groups["essentials"]
    assert CliRunner().invoke(cli, ["--version"]).exit_code == 0


def test_examples_of_the_help_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokbench: Tokbench) -> None:
    examples = {name: declared.example for name, declared in declarations().items() if declared.example}
    for name, example in examples.items():
        assert CliRunner().invoke(cli, [name, "--help"]).output.endswith(f"Example:\n    {example}\n")
    (tmp_path / "text.txt").write_bytes(b"\n".join(TOPICS * 3))
    monkeypatch.chdir(tmp_path)
    done(tokbench(*shlex.split(examples["count"])[1:]))
    for name, size in (("mine", 300), ("theirs", 400)):
        done(tokbench("build", "bpe", "--size", size, "--counts", "counts.parquet", "-o", name))
        Path(name, "tokenizer.json").rename(f"{name}.json")
        shutil.rmtree(name)
    smaller = examples | {"build": examples["build"].replace("1024", "400")}
    for name in [*sorted(smaller.keys() - {"measure", "status", "validate"}), "measure", "validate"]:
        done(tokbench(*shlex.split(smaller[name])[1:]))


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("comp", {"compare", "compare_experiments"}),
        ("build pathp", {"pathpiece"}),
        ("build bpe --segmentation gre", {"greedy"}),
        ("count --pretokenization o2", {"o200k"}),
        ("methods fertil", {"fertility"}),
        ("encode --from tikt", {"tiktoken"}),
        ("import --from tikt", {"tiktoken"}),
        ("export --to tikt", {"tiktoken"}),
    ],
)
def test_completion(words: str, names: set[str]) -> None:
    typed = {"_TOKBENCH_COMPLETE": "bash_complete", "COMP_WORDS": f"tokbench {words}"}
    typed |= {"COMP_CWORD": str(len(words.split()))}
    completed = subprocess.run(["tokbench"], env=os.environ | typed, capture_output=True, text=True, check=True)
    assert set(completed.stdout.split()) == {f"plain,{name}" for name in names}


def test_methods(tokbench: Tokbench) -> None:
    listed = json.loads(done(tokbench("methods", "--json")).stdout)
    assert set(listed["construction"]) == set(constructions)
    assert set(listed["segmentation"]) == set(segmentations)
    assert set(listed["pre-tokenization"]) == set(schemes)
    for kind in listed.values():
        for name, method in kind.items():
            assert method["summary"], name
            assert all(option["meaning"] for option in method["options"]), name
            assert "`" not in method["summary"] + "".join(option["meaning"] for option in method["options"]), name
    lines = done(tokbench("methods")).stdout.decode().splitlines()
    methods = [line for line in lines if line.startswith("  ")]
    assert [line.split()[0] for line in methods] == [name for kind in listed.values() for name in kind]
    [line] = [line for line in methods if line.startswith("  bpe ")]
    assert line.split(maxsplit=1)[1] == f"{listed['construction']['bpe']['summary']} [Sennrich et al. 2016]"
    assert lines[-1] == "Options of a method: tokbench methods NAME"
    shown = done(tokbench("methods", "bpe")).stdout.decode()
    assert "max_token_bytes" in shown
    assert "until there are 'size'" in shown
    assert "Better end of fertility: the lowest." in done(tokbench("methods", "fertility")).stdout.decode()


# Counting


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same documents in every form that holds any bytes, or any text."""
    folder = tmp_path_factory.mktemp("sources")
    rows = "".join(json.dumps({"text": topic.decode()}) + "\n" for topic in TOPICS).encode()
    paths = {name: folder / name for name in ("a.txt", "rows.jsonl.gz", "rows.jsonl.zst", "rows.parquet")}
    paths["rows.jsonl.gz"].write_bytes(gzip.compress(rows))
    paths["rows.jsonl.zst"].write_bytes(zstandard.ZstdCompressor().compress(rows))
    pl.DataFrame({"text": TOPICS}).write_parquet(paths["rows.parquet"])
    paths["a.txt"].write_bytes(ODD)
    return paths


def test_counts_do_not_depend_on_the_form(sources: dict[str, Path], tmp_path: Path, tokbench: Tokbench) -> None:
    found = []
    for name in ("rows.jsonl.gz", "rows.jsonl.zst", "rows.parquet"):
        output = tmp_path / f"{name}.counts.parquet"
        done(tokbench("count", "--scheme", "gpt2", "-o", output, sources[name]))
        found.append(output.read_bytes())
    assert found[0] == found[1] == found[2]


def test_counts_add_up(sources: dict[str, Path], tmp_path: Path, tokbench: Tokbench) -> None:
    parts = [sources["a.txt"], sources["rows.parquet"]]
    outputs = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    for part, output, more in zip(parts, outputs, (["--encoding", "bytes"], []), strict=True):
        done(tokbench("count", "--scheme", "digit", "-o", output, part, *more))
    done(tokbench("count", "--scheme", "digit", "-o", tmp_path / "together.parquet", *parts, "--encoding", "bytes"))
    done(tokbench("merge_counts", "-o", tmp_path / "merged.parquet", *outputs))
    assert (tmp_path / "merged.parquet").read_bytes() == (tmp_path / "together.parquet").read_bytes()
    assert PretokenCounts.read(tmp_path / "merged.parquet").total_bytes == len(ODD) + sum(map(len, TOPICS))


def test_a_folder_says_how_many_files_are_read(tmp_path: Path, tokbench: Tokbench) -> None:
    for name in ("a.txt", "b.md", "c.bin"):
        (tmp_path / name).write_bytes(TOPICS[0])
    outcome = done(tokbench("count", "--scheme", "gpt2", tmp_path, "-o", tmp_path / "counts.parquet"))
    assert f"{tmp_path}: 1 entry left out: 1 with another ending (.bin)" in outcome.stderr
    assert f"\nread 2 files of {tmp_path}\n" in outcome.stderr


def test_import_detects_the_format(tmp_path: Path, tokbench: Tokbench) -> None:
    (tmp_path / "merges.txt").write_text("#version: 0.2\nh e\nhe l\n")
    done(tokbench("import", tmp_path / "merges.txt", "-o", tmp_path / "mine"))
    assert Tokenizer.load(tmp_path / "mine").encode(b"hel").size == 1


def test_counts_from_a_table(counts: PretokenCounts, tmp_path: Path, tokbench: Tokbench) -> None:
    lines = tmp_path / "counts.tsv"
    lines.write_text("".join(f"{token.hex()}\t{count}\n" for token, count in reversed(list(counts.items()))))
    counts.write(tmp_path / "counts.parquet")
    for source, more in (("counts.tsv", ["--scheme", "gpt2"]), ("counts.parquet", [])):
        call = ["build", "bpe", "--size", 400, "--counts", tmp_path / source, *more, "-o", tmp_path / f"by_{source}"]
        done(tokbench(*call, "--name", "same"))
    one, two = (tmp_path / f"by_counts.{form}" for form in ("tsv", "parquet"))
    for name in ("tokens.vocab", "merges.tsv", "tokbench.json", "tokenizer.json"):
        assert (one / name).read_bytes() == (two / name).read_bytes()


# Building, encoding, decoding


def build(
    tokbench: Tokbench, method: str, counts: PretokenCounts, scores: Path, folder: Path, *more: Any, size: int = 900
) -> Path:
    counted = folder.with_suffix(".parquet")
    counts.write(counted)
    source = ["--counts", counted]
    match constructions[method].source:
        case "scores":
            source = ["--scores", scores, "--scheme", "gpt2"]
        case "documents":
            source += ["--documents", scores]
    done(tokbench("build", method, "--size", size, *source, *QUICK.get(method, []), *more, "-o", folder))
    return folder


@pytest.mark.parametrize(("method", "segmentation"), combinations())
def test_from_text_to_ids_and_back(
    method: str,
    segmentation: str,
    counts: PretokenCounts,
    scores: Path,
    text: bytes,
    tmp_path: Path,
    tokbench: Tokbench,
) -> None:
    folder = build(tokbench, method, counts, scores, tmp_path / "built", "--segmentation", segmentation)
    lines = (folder / "tokens.vocab").read_text().splitlines()
    assert all(line == line.lower() and bytes.fromhex(line).hex() == line for line in lines)
    loaded = Tokenizer.load(folder)
    assert [bytes.fromhex(line) for line in lines] == list(loaded.vocabulary.tokens)
    assert len(lines) == len(loaded) <= 900
    assert len(loaded) == 900 or method in SHORT
    assert loaded.segmentation == segmentation
    if loaded.vocabulary.continuation is None:
        assert lines[:256] == [byte.hex() for byte in BYTES]

    sample = text[-8000:] + bytes(range(256))
    (tmp_path / "sample").write_bytes(sample)
    shown = done(tokbench("encode", folder, tmp_path / "sample")).stdout
    ids = [int(number) for number in shown.split()]
    assert ids == loaded.encode(sample).tolist()
    assert b"".join(loaded.vocabulary.tokens[index] for index in ids) == sample
    assert done(tokbench("decode", folder, "-", stdin=shown)).stdout == sample


@pytest.mark.parametrize("sample", [b"", ODD, b"\xff", b"\n", b"<|endoftext|>"])
def test_every_way_in_and_out(
    sample: bytes, counts: PretokenCounts, scores: Path, tmp_path: Path, tokbench: Tokbench
) -> None:
    folder = build(tokbench, "bpe", counts, scores, tmp_path / "bpe")
    (tmp_path / "sample").write_bytes(sample)
    ids = Tokenizer.load(folder).encode(sample).tolist()
    shown = done(tokbench("encode", folder, tmp_path / "sample")).stdout
    assert shown.decode() == " ".join(map(str, ids)) + "\n"
    assert done(tokbench("encode", folder, "-", stdin=sample)).stdout == shown
    assert done(tokbench("encode", folder, tmp_path / "sample", "--count")).stdout == f"{len(ids)}\n".encode()
    for name in ("ids.txt", "ids.npy"):
        done(tokbench("encode", folder, tmp_path / "sample", "-o", tmp_path / name))
        done(tokbench("decode", folder, tmp_path / name, "-o", tmp_path / f"back from {name}"))
        assert (tmp_path / f"back from {name}").read_bytes() == sample
        assert done(tokbench("decode", folder, tmp_path / name)).stdout == sample
    array = np.load(tmp_path / "ids.npy")
    assert (array.dtype, array.tolist()) == (np.dtype(np.int32), ids)
    assert (tmp_path / "ids.txt").read_bytes() == shown
    raw = io.BytesIO()
    np.save(raw, array)
    assert done(tokbench("decode", folder, "-", stdin=raw.getvalue())).stdout == sample


def test_options(counts: PretokenCounts, scores: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    by_set = build(tokbench, "bpe", counts, scores, tmp_path / "set", "--set", "max_token_bytes=3", "--name", "x")
    recipe = '{"method":"bpe","max_token_bytes":3,"min_pair_count":0}'
    by_recipe = build(tokbench, "bpe", counts, scores, tmp_path / "recipe", "--recipe", recipe, "--name", "x")
    assert (by_set / "tokbench.json").read_bytes() == (by_recipe / "tokbench.json").read_bytes()
    tokens = Tokenizer.load(by_set).vocabulary.tokens
    assert max(map(len, tokens)) == 3
    assert Tokenizer.load(by_set).origin["construction"]["max_token_bytes"] == 3


def test_initial_vocabulary(counts: PretokenCounts, scores: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    """PathPiece builds its own initial vocabulary, or takes one that stands; the result is the same."""
    options = ["--set", "initial=bpe", "--name", "x"]
    alone = build(tokbench, "pathpiece", counts, scores, tmp_path / "alone", *options)
    initial = build(tokbench, "bpe", counts, scores, tmp_path / "initial", size=2000)
    given = build(tokbench, "pathpiece", counts, scores, tmp_path / "given", *options, "--initial", initial)
    assert (alone / "tokens.vocab").read_bytes() == (given / "tokens.vocab").read_bytes()


def test_recipe_of_an_initial_vocabulary(
    counts: PretokenCounts, scores: Path, tmp_path: Path, tokbench: Tokbench
) -> None:
    """By ``--set`` and ``--recipe``; with the folder of the same recipe the result is the same."""
    initial = '{"method":"bpe","max_token_bytes":5}'
    by_set = build(
        tokbench, "pathpiece", counts, scores, tmp_path / "set", "--name", "x", "--set", f"initial={initial}"
    )
    large = build(tokbench, "bpe", counts, scores, tmp_path / "large", "--set", "max_token_bytes=5", size=2000)
    given = tmp_path / "given"
    where = ["--counts", tmp_path / "set.parquet", "--initial", large, "-o", given, "--size", 900, "--name", "x"]
    done(tokbench("build", "pathpiece", "--recipe", f'{{"initial":{initial},"initial_size":2000}}', *where))
    other = tokbench("build", "pathpiece", "--set", "initial={method: bpe, max_token_bytes: 6}", *where)
    assert other.status == 2
    assert "was built with max_token_bytes 5, but the option initial.max_token_bytes is 6; change one" in other.stderr
    for file in ("tokens.vocab", "tokbench.json"):
        assert (by_set / file).read_bytes() == (given / file).read_bytes()
    assert Tokenizer.load(given).origin["construction"]["initial"]["max_token_bytes"] == 5
    short = build(tokbench, "pathpiece", counts, scores, tmp_path / "short", "--set", "initial={method: bpe}")
    named = build(tokbench, "pathpiece", counts, scores, tmp_path / "named", "--set", "initial=bpe")
    assert (short / "tokens.vocab").read_bytes() == (named / "tokens.vocab").read_bytes()
    assert (short / "tokens.vocab").read_bytes() != (given / "tokens.vocab").read_bytes()


def test_files_of_a_tokenizer(counts: PretokenCounts, scores: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    folder = build(tokbench, "bpe", counts, scores, tmp_path / "bpe")
    files = {"tokens.vocab", "merges.tsv", "tokbench.json", "tokenizer.json", "tokenizer_config.json", "manifest.json"}
    assert {file.name for file in folder.iterdir()} == {*files, ".tokbench.json"}
    assert json.loads((folder / ".tokbench.json").read_text()) == {"kind": "tokenizer", "files": sorted(files)}
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["settings"]["construction"]["method"] == "bpe"
    assert {"versions", "revision", "hardware", "seconds"} <= set(manifest)


def test_a_text_that_yields_too_few_tokens(tmp_path: Path, tokbench: Tokbench) -> None:
    (tmp_path / "counts.tsv").write_text("6162\t2\n")
    source = ["--counts", tmp_path / "counts.tsv", "--scheme", "none"]
    outcome = done(tokbench("build", "bpe", "--size", 1000, *source, "-o", tmp_path / "built"))
    assert "the text yields 257 tokens, fewer than the 1,000 asked for" in outcome.stderr


def test_threads_and_repetition_change_nothing(
    counts: PretokenCounts, scores: Path, tmp_path: Path, tokbench: Tokbench
) -> None:
    for method in constructions:
        one = build(tokbench, method, counts, scores, tmp_path / "one", "--name", "x", "--threads", 1)
        two = build(tokbench, method, counts, scores, tmp_path / "two", "--name", "x", "--threads", 3)
        for file in one.iterdir():
            if file.name != "manifest.json":
                assert file.read_bytes() == (two / file.name).read_bytes(), (method, file.name)


# Measuring


def test_measure(counts: PretokenCounts, scores: Path, text: bytes, tmp_path: Path, tokbench: Tokbench) -> None:
    folder = build(tokbench, "unigram", counts, scores, tmp_path / "unigram")
    counts.write(tmp_path / "counts.parquet")
    call = ["measure", folder, "--counts", tmp_path / "counts.parquet", "--corpus", "manual"]
    shown = json.loads(done(tokbench(*call)).stdout)
    done(tokbench(*call, "-o", tmp_path / "measured.json", "--variant", "mine"))
    written = json.loads((tmp_path / "measured.json").read_text())
    assert (shown["variant"], written["variant"], shown["size"], shown["corpus"]) == ("unigram", "mine", 900, "manual")
    assert shown["measurements"] == written["measurements"]
    ids = Tokenizer.load(folder).encode(text)
    [tokens] = [row for row in shown["measurements"] if row["metric"] == "corpus_token_count"]
    assert tokens["value"] == len(ids)


def test_from_a_corpus(tmp_path: Path, tokbench: Tokbench) -> None:
    """A corpus of JSON Lines through prepare, count and build, as the rules call them."""
    rows = write_json_lines(tmp_path / "rows.jsonl", [{"text": topic.decode()} for topic in TOPICS * 8])
    recipe = json.dumps({"source": {"type": "jsonl"}, "splits": {"tokenizer": 0.7, "evaluation": 0.3}, "shards": 2})
    done(tokbench("prepare", "--recipe", recipe, "-o", tmp_path / "corpus", rows))
    shards = sorted((tmp_path / "corpus" / "tokenizer").glob("*.parquet"))
    done(tokbench("count", "--scheme", "gpt2", "-o", tmp_path / "counts.parquet", *shards))
    done(tokbench("build", "bpe", "--size", 500, "--counts", tmp_path / "counts.parquet", "-o", tmp_path / "bpe"))
    assert len(Tokenizer.load(tmp_path / "bpe")) == 500


def test_counts_that_come_as_files(counts: PretokenCounts, tmp_path: Path, tokbench: Tokbench) -> None:
    """A table of counts, and words with theirs, give what counting gives."""
    counts.write(tmp_path / "counts.parquet")
    done(tokbench("import_counts", "--scheme", "gpt2", "-o", tmp_path / "same.parquet", tmp_path / "counts.parquet"))
    assert (tmp_path / "same.parquet").read_bytes() == (tmp_path / "counts.parquet").read_bytes()
    (tmp_path / "words.txt").write_text("the cat Ġsat")
    (tmp_path / "counts.txt").write_text("3\n1\n2\n")
    files = [tmp_path / "words.txt", tmp_path / "counts.txt"]
    done(tokbench("import_counts", "--scheme", "gpt2", "-o", tmp_path / "words.parquet", *files))
    read = PretokenCounts.read(tmp_path / "words.parquet")
    assert (dict(read.items()), read.scheme) == ({b"the": 3, b"cat": 1, "Ġsat".encode(): 2}, "gpt2")
    outcome = tokbench("import_counts", "--scheme", "digit", "-o", tmp_path / "no.parquet", tmp_path / "counts.parquet")
    assert "was counted with 'gpt2'; name that" in outcome.message
