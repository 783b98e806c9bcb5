"""Whatever is wrong outside ends in one clear line, status 2, nothing on standard output and no output file."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

from tests.conftest import EXPERIMENT, Outcome, Tokbench
from tests.support.wrong_commands import COMMANDS, NUMBERS, WHOLE_OPTIONS
from tests.support.wrong_configurations import TEXTS, VALUES, Pieces, changed
from tokbench.construction.bpe import BpeOptions
from tokbench.construction.bpe import build as bpe
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, counts: PretokenCounts, scores: Path) -> Path:
    """Folder of files that are what they say, and of others that are not."""
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "folder").mkdir()
    for name, size in (("tokenizer", 300), ("other", 310)):
        (folder / name).mkdir()
        origin = {"construction": {"method": "bpe"}, "requested_size": size}
        Tokenizer(bpe(counts, size, BpeOptions()), "gpt2", "merge", origin=origin).save(folder / name)
    counts.write(folder / "counts.parquet")
    PretokenCounts.from_pairs([(b"a", 1)], "none").write(folder / "none.parquet")
    (folder / "none.tsv").write_text("61\t1\n")
    (folder / "scores.parquet").write_bytes(scores.read_bytes())
    texts = {
        "plain.txt": "some text",
        "ids.txt": "5 6",
        "large.txt": "9" * 20,
        "beyond.txt": "300",
        "negative.txt": "-1",
    }
    texts |= {"words.jsonl": '{"body": "a"}\n', "lists.jsonl": "[1]\n", "deep.jsonl": "[" * 100_000 + "\n"}
    texts |= {"rows.jsonl": '{"text": "a"}\n', "plain.jsonl.gz": "no gzip", "plain.txt.zst": "no zstd"}
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "cut.txt.gz").write_bytes(gzip.compress(bytes(range(256)) * 99)[:-20])
    pl.DataFrame({"text": ["a"]}).write_parquet(folder / "texts.parquet")
    pl.DataFrame({"text": [1]}).write_parquet(folder / "numbers.parquet")
    pl.DataFrame({"body": ["a"], "lang": ["en"]}).write_parquet(folder / "rows.parquet")
    (folder / "damaged.parquet").write_bytes((folder / "texts.parquet").read_bytes()[:-9])
    (folder / "tables").mkdir()
    (folder / "tables" / "intrinsic.parquet").write_bytes((folder / "damaged.parquet").read_bytes())
    np.save(folder / "reals.npy", np.array([0.5]))
    (folder / "cut.npy").write_bytes((folder / "reals.npy").read_bytes()[:20])
    (folder / "good.yaml").write_text(EXPERIMENT)
    for name, kind, file, more in (
        ("parquet", "parquet", "rows.parquet", {}),
        ("language", "parquet", "texts.parquet", {"language_field": "tongue"}),
        ("numbers", "parquet", "numbers.parquet", {}),
        ("damaged", "parquet", "damaged.parquet", {}),
        ("jsonl", "jsonl", "words.jsonl", {}),
    ):
        values = yaml.safe_load(EXPERIMENT)
        values["corpora"]["mine"] = {"source": {"type": kind, "path": str(folder / file), **more}}
        (folder / f"{name}.yaml").write_text(json.dumps(values))
    return folder


def rejected(outcome: Outcome, pieces: Pieces) -> None:
    assert outcome.status == 2, outcome.stderr
    assert outcome.stdout == b""
    [line] = outcome.stderr.splitlines()
    assert line.startswith("tokbench")
    assert "Traceback" not in line
    for piece in pieces:
        assert piece in line


@pytest.mark.parametrize("name", TEXTS)
def test_files_of_configuration(name: str, tmp_path: Path, tokbench: Tokbench) -> None:
    content, pieces = TEXTS[name]
    file = tmp_path / "mine.yaml"
    file.write_bytes(content)
    outcome = tokbench("validate", file)
    first, *others = outcome.stderr.splitlines()
    rejected(Outcome(outcome.status, outcome.stdout, first), (f"tokbench: {file}:", *pieces))
    assert all(line.startswith(f"{file}: ") for line in others)  # what the rest of the file lacks


@pytest.mark.parametrize(("path", "value", "pieces"), VALUES)
def test_values_of_keys(
    path: str, value: Any, pieces: Pieces, experiment: dict[str, Any], tmp_path: Path, tokbench: Tokbench
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(changed(experiment, path, value)))
    rejected(tokbench("validate", file), pieces)


def run(words: list[str], place: Path, tmp_path: Path, tokbench: Tokbench) -> Outcome:
    """Run a row of the table; nothing may be written where its output would go."""
    filled = [word.replace("@out", str(tmp_path / "out")).replace("@", f"{place}/") for word in words]
    outcome = tokbench(*filled)
    assert list(tmp_path.iterdir()) == []
    return outcome


@pytest.mark.parametrize(("line", "pieces"), COMMANDS)
def test_command_lines(line: str, pieces: Pieces, place: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    words = [word.replace("_'", " '").replace("'_", "' ").replace(":_", ": ") for word in line.split(" ")]
    rejected(run(words, place, tmp_path, tokbench), pieces)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(("line", "option"), [(line, name) for line, names in WHOLE_OPTIONS.items() for name in names])
def test_whole_numbers(line: str, option: str, number: str, place: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    rejected(run([*line.split(), option, number], place, tmp_path, tokbench), (f"'{option}'", NUMBERS[number]))
