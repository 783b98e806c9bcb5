"""Decoding of ids that arrive one at a time: the joined texts are the decoded ids for every form of tokenizer."""

import random
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import tokbench
from tests.support.every_form import FORMS, TEXTS
from tests.support.external_tokenizers import few  # noqa: F401
from tokbench.errors import TokbenchError
from tokbench.tokenizer import Tokenizer

pytest.importorskip("sentencepiece")


@cache
def tokenizer_of(form: str) -> Tokenizer:
    with TemporaryDirectory() as folder:
        return FORMS[form](Path(folder))


def streamed(tokenizer: Tokenizer, ids: list[int]) -> list[str]:
    stream = tokbench.decode_stream(tokenizer)
    return [*map(stream.add, ids), stream.end()]


@pytest.mark.parametrize("form", FORMS)
def test_joined_texts_are_the_decoded_ids(form: str) -> None:
    """Of texts, and of ids drawn at random, with incomplete characters and special ids."""
    tokenizer, drawn = tokenizer_of(form), random.Random(7)
    known = [one for one in range(tokenizer.id_limit) if form != "tekken" or one not in range(1, 7)]
    known = [one for one in known if decodes(tokenizer, one)]
    texts = [*TEXTS, "".join(TEXTS), " ".join(TEXTS) * 3]
    sequences = [tokenizer.encode(text).tolist() for text in texts]
    sequences += [[drawn.choice(known) for _ in range(drawn.randrange(200))] for _ in range(30)]
    for ids in sequences:
        parts = streamed(tokenizer, ids)
        assert "".join(parts) == tokenizer.decode_text(ids)


def decodes(tokenizer: Tokenizer, one: int) -> bool:
    try:
        tokenizer.decode([one])
    except TokbenchError:
        return False
    return True


@pytest.mark.parametrize("form", ["bpe", "byte level", "tiktoken through its library", "Llama 2, native", "lower case"])
def test_a_text_is_returned_with_the_id_that_completes_it(form: str) -> None:
    tokenizer = tokenizer_of(form)
    for text in TEXTS:
        ids = tokenizer.encode(text).tolist()
        parts = streamed(tokenizer, ids)
        assert "\ufffd" not in "".join(parts)
        for end in range(len(ids) + 1):
            complete = tokenizer.decode(ids[:end]).decode("utf-8", "ignore")
            assert "".join(parts[:end]) == complete.rstrip("\ufffd")


@pytest.mark.parametrize("form", ["SentencePiece, byte fallback", "Llama 2 through its library"])
def test_characters_of_several_ids_are_returned_once(form: str) -> None:
    tokenizer = tokenizer_of(form)
    ids = tokenizer.encode("a \u4e2d\u6587 b").tolist()
    parts = streamed(tokenizer, ids)
    assert len(ids) >= 8
    assert "".join(parts) == "a \u4e2d\u6587 b"
    assert "\ufffd" not in "".join(parts)


def test_a_stream_begins_again_after_its_end() -> None:
    tokenizer = tokenizer_of("Llama 2, native")
    stream = tokbench.decode_stream(tokenizer)
    for text in ("the cat", "a hat"):
        assert "".join(map(stream.add, tokenizer.encode(text).tolist())) + stream.end() == text


def test_ids_that_do_not_exist_are_an_error_and_leave_the_stream_as_it_is() -> None:
    for form in ("bpe", "metaspace"):
        tokenizer = tokenizer_of(form)
        stream = tokbench.decode_stream(tokenizer)
        ids = tokenizer.encode("for x").tolist()
        text = "".join(map(stream.add, ids))
        with pytest.raises(TokbenchError, match="is not in the vocabulary"):
            stream.add(99_999)
        assert text + stream.end() == "for x"


def test_a_decoder_that_changes_earlier_text_is_an_error() -> None:
    backwards = tokbench.wrap(lambda text: list(text.encode()), lambda ids: bytes(ids[::-1]), name="b", size=256)
    stream = tokbench.decode_stream(backwards)
    stream.add(97)
    with pytest.raises(TokbenchError, match="more ids change the text of earlier ones"):
        stream.add(98)
    with pytest.raises(TokbenchError, match="has no decode"):
        tokbench.decode_stream(tokbench.wrap(lambda text: [1], name="b"))
    with pytest.raises(TokbenchError, match="is not a tokenizer"):
        tokbench.decode_stream("b")  # type: ignore[arg-type]
