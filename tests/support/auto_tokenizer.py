"""A tokenizer folder of Tokbench and a fast tokenizer of ``transformers`` with the same vocabulary."""

from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ODD, TOPICS
from tokbench.adapters.tokenizer_json import to_hugging_face
from tokbench.construction import bpe
from tokbench.counting.count import count_pretokens
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer_config import END_OF_TEXT, PADDING

if find_spec("transformers") is None:
    pytest.skip("transformers is not installed", allow_module_level=True)

SIZE = 700
FIRST = "Naïve Straße 東京 🦀\u200d don't  2024\n\n\tlambda expressions"
SECOND = "for loops, else"
LONG = TOPICS[0].decode()[:400]
TEXTS = [FIRST, "", SECOND, LONG]
Pair = tuple[Any, Any]
FIVE = metadata.version("transformers").startswith("5.")
"""Whether this is version 5 of ``transformers``, whose stock class has fewer methods."""
TENSOR = "pt" if find_spec("torch") else "np"
"""The kind of tensors that can be returned."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bpe")
    Tokenizer(bpe.build(count_pretokens([*TOPICS, ODD], "gpt2"), SIZE, bpe.BpeOptions()), "gpt2", "merge").save(folder)
    return folder


@pytest.fixture
def both(folder: Path) -> Pair:
    """Ours and the stock one, new for each test."""
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    ours = AutoTokenizer.from_pretrained(folder)
    stock = PreTrainedTokenizerFast(
        tokenizer_object=to_hugging_face(ours.tokenizer),
        eos_token=END_OF_TEXT,
        bos_token=END_OF_TEXT,
        pad_token=PADDING,
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
        model_max_length=ours.model_max_length,
    )
    return ours, stock


def marked(content: str, **flags: bool) -> Any:
    from transformers import AddedToken

    return AddedToken(content, **flags)
