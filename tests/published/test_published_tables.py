"""Published numbers compared with those of a run: equal cells by recipe, corpus and measure."""

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

from tests.support.external_tokenizers import DATA
from tokbench.config.load import validate
from tokbench.published import facts
from tokbench.published.comparison import PUBLISHED_VALUES, compare_cells
from tokbench.published.translations import published_translations
from tokbench.stages.tables import recipes as recipes_of
from tokbench.statistics.cells import ACCURACY, INTRINSIC
from tokbench.statistics.comparisons.translations import bleu, resample_scores, translation_comparisons
from tokbench.tabulation.columns import SENTENCES, TEXT
from tokbench.tabulation.table import schema

ROOT = Path(__file__).parents[2]
TIMTC = DATA / "timtc"


PAIRS = {
    name: {split: dict.fromkeys(languages, __file__) for split in ("train", test)}
    for name, languages, test in (
        ("wmt16", ("en", "de"), "newstest2016"),
        ("german_estonian", ("de", "et"), "flores"),
        ("ukrainian_estonian", ("uk", "et"), "flores"),
    )
}
"""Files for the open splits of the parallel corpora of "BPE Gets Picky"."""


def recipes(name: str, **paths: Any) -> dict:
    """The recipes of a paper's experiment; its gold data is no part of them."""
    values = yaml.safe_load((ROOT / "experiments" / f"{name}.yaml").read_text())
    values.pop("resources", None)
    return recipes_of(validate(values | paths, name))


def measured(*rows: tuple[str, int, str, str, str, float | None]) -> pl.DataFrame:
    full = [
        (v, size, corpus, "", metric, definition, value, 1, None) for v, size, corpus, metric, definition, value in rows
    ]
    return pl.DataFrame(full, schema=INTRINSIC, orient="row")


NO_TEXTS = pl.DataFrame(schema=schema(TEXT))
NO_MODELS = pl.DataFrame(schema=ACCURACY), NO_TEXTS
NOMINAL = "entropy / log(nominal vocabulary size)"


def test_published_cells_are_paired_with_the_same_cells_of_ours() -> None:
    intrinsic = measured(
        ("bpe", 40960, "minipile", "corpus_token_count", "tokens of the text", 1.5e9),
        ("bpe", 40960, "books", "corpus_token_count", "tokens of the text", 1.0e6),
        ("bpe", 40960, "minipile", "renyi_efficiency_2.5", NOMINAL, 0.45),
        ("bpe", 40960, "minipile", "renyi_efficiency_2.5", "entropy / log(number of types seen in the text)", 0.47),
        ("bpe", 8192, "minipile", "renyi_efficiency_2.5", NOMINAL, 0.5),
        ("bpe", 32768, "minipile", "renyi_efficiency_2.5", NOMINAL, None),
        ("pathpiece_random_none", 49152, "minipile", "renyi_efficiency_3", NOMINAL, 0.4),
    )
    accuracy = pl.DataFrame(
        [
            ("bpe", 40960, "mpt_350m", "ten_tasks", "piqa", 0.66, 0.5, 1838),
            ("bpe", 40960, "mpt_1_3b", "ten_tasks", "mmlu_marketing", 0.3, 0.25, 234),
            ("bpe", 40960, "mpt_2_4b", "ten_tasks", "piqa", 0.7, 0.5, 1838),
            ("bpe", 8192, "mpt_350m", "ten_tasks", "piqa", 0.66, 0.5, 1838),
        ],
        schema=ACCURACY,
        orient="row",
    )
    found = compare_cells(intrinsic, accuracy, NO_TEXTS, recipes("pathpiece"))
    assert found.schema == pl.Schema(PUBLISHED_VALUES.schema)
    assert found.select("variant", "size", "ours", "published", "ours_on", "published_on").rows() == [
        ("bpe", 40960, 0.3, pytest.approx(0.321), "mpt_1_3b, ten_tasks", "1.3B"),
        ("bpe", 40960, 0.66, pytest.approx(0.669), "mpt_350m, ten_tasks", "350M"),
        ("bpe", 40960, 1.5e9, 1.49e9, "minipile", "minipile"),
        ("bpe", 40960, 0.45, 0.446, "minipile", "minipile"),
        ("pathpiece_random_none", 49152, 0.4, 0.487, "minipile", "minipile"),
    ]
    assert found["source"][2] == "Tokenization Is More Than Compression, Table 11"


def test_models_of_one_tokenizer_are_named_by_their_training_text(tmp_path: Path) -> None:
    """GreedTok's table 5: equal tokens and an equal share of the text, as the shipped experiment has them."""
    empty, other = str(tmp_path / "empty"), str(tmp_path / "other")
    for path in (empty, other):
        Path(path).touch()
    experiment = recipes("greedtok", un=[empty, other], arxiv=empty, pubmed=empty)
    models = [
        ("dclm_bpe", "greedtok_1b"),
        ("dclm_greedtok", "greedtok_1b"),
        ("dclm_greedtok", "greedtok_1b_equal_text"),
    ]
    accuracy = pl.DataFrame(
        [
            (variant, size, model, "eleven_tasks", task, 0.6, None, 1000)
            for variant, model in models
            for size, task in ((65536, "arc_easy"), (65536, "lambada_openai"), (65536, "mathqa"), (1256, "arc_easy"))
        ],
        schema=ACCURACY,
        orient="row",
    )
    texts = pl.DataFrame(
        [
            (model, variant, 65536, "eleven_tasks", text, value)
            for variant, model in models
            for text, value in (("wikitext", 0.7), ("other", 0.8), ("wikitext", None))
        ],
        schema=schema(TEXT),
        orient="row",
    )
    found = compare_cells(measured(), accuracy, texts, experiment)
    told = found.sort("variant", "ours_on", "measure")
    assert told.select("variant", "ours_on", "measure", "ours", "published").rows() == [
        (variant, f"{model}, eleven_tasks", measure, ours, pytest.approx(theirs))
        for variant, model, *published in (
            ("dclm_bpe", "greedtok_1b", 0.679, 0.611, 0.7066),
            ("dclm_greedtok", "greedtok_1b", 0.700, 0.646, 0.6989),
            ("dclm_greedtok", "greedtok_1b_equal_text", 0.688, 0.639, 0.7028),
        )
        for measure, ours, theirs in zip(
            ("accuracy of arc_easy", "accuracy of lambada_openai", "bits per byte of wikitext"),
            (0.6, 0.6, 0.7),
            published,
            strict=True,
        )
    ]
    assert set(found["published_on"]) == {"1B"}
    assert set(found["source"]) == {"A Partition Cover Approach to Tokenization, Table 5"}
    repeated = experiment["models"]["greedtok_1b_equal_text"] | {"epochs": None, "batches": 120_000}
    short = repeated | {"batches": 1000}
    for changed, times in ((repeated, 9), (short, 6)):
        others = experiment | {"models": experiment["models"] | {"greedtok_1b_equal_text": changed}}
        assert compare_cells(measured(), accuracy, texts, others).height == times


def test_every_variant_of_the_papers_experiment_is_found() -> None:
    """Each of the 26 variants of the experiment is one of the paper's, and no two are the same one."""
    experiment = recipes("pathpiece")
    rows = [(name, 40960, "minipile", "renyi_efficiency_2.5", NOMINAL, 0.4) for name in experiment["variants"]]
    found = compare_cells(measured(*rows), *NO_MODELS, experiment)
    assert found["variant"].n_unique() == found.height == 18
    cells = facts.cells().filter(paper="pathpiece", where="Table 11", size=40960, metric="renyi_efficiency_2.5")
    theirs = dict(cells.select("variant", pl.col("value").cast(pl.Float64)).iter_rows())
    assert dict(found.select("variant", "published").iter_rows()) == theirs


def test_papers_of_several_corpora_want_the_same_corpus() -> None:
    experiment = recipes("bytespan")
    intrinsic = measured(
        ("combined_seeding", 32000, "fineweb_edu", "fertility", "tokens / (spaces + line feeds)", 1.1),
        ("entropy_combined_seeding", 32000, "fineweb_edu", "fertility", "tokens / (spaces + line feeds)", 1.1),
        ("bpe_wp", 16000, "fineweb_edu", "fertility", "tokens / pre-tokens", 1.1),
    )
    found = compare_cells(intrinsic, *NO_MODELS, experiment)
    assert found.select("variant", "published").rows() == [("combined_seeding", 1.12)]
    picky = [
        ("en_de_picky_09", 8192, "en_de", "mean_token_length", "bytes / tokens of the vocabulary", 6.0),
        ("en_de_picky_09", 8192, "en_de", "mean_token_length", "characters (...) / tokens of the vocabulary", 5.0),
        ("en_de_picky_09", 8192, "en_de", "removed_tokens", "tokens made and removed for good", 150.0),
        ("de_et_picky_09", 8192, "de_et", "removed_tokens", "tokens made and removed for good", 150.0),
    ]
    found = compare_cells(
        measured(*picky),
        *NO_MODELS,
        recipes("picky_bpe", **PAIRS),
    )
    assert found.select("variant", "ours", "published").rows() == [
        ("de_et_picky_09", 150.0, 133.0),
        ("en_de_picky_09", 5.0, 5.40),
        ("en_de_picky_09", 150.0, 160.0),
    ]
    words = {"pretokenization": "gpt2", "construction": {"method": "greedtok"}, "segmentation": {"method": "cover"}}
    named = {"variants": {"one": {"corpus": "un", **words}, "other": {"corpus": "books", **words}}}
    rows = [
        (name, 1256, corpus, "fertility", "tokens / pre-tokens", 1.6)
        for name, corpus in (("one", "un"), ("other", "books"))
    ]
    assert compare_cells(measured(*rows), *NO_MODELS, named)["variant"].to_list() == ["one"]
    assert compare_cells(measured(*rows), *NO_MODELS, {}).is_empty()


GOOD, POOR = (f"10 10 {common} 10 9 8 7" for common in ("9 8 7 6", "5 2 1 1"))
"""Statistics of BLEU: tokens, n-grams in common, n-grams."""


def translated(tokenizers: str, counts: str, size: int, model: str = "iwslt", comet: float = 0.5) -> list[tuple]:
    of = ("wmt16", "en", "de", "newstest2016", model, size, tokenizers)
    numbers = [(pair, counts if pair % 5 else POOR) for pair in range(40)]
    bleu = [(*of, "BLEU", pair, float(pair % 7), own) for pair, own in numbers]
    return bleu + [(*of, "COMET", pair, comet + pair / 1000, None) for pair, _ in numbers]


def test_translation_scores_are_paired_with_the_papers_cells() -> None:
    """By kind of vocabulary, size of each side and threshold; marks are those of the paired bootstrap."""
    rows = [
        *translated("en_de_picky_10", GOOD, 16384, comet=0.5),
        *translated("en_de_picky_09", GOOD, 16384, comet=0.6),
        *translated("en_de_picky_06", POOR, 16384, comet=0.7),
        *translated("en_picky_10 + de_picky_10", GOOD, 16384, "iwslt_25"),
        *translated("en_de_picky_10", GOOD, 8192),
        *translated("en_de_picky_10", GOOD, 4096),
        *translated("en_de_unigram", GOOD, 16384),
        *translated("en_picky_10 + de_picky_09", GOOD, 16384),
    ]
    once = pl.DataFrame(rows, schema(SENTENCES), orient="row")
    sentences = pl.concat([once] * 3)
    experiment = recipes("picky_bpe", **PAIRS)
    experiment["translation_models"]["iwslt_25"]["d_model"] = 256
    found = published_translations(sentences, translation_comparisons(sentences), experiment)
    assert found.select(
        "vocabulary", "size", "variant", "published_bleu", "published_bleu_interval", "published_comet", "paper_model"
    ).rows() == [
        ("joint", 4096, "picky_10", None, None, None, "yes"),
        ("joint", 8192, "picky_10", 30.1, 0.7, 0.431, "yes"),
        ("joint", 16384, "picky_10", 31.1, 0.7, 0.436, "yes"),
        ("joint", 16384, "picky_09", 31.2, 0.7, 0.436, "yes"),
        ("joint", 16384, "picky_06", 31.3, 0.7, 0.438, "yes"),
        ("separate", 16384, "picky_10", 31.1, 0.7, 0.433, "no"),
    ]
    for seeds, told in ((1, "one training"), (2, "two trainings; significance needs three")):
        few = pl.concat([once] * seeds)
        alone = published_translations(few, translation_comparisons(few), experiment)
        assert alone.filter(vocabulary="joint", size=16384)["bleu_stands"].to_list() == [f"not tested: {told}"] * 3
    at = found.filter(vocabulary="joint", size=16384)
    assert at["bleu_stands"].to_list() == ["best", "not told apart", None]
    assert at["comet_stands"].to_list() == [None, None, "best"]
    assert found.filter(size=8192)["bleu_stands"].to_list() == [None]
    assert at["comet"].to_list() == pytest.approx([0.5195, 0.6195, 0.7195])
    lacking = translation_comparisons(sentences).filter(~pl.col("b").str.ends_with("09"))
    unknown = published_translations(sentences, lacking, experiment).filter(vocabulary="joint", size=16384)
    assert unknown["bleu_stands"].to_list() == ["best", None, None]
    one = at.row(0, named=True)
    whole = np.array([[int(n) for n in own.split()] for *_, own in translated("x", GOOD, 1)[:40]])
    assert one["bleu"] == pytest.approx(float(bleu(whole.sum(0))))
    low, high = np.quantile(resample_scores(whole, bleu), [0.025, 0.975])
    assert one["bleu_interval"] == pytest.approx((high - low) / 2)
    none = published_translations(sentences.clear(), translation_comparisons(sentences.clear()), experiment)
    assert none.is_empty()


@pytest.mark.parametrize(
    "name",
    ["pathpiece", "greedtok", "picky_bpe", "bytespan", "pathpiece_sizes", "picky_bpe_sizes", "bytespan_sizes"],
)
def test_pages_name_the_cells_that_are_farthest_from_the_papers(name: str) -> None:
    folder = Path(__file__).parents[2] / "results" / "published" / name
    cells = pl.read_csv(folder / "comparison.csv", infer_schema_length=None).drop_nulls(["ours", "published"])
    cells = cells.with_columns(apart=pl.col("ours") / pl.col("published") - 1)
    page = (folder / "README.md").read_text(encoding="utf-8")
    part = page[page.index("## How far the numbers are from the paper's") :]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")]
    wanted = []
    for (table,), some in cells.group_by("table"):
        ordered = some.sort(pl.col("apart").abs(), "variant", "our_size", descending=[True, False, False])
        shown = [
            f"`{row['variant']}` at {row['our_size']:,} ({row['their_size']:,}): {100 * row['apart']:+.1f} %"
            for row in ordered.head(3).rows(named=True)
        ]
        median = some["apart"].abs().median()
        wanted.append((-abs(ordered["apart"][0]), [table, str(len(some)), f"{100 * median:.1f} %", *shown]))
    assert rows[2 : 2 + len(wanted)] == [row for _, row in sorted(wanted)]


PUBLISHED = Path(__file__).parents[2] / "results" / "published"
KEPT = sorted(folder.parent.name for folder in PUBLISHED.glob("*/tidy"))


@pytest.mark.parametrize("name", KEPT)
def test_kept_results_have_their_provenance(name: str) -> None:
    """Revision, versions, machine and command; the revision is an ancestor of this one."""
    rows = dict(pl.read_csv(PUBLISHED / name / "provenance.csv", infer_schema=False).rows())
    assert {
        "versions › tokbench",
        "versions › numpy",
        "hardware › cores",
        "hardware › python",
        "command",
    } <= rows.keys()
    page = (PUBLISHED / name / "README.md").read_text(encoding="utf-8")
    assert rows["command"] in " ".join(page.replace("\\\n", " ").split())
    git = ["git", "-C", str(PUBLISHED)]
    if subprocess.run([*git, "rev-parse", "--is-shallow-repository"], capture_output=True).stdout != b"false\n":
        pytest.skip("no checkout with its history")
    for key in ("revision", "repeated at revision", "statistics at revision", "words at revision"):
        if key in rows:
            revision = rows[key].rstrip("+")
            assert re.fullmatch("[0-9a-f]{40}", revision)
            assert subprocess.run([*git, "merge-base", "--is-ancestor", revision, "HEAD"]).returncode == 0
    assert "revision" in rows


OF_PRETOKENS = (pl.col("metric") == "fertility") & pl.col("definition").str.contains("pre-tokens") | (
    pl.col("metric").is_in(["single_token_word_share", "whole_word_share"])
)
BY_SPACES = (pl.col("metric") == "fertility") & pl.col("definition").str.contains("spaces")


@pytest.mark.parametrize("name", ["bytespan_languages", "languages", "newer", "study"])
def test_kept_results_have_no_words_where_pretokens_are_crumbs(name: str) -> None:
    """Scripts without blanks have no measures of words; Hindi has some by spaces, and by pre-tokens that keep marks."""
    rows = pl.read_parquet(PUBLISHED / name / "tidy" / "intrinsic.parquet")
    rows = rows.filter(~pl.col("corpus").is_in(["novels", "english", "german", "ukrainian"]))
    words = rows.filter(OF_PRETOKENS | BY_SPACES)
    without = words.filter(pl.col("language").is_in(["ja", "zh", ""]))
    assert len(without) > 0
    assert without["value"].null_count() == len(without) == len(without.drop_nulls("reason"))
    hindi = words.filter(language="hi")
    assert hindi.filter(BY_SPACES)["value"].null_count() == 0
    keeping = {"bpe_first_space", "pathpiece_bpe_first_space"}
    assert set(hindi.filter(OF_PRETOKENS).drop_nulls("value")["variant"]) <= keeping
    others = words.filter(pl.col("language").is_in(["en", "de", "ru", "uk", "ar", "vi"]))
    assert others["value"].null_count() == 0
    crumbs = hindi.filter(OF_PRETOKENS, pl.col("value").is_null())
    assert crumbs["reason"].str.contains("pre-tokens are not words").all()


def test_the_page_of_newer_constructions_has_the_numbers_of_its_tables() -> None:
    folder = PUBLISHED / "newer"
    rows = [line.split(" | ") for line in (folder / "README.md").read_text().splitlines() if line.startswith("| `")]
    board = pl.read_parquet(folder / "tidy" / "scoreboard.parquet")
    tokens = board.filter(pl.col("corpus").is_in(["novels", "test"]), measure="tokens")
    assert len(tokens) == 2 * (13 + 5)
    for row in tokens.rows(named=True):
        place = 1 if row["corpus"] == "novels" else 3
        found = [cells for cells in rows if cells[0].startswith(f"| `{row['variant']}`") and len(cells) > 4]
        assert f"{row['value']:,.0f}" in {cells[place] for cells in found}
    inner = board.filter(corpus="novels", measure="gap")
    assert inner.filter(pl.col("variant").is_in(["boundlessbpe", "superbpe_words"]))["value"].null_count() == 4
    intrinsic = pl.read_parquet(folder / "tidy" / "intrinsic.parquet").filter(metric="parity_gini", corpus="test")
    for size in (8192, 16384):
        gini = dict(intrinsic.filter(size=size).select("variant", "value").iter_rows())
        assert all(2 * gini[f"languages_{name}"] < gini["languages_bpe"] for name in ("parity", "parity_hybrid"))
