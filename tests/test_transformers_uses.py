"""What ``AutoTokenizer`` gives of a folder of ours: any text with added tokens, and what others do with it."""

# ruff: noqa: F811 - fixtures are named like the parameters that they fill

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.auto_tokenizer import SIZE, TEXTS, Pair, both, folder, marked  # noqa: F401
from tokbench.adapters.tokenizer_json import to_hugging_face
from tokbench.errors import TokbenchError
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer_config import END_OF_TEXT, PADDING

PIECES = [END_OF_TEXT, PADDING, "<l>", "<r>", "word", "ж", "é", "<", "<|", "a", "1", "'s", "東", "🦀", "\u0301"]
PIECES += [" ", "  ", "\n", "\x1c"]
KNOWN = st.text(st.characters(exclude_categories=["Cs", "Cn"]), max_size=3)
"""Characters that a newer Unicode adds are letters to one library and none to another."""


@pytest.fixture(scope="module")
def marking(folder: Path) -> Pair:
    """Both with added tokens of every kind."""
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    ours = AutoTokenizer.from_pretrained(folder)
    stock = PreTrainedTokenizerFast(tokenizer_object=to_hugging_face(ours.tokenizer))
    for one in (ours, stock):
        one.add_tokens([marked("<l>", lstrip=True), marked("<r>", rstrip=True), marked("word", single_word=True)])
        one.add_tokens([marked("ж", single_word=True, lstrip=True, normalized=False), "<a", "  "])
    return ours, stock


@settings(max_examples=300)
@given(text=st.lists(st.sampled_from(PIECES) | KNOWN, max_size=12).map("".join), special=st.booleans())
def test_any_text_with_added_tokens(text: str, special: bool, marking: Pair) -> None:
    ours, stock = (
        one(text, return_offsets_mapping=True, split_special_tokens=not special, return_token_type_ids=False)
        for one in marking
    )
    assert (ours["input_ids"], ours["offset_mapping"]) == (stock["input_ids"], stock["offset_mapping"])
    assert ours.word_ids() == stock.word_ids()
    assert marking[0].decode(ours["input_ids"]) == marking[1].decode(stock["input_ids"])


@pytest.mark.parametrize("segmentation", ["shortest_path", "longest_suffix", "cover", "bpe_dropout"])
def test_what_no_other_library_has(segmentation: str, folder: Path, tmp_path: Path) -> None:
    """The class by which folders are found gives our ids, and all else follows from them."""
    from transformers import AutoTokenizer

    own = Tokenizer(Tokenizer.load(folder).vocabulary, "gpt2", segmentation)
    own.save(tmp_path)
    ours = AutoTokenizer.from_pretrained(tmp_path)
    batch = ours(TEXTS, return_offsets_mapping=True, padding=True)
    for row, text in enumerate(TEXTS):
        ids = own.encode(text).tolist()
        assert batch["input_ids"][row] == ids + [SIZE + 1] * (len(batch["input_ids"][row]) - len(ids))
        assert batch["offset_mapping"][row][: len(ids)] == list(map(tuple, own.character_offsets(text).tolist()))
        assert ours.decode(ids) == text


def test_embeddings_are_resized_to_what_it_holds(both: Pair) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("torch")
    ours, _ = both
    ours.add_tokens(["<new>"])
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=SIZE + 2, n_embd=8, n_layer=1, n_head=1, n_positions=32)
    )
    model.resize_token_embeddings(len(ours), mean_resizing=False)
    assert model(**ours(["a<new>", "b"], padding=True, return_tensors="pt")).logits.shape == (2, 2, SIZE + 3)


def test_datasets_in_two_processes(both: Pair) -> None:
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"text": TEXTS * 3})

    def mapped(tokenizer: Any) -> Any:
        done = rows.map(
            lambda batch: tokenizer(batch["text"], truncation=True, max_length=20), batched=True, num_proc=2
        )
        return done.to_dict()

    ours, stock = map(mapped, both)
    assert ours == stock


def test_its_fingerprint_stays_when_it_is_used(both: Pair) -> None:
    """So that ``datasets`` finds again what it mapped."""
    hashing = pytest.importorskip("datasets.fingerprint")
    ours, _ = both
    before = hashing.Hasher.hash(ours)
    ours(TEXTS, padding=True)
    ours.decode([1, 2])
    assert hashing.Hasher.hash(ours) == before


def test_a_spelling_of_other_bytes_is_not_added(both: Pair) -> None:
    """The stock one takes the id of the byte e9 for it, so that what was text before decodes to no text."""
    ours, stock = both
    stock.add_tokens(["é"])
    assert stock.decode(stock.encode("é")) == "\ufffd"
    with pytest.raises(TokbenchError, match=r"^'é' cannot be added: so the token e9 is spelt, which is other bytes;"):
        ours.add_tokens(["é"])
    assert ours.add_tokens(["a", "the"]) == 0
    assert ours.decode(ours.encode("é a")) == "é a"
