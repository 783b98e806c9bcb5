"""Bits per byte of documents."""

import math
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.downstream import tiny_mpt, toy_face
from tokbench.registry import TokbenchError


@given(length=st.integers(0, 30), window=st.integers(1, 9), data=st.data())
def test_windows_predict_every_token_once(torch: ModuleType, length: int, window: int, data: st.DataObject) -> None:
    from tokbench.downstream.bits_per_byte import windows

    stride = data.draw(st.integers(1, window))
    sequence = list(range(100, 101 + length))
    cut = list(windows(sequence, window, stride))
    assert [target for _, targets in cut for target in targets] == sequence[1:]
    for inputs, targets in cut:
        assert len(inputs) <= window
        assert inputs[-len(targets) :] == [target - 1 for target in targets]
        assert inputs[0] == 100 or len(inputs) == window


def test_bits_per_byte_against_one_pass(torch: ModuleType) -> None:
    from tokbench.downstream.bits_per_byte import bits_per_byte

    model, face = tiny_mpt(torch), toy_face()
    documents = [b"the time in the road \xff", b"", b"winter over her window"]
    start = face.eos_token_id

    def measure(window: int, stride: int, batch_size: int) -> float:
        value, of = bits_per_byte(
            model,
            lambda text: face.tokenizer.encode(text).tolist(),
            documents,
            start,
            window=window,
            stride=stride,
            batch_size=batch_size,
            device="cpu",
        )
        assert of["bytes"] == sum(map(len, documents))
        assert of["tokens"] == sum(len(face.tokenizer.encode(document)) for document in documents)
        assert value == of["bits"] / of["bytes"]
        return of["bits"]

    expected = 0.0
    for document in documents:
        ids = [start, *face.tokenizer.encode(document).tolist()]
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
        expected -= sum(float(logits[i - 1, ids[i]]) for i in range(1, len(ids))) / math.log(2)
    assert measure(512, 256, 2) == pytest.approx(expected, abs=1e-3)
    assert measure(8, 4, 3) == pytest.approx(measure(8, 4, 1), abs=1e-3)
    with pytest.raises(TokbenchError, match="no text"):
        bits_per_byte(model, list, [b""], start, window=8, stride=4, batch_size=1, device="cpu")
