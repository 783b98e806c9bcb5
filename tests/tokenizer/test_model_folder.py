"""The folder of a trained model, as programs open it that do not know Tokbench, under each version of transformers.

``mpt_config.json`` is the configuration of a trained model; tests/models/test_pretraining_train.py compares it with a
real one, which needs the libraries of language models.
"""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.imports import each_after
from tokbench.adapters.export_hugging_face import export
from tokbench.construction import bpe
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import describe_to_others

if find_spec("transformers") is None:
    pytest.skip("transformers is not installed", allow_module_level=True)

CONFIGURATION = Path(__file__).with_name("mpt_config.json")
TEXT = "Tokbench don't naïve 東京 🦀  007"
OPEN = """
import json, sys
from transformers import AutoConfig, AutoTokenizer

config, tokenizer = AutoConfig.from_pretrained({folder!r}), AutoTokenizer.from_pretrained({folder!r})
print(json.dumps([config.model_type, config.max_seq_len, tokenizer.model_max_length, tokenizer({text!r})["input_ids"]]))
assert "tokbench" not in sys.modules
"""


@pytest.mark.parametrize("segmentation", ["merge", "greedy"])
def test_opens_by_automatic_classes_without_tokbench(segmentation: str, counts: PretokenCounts, tmp_path: Path) -> None:
    tokenizer = Tokenizer(bpe.build(counts, 600, bpe.BpeOptions()), "gpt2", segmentation)
    tokenizer.save(tmp_path)
    export(tokenizer, counts, tmp_path)
    shutil.copy(CONFIGURATION, tmp_path / "config.json")
    describe_to_others(tmp_path, 32)
    [printed] = each_after("", [OPEN.format(folder=str(tmp_path), text=TEXT)])
    found = json.loads(printed.splitlines()[-1])
    assert found == ["mpt", 32, 32, tokenizer.encode(TEXT).tolist()]


def test_names_our_class_without_equal_ids(counts: PretokenCounts, tmp_path: Path) -> None:
    tokenizer = Tokenizer(bpe.build(counts, 600, bpe.BpeOptions()), "gpt2", "shortest_path")
    tokenizer.save(tmp_path)
    assert export(tokenizer, counts, tmp_path).startswith("not exported")
    describe_to_others(tmp_path, 32)
    described = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert (described["tokenizer_class"], described["model_max_length"]) == ("TokbenchTokenizer", 32)
