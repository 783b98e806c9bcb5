"""Bytes of ids: their sums are the bytes of texts for every form of tokenizer, and losses become bits per byte."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokbench
from tests.conftest import Tokbench
from tests.support import library_tokenizers as made
from tests.support.every_form import FORMS, LOSSLESS, LOSSY, TEXTS, WITH_BLANK
from tests.support.external_tokenizers import few, read  # noqa: F401
from tokbench.errors import TokbenchError
from tokbench.tokenizer.token_bytes import notes_on_bytes, token_bytes

pytest.importorskip("sentencepiece")


@pytest.mark.parametrize("form", FORMS)
def test_sums_are_the_bytes_of_texts(form: str, tmp_path: Path) -> None:
    tokenizer = FORMS[form](tmp_path)
    counts = tokbench.token_bytes(tokenizer)
    assert counts.dtype == np.int32
    assert len(counts) > max(tokenizer.id_limit - 1, tokenizer.end_of_text)
    assert counts[tokenizer.end_of_text] == 0
    blank = form in WITH_BLANK or form in ("metaspace", "BERT", "ends of words", "function of text")
    blank |= form.startswith("SentencePiece")
    for text in TEXTS:
        ids = tokenizer.encode(text).tolist()
        if tokenizer.unknown_id in ids:
            continue
        total = int(counts[ids].sum())
        decoded = tokenizer.decode(ids)
        if form == "SentencePiece, blank behind":
            assert total - len(decoded) in (0, 1)  # Its decoder drops the last blank, unless it is a token.
        else:
            assert total - len(decoded) == (blank and bool(ids)), (text, decoded)
        if form not in LOSSY:
            assert decoded == text.encode()


@pytest.mark.parametrize("form", [form for form in FORMS if form != "function of text"])
def test_an_id_adds_the_bytes_by_which_it_makes_a_decoded_text_longer(form: str, tmp_path: Path) -> None:
    """Decoded prefixes of a text, where these are complete characters."""
    tokenizer = FORMS[form](tmp_path)
    counts = tokbench.token_bytes(tokenizer)
    for text in TEXTS[:2]:
        ids = tokenizer.encode(text).tolist()
        if form in ("ends of words", "SentencePiece, blank behind") or tokenizer.unknown_id in ids:
            continue  # The blank after a token is decoded with the next one.
        sizes = [len(tokenizer.decode(ids[:end])) for end in range(len(ids) + 1)]
        assert np.diff(sizes)[2:].tolist() == counts[ids[2:]].tolist()


def test_special_and_unused_ids_have_no_bytes(tmp_path: Path) -> None:
    counts = token_bytes(FORMS["tekken"](tmp_path))
    assert counts[:7].tolist() == [0] * 7
    assert counts[7:263].tolist() == [1] * 256
    counts = token_bytes(FORMS["tiktoken"](tmp_path))
    assert counts[420:].tolist() == [0] * (len(counts) - 420)
    assert token_bytes(FORMS["lower case"](tmp_path))[[420, 421]].tolist() == [0, 6]


@pytest.mark.parametrize(
    ("form", "notes"),
    [
        ("bpe", []),
        ("tiktoken through its library", []),
        ("Llama 2, native", ["a blank is added to each text"]),
        ("SentencePiece, byte fallback", ["id 0 is the unknown token", "a blank is added to each text"]),
        ("NFC", ["1 of 6 sample texts are changed"]),
        ("BERT", ["is the unknown token", "a blank is added", "sample texts are changed"]),
    ],
)
def test_notes_say_where_sums_differ(form: str, notes: list[str], tmp_path: Path) -> None:
    tokenizer = FORMS[form](tmp_path)
    lines = notes_on_bytes(tokenizer, token_bytes(tokenizer))
    assert len(lines) == len(notes), lines
    for line, note in zip(lines, notes, strict=True):
        assert note in line


@pytest.mark.parametrize(
    ("encode", "more", "message"),
    [
        (lambda text: [1], {}, "has no decode"),
        (lambda text: [1], {"decode": str}, "its number of ids is not known"),
        (lambda text: list(text.encode()), {"decode": lambda ids: bytes(ids).decode("utf-8", "replace"), "size": 256},
         "the bytes of id 128 are not known"),
    ],
)  # fmt: skip
def test_functions_whose_bytes_are_not_known_are_an_error(
    encode: Callable[[str], list[int]], more: dict[str, Any], message: str
) -> None:
    with pytest.raises(TokbenchError, match=message):
        tokbench.token_bytes(tokbench.wrap(encode, name="mine", **more))


def test_command_writes_the_array_and_its_notes(tmp_path: Path, tokbench: Tokbench) -> None:
    path = made.written(tmp_path / "tokenizer.json", made.bert())
    ended = tokbench("bytes", path, "-o", tmp_path / "token_bytes.npy")
    assert ended.status == 0
    counts = np.load(tmp_path / "token_bytes.npy")
    assert counts.tolist() == token_bytes(read(path, "tokenizer_json")).tolist()
    assert "is the unknown token" in ended.stderr
    assert "end its name with .npy" in tokbench("bytes", path, "-o", tmp_path / "token_bytes.pt").message


@pytest.mark.parametrize("form", ["bpe", "tiktoken", "Llama 2, native"])
def test_bits_per_byte_is_the_sum_of_losses_by_the_sum_of_bytes(form: str, tmp_path: Path) -> None:
    """The same number in plain Python, from the tokens of the text."""
    tokenizer = (LOSSLESS | WITH_BLANK)[form](tmp_path)
    ids = tokenizer.encode(TEXTS[0])
    losses = np.linspace(0.1, 5, len(ids), dtype=np.float32)
    size = len(TEXTS[0].encode()) + (form in WITH_BLANK)
    expected = sum(losses.astype(float).tolist()) / 0.6931471805599453 / size
    counts = tokbench.token_bytes(tokenizer)
    for given in (losses, losses.tolist()):
        assert tokbench.bits_per_byte(given, ids, tokenizer) == pytest.approx(expected, rel=1e-12)
    assert tokbench.bits_per_byte(losses.reshape(1, -1), ids.reshape(1, -1), counts) == pytest.approx(expected)
    with_end = np.append(ids, tokenizer.end_of_text)
    assert tokbench.bits_per_byte(np.append(losses, 9.0), with_end, tokenizer) == pytest.approx(expected)
    mean = float(losses.mean(dtype=np.float64))
    assert tokbench.bits_per_byte(mean, ids, tokenizer) == pytest.approx(expected)
    assert tokbench.bits_per_byte(mean, with_end, tokenizer) == pytest.approx(expected * len(with_end) / len(ids))


def test_losses_may_be_tensors() -> None:
    torch = pytest.importorskip("torch")
    tokenizer = LOSSLESS["bpe"](Path())
    ids = tokenizer.encode("the cat")
    losses = torch.ones(len(ids), requires_grad=True)
    expected = len(ids) / float(np.log(2)) / 7
    assert tokbench.bits_per_byte(losses.detach(), torch.tensor(ids), tokenizer) == pytest.approx(expected)
    with pytest.raises(TokbenchError, match=r"pass loss\.detach\(\)"):
        tokbench.bits_per_byte(losses, ids, tokenizer)


@pytest.mark.parametrize(
    ("loss", "ids", "message"),
    [
        ([1.0, 2.0], [97], r"the shape \(2,\) and the ids \(1,\)"),
        ([1.0], [-100], "id -100 is not one of the tokenizer"),
        ([1.0], [5000], r"id 5000 is not one of the tokenizer \(0 to 401\)"),
        ([1.0], [400], "the ids add no byte"),
        (1.0, [], "the ids add no byte"),
        ([float("nan")], [97], "not a finite number"),
        (["a"], [97], "are not numbers"),
        ([1.0], [0.5], "are not integers"),
        ([1.0, [2.0]], [97, 98], "is no array"),
    ],
)
def test_losses_and_ids_that_do_not_fit_are_an_error(loss: Any, ids: Any, message: str) -> None:
    with pytest.raises(TokbenchError, match=message):
        tokbench.bits_per_byte(loss, ids, LOSSLESS["bpe"](Path()))
