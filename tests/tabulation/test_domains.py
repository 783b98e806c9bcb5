"""Intrinsic metrics by domain of a mixture."""

import json
from pathlib import Path

import polars as pl

from tests.support.pipeline import call_in_one_process
from tokbench.tabulation.domains import domain_metrics_table

SOURCES = {"web": ["the cat sat on the mat", "a dog and a cat", ""], "code": ["def f(x): return x", "f(f(1))"]}


def test_metrics_by_domain_are_those_of_its_documents_alone(tmp_path: Path) -> None:
    frame = pl.DataFrame([(0, "", name, text) for name, texts in SOURCES.items() for text in texts], orient="row")
    frame.columns = ["document", "language", "domain", "text"]
    frame = frame.with_columns(document=pl.int_range(len(frame)), text=pl.col("text").cast(pl.Binary))
    frame.write_parquet(tmp_path / "mix.parquet")
    for name in SOURCES:
        frame.filter(domain=name).write_parquet(tmp_path / f"{name}.parquet")
    (tmp_path / "text.txt").write_text("the cat and the dog sat on a mat; def return f(x)\n" * 9)
    options = ["--variant", "bpe", "--corpus", "mix", "--only-counts"]
    call_in_one_process(
        [
            ["count", tmp_path / "text.txt", "--pretokenization", "gpt2", "-o", tmp_path / "counts.parquet"],
            ["build", "bpe", "--counts", tmp_path / "counts.parquet", "--size", 270, "-o", tmp_path / "bpe"],
            *(
                ["measure", tmp_path / "bpe", "--documents", tmp_path / f"{name}.parquet", *options,
                 *["--language-field", "domain"] * (name == "mix"), "-o", tmp_path / f"{name}.json"]
                for name in ("mix", *SOURCES)
            ),
        ]
    )  # fmt: skip
    table = domain_metrics_table([tmp_path / "mix.json"])
    assert {"bytes_per_token", "fertility", "renyi_efficiency_2"} <= set(table["metric"])
    assert "parity" not in table["metric"]
    assert set(table["domain"]) == set(SOURCES)
    alone = {name: json.loads((tmp_path / f"{name}.json").read_bytes())["measurements"] for name in SOURCES}
    expected = {
        (name, row["metric"], row["definition"]): (row["value"], row["n"])
        for name, rows in alone.items()
        for row in rows
    }
    for row in table.iter_rows(named=True):
        assert (row["value"], row["n"]) == expected[row["domain"], row["metric"], row["definition"]]
