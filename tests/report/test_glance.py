"""Verdicts by the number of trainings, from tables to the page: none with one, ranks with two, tests with three."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest

from tests.support.small_report import (
    DECLARED,
    VARIANTS,
    accuracy,
    altered,
    answers_by_seed,
    bits_by_seed,
    imported,
    intrinsic,
    ngram_bits,
    ngram_documents,
    outcomes,
    tokens_by_document,
    whole,
)
from tokbench.config.experiment import Experiment
from tokbench.options import validated
from tokbench.report.answer import answers, summary
from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Table
from tokbench.report.html import drawings, render, sections, tables
from tokbench.report.layout import layout
from tokbench.report.leaderboard import leaderboard
from tokbench.report.loading import build_content
from tokbench.report.typeset import to_latex, to_markdown
from tokbench.statistics.comparisons.families import ALIKE, TOKENS, UNTESTED
from tokbench.statistics.inputs import StatisticsInputs
from tokbench.statistics.significance.eligibility import (
    ONE_TRAINING,
    TWO_TRAININGS,
    Trainings,
    fewest_trainings,
    may_rank,
    why_untested,
)
from tokbench.statistics.significance.verdicts import WORSE
from tokbench.tabulation.documents import DOCUMENT_BITS
from tokbench.tabulation.table import make_tables, tables_of


def judged(*verdicts: str, measure: str = TOKENS) -> ReportContent:
    """The small report with these verdicts for all but the best of a measure, in order of value."""
    board = whole().frames["scoreboard"].with_row_index()
    rows = board.filter(pl.col("measure") == measure, pl.col("verdict").is_in([ALIKE, WORSE, UNTESTED]))
    given: dict[int, str] = {}
    for _, part in rows.group_by("size", "corpus", "model", "suite", maintain_order=True):
        given |= dict(zip(part["index"].to_list(), verdicts, strict=False))
    changed = pl.col("index").replace_strict(given, default=pl.col("verdict"), return_dtype=pl.String)
    why = pl.when(changed == UNTESTED).then(pl.lit(TWO_TRAININGS)).otherwise("reason")
    return altered(whole(), scoreboard=board.with_columns(verdict=changed, reason=why).drop("index"))


def test_summary_counts_comparisons_that_are_not_tested() -> None:
    told = summary(judged(ALIKE, UNTESTED, WORSE))[0]
    assert "After correction, significantly worse: 1 of 3 others; no significant difference: " in told
    assert "; not tested (two trainings; significance needs three): " in told
    told = summary(judged(*[UNTESTED] * 3))[0]
    assert "Not tested (two trainings; significance needs three): all 3 others." in told


NAMES = ("tiny", "tiny_again", "tiny_once_more")
REASON = {1: ONE_TRAINING, 2: TWO_TRAININGS}
NO_BPE = pl.col("variant") != "bpe"
"""Without the tokenizer that lacks a score."""


def test_the_rule() -> None:
    assert [may_rank(trainings) for trainings in (None, 0, 1, 2, 3)] == [True, False, False, True, True]
    told = [why_untested(trainings) for trainings in (None, 0, 1, 2, 3, 9)]
    assert told == ["", ONE_TRAINING, ONE_TRAINING, TWO_TRAININGS, "", ""]
    trainings: Trainings = {("tiny", "words", 8): 3, ("tiny", "words", 16): 2}
    assert fewest_trainings(trainings, "tiny", "words", [8]) == 3
    assert fewest_trainings(trainings, "tiny", "words", [8, 16]) == 2
    assert fewest_trainings(trainings, "tiny", "words", [8, 32]) == 1, "a size that is not known"
    assert fewest_trainings(None, "350M", "published", [8]) is None


def of_models(seeds: int) -> dict[str, pl.DataFrame]:
    """The tables of an experiment with several models that differ in their seed only."""
    names = NAMES[:seeds]
    bits = bits_by_seed().filter(pl.col("seed") < seeds)
    of_seed = dict(enumerate(NAMES))
    return {
        "intrinsic": intrinsic(),
        "imported": imported().clear(),
        "tokens_by_document": tokens_by_document(),
        "ngram_bits": ngram_bits(),
        "ngram_documents": ngram_documents(),
        "accuracy": pl.concat([accuracy().filter(NO_BPE).with_columns(pl.lit(name).alias("model")) for name in names]),
        "outcomes": pl.concat([outcomes().filter(NO_BPE).with_columns(pl.lit(name).alias("model")) for name in names]),
        "answer_measures": pl.concat(
            [
                answers_by_seed().filter(pl.col("seed") == seed, NO_BPE).with_columns(model=pl.lit(name)).drop("seed")
                for seed, name in enumerate(names)
            ]
        ),
        "document_bits": bits.with_columns(model=pl.col("seed").replace_strict(of_seed, return_dtype=pl.String)).select(
            list(DOCUMENT_BITS.schema)
        ),
    }


@cache
def analysed(seeds: int) -> ReportContent:
    """The report of such an experiment, with the statistics that the command computes."""
    models = {name: {"preset": "tiny"} | ({"seed": seed} if seed else {}) for seed, name in enumerate(NAMES[:seeds])}
    recipe = {"pretokenization": "gpt2", "construction": "bpe", "corpus": "books"}
    experiment = {
        "name": "small", "corpora": {"books": {"source": "embedded"}}, "variants": dict.fromkeys(VARIANTS, recipe),
        "sizes": [400], "models": models, "suites": {"offline": "offline"}, "report": {"baseline": "bpe"},
        "runs": [{"models": list(models), "variants": list(VARIANTS), "suites": ["offline"]}],
    }  # fmt: skip
    frames = of_models(seeds)
    with TemporaryDirectory() as folder:
        for name, frame in frames.items():
            frame.write_parquet(Path(folder) / f"{name}.parquet")
        material = StatisticsInputs(Path(folder), {"models": models}, {"books": "bpe"})
        made = make_tables(tables_of("analyse"), material)
    statistics = {table.name: frame for table, frame in made.items()}
    of_report = ("intrinsic", "accuracy", "ngram_bits", "imported")
    kept = {name: frames[name] for name in of_report} | statistics
    declared = {table.name for table in DECLARED}
    return build_content(
        validated(experiment, Experiment, "here"),
        experiment,
        DECLARED,
        {name: kept[name] for name in kept if name in declared},
        {},
    )


def of_name(content: ReportContent, start: str) -> list[Table]:
    return [table for table in tables(content) if table.name.startswith(start)]


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_statistics_rank_from_two_and_test_from_three(seeds: int) -> None:
    frames = analysed(seeds).frames
    reason = REASON.get(seeds)
    for name in ("ranks", "ranks_by_size", "critical_differences"):
        frame = frames[name]
        column = "average_rank" if name == "critical_differences" else "rank"
        assert (frame[column].null_count() == len(frame)) == (seeds == 1), name
        assert frame[column].is_null().any() == (seeds == 1), name
        assert (ONE_TRAINING in frame["reason"].to_list()) == (seeds == 1), name
    assert frames["ranks"]["average"].null_count() == 0
    differences = frames["critical_differences"]
    assert differences["critical_difference"].is_null().all() == (seeds < 3)
    assert set(differences["reason"]) == {reason}
    frame = frames["comparisons"]
    assert frame["mean_difference"].null_count() == 0
    for column in ("p_value", "holm", "benjamini_hochberg"):
        assert frame[column].is_null().all() == frame[column].is_null().any() == (seeds < 3), column
    assert set(frame["reason"]) == {reason}
    for name in ("task_measure_comparisons", "paired_comparisons"):
        of_models = frames[name].filter(pl.col("seeds") >= 1)
        assert (set(of_models["verdict"]) == {"not tested"}) == (seeds < 3)
        assert reason is None or reason in set(of_models["reason"])
    assert (set(frames["bits_comparisons"]["verdict"]) == {"not tested"}) == (seeds < 3)
    assert set(frames["bits_comparisons"]["reason"]) == {reason}
    if seeds < 3:
        assert set(frames["measures"]["reason"]) == {reason}


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_tables_of_models_have_bold_and_signs_by_their_trainings(seeds: int) -> None:
    content, reason = analysed(seeds), REASON.get(seeds)
    model = "tiny" if seeds == 1 else f"tiny-{seeds}-seeds"
    [ranks] = of_name(content, f"ranks-{model}")
    cells = [cell for row in layout(ranks).rows for cell in row]
    assert any(cell.best for cell in cells) == (seeds > 1)
    signs = {cell.mark for cell in cells if cell.mark}
    assert signs == {1: set(), 2: {"○"}, 3: {"†"}}[seeds]
    [task] = of_name(content, f"accuracy-{model}-offline-2048")
    cells = [cell for row in layout(task).rows for cell in row]
    assert any(cell.best for cell in cells) == (seeds > 1)
    assert {cell.mark for cell in cells} & {"○", "†", "↓", "‡"} == {1: set(), 2: {"○"}}.get(seeds, {"†"})
    single = [table for name in NAMES[:seeds] for table in of_name(content, f"accuracy-{name}-offline-")]
    assert len(single) == 2 * seeds
    for table in single:
        assert not any(cell.best or cell.mark for row in layout(table).rows for cell in row)
        assert f"{ONE_TRAINING.capitalize()}." in table.notes
    for table in (ranks, task):
        for text in (to_latex(table), to_markdown(table)):
            assert (str(reason) in text.lower()) == (reason is not None)
            assert ("textbf" in text or "| **" in text) == (seeds > 1)
    [pairs] = of_name(content, f"comparisons-{model}")
    assert (reason is not None and pairs.caption.endswith(f" {reason.capitalize()}.")) == (seeds < 3)


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_figures_of_verdicts_are_drawn_from_three_trainings(seeds: int) -> None:
    """A forest of two trainings has crosses in the place of dots."""
    drawn = {one.name: one for one in drawings(analysed(seeds))}
    verdicts = [name for name in drawn if name.startswith(("p-values", "average-ranks"))]
    assert len(verdicts) == (2 if seeds == 3 else 0)
    forests = [one for name, one in drawn.items() if name.startswith(("bits-differences", "behind-the-best-bits"))]
    assert len(forests) == (0 if seeds == 1 else 4)
    for one in forests:
        marks = {line.get_marker() for line in one.draw().axes[0].lines} - {"None", None, ""}
        assert marks == ({"x"} if seeds == 2 else {"o"})
    scatter = drawn["bits-against-tokens-books"]
    assert ("not tested: one training" in scatter.says) == (seeds == 1)
    [ranked] = [one for name, one in drawn.items() if name.startswith("accuracy-by-rank")]
    assert ("Not tested: one training." in ranked.caption) == (seeds == 1)


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_page_names_comparisons_that_are_not_tested(seeds: int, tmp_path: Path) -> None:
    content, reason = analysed(seeds), REASON.get(seeds)
    render(content, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "told apart" not in page
    [told] = [one for one in sections(content) if one.identifier == "statistics"]
    model = "tiny" if seeds == 1 else f"tiny ({seeds} seeds)"
    notes = [note for one in told.exhibits if isinstance(one, Table) for note in one.notes]
    assert (f"Accuracy of {model} on offline is {reason}." in notes) == (seeds < 3)
    bits, accuracy = [one for one in answers(content)[0].statements if "tiny" in one.text]
    for one in (bits, accuracy):
        assert one.head.endswith(": no ranking, one training of each.") == (seeds == 1)
        assert ("two trainings; significance needs three" in one.text) == (seeds == 2)
    assert ("significantly worse." in bits.text) == (seeds == 3)


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_the_leaderboard_has_no_verdict_from_one_training(seeds: int) -> None:
    scores = analysed(seeds).frames["scoreboard"]
    made = {"versions": {}, "revision": None, "hardware": {"python": "3"}}
    rows = leaderboard("small", scores, [], [], {}, made)["scores"]
    trained = [row for row in rows if row["measure"] in ("bits_per_byte", "accuracy")]
    assert {row["seeds"] for row in trained} == {seeds}
    verdicts = {row["verdict"] for row in trained}
    assert {1: {"not tested"}, 2: {"best", "not tested"}}.get(seeds, verdicts) == verdicts
    assert ("worse" in verdicts) == (seeds == 3)
    if seeds < 3:
        assert {row["reason"] for row in trained if row["verdict"] == "not tested"} == {REASON[seeds]}
        assert all(row["holm"] is None for row in trained)
    assert all((row["best"] is None) == (seeds == 1) for row in trained)
    others = {row["verdict"] for row in rows if row["measure"] in ("tokens", "ngram_bits_per_byte")}
    assert others == {"best", "worse"}, "nothing is trained for these"


@pytest.mark.parametrize(
    ("manifest", "versions"), [('{"versions": {"torch": "2"}}', {"torch": "2"}), ("{}", {}), ("", {})]
)
def test_a_model_of_the_leaderboard_may_be_provided(manifest: str, versions: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "own" / "bpe" / "1024"
    folder.mkdir(parents=True)
    if manifest:
        (folder / "manifest.json").write_text(manifest)
    made = {"versions": {}, "revision": None, "hardware": {"python": "3"}}
    board = leaderboard("small", analysed(1).frames["scoreboard"], [], [folder], {}, made)
    assert board["models"] == [{"model": "own", "variant": "bpe", "size": "1024", "versions": versions}]
