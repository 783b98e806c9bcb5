"""The type of a file is decided by its content: tokenizers of every library, texts of every format, and neither."""

import gzip
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import polars as pl
import pytest

from tests.conftest import Tokbench
from tests.support import library_tokenizers as made
from tokbench.adapters.open import open_tokenizer
from tokbench.commands.declaration import declarations, find_command
from tokbench.commands.inputs import OfContent, TokenizerPath
from tokbench.errors import TokbenchError
from tokbench.io.contents import content_of, is_tokenizer
from tokbench.tokenizer import Tokenizer

LINES = "the cat sat\n" * 300
TOKENIZERS: dict[str, Callable[[], bytes | str | dict[str, object]]] = {
    "tokenizer.json": made.byte_level,
    "compact.json": lambda: json.dumps(made.byte_level()),
    "renamed.txt": lambda: json.dumps(made.byte_level(), indent=2),
    "tekken.json": lambda: made.tekken(made.ranks()),
    "ranks.tiktoken": lambda: made.tiktoken_file(made.ranks()),
    "ranks.txt": lambda: made.tiktoken_file(made.ranks()),
    "pieces.model": made.sentencepiece_model,
    "hexadecimal.txt": lambda: "".join(f"{byte:02x}\n" for byte in range(256)) + "6162\n",
    "merges.txt": lambda: "#version: 0.2\nt h\nth e\n",
    "headless.txt": lambda: "".join(f"a{'b' * number} b\n" for number in range(200)),
    "vocab.txt": lambda: "[PAD]\n[UNK]\n" + "".join(f"##{number}\n" for number in range(300)),
}
"""Files of tokenizers, with names that do not always say so."""
TEXTS = {
    "prose.txt": LINES,
    "pairs.txt": "New York\nLos Angeles\n" * 200,
    "one_word.txt": "word\n" * 300,
    "words.txt": "".join(f"word{number}\n" for number in range(300)),
    "digests.txt": "".join(f"{number:032x}\n" for number in range(300)),
    "numbered.txt": "word 12\n" * 300,
    "pairs_of_letters.txt": "a b\n" * 300,
    "moves.txt": "".join(f"{left} {right}\n" for left in "abcdefghijklmnop" for right in "abcdefghijklmnop"),
    "shader.txt": "#version 330 core\nvoid main() {}\n",
    "mention.txt": "A vocabulary has the line\n[UNK]\nfor others.\n" * 100,
    "model.jsonl": '{"model": {"name": "a", "vocab": 3}, "text": "x"}\n' * 3,
    "version.json": '{"version": "1.0", "text": "the cat"}\n',
    "empty.txt": "",
}
"""Texts that resemble tokenizers."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, make in TOKENIZERS.items():
        made.written(tmp_path / name, make())
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_tokenizers_file_is_one_under_any_name(name: str, folder: Path) -> None:
    assert is_tokenizer(folder / name)
    packed = folder / f"{name}.gz"
    packed.write_bytes(gzip.compress((folder / name).read_bytes()))
    assert is_tokenizer(packed)


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_resembles_one_is_a_text(name: str, folder: Path) -> None:
    assert content_of(folder / name).kind == "text"


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert content_of(tmp_path / "pipe").kind == "text"


def test_a_word_that_is_too_long_for_a_path_is_a_text() -> None:
    assert content_of("some words " * 1000).kind == "text"


def test_a_word_that_is_too_long_for_a_path_is_no_tokenizer(tmp_path: Path, tokbench: Tokbench) -> None:
    word, output = "long" * 2000, tmp_path / "out"
    for line in (("compare", word, word, word), ("check", word), ("import", word, "-o", output), ("show", word, "a")):
        outcome = tokbench(*line)
        assert outcome.status == 2, line[0]
        assert "File name too long" not in outcome.message, line[0]


def test_folders(folder: Path, tokenizer: Path, tmp_path: Path) -> None:
    for name, kind in (("tokenizer.json", "tokenizer"), ("merges.txt", "tokenizer"), ("prose.txt", "folder")):
        place = tmp_path / f"folder of {name}"
        place.mkdir()
        (folder / name).rename(place / name)
        assert content_of(place).kind == kind
    assert content_of(tokenizer).kind == "tokenizer"
    sized = tmp_path / "sized"
    sized.mkdir()
    tokenizer.rename(sized / "300")
    assert content_of(sized).kind == "tokenizer"
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "model.safetensors").write_bytes(b"")
    assert content_of(model).kind == "model"
    results = tmp_path / "results"
    (results / "tables").mkdir(parents=True)
    pl.DataFrame({"a": [1]}).write_parquet(results / "tables" / "intrinsic.parquet")
    assert content_of(results).kind == "results"


def test_more_than_two_tokenizers_are_compared_with_the_first(
    folder: Path, tokenizer: Path, plain: Path, tokbench: Tokbench
) -> None:
    """The third was counted as text, which turned the verdict round."""
    other = folder / "other"
    Tokenizer.load(tokenizer).save(other)
    for third in ("tokenizer.json", "ranks.txt", "tekken.json", "pieces.model", other):
        words = (tokenizer, folder / "compact.json", folder / third, plain)
        done = tokbench("compare", *words, "--pattern", "gpt2", "--json")
        assert done.status == 0, done.stderr
        found = json.loads(done.stdout)["comparisons"]
        assert [one["opened"]["b"]["place"] for one in found] == [str(word) for word in words[1:3]]
        assert {one["opened"]["a"]["place"] for one in found} == {str(tokenizer)}
        assert all("1 document:" in part["heading"] for one in found for part in one["parts"])
    shown = tokbench("compare", *words, "--pattern", "gpt2").stdout.decode()
    assert shown.count("Tokens of 1 document") == 1
    for table in shown.split(f"\nTokens relative to those of {tokenizer.name}\n"):
        assert [len(re.findall(rf"^  {word.name}  ", table, re.MULTILINE)) for word in words[:3]] == [1, 1, 1]


def test_a_text_between_tokenizers_is_not_counted(
    folder: Path, tokenizer: Path, plain: Path, tokbench: Tokbench
) -> None:
    prose = folder / "prose.txt"
    message = tokbench("compare", tokenizer, folder / "compact.json", prose, folder / "tokenizer.json").message
    assert (
        message
        == f"tokbench: {folder / 'tokenizer.json'}: a tokenizer after the text {prose}; name all tokenizers first"
    )
    rows = folder / "model.jsonl"
    message = tokbench("compare", tokenizer, rows, plain).message
    assert message.startswith(f"tokbench: {rows}: JSON Lines, not a tokenizer; name it with --from")
    assert tokbench("compare", tokenizer).message == (
        "tokbench: compare: fewer than two tokenizers; name two or more, then files of text"
    )


def test_variants_of_an_experiment_are_no_texts(
    tokenizer: Path, tmp_path: Path, plain: Path, tokbench: Tokbench
) -> None:
    for name in ("a", "b", "c"):
        Tokenizer.load(tokenizer).save(tmp_path / "tokenizers" / name / "300")
    done = tokbench("compare", "a", "b", "c", plain, "--results", tmp_path, "--json")
    assert [one["b"] for one in json.loads(done.stdout)["comparisons"]] == ["b", "c"]


FREE: dict[str, tuple[str, ...]] = {
    "build": ("method",),
    "methods": ("names",),
    "init": ("folder",),
    "show": ("words",),
    "compare": ("words",),
    "import": ("path",),
    "download": ("archives", "folder", "names"),
}
"""Arguments that are no existing file or folder of one kind."""


def arguments() -> Iterator[tuple[str, click.Argument]]:
    for name in declarations():
        for parameter in find_command(name).params:
            if isinstance(parameter, click.Argument) and parameter.name not in FREE.get(name, ()):
                yield name, parameter


@pytest.fixture
def contents(folder: Path, tokenizer: Path, tmp_path: Path) -> dict[str, list[Path]]:
    """Files and folders of every kind of content that is never another."""
    model, results = tmp_path / "model", tmp_path / "results"
    for place, file in ((model, "config.json"), (model, "model.safetensors"), (results, "tables/intrinsic.parquet")):
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        (place / file).write_text("{}")
    (tmp_path / "library").mkdir()
    (folder / "tokenizer.json").rename(tmp_path / "library" / "tokenizer.json")
    (tmp_path / "page.html").write_text("<!DOCTYPE html><p>the cat")
    tokenizers = [folder / name for name in TOKENIZERS if name != "tokenizer.json"]
    return {
        "tokenizer": [*tokenizers, tokenizer, tmp_path / "library"],
        "model": [model],
        "results": [results],
        "marked_up": [tmp_path / "page.html"],
    }


def test_every_argument_rejects_other_kinds_of_files(contents: dict[str, list[Path]]) -> None:
    """A tokenizer is no text of any command, a text no tokenizer, and neither the results of an experiment."""
    seen = 0
    for name, argument in arguments():
        kind = argument.type
        assert isinstance(kind, OfContent | TokenizerPath), f"{name} {argument.name} does not ask"
        for found, paths in contents.items():
            for path in paths:
                if isinstance(kind, TokenizerPath):
                    if found not in ("tokenizer", "model"):
                        with pytest.raises(TokbenchError, match=rf"^{path}: [^\n]*; "):
                            open_tokenizer(str(path))
                    continue
                assert kind.kinds is not None, f"{name} {argument.name}"
                if found not in kind.kinds:
                    seen += 1
                    with pytest.raises((TokbenchError, click.BadParameter)) as rejected:
                        kind.convert(str(path), argument, None)
                    assert "\n" not in str(rejected.value)
    assert seen > 400


def test_commands_reject_swapped_arguments(folder: Path, tokenizer: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    """A text and a tokenizer in each other's place: one line that names the file, and nothing is written."""
    prose, ranks, output = folder / "prose.txt", folder / "ranks.txt", tmp_path / "out"
    for line in (
        ("check", prose, ranks), ("encode", prose, ranks), ("encode", tokenizer, ranks), ("decode", tokenizer, ranks),
        ("count", "--pretokenization", "gpt2", ranks, "-o", output), ("check", tokenizer, ranks),
        ("measure", tokenizer, "--documents", ranks), ("compare", prose, tokenizer, folder / "model.jsonl"),
        ("perturb", ranks, "-o", output), ("perturb", tokenizer, "-o", output),
        ("count", "--pretokenization", "gpt2", tokenizer, "-o", output), ("show", tokenizer, folder / "tekken.json"),
        ("show", tokenizer, tokenizer),
        ("prepare", "--recipe", '{"source": {"type": "text"}}', ranks, "-o", output),
        ("ngram_bits", tokenizer, "--train", ranks, "--test", prose),
    ):  # fmt: skip
        message = tokbench(*line).message
        assert str(folder) in message, message
        assert not output.exists()
