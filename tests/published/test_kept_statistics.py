"""Statistics of results/published: those of the kept tables, with verdicts by today's rule."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tokbench.statistics.significance.eligibility import UNITS_FROM
from tokbench.statistics.significance.verdicts import BETTER, NO_DIFFERENCE, NOT_TESTED, WORSE
from tokbench.statistics.significance.wilcoxon import holm
from tokbench.statistics.undersized import LEFT_OUT

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "results" / "published"
NAMES = sorted(folder.parent.name for folder in PUBLISHED.glob("*/tidy"))


@pytest.fixture(scope="module")
def analyser() -> ModuleType:
    path = ROOT / "tools" / "analyse_published.py"
    sys.path.insert(0, str(path.parent))
    try:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


@pytest.mark.parametrize("name", NAMES)
def test_kept_statistics_are_those_of_the_kept_tables(name: str, analyser: ModuleType) -> None:
    place = PUBLISHED / name
    declared = {table.name: table for table in analyser.DECLARED}
    for table, made in analyser.statistics_of(place).items():
        kept = analyser.kept(place / "tidy", declared[table])
        assert_frame_equal(kept, made, abs_tol=1e-12, rel_tol=1e-9)


@pytest.mark.parametrize("path", sorted(PUBLISHED.glob("*/tidy/*")), ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_no_verdict_has_fewer_than_six_units(path: Path) -> None:
    frame = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path)
    count = next((name for name in ("n", "difference_n") if name in frame.columns and "verdict" in frame.columns), None)
    if count is None:
        return
    verdict = "difference_verdict" if count == "difference_n" or "difference_verdict" in frame.columns else "verdict"
    few = frame.filter(pl.col("difference_n" if "difference_n" in frame.columns else "n") < UNITS_FROM)
    assert set(few[verdict]) <= {NOT_TESTED}
    states = {BETTER, WORSE, NO_DIFFERENCE, NOT_TESTED, "baseline", None}
    assert set(frame[verdict]) <= states
    for name in ("p_value", "holm", "excluded", "detectable"):
        if name in frame.columns and verdict == "verdict":
            assert frame.filter(verdict=NOT_TESTED)[name].null_count() == (frame["verdict"] == NOT_TESTED).sum()


def test_lines_of_scales_name_their_units() -> None:
    scales = pl.read_parquet(PUBLISHED / "measures_over_scale" / "tidy" / "scale_comparisons.parquet")
    assert set(scales["reason"]) == {"not tested: 6 authors; verdicts on 10 pairs need 9"}


def comparisons(n: int, *p_values: float) -> pl.DataFrame:
    """Return comparisons of three tokenizers, of which the first pair has an undersized one."""
    pairs = [("small", "x"), ("x", "y"), ("x", "z"), ("y", "z")][: len(p_values)]
    rows = [
        {
            "corpus": "c", "training_bytes": 9, "order": 3, "size": 100, "a": a, "b": b, "difference": -0.1,
            "low": -0.2, "high": -0.01, "p_value": p, "holm": 1.0, "verdict": NO_DIFFERENCE, "excluded": 0.3,
            "detectable": 0.2, "reason": None, "n": n, "unit": "documents",
        }
        for (a, b), p in zip(pairs, p_values, strict=True)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"reason": pl.String})


def test_recorded_comparisons_have_the_verdicts_of_the_rule(analyser: ModuleType) -> None:
    p_values = (0.001, 0.01, 0.02, 0.2)
    found = analyser.judged_by_counts(comparisons(300, *p_values), "ngram_verdicts", {("small", 100)}, None)
    assert found["verdict"].to_list() == [NOT_TESTED, BETTER, BETTER, NO_DIFFERENCE]
    assert found["reason"].to_list() == [f"not tested: {LEFT_OUT}", None, None, None]
    assert found["holm"].to_list() == [None, *holm(list(p_values[1:])).tolist()]
    assert found["excluded"].to_list() == [None, None, None, 0.3]
    assert found.select("low", "high").rows() == [(-0.2, -0.01)] * 4
    again = analyser.judged_by_counts(found, "ngram_verdicts", {("small", 100)}, None)
    assert again.equals(found)


@pytest.mark.parametrize(
    ("units", "reason"),
    [
        (3, "not tested: 3 documents; a verdict needs 6"),
        (6, "not tested: 6 documents; verdicts on 4 pairs need 8"),
        (8, None),
    ],
)
def test_recorded_comparisons_of_few_units_are_not_tested(units: int, reason: str, analyser: ModuleType) -> None:
    found = analyser.judged_by_counts(comparisons(units, *[0.001] * 4), "ngram_verdicts", set(), None)
    assert found["reason"].to_list() == [reason] * 4
    assert (found["p_value"].null_count() == 4) == (reason is not None)


def test_pairs_that_the_table_lacks_count_in_the_rule(analyser: ModuleType) -> None:
    """A family of four tokenizers has six pairs, though the table has one."""
    measured = pl.DataFrame(
        [("c", 9, 3, 100, name, lost) for name, lost in (("x", 0), ("y", 0), ("z", 0), ("lossy", 5), ("small", 0))],
        schema=["corpus", "training_bytes", "order", "size", "variant", "bytes_lost"],
        orient="row",
    )
    pair = comparisons(6, 0.001, 0.001)[1:]
    found = analyser.judged_by_counts(pair, "ngram_verdicts", {("small", 100)}, measured)
    assert found["reason"].to_list() == ["not tested: 6 documents; verdicts on 3 pairs need 7"]
    whole = analyser.judged_by_counts(comparisons(300, 0.001, 0.04)[1:], "ngram_verdicts", {("small", 100)}, measured)
    assert whole["holm"].to_list() == [1.0], "the recorded correction is kept"


def test_a_run_leaves_its_small_tables(tmp_path: Path, analyser: ModuleType) -> None:
    declared = {table.name: table for table in analyser.DECLARED}
    assert set(analyser.KEPT) <= declared.keys()
    assert set(analyser.MADE_FROM) <= declared.keys()
    for folder, name in (("tables", "document_bits"), ("tables", "overlaps"), ("statistics", "bits_comparisons")):
        (tmp_path / "run" / folder).mkdir(parents=True, exist_ok=True)
        frame = pl.read_parquet(PUBLISHED / "study_models" / "tidy" / "document_bits.parquet")
        if name == "bits_comparisons":
            frame = pl.read_parquet(PUBLISHED / "study_models" / "tidy" / f"{name}.parquet")
        frame.write_parquet(tmp_path / "run" / folder / f"{name}.parquet")
    analyser.keep(tmp_path / "run", tmp_path / "kept")
    assert {path.name for path in (tmp_path / "kept" / "tidy").iterdir()} == {
        "document_bits.parquet",
        "bits_comparisons.parquet",
    }
    kept = pl.read_parquet(tmp_path / "kept" / "tidy" / "document_bits.parquet")
    assert kept.equals(pl.read_parquet(PUBLISHED / "study_models" / "tidy" / "document_bits.parquet"))


def test_a_run_leaves_one_row_for_each_unit(tmp_path: Path, analyser: ModuleType) -> None:
    bits = pl.read_parquet(PUBLISHED / "study_models" / "tidy" / "document_bits.parquet")
    (tmp_path / "run" / "tables").mkdir(parents=True)
    bits.write_parquet(tmp_path / "run" / "tables" / "document_bits.parquet")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "authors.csv").write_text("document,unit\n0,one\n16,another\n")
    command = "snakemake --config 'corpora={english: {units: authors.csv}}'"
    provenance = pl.DataFrame({"what": ["command"], "value": [command]})
    provenance.write_csv(tmp_path / "kept" / "provenance.csv")
    analyser.keep(tmp_path / "run", tmp_path / "kept")
    kept = pl.read_parquet(tmp_path / "kept" / "tidy" / "document_bits.parquet")
    assert kept["document"].unique().sort().to_list() == [3, 16]
    key = ["variant", "size", "model", pl.col("document") >= 16]
    sums = bits.group_by(key).agg(pl.col("bytes", "bits").sum())
    assert_frame_equal(kept.select(*key, "bytes", "bits"), sums, check_row_order=False)


def page_of(name: str) -> str:
    return " ".join((PUBLISHED / name / "README.md").read_text(encoding="utf-8").split())


def test_the_page_of_the_pilot_has_its_intervals() -> None:
    for row in pl.read_parquet(PUBLISHED / "study_pilot" / "tidy" / "bits_comparisons.parquet").rows(named=True):
        difference, low, high = (f"{row[name]:.4f}".replace("0.", ".") for name in ("difference", "low", "high"))
        assert f"| {difference} | {low} to {high} |" in page_of("study_pilot")
        assert ("significantly fewer" in page_of("study_pilot")) or row["verdict"] == NO_DIFFERENCE


def test_the_page_of_two_sizes_has_its_intervals() -> None:
    page, tidy = page_of("measures_over_scale"), PUBLISHED / "measures_over_scale" / "tidy"
    fits = pl.read_parquet(tidy / "scale_fits.parquet").filter(axis="parameters_without_embeddings")
    for row in fits.rows(named=True):
        assert f"{row['exponent']:.3f} ({row['low']:.3f} to {row['high']:.3f})" in page
    costs = pl.read_parquet(tidy / "cost_at_equal_bits.parquet").filter(axis="forward_flops_per_byte")
    for row in costs.filter(pl.col("model").str.starts_with("middle")).drop_nulls("ratio").rows(named=True):
        assert f"{row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f})" in page


@pytest.mark.parametrize(("name", "words"), [("measures", "Three authors"), ("measures_over_scale", "Six authors")])
def test_pages_without_verdicts_begin_with_the_reason(name: str, words: str) -> None:
    comparisons = pl.read_parquet(PUBLISHED / name / "tidy" / "bits_comparisons.parquet")
    assert set(comparisons["verdict"]) == {NOT_TESTED}
    page = page_of(name)
    assert f"**{words} cannot carry a verdict.**" in page[: page.index("The tables show:")]
