"""The Hugging Face adapter: the same ids through transformers, and through an exported tokenizer.json.

Saving a tokenizer into a folder: complete, without changes to other files, and readable by ``transformers``.
"""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import pytest

from tests.conftest import TOPICS, Tokbench
from tests.support.files import names, small_files
from tests.support.imports import each_after
from tests.support.texts import EVERY
from tokbench.adapters.export_hugging_face import export, to_hugging_face
from tokbench.candidates.scored_text import ScoredDocuments
from tokbench.construction import bpe, bytespan, ngram, unigram
from tokbench.errors import TokbenchError
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import END_OF_TEXT, PADDING
from tokbench.vocabulary import BYTES, Vocabulary

tokenizers = pytest.importorskip("tokenizers")
if find_spec("transformers") is None:
    pytest.skip("transformers is not installed", allow_module_level=True)

PAGES = [topics[name] for name in sorted(topics)]
STRANGE = [
    "",
    " ",
    "  two  spaces\n\n\tand a tab ",
    "naïve Straße 東京 🦀\u200d",
    "\u203fa ##b Ġc [UNK]",
    "don't we'LL 007 3.14",
    "\x00\x7f\x85\u2028",
]
SIZE = 900


@pytest.fixture(scope="module")
def _transformers() -> None:
    """Imported with the first test, not when tests are collected: most processes that collect run none of these."""
    global transformers
    import transformers


@pytest.fixture(scope="module")
def vocabularies(counts: PretokenCounts, scores: Path) -> dict[str, Vocabulary]:
    """One vocabulary for each kind of model that Hugging Face has."""
    return {
        "merge": bpe.build(counts, SIZE, bpe.BpeOptions()),
        "likelihood": unigram.build(counts, SIZE, unigram.UnigramOptions(seed_size=5000)),
        "greedy": ngram.build(counts, SIZE, ngram.NgramOptions()),
        "longest_prefix": bytespan.build(ScoredDocuments((scores,), "gpt2"), SIZE, bytespan.ByteSpanOptions()),
    }


@pytest.fixture(scope="module")
def folders(vocabularies: dict[str, Vocabulary], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {}
    for segmentation, vocabulary in vocabularies.items():
        folder = tmp_path_factory.mktemp(segmentation)
        Tokenizer(vocabulary, "gpt2", segmentation).save(folder)
        made[segmentation] = folder
    return made


# AutoTokenizer


ORDERS = {
    "ours first": "import tokbench; from transformers import AutoTokenizer",
    "theirs first": "from transformers import AutoTokenizer; import tokbench",
}


@pytest.fixture(scope="module")
def printed(folders: dict[str, Path]) -> list[str]:
    """Return the output after either order of imports."""
    use = (
        f"adapter = AutoTokenizer.from_pretrained({str(folders['merge'])!r})\n"
        "print(type(adapter).__name__, adapter('don\\'t stop')['input_ids'])\n"
    )
    slow = "sklearn.metrics" if find_spec("sklearn") else ""
    return each_after(slow, [f"{imports}\n{use}" for imports in ORDERS.values()])


@pytest.mark.usefixtures("_transformers")
@pytest.mark.parametrize("order", ORDERS)
def test_auto_tokenizer_in_either_order_of_imports(order: str, printed: list[str], folders: dict[str, Path]) -> None:
    ids = Tokenizer.load(folders["merge"]).encode("don't stop").tolist()
    assert printed[list(ORDERS).index(order)].strip() == f"TokbenchTokenizer {ids}"


@pytest.mark.usefixtures("_transformers")
@pytest.mark.parametrize("segmentation", ["merge", "likelihood", "greedy", "longest_prefix"])
def test_face(segmentation: str, folders: dict[str, Path], tmp_path: Path) -> None:
    ours = Tokenizer.load(folders[segmentation])
    adapter = transformers.AutoTokenizer.from_pretrained(folders[segmentation])
    assert (adapter.vocab_size, len(adapter)) == (SIZE, SIZE + 2)
    assert (adapter.eos_token_id, adapter.bos_token_id, adapter.pad_token_id) == (SIZE, SIZE, SIZE + 1)
    assert adapter.convert_ids_to_tokens([SIZE, SIZE + 1]) == [END_OF_TEXT, PADDING]
    assert sorted(adapter.get_vocab().values()) == list(range(SIZE + 2))
    for text in [*PAGES[:6], *STRANGE]:
        ids = adapter(text)["input_ids"]
        assert ids == ours.encode(text).tolist()
        assert adapter.decode(ids) == text
        assert adapter.convert_tokens_to_string(adapter.tokenize(text)) == text
    padded = adapter(["a", "a longer text"], padding=True)
    assert padded["input_ids"][0][-1] == adapter.pad_token_id
    assert padded["attention_mask"][0][-1] == 0

    adapter.save_pretrained(tmp_path)
    again = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert type(again) is type(adapter)
    assert again.get_vocab() == adapter.get_vocab()
    assert [again(text)["input_ids"] for text in STRANGE] == [adapter(text)["input_ids"] for text in STRANGE]
    assert Tokenizer.load(tmp_path).vocabulary.tokens == ours.vocabulary.tokens


@pytest.mark.usefixtures("_transformers")
def test_special_tokens_by_their_spelling(folders: dict[str, Path]) -> None:
    adapter = transformers.AutoTokenizer.from_pretrained(folders["merge"])
    assert adapter(f"a{END_OF_TEXT}b")["input_ids"][1] == adapter.eos_token_id
    ids = [*adapter("a")["input_ids"], adapter.eos_token_id, *adapter("b")["input_ids"], adapter.pad_token_id]
    assert adapter.decode(ids) == f"a{END_OF_TEXT}b{PADDING}"
    assert adapter.decode(ids, skip_special_tokens=True) == "ab"


@pytest.mark.usefixtures("_transformers")
def test_ids_and_tokens_that_are_not_there(folders: dict[str, Path]) -> None:
    adapter = transformers.AutoTokenizer.from_pretrained(folders["merge"])
    decoding = (adapter.decode, lambda ids: adapter.batch_decode([[3], ids]))
    for wrong, calls in ((-1, decoding), (-100, decoding), (SIZE + 2, ()), (999_999, ())):
        for call in (*calls, adapter.convert_ids_to_tokens):
            with pytest.raises(TokbenchError, match=rf"^id {wrong} is not in the vocabulary \(0 to {SIZE + 1}\)$"):
                call([5, wrong])
    for none in (1.5, [1.5], ["a"], None):
        with pytest.raises(TokbenchError, match=r"^\S+ is not an id; pass integers$"):
            adapter.decode(none)
    assert adapter.decode((97, 98)) == adapter.decode([np.int64(97), 98]) == "ab"
    assert adapter.convert_tokens_to_ids(["a", "no token"]) == [97, None]
    for none in ("東", None, 3):
        with pytest.raises(TokbenchError, match="spells no token; pass tokens of this tokenizer"):
            adapter.convert_tokens_to_string(["a", none])


# tokenizer.json


@pytest.mark.usefixtures("_transformers")
@pytest.mark.parametrize("segmentation", ["merge", "likelihood", "greedy", "longest_prefix"])
def test_exported_file_gives_the_same_ids(
    segmentation: str, vocabularies: dict[str, Vocabulary], counts: PretokenCounts, tmp_path: Path
) -> None:
    ours = Tokenizer(vocabularies[segmentation], "gpt2", segmentation)
    said = export(ours, counts, tmp_path)
    assert said.startswith("tokenizer.json gives the same ids on ")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert theirs.token_to_id(END_OF_TEXT) == SIZE
    assert theirs.token_to_id(PADDING) == SIZE + 1
    assert theirs.get_vocab_size() == SIZE + 2
    for text, encoding in zip([*PAGES, *STRANGE], theirs.encode_batch([*PAGES, *STRANGE]), strict=True):
        assert encoding.ids == ours.encode(text).tolist()
        assert theirs.decode(encoding.ids) == text


@pytest.mark.usefixtures("_transformers")
def test_exported_file_opens_where_tokbench_is_not_imported(
    vocabularies: dict[str, Vocabulary], counts: PretokenCounts, tmp_path: Path
) -> None:
    """By the stock class, from a folder that ``tokbench build`` wrote; its class is not ours."""
    ids: dict[str, list[list[int]]] = {}
    for segmentation, vocabulary in vocabularies.items():
        ours = Tokenizer(vocabulary, "gpt2", segmentation)
        folder = tmp_path / segmentation
        ours.save(folder)
        assert export(ours, counts, folder).startswith("tokenizer.json gives the same ids on ")
        ids[segmentation] = [ours.encode(text).tolist() for text in STRANGE]
    code = (
        "import sys, json, transformers\n"
        f"for name in {list(ids)!r}:\n"
        f"    stock = transformers.PreTrainedTokenizerFast.from_pretrained({str(tmp_path)!r} + '/' + name)\n"
        f"    print(json.dumps([name, stock({STRANGE!r})['input_ids'], stock.eos_token_id, stock.pad_token_id]))\n"
        "assert 'tokbench' not in sys.modules\n"
    )
    [printed] = each_after("", [code])
    found = [json.loads(line) for line in printed.splitlines() if line.startswith("[")]
    assert found == [[segmentation, of, SIZE, SIZE + 1] for segmentation, of in ids.items()]


@pytest.mark.usefixtures("_transformers")
@pytest.mark.parametrize("scheme", EVERY)
def test_exported_file_cuts_like_every_scheme(scheme: str, tmp_path: Path) -> None:
    counts = count_pretokens(TOPICS, scheme)
    ours = Tokenizer(bpe.build(counts, 600, bpe.BpeOptions()), scheme, "merge")
    theirs = to_hugging_face(ours)
    assert theirs is not None
    for text in [*PAGES[:8], *STRANGE]:
        assert theirs.encode(text).ids == ours.encode(text).tolist()


@pytest.mark.usefixtures("_transformers")
def test_the_most_frequent_pretokens_alone_are_compared_where_there_are_many(
    vocabularies: dict[str, Vocabulary], counts: PretokenCounts, tmp_path: Path
) -> None:
    ours = Tokenizer(vocabularies["merge"], "gpt2", "merge")
    texts = sum(1 for token, _ in counts.items() if is_text(token))
    assert 300 < texts < len(counts), "some are no text"
    for most in (texts, texts + 1, 10**6):
        assert export(ours, counts, tmp_path, most) == f"tokenizer.json gives the same ids on {texts} pre-tokens"
    said = export(ours, counts, tmp_path, 300)
    assert said == f"tokenizer.json gives the same ids on 300 of {len(counts):,} pre-tokens, the most frequent"


@pytest.mark.usefixtures("_transformers")
def test_export_compares_special_tokens_and_rare_pretokens(vocabularies: dict[str, Vocabulary], tmp_path: Path) -> None:
    """The spelling of a special token is one id to Hugging Face and text to ours."""
    ours = Tokenizer(vocabularies["merge"], "none", "merge")
    counts = PretokenCounts.from_pairs([*((b"a" * length, 9) for length in range(1, 1500)), (END_OF_TEXT.encode(), 1)])
    said = f"not exported: Hugging Face's model gives other ids for {END_OF_TEXT!r}"
    assert export(ours, counts, tmp_path) == said
    assert not (tmp_path / "tokenizer.json").exists()
    assert export(ours, counts, tmp_path, 1499).endswith("1,499 of 1,500 pre-tokens, the most frequent")


def is_text(token: bytes) -> bool:
    return token.decode(errors="replace").encode() == token


@pytest.mark.usefixtures("_transformers")
def test_segmentation_without_a_model_is_not_exported(vocabularies: dict[str, Vocabulary], tmp_path: Path) -> None:
    ours = Tokenizer(vocabularies["greedy"], "gpt2", "shortest_path")
    assert export(ours, None, tmp_path) == "not exported: Hugging Face has no model for segmentation 'shortest_path'"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("_transformers")
def test_configuration_file(folders: dict[str, Path]) -> None:
    written = json.loads((folders["merge"] / "tokenizer_config.json").read_text())
    assert written["tokenizer_class"] == "TokbenchTokenizer"


# Imports


@pytest.mark.usefixtures("_transformers")
@pytest.mark.parametrize(
    "module", ["tokbench", "tokbench.tokenizer", "tokbench.commands.tokenizers", "tokbench.config.load"]
)
def test_building_tokenizers_imports_nothing_heavy(module: str) -> None:
    code = (
        f"import sys, {module}\n"
        "from tokbench.construction import constructions; constructions.load()\n"
        "heavy = {'torch', 'transformers', 'tokenizers', 'llmfoundry', 'datasets', 'lm_eval', 'matplotlib'}\n"
        "assert heavy.isdisjoint(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.usefixtures("_transformers")
@pytest.mark.parametrize("segmentation", ["greedy", "longest_prefix"])
def test_words_of_a_novel_s_length_are_not_compared(segmentation: str, tmp_path: Path) -> None:
    """Hugging Face's WordPiece would take hours."""
    counts = PretokenCounts.from_pairs([(b"ab " * 100_000, 1)])
    ours = Tokenizer(Vocabulary((*BYTES, b"ab")), "none", segmentation)
    told = export(ours, counts, tmp_path)
    assert told == "not exported: Hugging Face's WordPiece takes too long on pre-tokens of up to 300000 bytes"
    assert not (tmp_path / "tokenizer.json").exists()


BY_MERGES = [".tokbench.json", "merges.tsv", "tokbench.json", "tokenizer_config.json", "tokens.vocab"]
BY_SCORES = [name.replace("merges.tsv", "scores.txt") for name in BY_MERGES]


@pytest.fixture(scope="module")
def merging(counts: PretokenCounts) -> Tokenizer:
    return Tokenizer(bpe.build(counts, 400, bpe.BpeOptions()), "gpt2", "merge", name="merging")


@pytest.fixture(scope="module")
def likely(counts: PretokenCounts) -> Tokenizer:
    vocabulary = unigram.build(counts, 500, unigram.UnigramOptions(seed_size=2000))
    return Tokenizer(vocabulary, "gpt2", "likelihood", name="likely")


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_second_tokenizer_takes_the_place_of_the_first(merging: Tokenizer, likely: Tokenizer, tmp_path: Path) -> None:
    folder = tmp_path / "made" / "with it"
    merging.save(str(folder))
    assert names(folder) == BY_MERGES
    (folder / "thesis.tex").write_text("mine")
    likely.save(folder)
    assert names(folder) == sorted([*BY_SCORES, "thesis.tex"])
    assert Tokenizer.load(folder).name == "likely"
    assert (folder / "thesis.tex").read_text() == "mine"
    merging.save(folder)
    assert Tokenizer.load(folder).encode("some text").tolist() == merging.encode("some text").tolist()


def test_no_folder_can_be_where_a_file_is(merging: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "within"):
        with pytest.raises(TokbenchError, match=rf"^{folder}: .* file"):
            merging.save(folder)
    assert names(tmp_path) == ["file"]


def test_failed_save_keeps_the_saved_folder(
    merging: Tokenizer, likely: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    likely.save(tmp_path)
    before = contents(tmp_path)
    monkeypatch.setattr(merging, "origin", {"long": "x" * (1 << 17)})
    with small_files(), pytest.raises(TokbenchError, match=rf"^{tmp_path}: cannot be written completely \(File too "):
        merging.save(tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["merges.tsv", "scores.txt", "tokens.vocab"])
def test_files_of_those_names_that_are_the_users_own_stay(name: str, merging: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(TokbenchError) as rejection:
        merging.save(tmp_path)
    assert str(rejection.value) == f"{tmp_path / name}: belongs to no saved tokenizer; save into another folder"
    assert contents(tmp_path) == {name: b"mine"}


@pytest.mark.parametrize("written", ['{"tokenizer_class": "GPT2Tokenizer"}', "{}", "[]", "{"])
def test_another_tokenizers_configuration_stays(written: str, merging: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(written)
    with pytest.raises(TokbenchError, match=r"belongs to another tokenizer; save into another folder$"):
        merging.save(tmp_path)
    assert names(tmp_path) == ["tokenizer_config.json"]


def test_saved_tokenizer_equals_the_built_one(
    counts: PretokenCounts, likely: Tokenizer, tmp_path: Path, tokbench: Tokbench
) -> None:
    counts.write(tmp_path / "counts.parquet")

    def build() -> None:
        outcome = tokbench("build", "bpe", "--size", 400, "--counts", tmp_path / "counts.parquet", "-o", built)
        assert outcome.status == 0, outcome.stderr

    built = tmp_path / "built"
    build()
    loaded = Tokenizer.load(built)
    loaded.save(tmp_path / "saved")
    saved = contents(tmp_path / "saved")
    assert {name: (built / name).read_bytes() for name in saved if name != ".tokbench.json"} == {
        name: data for name, data in saved.items() if name != ".tokbench.json"
    }
    loaded.save(built)
    assert (built / "tokenizer.json").exists()
    likely.save(built)
    assert not (built / "tokenizer.json").exists()
    assert Tokenizer.load(built).name == "likely"
    build()
    assert names(built) == sorted([*BY_MERGES, "manifest.json", "tokenizer.json"])
    assert Tokenizer.load(built).name == "built"


def test_auto_tokenizer_opens_the_last_saved_tokenizer(
    counts: PretokenCounts, likely: Tokenizer, tmp_path: Path
) -> None:
    """After another tokenizer was saved there by transformers, with ids of its own for special tokens."""
    transformers = pytest.importorskip("transformers")
    likely.save(tmp_path)
    adapter = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert adapter("some text")["input_ids"] == likely.encode("some text").tolist()
    adapter.model_max_length = 77
    adapter.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "tokenizer_config.json").read_text())["model_max_length"] == 77
    assert transformers.AutoTokenizer.from_pretrained(tmp_path).model_max_length == 77

    other = Tokenizer(ngram.build(counts, 450, ngram.NgramOptions()), "gpt2", "greedy")
    other.save(tmp_path)
    adapter = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert (adapter.vocab_size, len(adapter), adapter.eos_token_id) == (450, 452, 450)
    assert adapter("some text")["input_ids"] == other.encode("some text").tolist()


def test_transformers_save_clears_stale_files_too(merging: Tokenizer, likely: Tokenizer, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    merging.save(tmp_path / "one")
    likely.save(tmp_path / "other")
    transformers.AutoTokenizer.from_pretrained(tmp_path / "one").save_pretrained(tmp_path / "other")
    assert "scores.txt" not in names(tmp_path / "other")
    assert Tokenizer.load(tmp_path / "other").name == "merging"
