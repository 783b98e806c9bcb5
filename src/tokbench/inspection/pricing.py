"""Prices of an experiment's tokenizers at target models, made again from its tables in seconds.

No stage runs. Targets are those of the experiment, or of a file that is written later.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.config.load import read_settings
from tokbench.errors import TokbenchError, unknown
from tokbench.inspection.comparison.ranking_tables import (
    NO_VALUE,
    RankingTable,
    rows_csv,
    tables_latex,
    tables_markdown,
    tables_text,
)
from tokbench.io.json import written
from tokbench.io.yaml import read_yaml
from tokbench.options import validated
from tokbench.report.wording import MINUS, format_value, join_some
from tokbench.statistics.inputs import StatisticsInputs
from tokbench.statistics.scale.equal_cost import BITS_AT_EQUAL_COST, EQUAL_COST_COMPARISONS, clearest_model
from tokbench.statistics.scale.prices import NO_LINE, PRICES
from tokbench.statistics.scale.target_model import TargetModel, targets_of
from tokbench.statistics.significance.verdicts import IN_WORDS
from tokbench.tabulation.table import FOLDERS, make_tables

TABLES = (PRICES, BITS_AT_EQUAL_COST, EQUAL_COST_COMPARISONS)
SETTINGS = Path("experiment", "analyse.json")
"""File of an experiment's folder with the recipes and baselines that statistics read."""
FILES = (".yaml", ".yml", ".json")
"""Endings of files of targets."""
GIGA, MEGA, KILO = 1e9, 1e6, 1e3
Frames = Mapping[str, pl.DataFrame]


def price_results(results: Path, named: Sequence[str] = ()) -> Frames:
    """Return the tables of prices of an experiment.

    Args:
        results: folder of the experiment, with its folders ``tables`` and ``experiment``.
        named: targets of the experiment, or files of a target (default: all targets of the experiment).

    Returns:
        Frames of :data:`TABLES` by name.

    Raises:
        TokbenchError: the experiment has no tables or no such target, or a file is no target.
    """
    if not (results / SETTINGS).is_file() or not (results / FOLDERS["tabulate"]).is_dir():
        raise TokbenchError(f"{results}: no tables of an experiment; run the experiment to its end")
    settings = read_settings(results / SETTINGS, "recipes", "baselines", "units")
    targets = _chosen(named, targets_of(settings["recipes"]), results)
    planned = {name: target.model_dump(mode="json", exclude_none=True) for name, target in targets.items()}
    units = {corpus: Path(path) for corpus, path in settings["units"].items()}
    recipes = settings["recipes"] | {"targets": planned}
    material = StatisticsInputs(results / FOLDERS["tabulate"], recipes, settings["baselines"], units=units)
    return {table.name: frame for table, frame in make_tables(TABLES, material).items()}


def _chosen(named: Sequence[str], known: Mapping[str, TargetModel], results: Path) -> dict[str, TargetModel]:
    """Return the named targets; all known ones if none is named."""
    if not named and not known:
        raise TokbenchError(f"{results}: its configuration has no targets; name a file of one, --target FILE.yaml")
    chosen: dict[str, TargetModel] = {}
    for name in named or known:
        if name in known:
            chosen[name] = known[name]
        elif Path(name).suffix in FILES:
            chosen[Path(name).stem] = validated(read_yaml(name), TargetModel, name)
        else:
            endings = ", ".join(FILES)
            raise TokbenchError(f"--target: no file that ends in {endings}, and {unknown(name, 'target', known)}")
    return chosen


def prices_output(frames: Frames, form: str) -> str:
    """Return prices in a format.

    Args:
        frames: see :func:`price_results`.
        form: ``text``, ``markdown``, ``latex``, ``json`` or ``csv``. JSON and CSV have all rows and columns, the others
            the bits at the total cost of one model for each line.
    """
    if form == "json":
        return written({table.name: frames[table.name].to_dicts() for table in TABLES})
    if form == "csv":
        columns = dict.fromkeys(name for table in TABLES for name in table.schema)
        rows = [{"table": table.name} | dict.fromkeys(columns) | row for table in TABLES
                for row in frames[table.name].iter_rows(named=True)]  # fmt: skip
        return rows_csv(rows)
    printed = [
        _costs(part, {"target": target, "corpus": corpus})
        for (target, corpus), part in frames[PRICES.name].group_by("target", "corpus", maintain_order=True)
    ]
    bits = frames[BITS_AT_EQUAL_COST.name]
    for _, part in bits.group_by("target", "corpus", "suite", "size", "varies", "models", maintain_order=True):
        printed.append(_bits(part.filter(model=clearest_model(part))))
    return {"markdown": tables_markdown, "latex": tables_latex}.get(form, tables_text)(printed)


def _number(value: float | None, decimals: int, kind: Any = "real") -> str:
    return NO_VALUE if value is None else format_value(value, kind, decimals)


def _interval(low: float | None, high: float | None, decimals: int, kind: Any = "real") -> str:
    return "" if low is None or high is None else f"{_number(low, decimals, kind)} to {_number(high, decimals, kind)}"


def _notes(reasons: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a sentence for each reason with its tokenizers."""
    return [f"{join_some(names)}: {reason}." for reason, names in reasons.items()]


def _costs(part: pl.DataFrame, at: Mapping[str, Any]) -> RankingTable:
    """Return the table of costs of a target on a corpus."""
    hours = part["training_hours"].null_count() < len(part)
    head = ["", "size", "tokens/byte", "GFLOP/byte trained", "GFLOP/byte served", "to the baseline", "95 % interval",
            "cache kB/byte", "embedding MB", "kB in a context"]  # fmt: skip
    head += ["hours/TB trained", "hours/TB served"] * hours
    cells: list[list[str]] = []
    reasons: dict[str, list[str]] = {}
    for row in part.iter_rows(named=True):
        relative = NO_VALUE if row["relative"] is None else f"{_number(row['relative'], 1, 'percent')} %"
        scaled = [
            None if row[name] is None else row[name] / unit
            for name, unit in (
                ("training_flops_per_byte", GIGA), ("serving_flops_per_byte", GIGA), ("cache_bytes_per_byte", KILO),
                ("embedding_bytes", MEGA), ("context_bytes", KILO),
            )
        ]  # fmt: skip
        cost, rest = scaled[:2], scaled[2:]
        line = [row["variant"], f"{row['size']:,}", _number(row["tokens_per_byte"], 4)]
        line += [_number(value, 2) for value in cost]
        line += ["baseline" if row["variant"] == row["baseline"] else relative]
        line += [_interval(row["low"], row["high"], 1, "percent"), *(_number(value, 1) for value in rest)]
        line += [_number(row[name], 0) for name in ("training_hours", "serving_hours")] * hours
        cells.append(line)
        if row["reason"] and row["reason"] != NO_LINE:
            reasons.setdefault(row["reason"], []).append(f"{row['variant']} at {row['size']:,}")
    notes = _notes(reasons)
    if NO_LINE in part["reason"].to_list():
        notes.append(f"There are {NO_LINE}.")
    notes.append("Arithmetic and memory are by formula and not measured.")
    return RankingTable(f"Costs at {at['target']}, {at['corpus']}", head, cells, frozenset({0, 6}), notes)


def _bits(part: pl.DataFrame) -> RankingTable:
    """Return the table of bits at the total cost of one model."""
    first = part.row(0, named=True)
    spent = "text" if first["varies"] == "budget" else "layers"
    cells: list[list[str]] = []
    reasons: dict[str, list[str]] = {}
    for row in part.sort("bits", "variant", nulls_last=True).iter_rows(named=True):
        level = [_number(row["multiple"], 2), _number(row["bits"], 3), _interval(row["low"], row["high"], 3)]
        verdict = [_number(row["difference"], 3), _interval(row["difference_low"], row["difference_high"], 3)]
        verdict.append(IN_WORDS.get(row["verdict"], ""))
        if row["variant"] == row["baseline"]:
            verdict = ["", "", "baseline"]
        cells.append([row["variant"], *level, *verdict])
        if row["reason"]:
            reasons.setdefault(row["reason"], []).append(row["variant"])
    notes = _notes(reasons)
    notes.append(
        f"The total cost is that of {first['model']} with {first['baseline']}, scaled to {first['target']}. The bits "
        f"are those of {first['models']}, and no promise for {first['target']}."
    )
    caption = f"Bits per byte at equal total cost of {first['target']}, {first['corpus']}, {first['suite']}, size "
    head = ["", f"{spent}, relative", "bits per byte", "95 % interval", f"{MINUS} {first['baseline']}",
            "95 % interval", "verdict"]  # fmt: skip
    return RankingTable(caption + f"{first['size']:,}", head, cells, frozenset({0, 3, 5, 6}), notes, verdicts=6)
