"""Counts and measures of a text in several languages."""

import json
import shutil
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Tokbench, write_json_lines
from tests.support.pipeline import done
from tokbench.corpus.documents import Document, read_shard
from tokbench.corpus.shards import open_shards
from tokbench.metric.usage import encode_by_language
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_languages, count_pretokens
from tokbench.pretokens.files import read_languages, write_languages
from tokbench.tokenizer import Tokenizer

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


def test_counts_with_languages_read_as_counts_of_all_text(tmp_path: Path) -> None:
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
    found = encode_by_language(Tokenizer.load(tokenizer), MIXED)
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
    keys = ["cut_documents", "untagged_documents", "byte_order_marks", "bad_records", "empty_lines", "duplicates"]
    assert list(found) == keys
    assert found["untagged_documents"].startswith("11 documents have no language")
    assert outcome.stderr.splitlines()[: len(found)] == list(found.values())
    assert {*languages_in(tmp_path / "corpus")} == {"de", "und"}
    sizes = tmp_path / "sizes.parquet"
    part = json.dumps({key: recipe[key] for key in ("source", "longest_document")})
    done(tokbench("read_sizes", "--recipe", part, "-o", sizes, text))
    done(tokbench("split_corpus", "--recipe", json.dumps(recipe | {"parts": 2}), "-o", tmp_path / "places", sizes))
    assert json.loads((tmp_path / "places" / "manifest.json").read_text()) == found
