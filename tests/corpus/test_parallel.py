"""Parallel corpora: every form of file, the rules of cleaning, splits that stay aligned, and sides as corpora."""

import gzip
import json
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Tokbench
from tests.support.corpora import corpus
from tokbench.config.load import validate
from tokbench.corpus.fetch import fetch_pairs
from tokbench.corpus.parallel import Cleaning, LinePairs, ParallelCorpus
from tokbench.corpus.parallel_prepare import clean, digest, find_duplicates, prepare_parallel
from tokbench.corpus.parallel_read import read_pairs, read_sentences
from tokbench.corpus.read import read_source
from tokbench.corpus.sources import ParallelSource
from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_folder
from tokbench.options import validated
from tokbench.tabulation.translations import cleaning_table
from tokbench.workflow.corpora import Corpora

SMALL = {
    "name": "small",
    "sizes": [512],
    "corpora": {"books": {"source": "embedded", "splits": {"tokenizer": 1.0, "evaluation": "tokenizer"}}},
    "variants": {"bpe": {"pretokenization": "gpt2", "construction": "bpe"}},
}
"""An experiment without its parallel corpora."""
PAIRS = [("A cat.", "Eine Katze."), ("Two & <three>.", "Zwei & <drei>."), ("naïve 🦀", "naiv 🦀")]


def written(folder: Path) -> dict[str, dict[str, Any]]:
    """The same pairs in every form."""
    lines = {"en": folder / "pairs.en.gz", "de": folder / "pairs.de"}
    lines["en"].write_bytes(gzip.compress("".join(f"{first}\r\n" for first, _ in PAIRS).encode()))
    lines["de"].write_text("".join(f"{second}\n" for _, second in PAIRS), encoding="utf-8")
    rows = [json.dumps({"de": second, "translation": {"en": first}}) + "\n" for first, second in PAIRS]
    (folder / "pairs.jsonl").write_text("".join(rows), encoding="utf-8")
    table = {"de": [second for _, second in PAIRS], "translation": [{"en": first} for first, _ in PAIRS]}
    pq.write_table(pa.table(table), folder / "pairs.parquet")
    units = (
        f'<tu><tuv xml:lang="DE-at"><seg><bpt i="1">{{b}}</bpt>{escape(second)}<ept i="1"/></seg></tuv>'
        f'<tuv xml:lang="fr"><seg>?</seg></tuv><tuv xml:lang="en"><seg><hi>{escape(first)}</hi></seg></tuv></tu>'
        for first, second in PAIRS
    )
    (folder / "pairs.tmx").write_text(f'<tmx version="1.4"><body>{"".join(units)}</body></tmx>', encoding="utf-8")
    fields = {"en": "translation.en"}
    return {
        "lines": {"type": "lines", "path": {language: str(path) for language, path in lines.items()}},
        "jsonl": {"type": "jsonl", "path": str(folder / "pairs.jsonl"), "fields": fields},
        "parquet": {"type": "parquet", "path": str(folder / "pairs.parquet"), "fields": fields},
        "tmx": {"type": "tmx", "path": str(folder / "pairs.tmx")},
    }


@pytest.mark.parametrize("form", ["lines", "jsonl", "parquet", "tmx"])
def test_every_form_gives_the_same_pairs(form: str, tmp_path: Path) -> None:
    source = {"languages": ["en", "de"], "train": written(tmp_path)[form], "tests": {"held": 1}}
    read = list(read_pairs(validated(source, ParallelCorpus, "here").train, ("en", "de")))
    assert [(first.decode(), second.decode()) for first, second in read] == PAIRS


def test_pairs_in_json_may_have_lone_surrogates_and_odd_scores(tmp_path: Path) -> None:
    """Half of a surrogate pair in a text, and a score that is no number."""
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"en": "\\ud83d", "de": "ja", "score": NaN}\n')
    source = {"languages": ["en", "de"], "train": {"type": "jsonl", "path": str(path)}, "tests": {"held": 1}}
    read = list(read_pairs(validated(source, ParallelCorpus, "here").train, ("en", "de")))
    assert read == [(b"\xed\xa0\xbd", b"ja")]


def test_each_cleaning_rule_counts_removed_pairs(tmp_path: Path) -> None:
    good, held = (b"one", b"eins"), (b"held", b"out")
    pairs = [
        good, (b"\xff", b"x"), (b"", b"x"), (b"x" * 9, b"x" * 9), (b"abc", b"abcdefg"), held, good, (b"two", b"eins"),
        ("äöü".encode(), b"abcdef"),
    ]  # fmt: skip
    counts = Counter[str]()
    digests = frozenset({digest(held)})
    options = Cleaning(max_characters=8, max_ratio=2.0)
    again = find_duplicates(pairs, options, digests, tmp_path, 1000)
    kept = list(clean(pairs, options, digests, again, counts))
    assert [number for number, _ in kept] == [0, 7, 8]
    rules = ("not_utf8", "empty", "too_long", "ratio", "held_out", "duplicate")
    assert counts == {"read": 9} | dict.fromkeys(rules, 1)
    assert len(list(clean(pairs, Cleaning(), frozenset(), None, Counter()))) == 7


@settings(max_examples=25)
@given(st.lists(st.integers(0, 40), max_size=60), st.sampled_from([0, 300, 3000, 10**6]))
def test_pairs_that_come_again_are_found_in_any_memory(numbers: list[int], most: int) -> None:
    pairs = [(b"pair", b"%d" % number) for number in numbers]
    with TemporaryDirectory() as name:
        again = find_duplicates(pairs, Cleaning(max_ratio=None), {digest((b"pair", b"7"))}, Path(name), most)
        assert not [*Path(name).iterdir()]
    first = [number not in numbers[:place] for place, number in enumerate(numbers)]
    assert again.tolist() == [not (new or number == 7) for new, number in zip(first, numbers, strict=True)]


def test_memory_below_the_minimum_is_an_error(tokbench: Tokbench, tmp_path: Path) -> None:
    made = corpus(tmp_path, PAIRS)
    told = tokbench("prepare_parallel", "--memory", "50", "--recipe", made.model_dump_json(), "-o", tmp_path / "none")
    assert told.status == 2
    assert "--memory 50: too little for this command" in told.stderr


@settings(max_examples=25)
@given(
    st.lists(st.integers(0, 30), min_size=4, max_size=30),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 5),
)
def test_splits_stay_aligned_and_share_no_pair(numbers: list[int], dev: int, held: int, seed: int) -> None:
    pairs = [(f"source {number}", f"Ziel {number}") for number in numbers]
    with TemporaryDirectory() as name:
        folder = Path(name)
        made = corpus(folder, pairs, dev=dev, tests={"held": held})
        different = len(set(numbers))
        if dev + held >= different:
            with pytest.raises(TokbenchError, match=f"from {different}; draw fewer"):
                prepare_parallel(made, seed, folder)
            return
        counts = prepare_parallel(made, seed, folder)
        found = {split: read_sentences(folder / f"{split}.parquet", "en", "de") for split in ("train", "dev", "held")}
        drawn = {split: one.source for split, one in found.items()}
        assert sorted(line for lines in drawn.values() for line in lines) == sorted({first for first, _ in pairs})
        for split in found.values():
            aligned = [pairs[number] for number in split.pairs]
            assert aligned == list(zip(split.source, split.target, strict=True))
            assert split.pairs == sorted(split.pairs)
        assert {split: len(lines) for split, lines in drawn.items()} == {
            "train": different - dev - held, "dev": dev, "held": held,
        }  # fmt: skip
        assert counts["train"]["kept"] + counts["train"]["drawn"] + counts["train"].get("duplicate", 0) == len(numbers)


def test_test_files_are_complete_and_removed_from_training(tmp_path: Path) -> None:
    sources = written(tmp_path)
    made = corpus(tmp_path, [*PAIRS[1:], ("Other", "Andere")], tests={"unseen": sources["tmx"]})
    counts = prepare_parallel(made, 0, tmp_path)
    assert counts["train"] == {"read": 3, "held_out": 2, "kept": 1}
    assert read_sentences(tmp_path / "unseen.parquet", "de", "en") == (
        [0, 1, 2], [second for _, second in PAIRS], [first for first, _ in PAIRS],
    )  # fmt: skip
    assert json.loads((tmp_path / "counts.json").read_text()) == counts
    told = cleaning_table([tmp_path]).filter(split="train").select("pairs", "n")
    assert dict(told.iter_rows()) == counts["train"]


def test_edited_numbers_of_pairs_are_in_no_table(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "pairs", "parallel corpus") as folder:
        prepare_parallel(corpus(tmp_path, PAIRS), 0, folder)
    file = tmp_path / "pairs" / "counts.json"
    assert cleaning_table([file.parent]).height
    file.write_text(file.read_text().replace('"read": 3', '"read": 4'))
    with pytest.raises(TokbenchError, match=r"counts\.json: not as it was written; delete its folder and run"):
        cleaning_table([file.parent])


def test_pairs_of_a_hub_are_fetched_once_and_read_from_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def load_dataset(*names: str, **options: Any) -> list[dict[str, Any]]:
        asked.append((*names, options["split"], options["revision"], options["streaming"]))
        return [{"translation": {"en": first, "de": second}} for first, second in [*PAIRS, ("Half.", None)]]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    fields = {"en": "translation.en", "de": "translation.de"}
    hub = {"type": "hub", "dataset": "wmt/wmt16", "config": "de-en", "revision": "0" * 40, "fields": fields}
    whole = corpus(tmp_path, PAIRS, train=hub)
    (wanted,) = whole.on_hub()
    file = tmp_path / "fetched.parquet"
    assert fetch_pairs(wanted, file) == 4
    assert asked == [("wmt/wmt16", "de-en", "train", "0" * 40, True)]
    assert pq.read_table(file).column_names == ["en", "de"]
    assert whole.files() == []
    with pytest.raises(
        TokbenchError, match=r"wmt/wmt16: pairs of a hub are read from the file that 'tokbench fetch_pa"
    ):
        list(read_pairs(whole.train, whole.languages))
    counts = prepare_parallel(whole.read_from([file]), 0, tmp_path)
    assert counts["train"] == {"read": 4, "empty": 1, "drawn": 1, "kept": 2}
    damaged = bytearray(file.read_bytes())
    damaged[damaged.index(b"\x28\xb5\x2f\xfd") + 8] ^= 1
    file.write_bytes(damaged)
    with pytest.raises(OSError, match="CRC"):
        pq.read_table(file, page_checksum_verification=True)
    wrong = wanted.model_copy(update={"source": wanted.source.model_copy(update={"fields": {}})})
    with pytest.raises(TokbenchError, match=r"^wmt/wmt16: row 1: nothing under 'en'; choose another revision, or name"):
        fetch_pairs(wrong, tmp_path / "wrong.parquet")
    assert not (tmp_path / "wrong.parquet").exists()


def test_the_workflow_fetches_pairs_where_the_configuration_asks(tokbench: Tokbench, tmp_path: Path) -> None:
    hub = {"type": "hub", "dataset": "a/b", "revision": "0" * 40}
    asking = {"languages": ["en", "de"], "train": hub, "tests": {"held": 1, "again": hub}}
    corpora = Corpora(validate(SMALL | {"parallel_corpora": {"news": asking}}, "here"))
    digests = corpora.parallel_digests(SimpleNamespace(parallel="news"))
    assert len(digests) == 2
    assert len(set(digests)) == 1
    recipe = corpora.pairs_recipe(SimpleNamespace(digest=digests[0]))
    assert json.loads(recipe)["source"]["dataset"] == "a/b"
    file = tmp_path / "fetched.parquet"
    pq.write_table(pa.table({"en": ["one", "two", "three"], "de": ["eins", "zwei", "drei"]}), file)
    asking["tests"] = {"held": 1}
    one = json.dumps(asking)
    told = tokbench("prepare_parallel", "--recipe", one, "-o", tmp_path / "none")
    assert told.status == 2
    assert "1 of the splits are pairs of a hub; name the files" in told.stderr
    assert tokbench("prepare_parallel", "--recipe", one, "-o", tmp_path / "pairs", "--", file).status == 0
    assert len(read_sentences(tmp_path / "pairs" / "train.parquet", "en", "de").pairs) == 2


def test_paths_are_given_by_name_of_the_corpus(tmp_path: Path) -> None:
    (tmp_path / "text[1]").touch()
    path = {"en": str(tmp_path / "text[1]"), "de": str(tmp_path / "text[1]")}
    open_corpus = {
        "languages": ["en", "de"],
        "train": {"type": "lines"},
        "dev": 5,
        "tests": {"one": {"type": "lines"}, "two": 7},
    }
    values = SMALL | {"parallel_corpora": {"news": open_corpus}}
    found = validate({**values, "news": {"train": path, "one": path}}, "here").parallel_corpora["news"]
    assert isinstance(found.train, LinePairs)
    assert found.sources().keys() == {"train", "one"}
    for paths in ({"one": path}, {"train": path, "one": path, "dev": path}, {"one": path, "three": path}):
        with pytest.raises(TokbenchError, match=r"here: parallel_corpora.news(: no path given|.dev|.three)"):
            validate({**values, "news": paths}, "here")


def test_command_rejects_a_split_without_a_path(tmp_path: Path, tokbench: Tokbench) -> None:
    recipe = {"languages": ["en", "de"], "train": {"type": "lines"}, "tests": {"one": 5}}
    outcome = tokbench("prepare_parallel", "--recipe", json.dumps(recipe), "-o", tmp_path / "pairs")
    assert outcome.message == "tokbench: --recipe: train: no path given; add it"


def test_error_on_files_of_different_length_names_the_shorter(tmp_path: Path) -> None:
    made = corpus(tmp_path, PAIRS)
    (tmp_path / "text.de").write_text("eins\n", encoding="utf-8")
    with pytest.raises(TokbenchError, match=r"text\.de: ends after 1 lines, and \S+text\.en goes on"):
        prepare_parallel(made, 0, tmp_path)


def test_sides_of_a_parallel_corpus_are_corpora(tmp_path: Path) -> None:
    prepare_parallel(corpus(tmp_path, [*PAIRS, ("d", "d")]), 1, tmp_path)
    read = read_sentences(tmp_path / "train.parquet", "en", "de")
    source = ParallelSource(type="parallel", corpus="news")
    tagged = [(one.language, one.text.decode()) for one in read_source(source, tmp_path / "train.parquet")]
    assert tagged == [("en", line) for line in read.source] + [("de", line) for line in read.target]
    german = source.model_copy(update={"languages": ["de"]})
    assert [one.text.decode() for one in read_source(german, tmp_path / "train.parquet")] == read.target


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"languages": ["en", "en"]}, "two different names"),
        ({"tests": {"train": 3}}, "'train' is the name of another split"),
        ({"clean": {"drop_duplicates": False}}, "would leave in training what is drawn"),
        ({"languages": ["en", "et"]}, "names must be those of languages, en and et"),
    ],
)
def test_contradictory_parallel_corpora_are_rejected(values: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(TokbenchError, match=told):
        corpus(tmp_path, PAIRS, **values)
