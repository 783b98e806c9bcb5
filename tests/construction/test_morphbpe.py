"""MorphBPE: by hand, against plain Python, the words that are split, and gold files in the workflow."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from pydoc_data.topics import topics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.workflow.checkout import Checkout
from tokbench.construction.bpe import BpeOptions
from tokbench.construction.bpe import build as bpe
from tokbench.construction.morphbpe import (
    MorphBpeOptions,
    boundaries_by_word,
    boundaries_in,
    build,
    split_at_morphemes,
)
from tokbench.errors import TokbenchError
from tokbench.options import validated
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.reference import morphology as twin
from tokbench.resource.gold_words import gold_files, read_gold_words
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import spelling_ranks
from tokbench.vocabulary import Vocabulary

WORD = st.text("abé", min_size=1, max_size=9)
GOLD = st.dictionaries(WORD, st.sets(st.integers(1, 8)), max_size=6)
TEXT = st.dictionaries(
    st.one_of(WORD, WORD.map(lambda word: f" {word},"), WORD.map(str.upper), st.tuples(WORD, WORD).map(" ".join)),
    st.integers(1, 5),
    min_size=1,
    max_size=8,
)


def written(folder: Path, words: dict[str, list[str]], name: str = "eng.word.dev.tsv") -> Path:
    """A file of segmentations in the form of SIGMORPHON 2022."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text("".join(f"{word}\t{' @@'.join(parts)}\t000\n" for word, parts in words.items()))
    return file


def options_of(file: Path, **more: object) -> MorphBpeOptions:
    values = {"gold": file, "gold_type": "sigmorphon2022", "gold_share": 1, **more}
    return validated(values, MorphBpeOptions, "morphbpe")


def merged(vocabulary: Vocabulary) -> list[tuple[str, str]]:
    assert vocabulary.merges is not None
    spelt = [token.decode(errors="surrogateescape") for token in vocabulary.tokens]
    return [(spelt[left], spelt[right]) for left, right, _ in vocabulary.merges.tolist()]


# By hand


def test_stems_and_endings(tmp_path: Path) -> None:
    """Two nouns in three cases. No pair is left in their morphemes after four merges; inference crosses a boundary
    where a merge of a stem (m, i) occurs in an ending."""
    counted = {"hisa": 5, "hise": 4, "hiso": 3, "miza": 4, "mize": 3, "mizo": 2}
    gold = written(tmp_path, {word: [word[:3], word[3:]] for word in counted})
    counts = PretokenCounts.from_pairs((word.encode(), count) for word, count in counted.items())
    vocabulary = build(counts, 300, options_of(gold))
    assert merged(vocabulary) == [("h", "i"), ("hi", "s"), ("i", "z"), ("m", "iz")]
    assert vocabulary.record == {"gold_words": 6, "split_pretokens": 21, "pretokens": 21}
    tokenizer = Tokenizer(vocabulary, "none", "merge")
    for word, parts in {"hisa": ["his", "a"], "hisami": ["his", "a", "m", "i"], "mizah": ["miz", "a", "h"]}.items():
        assert tokenizer.tokenize(word) == parts
    assert ("hi", "s") in merged(bpe(counts, 300, BpeOptions()))
    assert ("his", "a") in merged(bpe(counts, 300, BpeOptions()))


@pytest.mark.parametrize(
    ("pretoken", "pieces"),
    [
        (" making,", [" mak", "ing,"]),
        ("Making", ["Mak", "ing"]),
        ("MAKING", ["MAK", "ING"]),
        ("makings", ["makings"]),
        ("making making", ["mak", "ing mak", "ing"]),
        ("Häuser", ["Häus", "er"]),
        ("unlocked", ["un", "lock", "ed"]),
        ("", [""]),
    ],
)
def test_words_that_are_split(pretoken: str, pieces: list[str]) -> None:
    """An unknown word is not split, and one with two segmentations has the boundaries of both."""
    words = [("making", (3,)), ("Häuser", (5,)), ("unlocked", (2,)), ("unlocked", (6,)), ("whole", ())]
    gold = boundaries_by_word(words)
    assert "whole" not in gold
    edges = [0, *boundaries_in(pretoken.encode(), gold), len(pretoken.encode())]
    assert [pretoken.encode()[start:end].decode() for start, end in pairwise(edges)] == pieces


def test_bytes_that_are_not_utf8_are_in_no_word() -> None:
    assert boundaries_in(b"\xffmaking\xfe", {"making": frozenset({3})}) == [4]


# Against plain Python


def expected_boundaries(text: str, gold: dict[str, set[int]]) -> frozenset[int]:
    """Every place in a word that is a boundary of its lower or own case, in bytes."""
    found = set()
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            alone = (start == 0 or not text[start - 1].isalpha()) and (end == len(text) or not text[end].isalpha())
            if alone and text[start:end].isalpha():
                word = text[start:end] if gold.get(text[start:end]) else text[start:end].lower()
                found |= {start + cut for cut in gold.get(word, ()) if cut < len(word)}
    return frozenset(len(text[:place].encode()) for place in found)


@given(TEXT, GOLD, st.integers(256, 300))
def test_twin(text: dict[str, int], gold: dict[str, set[int]], size: int) -> None:
    words = [(word.encode(), expected_boundaries(word, gold), count) for word, count in text.items()]
    rows = [(word, tuple(len(word[:cut].encode()) for cut in cuts if cut < len(word))) for word, cuts in gold.items()]
    known = boundaries_by_word(rows)
    pieces, split = split_at_morphemes(PretokenCounts.from_pairs((word, count) for word, _, count in words), known)
    assert split == sum(count for _, cuts, count in words if cuts)
    merges, tokens = twin.train_within_morphemes(words, spelling_ranks().tolist(), size)
    vocabulary = bpe(pieces, size, BpeOptions())
    assert list(vocabulary.tokens) == tokens
    assert merged(vocabulary) == [tuple(part.decode(errors="surrogateescape") for part in pair) for pair in merges]


# Gold data


def test_no_learnt_token_crosses_a_boundary(tmp_path: Path) -> None:
    text = "".join(topics.values())[:200_000]
    words = sorted(set(re.findall("[a-z]{3,}ing", text)))
    assert len(words) > 50
    gold = written(tmp_path, {word: [word[:-3], "ing"] for word in words})
    counts = PretokenCounts.from_pairs((word.encode(), 1) for word in words)
    vocabulary = build(counts, 2000, options_of(gold))
    assert {token for token in vocabulary.tokens if token.endswith(b"ing") and len(token) > 3} == set()
    prose = count_pretokens([text.encode()], "gpt2")
    split = {key: build(prose, 800, options_of(gold, gold_share=key)).record for key in (0.5, 1)}
    assert 0 < split[0.5]["split_pretokens"] < split[1]["split_pretokens"] < split[1]["pretokens"] == prose.total


def test_without_gold_it_is_bpe() -> None:
    counts = count_pretokens(["".join(topics.values())[:20_000].encode()], "gpt2")
    vocabulary = build(counts, 500, MorphBpeOptions())
    assert vocabulary.digest == bpe(counts, 500, BpeOptions()).digest
    assert vocabulary.record is None


def test_limits_and_reserved_strings(tmp_path: Path) -> None:
    """A reserved string is found although a boundary lies in it, since words are split afterwards."""
    gold = written(tmp_path, {"making": ["mak", "ing"], "tying": ["ty", "ing"]})
    counts = PretokenCounts.from_pairs([(b"making", 3), (b"tying", 5)])
    assert merged(build(counts, 300, options_of(gold)))[:4] == [("i", "n"), ("in", "g"), ("t", "y"), ("a", "k")]
    assert merged(build(counts, 300, options_of(gold, max_token_bytes=2, min_pair_count=4))) == [("i", "n"), ("t", "y")]
    reserved = merged(build(counts, 300, options_of(gold, reserved=["making"])))
    assert reserved == [("i", "n"), ("t", "y"), ("in", "g")]


def test_a_folder_of_files(tmp_path: Path) -> None:
    written(tmp_path / "gold", {"making": ["mak", "ing"]}, "eng.word.dev.tsv")
    written(tmp_path / "gold", {"macht": ["mach", "t"]}, "deu.word.dev.tsv")
    (tmp_path / "gold" / "README").write_text("not gold data")
    options = options_of(tmp_path / "gold")
    assert [file.name for file in gold_files(options)] == ["deu.word.dev.tsv", "eng.word.dev.tsv"]
    assert read_gold_words(options) == [("macht", (4,)), ("making", (3,))]
    assert read_gold_words(options_of(tmp_path / "gold", gold_languages=["eng"])) == [("making", (3,))]
    with pytest.raises(TokbenchError, match=r"no file '\*\.word\.\*\.tsv\*' in the folder '.*'; name the files"):
        read_gold_words(options_of(tmp_path))


def test_gold_that_the_text_has_not(tmp_path: Path) -> None:
    gold = written(tmp_path, {"macht": ["mach", "t"], "making": ["making"]})
    with pytest.raises(
        TokbenchError, match=r"no word of the text has a boundary in it; check its language, gold_share"
    ):
        build(PretokenCounts.from_pairs([(b"making", 1)]), 300, options_of(gold))
    with pytest.raises(TokbenchError, match="gold and gold_type belong together"):
        validated({"gold": gold}, MorphBpeOptions, "morphbpe")
    with pytest.raises(TokbenchError, match="alphabet"):
        options_of(gold, alphabet="grapheme")


# In the workflow


EXPERIMENT = """
name: morphemes
corpora:
  manual: {source: {type: text, path: manual.txt, documents: paragraph}, splits: {tokenizer: 0.6, evaluation: 0.4}}
variants:
  bpe: {pretokenization: gpt2, construction: bpe}
  morphbpe: {pretokenization: gpt2, construction: {method: morphbpe, gold: gold, gold_type: sigmorphon2022}}
resources:
  words: {type: sigmorphon2022, path: gold, left_out: 0.5}
sizes: [500]
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Checkout]:
    checkout = Checkout(tmp_path)
    yield checkout
    checkout.close()


def test_a_changed_gold_file_rebuilds_its_variant_only(checkout: Checkout) -> None:
    text = "".join(topics.values())[:60_000]
    (checkout.folder / "manual.txt").write_text("\n\n".join(topics.values())[:60_000])
    words = {word: [word[:-3], "ing"] for word in sorted(set(re.findall("[a-z]{3,}ing", text)))}
    written(checkout.folder / "gold", words)
    (checkout.folder / "morphemes.yaml").write_text(EXPERIMENT)
    for name, changed in {
        "leaking": (", left_out: 0.5", ""),
        "all": ("sigmorphon2022}}", "sigmorphon2022, gold_share: 1}}"),
    }.items():
        (checkout.folder / f"{name}.yaml").write_text(EXPERIMENT.replace(*changed))
    measured = [f"results/morphemes/intrinsic/{name}/500.json" for name in ("bpe", "morphbpe")]
    aligned = "results/morphemes/intrinsic/morphbpe/500/words.json"
    told = checkout.snakemake(*measured, "--cores", "2", "--configfile", "leaking.yaml", status=1)
    assert "resources.words.left_out: variant 'morphbpe' is built from words of 'gold'; set left_out: 0.5" in told
    told = checkout.snakemake(*measured, "--cores", "2", "--configfile", "all.yaml", status=1)
    assert "from all of them; set its gold_share below 1, and left_out to the same value" in told
    checkout.snakemake(*measured, aligned, "--cores", "2", "--configfile", "morphemes.yaml")
    gold = json.loads((checkout.folder / aligned).read_text())
    assert {row["metric"]: row["value"] for row in gold["measurements"]}["morphological_alignment"] is not None
    record = json.loads((checkout.folder / "results/morphemes/tokenizers/morphbpe/500/record.json").read_text())
    assert 0 < record["split_pretokens"] < record["pretokens"]
    # One more word: what is built from it again, and what is not.
    written(checkout.folder / "gold", {"stringing": ["string", "ing"]}, "eng.word.test.tsv")
    told = checkout.snakemake(*measured, "--cores", "2", "--configfile", "morphemes.yaml", "-n")
    assert "build morphbpe at 500" in told
    assert "build bpe at 500" not in told
