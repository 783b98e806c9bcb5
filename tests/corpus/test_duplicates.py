"""Documents on both sides of a corpus's splits, and files of equal content: counted, said, and dropped if asked for.

Counts and measures of a text in several languages.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Tokbench, write_json_lines
from tests.support.pipeline import done
from tokbench.config.check import unit_mistakes
from tokbench.config.experiment import Experiment
from tokbench.config.load import files_with_equal_content
from tokbench.corpus.documents import ContinuationPiece, Document, read_documents, read_shard
from tokbench.corpus.duplicates import Duplicates, compared_splits, equal_files
from tokbench.corpus.shards import open_shards
from tokbench.corpus.sources import CountsSource, EmbeddedSource, JsonLinesSource, TextSource
from tokbench.corpus.splits import UNUSED, split_documents
from tokbench.corpus.units import check_documents
from tokbench.errors import TokbenchError
from tokbench.metric.usage import encoded_by_language
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_languages, count_pretokens
from tokbench.pretokens.files import read_languages, write_languages
from tokbench.statistics.inputs import sum_by_unit
from tokbench.tokenizer import Tokenizer
from tokbench.workflow.corpora import Corpora
from tokbench.workflow.targets import unit_flags, unit_tables

SPLITS = {"tokenizer": 0.5, "evaluation": 0.3, "pretraining": 0.2}


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(-1, 3)), max_size=80), st.sampled_from([1, 1 << 60]))
def test_duplicates_are_those_of_both_sides(rows: list[tuple[int, int]], spread: int) -> None:
    """Against a definition document by document; digests with equal halves are different."""
    fractions = {"byte_lm": 0.1, "tokenizer": 0.4, "evaluation": 0.3, "pretraining": 0.2}
    digests = np.array([(text // 4 * spread, text % 4) for text, _ in rows], np.uint64).reshape(-1, 2)
    splits = np.array([split for _, split in rows], np.int8)
    sizes = np.array([text for text, _ in rows], np.int64)
    found = Duplicates(digests, splits, fractions, sizes).found.tolist()
    others = {text for text, split in rows if split in (1, 3)}
    assert found == [number for number, (text, split) in enumerate(rows) if split == 2 and text in others]


def test_only_splits_with_a_share_are_compared() -> None:
    assert compared_splits(SPLITS) == ["tokenizer", "pretraining"]
    assert compared_splits({"tokenizer": 1.0}) == []
    assert compared_splits({"evaluation": 0.5, "pretraining": 0.0, "byte_lm": 0.5}) == []


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Forty documents of which half are there twice, and long ones of which some differ in a last piece alone."""
    texts = [f"document {number}" for number in range(20)] * 2 + [
        "word " * 300_000 + f"{number % 3}" for number in range(9)
    ]
    return write_json_lines(tmp_path / "rows.jsonl", [{"text": text} for text in texts])


def whole_texts(folder: Path) -> list[bytes]:
    """The documents of a split, in pieces or not."""
    found: list[bytes] = []
    for document in read_documents(sorted(folder.glob("*.parquet"))):
        if isinstance(document, ContinuationPiece):
            found[-1] += document.text
        else:
            found.append(document.text)
    return found


@pytest.mark.parametrize("longest", [1_000_000, None])
def test_prepare_counts_and_drops_duplicates(
    rows: Path, longest: int | None, tmp_path: Path, tokbench: Tokbench
) -> None:
    recipe: dict[str, Any] = {"source": {"type": "jsonl"}, "splits": SPLITS, "longest_document": longest, "shards": 2}
    found, said = {}, {}
    for duplicates in ("keep", "drop"):
        folder = tmp_path / duplicates
        call = json.dumps(recipe | {"duplicates": duplicates})
        said[duplicates] = tokbench("prepare", "--recipe", call, "-o", folder, rows).stderr
        found[duplicates] = {split: whole_texts(folder / split) for split in SPLITS}
        line = json.loads((folder / "manifest.json").read_text())["duplicates"]
        assert line in said[duplicates].splitlines()
        assert line.endswith("left out of it" if duplicates == "drop" else "kept (duplicates: keep)")
    kept, dropped = found["keep"], found["drop"]
    others = {text for split in ("tokenizer", "pretraining") for text in kept[split]}
    both = [text for text in kept["evaluation"] if text in others]
    assert 0 < len(both) < len(kept["evaluation"])
    number = f"{len(both):,} of {len(kept['evaluation']):,} documents of evaluation ({sum(map(len, both)):,} bytes)"
    assert line == f"{number} are also in tokenizer or pretraining, byte for byte; left out of it"
    assert dropped == kept | {"evaluation": [text for text in kept["evaluation"] if text not in others]}
    assert f"evaluation: {len(dropped['evaluation'])} documents" in said["drop"]


def test_equal_splits_are_not_compared(rows: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    recipe = {"source": {"type": "jsonl"}, "splits": {"tokenizer": 1.0, "evaluation": "tokenizer"}}
    outcome = tokbench("prepare", "--recipe", json.dumps(recipe), "-o", tmp_path / "corpus", rows)
    assert "byte for byte" not in outcome.stderr
    assert not (tmp_path / "corpus" / "manifest.json").exists()


def test_nothing_left_to_evaluate(tmp_path: Path, tokbench: Tokbench) -> None:
    rows = write_json_lines(tmp_path / "rows.jsonl", [{"text": "same"}] * 10)
    recipe = {"source": {"type": "jsonl"}, "splits": {"tokenizer": 0.5, "evaluation": 0.5}, "duplicates": "drop"}
    outcome = tokbench("prepare", "--recipe", json.dumps(recipe), "-o", tmp_path / "corpus", rows)
    assert outcome.message == (
        "tokbench: split 'evaluation': all 5 documents are also in tokenizer; set 'duplicates: keep', or add other "
        "documents"
    )
    splits = np.array([0] * 5 + [1] * 5, np.int8)
    duplicates = Duplicates(np.zeros((10, 2), np.uint64), splits, {"tokenizer": 0.5, "evaluation": 0.5}, splits)
    with pytest.raises(TokbenchError, match="all 5 documents"):
        duplicates.drop(splits)
    assert UNUSED not in splits


@pytest.mark.parametrize("duplicates", ["keep", "drop"])
def test_recipes_name_dropped_duplicates(duplicates: str, experiment: dict[str, Any]) -> None:
    experiment["corpora"] = {"pydoc": {"source": "embedded", "duplicates": duplicates}}
    corpora = Corpora(Experiment.model_validate(experiment))
    named = type("Wildcards", (), {"corpus": "pydoc", "part": "0000"})
    for recipe in (corpora.recipe(named), corpora.split_recipe(named)):
        assert json.loads(recipe).get("duplicates", "keep") == duplicates
        assert ("duplicates" in json.loads(recipe)) == (duplicates == "drop")
    for recipe in (corpora.sizes_recipe(named), corpora.deal_recipe(named)):
        assert "duplicates" not in json.loads(recipe)


# Units


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 900)), min_size=40), st.integers(0, 99))
def test_a_unit_falls_into_one_split(rows: list[tuple[int, int]], seed: int) -> None:
    """Splits of units are those of one document for each unit."""
    named = {unit: place for place, unit in enumerate(dict.fromkeys(unit for unit, _ in rows))}
    units = np.array([named[unit] for unit, _ in rows], np.int32)
    sizes = np.array([size for _, size in rows])
    fractions = {"tokenizer": 0.5, "evaluation": 0.5}
    together = [int(sizes[units == unit].sum()) for unit in range(len(named))]
    try:
        expected = split_documents(together, fractions, seed)
    except TokbenchError:
        with pytest.raises(TokbenchError, match="gets none of"):
            split_documents(sizes, fractions, seed, units=units)
        return
    assert split_documents(sizes, fractions, seed, units=units).tolist() == expected[units].tolist()


@pytest.mark.parametrize("parts", [1, 2])
def test_prepare_keeps_units_together(parts: int, tmp_path: Path, tokbench: Tokbench) -> None:
    rows = [{"text": f"{number % 5} of {number}"} for number in range(40)]
    files = [write_json_lines(tmp_path / f"{half}.jsonl", rows[20 * half : 20 * half + 20]) for half in (0, 1)]
    table = tmp_path / "units.csv"
    table.write_text("document,note,unit\n" + "".join(f"{n},x,author {n % 5}\n" for n in reversed(range(40))))
    recipe = {"source": {"type": "jsonl"}, "splits": {"tokenizer": 0.6, "evaluation": 0.4}, "seed": 3}
    folder = tmp_path / "corpus"
    if parts == 1:
        done(tokbench("prepare", "--recipe", json.dumps(recipe), "--units", table, "-o", folder, *files))
        splits = {split: whole_texts(folder / split) for split in ("tokenizer", "evaluation")}
        authors = {split: {text.split()[0] for text in texts} for split, texts in splits.items()}
        assert not authors["tokenizer"] & authors["evaluation"]
        assert len(authors["tokenizer"] | authors["evaluation"]) == 5
        return
    sizes = [tmp_path / f"{part}.parquet" for part in (0, 1)]
    for file, size in zip(files, sizes, strict=True):
        done(tokbench("read_sizes", "--recipe", json.dumps(recipe), "-o", size, file))
    done(tokbench("split_corpus", "--recipe", json.dumps(recipe), "--units", table, "-o", folder, *sizes))
    placed = np.concatenate([pq.read_table(folder / f"000{part}.parquet")["place"].to_numpy() for part in (0, 1)])
    assert [len(set(placed[unit::5])) for unit in range(5)] == [1] * 5
    assert set(placed) == {0, 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("document\n1\n", "units.csv: no column 'unit'; give CSV with the columns document and unit"),
        ("document,unit\n0,a\n-1,a\n", "units.csv:3: '-1' is no document; give its number, from 0"),
        ("document,unit\n0,\n", "units.csv:2: document 0 has no unit; name one"),
        ("document,unit\n0,a\n1,a\n0,a\n", "units.csv:4: document 0 is named twice; name each document once"),
        ("document,unit\n1,a\n", "units.csv: has no row for document 0 of the corpus; name each document of this"),
        ("document,unit\n0,a\n1,b\n2,c\n", "units.csv: names document 2, which the corpus does not have; name each"),
    ],
)
def test_units_that_do_not_fit(text: str, message: str, tmp_path: Path, tokbench: Tokbench) -> None:
    rows = write_json_lines(tmp_path / "rows.jsonl", [{"text": "one"}, {"text": "two"}])
    (tmp_path / "units.csv").write_text(text)
    recipe = json.dumps({"source": {"type": "jsonl"}, "splits": {"tokenizer": 0.5, "evaluation": 0.5}})
    outcome = tokbench("prepare", "--recipe", recipe, "--units", tmp_path / "units.csv", "-o", tmp_path / "c", rows)
    assert outcome.status == 2
    assert message in outcome.message
    assert not (tmp_path / "c").exists()


def test_tables_need_a_row_for_each_document_of_a_unit() -> None:
    splits = np.zeros(1001, np.int8)
    check_documents(Path("units.csv"), splits, {"tokenizer": 1.0})
    check_documents(Path("units.csv"), splits[:1000], {"evaluation": 1.0})
    with pytest.raises(TokbenchError, match=r"has 1,001 documents, and units need 1,000 or fewer"):
        check_documents(Path("units.csv"), splits, {"evaluation": 1.0})


def test_configurations_name_units(tmp_path: Path, experiment: dict[str, Any]) -> None:
    table = tmp_path / "units.csv"
    experiment["corpora"] = {"pydoc": {"source": "embedded", "units": str(table)}}
    asked = Experiment.model_validate(experiment)
    [missing] = unit_mistakes(asked)
    assert missing.startswith("corpora.pydoc.units: ")
    table.write_text("document,unit\n0,a\n")
    assert list(unit_mistakes(asked)) == []
    corpora, named = Corpora(asked), type("Wildcards", (), {"corpus": "pydoc"})
    assert corpora.units_at_once(named) == unit_tables(asked) == [str(table)]
    assert unit_flags(asked) == ["--units", f"pydoc={table}"]
    assert "units" not in json.loads(corpora.recipe(named))
    experiment["corpora"]["pydoc"]["source"] = {"type": "counts", "path": str(table)}
    [line] = unit_mistakes(Experiment.model_validate(experiment))
    assert line == "corpora.pydoc.units: a corpus of counts has no documents; leave the key out"


def test_statistics_sum_documents_of_a_unit(tmp_path: Path) -> None:
    table = tmp_path / "units.csv"
    table.write_text("document,unit\n0,a\n3,b\n5,a\n")
    head = {"corpus": ["x"] * 6 + ["y"], "variant": ["one"] * 3 + ["two"] * 3 + ["one"]}
    frame = pl.DataFrame(head | {"document": [5, 0, 3, 0, 3, 5, 5], "bits": [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]})
    found = sum_by_unit(frame, ("bits",), {"x": table})
    assert sorted(found.rows()) == [
        ("x", "one", 0, 3.0), ("x", "one", 3, 4.0), ("x", "two", 0, 40.0), ("x", "two", 3, 16.0), ("y", "one", 5, 64.0),
    ]  # fmt: skip
    assert sum_by_unit(frame, ("bits",), {}) is frame


# Files


def test_files_of_equal_content(tmp_path: Path, experiment: dict[str, Any], tokbench: Tokbench) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for name, text in (("a", "one\n"), ("b", "two\n"), ("c", "one\n"), ("d", ""), ("e", ""), ("f", "three\n")):
        (texts / f"{name}.txt").write_text(text)
    line = f"2 files have equal content: {texts}/a.txt, {texts}/c.txt"
    source = TextSource(type="text", path=[str(texts)])
    assert equal_files(source) == [line]
    twice = JsonLinesSource(type="jsonl", path={"en": [str(texts / "a.txt")], "de": [str(texts / "a.txt")]})
    assert equal_files(twice) == [f"2 files have equal content: {texts}/a.txt, {texts}/a.txt"]
    names = [texts / f"{'long' * 50}{number}.txt" for number in range(5)]
    for name in names:
        name.write_text("many\n")
    several = f"5 files have equal content: {names[0]}, {names[1]}, {names[2]} and 2 more"
    assert equal_files(source) == [line, several]
    for name in names:
        name.unlink()
    assert equal_files(CountsSource(type="counts", path=[str(texts)])) == []
    assert equal_files(EmbeddedSource(type="embedded")) == []
    experiment["corpora"] = {"pydoc": {"source": {"type": "text", "path": str(texts)}}}
    assert files_with_equal_content(Experiment.model_validate(experiment)) == [f"corpora.pydoc.source.path: {line}"]
    recipe = {"source": {"type": "text", "path": str(texts)}, "splits": {"tokenizer": 1.0}}
    outcome = tokbench("prepare", "--recipe", json.dumps(recipe), "-o", tmp_path / "corpus")
    assert line in outcome.stderr.splitlines()
    assert json.loads((tmp_path / "corpus" / "manifest.json").read_text()) == {"equal_files": [line]}


GERMAN = [b"der Hund und der Hund", b"die Katze der Hund", "schöne Grüße".encode()]
UKRAINIAN = ["пес і кіт".encode(), "пес і пес, der Hund".encode()]
TAGGED = [("de", GERMAN[0]), ("uk", UKRAINIAN[0]), ("de", GERMAN[1]), ("uk", UKRAINIAN[1]), ("de", GERMAN[2])]


def pairs(counts: PretokenCounts) -> list[tuple[bytes, int]]:
    return list(counts.items())


@given(st.lists(st.tuples(st.sampled_from(["", "de", "und"]), st.text("ab ", max_size=20).map(str.encode))))
def test_each_language_is_counted_by_itself(documents: list[tuple[str, bytes]]) -> None:
    """Documents without a language are those of 'und' where others have a language."""
    found = count_languages(documents, "gpt2")
    untagged = "und" if any(language for language, _ in documents) else ""
    named = [(language or untagged, text) for language, text in documents]
    assert set(found) == {language for language, _ in named}
    for language, counts in found.items():
        assert pairs(counts) == pairs(count_pretokens([text for own, text in named if own == language], "gpt2"))


def test_readers_that_know_no_languages_find_the_whole_text(tmp_path: Path) -> None:
    file = tmp_path / "counts.parquet"
    whole = write_languages(count_languages(TAGGED, "gpt2"), file)
    assert pl.read_parquet_schema(file).names() == ["language", "pretoken", "count"]
    assert pairs(PretokenCounts.read(file)) == pairs(whole) == pairs(count_pretokens(GERMAN + UKRAINIAN, "gpt2"))
    apart = read_languages(file)
    assert list(apart) == ["de", "uk"]
    assert pairs(apart["uk"]) == pairs(count_pretokens(UKRAINIAN, "gpt2"))
    assert apart["uk"].scheme == "gpt2"


def test_a_text_without_languages_has_a_plain_table(tmp_path: Path) -> None:
    file = tmp_path / "counts.parquet"
    write_languages(count_languages([("", text) for text in GERMAN], "gpt2"), file)
    assert pl.read_parquet_schema(file).names() == ["pretoken", "count"]
    assert list(read_languages(file)) == [""]


def test_from_shards_to_measures(tokbench: Tokbench, tmp_path: Path) -> None:
    """A shard of one language alone keeps its name; each language is measured on its own text."""
    shards = [tmp_path / f"{name}.parquet" for name in ("a", "b", "c")]
    for shard, documents in zip(shards, (TAGGED[:3], TAGGED[3:4], TAGGED[4:]), strict=True):
        with open_shards([shard]) as write:
            for number, (language, text) in enumerate(documents):
                write(Document(number, language, text))
    parts = [tmp_path / f"part-{shard.name}" for shard in shards]
    for shard, part in zip(shards, parts, strict=True):
        done(tokbench("count", "--scheme", "gpt2", "-o", part, shard))
    merged = tmp_path / "merged.parquet"
    done(tokbench("merge_counts", "-o", merged, *parts))
    assert {language: pairs(counts) for language, counts in read_languages(merged).items()} == {
        language: pairs(counts) for language, counts in count_languages(TAGGED, "gpt2").items()
    }
    done(tokbench("build", "bpe", "--counts", merged, "--size", 262, "-o", tmp_path / "bpe"))
    done(tokbench("measure", tmp_path / "bpe", "--counts", merged, "-o", tmp_path / "measures.json"))
    rows = json.loads((tmp_path / "measures.json").read_text())["measurements"]
    tokens = {row["language"]: row["value"] for row in rows if row["metric"] == "corpus_token_count"}
    assert set(tokens) == {"", "de", "uk"}
    assert tokens[""] == tokens["de"] + tokens["uk"]
    assert "vocabulary_size" not in {row["metric"] for row in rows if row["language"]}


# Documents without a language next to others with one

MIXED = [("de", GERMAN[0]), ("", UKRAINIAN[0]), ("und", UKRAINIAN[1]), ("", GERMAN[1])]
UNTAGGED = [UKRAINIAN[0], UKRAINIAN[1], GERMAN[1]]
NOTE = "2 documents have no language and others have one; the tag 'und' (undetermined) is used"


def mixed_lines(folder: Path) -> Path:
    rows = [{"text": text.decode(), "language": tag} if tag else {"text": text.decode()} for tag, text in MIXED]
    return write_json_lines(folder / "mixed.jsonl", rows)


@pytest.mark.parametrize("memory", [(), ("--memory", "9000")])
def test_counts_name_the_undetermined_language(memory: tuple[str, ...], tokbench: Tokbench, tmp_path: Path) -> None:
    """In one text, and where the counts of texts with and without languages are merged."""
    outcome = tokbench("count", "--scheme", "gpt2", *memory, "-o", tmp_path / "counts.parquet", mixed_lines(tmp_path))
    assert outcome.status == 0
    assert NOTE in outcome.stderr.splitlines()
    assert {tag: pairs(one) for tag, one in read_languages(tmp_path / "counts.parquet").items()} == {
        "de": pairs(count_pretokens(GERMAN[:1], "gpt2")),
        "und": pairs(count_pretokens(UNTAGGED, "gpt2")),
    }
    parts = []
    for number, tagged in enumerate((True, False)):
        parts.append(tmp_path / f"{number}.parquet")
        own = [(tag, text) for tag, text in MIXED if bool(tag) is tagged]
        write_languages(count_languages(own, "gpt2"), parts[-1])
    done(tokbench("merge_counts", *memory, "-o", tmp_path / "merged.parquet", *parts))
    assert (tmp_path / "merged.parquet").read_bytes() == (tmp_path / "counts.parquet").read_bytes()


def test_a_file_of_counts_with_an_empty_tag(tmp_path: Path) -> None:
    file = tmp_path / "counts.parquet"
    write_languages({"de": count_pretokens(GERMAN, "gpt2"), "fr": count_pretokens(UNTAGGED, "gpt2")}, file)
    table = pq.read_table(file)
    tags = pc.replace_substring(table["language"].cast(pa.string()), "fr", "")
    pq.write_table(table.set_column(0, "language", tags), file)
    assert list(read_languages(file)) == ["de", "und"]


@pytest.mark.parametrize("memory", [(), ("--memory", "9000")])
def test_measures_have_one_row_a_language(
    memory: tuple[str, ...], tokenizer: Path, tokbench: Tokbench, tmp_path: Path
) -> None:
    outcome = tokbench("measure", tokenizer, "--documents", mixed_lines(tmp_path), *memory)
    assert outcome.stderr.splitlines() == [NOTE]
    rows = json.loads(outcome.stdout)["measurements"]
    keys = [(row["language"], row["metric"], row["definition"]) for row in rows]
    assert len(set(keys)) == len(keys)
    tokens = {row["language"]: row["value"] for row in rows if row["metric"] == "corpus_token_count"}
    assert tokens == {"": tokens["de"] + tokens["und"], "de": tokens["de"], "und": tokens["und"]}


def test_measures_through_another_library_have_one_row_a_language(tokenizer: Path) -> None:
    found = encoded_by_language(Tokenizer.load(tokenizer), MIXED)
    assert {language: text.total_bytes for language, text in found.items()} == {
        "de": len(GERMAN[0]),
        "und": sum(map(len, UNTAGGED)),
    }


def test_bits_of_ngrams_name_the_undetermined_language(tokenizer: Path, tokbench: Tokbench, tmp_path: Path) -> None:
    text = mixed_lines(tmp_path)
    outcome = tokbench("ngram_bits", tokenizer, "--train", text, "--test", text, "--order", "1")
    assert outcome.stderr.splitlines() == [NOTE]
    found = json.loads(outcome.stdout)
    assert [one["language"] for one in found["documents"]] == ["de", "und", "und", "und"]
    assert found["training"][-1]["documents"] == 4


def test_gaps_name_the_undetermined_language(tokenizer: Path, tokbench: Tokbench, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(tokenizer, other)
    outcome = tokbench("compare", tokenizer, other, mixed_lines(tmp_path), "--gap")
    lines = outcome.stdout.decode().splitlines()
    assert f"  {NOTE}." in lines
    assert [place for line in lines if (place := line.partition(":")[0].strip()).startswith("gap, ")] == [
        "gap, tokens",
        "gap, tokens, de",
        "gap, tokens, und",
    ]


def languages_in(corpus: Path) -> list[str]:
    paths = sorted(corpus.glob("*/*.parquet"))
    return [document.language for document in sorted(document for path in paths for document in read_shard(path))]


@pytest.mark.parametrize("limits", [{}, {"languages": ["", "und", "de"]}])
def test_a_prepared_corpus_names_the_undetermined_language(
    limits: dict[str, list[str]], tokbench: Tokbench, tmp_path: Path
) -> None:
    recipe = {"source": {"type": "jsonl", **limits}, "splits": {"tokenizer": 0.5, "evaluation": 0.5}}
    outcome = tokbench("prepare", "--recipe", json.dumps(recipe), "-o", tmp_path / "corpus", mixed_lines(tmp_path))
    assert outcome.stderr.splitlines()[0] == NOTE
    assert languages_in(tmp_path / "corpus") == ["de", "und", "und", "und"]
    assert json.loads((tmp_path / "corpus" / "manifest.json").read_text()) == {"untagged_documents": NOTE}


@pytest.mark.parametrize(("rows", "languages"), [(MIXED[1::2], ["", ""]), (MIXED[::2], ["de", "und"])])
def test_a_corpus_of_one_kind_keeps_its_tags(
    rows: list[tuple[str, bytes]], languages: list[str], tokbench: Tokbench, tmp_path: Path
) -> None:
    """Nothing changes where no document has a language, or where limits leave out those that have none."""
    text = write_json_lines(tmp_path / "text.jsonl", [{"text": text.decode(), "language": tag} for tag, text in rows])
    recipe = {"source": {"type": "jsonl"}, "splits": {"tokenizer": 1.0}}
    outcome = tokbench("prepare", "--recipe", json.dumps(recipe), "-o", tmp_path / "corpus", text)
    assert "language" not in outcome.stderr
    assert languages_in(tmp_path / "corpus") == languages
    assert not (tmp_path / "corpus" / "manifest.json").exists()


def test_one_manifest_has_all_findings(tokbench: Tokbench, tmp_path: Path) -> None:
    """It is the same for a corpus in parts, and standard error says it, too."""
    texts = [f"line {number % 18}\n\n" for number in range(20)] + ["word " * 300_000]
    lines = [json.dumps({"text": text, "language": "de" if n % 2 else None}) for n, text in enumerate(texts)]
    text = tmp_path / "text.jsonl"
    text.write_text("\ufeff" + "\n".join([*lines, "{"]) + "\n", encoding="utf-8")
    source = {"type": "jsonl", "bad_lines": "skip", "documents": "line"}
    recipe = {"source": source, "splits": {"tokenizer": 0.1, "evaluation": 0.9}, "longest_document": 1_000_000}
    outcome = tokbench("prepare", "--recipe", json.dumps(recipe), "-o", tmp_path / "corpus", text)
    found = json.loads((tmp_path / "corpus" / "manifest.json").read_text())
    keys = ["cut_documents", "untagged_documents", "byte_order_marks", "bad_lines", "empty_lines", "duplicates"]
    assert list(found) == keys
    assert found["untagged_documents"].startswith("11 documents have no language")
    assert outcome.stderr.splitlines()[: len(found)] == list(found.values())
    assert {*languages_in(tmp_path / "corpus")} == {"de", "und"}
    sizes = tmp_path / "sizes.parquet"
    part = json.dumps({key: recipe[key] for key in ("source", "longest_document")})
    done(tokbench("read_sizes", "--recipe", part, "-o", sizes, text))
    done(tokbench("split_corpus", "--recipe", json.dumps(recipe | {"parts": 2}), "-o", tmp_path / "places", sizes))
    assert json.loads((tmp_path / "places" / "manifest.json").read_text()) == found
