"""The papers recomputed: our statistics give the printed numbers, within rounding.

Figures and tables of the papers recomputed from the files that their authors released.
"""

import csv
import gzip
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from tests.conftest import Tokbench
from tests.support.external_tokenizers import DATA, PUBLISHED, needs
from tokbench.errors import TokbenchError
from tokbench.evaluation.suites import named_suites
from tokbench.models.pretraining.options import PRESETS
from tokbench.published import facts
from tokbench.published.comparison import MODELS
from tokbench.published.facts import DIFFERS, MISSING, SAME, WITHIN, PrintedValue, Statistic, judge, printed_span
from tokbench.published.recompute import FILES, model_sets, recompute, recompute_released
from tokbench.report.figures import style
from tokbench.report.published_tables import bold_table, far_p_values, translations_table
from tokbench.tokenizer.hugging_face import spell
from tokbench.vocabulary import BYTES

ROOT = Path(__file__).parents[2]
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


def test_bold_by_the_printed_numbers() -> None:
    """COMET's bold cells are the best down to some score; of BLEU one group has a score told from its best."""
    frame = bold_table().frame
    assert len(frame) == 45
    by_rule = frame.filter(bleu_by_rule="bold")
    assert by_rule.select("task", "size").unique().rows() == [("separate", 32768)]
    assert by_rule["variant"].to_list() == ["picky_10", "picky_09", "picky_08", "picky_07"]
    marked = []
    for _, group in frame.group_by("where", "corpus", "task", "size"):
        bold, plain = (group.filter(comet_printed=mark)["behind"] for mark in ("bold", ""))
        assert bold.min() == 0
        assert bold.max() < plain.min()
        marked.append((bold.max(), plain.min()))
    assert len(marked) == 9
    assert max(low for low, _ in marked) == 0.002
    assert min(high for _, high in marked) == 0.001


@needs(PUBLISHED)
def test_bold_is_that_of_the_papers_text() -> None:
    text = next((PUBLISHED.parent / "papers").glob("003_*.txt")).read_text(encoding="utf-8")
    first = re.findall(r"\| (?:[.\d]+(?:\$\^\{\\ast\}\$)?) +\| [\d.]+ \$\\pm\$ [\d.]+ +\| (\**)[\d.]+", text)
    second = re.findall(r"& [\d.]+[^&]*& [\d.]+ \$\\pm\$ [\d.]+ & (\**)[\d.]+", text)
    assert ["bold" if stars else "" for stars in (*first, *second)] == bold_table().frame["comet_printed"].to_list()


def chosen(statistics: tuple[Statistic, ...], name: str, **wanted: str) -> list[Statistic]:
    return [
        statistic
        for statistic in statistics
        if statistic.statistic == name and all(getattr(statistic, key) == value for key, value in wanted.items())
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
    frame = facts.accuracy("pathpiece")
    assert frame.height == 10 * (18 * 3 + 8 + 7)
    assert facts.main_runs().height == 540
    assert facts.intrinsic().height == 6 * 54
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
        kept = kept.filter(~pl.col("task").is_in(["joint", "separate"]))
        assert Counter(map(float, kept["value"])) == Counter(map(float, theirs)), path


@needs(PUBLISHED)
def test_table_2_of_picky_bpe_is_that_of_the_papers_text() -> None:
    """Separate vocabularies first, each from the smallest; the text that is at hand has lost the sizes themselves."""
    text = next((PUBLISHED.parent / "papers").glob("003_*.txt")).read_text(encoding="utf-8")
    table = text.partition("cccc Vocabulary &")[2].partition(":::")[0]
    printed = re.findall(r"& ([\d.]+)[^&]*& ([\d.]+) \$\\pm\$ ([\d.]+) & \**([\d.]+)", table)
    ours = facts.cells().filter(paper="picky_bpe", where="Table 2")
    found = [
        (f"{threshold[0]}.{threshold[1]}", *part.filter(pl.col("metric") != "comet_bold").sort("metric")["value"])
        for (_, _, variant), part in ours.group_by("task", "size", "variant", maintain_order=True)
        for threshold in [variant.removeprefix("picky_")]
    ]
    assert found == printed
    blocks = [("separate", size) for size in (8192, 16384, 32768)] + [("joint", size) for size in (16384, 32768, 65536)]
    assert ours.select("task", "size").unique(maintain_order=True).rows() == blocks


def test_numbers_of_questions_fit_the_printed_accuracies() -> None:
    """Of the accuracies on tasks of at most 1000 questions three come from no whole number of right answers."""
    questions = dict(facts.tasks().filter(paper="pathpiece").select("task", "questions").iter_rows())
    printed = facts.cells().filter(paper="pathpiece", metric="accuracy")
    rows = printed.select("model", "variant", "size", "task", "value").rows()
    spans = facts.spans("pathpiece")
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
    assert {name: (PRESETS[p].d_model, PRESETS[p].n_layers) for name, p in presets.items()} == MODELS["pathpiece"]
    shapes = {(PRESETS[p].d_model, PRESETS[p].n_layers) for p in ("greedtok_1b", "greedtok_1b_equal_text")}
    assert shapes == set(MODELS["greedtok"].values())


# The statistics -------------------------------------------------------------------------------------------------------


def test_differing_numbers_are_the_listed_ones(statistics: tuple[Statistic, ...]) -> None:
    """Two averages and two ranks that the paper itself prints otherwise elsewhere, and a row printed twice."""
    found = {
        (statistic.where, statistic.statistic, statistic.a, statistic.b, statistic.size)
        for statistic in statistics
        if statistic.verdict == DIFFERS
    }
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
    assert all(statistic.note for statistic in statistics if statistic.verdict in (DIFFERS, MISSING))


def test_unigram_on_arxiv_repeats_unigram_on_wikipedia() -> None:
    rows = facts.cells().filter(paper="greedtok", metric="tokens_per_word", variant="unigram")
    arxiv, wiki = (rows.filter(corpus=corpus)["value"].to_list() for corpus in ("arxiv", "wiki"))
    assert arxiv == wiki


def test_nothing_vanishes(statistics: tuple[Statistic, ...]) -> None:
    assert len(statistics) == facts.statistics().height == 505
    missing = [statistic for statistic in statistics if statistic.verdict == MISSING]
    assert {one.model for one in missing} == {"2.4B"}
    assert len(missing) == 8


def test_ranks_of_the_18_variants(statistics: tuple[Statistic, ...]) -> None:
    ranks = chosen(statistics, "rank", where="Table 10")
    assert len(ranks) == 18
    assert {rank.verdict for rank in ranks} == {SAME}
    assert sorted(rank.ours for rank in ranks if rank.ours is not None) == list(range(1, 19))


def test_averages(statistics: tuple[Statistic, ...]) -> None:
    """To a tenth of a point in the tables; to a thousandth, within rounding, on the bars of figures 14 to 22."""
    for where, count in (("Table 10", 72), ("Table 11", 54), ("Table 12", 7), ("Table 6", 26), ("Table 5", 3)):
        found = chosen(statistics, "average_accuracy", where=where)
        assert len(found) == count
        assert {one.verdict for one in found} <= {SAME, WITHIN}
    bars = [
        statistic
        for statistic in statistics
        if statistic.where.startswith("Figure") and statistic.statistic == "average_accuracy"
    ]
    assert len(bars) == 30
    assert all(bar.ours == pytest.approx(float(bar.published), abs=0.012) for bar in bars)
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


def test_bounds_in_the_text_of_the_papers_hold(statistics: tuple[Statistic, ...]) -> None:
    found = [statistic for statistic in statistics if statistic.relation != "="]
    assert len(found) == 17 + 24
    assert {one.verdict for one in found} == {SAME}


def test_r_squared_and_correlations(statistics: tuple[Statistic, ...]) -> None:
    squares = {(one.a, one.b): one.ours for one in chosen(statistics, "r_squared")}
    assert squares["32768", "40960"] == pytest.approx(0.750, abs=5e-4)
    assert squares["40960", "49152"] == pytest.approx(0.801, abs=1e-3)
    assert squares["32768", "49152"] == pytest.approx(0.834, abs=2e-3)
    correlations = chosen(statistics, "pearson_r")
    assert len(correlations) == 7
    assert all(
        correlation.ours == pytest.approx(float(correlation.published), abs=1.5e-3) for correlation in correlations
    )
    assert {statistic.verdict for statistic in statistics if statistic.statistic in ("r_squared", "pearson_r")} == {
        SAME,
        WITHIN,
    }


def test_recomputed_values_are_within_their_rounding_spans(statistics: tuple[Statistic, ...]) -> None:
    for statistic in statistics:
        if statistic.ours is not None and statistic.low is not None and statistic.high is not None:
            assert statistic.low - 1e-9 <= statistic.ours <= statistic.high + 1e-9, statistic


@pytest.mark.parametrize(
    ("relation", "printed", "span", "verdict"),
    [
        ("=", "0.047", PrintedValue(0.0465, 0.0468, 0.05), SAME),
        ("=", "0.047", PrintedValue(0.0465, 0.0481, 0.05), WITHIN),
        ("=", "0.047", PrintedValue(0.0476, 0.0481, 0.05), DIFFERS),
        ("=", "48.0", PrintedValue(47.9, 47.95, 48.0), SAME),
        ("=", "4.4e-5", PrintedValue(4.2e-5, 4.36e-5, 5e-5), SAME),
        (">", "0.05", PrintedValue(0.04, 0.051, 0.06), SAME),
        (">", "0.05", PrintedValue(0.04, 0.049, 0.06), WITHIN),
        ("<=", "0.01", PrintedValue(0.011, 0.012, 0.013), DIFFERS),
        ("=", "1", None, MISSING),
    ],
)
def test_verdicts(relation: str, printed: str, span: PrintedValue | None, verdict: str) -> None:
    row = dict.fromkeys(("paper", "where", "statistic", "model", "size", "a", "b", "note"), "")
    assert judge(row | {"relation": relation, "value": printed}, span).verdict == verdict


def test_reanalysis_of_the_papers_finds_no_best_variant() -> None:
    """Of 18 variants none is best: PathPiece from BPE against the next five, corrected for 306 tests."""
    main, _, _, greedtok = model_sets()
    assert main.order[:6] == ["pathpiece_bpe", "unigram", "bpe", "bpe_greedy", "wordpiece", "sage_bpe"]
    next_five = main.pairs.filter(pl.col("a") == "pathpiece_bpe", pl.col("b").is_in(main.order[1:6]))
    assert (next_five["holm"] > 0.5).all()
    assert main.pairs.height == 18 * 17
    assert main.power["detectable"].item() == pytest.approx(0.014, abs=0.002)
    assert greedtok.intervals is None
    assert main.intervals is not None
    assert main.intervals["questions"].unique().to_list() == [3 * 10_336]


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
    assert page == (ROOT / "results" / "published" / "papers" / "README.md").read_text(), "make published-results"
    assert "print 282 different numbers, 505 times in all. 170 agree to all printed digits. 95 more agree" in page
    assert "9 differ. 8 cannot be recomputed" in page
    assert "| all | 170 | 95 | 9 | 8 |" in page
    assert [statistic.published for statistic in far_p_values(recompute())] == ["8.8e-6", "0.041", "0.025"]
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


@needs(TIMTC)
def test_figure_5_and_table_11_from_released_files() -> None:
    found = recompute_released(TIMTC)
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
    found = {(one.statistic, one.a): one.ours for one in recompute_released(folder)}
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
        recompute_released(folder)
