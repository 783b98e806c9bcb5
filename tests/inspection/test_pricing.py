"""``tokbench price``: tables of a run, targets of the configuration and of files, formats and refusals."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.scale_models import budgets, simulated_tables
from tokbench.commands.main import main
from tokbench.config.load import validate
from tokbench.errors import TokbenchError
from tokbench.inspection.pricing import price_results, prices_output
from tokbench.io.json import write_result
from tokbench.io.yaml import dump_yaml
from tokbench.stages.tables import recipes
from tokbench.statistics.scale.prices import NO_LINE
from tokbench.tabulation.table import tables_of

SERVE: dict[str, Any] = {
    "d_model": 1024, "n_layers": 12, "n_heads": 16, "feed_forward": 2752, "max_seq_len": 4096,
    "serving_tokens_per_training_token": 0.5,
}  # fmt: skip


def run(folder: Path, *sizes: int, targets: dict[str, Any] | None = None) -> Path:
    """Write the files of a run that prices read: two tokenizers with models of some bytes of text."""
    models = budgets(*sizes)
    made = simulated_tables(models, {"a": 20.0, "b": 21.0})
    (folder / "tables").mkdir(parents=True)
    (folder / "experiment").mkdir()
    for table in tables_of("tabulate"):
        frame = made.get(table.name, pl.DataFrame(schema=table.schema))
        frame.write_parquet(folder / "tables" / f"{table.name}.parquet")
    known = {"variants": {name: {"corpus": "books"} for name in "ab"}, "models": models, "targets": targets or {}}
    settings = {"recipes": known, "baselines": {"books": "a"}, "units": {}}
    write_result(folder / "experiment" / "analyse.json", settings)
    return folder


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a target, and a file of another one that is ten times as deep."""
    folder = tmp_path_factory.mktemp("prices")
    (folder / "deep.yaml").write_text(dump_yaml(SERVE | {"n_layers": 120, "serving_tokens_per_training_token": 0.0}))
    return run(folder / "run", 50_000, 100_000, 200_000, 400_000, targets={"serve": SERVE})


def test_two_targets_have_other_prices_of_the_same_files(results: Path) -> None:
    frames = price_results(results, ["serve", str(results.parent / "deep.yaml")])
    prices = {(row["target"], row["variant"]): row for row in frames["prices"].iter_rows(named=True)}
    assert prices.keys() == {(target, variant) for target in ("serve", "deep") for variant in "ab"}
    cache = [prices[target, "a"]["cache_bytes_per_byte"] for target in ("serve", "deep")]
    assert cache[1] == 10 * cache[0]
    assert prices["deep", "a"]["softmax_share"] < prices["serve", "a"]["softmax_share"] / 5
    bits = frames["bits_at_equal_cost"].filter(variant="b", model="m200000_1 (3 seeds)")
    assert bits["multiple"].n_unique() == bits["bits"].n_unique() == len(bits.drop_nulls("difference_low")) == 2
    default = price_results(results)
    assert default["prices"].equals(frames["prices"].filter(target="serve"))


def test_every_format_has_the_numbers(results: Path) -> None:
    frames = price_results(results)
    text = prices_output(frames, "text")
    assert "Costs at serve, books" in text
    assert "Bits per byte at equal total cost of serve, books" in text
    assert "no promise for serve" in text
    assert prices_output(frames, "markdown").startswith("**Costs at serve, books**")
    assert r"\begin{tabular}" in prices_output(frames, "latex")
    of_json = json.loads(prices_output(frames, "json"))
    assert {name: len(rows) for name, rows in of_json.items()} == {name: len(frame) for name, frame in frames.items()}
    rows = list(csv.DictReader(io.StringIO(prices_output(frames, "csv"))))
    first = next(row for row in rows if row["table"] == "prices")
    assert float(first["serving_flops_per_byte"]) == frames["prices"]["serving_flops_per_byte"][0]
    assert len(rows) == sum(map(len, frames.values()))


def test_one_scale_has_costs_and_says_why_there_are_no_bits(tmp_path: Path) -> None:
    frames = price_results(run(tmp_path / "run", 50_000, targets={"serve": SERVE}))
    assert set(frames["prices"]["reason"]) == {NO_LINE}
    assert frames["prices"]["serving_flops_per_byte"].null_count() == 0
    assert frames["bits_at_equal_cost"].is_empty()
    assert NO_LINE in prices_output(frames, "text")


def test_the_command_prints(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["price", str(results), "--target", str(results.parent / "deep.yaml"), "--format", "csv"])
    assert ",deep," in capsys.readouterr().out


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("server", "--target: no file that ends in .yaml, .yml, .json, and 'server' is not a target (serve). Did you"),
        ("absent.yaml", "absent.yaml"),
        ("wrong.yaml", "wrong.yaml: n_heads must divide d_model"),
        ("typo.yaml", "typo.yaml: n_layer"),
        ("list.yaml", "list.yaml"),
    ],
)
def test_wrong_targets_are_refused_in_one_line(
    results: Path, tmp_path: Path, target: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wrong.yaml").write_text(dump_yaml(SERVE | {"n_heads": 7}))
    Path("typo.yaml").write_text(dump_yaml(SERVE | {"n_layer": 7}))
    Path("list.yaml").write_text("[1, 2]\n")
    with pytest.raises(TokbenchError) as error:
        price_results(results, [target])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_folders_without_tables_and_runs_without_targets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TokbenchError, match="no tables of an experiment"):
        price_results(tmp_path)
    with pytest.raises(TokbenchError, match="its configuration has no targets; name a file"):
        price_results(run(tmp_path / "run", 50_000))


def test_targets_are_part_of_the_recipes_only_if_there_are_any(experiment: dict[str, Any]) -> None:
    without = recipes(validate(experiment, "test"))
    assert "targets" not in without
    planned = recipes(validate(experiment | {"targets": {"serve": SERVE}}, "test"))
    assert planned["targets"] == {"serve": SERVE | {"precision": "bf16", "tied_head": False, "vocab_multiple": 64}}
    assert {key: value for key, value in planned.items() if key != "targets"} == without
