"""Time the HTML report of an experiment of 62 runs: to write it, and to open it in headless Chromium.

The results are made up: 18 variants at three sizes under one model, and a few of them under two larger ones, as in
"Tokenization Is More Than Compression".

    python benchmarks/report.py /tmp/report.html
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.html import render
from tokbench.statistics.correlation import between_metrics, between_sizes, metric_with_accuracy
from tokbench.statistics.critical_difference import critical_differences
from tokbench.statistics.intervals import average_intervals
from tokbench.statistics.pairs import compare_pairs, power_table
from tokbench.statistics.ranks import averages, averages_by_size
from tokbench.tabulation.accuracy import ACCURACY
from tokbench.tabulation.curves import CURVES
from tokbench.tabulation.embedding_norms import embedding_norms
from tokbench.tabulation.intrinsic import INTRINSIC
from tokbench.tidy.collection import tables_of

VARIANTS = [f"variant_{index:02}" for index in range(18)]
SIZES = (32768, 40960, 49152)
TASKS = [f"task_{index}" for index in range(10)]
METRICS = [f"metric_{index:02}" for index in range(30)]
RUNS = [("350M", variant, size) for variant in VARIANTS for size in SIZES]
RUNS += [("1.3B", variant, 40960) for variant in VARIANTS[:6]] + [("2.4B", variant, 40960) for variant in VARIANTS[:2]]


def content() -> ReportContent:
    """What a report of 62 runs shows."""
    draws = np.random.default_rng(0)
    accuracy = pl.DataFrame(
        [
            (variant, size, model, "suite", task, 0.4 + 0.1 * draws.random(), 0.25, 1000, 0.015, 0, 0)
            for model, variant, size in RUNS
            for task in TASKS
        ],
        schema=ACCURACY.schema,
        orient="row",
    )
    intrinsic = pl.DataFrame(
        [
            (variant, size, "books", "", metric, f"definition of {metric}", draws.random(), 1000, None)
            for variant in VARIANTS
            for size in SIZES
            for metric in ["corpus_token_count", "renyi_efficiency_2.5", *METRICS]
        ],
        schema=INTRINSIC.schema,
        orient="row",
    )
    curves = pl.DataFrame(
        [
            (model, variant, size, batch, 1000 * batch, 3 + 5 / batch + 0.1 * draws.random())
            for model, variant, size in RUNS
            for batch in range(1, 200)
        ],
        schema=CURVES.schema,
        orient="row",
    )
    tokens = pl.DataFrame(
        {"probability": 10 ** draws.uniform(-7, -2, 4096), "norm": np.abs(draws.normal(1, 0.3, 4096))}
    )
    trained = {model: {(v, size): tokens for m, v, size in RUNS if m == model} for model in ("350M", "1.3B", "2.4B")}
    pairs = compare_pairs(accuracy)
    return ReportContent(
        title="62 runs",
        recipes={variant: {"pretokenization": "gpt2", "construction": "bpe"} for variant in VARIANTS},
        configuration="name: 62 runs\n",
        provenance={"revision": "none"},
        models=["350M", "1.3B", "2.4B"],
        declared=tables_of("tabulate", "analyse"),
        frames={
            "intrinsic": intrinsic,
            "accuracy": accuracy,
            "curves": curves,
            "embedding_norms": embedding_norms(trained),
            "ranks": averages(accuracy),
            "ranks_by_size": averages_by_size(accuracy),
            "intervals": average_intervals(accuracy),
            "comparisons": pairs,
            "power": power_table(pairs),
            "critical_differences": critical_differences(accuracy),
            "correlations": metric_with_accuracy(intrinsic, accuracy),
            "metric_correlations": between_metrics(intrinsic),
            "r_squared": between_sizes(accuracy),
        },
    )


LOADED = "<script>addEventListener('load', () => { document.body.dataset.loaded = performance.now(); })</script></body>"


def opened(page: Path) -> float:
    """Least of three times, in seconds, from the call of the page to its load, its script run and its figures laid out,
    as Chromium tells it."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("no chromium here: install it, or open the page by hand")
    times = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            timed = Path(folder) / "report.html"
            timed.write_text(page.read_text(encoding="utf-8").replace("</body>", LOADED), encoding="utf-8")
            call = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile"]
            shown = subprocess.run([*call, "--dump-dom", timed.as_uri()], check=True, capture_output=True, text=True)
            times.append(float(shown.stdout.partition('data-loaded="')[2].partition('"')[0]) / 1000)
    return min(times)


def main(path: Path) -> None:
    """Write the page, then open it."""
    made = content()
    start = time.process_time()
    render(made, path)
    print(f"{len(RUNS)} runs: written in {time.process_time() - start:.1f} s, {path.stat().st_size / 1e6:.1f} MB")
    print(f"opened in {opened(path):.2f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
