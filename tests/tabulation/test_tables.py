"""A table is declared once: its making, files, prints and documentation follow from its declaration."""

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import polars as pl
import pytest
import yaml

import tokbench.statistics
from tests.support.small_report import (
    DECLARED,
    VARIANTS,
    accuracy,
    existing_tokenizers,
    intrinsic,
    outcomes,
    whole,
)
from tokbench import registry
from tokbench.commands.declaration import find_command
from tokbench.errors import TokbenchError
from tokbench.io.json import write_result
from tokbench.report.html import tables as printed
from tokbench.report.sections.rows import remaining_tables
from tokbench.report.wording import slug
from tokbench.stage import stages
from tokbench.tabulation.columns import MODEL, SIZE
from tokbench.tabulation.documents import document_bits_table
from tokbench.tabulation.external_tokenizers import imported_table
from tokbench.tabulation.ngram_bits import ngram_bits_table, ngram_documents_table
from tokbench.tabulation.table import (
    FILES,
    SHARE,
    Column,
    Print,
    TableCommand,
    TidyTable,
    make_tables,
    tables_of,
    write_tables,
)
from tokbench.workflow import fingerprint as fingerprints
from tools import make_table_docs

ROOT = Path(__file__).parents[2]
CONFIGURED = yaml.safe_load((ROOT / "config.yaml").read_text())
MORE = {name: {"corpus": "pydoc", "pretokenization": "gpt2", "construction": "bpe"} for name in VARIANTS}
EXPERIMENT = CONFIGURED | {"variants": CONFIGURED["variants"] | MORE}


def made(frame: Any) -> TidyTable:
    """A table whose maker gives this."""

    def maker() -> Any:
        return frame

    columns = (MODEL, SIZE, Column("share", pl.Float64, "a share", SHARE))
    return TidyTable("small", "a model", columns, maker, ())


RIGHT = pl.DataFrame({"model": ["m"], "size": [1], "share": [0.5]})


@pytest.mark.parametrize(
    ("frame", "fault"),
    [
        (RIGHT.drop("size"), "no column size;"),
        (RIGHT.with_columns(more=1), "column more, which is not declared;"),
        (RIGHT.cast({"size": pl.Int32}), "size as Int32, declared as Int64;"),
        (RIGHT.select("size", "model", "share"), "in the order size, model, share, declared as model, size, share;"),
        (RIGHT.to_dicts(), "list, not a polars frame"),
    ],
)
def test_frames_that_differ_from_the_declaration_are_rejected(frame: Any, fault: str, tmp_path: Path) -> None:
    table = made(frame)
    with pytest.raises(TokbenchError) as told:
        write_tables(make_tables([table], None), tmp_path / "statistics", "statistics")
    assert fault in str(told.value)
    assert "test_tables.made.<locals>.maker returns" in str(told.value)
    assert not (tmp_path / "statistics").exists()


def test_rows_by_name_need_declared_columns_and_lack_values_as_null() -> None:
    table = made(RIGHT)
    rows = [{"share": 1, "model": "a"}, {"size": 2, "model": "b"}]
    assert table.frame(rows).rows() == [("a", None, 1.0), ("b", 2, None)]
    assert table.frame([]).schema == table.schema
    with pytest.raises(TokbenchError, match=r"table small: .*'shares'"):
        table.frame([{"shares": 0.5}])


def test_a_table_is_written_twice(tmp_path: Path) -> None:
    write_tables(make_tables([made(RIGHT)], None), tmp_path / "statistics", "statistics")
    assert pl.read_parquet(tmp_path / "statistics" / "small.parquet").equals(RIGHT)
    assert (tmp_path / "statistics" / "small.csv").read_text() == "model,size,share\nm,1,0.5\n"


def test_makers_take_each_others_tables_and_are_called_once() -> None:
    calls: list[str] = []

    def of(name: str, *takes: str) -> TidyTable:
        def maker(*frames: Any) -> pl.DataFrame:
            calls.append(name)
            return pl.DataFrame({"n": [1 + sum(frame["n"][0] for frame in frames)]})

        return TidyTable(name, "a thing", (Column("n", pl.Int64, "a number"),), maker, takes)

    found = make_tables([of("c", "a", "b"), of("b", "a"), of("a")], None)
    assert {table.name: frame["n"][0] for table, frame in found.items()} == {"a": 1, "b": 2, "c": 4}
    assert sorted(calls) == ["a", "b", "c"]
    with pytest.raises(TokbenchError, match=r"table a takes 'other': 'other' is not an input \(.*a\)"):
        make_tables([of("a", "other")], None)
    with pytest.raises(TokbenchError, match="table a depends on itself through a, b"):
        make_tables([of("a", "b"), of("b", "a")], None)
    with pytest.raises(TokbenchError, match="table b has the name of an input of other tables"):
        make_tables([of("a", "b"), of("b")], SimpleNamespace(b=1))


def test_mistakes_in_a_declaration_are_errors() -> None:
    column = Column("n", pl.Int64, "a number")
    for columns, place, fault in (
        ((column,), Print("statistics", "Caption.", ("m",)), "'m' is not a column (n)"),
        ((column,), Print("statistcs", "Caption."), "Did you mean 'statistics'?"),  # type: ignore[arg-type]
        ((column,), Print("statistics", "Caption.", form="figure"), "a figure is arranged by a module of its section"),
        ((column, column), Print("statistics", "Caption."), "column n is declared twice"),
    ):
        with pytest.raises(TokbenchError, match=re.escape(fault)):
            TidyTable("t", "a thing", columns, lambda: RIGHT, (), prints=(place,))


def test_every_table_that_no_section_arranges_is_printed() -> None:
    """Of all others, which are arranged, a page with everything has at least one table, figure, sentence or sign."""
    sections = {place.section for table in DECLARED for place in table.prints}
    assert not [table for section in sections for table in remaining_tables(whole(), section)]
    content = whole()
    frames = {**content.frames, "existing_tokenizers": existing_tokenizers()}
    stems = [table.name for table in printed(replace(content, frames=frames))]
    for table in DECLARED:
        for place in table.prints:
            name = (place.name or table.name).replace("_", "-")
            assert place.form != "table" or any(stem.startswith(name) for stem in stems), name


def test_no_file_of_a_table_or_figure_has_a_name_that_is_too_long() -> None:
    """Names in a configuration are short enough for files that are named after several of them."""
    longest = {"source_language": 24, "target_language": 24, "test": 32, "size": 8, "order": 1, "training_bytes": 19}
    longest |= {"side": len("encoder and decoder"), "paper_model": len("yes")}
    for table in DECLARED:
        for place in table.prints:
            parts = ["x" * longest.get(column, 64) for column in place.by]
            assert len(slug(place.name or table.name, *parts) + "-column.png") <= 255, table.name
    behind = slug("behind-the-best", "ngram_bits_per_byte", *("x" * 64 for _ in range(3)), "x" * 8)
    against = slug("x" * 40, "accuracy", *("x" * 64 for _ in range(3)))
    assert max(len(behind), len(against)) + len("-column.png") <= 255


def test_inputs_of_all_makers_exist() -> None:
    for tables, material in (
        (tables_of("tabulate"), "tabulation.gathered.Gathered"),
        (tables_of("analyse"), "statistics.inputs.StatisticsInputs"),
    ):
        module, _, name = f"tokbench.{material}".rpartition(".")
        kind = getattr(import_module(module), name)
        known = {*dir(kind), *kind.__dataclass_fields__, *(table.name for table in tables)}
        known |= {f"{FILES}{result.name}" for result in stages.results()}
        assert {taken for table in tables for taken in table.takes} <= known


def test_tables_made_from_tables_of_models_are_tables_of_models() -> None:
    """Else a reader of an experiment without them would not be told why it is missing; the scoreboard, domains, paired
    comparisons and what is published have rows without them, too."""
    every = tables_of("tabulate", "analyse")
    models = {table.name for table in every if table.of_models}
    named = {table.name for table in every if "model" in (column.name for column in table.columns)}
    without_models = {"paired_comparisons", "scoreboard", "domain_values", "domain_comparisons"}
    assert named - models == {*without_models, "seed_plan", "seen_by_seeds"}
    assert {"accuracy", "outcomes", "bits_per_byte", "curves", "embedding_norms"} <= models
    assert not {"intrinsic", "overlaps", "venn", "metric_correlations"} & models
    assert {table.name for table in tables_of("analyse") if models.intersection(table.takes)} <= {
        *models,
        "paired_comparisons",
        "scoreboard",
        "published",
    }


# A new statistic is one module: the one that the documentation shows


@pytest.fixture
def new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The documentation's example as a module among the statistics."""
    [code] = re.findall(r"```python\n(.*?)```", make_table_docs.NEW, re.DOTALL)
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "gaps.py").write_text(code)
    monkeypatch.setattr(tokbench.statistics, "__path__", [*tokbench.statistics.__path__, str(folder)])
    tables_of.cache_clear()
    yield folder / "gaps.py"
    tables_of.cache_clear()
    for name in ("gaps", "zones", "zones.gaps"):
        sys.modules.pop(f"tokbench.statistics.{name}", None)
        vars(tokbench.statistics).pop(name, None)


@pytest.fixture
def tidy(tmp_path: Path) -> Path:
    """The tidy tables of a small run, as far as the statistics read them."""
    folder = tmp_path / "tables"
    folder.mkdir()
    accuracy().write_parquet(folder / "accuracy.parquet")
    intrinsic().write_parquet(folder / "intrinsic.parquet")
    outcomes().write_parquet(folder / "outcomes.parquet")
    ngram_bits_table([]).write_parquet(folder / "ngram_bits.parquet")
    ngram_documents_table([]).write_parquet(folder / "ngram_documents.parquet")
    document_bits_table([]).write_parquet(folder / "document_bits.parquet")
    imported_table({}).write_parquet(folder / "imported.parquet")
    return folder


def run(name: str, *arguments: object) -> None:
    command: Callable[..., None] = find_command(name).main
    command([str(argument) for argument in arguments], standalone_mode=False)


def test_a_new_statistic_is_one_module(new: Path, tidy: Path, tmp_path: Path) -> None:
    statistics = tmp_path / "statistics"
    run("analyse", tidy, "-o", statistics)
    assert pl.read_parquet(statistics / "gaps.parquet").columns == ["model", "suite", "gap"]
    assert (statistics / "gaps.csv").read_text().startswith("model,suite,gap\ntiny,offline,0.")
    write_result(tmp_path / "report.json", {"configuration": EXPERIMENT})
    content = ("--tables", tidy, "--statistics", statistics, "--experiment", tmp_path / "report.json")
    run("typeset", *content, "-o", tmp_path / "typeset")
    assert "| tiny | offline | 30.0 |" in (tmp_path / "typeset" / "gaps.md").read_text()
    assert r"\label{tab:gaps}" in (tmp_path / "typeset" / "gaps.tex").read_text()
    assert (tmp_path / "typeset" / "gaps.csv").read_text().startswith("model,suite,gap\n")
    run("report", *content, "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert 'id="table-gaps" data-tables="statistics/gaps.csv"' in page
    assert page.index('<section id="statistics">') < page.index('id="table-gaps"') < page.index('id="provenance"')
    docs = make_table_docs.page()
    assert "made by `tokbench.statistics.gaps.gaps` from `ranks`" in docs
    assert "| `gap` | Float64 | difference of shares | highest average minus the lowest |" in docs


def test_other_distributions_declare_statistics(new: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named in the entry-point group of the package, they are made and behind the fingerprint."""
    new.rename(new.with_name("gaps_of_others.py"))
    monkeypatch.setattr(tokbench.statistics, "__path__", list(tokbench.statistics.__path__)[:1])
    monkeypatch.syspath_prepend(new.parent)
    named = EntryPoint("gaps", "gaps_of_others", "tokbench.statistics")
    monkeypatch.setattr(registry, "entry_points_of", lambda group: [named] if group == named.group else [])
    for function in (fingerprints.fingerprint, fingerprints._code_and_uses, fingerprints._source, fingerprints._locate):
        function.cache_clear()
    assert "gaps_of_others.gaps" in [table.made_by for table in tables_of("analyse")]
    assert "gaps_of_others" in modules_behind("analyse")
    for function in (fingerprints.fingerprint, fingerprints._code_and_uses, fingerprints._source, fingerprints._locate):
        function.cache_clear()


def test_two_tables_never_share_a_name(new: Path) -> None:
    new.write_text(new.read_text().replace('"gaps"', '"power"'))
    with pytest.raises(
        TokbenchError,
        match=r"table power is declared twice, in tokbench.statistics.gaps and in tokbench.statistics.accuracies.pairs",
    ):
        tables_of("analyse")


def test_a_move_to_an_inner_package_keeps_the_order_of_tables(new: Path) -> None:
    before = [table.name for table in tables_of("analyse")]
    (inner := new.with_name("zones")).mkdir()
    (inner / "__init__.py").touch()
    new.rename(inner / new.name)
    tables_of.cache_clear()
    assert [table.name for table in tables_of("analyse")] == before
    assert "tokbench.statistics.zones.gaps.gaps" in [table.made_by for table in tables_of("analyse")]


def test_a_table_is_made_by_the_command_of_its_package(new: Path) -> None:
    new.write_text(new.read_text().replace("takes=", 'command="tabulate", takes='))
    with pytest.raises(TokbenchError, match="table gaps is declared for 'tabulate'; set command to 'analyse'"):
        tables_of("analyse")


# What is gathered counts as used

STAGES = {
    "tabulate": "tokbench.tabulation.results:tabulate",
    "analyse": "tokbench.statistics.inputs:analyse",
    "cut_examples": "tokbench.examples.tables:cut_examples",
    "report": "tokbench.report.loading:load",
}


def modules_behind(stage: str) -> set[str]:
    """Modules of which something is behind the fingerprint of a stage."""
    return {name.partition(":")[0] for name in fingerprints.code_behind(STAGES[stage])}


def test_gathered_modules_are_behind_the_fingerprint() -> None:
    makers = {command: {table.maker.__module__ for table in tables_of(command)} for command in get_args(TableCommand)}
    behind = {stage: modules_behind(stage) for stage in STAGES}
    assert makers["tabulate"] <= behind["tabulate"]
    assert makers["analyse"] <= behind["analyse"]
    assert makers["tabulate"] | makers["analyse"] <= behind["report"]
    assert not makers["analyse"] & behind["tabulate"]
    assert not makers["tabulate"] & behind["analyse"]
    assert makers["cut_examples"] <= behind["cut_examples"] & behind["report"]
    assert not any(name.startswith("tokbench.statistics") for name in behind["tabulate"])
