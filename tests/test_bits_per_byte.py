"""Bits per byte of documents."""

import json
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.downstream_tasks import tiny_mpt, toy_adapter
from tokbench.errors import TokbenchError


@given(length=st.integers(0, 30), window=st.integers(1, 9), data=st.data())
def test_windows_predict_every_token_once(torch: ModuleType, length: int, window: int, data: st.DataObject) -> None:
    from tokbench.downstream.bits_per_byte import TokenWindows

    stride = data.draw(st.integers(1, window))
    sequence = list(range(100, 101 + length))
    cut = list(TokenWindows(window, stride)(sequence))
    assert [target for _, targets in cut for target in targets] == sequence[1:]
    for inputs, targets in cut:
        assert len(inputs) <= window
        assert inputs[-len(targets) :] == [target - 1 for target in targets]
        assert inputs[0] == 100 or len(inputs) == window


@given(st.lists(st.integers(1, 9), max_size=40), st.integers(1, 12))
def test_windows_of_bytes(torch: ModuleType, sizes: list[int], span: int) -> None:
    """Every token once; of what stands before it at least ``span`` bytes are seen, or all, and less than twice that."""
    from tokbench.downstream.bits_per_byte import ByteWindows

    sequence = [0, *range(1, len(sizes) + 1)]
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    cut = list(ByteWindows(np.array([0, *sizes], np.int64), span)(sequence))
    assert [target for _, targets in cut for target in targets] == sequence[1:]
    for inputs, targets in cut:
        assert inputs[-len(targets) :] == [target - 1 for target in targets]
        assert len({starts[target - 1] // span for target in targets}) == 1
        assert len(inputs) <= 2 * span + 1
        for target in targets:
            seen = [token for token in inputs if token < target]
            forced = seen[0] == targets[0] - 1  # a token is seen at least, however long it is
            assert forced or starts[target - 1] - (starts[seen[0] - 1] if seen[0] else 0) < 2 * span
            if seen[0]:
                before = seen[0] - 1
                assert starts[target - 1] - (starts[before - 1] if before else 0) >= span


def test_bits_per_byte_against_one_pass(torch: ModuleType) -> None:
    from tokbench.downstream.bits_per_byte import ByteWindows, TokenWindows, bits_per_byte

    model, adapter = tiny_mpt(torch), toy_adapter()
    documents = [b"the time in the road \xff", b"", b"winter over her window"]
    start = adapter.eos_token_id

    def measure(window: int, stride: int, batch_size: int) -> float:
        value, of = bits_per_byte(
            model,
            lambda text: adapter.tokenizer.encode(text).tolist(),
            documents,
            start,
            cut=TokenWindows(window, stride),
            batch_size=batch_size,
            device="cpu",
        )
        assert of["bytes"] == sum(map(len, documents))
        assert of["tokens"] == sum(len(adapter.tokenizer.encode(document)) for document in documents)
        assert value == of["bits"] / of["bytes"]
        assert sum(document["bits"] for document in of["by_document"]) == pytest.approx(of["bits"])
        assert [document["bytes"] for document in of["by_document"]] == list(map(len, documents))
        return of["bits"]

    expected = 0.0
    for document in documents:
        ids = [start, *adapter.tokenizer.encode(document).tolist()]
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
        expected -= sum(float(logits[i - 1, ids[i]]) for i in range(1, len(ids))) / math.log(2)
    assert measure(512, 256, 2) == pytest.approx(expected, abs=1e-3)
    lengths = np.array([len(token) for token in adapter.tokenizer.vocabulary.tokens], np.int64)

    def encode(text: bytes) -> list[int]:
        return adapter.tokenizer.encode(text).tolist()

    for span, near in ((512, True), (3, False)):
        of_bytes = ByteWindows(lengths, span)
        _, of = bits_per_byte(model, encode, documents, start, cut=of_bytes, batch_size=2, device="cpu")
        assert (of["bits"] == pytest.approx(expected, abs=1e-3)) == near
        assert of["cut"] == {"span_bytes": span}
    assert measure(8, 4, 3) == pytest.approx(measure(8, 4, 1), abs=1e-3)
    with pytest.raises(TokbenchError, match="no text"):
        bits_per_byte(model, list, [b""], start, cut=TokenWindows(8, 4), batch_size=1, device="cpu")


def test_texts_are_measured_as_lm_eval_does(torch: ModuleType, tmp_path: Path) -> None:
    from functools import partial

    from lm_eval.api.instance import Instance
    from lm_eval.tasks import TaskManager

    from tokbench.downstream.bits_per_byte import TokenWindows, bits_per_byte
    from tokbench.downstream.coverings import Spellings
    from tokbench.downstream.scoring_lm import ScoringLM
    from tokbench.downstream.texts import measure_text

    pages = ["the time in the road", "winter over her window , here"]
    (tmp_path / "pages.jsonl").write_text("".join(json.dumps({"page": page}) + "\n" for page in pages))
    config = {
        "task": "pages",
        "dataset_path": "json",
        "dataset_kwargs": {
            "data_files": {"test": str(tmp_path / "pages.jsonl")},
            "cache_dir": str(tmp_path / "cache"),
        },
        "output_type": "loglikelihood_rolling",
        "test_split": "test",
        "doc_to_text": "",
        "doc_to_target": "{{page}}",
        "metric_list": [{"metric": "bits_per_byte"}],
    }
    task = TaskManager(include_defaults=False).load([config])["tasks"]["pages"]
    model, adapter = tiny_mpt(torch), toy_adapter()

    def encode(text: str | bytes) -> list[int]:
        return adapter.tokenizer.encode(text).tolist()

    spellings = Spellings(adapter.tokenizer.vocabulary.tokens)
    lm = ScoringLM(model, adapter, encode, adapter.eos_token_id, spellings=spellings, window=8, batch_size=2)
    requests = [Instance("loglikelihood_rolling", {}, (page,), 0, ("pages", n, 1)) for n, page in enumerate(pages)]
    scores = lm.loglikelihood_rolling(requests, disable_tqdm=True)
    measure = partial(
        bits_per_byte, model, encode, start=adapter.eos_token_id, cut=TokenWindows(8, 8), batch_size=2, device="cpu"
    )
    found = measure_text("pages", task, measure)
    for document, score in zip(found["documents"], scores, strict=True):
        assert document["bits"] == pytest.approx(-score / math.log(2), abs=1e-3)
    assert found["bits_per_byte"] == pytest.approx(-sum(scores) / math.log(2) / sum(map(len, pages)), abs=1e-4)
    assert [document["bytes"] for document in found["documents"]] == [len(page) for page in pages]
    assert len(measure_text("pages", task, measure, limit=1)["documents"]) == 1
