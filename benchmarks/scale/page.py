"""Generator of docs/measured/scale.md and its figure, from the measurements of run.py.

python -m benchmarks.scale.page docs
"""

import argparse
import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt

from benchmarks.scale.growth import (
    STAGES,
    Expected,
    Fit,
    Growth,
    Rows,
    Taken,
    expected,
    growths,
    makespan,
    pretokens,
    read,
    sizes,
    taken,
    vocabulary,
)
from benchmarks.scale.plan import CORPORA, MOST_SHARDS, SHARD_BYTES, Corpus, of_rule
from benchmarks.speed.page import table
from benchmarks.speed.plots import COLOURS, LOOK, MARKS, plain, write


def number(value: float) -> str:
    """Format a number with two or three digits."""
    if math.isnan(value):
        return "–"
    if 0 < value < 0.01:
        return "<0.01"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2g}"


def power(fit: Fit) -> str:
    """Format an exponent with its interval."""
    if abs(fit.exponent) < 0.005 and not abs(fit.high) >= 0.005:
        return "0"
    if math.isnan(fit.low):
        return f"{fit.exponent:.2f} (assumed)" if fit.exponent == 1 else f"{fit.exponent:.2f}"
    interval = f" ({fit.low:.2f} to {fit.high:.2f})"
    return f"{fit.exponent:.2f}{interval}"


def ranged(value: float, low: float, high: float) -> str:
    """Format a number with its range, if there is one."""
    ends = number(low), number(high)
    return number(value) if ends[0] == ends[1] else f"{number(value)} ({ends[0]} to {ends[1]})"


def volume(size: float) -> str:
    """Format bytes with a unit."""
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 1000:
            return f"{number(size)} {unit}"
    return f"{number(size / 1000)} TB"


def measured(rows: Rows, shown: Callable[[Taken], str], fitted: Callable[[Growth], str], *heads: str) -> str:
    """Return a table of stages by size."""
    gigabytes, growth_by_stage = sizes(rows), growths(rows)
    lines = []
    for stage in STAGES:
        if stage.name not in growth_by_stage:
            continue
        cells = [taken(rows, stage, size) for size in gigabytes]
        lines.append(
            [
                stage.name,
                *("–" if cell is None else "left out" if cell.error else shown(cell) for cell in cells),
                fitted(growth_by_stage[stage.name]),
            ]
        )
    return table(("stage", *(f"{size:g} GB" for size in gigabytes), *heads), lines)


def bounds(rows: Rows) -> str:
    """Return the table of peak memory and limits of the rules."""
    lines = []
    for stage in STAGES:
        cells = [cell for size in sizes(rows) if (cell := taken(rows, stage, size)) and not cell.error]
        if cells:
            worst = max(cells, key=lambda cell: cell.share)
            within = "yes" if worst.share <= 1 else "**no**"
            lines.append(
                [stage.name, f"{cells[-1].bound_mb:,}", f"{worst.share:.0%}", f"{worst.gigabytes:g} GB", within]
            )
    return table(("stage", "bound of the largest, MB", "largest share of a bound", "at", "within"), lines)


def left_out(rows: Rows) -> str:
    """List the reasons for missing numbers, one per line."""
    lines = dict.fromkeys(
        f"{row['stage']} at {float(row['gigabytes']):g} GB: {row['error']}." for row in rows if row["error"]
    )
    return "\n".join(f"- {line}" for line in lines)


NODES, CORES = 32, 8
PER_DOCUMENT = 36
"""Memory of `prepare` per document in bytes: that of `split_corpus`, and a digest."""
PER_DOCUMENT_OF_PARTS = 20
"""Memory of `split_corpus` per document in bytes, :data:`tokbench.corpus.shuffle.PER_DOCUMENT`."""
ATTEMPTS = 3
BY_WORK = ("build", "build_initial", "measure", "score_bytes")
"""Rules that request memory by their counts or model."""
LONGEST_MINUTES = 2880
"""Longest runtime that a job requests, in minutes."""


def corpora(rows: Rows, plans: dict[str, dict[str, int]]) -> list[tuple[Corpus, list[Expected]]]:
    """Extrapolate every stage to every corpus."""
    grown, heaps = growths(rows), vocabulary(rows)
    results = []
    for corpus in CORPORA:
        about = (heaps, corpus.text, corpus.shards, plans[str(corpus.shards)])
        stages = [expected(stage, grown[stage.name], *about) for stage in STAGES if stage.name in grown]
        results.append((corpus, stages))
    return results


def whole(rows: Rows, plans: dict[str, dict[str, int]]) -> str:
    """Return the table of corpora."""
    largest = pretokens(rows, sizes(rows)[-1])[0]
    lines: dict[str, list[str]] = {}

    def put(name: str, cell: str) -> None:
        lines.setdefault(name, [name]).append(cell)

    for corpus, stages in corpora(rows, plans):
        put("text", volume(corpus.text))
        put("times the largest measured", number(corpus.text / largest))
        put("shards", f"{corpus.shards:,}")
        put("text of a shard", volume(corpus.text / corpus.shards))
        put("jobs in the plan", f"{sum(plans[str(corpus.shards)].values()):,}")
        heaps = vocabulary(rows)
        low, high = heaps.between(corpus.text, corpus.text)
        put("different pre-tokens, millions", ranged(*(each / 1e6 for each in (heaps.at(corpus.text), low, high))))
        hours = math.fsum(forecast.hours for forecast in stages)
        low, high = (
            math.fsum(ends) for ends in zip(*((forecast.low, forecast.high) for forecast in stages), strict=True)
        )
        put("hours of one core", ranged(hours, low, high))
        put(f"hours on {NODES} x {CORES} cores", number(makespan(stages, NODES * CORES)))
        longest = max(stages, key=lambda forecast: forecast.longest)
        put("longest job, hours", f"{number(longest.longest)} ({longest.stage.name})")
        most = max(stages, key=lambda forecast: forecast.memory_mb)
        put("most memory of a job", f"{volume(most.memory_mb * 1e6)} ({most.stage.name})")
        put("documents", f"{corpus.documents:,}")
        put("memory of `prepare`", volume(PER_DOCUMENT * corpus.documents))
        put("memory of `split_corpus`, in parts", volume(PER_DOCUMENT_OF_PARTS * corpus.documents))
        put("permanent disk", volume(math.fsum(forecast.disk for forecast in stages if forecast.stage.kept)))
        put("temporary disk", volume(math.fsum(forecast.disk for forecast in stages if not forecast.stage.kept)))
    return table(("", *(corpus.name for corpus in CORPORA)), lines.values())


def by_stage(rows: Rows, plans: dict[str, dict[str, int]]) -> str:
    """Return the table of hours and memory by stage and corpus."""
    plans_of_corpora = corpora(rows, plans)
    lines = []
    for place, first in enumerate(plans_of_corpora[0][1]):
        cells = [first.stage.name]
        for _, stages in plans_of_corpora:
            forecast = stages[place]
            cells += [f"{forecast.jobs:,}", ranged(forecast.hours, forecast.low, forecast.high)]
            cells += [volume(forecast.memory_mb * 1e6), number(forecast.beyond)]
        lines.append(cells)
    heads = [
        head for corpus in CORPORA for head in (f"{corpus.name}: jobs", "hours of one core", "memory", "times beyond")
    ]
    return table(("stage", *heads), lines)


def obstacles(rows: Rows, plans: dict[str, dict[str, int]]) -> str:
    """List single jobs that need more time or memory than the first request of their rule."""
    lines = []
    for corpus, stages in corpora(rows, plans):
        for forecast in stages:
            minutes = of_rule(forecast.stage.rule, "runtime")
            remedies = [remedy(forecast.longest * 60, minutes)]
            if remedies[0] and forecast.stage.rule == "prepare":
                remedies = ["`parts` of the corpus"]
            if forecast.stage.rule not in BY_WORK and forecast.memory_mb > of_rule(forecast.stage.rule):
                remedies.append(
                    f"{volume(forecast.memory_mb * 1e6)} of memory, {of_rule(forecast.stage.rule):,} MB are requested"
                )
            if any(remedies):
                cells = [number(forecast.longest), number(minutes / 60), "; ".join(filter(None, remedies))]
                lines.append([corpus.name, forecast.stage.name, *cells])
    if not lines:
        return "No job needs more than its rule requests."
    return table(("corpus", "stage", "hours of a job", "requested", "needs"), lines)


def remedy(taken: float, asked: int) -> str:
    """Return the remedy for a job that needs ``taken`` minutes and requests ``asked`` at first."""
    if taken <= asked:
        return ""
    if taken <= min(LONGEST_MINUTES, ATTEMPTS * asked):
        return "a second or third attempt"
    return "`runtime` in the profile" if taken <= LONGEST_MINUTES else "more than two days"


PANELS = (
    ("processor time, s", "processor", 1.0),
    ("memory of a process, MB", "peak_mb", 1.0),
    ("disk, MB", "disk", 1e-6),
)


def draw(rows: Rows, path: Path) -> None:
    """Write the figure, which is deterministic."""
    with plt.rc_context(LOOK):
        figure, axes = plt.subplots(1, len(PANELS), figsize=(9, 4.6), layout="constrained")
        for place, stage in enumerate(STAGES):
            measures = [measure for size in sizes(rows) if (measure := taken(rows, stage, size)) and not measure.error]
            if not measures:
                continue
            text = [pretokens(rows, measure.gigabytes)[0] / 1e9 for measure in measures]
            for panel, (_, key, unit) in zip(axes, PANELS, strict=True):
                panel.plot(
                    text,
                    [unit * getattr(measure, key) for measure in measures],
                    color=COLOURS[place % len(COLOURS)],
                    marker=MARKS[place % len(MARKS)],
                    markersize=4,
                    linewidth=1.1,
                    linestyle="-" if place < len(COLOURS) else "--" if place < 2 * len(COLOURS) else ":",
                    label=stage.name,
                )
        for panel, (title, _, _) in zip(axes, PANELS, strict=True):
            panel.set_xscale("log", base=2)
            panel.set_yscale("log")
            plain(panel)
            panel.set_xlabel("text, GB")
            panel.set_title(title, size=8)
            panel.grid(color="#dddddd", linewidth=0.5)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
        write(figure, path)


INTRODUCTION = """\
This page gives time, memory and disk of every stage on gigabytes of text, and estimates for larger corpora.

```
make scale TEXT=FOLDER
```

This command repeats the measurements on the text in a folder and writes this page.
[`scale.csv`](performance/scale.csv) has every process,
[`benchmarks/scale`](../../benchmarks/scale/run.py) shows how they were started. An
experiment of eight constructions runs job by job, one thread each, with the command lines that the
workflow prints for it. Seconds are processor time, user plus system. Memory is the peak resident memory of the process
as the kernel reports it, in MB of 10^6 bytes like `mem_mb`."""
HOW = """\
The text is divided into 17 shards, so that counts are merged in two steps and shards are encoded by separate jobs, as
in a large corpus. Every split is all of the text."""
FITTED = """\
*Power* is the exponent p if time, memory or disk beyond a job's start-up cost grows as quantity^p, with its 95 %
interval (Student's t; the variance around the lines is pooled over the stages, as each has at most four points). The
start-up cost is that of the same job on a megabyte. The power is 0 if a stage adds less than a tenth to its start-up
cost, or varies less than that between sizes. Sizes that add less than a quarter are excluded from the fit, and so are
those that took more than a larger one. If only one remains, growth is assumed to be proportional. The quantity is the
text of one job or, for stages that read counts, the number of different pre-tokens; for disk, the text."""
COMPARED = """\
The time of `build` is not only construction: it also compares `tokenizer.json`, by Hugging Face's library, with the
tokenizer on the most frequent million of pre-tokens, which is most of the time of `bpe`. Each job's log gives the time
of the construction. For `wordpiece` and `ngram` nothing is compared if a pre-token has more than 2,000 bytes. Larger
texts have such pre-tokens, so these may need less time than smaller ones."""
BEYOND = """\
**All of this is extrapolated.** The fitted lines are continued through the largest size measured. The numbers in
brackets follow from the ends of their intervals, and of the interval of the number of pre-tokens. *Times beyond* is the
input of a job divided by that of the largest job measured. A text in many languages has more different pre-tokens, one
of prose fewer than code. Waiting times of a cluster are not included."""
READING = """\
- Stages over shards (`count`, `merge_part`, `score_bytes`, `encode_shard`, `pack_slice`) have a job for each shard, or
  for each 16, of constant memory and time: a larger corpus means more jobs, not larger ones. Only `score_bytes` needs
  more memory, because its model is of all of the text. Since this measurement a job of `encode_shard` encodes 16
  shards: it has a sixteenth of the jobs above, of 16 times the length.
- `prepare` was measured as one job, which is the default. With `parts`, parallel jobs each read an equal share of the
  source and write an equal share of the shards, [to the same files](../stages.md#a-corpus-in-parts). Together they need
  longer than the one job, because they write texts one more time.
- `train_byte_lm` is always one job. If the table above names it, divide the corpus into several, or give the split
  less: byte language models seldom need all of a large text.
- `score_bytes` loads the model and a shard. It requests the maximum memory of a model with its number of windows. If
  that is more than a node has, give the split of the byte language model less.
- Sequences are packed [in slices](../stages.md#many-shards-packed-side-by-side), a job for each 16 shards; `pack` joins
  them.
- Constructions read counts, so their cost depends on the number of different pre-tokens. If the memory above is more
  than a node has, `min_count` omits the rare ones; `build` names the value that would fit and the share of the text
  that it omits. SaGe trains on a million lines of any corpus.
- `prepare` needs at most 36 bytes per document, and in parts only `split_corpus` needs 20. If that is more than their
  rules request (2,000 and 4,000 MB), raise it by `set-resources` in the profile, as `split_corpus: {mem_mb: 12000}`, or
  join documents.
- Documents had some ten thousand bytes here. Shorter ones need more time per byte."""


def page(rows: Rows, facts: dict[str, Any]) -> str:
    """Return the page."""
    about, found = facts["machine"], sizes(rows)
    texts = [
        [
            f"{size:g} GB",
            f"{facts['texts'][f'{size:g}']['text_bytes']:,}",
            f"{facts['texts'][f'{size:g}']['documents']:,}",
            f"{pretokens(rows, size)[1]:,.0f}",
        ]
        for size in found
    ]
    seconds = math.fsum(float(row["processor"]) for row in rows)
    excluded = left_out(rows)
    over = [f"{row['stage']} ({row['name']})" for row in rows if float(row["peak_mb"]) > float(row["bound_mb"])]
    verdict = f"{sum(not row['error'] for row in rows):,} processes were measured; " + (
        f"{len(over)} took more than their bound: {', '.join(over)}." if over else "each stayed within its bound."
    )
    parts: Iterable[str] = (
        "# Scale",
        INTRODUCTION,
        fill(f"The text: {facts['about']}", 120, break_on_hyphens=False),
        table(("size", "bytes of text", "documents", "different pre-tokens"), texts),
        f"Different pre-tokens (of `gpt2`) grow with the text to the power of {power(vocabulary(rows))}.\n"
        f"The machine: {about['processor']}, {about['cores']} processors, {about['memory_gib']} GiB,\n"
        f"{about['system']}, Python {about['python']}, shared with others while this was measured. Vocabularies have\n"
        f"{facts['tokens']:,} tokens; PathPiece and SaGe start from 65,536 n-grams. All took {number(seconds / 60)} "
        "minutes of processor time.",
        HOW,
        "![Time, memory and disk](performance/scale.svg)",
        "## Time",
        "Seconds of all jobs of a stage; the power is that of one job.",
        measured(rows, lambda one: number(one.processor), lambda grown: power(grown.seconds), "power"),
        COMPARED,
        excluded,
        "## Memory",
        verdict,
        "MB of the largest process.",
        measured(rows, lambda one: f"{one.peak_mb:,.0f}", lambda grown: power(grown.memory), "power"),
        bounds(rows),
        "## Disk",
        "MB that a stage writes. Counts of shards and of parts, encoded shards and packed sequences are deleted once\n"
        "they are used; temporary files of a running job are not included.",
        measured(rows, lambda one: number(one.disk / 1e6), lambda grown: power(grown.disk), "power"),
        "## The fits",
        FITTED,
        "## Larger corpora",
        BEYOND,
        f"The same experiment, with the same splits. Shards of {volume(SHARD_BYTES)}, {MOST_SHARDS:,} at most, the\n"
        "limit of a configuration. MiniPile has 6 GB of text, the Pile 825 GiB, according to their papers; Common\n"
        "Corpus has two trillion tokens, here assumed to have four bytes each, in some 500 million documents.",
        whole(rows, facts["plans"]),
        "### By stage",
        by_stage(rows, facts["plans"]),
        "### Single jobs",
        obstacles(rows, facts["plans"]),
        READING,
    )
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", type=Path, help="folder of scale.md and performance/")
    arguments = parser.parse_args()
    folder = arguments.results / "performance"
    rows = read(folder / "scale.csv")
    facts = json.loads((folder / "scale.json").read_text(encoding="utf-8"))
    draw(rows, folder / "scale.svg")
    (arguments.results / "scale.md").write_text(page(rows, facts), encoding="utf-8")


if __name__ == "__main__":
    main()
