"""Measurements on other corpora: which tokenizer is measured on which corpus, and the corpus in tables.

Cold encoding speed: every round encodes with a fresh tokenizer; check and scoreboard share the measurement.
"""

import json
from collections.abc import Iterator
from itertools import accumulate, chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import tokbench as library
from tests.conftest import TOPICS, Tokbench
from tokbench.config.experiment import Experiment
from tokbench.config.load import validate
from tokbench.config.targets import all_measured, all_tokenizers
from tokbench.errors import TokbenchError
from tokbench.inspection.checks import agreement as fitness_speed
from tokbench.inspection.checks.subject import TokenizerUnderTest
from tokbench.intrinsic import document_tokens
from tokbench.intrinsic.encoding_speed import (
    LEAST_BYTES,
    LEAST_ROUNDS,
    MOST_BYTES,
    MOST_ROUNDS,
    ColdSpeed,
    Sample,
    cold_speed,
)
from tokbench.stages.bounds import all_bounds
from tokbench.stages.ngram_bits import NGRAM_BITS, NGRAM_BITS_ON
from tokbench.stages.report import ValidatedCorpora
from tokbench.workflow.tokenizers import Measurements

BPE = {"pretokenization": "gpt2", "construction": "bpe"}


@pytest.fixture
def experiment(tmp_path: Path) -> Any:
    """Makes an experiment on three corpora, the last of which is counts alone."""
    (tmp_path / "text.txt").write_text("text")
    (tmp_path / "counts.tsv").write_text("61\t1\n")
    (tmp_path / "ranks.tiktoken").write_text("YQ== 0\n")
    text = {"source": {"type": "text", "path": str(tmp_path / "text.txt")}}
    counts = {"source": {"type": "counts", "path": str(tmp_path / "counts.tsv")}}
    ranks = {"from": "tiktoken", "path": str(tmp_path / "ranks.tiktoken"), "pattern": "gpt2"}

    def make(**more: Any) -> Experiment:
        values = {
            "name": "small",
            "corpora": {"news": text, "code": text, "words": counts},
            "variants": {"bpe": BPE, "of_code": {"corpus": "code", **BPE}, "ranks": ranks},
            "sizes": [300, 400],
        }
        return validate({**values, **more}, "small")

    return make


def test_other_corpora_are_measured_only_on_request(experiment: Any) -> None:
    plain = experiment(ngram_bits={})
    assert all_measured(plain) == NGRAM_BITS_ON.results[0].targets(plain) == []
    assert {bound.corpus for bound in all_bounds(plain)} == {"news", "code"}
    assert len(all_bounds(plain)) == 4
    assert ValidatedCorpora(plain).documents == ["news", "code"]


def test_long_pretokens_have_no_bound(experiment: Any) -> None:
    variants = {
        "sentences": {"pretokenization": "superbpe_2", "construction": "superbpe"},
        "documents": {"pretokenization": "none", "construction": "bpe"},
        "across": {"pretokenization": "gpt2", "construction": "boundlessbpe"},
        "digits": {"pretokenization": "digits", "construction": "bpe"},
        "of_code": {"corpus": "code", **BPE},
    }
    found = all_bounds(experiment(variants={name: {"corpus": "news", **one} for name, one in variants.items()}))
    assert {one.scheme.split("_")[0] for one in found if one.corpus == "news"} == {"digits"}
    assert {one.scheme for one in found if one.corpus == "code"} == {"gpt2"}


def test_every_variant_on_every_corpus(experiment: Any) -> None:
    asked = experiment(measured_on=["news", "code"], ngram_bits={})
    found = all_measured(asked)
    assert [(one.variant, one.size, one.on) for one in found] == [
        ("bpe", 300, "code"), ("bpe", 400, "code"), ("of_code", 300, "news"), ("of_code", 400, "news"),
        ("ranks", "own", "code"),
    ]  # fmt: skip
    assert [one.results[0].targets(asked) for one in (NGRAM_BITS, NGRAM_BITS_ON)] == [all_tokenizers(asked), found]
    assert len(all_bounds(asked)) == 4, "both schemes' bounds on both corpora are there already"
    assert asked.baselines() == {"news": "bpe", "code": "of_code"}


def test_a_variant_may_say_its_own(experiment: Any) -> None:
    """In place of the experiment's; a corpus that nothing is built from has a baseline, bounds and a checksum, too."""
    first = {**BPE, "measured_on": ["words", "code"]}
    asked = experiment(variants={"bpe": first, "other": {**BPE, "measured_on": []}}, measured_on=["code"])
    assert {(one.variant, one.on) for one in all_measured(asked)} == {("bpe", "words"), ("bpe", "code")}
    assert {(bound.corpus, bound.size) for bound in all_bounds(asked)} == {
        (corpus, size) for corpus in ("news", "words", "code") for size in (300, 400)
    }
    assert asked.baselines() == {"news": "bpe", "words": "bpe", "code": "bpe"}
    assert ValidatedCorpora(asked).counts == ["words/evaluation/gpt2"]
    assert experiment(measured_on=["code"], report={"baseline": {"code": "bpe"}}).baselines()["code"] == "bpe"


def test_tokens_that_cross_pretokens_are_measured_on_documents(experiment: Any) -> None:
    """No counts and no bounds for them; the words of another corpus are looked up by other tokenizers only."""
    superwords = {"pretokenization": "gpt2", "construction": "boundlessbpe"}
    metrics = {"vocabulary": {"words_of": "code"}}
    asked = experiment(variants={"bpe": BPE, "joined": superwords}, metrics=metrics, measured_on=["code"])
    assert (asked.segments_documents("joined"), asked.segments_documents("bpe")) == (True, False)
    assert len(all_bounds(asked)) == len(all_bounds(experiment(variants={"bpe": BPE}, measured_on=["code"])))
    measurements, wildcards = Measurements(asked), SimpleNamespace(variant="joined", on="code")
    assert (measurements.schemes(wildcards), measurements.reference(wildcards)) == ([], [])
    assert measurements.corpora(wildcards) == ["code"]
    read = SimpleNamespace(corpus="corpus/code")
    assert measurements.text(wildcards, read) == ["--documents=corpus/code/evaluation/0000.parquet"]
    assert measurements.reference(SimpleNamespace(variant="bpe", on="code")) == ["code"]
    with pytest.raises(TokbenchError, match="corpus 'words' contains counts, but tokens of this variant may cross"):
        experiment(variants={"joined": superwords}, measured_on=["words"])


def test_measurement_jobs_read_counts_or_documents_of_their_corpus(experiment: Any) -> None:
    """The wildcard's corpus: counts of a variant that is built, documents of one that was made elsewhere."""
    asked = Measurements(experiment(measured_on=["code"]))
    built = SimpleNamespace(variant="bpe", on="code")
    assert (asked.corpus(built), asked.corpora(built), asked.schemes(built)) == ("code", [], ["gpt2"])
    made = SimpleNamespace(variant="ranks", on="code")
    assert asked.corpora(made) == ["code"]
    read = SimpleNamespace(corpus="corpus/code")
    assert asked.text(made, read) == ["--documents=corpus/code/evaluation/0000.parquet"]
    assert asked.reference(built) == []
    words = Measurements(experiment(metrics={"vocabulary": {"words_of": "code"}}))
    assert (words.reference(built), words.reference(made)) == (["code"], [])
    counted = SimpleNamespace(counts="a.parquet", reference=["b.parquet"])
    assert words.text(built, counted) == ["--counts", "a.parquet", "--reference=b.parquet"]
    own = SimpleNamespace(variant="ranks")
    assert asked.corpora(own) == ["news"]
    assert asked.text(own, SimpleNamespace(corpus="corpus/news")) == ["--documents=corpus/news/evaluation/0000.parquet"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"measured_on": ["cod"]}, "measured_on: 'cod' is not a corpus"),
        ({"variants": {"bpe": {**BPE, "measured_on": ["cod"]}}}, "variants.bpe.measured_on: 'cod' is not a corpus"),
        ({"measured_on": ["words"]}, "variants.ranks.measured_on: corpus 'words' contains counts"),
        (
            {"measured_on": ["words"], "ngram_bits": {}},
            "ngram_bits: corpus 'words' contains counts, but n-gram models need text",
        ),
    ],
)
def test_impossible_measurements_are_rejected(experiment: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises(TokbenchError) as raised:
        experiment(**more)
    assert message in str(raised.value)


def test_tables_by_corpus(tokbench: Tokbench, tmp_path: Path) -> None:
    """A vocabulary of one text on two: rows of both, each with the gap to its own bound, relative to a baseline."""
    inputs: list[Any] = []
    for name, topics in (("news", TOPICS[:2]), ("code", TOPICS[2:])):
        (tmp_path / f"{name}.txt").write_bytes(b"\n".join(topics))
        counts, bound = tmp_path / f"{name}.parquet", tmp_path / "bounds" / name / "gpt2" / "300.json"
        bound.parent.mkdir(parents=True)
        for arguments in (
            ("count", "--scheme", "gpt2", tmp_path / f"{name}.txt", "-o", counts),
            ("bound", "--counts", counts, "--size", "300", "--steps", "5", "--result", bound),
            ("build", "bpe", "--counts", counts, "--size", "300", "--name", name, "-o", tmp_path / "tokenizers" / name),
        ):
            done = tokbench(*arguments)
            assert done.status == 0, done.stderr
        inputs += ["--bound", bound, "--tokenizer", tmp_path / "tokenizers" / name, "--baseline", f"{name}=news"]
    for variant in ("news", "code"):
        for corpus in ("news", "code"):
            measured = tmp_path / f"{variant}-{corpus}.json"
            tokenizer, counts = tmp_path / "tokenizers" / variant, tmp_path / f"{corpus}.parquet"
            done = tokbench("measure", tokenizer, "--counts", counts, "--corpus", corpus, "-o", measured)
            assert done.status == 0, done.stderr
            inputs += ["--intrinsic", measured]
    done = tokbench("tabulate", *inputs, "-o", tmp_path / "tables")
    assert done.status == 0, done.stderr
    [common] = pl.read_parquet(tmp_path / "tables" / "overlaps.parquet").to_dicts()
    done = tokbench("tabulate", *inputs, "--overlaps", "longer", "-o", tmp_path / "longer")
    assert done.status == 0, done.stderr
    [longer] = pl.read_parquet(tmp_path / "longer" / "overlaps.parquet").to_dicts()
    for column in ("shared", "size_a", "size_b"):
        assert longer[column] == common[column] - 256
    table = pl.read_parquet(tmp_path / "tables" / "intrinsic.parquet").filter(language="")
    tokens = {
        (v, c): x for v, c, x in table.filter(metric="corpus_token_count").select("variant", "corpus", "value").rows()
    }
    assert tokens.keys() == {(variant, corpus) for variant in ("news", "code") for corpus in ("news", "code")}
    assert tokens["news", "news"] < tokens["code", "news"]
    assert tokens["code", "code"] < tokens["news", "code"]
    bounds = dict(
        pl.read_parquet(tmp_path / "tables" / "bounds.parquet").filter(language="").select("corpus", "bound").rows()
    )
    gaps = {(v, c): x for v, c, x in table.filter(metric="gap").select("variant", "corpus", "value").rows()}
    assert gaps == {key: pytest.approx(count / bounds[key[1]] - 1) for key, count in tokens.items()}
    relative = table.filter(metric="relative_corpus_token_count", variant="code")
    assert dict(relative.select("corpus", "value").rows()) == {
        corpus: pytest.approx(tokens["code", corpus] / tokens["news", corpus]) for corpus in ("news", "code")
    }


def test_words_of_another_text(tokbench: Tokbench, tmp_path: Path) -> None:
    """Whole words among those of another text, as if that were measured; everything else is of the text itself."""
    for name, topics in (("news", TOPICS[:2]), ("code", TOPICS[2:])):
        (tmp_path / f"{name}.txt").write_bytes(b"\n".join(topics))
        done = tokbench("count", "--scheme", "gpt2", tmp_path / f"{name}.txt", "-o", tmp_path / f"{name}.parquet")
        assert done.status == 0, done.stderr
    news, code, folder = tmp_path / "news.parquet", tmp_path / "code.parquet", tmp_path / "bpe"
    assert tokbench("build", "bpe", "--counts", news, "--size", "500", "-o", folder).status == 0

    def rows(*arguments: Any) -> dict[tuple[str, str], float]:
        done = tokbench("measure", folder, *arguments)
        assert done.status == 0, done.stderr
        return {(row["metric"], row["definition"]): row["value"] for row in json.loads(done.stdout)["measurements"]}

    few = {"vocabulary": {"frequent_words": 50}}
    named = {"vocabulary": {"frequent_words": 50, "words_of": "code"}}
    on_news, on_code = (rows("--counts", counts, "--metrics", json.dumps(few)) for counts in (news, code))
    found = rows("--counts", news, "--reference", code, "--metrics", json.dumps(named))
    shares = {
        (metric, definition.replace(" of code", "")): value
        for (metric, definition), value in found.items()
        if metric == "whole_word_share"
    }
    assert shares == {key: value for key, value in on_code.items() if key[0] == "whole_word_share"}
    assert shares != {key: value for key, value in on_news.items() if key[0] == "whole_word_share"}
    rest = {key: value for key, value in found.items() if key[0] != "whole_word_share"}
    assert rest == {key: value for key, value in on_news.items() if key[0] != "whole_word_share"}
    other = tmp_path / "other.parquet"
    assert tokbench("count", "--scheme", "first_space", tmp_path / "code.txt", "-o", other).status == 0
    message = tokbench("measure", folder, "--counts", news, "--reference", other).message
    assert f"{other}: counted with 'first_space'" in message


TEXT = b"the cat sat on the mat " * 3000


class Remembers:
    """A tokenizer that remembers the texts that it has met; copies remember nothing."""

    met: tuple[bytes, ...] = ()
    copies: list["Remembers"]

    def __init__(self) -> None:
        self.copies = []

    def __copy__(self) -> "Remembers":
        fresh = Remembers()
        self.copies.append(fresh)
        return fresh

    def encode(self, text: bytes) -> None:
        assert text not in self.met, "the text was met before"
        self.met += (text,)


def ticks(*rounds: float) -> Iterator[float]:
    """Readings of a clock: rounds take these seconds, and the last one repeats."""
    taken = chain(rounds, repeat(rounds[-1]))
    return accumulate(chain([0.0], chain.from_iterable((one, 1.0) for one in taken)))


@pytest.mark.parametrize(
    ("rounds", "number", "middle"),
    [((4.0, 1.0, 2.0), LEAST_ROUNDS, 2.0), ((0.05, 0.06, 0.08), 4, 0.07), ((0.001,), MOST_ROUNDS, 0.001)],
)
def test_every_round_is_a_first_pass(rounds: tuple[float, ...], number: int, middle: float) -> None:
    """The median counts, and rounds go on until the clock has run long enough."""
    tokenizer, clock = Remembers(), ticks(*rounds)
    tokenizer.encode(TEXT)
    found = cold_speed(tokenizer, [TEXT, b"a hat"], lambda: next(clock))
    assert found is not None
    assert (found.bytes, found.rounds) == (len(TEXT) + 5, number)
    assert found.seconds == pytest.approx(middle)
    assert [one.met for one in tokenizer.copies] == [(TEXT, b"a hat")] * number


def test_copied_tokenizer_has_an_empty_cache() -> None:
    """A second pass by one tokenizer is faster than the first pass of each copy."""
    from copy import copy

    tokenizer = library.build("bpe", library.count(TOPICS), 700)
    tokenizer.encode(TEXT)
    fresh = copy(tokenizer)
    assert tokenizer._encoder._encoders
    assert not fresh._encoder._encoders
    assert fresh.encode(TEXT).tolist() == tokenizer.encode(TEXT).tolist()


def test_short_texts_are_not_timed_and_long_ones_are_cut() -> None:
    assert cold_speed(Remembers(), [b"a" * (LEAST_BYTES - 1)]) is None
    assert cold_speed(Remembers(), [b"a" * LEAST_BYTES]) is not None
    sample = Sample([b"", b"a" * (MOST_BYTES - 2), b"bcd", b"e"])
    assert sample.texts == [b"a" * (MOST_BYTES - 2), b"bc"]


def test_check_and_the_scoreboard_measure_the_same_way(
    tokbench: Tokbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both call the same function with the same texts."""
    asked: list[list[bytes]] = []

    def measure(tokenizer: object, texts: list[bytes]) -> ColdSpeed:
        asked.append(texts)
        return ColdSpeed(sum(map(len, texts)), 0.5, 3)

    monkeypatch.setattr(document_tokens, "cold_speed", measure)
    monkeypatch.setattr(fitness_speed, "cold_speed", measure)
    texts = [TEXT, b"a hat"]
    rows = {"document": [0, 1], "language": [""] * 2, "text": texts}
    pl.DataFrame(rows).write_parquet(tmp_path / "0000.parquet")
    tokenizer = library.build("bpe", library.count(TOPICS), 300)
    tokenizer.save(tmp_path / "bpe")
    call = ("count_tokens", tmp_path / "bpe", tmp_path / "0000.parquet", "--memory", "9000")
    done = tokbench(*call, "--speed", tmp_path / "speed.json", "-o", tmp_path / "tokens.json")
    assert done.status == 0, done.stderr
    found = fitness_speed.speed(TokenizerUnderTest(tokenizer, documents=texts))
    assert asked == [texts, texts]
    written = json.loads((tmp_path / "speed.json").read_text())
    assert found.numbers["bytes_per_second"] == written["bytes"] / written["seconds"]
    assert "cold" in found.sentence
