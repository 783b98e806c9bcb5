"""Rows that compare tokenizers: by hand, on the UN corpus against the published figures, and through the commands."""

import gzip
import json
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from tests.conftest import Tokbench
from tests.support.external_tokenizers import DATA, PUBLISHED, needs
from tests.support.processes import vocabulary
from tests.support.small_models import MAKER, one_job
from tokbench.construction import constructions
from tokbench.errors import TokbenchError
from tokbench.intrinsic.tokenizer import measure, measure_embeddings
from tokbench.io.identity import Maker
from tokbench.metric.embeddings import Embeddings, embeddings_of
from tokbench.metric.measurement import Measurement
from tokbench.metric.undertrained import UndertrainedOptions
from tokbench.models.pretraining.order import EncodedDocument, OrderedDocuments
from tokbench.models.pretraining.pack import pack
from tokbench.models.training import read_occurrences
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.pretokens.files import write_languages
from tokbench.statistics.cells import INTRINSIC
from tokbench.tabulation.tokenizer_pairs import (
    Compared,
    exchanged_embeddings,
    exchanged_tokens,
    mean_over_resources,
    partition_cover_ratio,
    venn_tokens,
)
from tokbench.tabulation.vocabularies import venn_by_size, venn_regions
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import Vocabulary

UN = DATA / "english" / "un"
needs_un = needs(UN, PUBLISHED)


def values(rows: Compared, variant: str, size: int = 300) -> dict[str, float | None]:
    """A tokenizer's values by metric and the last word of the definition."""
    return {
        f"{row.metric} {row.definition.rsplit(' ', 1)[1]}": row.value for key, row in rows if key == (variant, size)
    }


def test_dropped_and_added_tokens() -> None:
    named = {
        ("bpe", 300): vocabulary(b" the", b"hat", "\xe9t".encode()),
        ("other", 300): vocabulary(b" the", b" hat", b" an"),
        ("other", 400): vocabulary(b" the"),
    }
    rows = exchanged_tokens(named, "bpe")
    assert values(rows, "other") == {
        "dropped_tokens (dropped)": 2,
        "word_initial_share (dropped)": 0,
        "mean_token_length (dropped)": 2.5,
        "added_tokens (added)": 2,
        "word_initial_share (added)": 1,
        "mean_token_length (added)": 3.5,
        "common_token_share byte": 1 / 3,
    }
    own = values(rows, "bpe")
    assert (own["dropped_tokens (dropped)"], own["common_token_share byte"]) == (0, 1)
    assert own["word_initial_share (added)"] is None
    missing = [row for key, row in rows if key == ("other", 400)]
    assert {row.reason for row in missing} == {"bpe is not built at this size"}
    assert [row.definition for row in missing] == [row.definition for key, row in rows if key == ("bpe", 300)]


@given(st.tuples(*[st.lists(st.text("ab", min_size=2, max_size=4).map(str.encode), max_size=8)] * 3))
def test_venn_regions_are_reported_for_each_vocabulary(tokens: tuple[list[bytes], ...]) -> None:
    names = ("a", "b", "c")
    named = {name: vocabulary(*own) for name, own in zip(names, tokens, strict=True)}
    rows = venn_tokens({(name, 300): own for name, own in named.items()}, names)
    expected = dict(venn_regions(named).rows())
    for (name, _), row in rows:
        inside = row.definition.partition(",")[0].removeprefix("tokens in ").split(" and ")
        assert name in inside
        assert row.value == expected[" & ".join(inside)]
    assert len(rows) == 12
    assert {name: sum(row.value or 0 for (own, _), row in rows if own == name) for name in names} == {
        name: len(own) for name, own in named.items()
    }
    assert venn_tokens({("a", 300): named["a"]}, names) == []


def test_several_triples_have_the_rows_of_each() -> None:
    vocabularies = {
        (name, size): vocabulary(*tokens)
        for size in (300, 400)
        for name, tokens in {"a": [b"ab"], "b": [b"ab", b"cd"], "c": [b"cd"], "d": [b"ef"]}.items()
    }
    triples = [("a", "b", "c"), ("d", "b", "a")]
    together = venn_by_size(vocabularies, triples)
    alone = [venn_by_size(vocabularies, [triple]) for triple in triples]
    assert together.sort("a", "size").equals(pl.concat(alone))
    assert together["size"].to_list() == [300, 300, 400, 400]
    assert together.row(1)[:4] == (300, "d", "b", "a")
    assert venn_by_size(vocabularies, [("a", "b", "e")]).is_empty()


def table(*rows: tuple[str, str, str, float | None, int]) -> pl.DataFrame:
    """Rows of (variant, corpus, metric, value, n) at size 300."""
    return pl.DataFrame(
        [(variant, 300, corpus, "", metric, "d", value, n, None) for variant, corpus, metric, value, n in rows],
        schema=INTRINSIC,
        orient="row",
    )


def test_mean_over_resources() -> None:
    measured = table(
        ("bpe", "ladec", "morphological_alignment", 0.5, 10),
        ("bpe", "unblend", "morphological_alignment", 0.75, 2),
        ("wmc", "ladec", "morphological_alignment", 0.5, 10),
        ("wmc", "unblend", "morphological_alignment", None, 0),
        ("bpe", "books", "corpus_token_count", 9, 9),
    )
    rows = {key[0]: row for key, row in mean_over_resources(measured)}
    assert (rows["bpe"].value, rows["bpe"].n) == (0.625, 2)
    assert rows["bpe"].definition == rows["wmc"].definition == "d; mean over the resources ladec, unblend"
    assert (rows["wmc"].value, rows["wmc"].reason) == (None, "no value for unblend")
    noted = measured.with_columns(reason=pl.when(corpus="ladec").then(pl.lit("1 of 9 words is left out")))
    rows = {key[0]: row for key, row in mean_over_resources(noted)}
    assert (rows["bpe"].value, rows["bpe"].reason) == (0.625, "ladec: 1 of 9 words is left out")
    assert rows["wmc"].reason == "no value for unblend"


def test_other_pretokens_have_no_ratio() -> None:
    measured = table(
        ("wmc", "books", "covered_pairs", 80, 100),
        ("wmc", "books", "joined_pairs", 60, 100),
        ("tok", "books", "joined_pairs", 72, 100),
        ("spaces", "books", "joined_pairs", 70, 90),
    )
    rows = {key[0]: row for key, row in partition_cover_ratio(measured, [("wmc", 300), ("gone", 300)])}
    assert {name: row.value for name, row in rows.items()} == {"wmc": 0.75, "tok": 0.9, "spaces": None}
    assert rows["spaces"].reason == "wmc is measured on other pre-tokens"


# The UN corpus


@cache
def un() -> PretokenCounts:
    words = gzip.decompress((UN / "words_un.txt.gz").read_bytes()).decode().rstrip("\n").split(" ")
    occurrences = gzip.decompress((UN / "counts_un.txt.gz").read_bytes()).split()
    return PretokenCounts.from_pairs(zip(map(str.encode, words), map(int, occurrences), strict=True), "gpt2")


@cache
def built(method: str, size: int) -> Vocabulary:
    construction = constructions[method]
    made: Vocabulary = construction.function(un(), size, construction.options(), seed=0, threads=1)
    return made


def measured_on_un(method: str, size: int, *families: str) -> pl.DataFrame:
    tokenizer = Tokenizer(built(method, size), "gpt2", constructions[method].segmentation)
    rows = measure(tokenizer, un(), families={family: Options() for family in families})
    cells = [(method, size, "un", "", row.metric, row.definition, row.value, row.n, row.reason) for row in rows]
    return pl.DataFrame(cells, schema=INTRINSIC, orient="row")


@needs_un
def test_published_unigram_objective() -> None:
    """Table 8, all token sets cut by cover; that is BPE's own cut, too, but for a few hundred tokens."""
    theirs = pl.read_csv(PUBLISHED / "partition_cover_unigram_objective.csv").row(
        by_predicate=(pl.col("corpus") == "UN") & (pl.col("k") == 1000), named=True
    )
    for method in ("greedtok", "bpe"):
        rows = measured_on_un(method, 1256, "unigram_objective")
        by_cover = rows.filter(pl.col("definition").str.ends_with("cover in order of ids"))["value"].item()
        likeliest = rows.filter(pl.col("definition").str.ends_with("sum is greatest"))["value"].item()
        assert f"{by_cover:.2E}".replace("+", "") == f"{float(theirs[method]):.2E}".replace("+", "")
        assert likeliest > by_cover


@needs_un
def test_known_ratio_of_greedtok_to_greedwmc() -> None:
    """d at 1,000 tokens is .8804 (figure 2); the share of tokens in common with BPE is .657 (table 6)."""
    rows = [measured_on_un(method, 1256, "partition_cover") for method in ("greedtok", "greedwmc")]
    ratios = dict(partition_cover_ratio(pl.concat(rows), [("greedwmc", 1256)]))
    assert round(ratios["greedtok", 1256].value or 0, 4) == 0.8804
    named = {(method, 1256): built(method, 1256) for method in ("greedtok", "bpe")}
    found = {row.metric: row.value for key, row in exchanged_tokens(named, "bpe") if key[0] == "greedtok"}
    assert found["common_token_share"] == 0.657


# Embeddings


def model(folder: Path, matrix: np.ndarray) -> Path:
    folder.mkdir(parents=True)
    save_file({"transformer.wte.weight": matrix}, folder / "model.safetensors")
    return folder


def token_counts(path: Path, *ids: int, tokens: int, tokenizer: Maker = MAKER) -> Path:
    """The counts of a document of these tokens, all of which are packed."""
    ends = EncodedDocument(0, True, len(ids), np.array(ids, np.int32))
    form = one_job(len(ids) + 1, 0, vocabulary=tokens, tokenizer=tokenizer)
    pack(OrderedDocuments(1, [ends]), form, path.with_suffix(""), path)
    return path


def test_embeddings_against_occurrences(tmp_path: Path) -> None:
    known = vocabulary(b"ab", b"cd")
    matrix = np.zeros((320, 2), np.float32)
    matrix[:258] = np.arange(258)[:, None] * np.array([0.6, 0.8], np.float32)
    matrix[258:] = 1e9
    counts = token_counts(tmp_path / "counts.parquet", 256, 256, 97, 256, 98, 98, tokens=258)
    occurrences = read_occurrences(counts, 258, MAKER)
    assert occurrences[258] == 1
    found = embeddings_of(known, model(tmp_path / "model", matrix), occurrences)
    assert found.norms == pytest.approx(np.arange(258), rel=1e-6)
    assert found.occurrences[[97, 98, 256, 257]].tolist() == [1, 2, 3, 0]
    assert found.probabilities[256] == 3 / 6
    frame = found.to_frame()
    assert frame.row(256)[1:5] == ("6162", "ab", 3, 0.5)
    assert frame.row(255)[2] == "\ufffd"
    with pytest.raises(TokbenchError, match="counts of 258 tokens for 257; name the model's own tokenizer"):
        read_occurrences(counts, 257, MAKER)
    with pytest.raises(TokbenchError, match="no input embeddings here"):
        embeddings_of(known, tmp_path / "counts", occurrences)
    with pytest.raises(TokbenchError, match="3 embeddings for 258 tokens"):
        embeddings_of(known, model(tmp_path / "other", matrix[:3]), occurrences)


def test_undertrained_tokens() -> None:
    """Ten tokens of growing norm and number, but for one that is rare and large, and one that is frequent and small."""
    occurrences = np.zeros(256, np.int64)
    occurrences[:10] = [0, 0, 1, 900, 4, 8, 16, 32, 64, 0]
    norms = np.concatenate([np.arange(1.0, 11.0), np.full(246, 50.0)])
    found = Embeddings(vocabulary(), norms, occurrences)
    rows = measure_embeddings(found, families={"undertrained": UndertrainedOptions(corner=4 / 256)})
    by_name: dict[str, list[Measurement]] = {}
    for row in rows:
        by_name.setdefault(row.metric, []).append(row)
    assert by_name["mean_embedding_norm"][0].value == pytest.approx(norms.mean())
    assert by_name["mean_embedding_norm"][1].value == pytest.approx((1 + 2 + 10 + 246 * 50) / 249)
    assert by_name["unseen_tokens"][0].value == 249
    seen = occurrences > 0
    r = np.corrcoef(norms[seen], np.log10(occurrences[seen]))[0, 1]
    assert by_name["embedding_norm_correlation"][0].value == pytest.approx(r)
    assert by_name["embedding_norm_correlation"][0].n == 7
    assert by_name["undertrained_tokens"][0].value == 2, "tokens 0 and 1; 2 and 3 are of small norm and not so rare"
    few, alike = np.zeros(256, np.int64), np.ones(256, np.int64)
    few[:2] = 1, 2
    for of, seen in ((norms, few), (norms, alike), (np.ones(256), occurrences)):
        unknown = next(
            row
            for row in measure_embeddings(Embeddings(vocabulary(), of, seen), families={})
            if "correlation" in row.metric
        )
        assert (unknown.value, unknown.n) == (None, np.count_nonzero(seen))


def test_embeddings_of_dropped_and_added_tokens() -> None:
    named = {("bpe", 300): vocabulary(b"ab", b"bc"), ("other", 300): vocabulary(b"ab", b" ab")}
    norms = {("bpe", 300): [2.0, 0.5], ("other", 300): [2.5, 3.0]}
    tables = {
        key: Embeddings(own, np.array([1.0] * 256 + norms[key]), np.array([0] * 256 + [3, 1])).to_frame()
        for key, own in named.items()
    }
    rows = exchanged_embeddings(tables, named, "bpe", "tiny")
    assert [(key, row.metric, row.value) for key, row in rows] == [
        (("other", 300), "mean_embedding_norm", 3.0),
        (("other", 300), "mean_token_probability", 0.25),
        (("other", 300), "mean_embedding_norm", 0.5),
        (("other", 300), "mean_token_probability", 0.25),
    ]
    alone = exchanged_embeddings({key: tables[key] for key in [("other", 300)]}, named, "bpe", "tiny")
    assert len(alone) == 2, "without the baseline's model only the added tokens are told of"


# Through the commands


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> Path:
    """Two tokenizers of 300 tokens, and counts of the text in two languages."""
    folder = tmp_path_factory.mktemp("tokenizers")
    halves = {"aa": text[: len(text) // 2], "bb": text[len(text) // 2 :]}
    counts = {language: count_pretokens([half], "gpt2") for language, half in halves.items()}
    whole = write_languages(counts, folder / "counts.parquet")
    for method in ("bpe", "greedwmc"):
        construction = constructions[method]
        made = construction.function(whole, 300, construction.options(), seed=0, threads=1)
        origin = {"construction": {"method": method}, "requested_size": 300}
        tokenizer = Tokenizer(made, "gpt2", construction.segmentation, name=method, origin=origin)
        (folder / method).mkdir()
        tokenizer.save(folder / method)
    return folder


GOLD = [(first, second) for first in "taise" for second in ("in", "re", "ste", "alen", "or", "ced", "st", "leter")]
"""Words of which both tokenizers have the first part, and some the second."""


def test_one_tidy_table(tokenizers: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    gold = tmp_path / "eng.word.dev.tsv"
    gold.write_text("".join(f"{''.join(parts)}\t{' @@'.join(parts)}\t100\n" for parts in GOLD))
    arguments = []
    for name in ("bpe", "greedwmc"):
        folder = tokenizers / name
        on_text, on_gold, cloud = (
            tmp_path / f"{name}.json",
            tmp_path / f"{name}-gold.json",
            tmp_path / "tiny" / name / "300",
        )
        done = tokbench(
            "measure", folder, "--counts", tokenizers / "counts.parquet", "--corpus", "books", "-o", on_text
        )
        assert done.status == 0, done.stderr
        words = tmp_path / f"{name}-words.json"
        recipe = ("--recipe", "sigmorphon2022", "--name", "gold", "--by-word", words)
        done = tokbench("measure_resource", folder, *recipe, "-o", on_gold, gold)
        assert done.status == 0, done.stderr
        rng = np.random.default_rng(0)
        weights = model(tmp_path / f"{name}-model", rng.normal(size=(320, 4)).astype(np.float32))
        maker = Maker(Tokenizer.load(folder).digest, folder)
        counts = token_counts(
            tmp_path / f"{name}-counts.parquet", *rng.integers(0, 300, 63), tokens=300, tokenizer=maker
        )
        inputs = ["--model", weights, "--token-counts", counts, "--tokenizer", folder]
        done = tokbench(
            "measure_embeddings", *inputs, "--model-name", "tiny", "--corpus", "books",
            "--metrics", '{"undertrained": {"corner": 0.1}}', "-o", cloud,
        )  # fmt: skip
        assert done.status == 0, done.stderr
        arguments += ["--tokenizer", folder, "--intrinsic", on_text, "--intrinsic", on_gold, "--embeddings", cloud]
        arguments += ["--words", words]
    done = tokbench("tabulate", *arguments, "--baseline", "books=bpe", "-o", tmp_path / "tables")
    assert done.status == 0, done.stderr
    found = pl.read_parquet(tmp_path / "tables" / "intrinsic.parquet")
    assert list(found.schema) == list(INTRINSIC)
    keys = ["variant", "size", "corpus", "language", "metric", "definition"]
    assert found.select(keys).is_unique().all()
    assert found.filter(pl.col("value").is_null() != pl.col("reason").is_not_null()).is_empty()
    here = found.filter(variant="greedwmc")
    told = dict(here.select("metric", "corpus").iter_rows())
    assert told["relative_corpus_token_count"] == told["partition_cover_ratio"] == told["common_token_share"] == "books"
    assert told["morphological_coverage"] == "gold" or told["morphological_coverage"] == "all resources"
    assert here.filter(metric="mean_embedding_norm", corpus="books").height == 4
    assert here.filter(metric="undertrained_tokens")["definition"].item().endswith("the pretraining text; model tiny")
    assert "among the 10 %" in here.filter(metric="undertrained_tokens")["definition"].item()
    assert here.filter(metric="parity")["language"].to_list() == ["aa", "bb"]
    assert here.filter(metric="relative_corpus_token_count")["language"].to_list() == ["", "aa", "bb"]
    assert set(here.filter(metric="fertility")["language"]) == {"", "aa", "bb"}
    assert tokbench("analyse", tmp_path / "tables", "-o", tmp_path / "statistics").status == 0
    words = pl.read_parquet(tmp_path / "tables" / "alignment_by_word.parquet")
    scored = "F1 of token boundaries, pooled, over words that are no token and whose gold segments all are"
    f1 = {row["variant"]: row for row in found.filter(corpus="gold", definition=scored, language="").to_dicts()}
    for (name,), part in words.group_by("variant"):
        right, missed = part["right"].sum(), (part["wrong"].sum() + part["missed"].sum()) / 2
        assert (right / (right + missed), len(part)) == (f1[name]["value"], f1[name]["n"])
    board = pl.read_parquet(tmp_path / "statistics" / "scoreboard.parquet").filter(measure="alignment")
    behind = board.filter(pl.col("verdict") != "best").row(0, named=True)
    low, value, high = (behind[key] for key in ("behind_low", "behind", "behind_high"))
    assert behind["over"] == "words"
    if f1["bpe"]["value"] != f1["greedwmc"]["value"]:
        assert low < value < high
    else:  # As on the documentation of Python 3.12, on which the vocabularies are built.
        assert (low, value, high) == (0, 0, 0)
    (tmp_path / "tokenizers").mkdir()
    for name in ("bpe", "greedwmc"):
        (tmp_path / "tokenizers" / name).mkdir()
        (tmp_path / "tokenizers" / name / "300").symlink_to(tokenizers / name)
    names = sorted(("bpe", "greedwmc"), key=lambda name: name != behind["best"])
    shown = json.loads(tokbench("compare", *names, "--results", tmp_path, "--json").stdout)
    [line] = [line for part in shown["parts"] for line in part["lines"] if line["what"] == "alignment with morphemes"]
    assert (line["low"], line["high"]) == pytest.approx((behind["behind_low"], behind["behind_high"]))
    assert line["n"] >= behind["n"]
    single = [line for part in shown["parts"] for line in part["lines"] if line["what"] == "morphological alignment"]
    assert {one["low"] for one in single} == {None}
    assert [one["definition"] for one in single].count(scored) == 1, "the resource's own, by itself"


def test_options_of_metrics_and_resources_by_command(tokenizers: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    folder, counts = tokenizers / "bpe", tokenizers / "counts.parquet"
    options = '{"renyi": {"orders": [2]}, "parity": {"reference": "bb"}}'
    rows = json.loads(tokbench("measure", folder, "--counts", counts, "--metrics", options).stdout)["measurements"]
    assert {row["metric"] for row in rows if row["metric"].startswith("renyi")} == {"renyi_efficiency_2"}
    assert {row["language"]: row["value"] for row in rows if row["metric"] == "parity"}["bb"] == 1
    message = tokbench("measure", folder, "--counts", counts, "--metrics", '{"reny": {}}').message
    assert "'reny' is not a metric" in message
    gold = tmp_path / "de.tsv"
    gold.write_text("Haustür\tHaus @@tür\t100\n")
    recipe = json.dumps({"type": "sigmorphon2022", "path": {"de": [str(gold)]}, "languages": ["de"]})
    result = json.loads(tokbench("measure_resource", folder, "--recipe", recipe).stdout)
    assert (result["corpus"], result["variant"], result["size"]) == ("sigmorphon2022", "bpe", 300)
    for arguments, expected in (
        (["--recipe", "ladek", gold], "'ladek' is not a type of resource"),
        (["--recipe", "ladec"], "--recipe ladec: no file of the resource; name its files after FOLDER"),
        (["--recipe", '{"type": "ladec", "paths": 1}', gold], "--recipe (ladec): paths: unknown key."),
    ):
        assert tokbench("measure_resource", folder, *arguments).message.startswith(f"tokbench: {expected}")
    assert tokbench("tabulate", "--baseline", "bpe", "-o", tmp_path / "t").message.endswith("expected CORPUS=VARIANT")
