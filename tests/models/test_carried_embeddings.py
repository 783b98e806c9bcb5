"""Embeddings carried to another tokenizer: equal tokens keep their rows, others have means, all other tensors stay."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import tokbench
from tests.conftest import Tokbench
from tests.support import library_tokenizers as made
from tests.support.every_form import COUNTS, FORMS
from tests.support.external_tokenizers import few, read  # noqa: F401
from tests.support.pipeline import done
from tokbench.errors import TokbenchError
from tokbench.models import carried_embeddings
from tokbench.models.carried_embeddings import carry_embeddings
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.id_map import IdSource, map_ids
from tokbench.vocabulary import BYTES, Vocabulary

WIDTH = 5


@pytest.fixture(scope="module")
def old() -> Tokenizer:
    return tokbench.build("bpe", COUNTS, 300)


def matrix(rows: int, kind: Any = np.float32, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=(rows, WIDTH)).astype(kind)


def plain_map(old: Tokenizer, new: Tokenizer) -> list[tuple[str, list[int]]]:
    """The same map in plain Python, for tokenizers of bytes without special ids."""
    ids = {token: one for one, token in enumerate(old.vocabulary.tokens)}
    found = [
        ("same", [ids[token]]) if token in ids else ("mean", old.encode(token).tolist())
        for token in new.vocabulary.tokens
    ]
    return [*found, *(("same", [len(old) + one]) for one in range(2))]


def test_a_continued_tokenizer_keeps_rows_and_has_means(old: Tokenizer, tmp_path: Path) -> None:
    old.save(tmp_path / "old")
    new = tokbench.build("bpe_continued", COUNTS, 340, tokenizer=tmp_path / "old")
    sources = map_ids(old, new)
    assert [(source.kind, list(source.ids)) for source in sources] == plain_map(old, new)
    before = {"model.embed_tokens.weight": matrix(302), "layers.0.weight": matrix(7), "scale": np.float32(3)}
    before["lm_head.weight"] = matrix(302, seed=1)
    save_file({name: np.asarray(value) for name, value in before.items()}, tmp_path / "a.safetensors", {"format": "pt"})
    carried = carry_embeddings(tmp_path / "a.safetensors", tmp_path / "b.safetensors", sources, least=300)
    assert carried.names == ["lm_head.weight", "model.embed_tokens.weight"]
    after = load_file(tmp_path / "b.safetensors")
    assert after.keys() == before.keys()
    for name in carried.names:
        rows = before[name]
        expected = [rows[ids].mean(axis=0, dtype=np.float64).astype(np.float32) for _, ids in plain_map(old, new)]
        assert after[name].tolist() == np.array(expected).tolist()
    for name in ("layers.0.weight", "scale"):
        assert after[name].tobytes() == np.asarray(before[name]).tobytes()
    with safe_open(tmp_path / "b.safetensors", framework="np") as file:
        assert file.metadata() == {"format": "pt"}


def test_a_pruned_tokenizer_keeps_the_rows_of_its_tokens(old: Tokenizer, tmp_path: Path) -> None:
    old.save(tmp_path / "old")
    new = tokbench.build("bpe_pruned", COUNTS, 280, tokenizer=tmp_path / "old")
    sources = map_ids(old, new)
    assert {source.kind for source in sources} == {"same"}
    for one, token in enumerate(new.vocabulary.tokens):
        assert old.vocabulary.tokens[sources[one].ids[0]] == token


@pytest.mark.parametrize("small_blocks", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_every_type_of_numbers_is_rounded_as_torch_rounds_it(
    dtype: str, small_blocks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file as load_tensors
    from safetensors.torch import save_file as save_tensors

    if small_blocks:
        monkeypatch.setattr(carried_embeddings, "BLOCK_BYTES", 64)
    rows = torch.tensor(matrix(40, np.float64)).to(getattr(torch, dtype))
    other = torch.arange(1000).reshape(10, 100)
    save_tensors({"wte.weight": rows, "other": other}, tmp_path / "a.safetensors")
    sources = [IdSource("same", (39,)), IdSource("mean", (1, 2, 7)), IdSource("none", ()), IdSource("same", (40,))]
    carried = carry_embeddings(tmp_path / "a.safetensors", tmp_path / "b.safetensors", sources, least=40)
    assert [source.kind for source in carried.sources] == ["same", "mean", "none", "none"]
    after = load_tensors(tmp_path / "b.safetensors")
    assert torch.equal(after["other"], other)
    mean = rows.double().mean(0).float() if dtype == "bfloat16" else rows.double().mean(0)
    parts = rows[[1, 2, 7]].double().mean(0)
    parts = parts.float() if dtype == "bfloat16" else parts
    expected = torch.stack([rows[39], parts.to(rows.dtype), mean.to(rows.dtype), mean.to(rows.dtype)])
    assert torch.allclose(after["wte.weight"].double(), expected.double(), rtol=1e-15 if dtype == "float64" else 0)


@pytest.mark.parametrize("form", [form for form in FORMS if form not in ("function", "function of text", "pieces")])
def test_old_ids_spell_the_new_tokens_for_every_form(form: str, tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    before, after = FORMS[form](tmp_path), tokbench.build("bpe", COUNTS, 320)
    if form == "ends of words":
        with pytest.raises(TokbenchError, match="the bytes of its tokens are not known"):
            map_ids(before, after)
        return
    listed = before.listed
    assert listed is not None
    numbers = range(len(listed)) if listed.ids is None else listed.ids.tolist()
    spelt = dict(zip(numbers, listed.tokens, strict=True))
    sources = map_ids(before, after)
    known = 0
    for token, source in zip(after.vocabulary.tokens, sources, strict=False):
        known += bool(source.ids)
        assert not source.ids or b"".join(spelt[one] for one in source.ids) == token
    assert known > (20 if form in ("metaspace", "BERT") else 60)
    same = map_ids(before, before)
    assert [source.ids for source in same if source.kind == "same"] == [
        (one,) for one, source in enumerate(same) if source.kind == "same"
    ]


def test_special_ids_have_the_rows_of_their_names() -> None:
    old = Tokenizer(
        Vocabulary(BYTES, ids=np.arange(256, dtype=np.int32), special={256: b"<s>", 257: b"</s>"}), "gpt2", "greedy"
    )
    new = Tokenizer(
        Vocabulary(BYTES, ids=np.arange(9, 265, dtype=np.int32), special={0: b"</s>", 1: b"<new>"}), "gpt2", "greedy"
    )
    sources = map_ids(old, new)
    assert sources[:3] == [IdSource("same", (257,)), IdSource("none", ()), IdSource("none", ())]
    assert sources[9] == IdSource("same", (0,))


def test_a_library_s_tokenizer_may_have_no_special_ids(tmp_path: Path) -> None:
    values = made.byte_level() | {"normalizer": {"type": "Lowercase"}}
    lower = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert {source.kind for source in map_ids(lower, lower)} == {"same"}


def test_command_prints_the_numbers_of_rows_and_writes_the_map(
    old: Tokenizer, tmp_path: Path, tokbench: Tokbench
) -> None:
    old.save(tmp_path / "old")
    line = ["build", "bpe_continued", "--set", f"tokenizer={tmp_path / 'old'}", "--size", 302, "-o", tmp_path / "new"]
    COUNTS.write(tmp_path / "counts.parquet")
    done(tokbench(*line, "--counts", tmp_path / "counts.parquet"))
    tensors = {"transformer.wte.weight": matrix(304), "head.weight": matrix(304, seed=2), "bias": matrix(304)[:, 0]}
    save_file({name: np.ascontiguousarray(value) for name, value in tensors.items()}, tmp_path / "a.safetensors")
    call = ["carry_embeddings", tmp_path / "old", tmp_path / "new", tmp_path / "a.safetensors"]
    ended = done(tokbench(*call, "-o", tmp_path / "b.safetensors", "--map", tmp_path / "map.tsv"))
    assert ended.stdout.decode() == (
        "transformer.wte.weight: 304 rows (before: 304): 302 are the same, 2 are means of old rows, 0 have no old rows "
        "(the mean of all); 0 old tokens are lost\n"
    )
    assert "'head.weight' has a side of 304, too, and is copied" in ended.stderr
    rows = [line.split("\t") for line in (tmp_path / "map.tsv").read_text().splitlines()]
    assert rows[0] == ["new_id", "kind", "old_ids"]
    assert rows[98] == ["97", "same", "97"]
    assert [row[1] for row in rows[301:]] == ["mean", "mean", "same", "same"]
    keys = ["--key", "transformer.wte.weight", "--key", "head.weight", "--key", "bias"]
    done(tokbench(*call, "-o", tmp_path / "c.safetensors", *keys))
    after = load_file(tmp_path / "c.safetensors")
    assert {name: value.shape for name, value in after.items()} == {
        "transformer.wte.weight": (304, WIDTH), "head.weight": (304, WIDTH), "bias": (304,)
    }  # fmt: skip
    assert after["bias"][97] == tensors["bias"][97]


@pytest.mark.parametrize(
    ("tensors", "keys", "message"),
    [
        ({"a": matrix(2)}, (), "no tensor has a known name of embeddings and 300 rows or more; name it with --key"),
        ({"wte.weight": matrix(302)}, ("b",), r"no tensor 'b' \(found wte.weight\)"),
        ({"a": matrix(299)}, ("a",), "'a' has 299 rows, fewer than the old tokenizer's 300 ids"),
        ({"a": matrix(300), "b": matrix(301)}, (), r"different numbers of rows \(a \(300 rows\), b \(301 rows\)\)"),
        ({"wte.weight": np.zeros((302, 4), np.int8)}, (), "numbers of type I8, whose rows have no mean"),
    ],
)
def test_weights_that_do_not_fit_are_an_error(
    tensors: dict[str, Any], keys: tuple[str, ...], message: str, old: Tokenizer, tmp_path: Path
) -> None:
    save_file(tensors, tmp_path / "a.safetensors")
    with pytest.raises(TokbenchError, match=message):
        carry_embeddings(
            tmp_path / "a.safetensors", tmp_path / "b.safetensors", map_ids(old, old), least=300, keys=keys
        )
    assert not (tmp_path / "b.safetensors").exists()


def test_a_damaged_file_is_an_error(old: Tokenizer, tmp_path: Path) -> None:
    save_file({"wte.weight": matrix(302)}, tmp_path / "a.safetensors")
    content = (tmp_path / "a.safetensors").read_bytes()
    for damaged in (content[:-4], content[:40], b"", b"\xff" * 99):
        (tmp_path / "a.safetensors").write_bytes(damaged)
        with pytest.raises(TokbenchError, match="not a readable safetensors file"):
            carry_embeddings(tmp_path / "a.safetensors", tmp_path / "b.safetensors", map_ids(old, old), least=300)
