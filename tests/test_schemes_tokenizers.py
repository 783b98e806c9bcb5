"""Tokenizers whose pre-tokenization has options: their folders, their exports, and the commands all the way."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from tests.conftest import ODD, TOPICS, Tokbench
from tests.support.imports import each_after
from tests.support.pretokenizations import GROUPED, TEXTS, by
from tokbench.adapters.splits import why_not
from tokbench.adapters.tokenizer_json import export
from tokbench.construction.bpe import BpeOptions, build
from tokbench.counting.count import count_pretokens
from tokbench.errors import TokbenchError
from tokbench.pretokenization import pretokenization_of
from tokbench.tokenizer import Tokenizer


@pytest.mark.parametrize("setting", [GROUPED, by(r"\p{L}+|\p{N}{1,2}"), "deepseek_v3", "metaspace"])
def test_folders_hold_their_options(setting: Any, tmp_path: Path) -> None:
    counts = count_pretokens([*TOPICS, ODD], setting)
    made = Tokenizer(build(counts, 500, BpeOptions()), setting, "merge", name="mine")
    made.save(tmp_path)
    scheme = pretokenization_of(setting)
    assert json.loads((tmp_path / "tokbench.json").read_text())["pretokenization"] == scheme.setting
    loaded = Tokenizer.load(tmp_path)
    assert (loaded.scheme, loaded.pretokenization) == (scheme, counts.scheme)
    assert repr(loaded) == f"Tokenizer('mine', {scheme.label}, 500 tokens, merge)"

    @given(TEXTS)
    @settings(max_examples=60)
    def check(text: bytes) -> None:
        ids = loaded.encode(text)
        assert loaded.decode(ids) == text
        assert loaded.count(text) == len(ids)
        assert [one.tolist() for one in loaded.encode_batch([text, text], threads=2)] == [ids.tolist()] * 2

    check()


def test_options_are_under_the_checksum(tmp_path: Path) -> None:
    Tokenizer(build(count_pretokens(TOPICS, "gpt2"), 300, BpeOptions()), "digits", "greedy").save(tmp_path)
    file = tmp_path / "tokbench.json"
    whole = json.loads(file.read_text())
    file.write_text(json.dumps(whole | {"pretokenization": {"method": "digits", "group": 4}}))
    with pytest.raises(TokbenchError, match="not the one that was saved, or the settings are not"):
        Tokenizer.load(tmp_path)
    file.write_text(json.dumps(whole | {"pretokenization": {"method": "digits", "groop": 4}}))
    with pytest.raises(TokbenchError, match=rf"^{file}: pretokenization \(digits\): groop: unknown key") as raised:
        Tokenizer.load(tmp_path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        (by(r"[a-z&&[^e]]+"), "Hugging Face's engine cuts '"),
        (by(r"\w+"), "Hugging Face's engine cuts '¼ ¼a¼1"),
        (by(r"(?V1)[\p{L}--[a-e]]+"), "Hugging Face's engine does not take the pattern of 'regex (pattern (?V1"),
        (by(r"\p{L}++(?![a-z])|."), None),
        (GROUPED, None),
    ],
)
def test_what_the_tokenizers_library_cannot_do_is_said(setting: Any, reason: str | None, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    counts = count_pretokens(TOPICS, setting)
    told = why_not(pretokenization_of(setting), counts)
    assert told is None if reason is None else str(told).startswith(reason)
    said = export(Tokenizer(build(counts, 400, BpeOptions()), setting, "merge"), counts, tmp_path)
    assert (tmp_path / "tokenizer.json").exists() == (reason is None)
    assert said.startswith("tokenizer.json gives the same ids on" if reason is None else f"not exported: {reason}")


IMPORTED = """
import sys
from tokbench.api import count
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary
for setting in {settings!r}:
    Tokenizer(Vocabulary(BYTES), setting, "greedy").encode(b"a 12")
    count("a 12", setting)
    print("regex" in sys.modules)
"""


def test_the_engine_is_imported_where_it_is_called() -> None:
    """Not for schemes that are scanned."""
    scanned = ["gpt2", "cl100k", "o200k", "deepseek_v3", "metaspace"]
    [told] = each_after("", [IMPORTED.format(settings=[*scanned, "digits"])])
    assert told.split() == ["False"] * len(scanned) + ["True"]


def test_the_whole_way(tokbench: Tokbench, tmp_path: Path) -> None:
    """Counted, built, encoded and measured with options given as YAML; the same from JSON."""
    text = tmp_path / "text.txt"
    text.write_bytes(b"\n".join([*TOPICS, b"In 1234567 cases, 89 of 10000.", ODD]))
    any_bytes = (text, "--encoding", "bytes")
    written = "{method: sequence, steps: [gpt2, {method: digits}]}"
    for number, form in enumerate((written, json.dumps(GROUPED))):
        made = tokbench("count", "--pretokenization", form, "-o", tmp_path / f"{number}.parquet", *any_bytes)
        assert made.status == 0, made.message
    counts = tmp_path / "0.parquet"
    assert counts.read_bytes() == (tmp_path / "1.parquet").read_bytes()
    assert tokbench("build", "bpe", "--counts", counts, "--size", 400, "-o", tmp_path / "made").status == 0
    tokenizer = Tokenizer.load(tmp_path / "made")
    assert tokenizer.scheme.setting == pretokenization_of(GROUPED).setting
    assert (tmp_path / "made" / "tokenizer.json").exists()
    ids = tokbench("encode", tmp_path / "made", text, "-o", tmp_path / "ids.npy")
    assert ids.status == 0
    assert tokenizer.decode(np.load(tmp_path / "ids.npy")) == text.read_bytes()
    assert tokbench("measure", tmp_path / "made", "--counts", counts, "-o", tmp_path / "measured.json").status == 0
    assert tokbench("count", "--pretokenization", "gpt2", "-o", tmp_path / "gpt2.parquet", *any_bytes).status == 0
    other = tokbench("measure", tmp_path / "made", "--counts", tmp_path / "gpt2.parquet")
    assert other.status == 2
    assert f"count with --pretokenization '{pretokenization_of(GROUPED).text}'" in other.message
    assert tokbench("merge_counts", counts, tmp_path / "gpt2.parquet", "-o", tmp_path / "no.parquet").status == 2


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("{method: regex, pattern: '('}", "--pretokenization (regex): pattern: is no regular expression (missing )"),
        ("{method: regex}", "--pretokenization (regex): pattern: this key is missing; add it"),
        ("[gpt2]", "--pretokenization: expected a name, or {method: name, option: value} (found ['gpt2'])"),
        ("{method: regex, pattern: 'z|(?=ж)'}", "pattern 'z|(?=ж)': matches the empty string before 'жук'"),
    ],
)
def test_wrong_commands(form: str, said: str, tokbench: Tokbench, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("a жук")
    ended = tokbench("count", "--pretokenization", form, "-o", tmp_path / "no.parquet", tmp_path / "text.txt")
    assert ended.status == 2
    assert said in ended.message
    assert "\n" not in ended.message.strip()
    assert not (tmp_path / "no.parquet").exists()
