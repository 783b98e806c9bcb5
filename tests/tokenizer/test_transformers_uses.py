"""Tokenizers that ``AutoTokenizer`` opens from our folders: texts with added tokens, and uses by other libraries.

Tokenizers with ids of their own, holes and special ids among them, where other libraries take them.
"""

# ruff: noqa: F811 - fixtures are named like the parameters that they fill
import copy
import json
import pickle
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import ODD, TOPICS, Tokbench
from tests.support import library_tokenizers
from tests.support.fake_results import DOCUMENTS, tiny_mpt
from tests.support.hub import SIZE, TEXTS, Pair, both, folder, marked  # noqa: F401
from tokbench.adapters.export_hugging_face import to_hugging_face
from tokbench.adapters.exports import export
from tokbench.construction import bpe, unigram
from tokbench.corpus.documents import Document
from tokbench.errors import TokbenchError
from tokbench.pretokens.count import count_pretokens
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.adapted import AdaptedTokenizer
from tokbench.tokenizer.hugging_face import END_OF_TEXT, PADDING
from tokbench.vocabulary import Vocabulary

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
def test_segmentations_unknown_to_other_libraries_work_in_transformers(
    segmentation: str, folder: Path, tmp_path: Path
) -> None:
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


def test_embeddings_are_resized_to_the_length_of_the_tokenizer(both: Pair) -> None:
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
    with pytest.raises(
        TokbenchError, match=r"^'é' cannot be added: it is the spelling of the token e9, which has other bytes;"
    ):
        ours.add_tokens(["é"])
    assert ours.add_tokens(["a", "the"]) == 0
    assert ours.decode(ours.encode("é a")) == "é a"


OWN_IDS_SIZE = 400
COUNTS = count_pretokens([*TOPICS, ODD], "gpt2")
SPECIAL = {
    3: b"<s>",
    5: b"",
    9: b"\xff",
    11: b"<s>",
    13: "<a\u2581b>".encode(),
    15: b"a",
    2 * OWN_IDS_SIZE + 99: b"[END]",
}
"""Two without a name of their own, two of one name, one that is how a token is spelt, and some as they seem."""
TEXT = "Na\u00efve lambda expressions, don't  2024\n\n\tfor loops \U0001f980"


def own(vocabulary: Vocabulary, special: dict[int, bytes] = SPECIAL) -> Vocabulary:
    """The same tokens with ids from the last to the first, every second one a hole."""
    ids = np.arange(2 * len(vocabulary), 0, -2, dtype=np.int32) + 30
    return Vocabulary(vocabulary.tokens, vocabulary.merges, vocabulary.scores, ids=ids, special=special)


@pytest.fixture(scope="module")
def merges() -> Vocabulary:
    return bpe.build(COUNTS, OWN_IDS_SIZE, bpe.BpeOptions())


@pytest.fixture(scope="module")
def scores() -> Vocabulary:
    return unigram.build(COUNTS, OWN_IDS_SIZE, unigram.UnigramOptions())


@pytest.fixture(scope="module")
def own_ids_folder(merges: Vocabulary, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    Tokenizer(own(merges), "gpt2", "merge").save(folder)
    return folder


def plain_texts(tokenizer: Any, own_ids_folder: Path) -> Tokenizer:
    """That a tokenizer of transformers gives the ids of ours, which is returned."""
    ours = Tokenizer.load(own_ids_folder)
    for text in (TEXT, "", *map(bytes.decode, TOPICS)):
        ids = ours.encode(text).tolist()
        assert tokenizer(text)["input_ids"] == ids
        assert tokenizer.decode(ids) == text
    return ours


def opened(own_ids_folder: Path) -> Any:
    return pytest.importorskip("transformers").AutoTokenizer.from_pretrained(own_ids_folder)


def test_auto_tokenizer_gives_the_ids(own_ids_folder: Path) -> None:
    ours = plain_texts(tokenizer := opened(own_ids_folder), own_ids_folder)
    batch = tokenizer([TEXT, "for"], padding=True, return_offsets_mapping=True)
    spans = list(map(tuple, ours.character_offsets(TEXT).tolist()))
    assert batch["offset_mapping"][0] == spans
    assert batch["input_ids"][1][-1] == tokenizer.pad_token_id == ours.id_limit + 1
    assert tokenizer.eos_token_id == tokenizer.bos_token_id == ours.end_of_text == ours.id_limit
    assert tokenizer.convert_tokens_to_ids(tokenizer.tokenize(TEXT)) == ours.encode(TEXT).tolist()


def test_rows_of_embeddings_are_its_length(own_ids_folder: Path) -> None:
    """One row for each id up to the largest, each with a name, so that added tokens fill no hole."""
    tokenizer, limit = opened(own_ids_folder), Tokenizer.load(own_ids_folder).id_limit
    assert (tokenizer.vocab_size, len(tokenizer)) == (limit, limit + 2)
    assert sorted(tokenizer.get_vocab().values()) == list(range(limit + 2))
    assert tokenizer.add_tokens(["<new>", "the"]) == 1
    assert tokenizer("a<new>")["input_ids"][1] == limit + 2
    names = tokenizer.convert_ids_to_tokens(list(range(limit)))
    assert len(set(names)) == limit
    assert tokenizer.convert_tokens_to_ids(names) == list(range(limit))


def test_special_ids_of_the_file_are_special(own_ids_folder: Path) -> None:
    tokenizer = opened(own_ids_folder)
    text = "a <s>b<a\u2581b>[END]" + END_OF_TEXT
    ids = tokenizer(text)["input_ids"]
    assert [one for one in ids if one in SPECIAL or one >= 2 * OWN_IDS_SIZE + 99] == [
        3,
        13,
        2 * OWN_IDS_SIZE + 99,
        2 * OWN_IDS_SIZE + 100,
    ]
    assert tokenizer.decode(ids) == text
    assert tokenizer.decode(ids, skip_special_tokens=True) == "a b"
    assert not set(SPECIAL) & set(tokenizer(text, split_special_tokens=True)["input_ids"])
    assert tokenizer.decode([3, 11]) == "<s><s>"
    assert tokenizer.convert_ids_to_tokens([3, 11, 5, 15]) == ["<s>", "<unused 11>", "<unused 5>", "<unused 15>"]
    with pytest.raises(TokbenchError, match=r"^id 33 is not in the vocabulary, whose ids have gaps$"):
        tokenizer.decode([33])


@pytest.mark.parametrize("how", ["saved", "pickled", "copied"])
def test_copies(how: str, own_ids_folder: Path, tmp_path: Path) -> None:
    tokenizer = opened(own_ids_folder)
    tokenizer.add_tokens(["<new>"])
    if how == "saved":
        tokenizer.save_pretrained(tmp_path)
        again = opened(tmp_path)
    else:
        again = pickle.loads(pickle.dumps(tokenizer)) if how == "pickled" else copy.deepcopy(tokenizer)
    text = TEXT + "<s><new>" + PADDING
    assert again(text)["input_ids"] == tokenizer(text)["input_ids"]
    assert again.decode(again(text)["input_ids"], skip_special_tokens=True) == TEXT + "<new>"
    assert len(again) == len(tokenizer)


def test_the_end_of_text_may_be_one_of_its_own(merges: Vocabulary, tmp_path: Path) -> None:
    special = {4: END_OF_TEXT.encode(), 6: PADDING.encode()}
    Tokenizer(own(merges, special), "gpt2", "merge").save(tmp_path)
    tokenizer = opened(tmp_path)
    assert (tokenizer.eos_token_id, tokenizer.pad_token_id) == (4, 6)
    assert len(tokenizer) == Tokenizer.load(tmp_path).id_limit
    plain_texts(tokenizer, tmp_path)


def test_a_model_is_scored_as_with_other_ids(
    torch: ModuleType, merges: Vocabulary, offline_tasks: Path, tmp_path: Path
) -> None:
    """The rows of its embeddings in the order of the ids: the same tasks, bits and bits of equal context."""
    from tokbench.evaluation.evaluate import evaluate
    from tokbench.evaluation.suites import SuiteOptions

    rows = np.random.default_rng(3).permutation(len(merges) + 2).astype(np.int32)
    special = {int(rows[-2]): END_OF_TEXT.encode(), int(rows[-1]): PADDING.encode()}
    numbered = Vocabulary(merges.tokens, merges.merges, ids=rows[:-2], special=special)
    found = []
    for name, vocabulary, order in (("plain", merges, np.arange(len(rows))), ("own", numbered, rows)):
        model = tiny_mpt(torch, 64)
        model.resize_token_embeddings(len(rows), mean_resizing=False)
        weights = torch.randn(len(rows), 32, generator=torch.Generator().manual_seed(1))
        with torch.no_grad():
            model.get_input_embeddings().weight[torch.from_numpy(order).long()] = weights
        model.save_pretrained(tmp_path / f"model_{name}")
        Tokenizer(vocabulary, "gpt2", "merge").save(tmp_path / name)
        evaluate(
            tmp_path / f"model_{name}", tmp_path / name, offline_tasks, SuiteOptions(tasks=("last_word",)),
            tmp_path / f"{name}.json", limit=2, bits_per_byte_documents=[Document(0, "en", DOCUMENTS[0][1][:300])],
        )  # fmt: skip
        found.append(json.loads((tmp_path / f"{name}.json").read_text()))
    plain, numbered_found = found
    assert plain["bits_per_byte"] > 1
    for key in ("bits_per_byte", "bits_per_byte_equal_context"):
        assert numbered_found[key] == pytest.approx(plain[key], rel=1e-5)
    for ours, theirs in zip(*(one["tasks"]["last_word"]["documents"] for one in found), strict=True):
        assert ours["log_likelihoods"] == pytest.approx(theirs["log_likelihoods"], rel=1e-4)


def test_start_token_is_that_of_the_model(own_ids_folder: Path, torch: ModuleType) -> None:
    from types import SimpleNamespace

    from tokbench.evaluation.evaluate import _start

    tokenizer = Tokenizer.load(own_ids_folder)
    limit = tokenizer.id_limit
    for bos, eos, start in ((3, 5, 3), (None, 5, 5), (None, None, limit), (None, [1, 2], limit)):
        assert _start(SimpleNamespace(bos_token_id=bos, eos_token_id=eos), tokenizer) == start


# Exports


SEGMENTATIONS = ("merge", "whole_or_merge", "ranked", "likelihood", "greedy")


@pytest.mark.parametrize("segmentation", SEGMENTATIONS)
def test_tokenizer_json(segmentation: str, merges: Vocabulary, scores: Vocabulary, tmp_path: Path) -> None:
    tokenizer = Tokenizer(own(scores if segmentation == "likelihood" else merges), "gpt2", segmentation)
    told = export(tokenizer, "tokenizer_json", COUNTS, tmp_path)
    assert told.startswith("tokenizer.json gives the same ids on ")
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in (TEXT, *map(bytes.decode, TOPICS)):
        assert library.encode(text).ids == tokenizer.encode(text).tolist()
    named = {
        "<s>": 3,
        "<a\u2581b>": 13,
        "[END]": 2 * OWN_IDS_SIZE + 99,
        END_OF_TEXT: 2 * OWN_IDS_SIZE + 100,
        PADDING: 2 * OWN_IDS_SIZE + 101,
    }
    assert {name: library.token_to_id(name) for name in named} == named
    assert library.encode("a<a\u2581b>").ids[-1] == 13


@pytest.mark.parametrize("form", ["tiktoken", "sentencepiece"])
def test_other_forms(form: str, merges: Vocabulary, tmp_path: Path) -> None:
    """Each compares every id, so what is written has them."""
    pytest.importorskip(form)
    ids = np.arange(OWN_IDS_SIZE, dtype=np.int32) * 2 + 31  # An id is a rank to tiktoken.
    tokenizer = Tokenizer(Vocabulary(merges.tokens, ids=ids, special=SPECIAL), "gpt2", "ranked")
    assert "gives the same ids on" in export(tokenizer, form, COUNTS, tmp_path)
    if form == "sentencepiece":
        import sentencepiece

        model = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "tokenizer.model"))
        assert model.encode("lambda") == tokenizer.encode("lambda").tolist()
        assert (model.piece_to_id("<s>"), model.eos_id(), model.pad_id()) == (
            3,
            2 * OWN_IDS_SIZE + 100,
            2 * OWN_IDS_SIZE + 101,
        )
        assert model.unk_id() == 2 * OWN_IDS_SIZE + 102


def test_a_list_of_tokens_has_no_ids(merges: Vocabulary, tmp_path: Path, tokbench: Tokbench) -> None:
    with pytest.raises(TokbenchError, match="numbers them by line, and ids of this one have gaps or another order"):
        export(Tokenizer(own(merges), "gpt2", "merge"), "tokens", COUNTS, tmp_path)
    assert not (tmp_path / "tokens.vocab").exists()


def test_auto_tokenizer_error_names_how_to_open_adapted_tokenizers(tmp_path: Path) -> None:
    auto = pytest.importorskip("transformers").AutoTokenizer
    content = json.dumps(library_tokenizers.byte_level()).encode()
    for _ in range(2):  # The second time files of the first are in its place.
        AdaptedTokenizer("tokenizers", content, {}, special={}, tokens=OWN_IDS_SIZE, ids=OWN_IDS_SIZE).save(tmp_path)
    with pytest.raises(TokbenchError) as error:
        auto.from_pretrained(tmp_path)
    [line] = str(error.value).splitlines()
    assert line.startswith(f"{tmp_path}: the tokenizer works through tokenizers, which AutoTokenizer does not call; ")
    assert "tokbench.Tokenizer.load" in line
    (tmp_path / "tokenizer.model").touch()  # Version 5 of transformers opens such a file where there is no other.
    with pytest.raises(TokbenchError, match="the tokenizer works through tokenizers, which AutoTokenizer"):
        auto.from_pretrained(tmp_path)
    (tmp_path / "tokenizer.model").unlink()
    (tmp_path / "tokbench.json").write_text("{}")
    with pytest.raises(TokbenchError, match=r"no tokens\.vocab; save or import the tokenizer again"):
        auto.from_pretrained(tmp_path)
