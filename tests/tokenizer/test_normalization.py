"""Normalization before pre-tokenization: forms as those of ``tokenizers``, places in the original text, and folders."""

import unicodedata
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench import measure
from tokbench.corpus.nfc import LATER, nfc
from tokbench.errors import TokbenchError
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.normalization import STEPS, Normalization
from tokbench.vocabulary import BYTES, Vocabulary

NORMALISED = [
    code for code in range(0x110000) if unicodedata.combining(chr(code)) or unicodedata.decomposition(chr(code))
]
JAMO = [*range(0x1100, 0x1113), *range(0x1161, 0x1176), *range(0x11A7, 0x11C3), *range(0xAC00, 0xAC80)]
CODES = [int(code, 16) for part in LATER.split() for code in part.split("-")]
TEXTS = st.lists(
    st.one_of(
        st.sampled_from(NORMALISED).map(chr),
        st.sampled_from(JAMO).map(chr),
        st.sampled_from(CODES).map(chr),
        st.sampled_from(
            ["a", "e", " ", "  ", "\u2581", "\x00", "\u200d", "<", "\u0378", "\U0001f642", "\u0301", "\u0327"]
        ),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=12,
).map("".join)


@given(TEXTS)
@settings(max_examples=500)
def test_nfc_is_that_of_the_library(text: str) -> None:
    assert nfc(text.encode()).decode() == tokenizers.normalizers.NFC().normalize_str(text)


def test_nfc_of_every_character_in_context_is_that_of_the_library() -> None:
    theirs = tokenizers.normalizers.NFC()
    for first in range(0, 0x110000, 64):
        codes = [code for code in range(first, first + 64) if not 0xD800 <= code < 0xE000]
        text = "\n".join(f"\u0301{chr(code)}\u0327\u0334\ne{chr(code)}\u0301" for code in codes)
        assert nfc(text.encode()).decode() == theirs.normalize_str(text)


@given(TEXTS, st.lists(st.sampled_from(STEPS), max_size=3, unique=True), st.sampled_from([b"", b"\xff", b"\xe4\xb8"]))
def test_places_in_the_original_text(text: str, steps: list[str], end: bytes) -> None:
    """They ascend from the start to the end, and a text that is not changed has the same places."""
    normalization, data = Normalization(steps), text.encode() + end
    normalised = normalization(data)
    origins = normalization.origins(data, np.arange(len(normalised) + 1))
    assert (origins[0], origins[-1]) == (0, len(data))
    assert (np.diff(origins) >= 0).all()
    if normalised == data:
        assert origins.tolist() == [*range(len(data) + 1)]
    assert normalization(data).decode("utf-8", "surrogateescape").endswith(end.decode("utf-8", "surrogateescape"))
    assert "".join(part for part, _, _ in normalization.parts(text)) == normalization.inside(text.encode()).decode()


@pytest.mark.parametrize(
    ("steps", "text", "normalised", "restored"),
    [
        (["nfc"], "e\u0301 x", "\u00e9 x", "\u00e9 x"),
        (["metaspace"], "a\u2581b", "a b", "a b"),
        (["metaspace", "space"], " a\u2581b", "  a b", " a b"),
        (["metaspace", "space"], "", "", ""),
        (["metaspace", "missing_space"], "\u2581a", " a", "a"),
        (["metaspace", "missing_space"], "a", " a", "a"),
    ],
)
def test_steps(steps: list[str], text: str, normalised: str, restored: str, tmp_path: Path) -> None:
    """The tokenizer has them in its folder, and its losses are those of the steps."""
    tokenizer = Tokenizer(Vocabulary(BYTES), "gpt2", "greedy", name="steps", normalization=steps)
    tokenizer.save(tmp_path / "saved")
    for one in (tokenizer, Tokenizer.load(tmp_path / "saved")):
        assert bytes(one.encode(text).tolist()).decode() == normalised
        assert one.decode(one.encode(text)).decode() == restored
        assert one.count(text) == len(normalised.encode())
        assert [ids.tolist() for ids in one.encode_batch([text, "a"])] == [[*normalised.encode()], [*one.encode("a")]]
        assert one.bytes_lost(text.encode()) == 0 or restored != text
        assert not one.lossless
        assert one.last_cut(text.encode() * 9) == 0
        spans = one.byte_offsets(text)
        assert [int(spans[0, 0]), int(spans[-1, 1])] == [0, len(text.encode())] if text else not len(spans)
    assert repr(tokenizer) == f"Tokenizer('steps', {' + '.join([*steps, 'gpt2'])}, 256 tokens, greedy)"
    plain = Tokenizer(Vocabulary(BYTES), "gpt2", "greedy")
    assert plain.lossless
    plain.save(tmp_path / "plain")
    assert "normalization" not in (tmp_path / "plain" / "tokbench.json").read_text()


def test_bytes_per_token_divide_by_the_original_text() -> None:
    tokenizer = Tokenizer(Vocabulary(BYTES), "gpt2", "greedy", name="nfc", normalization=["nfc"])
    rows = measure(tokenizer, ["e\u0301", "ab"])
    values = dict(zip(rows["key"], rows["value"], strict=True))
    assert (values["corpus_token_count"], values["bytes_per_token"]) == (4, 5 / 4)


def test_unknown_steps_are_rejected() -> None:
    with pytest.raises(
        TokbenchError, match=r"normalization: 'nfkc' is not a step \(nfc, nfc_between, metaspace, space, missing_"
    ):
        Normalization(["nfkc"])
