"""Counts and measures of a text in several languages."""

import json
from pathlib import Path

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Tokbench
from tests.test_command_line import done
from tokbench.corpus.documents import Document
from tokbench.corpus.shards import open_shards
from tokbench.counting.count import count_languages, count_pretokens
from tokbench.counting.languages import read_languages, write_languages
from tokbench.pretokens import PretokenCounts

GERMAN = [b"der Hund und der Hund", b"die Katze der Hund", "schöne Grüße".encode()]
UKRAINIAN = ["пес і кіт".encode(), "пес і пес, der Hund".encode()]
TAGGED = [("de", GERMAN[0]), ("uk", UKRAINIAN[0]), ("de", GERMAN[1]), ("uk", UKRAINIAN[1]), ("de", GERMAN[2])]


def pairs(counts: PretokenCounts) -> list[tuple[bytes, int]]:
    return list(counts.items())


@given(st.lists(st.tuples(st.sampled_from(["", "de", "uk"]), st.text("ab ", max_size=20).map(str.encode))))
def test_each_language_is_counted_by_itself(documents: list[tuple[str, bytes]]) -> None:
    found = count_languages(documents, "gpt2")
    assert set(found) == {language for language, _ in documents}
    for language, counts in found.items():
        assert pairs(counts) == pairs(count_pretokens([text for own, text in documents if own == language], "gpt2"))


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
