"""Statistics of the experiments in results/published, made again from the tables that are kept there.

Run ``python tools/analyse_published.py``, or ``make published-results``, which also renders them. A table is computed
from the documents if they are kept. All other tables keep their intervals, and their verdicts follow today's rule by
the recorded number of units.

``python tools/analyse_published.py --keep results/NAME results/published/NAME`` keeps the small tables of a run.
"""

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from pack_tables import pack
from render_published import DECLARED, experiment_of, experiments, kept, units_of

from tokbench.stages.tables import STATISTICS, recipes
from tokbench.statistics.comparisons.question_groups import ANSWER_MEASURES
from tokbench.statistics.comparisons.scoreboard import SCOREBOARD
from tokbench.statistics.inputs import StatisticsInputs
from tokbench.statistics.significance.eligibility import UNITS_FROM, few_units, too_few
from tokbench.statistics.significance.verdicts import ALPHA, BETTER, NO_DIFFERENCE, NOT_TESTED, WORSE, in_full
from tokbench.statistics.significance.wilcoxon import holm
from tokbench.statistics.undersized import LEFT_OUT, undersized_vocabularies
from tokbench.statistics.units import SUMMED, sum_by_unit
from tokbench.tabulation.table import FOLDERS, TidyTable, make_tables, tables_of

Row = dict[str, Any]
MADE_FROM: Mapping[str, tuple[str, ...]] = {
    "bits_comparisons": ("document_bits",),
    "bits_languages": ("document_bits",),
    "measures": ("document_bits", "ngram_bits"),
    "model_costs": ("document_bits",),
    "scale_fits": ("document_bits",),
    "scale_comparisons": ("document_bits",),
    "scale_orders": ("document_bits",),
    "scale_predictions": ("document_bits",),
    "scale_back_tests": ("document_bits",),
    "scale_ladders": ("document_bits",),
    "cost_at_equal_bits": ("document_bits",),
    "prices": ("tokens_by_document",),
    "bits_at_equal_cost": ("document_bits", "tokens_by_document"),
    "equal_cost_comparisons": ("document_bits", "tokens_by_document"),
    "domain_values": ("document_domains", "tokens_by_document"),
    "domain_comparisons": ("document_domains", "tokens_by_document"),
    "ngram_ranks": ("ngram_documents",),
    "ngram_verdicts": ("ngram_documents",),
    "ngram_languages": ("ngram_documents",),
    "robustness": ("robustness_documents",),
    "robustness_comparisons": ("robustness_documents",),
    "task_measures": ("answer_measures",),
    "task_measure_comparisons": ("answer_measures",),
    "perturbed_measures": ("perturbed_answers",),
    "perturbed_comparisons": ("perturbed_answers",),
    "segmentation_losses": ("segmented_documents", "segmented_questions"),
    "segmentation_loss_comparisons": ("segmented_documents", "segmented_questions"),
    "token_effects": ("token_scores",),
    "token_placebos": ("token_scores",),
    "token_effect_bins": ("token_scores",),
    "scoreboard": ("tokens_by_document", "document_bits", "answer_measures"),
}
"""Tables of statistics, and the tables that they are made from."""
KEPT = (
    *sorted({name for inputs in MADE_FROM.values() for name in inputs}),
    *("accuracy", "alignment_by_word", "domain_metrics", "imported", "intrinsic", "trained_on"),
)
"""Tables of a run that are small enough to keep; the statistics can be made again from these."""
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "ngram_verdicts": ("corpus", "training_bytes", "order", "size"),
    "ngram_languages": ("corpus", "training_bytes", "order", "size"),
    "robustness_comparisons": ("corpus", "size", "kind"),
    "task_measure_comparisons": ("source_corpus", "model", "suite", "size", "measure"),
    "perturbed_comparisons": ("source_corpus", "model", "suite", "size", "measure"),
    "segmentation_loss_comparisons": ("corpus", "model", "suite", "size", "segmentation", "measure"),
}
"""Tables of comparisons, and the columns that their families of tests have in common."""
TESTS = ("p_value", "holm", "benjamini_hochberg", "excluded", "detectable")
"""Columns that are empty if a difference is not tested."""
HIGHEST = frozenset(one.name for one in ANSWER_MEASURES if one.end == "highest")
"""Measures of answers whose better end is the highest; losses are lowest."""
OF_VALUE = ("corpus", "size", "measure", "model", "suite", "variant")
"""Columns that identify a row of the scoreboard."""


def analysed(place: Path, names: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Return statistics of a kept experiment, made from its kept tables; tables that are not kept are empty.

    Args:
        place: folder of the experiment.
        names: tables of statistics.
    """
    experiment, _ = experiment_of(place)
    with tempfile.TemporaryDirectory() as folder:
        for table in tables_of("tabulate"):
            frame = kept(place / "tidy", table)
            frame = pl.DataFrame(schema=table.schema) if frame is None else frame
            frame.write_parquet(Path(folder) / f"{table.name}.parquet")
        for table, frame in counts_in(place).items():
            if kept(place / "tidy", table) is None:
                frame.write_parquet(Path(folder) / f"{table.name}.parquet")
        known = StatisticsInputs(
            Path(folder),
            recipes(experiment),
            experiment.baselines(),
            units=units_of(place),
            domain_weights=STATISTICS.of(experiment).domain_weights,
        )
        declared = {table.name: table for table in tables_of("analyse")}
        wanted = list(names)
        for name in wanted:
            wanted += [other for other in declared[name].takes if other in declared and other not in wanted]
        made = make_tables([declared[name] for name in wanted], known)
    return {table.name: frame for table, frame in made.items() if table.name in names}


def counts_in(place: Path) -> dict[TidyTable, pl.DataFrame]:
    """Return the counts of ``model_costs`` as the tables that they are made from; empty without that table.

    Means over seeds are rows of the models' common names, and a text is one row.
    """
    declared = {table.name: table for table in DECLARED}
    costs = kept(place / "tidy", declared["model_costs"])
    if costs is None:
        return {}
    tokens = kept(place / "tidy", declared["intrinsic"])
    assert tokens is not None
    count = tokens.filter(metric="corpus_token_count", language="").select("variant", "size", "corpus", tokens="value")
    rates = costs.select("variant", "size", "corpus", "tokens_per_byte").unique()
    texts = count.join(rates, on=["variant", "size", "corpus"]).with_columns(
        document=pl.lit(0), documents=pl.lit(1), bytes=pl.col("tokens") / pl.col("tokens_per_byte")
    )
    trained_on = costs.select("variant", "size", "model", "text_bytes", "petaflop")
    return {
        declared["trained_on"]: _filled(trained_on, declared["trained_on"]),
        declared["tokens_by_document"]: texts,
    }


def _filled(frame: pl.DataFrame, table: TidyTable) -> pl.DataFrame:
    """Return a frame with the columns of a table; those that it lacks are empty."""
    lacking = [pl.lit(None, kind).alias(name) for name, kind in table.schema.items() if name not in frame.columns]
    return frame.with_columns(lacking).select(list(table.schema))


def statistics_of(place: Path) -> dict[str, pl.DataFrame]:
    """Return the tables of statistics of a kept experiment that today's rules change."""
    there = {table.name: frame for table in DECLARED if (frame := kept(place / "tidy", table)) is not None}
    names = [name for name, inputs in MADE_FROM.items() if name in there and all(one in there for one in inputs)]
    made = analysed(place, names)
    undersized = undersized_vocabularies(there["intrinsic"]) if "intrinsic" in there else set()
    for name in FAMILIES.keys() & there.keys() - made.keys():
        made[name] = judged_by_counts(there[name], name, undersized, there.get("ngram_bits"))
    if "task_measure_comparisons" in made:
        declared = {table.name: table for table in tables_of("analyse")}
        made["measure_power"] = declared["measure_power"].maker(made["task_measure_comparisons"])
    if SCOREBOARD.name in there and SCOREBOARD.name not in made:
        made[SCOREBOARD.name] = scoreboard_of(there[SCOREBOARD.name], analysed(place, [SCOREBOARD.name])["scoreboard"])
    return made


def judged_by_counts(
    frame: pl.DataFrame, name: str, undersized: set[tuple[str, int]], measured: pl.DataFrame | None
) -> pl.DataFrame:
    """Return comparisons whose documents are not kept with the verdicts of today's rule.

    Intervals and p-values are the recorded ones. Holm's correction is over the pairs that are tested, if the table has
    all pairs of the family; otherwise the recorded one is kept.

    Args:
        frame: the comparisons.
        name: name of their table.
        undersized: variant and size of undersized vocabularies.
        measured: bits of token n-gram models, for the number of pairs of the family; None if the table has all.
    """
    rows = list(frame.with_row_index("place").iter_rows(named=True))
    families: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        split = tuple(bool(row[column]) for column in ("task", "kind") if column in row)
        families.setdefault((*(row[column] for column in FAMILIES[name]), *split), []).append(row)
    judged = [
        one
        for key, family in families.items()
        for one in _judged(family, undersized, _pairs(name, key, undersized, measured))
    ]
    ordered = sorted(judged, key=lambda row: row.pop("place"))
    return pl.DataFrame(ordered, schema=frame.schema)


def _pairs(name: str, key: tuple[Any, ...], undersized: set[tuple[str, int]], measured: pl.DataFrame | None) -> int:
    """Return the number of pairs of a family that are not all in the table; 0 if they are."""
    if measured is None or not name.startswith("ngram"):
        return 0
    corpus, budget, order, size = key
    part = measured.filter(corpus=corpus, training_bytes=budget, order=order, size=size)
    lossless = part.group_by("variant").agg(pl.col("bytes_lost").sum()).filter(bytes_lost=0)["variant"].to_list()
    ranked = sum((variant, size) not in undersized for variant in lossless)
    return ranked * (ranked - 1) // 2


def _judged(family: Sequence[Row], undersized: set[tuple[str, int]], pairs: int) -> Iterator[Row]:
    reasons = [_reason(row, undersized) for row in family]
    tests = max(reasons.count(""), pairs)
    reasons = [reason or too_few(row["n"], row["unit"], tests) for row, reason in zip(family, reasons, strict=True)]
    known = [row["p_value"] for row, reason in zip(family, reasons, strict=True) if not reason]
    corrected = iter(holm(known).tolist() if len(known) >= pairs else [])
    for row, reason in zip(family, reasons, strict=True):
        if reason:
            empty = dict.fromkeys(name for name in TESTS if name in row)
            yield {**row, **empty, "verdict": NOT_TESTED, "reason": in_full(reason)}
            continue
        adjusted = next(corrected, row["holm"])
        better = (
            BETTER if (row["difference"] < 0) == ("segmentation" in row or row.get("measure") not in HIGHEST) else WORSE
        )
        verdict = better if adjusted <= ALPHA else NO_DIFFERENCE
        excluded = row["excluded"] if verdict == NO_DIFFERENCE else None
        yield {**row, "holm": adjusted, "verdict": verdict, "excluded": excluded}


def _reason(row: Row, undersized: set[tuple[str, int]]) -> str:
    """Return the reason why a difference is not tested; empty if it is."""
    if any((row[name], row["size"]) in undersized for name in ("a", "b")):
        return LEFT_OUT
    if row["n"] is not None and row["n"] < UNITS_FROM:
        return few_units(row["n"], row["unit"])
    return "" if row["p_value"] is not None else row["reason"] or "no interval"


def scoreboard_of(recorded: pl.DataFrame, made: pl.DataFrame) -> pl.DataFrame:
    """Return a recorded scoreboard with the rows whose documents are kept, and the rest by today's rule.

    Args:
        recorded: the scoreboard of the run.
        made: that of the kept tables; rows without documents have no interval.
    """
    new = {tuple(row[name] for name in OF_VALUE): row for row in made.iter_rows(named=True) if row["n"]}
    rows = []
    for row in recorded.iter_rows(named=True):
        if again := new.get(tuple(row[name] for name in OF_VALUE)):
            rows.append(again)
            continue
        count, unit = row["difference_n"], row["difference_unit"]
        if count is not None and count < UNITS_FROM:
            why = in_full(few_units(count, unit))
            row |= {"difference_holm": None, "difference_verdict": NOT_TESTED, "difference_reason": why}
        if row["n"] is not None and row["n"] < UNITS_FROM and row["verdict"] in (WORSE, BETTER, NO_DIFFERENCE):
            row |= {"holm": None, "verdict": NOT_TESTED, "reason": in_full(few_units(row["n"], row["over"]))}
        rows.append(row)
    return pl.DataFrame(rows, schema=recorded.schema)


def write(frame: pl.DataFrame, table: TidyTable, folder: Path) -> None:
    """Write a table into a folder in the form that it has there, Parquet packed."""
    table.check(frame)
    text, path = folder / f"{table.name}.csv", folder / f"{table.name}.parquet"
    if text.is_file():
        frame.write_csv(text)
        return
    if path.is_file() and kept(folder, table).equals(frame):  # type: ignore[union-attr]
        return
    frame.write_parquet(path)
    pack(path)


def keep(results: Path, place: Path) -> None:
    """Copy the small tables of a run into a kept experiment: :data:`KEPT`, and all statistics.

    Rows of documents are summed over the documents of each unit in each language.

    Args:
        results: folder of the run.
        place: folder of the experiment in results/published.
    """
    (place / "tidy").mkdir(parents=True, exist_ok=True)
    units = StatisticsInputs(results / FOLDERS["tabulate"], {}, units=units_of(place)).document_units
    for table in DECLARED:
        source = results / FOLDERS[table.command] / f"{table.name}.parquet"
        if source.is_file() and (table.command == "analyse" or table.name in KEPT):
            frame = pl.read_parquet(source)
            if table.name in SUMMED:
                frame = sum_by_unit(frame, SUMMED[table.name], units, by_language=True)
            if len(frame):
                write(frame, table, place / "tidy")


def main() -> None:
    """Make the statistics again, or keep the tables of a run."""
    parser = argparse.ArgumentParser(description="Make the statistics of results/published again.")
    parser.add_argument("--keep", nargs=2, type=Path, metavar=("RESULTS", "FOLDER"), help="keep the tables of a run")
    given = parser.parse_args()
    if given.keep:
        keep(*given.keep)
    declared = {table.name: table for table in DECLARED}
    for place in [given.keep[1]] if given.keep else experiments():
        made = statistics_of(place)
        for name, frame in made.items():
            write(frame, declared[name], place / "tidy")
        print(f"{place.name}: {', '.join(sorted(made)) or 'no statistics'}")


if __name__ == "__main__":
    main()
