"""The papers recomputed: what their tables print is what our statistics give, to the digits that rounding leaves."""

import csv
import gzip
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from scipy import stats

from tests.conftest import Tokbench
from tests.outside import DATA, PUBLISHED, needs
from tokbench.byte_level import spell
from tokbench.config.load import validate
from tokbench.downstream.suites import named_suites
from tokbench.errors import TokbenchError
from tokbench.pretraining.options import PRESETS
from tokbench.published import facts, tidy_facts
from tokbench.published.agreement import DIFFERS, MISSING, SAME, WITHIN, Statistic, judged
from tokbench.published.beside import BESIDE, MODELS, beside
from tokbench.published.comparisons import compared
from tokbench.published.recompute import recompute
from tokbench.published.released import FILES, released
from tokbench.published.translations import translations_table
from tokbench.report.figures import style
from tokbench.statistics.cells import ACCURACY, INTRINSIC
from tokbench.statistics.rounding import Span, printed_span
from tokbench.vocabulary import BYTES
from tokbench.workflow.statistics import recipes as recipes_of

ROOT = Path(__file__).parents[1]
TIMTC = DATA / "timtc"


@pytest.fixture(scope="module")
def statistics() -> tuple[Statistic, ...]:
    return recompute()


def test_bleu_by_the_printed_intervals() -> None:
    """Against SciPy, and that no threshold is told from BPE."""
    frame = translations_table().frame
    assert len(frame) == 12
    row = frame.row(by_predicate=(pl.col("direction") == "uk_et") & (pl.col("variant") == "picky_09"), named=True)
    assert (row["bleu"], row["base"], row["difference"]) == (15.8, 16.9, -1.1)
    error = np.hypot(1.0, 1.5) / stats.norm.ppf(0.975)
    assert row["p"] == pytest.approx(2 * stats.norm.sf(1.1 / error))
    assert (row["low"], row["high"]) == pytest.approx((-1.1 - np.hypot(1.0, 1.5), -1.1 + np.hypot(1.0, 1.5)))
    assert row["holm"] == pytest.approx(min(1.0, 12 * row["p"])) or frame["holm"].min() == 1.0


def chosen(statistics: tuple[Statistic, ...], name: str, **wanted: str) -> list[Statistic]:
    return [
        one
        for one in statistics
        if one.statistic == name and all(getattr(one, key) == value for key, value in wanted.items())
    ]


# The facts ------------------------------------------------------------------------------------------------------------


def test_every_row_is_a_number_once() -> None:
    cells, derived = facts.cells(), facts.statistics()
    assert set(cells["paper"]) == set(facts.PAPERS)
    assert cells.drop("value").is_unique().all()
    assert derived.drop("value", "note").is_unique().all()
    for value in [*cells["value"], *derived["value"]]:
        float(value)


def test_variants_of_every_table_have_a_recipe() -> None:
    known = set(facts.variants().select("paper", "variant").rows())
    assert set(facts.cells().select("paper", "variant").rows()) <= known
    assert facts.variants().select("paper", "variant").is_unique().all()


def test_no_cell_is_missing() -> None:
    """18 variants at three sizes, 8 of appendix F at one, seven larger models: ten tasks each."""
    frame = tidy_facts.accuracy("pathpiece")
    assert frame.height == 10 * (18 * 3 + 8 + 7)
    assert tidy_facts.main_runs().height == 540
    assert tidy_facts.intrinsic().height == 6 * 54
    assert frame["accuracy"].is_between(0, 1).all()


@needs(PUBLISHED)
def test_the_facts_are_those_of_the_published_tables() -> None:
    """Against another transcription of the same tables, number by number, in whatever order."""
    skipped = {"vocab_size", "k", "rank", "threshold", "published_average", "average"}
    for path, paper, metrics in [
        ("tokenization_is_more_than_compression_accuracy", "pathpiece", ["accuracy"]),
        ("partition_cover_tokens_per_word", "greedtok", ["tokens_per_word"]),
        ("partition_cover_unigram_objective", "greedtok", ["unigram_objective"]),
        ("picky_bpe_translation_8192", "picky_bpe", ["bleu", "bleu_interval", "comet"]),
        ("picky_bpe_removed_tokens", "picky_bpe", ["removed_tokens"]),
        ("bytespan_intrinsic", "bytespan", None),
        ("partition_cover_language_models", "greedtok", ["accuracy", "bits_per_byte"]),
    ]:
        with (PUBLISHED / f"{path}.csv").open() as file:
            rows = list(csv.DictReader(file))
        theirs = [v for row in rows for k, v in row.items() if k not in skipped and re.fullmatch(r"[-.\dE]+", v)]
        ours = facts.cells().filter(paper=paper)
        kept = ours if metrics is None else ours.filter(pl.col("metric").is_in(metrics))
        assert Counter(map(float, kept["value"])) == Counter(map(float, theirs)), path


def test_numbers_of_questions_fit_the_printed_accuracies() -> None:
    """Of the accuracies on tasks of at most 1000 questions three come from no whole number of right answers."""
    questions = dict(facts.tasks().filter(paper="pathpiece").select("task", "questions").iter_rows())
    printed = facts.cells().filter(paper="pathpiece", metric="accuracy")
    rows = printed.select("model", "variant", "size", "task", "value").rows()
    spans = tidy_facts.spans("pathpiece")
    odd = {row[1:4] for row in rows if questions[row[3]] <= 1000 and spans[row[:4]] == printed_span(row[4])}
    assert odd == {
        ("sage_ngram_digit", 32768, "wsc273"),
        ("sage_ngram", 32768, "qa4mre"),
        ("sage_ngram", 49152, "qa4mre"),
    }
    exact = [span for (*_, task), span in spans.items() if questions[task] <= 1000]
    assert sum(span.low == span.high for span in exact) == len(exact) - 3


def test_tasks_and_models_are_those_of_the_workflow() -> None:
    suites = named_suites()
    for paper, suite in (
        ("pathpiece", "tokenization_is_more_than_compression"),
        ("greedtok", "a_partition_cover_approach_to_tokenization"),
    ):
        assert set(facts.tasks().filter(paper=paper)["lm_eval"]) == set(suites[suite].tasks)
    random = dict(facts.tasks().filter(paper="pathpiece").select("lm_eval", "random").iter_rows())
    settings = suites["tokenization_is_more_than_compression"]
    assert {task: settings.settings(task).random_baseline for task in random} == {t: r / 100 for t, r in random.items()}
    presets = {"350M": "mpt_350m", "1.3B": "mpt_1_3b", "2.4B": "mpt_2_4b"}
    assert {name: (PRESETS[p].d_model, PRESETS[p].n_layers) for name, p in presets.items()} == MODELS


# The statistics -------------------------------------------------------------------------------------------------------


def test_what_differs_is_known(statistics: tuple[Statistic, ...]) -> None:
    """Two averages and two ranks that the paper itself prints otherwise elsewhere, and a row printed twice."""
    found = {(one.where, one.statistic, one.a, one.b, one.size) for one in statistics if one.verdict == DIFFERS}
    assert found == {
        ("Table 1", "average_accuracy", "bpe", "", "32768"),
        ("Table 1", "average_accuracy", "pathpiece_unigram", "", "32768"),
        ("Table 14", "rank", "pathpiece_bpe", "", "40960"),
        ("Table 14", "rank", "sage_bpe", "", "40960"),
        *(
            ("Table 3", "improvement_percent:tokens_per_word", "greedtok", "unigram", str(k + 256))
            for k in range(1000, 6000, 1000)
        ),
    }
    assert all(one.note for one in statistics if one.verdict in (DIFFERS, MISSING))


def test_unigram_on_arxiv_repeats_unigram_on_wikipedia() -> None:
    rows = facts.cells().filter(paper="greedtok", metric="tokens_per_word", variant="unigram")
    arxiv, wiki = (rows.filter(corpus=corpus)["value"].to_list() for corpus in ("arxiv", "wiki"))
    assert arxiv == wiki


def test_nothing_vanishes(statistics: tuple[Statistic, ...]) -> None:
    assert len(statistics) == facts.statistics().height == 505
    missing = [one for one in statistics if one.verdict == MISSING]
    assert {one.model for one in missing} == {"2.4B"}
    assert len(missing) == 8


def test_ranks_of_the_18_variants(statistics: tuple[Statistic, ...]) -> None:
    ranks = chosen(statistics, "rank", where="Table 10")
    assert len(ranks) == 18
    assert {one.verdict for one in ranks} == {SAME}
    assert sorted(one.ours for one in ranks if one.ours is not None) == list(range(1, 19))


def test_averages(statistics: tuple[Statistic, ...]) -> None:
    """To a tenth of a point in the tables; to a thousandth, within rounding, on the bars of figures 14 to 22."""
    for where, count in (("Table 10", 72), ("Table 11", 54), ("Table 12", 7), ("Table 6", 26), ("Table 5", 3)):
        found = chosen(statistics, "average_accuracy", where=where)
        assert len(found) == count
        assert {one.verdict for one in found} <= {SAME, WITHIN}
    bars = [one for one in statistics if one.where.startswith("Figure") and one.statistic == "average_accuracy"]
    assert len(bars) == 30
    assert all(one.ours == pytest.approx(float(one.published), abs=0.012) for one in bars)
    assert chosen(statistics, "average_accuracy", a="random guessing")[0].ours == 32.0


def test_p_values_over_ten_cells_are_exact(statistics: tuple[Statistic, ...]) -> None:
    """Figures 14 to 22, all nine to the last printed digit."""
    found = chosen(statistics, "wilcoxon_p", size="40960")
    assert [one.where for one in found] == [f"Figure {number}" for number in range(14, 23)]
    assert {one.verdict for one in found} == {SAME}


def test_p_values_over_thirty_cells(statistics: tuple[Statistic, ...]) -> None:
    """Figures 8 to 13 and section 5.2: five of ten to the digit, all within what rounding allows."""
    found = chosen(statistics, "wilcoxon_p", size="", relation="=")
    assert Counter(one.verdict for one in found) == {SAME: 5, WITHIN: 5}
    widest = max(found, key=lambda one: (one.high or 0) / (one.low or 1))
    assert (widest.a, widest.b) == ("bpe_greedy", "bpe_shortest")
    assert all((one.high or 0) < 2.3 * (one.low or 0) for one in found)


def test_bounds_that_the_text_states_hold(statistics: tuple[Statistic, ...]) -> None:
    found = [one for one in statistics if one.relation != "="]
    assert len(found) == 17 + 24
    assert {one.verdict for one in found} == {SAME}


def test_r_squared_and_correlations(statistics: tuple[Statistic, ...]) -> None:
    squares = {(one.a, one.b): one.ours for one in chosen(statistics, "r_squared")}
    assert squares["32768", "40960"] == pytest.approx(0.750, abs=5e-4)
    assert squares["40960", "49152"] == pytest.approx(0.801, abs=1e-3)
    assert squares["32768", "49152"] == pytest.approx(0.834, abs=2e-3)
    correlations = chosen(statistics, "pearson_r")
    assert len(correlations) == 7
    assert all(one.ours == pytest.approx(float(one.published), abs=1.5e-3) for one in correlations)
    assert {one.verdict for one in statistics if one.statistic in ("r_squared", "pearson_r")} == {SAME, WITHIN}


def test_spans_hold_ours(statistics: tuple[Statistic, ...]) -> None:
    for one in statistics:
        if one.ours is not None and one.low is not None and one.high is not None:
            assert one.low - 1e-9 <= one.ours <= one.high + 1e-9, one


@pytest.mark.parametrize(
    ("relation", "printed", "span", "verdict"),
    [
        ("=", "0.047", Span(0.0465, 0.0468, 0.05), SAME),
        ("=", "0.047", Span(0.0465, 0.0481, 0.05), WITHIN),
        ("=", "0.047", Span(0.0476, 0.0481, 0.05), DIFFERS),
        ("=", "48.0", Span(47.9, 47.95, 48.0), SAME),
        ("=", "4.4e-5", Span(4.2e-5, 4.36e-5, 5e-5), SAME),
        (">", "0.05", Span(0.04, 0.051, 0.06), SAME),
        (">", "0.05", Span(0.04, 0.049, 0.06), WITHIN),
        ("<=", "0.01", Span(0.011, 0.012, 0.013), DIFFERS),
        ("=", "1", None, MISSING),
    ],
)
def test_verdicts(relation: str, printed: str, span: Span | None, verdict: str) -> None:
    row = dict.fromkeys(("paper", "where", "statistic", "model", "size", "a", "b", "note"), "")
    assert judged(row | {"relation": relation, "value": printed}, span).verdict == verdict


def test_what_a_reviewer_asks_of_the_papers() -> None:
    """Of 18 variants none is best: PathPiece from BPE against the next five, corrected for 306 tests."""
    main, _, _, greedtok = compared()
    assert main.order[:6] == ["pathpiece_bpe", "unigram", "bpe", "bpe_greedy", "wordpiece", "sage_bpe"]
    next_five = main.pairs.filter(pl.col("a") == "pathpiece_bpe", pl.col("b").is_in(main.order[1:6]))
    assert (next_five["holm"] > 0.5).all()
    assert main.pairs.height == 18 * 17
    assert main.power["detectable"].item() == pytest.approx(0.014, abs=0.002)
    assert greedtok.intervals is None
    assert main.intervals is not None
    assert main.intervals["questions"].unique().to_list() == [3 * 10_336]


# The released files ---------------------------------------------------------------------------------------------------


@needs(TIMTC)
def test_figure_5_and_table_11_from_released_files() -> None:
    found = released(TIMTC)
    assert [one.verdict for one in found if one.where == "Table 11"] == [SAME] * 18
    regions = {one.statistic.removeprefix("tokens in "): one for one in found if one.where == "Figure 5"}
    assert {name for name, one in regions.items() if one.verdict == SAME} == {"only c", "a and c", "b and c", "all"}
    off = {name: int(one.published) - (one.ours or 0) for name, one in regions.items() if one.verdict == DIFFERS}
    assert off == {"only a": -151, "only b": 312, "a and b": 151}
    assert all("463 tokens of pathpiece_bpe" in regions[name].note for name in off)


def write_released(folder: Path) -> None:
    folder.mkdir()
    for stem in FILES.values():
        (folder / f"{stem}_token_counts.tsv").write_text("\u0120the\t30\na\t10\n<|endoftext|>\t5\n")
        if stem.startswith("bpe"):
            spelt = {spell(token): index for index, token in enumerate([*BYTES, b" the"])}
            (folder / f"{stem}.json").write_text(json.dumps({"model": {"vocab": spelt}}))
        else:
            tokens = [*BYTES, b"of"] if stem.startswith("sage") else BYTES
            (folder / f"{stem}.vocab.gz").write_bytes(gzip.compress("\n".join(map(bytes.hex, tokens)).encode()))


def test_released_files_plain_or_packed(tmp_path: Path) -> None:
    folder = tmp_path / "released"
    write_released(folder)
    found = {(one.statistic, one.a): one.ours for one in released(folder)}
    assert found["corpus_token_count", "bpe"] == 40 / 1e9
    assert found["renyi_efficiency_2", "bpe"] == pytest.approx(-np.log(0.75**2 + 0.25**2) / np.log(40_960))
    regions = [value for (statistic, _), value in found.items() if statistic.startswith("tokens in")]
    assert regions == [1, 0, 1, 0, 0, 0, 256]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("sage_initbpe_firstspace_6_40960.vocab.gz", None, "no sage_initbpe_firstspace_6_40960.vocab or"),
        ("sage_initbpe_firstspace_6_40960.vocab.gz", b"no gzip", "cannot be read"),
        ("bpe_merge_3_40960.json", b"{}", r"bpe_merge_3_40960\.json: not a released vocabulary"),
        (
            "sage_initbpe_firstspace_6_40960.vocab.gz",
            gzip.compress(b"61", mtime=0),
            r"\.vocab\.gz: not a released vocabulary",
        ),
        ("bpe_merge_3_40960_token_counts.tsv", b"a\tmany\n", "not counts of tokens"),
    ],
)
def test_bad_released_files_are_named(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    folder = tmp_path / "released"
    write_released(folder)
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(TokbenchError, match=message):
        released(folder)


# Beside a run ---------------------------------------------------------------------------------------------------------


def recipes(name: str, **paths: str) -> dict:
    """The recipes of a paper's experiment; its gold data is no part of them."""
    values = yaml.safe_load((ROOT / "experiments" / f"{name}.yaml").read_text())
    values.pop("resources", None)
    return json.loads(recipes_of(validate(values | paths, name)))


def measured(*rows: tuple[str, int, str, str, str, float | None]) -> pl.DataFrame:
    full = [
        (v, size, corpus, "", metric, definition, value, 1, None) for v, size, corpus, metric, definition, value in rows
    ]
    return pl.DataFrame(full, schema=INTRINSIC, orient="row")


NOMINAL = "entropy / log(nominal vocabulary size)"


def test_published_cells_stand_beside_the_same_cells() -> None:
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
    found = beside(intrinsic, accuracy, recipes("pathpiece"))
    assert found.schema == pl.Schema(BESIDE.schema)
    assert found.select("variant", "size", "ours", "published", "ours_on", "published_on").rows() == [
        ("bpe", 40960, 0.3, pytest.approx(0.321), "mpt_1_3b, ten_tasks", "1.3B"),
        ("bpe", 40960, 0.66, pytest.approx(0.669), "mpt_350m, ten_tasks", "350M"),
        ("bpe", 40960, 1.5e9, 1.49e9, "minipile", "minipile"),
        ("bpe", 40960, 0.45, 0.446, "minipile", "minipile"),
        ("pathpiece_random_none", 49152, 0.4, 0.487, "minipile", "minipile"),
    ]
    assert found["source"][2] == "Tokenization Is More Than Compression, Table 11"


def test_every_variant_of_the_papers_experiment_is_found() -> None:
    """Each of the 26 variants of the experiment is one of the paper's, and no two are the same one."""
    experiment = recipes("pathpiece")
    rows = [(name, 40960, "minipile", "renyi_efficiency_2.5", NOMINAL, 0.4) for name in experiment["variants"]]
    found = beside(measured(*rows), pl.DataFrame(schema=ACCURACY), experiment)
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
    found = beside(intrinsic, pl.DataFrame(schema=ACCURACY), experiment)
    assert found.select("variant", "published").rows() == [("combined_seeding", 1.12)]
    picky = [
        ("en_de_picky_09", 8192, "en_de", "mean_token_length", "bytes / tokens of the vocabulary", 6.0),
        ("en_de_picky_09", 8192, "en_de", "mean_token_length", "characters (...) / tokens of the vocabulary", 5.0),
        ("en_de_picky_09", 8192, "en_de", "removed_tokens", "tokens made and removed for good", 150.0),
        ("de_et_picky_09", 8192, "de_et", "removed_tokens", "tokens made and removed for good", 150.0),
    ]
    found = beside(
        measured(*picky),
        pl.DataFrame(schema=ACCURACY),
        recipes("picky_bpe", **dict.fromkeys(("en_de", "de_et", "uk_et", "en", "de"), __file__)),
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
    assert beside(measured(*rows), pl.DataFrame(schema=ACCURACY), named)["variant"].to_list() == ["one"]
    assert beside(measured(*rows), pl.DataFrame(schema=ACCURACY), {}).is_empty()


# The command ----------------------------------------------------------------------------------------------------------


def test_published_writes_tables_figures_and_a_page(
    tmp_path: Path, tokbench: Tokbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(style._RC, "savefig.dpi", 40)
    output, numbers = tmp_path / "papers", tmp_path / "numbers.csv"
    done = tokbench("published", "--numbers", numbers, "-o", output)
    assert done.status == 0
    assert "differs: 9" in done.stderr
    page = (output / "README.md").read_text()
    assert "Of 505 numbers" in page
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert links
    assert all((output / link).is_file() for link in links)
    figures = {path.stem for path in (output / "figures").iterdir()}
    assert {name.split("-")[1] for name in figures if name.startswith("figure-")} == {
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "12",
    }
    assert {path.suffix for path in (output / "figures").iterdir()} == {".svg", ".png"}
    assert {path.suffix for path in (output / "tables").iterdir()} == {".csv", ".md", ".tex"}
    assert pl.read_csv(numbers, infer_schema_length=None).height == 505
    assert "the released files were not given" in (output / "tables" / "not-recomputed.md").read_text()
