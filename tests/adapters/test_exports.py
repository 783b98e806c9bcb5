"""Tokenizers written for other libraries: each is read by its library and gives our ids, or says why it cannot be."""

import json
import re
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import ODD, TOPICS, Tokbench
from tests.support.files import names
from tokbench.adapters.export_tiktoken import export as export_tiktoken
from tokbench.adapters.exports import FORMS, export, pretokens_to_compare
from tokbench.adapters.forms.parsed import ReadOptions
from tokbench.adapters.probes import probes
from tokbench.adapters.read import read_tokenizer
from tokbench.commands.tokenizers import FORMS as OFFERED
from tokbench.construction import bpe, unigram
from tokbench.errors import TokbenchError
from tokbench.inspection.checks.agreement import exports
from tokbench.inspection.checks.subject import TokenizerUnderTest
from tokbench.pretokenization import Scheme, schemes
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import END_OF_TEXT, PADDING
from tokbench.vocabulary import BYTES, Vocabulary

PAGE = Path(__file__).parents[2] / "docs" / "other_libraries.md"
SHOWN = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
SIZE = 700
TEXTS = [*(topic.decode() for topic in TOPICS), ODD.decode(errors="ignore").replace("\0", ""), "", " ", "Ġ ▁ Ã©"]
STEP = 2.0**-10
"""Scores in steps of this are summed without rounding in single precision."""
SCHEMES = ["none", "gpt2", "first_space", "first_space_digit", "space", "digit", "space_digit"]


@cache
def merging(scheme: str = "gpt2") -> Tokenizer:
    counts = count_pretokens([*TOPICS, ODD], scheme)
    return Tokenizer(bpe.build(counts, SIZE, bpe.BpeOptions()), scheme, "merge", name="merging")


@cache
def likely(scheme: str = "gpt2") -> Tokenizer:
    made = unigram.build(count_pretokens(TOPICS, scheme), SIZE, unigram.UnigramOptions(seed_size=3000))
    assert made.scores is not None
    return Tokenizer(replace(made, scores=np.round(made.scores / STEP) * STEP), scheme, "likelihood")


def counts_of(tokenizer: Tokenizer) -> PretokenCounts:
    return count_pretokens([*TOPICS, ODD], tokenizer.pretokenization)


def ids_of(tokenizer: Tokenizer) -> list[list[int]]:
    return [tokenizer.encode(text).tolist() for text in TEXTS]


# tiktoken


def as_shown(library: str, place: str, folder: Path) -> dict[str, Any]:
    """The names that the documentation's own code makes, with a folder in place of the one that it names."""
    pytest.importorskip(library)
    (code,) = [block for block in SHOWN if f"import {library}\n" in block]
    made: dict[str, Any] = {}
    exec(code.replace(place, str(folder)), made)
    return made


def read_ranks(folder: Path) -> Any:
    return as_shown("tiktoken", "/tmp/ranks", folder)["encoding"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_tiktoken(scheme: str, tmp_path: Path) -> None:
    pytest.importorskip("tiktoken")
    ours = merging(scheme)
    assert re.fullmatch(
        r"tokenizer.tiktoken gives the same ids on \d+ pre-tokens", export_all(ours, "tiktoken", tmp_path)
    )
    theirs = read_ranks(tmp_path)
    assert [theirs.encode_ordinary(text) for text in TEXTS] == ids_of(ours)
    assert [theirs.decode(ids) for ids in ids_of(ours)] == TEXTS
    assert theirs.decode_bytes(ours.encode(ODD).tolist()) == ODD
    assert (theirs.n_vocab, theirs.eot_token) == (SIZE + 2, SIZE)
    marked = theirs.encode(f"a{END_OF_TEXT}b{PADDING}", allowed_special="all")
    assert marked == [97, SIZE, 98, SIZE + 1]


@pytest.mark.parametrize("scheme", ["none", "gpt2"])
def test_imported_ranks_keep_the_pattern_and_special_tokens_of_their_export(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pattern and the special tokens; what is named at the import counts before either."""
    pytest.importorskip("tiktoken")
    chosen = probes()[::97]
    monkeypatch.setattr("tokbench.adapters.read.probes", lambda: chosen)
    ours = merging(scheme)
    export_tiktoken(ours, PretokenCounts.from_pairs([(b"a", 1)]), tmp_path)
    for place, form in ((tmp_path, "transformers"), (tmp_path / "tokenizer.tiktoken", "tiktoken")):
        again = read_tokenizer(place, form)
        assert [again.encode(text).tolist() for text in TEXTS] == ids_of(ours)
        assert again.pretokenization == scheme
        assert again.vocabulary.special == {SIZE: END_OF_TEXT.encode(), SIZE + 1: PADDING.encode()}
        assert (again.end_of_text, again.id_limit) == (SIZE, SIZE + 2)
        assert again.origin["imported"]["told"] == ["2 special tokens of the file next to it are text in texts"]
    by_name = ReadOptions(pattern="space", special_tokens={"<s>": SIZE})
    named = read_tokenizer(place, form, by_name)
    assert (named.pretokenization, named.vocabulary.special) == ("space", {SIZE: b"<s>"})
    (tmp_path / "tiktoken.json").write_text('{"pat_str": "a"}')
    assert len(read_tokenizer(place, form, by_name)) == SIZE
    with pytest.raises(TokbenchError, match="'pat_str' is not text, or 'special_tokens' not an object; export"):
        read_tokenizer(place, form)
    place = place.rename(tmp_path / "a.tiktoken")
    with pytest.raises(TokbenchError, match="a file of ranks has no pre-tokenization pattern"):
        read_tokenizer(place, form)


def export_all(tokenizer: Tokenizer, form: str, folder: Path) -> str:
    return export(tokenizer, form, counts_of(tokenizer), folder)


def merged(*merges: tuple[bytes, bytes], tokens: tuple[bytes, ...]) -> Tokenizer:
    every = (*BYTES, *tokens)
    rows = [[every.index(left), every.index(right), every.index(left + right)] for left, right in merges]
    return Tokenizer(Vocabulary(every, merges=np.array(rows, np.int32)), "none", "merge")


def test_merges_out_of_the_order_of_ids(tmp_path: Path) -> None:
    """tiktoken's ranks are the ids; SentencePiece has scores beside them."""
    pytest.importorskip("tiktoken")
    ours = merged((b"b", b"c"), (b"a", b"b"), tokens=(b"ab", b"bc"))
    counts = PretokenCounts.from_pairs([(b"abc", 1)])
    with pytest.raises(
        TokbenchError, match=r"^tiktoken, which merges by the rank .* gives other ids for 'abc'; nothing"
    ):
        export(ours, "tiktoken", counts, tmp_path)
    assert list(tmp_path.iterdir()) == []
    pytest.importorskip("sentencepiece")
    assert export(ours, "sentencepiece", counts, tmp_path) == "tokenizer.model gives the same ids on 1 pre-tokens"


@pytest.mark.parametrize("form", ["tiktoken", "sentencepiece"])
def test_a_token_that_two_merges_make(form: str, tmp_path: Path) -> None:
    """It has two ranks with us, and one with them."""
    pytest.importorskip(form)
    merges = (b"a", b"b"), (b"b", b"c"), (b"a", b"bc"), (b"c", b"d"), (b"ab", b"c")
    ours = merged(*merges, tokens=(b"ab", b"bc", b"abc", b"cd"))
    with pytest.raises(
        TokbenchError, match=r"by (the rank of )?what .* gives other ids for 'abcd'; nothing is written$"
    ):
        export(ours, form, PretokenCounts.from_pairs([(b"abcd", 1)]), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_tokens_that_no_merge_makes(tmp_path: Path) -> None:
    """tiktoken takes a pre-token whole that is a token; SentencePiece would merge up to it."""
    ours = merged((b"a", b"b"), tokens=(b"ab", b"abc"))
    counts = PretokenCounts.from_pairs([(b"abc", 1), (b"ab", 2)])
    pytest.importorskip("tiktoken")
    with pytest.raises(TokbenchError, match="gives other ids for 'abc'; nothing is written"):
        export(ours, "tiktoken", counts, tmp_path)
    pytest.importorskip("sentencepiece")
    assert export(ours, "sentencepiece", counts, tmp_path) == "tokenizer.model gives the same ids on 2 pre-tokens"


def test_the_most_frequent_pretokens_alone(tmp_path: Path) -> None:
    pytest.importorskip("tiktoken")
    counts = counts_of(merging())
    said = export_tiktoken(merging(), counts, tmp_path, 300)
    assert said == f"tokenizer.tiktoken gives the same ids on 300 of {len(counts):,} pre-tokens, the most frequent"


# SentencePiece


def processor(folder: Path) -> Any:
    sentencepiece = pytest.importorskip("sentencepiece")
    return sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))


def test_pieces_as_the_documentation_reads_them(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    export_all(merging(), "sentencepiece", tmp_path)
    assert as_shown("sentencepiece", "/tmp/pieces", tmp_path)["ids"] == merging().encode("Some text").tolist()


@pytest.mark.parametrize("made", [merging, likely])
def test_sentencepiece_encodes_and_decodes_complete_texts(made: Any, tmp_path: Path) -> None:
    """Without pre-tokenization its model encodes and decodes as the tokenizer does."""
    pytest.importorskip("sentencepiece")
    ours = made("none")
    counts = PretokenCounts.from_pairs([(text.encode(), 1) for text in TEXTS if text], "none")
    said = export(ours, "sentencepiece", counts, tmp_path)
    assert said == f"tokenizer.model gives the same ids on {len(counts)} pre-tokens"
    theirs = processor(tmp_path)
    assert theirs.encode(TEXTS) == ids_of(ours)
    assert theirs.decode(ids_of(ours)) == TEXTS
    assert (theirs.eos_id(), theirs.bos_id(), theirs.pad_id(), theirs.unk_id()) == (SIZE, SIZE, SIZE + 1, SIZE + 2)
    assert theirs.vocab_size() == SIZE + 3


@pytest.mark.parametrize("made", [merging, likely])
def test_sentencepiece_on_pretokens(made: Any, tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    ours = made("gpt2")
    said = export_all(ours, "sentencepiece", tmp_path)
    assert re.fullmatch(r"tokenizer.model gives the same ids on \d+ pre-tokens, each given by itself", said)
    beside = json.loads((tmp_path / "sentencepiece.json").read_text())
    assert beside == {
        "pretokenization": "gpt2",
        "pattern": schemes["gpt2"].pattern,
        "special_tokens": {END_OF_TEXT: SIZE, PADDING: SIZE + 1},
    }
    regex = pytest.importorskip("regex")
    theirs = processor(tmp_path)
    for text in TEXTS:
        ids = [index for piece in regex.findall(beside["pattern"], text) for index in theirs.encode(piece)]
        assert ids == ours.encode(text).tolist()


def test_sentencepiece_export_counts_characters_outside_its_table(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    counts = PretokenCounts.from_pairs([(text.encode(), 1) for text in ("a\0", "\u0378", "\U000f0000", "é", "\ue000")])
    said = export(merging("none"), "sentencepiece", counts, tmp_path)
    assert said == "tokenizer.model gives the same ids on 2 pre-tokens; 3 hold characters that are <unk> to it"
    assert processor(tmp_path).encode("\u0378") == [SIZE + 2]


RESERVED = (b"<unk>", b"<s>", b"</s>", b"<pad>", b"<|endoftext|>", b"<|padding|>", b"<unused 258>")


@pytest.mark.parametrize("made", [merging, likely])
def test_special_tokens_with_names_that_sentencepiece_reserves(made: Any, tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    base = made("none")
    special = dict(enumerate((*RESERVED, b"<unk 1>", b"<unk>"), SIZE + 5))
    ours = Tokenizer(replace(base.vocabulary, special=special), "none", base.segmentation)
    texts = [*TEXTS, *(f"a {name.decode()} b" for name in RESERVED)]
    counts = PretokenCounts.from_pairs([(text.encode(), 1) for text in texts if text], "none")
    export(ours, "sentencepiece", counts, tmp_path)
    theirs = processor(tmp_path)
    assert theirs.encode(texts) == [ours.encode(text).tolist() for text in texts]
    assert [theirs.id_to_piece(SIZE + 5 + place).encode() for place in range(7)] == [*RESERVED]
    assert (theirs.eos_id(), theirs.pad_id(), theirs.unk_id()) == (SIZE + 9, SIZE + 10, theirs.vocab_size() - 1)
    assert theirs.encode("\u0378") == [theirs.unk_id()]


@pytest.mark.parametrize("reachable", [True, False])
def test_tokens_with_names_that_sentencepiece_reserves(reachable: bool, tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    tokens = list(dict.fromkeys(name[:end] for name in RESERVED for end in range(2, len(name) + 1)))
    merges = [(token[:-1], token[-1:]) for token in tokens] if reachable else [(b"a", b"b")]
    ours = merged(*merges, tokens=(*tokens, b"ab"))
    texts = [name.decode() for name in RESERVED] + ["ab", "<unk> a"]
    export(ours, "sentencepiece", PretokenCounts.from_pairs([(text.encode(), 1) for text in texts]), tmp_path)
    theirs = processor(tmp_path)
    assert theirs.encode(texts) == [ours.encode(text).tolist() for text in texts]
    size = len(ours)
    assert (theirs.eos_id(), theirs.pad_id(), theirs.unk_id()) == (size, size + 1, size + 2)
    assert theirs.decode(theirs.encode("<unk> a")) == "<unk> a"


def test_sums_in_single_precision(tmp_path: Path) -> None:
    """Nearly equal sums are equal to it, and the longest last token is taken."""
    pytest.importorskip("sentencepiece")
    scores = np.full(258, -9.0)
    scores[256:] = [-1.0, -1.0 - 1e-9]
    ours = Tokenizer(Vocabulary((*BYTES, b"ab", b"bc"), scores=scores), "none", "likelihood")
    assert ours.encode("abc").tolist() == [256, ord("c")]
    told = "^SentencePiece, which sums scores in single precision, gives other ids for 'abc'; nothing is written$"
    with pytest.raises(TokbenchError, match=told):
        export(ours, "sentencepiece", PretokenCounts.from_pairs([(b"abc", 1)]), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_scores_that_a_reader_of_the_file_has(tmp_path: Path) -> None:
    """Of "baaa", b a aa and b aa a have one sum but for its rounding, and a reader may miss a double by one."""
    letters = [bytes([one]) for one in range(97, 123)]
    tokens = (*BYTES, *(2 * one for one in letters))
    scores = -np.random.default_rng(1).uniform(2, 12, len(tokens))
    ours = Tokenizer(Vocabulary(tokens, scores=scores), "none", "likelihood")
    texts = [before + 3 * one for before in letters for one in letters]
    with pytest.raises(TokbenchError, match="Hugging Face's model gives other ids for"):
        export(ours, "tokenizer_json", count_pretokens(texts, "none"), tmp_path)
    assert not list(tmp_path.iterdir())
    rounded = Tokenizer(Vocabulary(tokens, scores=scores.astype(np.float16).astype(np.float64)), "none", "likelihood")
    told = export(rounded, "tokenizer_json", count_pretokens(texts, "none"), tmp_path)
    assert told.startswith("tokenizer.json gives the same ids on 676 pre-tokens")


@pytest.mark.parametrize(("form", "file"), [("sentencepiece", "tokenizer.model"), ("tokenizer_json", "tokenizer.json")])
def test_scores_that_bar_tokens(form: str, file: str, tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece" if form == "sentencepiece" else "tokenizers")
    scores = np.full(259, -8.0)
    scores[97], scores[256:] = -np.inf, [-np.inf, -1.0, -4.0]
    ours = Tokenizer(Vocabulary((*BYTES, b"ab", b"bc", b"cd"), scores=scores), "none", "likelihood")
    texts = ["ab", "abc", "bcd", "abab", "aaa"]
    counts = PretokenCounts.from_pairs([(text.encode(), 1) for text in texts])
    assert export(ours, form, counts, tmp_path) == f"{file} gives the same ids on 5 pre-tokens"


# tokenizer.json, tokens


def test_tokenizer_json_opens_without_us(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    ours = merging()
    assert export_all(ours, "tokenizer_json", tmp_path).startswith("tokenizer.json gives the same ids on ")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert type(theirs) is transformers.PreTrainedTokenizerFast
    assert theirs(TEXTS)["input_ids"] == ids_of(ours)
    assert (theirs.eos_token_id, theirs.bos_token_id, theirs.pad_token_id) == (SIZE, SIZE, SIZE + 1)


def test_tokens(tmp_path: Path) -> None:
    ours = merging()
    assert export_all(ours, "tokens", tmp_path) == f"tokens.vocab has {SIZE} tokens, and nothing of how they cut"
    lines = (tmp_path / "tokens.vocab").read_text().split()
    assert tuple(map(bytes.fromhex, lines)) == ours.vocabulary.tokens


# What cannot be


@pytest.mark.parametrize("form", ["tiktoken", "sentencepiece"])
@pytest.mark.parametrize("segmentation", ["greedy", "shortest_path", "cover"])
def test_segmentations_that_they_do_not_have(segmentation: str, form: str, tmp_path: Path) -> None:
    pytest.importorskip(form)
    ours = Tokenizer(merging().vocabulary, "gpt2", segmentation)
    with pytest.raises(TokbenchError, match=rf"segmentation '{segmentation}'.*; nothing is written$"):
        export_all(ours, form, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["tokenizer_json", "tiktoken", "sentencepiece"])
def test_schemes_that_no_pattern_says(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compared on pre-tokens alone such an export would look right, and cut texts elsewhere."""
    pytest.importorskip("sentencepiece" if form == "sentencepiece" else "tiktoken")

    def halves(text: bytes) -> Any:
        return np.array(sorted({0, len(text) // 2, len(text)}), np.int64)

    monkeypatch.setitem(schemes._methods, "halves", Scheme(name="halves", function=halves, pattern=None))
    ours = Tokenizer(merging().vocabulary, "halves", "merge")
    with pytest.raises(TokbenchError, match=r"no regular expression cuts|is not equivalent to one regular expression"):
        export(ours, form, PretokenCounts.from_pairs([(b"a", 1)]), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["tiktoken", "sentencepiece"])
def test_a_library_that_is_not_installed(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, form, None)
    with pytest.raises(TokbenchError) as rejection:
        export_all(merging(), form, tmp_path)
    assert str(rejection.value) == f"--to {form}: the package '{form}' is not installed; install tokbench[existing]"


# The command


def test_check_compares_every_exported_file_with_the_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the export writes, each by its library, and says which; a wrong pattern shows on texts alone."""
    for library in ("tiktoken", "sentencepiece"):
        pytest.importorskip(library)
    monkeypatch.setattr("tokbench.inspection.checks.agreement.SAMPLE_STEP", 400)
    monkeypatch.setattr("tokbench.adapters.exports.pretokens_to_compare", counts_of)
    subject = TokenizerUnderTest(merging(), documents=[text.encode() for text in TEXTS])
    found = exports(subject)
    assert found.passes
    assert re.fullmatch(
        r"the same ids in tokenizer_json \(([\d,]+) texts\), tiktoken \(\1 texts\), sentencepiece \([\d,]+ texts\); "
        "it cannot be exported as tokens",
        found.sentence,
    )
    assert list(found.numbers["held"]) == ["tokenizer_json", "tiktoken", "sentencepiece"]
    assert found.numbers["held"]["tiktoken"] > found.numbers["held"]["sentencepiece"] > SIZE
    assert found.numbers["not"] == {"tokens": "segmentation 'merge' needs merges, which this vocabulary does not have"}
    monkeypatch.setattr("tokbench.adapters.export_tiktoken.pattern_of", lambda scheme: None)
    monkeypatch.setattr("tokbench.inspection.checks.agreement.FORMS", ("tiktoken", "tokenizer_json"))
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    found = exports(subject)
    assert found.passes is False
    assert re.match(
        r"tiktoken returns other ids for [\d,]+ of [\d,]+ texts; it cannot be exported as tok", found.sentence
    )
    assert "'tokenizers' is not installed" in found.numbers["not"]["tokenizer_json"]
    [example] = found.examples
    assert (len(example.data), example.what) == (3, "in tiktoken")
    ranked = Tokenizer(Vocabulary((*BYTES, b"ab", b"abc")), "none", "ranked")
    monkeypatch.setattr("tokbench.inspection.checks.agreement.FORMS", ("tokens",))
    assert exports(TokenizerUnderTest(ranked)).sentence.startswith("the same ids in tokens (")
    assert exports(TokenizerUnderTest(object())).passes is None


def test_every_form_is_offered() -> None:
    assert tuple(FORMS) == OFFERED


def test_the_command(tmp_path: Path, tokbench: Tokbench) -> None:
    pytest.importorskip("tiktoken")
    ours = merging()
    ours.save(tmp_path / "bpe")
    place = tmp_path / "exported"
    outcome = tokbench("export", tmp_path / "bpe", "--to", "tiktoken", "-o", place)
    compared = sum(
        1 for token, _ in pretokens_to_compare(ours).items() if token.decode(errors="replace").encode() == token
    )
    assert (outcome.status, outcome.stdout) == (0, b"")
    assert outcome.stderr == f"tokenizer.tiktoken gives the same ids on {compared} pre-tokens\n"
    assert names(place) == [".tokbench.json", "tiktoken.json", "tokenizer.tiktoken"]
    assert read_ranks(place).encode_ordinary(TEXTS[0]) == ours.encode(TEXTS[0]).tolist()

    counts_of(ours).write(tmp_path / "counts.parquet")
    outcome = tokbench(
        "export", tmp_path / "bpe", "--to", "tokenizer_json", "-o", place, "--counts", tmp_path / "counts.parquet"
    )
    assert outcome.status == 0
    assert names(place) == [".tokbench.json", "tokenizer.json", "tokenizer_config.json"]

    Tokenizer(ours.vocabulary, "gpt2", "shortest_path").save(tmp_path / "shortest")
    outcome = tokbench("export", tmp_path / "shortest", "--to", "tokenizer_json", "-o", tmp_path / "none")
    assert outcome.message == "tokbench: Hugging Face has no model for segmentation 'shortest_path'; nothing is written"
    assert not (tmp_path / "none").exists()
    before = names(place)
    tokbench("export", tmp_path / "shortest", "--to", "tiktoken", "-o", place)
    assert names(place) == before
