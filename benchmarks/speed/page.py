"""Write docs/measured/performance.md and its figure from the files of one run.

python -m benchmarks.speed.page docs/measured
"""

import argparse
import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import fill
from typing import Any

from benchmarks.speed import plots
from benchmarks.speed.measure import FEWER_ROUNDS, ROUNDS, SLOW
from benchmarks.speed.summary import Entry, Key, Rows, read, tasks_of
from benchmarks.speed.tasks import TASKS
from benchmarks.speed.worker import FIRST_BYTES, LENGTHS

MEASURES = {"cold": "cold", "new": "new", "warm": "warm"}
TITLES = {
    "english": "English",
    "languages": "many languages",
    "unseen": "unseen",
    "short": "short texts",
    "large": "large",
    "a": "one letter",
    "blanks": "blanks",
    "letters": "random letters",
    "chinese": "Chinese",
    "cl100k": "cl100k",
    "o200k": "o200k",
    "own": "own",
}
KINDS = {
    "text": "one text",
    "large": "large text",
    "loop": "short texts one by one",
    "batch": "batches",
    "first": "a first text",
    "start": "time to first ids",
    "decode": "decoding",
    "long": "long runs",
    "count": "counting",
    "train": "training",
}
AS_FAST = 0.97
"""A ratio from here to 1 is not called slower: rounds differ by more."""
HOW = """\
- Before the clock starts, the process imports the library with NumPy and Awkward if it needs them, loads the tokenizer
  and reads the text. It then calls the function once on 8,000 made-up words and a run of 1,000 letters, 65 kB, because
  some libraries import packages or build tables when they are first needed. Tokbench builds tables for the run of
  letters; without it, after megabytes of new pre-tokens. *A first text* has no such call.
- *Cold*: the first half of a text, with an empty cache. *New*: then the second half, which it has not seen. *Warm*: the
  second half again. The halves alternate by document (English) or by line, so they are of the same kind.
- A library gets `bytes` if it accepts them, else `str`, and returns ids in its most compact form: an array or a
  buffer if it has one, else a list.
- Times are processor time of one thread and wall-clock time of two; `runs.parquet` has both for all tasks. Processor
  time excludes the waiting for other work on the machine. A process with one thread runs on one fixed processor.
- Libraries take turns. *x* is the library's time divided by Tokbench's in the same round; below 1, the library is
  faster. MB/s, seconds and x are medians of {rounds} rounds, {fewer} for libraries that need more than {slow:g} s per
  process. Memory is the least peak of the process. MB are 10^6 bytes of UTF-8.
- *Ids*: whether they are all Tokbench's.
"""
TEXTS = """\
- *English*: novels, {english}. The kernels were developed with this text.
- *Many languages*: FLORES-101, NTREX-128 and the Universal Declaration of Human Rights, {languages}.
- *Unseen*: text that the kernels were not tuned on: all lines of WMT news in English, German and Estonian, and of
  German and Ukrainian novels, {unseen}. Earlier versions of this page measured the novels as part of many languages.
- *Short texts*: {short:,} lines of the unseen text with 30 to 300 bytes, {length:.0f} on average.
- *Large*: {large:.0f} MB, the three texts ({once:.0f} MB) repeated. A gigabyte was not measured.
"""
TOKENIZERS = """\
The tokenizers *cl100k* and *o200k* are OpenAI's, at full size. *own* is BPE with 32,768 tokens and GPT-2's pattern,
trained on the first halves of English and many languages. `quicktok-v1` and `rs_bpe` only have the tokenizers that they
include. All these libraries install with pip in less than a minute. `greedtok` needs an older TBB and is not measured.
"""
LARGE = """\
One call with an empty cache. Most of this text repeats, so it is mostly a warm measurement.
"""
SHORT = """\
The short texts in two halves of {half:,}. *One by one*: a Python loop that keeps the ids. *Batch*: one call, which may
return one array for all (Tokbench: `encode_flat`). Batches of many languages are its documents, {documents} in a half.
Each of two threads has its own cache of pre-tokens in Tokbench, so *warm* is new to a thread where the other one
encoded the text before.
"""
FIRST = """\
The first {size:.0f} MB of English as the first text of the process, after the tokenizer is loaded. No call precedes the
clock, so tables and packages that a library needs for its first text are part of it.
"""
START = """\
Processor time from the start of the Python process to the ids of `Hello world 123.`: start of Python, import, loading,
first call. *64 kB*: to the ids of 8,000 made-up words, in a second call, which includes building tables. OpenAI's
tokenizer is read from the library's own copy if it has one, else from ranks or `tokenizer.json`.
"""
DECODE = """\
The ids of the first half of the unseen text. Tokbench and `gigatoken` get an array, the others a list of ints. *Ids*
is here whether the decoded text is the original.
"""
LONG = """\
One pre-token of 10^5, 10^6 and 10^7 bytes: the same letter, blanks, random letters (a to z), Chinese characters without
spaces. Seconds of one call, with x of those for 10^7 bytes. A process was stopped after {limit:g} s.
"""
TRAIN = """\
From text to vocabulary, {size:,} tokens, one thread. `gigabpe`, `gigatoken`, `sentencepiece` and `tokenizers` read a
file within the clock, as does Tokbench; the others get strings. Vocabularies differ slightly where libraries break ties
or split lines differently.
"""
PLANS = """\
`snakemake -n` with an experiment that has made nothing yet, in a process of its own: processor time and peak memory.
*First*: the user's cache is empty, so that all modules are parsed for fingerprints. *Again*: the second time.
*Tokbench's share* is the part of the second time in which Tokbench's functions run, or those of libraries that they
call, by samples of every millisecond: imports, reading the experiment, fingerprints of code, records and resources of
jobs. The rest is Snakemake's. Experiments with *variants* are those of `tests/wide`, with three sizes and three
language models.
"""
JOBS = """\
Processor time of each process of the demo, one job at a time, a mean over the jobs of a command. *Start*: start of
Python and all imports, also those within the work. *Work*: everything else, with the command line, the record of the
job and the end. *Of it Tokbench's*: imports of its own modules, without those of libraries that they import.
`snakemake` is the process that plans and starts the jobs.

`count_tokens` and `measure` of a tokenizer are two jobs: the first one also times the encoding, and a change of the
metrics must not time it again. One job for both would save 24 starts of `count_tokens`. `analyse`, `draw`, `report` and
`typeset` run once each and import the modules of all tables, a third of a second.
"""
MISSES = """\
Per byte of text, the first megabyte of the first half, simulated by Cachegrind with a first-level cache of 48 KiB and a
second level of 1 MiB, without prefetching, and a simple predictor of branches, since the processor has no counters
here. *Cold*: with an empty cache of pre-tokens. *Warm*: the same text again. Numbers of instructions
are not shown, since they differ by up to 50 a byte between runs.

Memory does not explain why gigatoken is faster on warm English: Tokbench has no more cache misses there. It mispredicts
more branches, 1.6 to 6 times the number of gigatoken.
"""
ONCE = """\
The rest of this page was measured once, on 2026-11-25, on another machine: AMD EPYC, 2 processors, 23.5 GiB.
"""


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; all columns but the first are set to the right."""
    head = list(head)
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *map(list, rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def number(value: float) -> str:
    """Three significant digits at most; a dash if there is none."""
    return "–" if math.isnan(value) else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def times(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def title_of(key: Key) -> str:
    """Title of a task: tokenizer or method, text, threads if two."""
    _, text, tokenizer, threads = key
    parts = [TITLES.get(part, part) for part in (tokenizer, text) if part]
    return ", ".join(parts) + (f", {threads} threads" if threads > 1 else "")


def name_of(entry: Entry) -> str:
    return f"**{entry.peer}**" if entry.ours else entry.peer


def ids_of(entry: Entry) -> str:
    return "" if entry.ours else "same" if entry.same else "**differ**"


def failure(entry: Entry) -> str:
    """The first words of an error, up to its second colon."""
    return ":".join(entry.error.replace("|", " ").split(":")[:2])


def speeds(rows: Rows, kind: str, measures: Iterable[str] = tuple(MEASURES)) -> str:
    """Speeds and ratios of the tasks of a kind."""
    measures = list(measures)
    head = ["task", "library", *(cell for measure in measures for cell in (f"{measure}, MB/s", "x")), "MiB", "ids"]
    lines = []
    for key, entries in tasks_of(rows, kind):
        for entry in entries:
            cells = [
                cell
                for measure in measures
                for cell in (
                    number(entry.speed.get(measure, math.nan)),
                    "" if entry.ours else times(entry.ratios.get(measure, math.nan)),
                )
            ]
            note = failure(entry) or ids_of(entry)
            lines.append([title_of(key) if entry.ours else "", name_of(entry), *cells, f"{entry.peak:.0f}", note])
    return table(head, lines)


def seconds(rows: Rows, kind: str, measure: str, tokens: str = "") -> str:
    """Seconds and ratios of the tasks of a kind. ``tokens``: title of a column of tokens (default: ids)."""
    lines = []
    for key, entries in tasks_of(rows, kind):
        for entry in entries:
            ratio = "" if entry.ours else times(entry.ratios.get(measure, math.nan))
            last = f"{entry.tokens:,}" if tokens else ids_of(entry)
            cells = [number(entry.seconds.get(measure, math.nan)), ratio, f"{entry.peak:.0f}"]
            lines.append([title_of(key) if entry.ours else "", name_of(entry), *cells, failure(entry) or last])
    return table(("task", "library", "s", "x", "MiB", tokens or "ids"), lines)


def starts(rows: Rows) -> str:
    """Seconds and ratios from the start of the process to the first ids, and to those of a longer text."""
    lines = []
    for key, entries in tasks_of(rows, "start"):
        for entry in entries:
            cells = [
                cell
                for measure in ("start", "longer")
                for cell in (
                    number(entry.seconds.get(measure, math.nan)),
                    "" if entry.ours else times(entry.ratios.get(measure, math.nan)),
                )
            ]
            title = title_of(key) if entry.ours else ""
            lines.append([title, name_of(entry), *cells, f"{entry.peak:.0f}", failure(entry) or ids_of(entry)])
    return table(("task", "library", "s", "x", "64 kB, s", "x", "MiB", "ids"), lines)


def long_runs(rows: Rows) -> str:
    """Seconds of long runs by length."""
    lines = []
    last = str(LENGTHS[-1])
    for key, entries in tasks_of(rows, "long"):
        for entry in entries:
            cells = [number(entry.seconds[str(n)]) if str(n) in entry.seconds else "–" for n in LENGTHS]
            ratio = "" if entry.ours else times(entry.ratios.get(last, math.nan))
            note = failure(entry) or ids_of(entry)
            title = TITLES[key[1]] if entry.ours else ""
            lines.append([title, name_of(entry), *cells, ratio, note])
    return table(("run", "library", *(f"{n:,}, s" for n in LENGTHS), "x", "ids"), lines)


def behind(rows: Rows) -> Iterator[str]:
    """Yield for each library the tasks in which it is faster than Tokbench, with its ratio in each."""
    faster: dict[str, dict[str, list[str]]] = {}
    for kind, title in KINDS.items():
        for key, entries in tasks_of(rows, kind):
            for entry in entries:
                for measure, ratio in entry.ratios.items():
                    if entry.ours or not entry.same or ratio >= AS_FAST:
                        continue
                    name = f"{title}, {measure}" if measure in MEASURES else title
                    name += ", 64 kB" if measure == "longer" else ""
                    length = f" 10^{len(measure) - 1}" if kind == "long" else ""
                    text = f"{title_of(key).replace(', ', ' ')}{length} {times(ratio)}"
                    faster.setdefault(entry.peer, {}).setdefault(name, []).append(text)
    for peer, tasks in faster.items():
        parts = [f"{name} ({', '.join(texts)})" for name, texts in tasks.items()]
        yield f"- `{peer}`: {'; '.join(parts)}"


def differing(rows: Rows) -> str:
    """Return a sentence on the libraries whose ids differ."""
    tasks: dict[str, list[str]] = {}
    for kind in ("text", "large", "loop", "batch", "first", "start", "long"):
        for key, entries in tasks_of(rows, kind):
            for entry in entries:
                if not entry.same and entry.rounds:
                    tasks.setdefault(entry.peer, []).append(f"{KINDS[kind]} ({title_of(key)})")
    if not tasks:
        return "All libraries return the same ids in all tasks."
    listed = "; ".join(f"`{peer}` in {', '.join(dict.fromkeys(names))}" for peer, names in tasks.items())
    return f"Ids differ from Tokbench's: {listed}. In all other tasks they are the same."


def everyday(path: Path) -> Iterator[str]:
    """Yield the tables of plans and jobs of the workflow."""
    if not path.is_file():
        return
    measured = json.loads(path.read_text(encoding="utf-8"))
    yield "## Plans of the workflow"
    yield filled(PLANS)
    lines = [
        [row["experiment"], f"{row['jobs']:,}", number(row["first"]), number(row["again"]), f"{row['share']:.0%}",
         f"{row['peak_mb']:,}"]
        for row in measured["plans"]
    ]  # fmt: skip
    yield table(("experiment", "jobs", "first, s", "again, s", "Tokbench's share", "MB"), lines)
    yield "## Jobs of the demo"
    yield filled(JOBS)
    lines = [
        [f"`{row['command']}`", f"{row['jobs']:,}", f"{row['start']:.2f}", f"{row['own']:.2f}", f"{row['work']:.2f}",
         f"{row['jobs'] * row['start']:.1f}"]
        for row in measured["jobs"]
    ]  # fmt: skip
    yield table(("command", "jobs", "start, s", "of it Tokbench's, s", "work, s", "start of all, s"), lines)


def cache_misses(path: Path) -> Iterator[str]:
    """Yield the table of cache misses and mispredicted branches."""
    if not path.is_file():
        return
    yield "## Cache misses of encoding"
    yield filled(MISSES)
    lines = []
    rows = json.loads(path.read_text(encoding="utf-8"))
    tasks = list(dict.fromkeys((row["tokenizer"], row["text"]) for row in rows))
    for row in sorted(rows, key=lambda row: (tasks.index((row["tokenizer"], row["text"])), row["measure"])):
        ours = row["library"] == "tokbench"
        title = f"{TITLES[row['tokenizer']]}, {TITLES[row['text']]}, {row['measure']}" if ours else ""
        misses = [row[f"{level}mr"] + row[f"{level}mw"] for level in ("D1", "DL")]
        name = f"**{row['library']}**" if ours else row["library"]
        branches = row["Bcm"] + row["Bim"]
        lines.append([title, name, *map(number, (*misses, branches))])
    yield table(("task", "library", "misses, 48 KiB", "misses, 1 MiB", "mispredicted branches"), lines)


def studies(results: Path) -> Iterator[str]:
    """Yield comparisons that were measured once: a title, the method, the output."""
    for path in sorted(results.glob("*.txt")):
        title, how, *printed = path.read_text(encoding="utf-8").splitlines()
        yield f"### {title}"
        yield fill(how, 120, break_on_hyphens=False)
        yield "\n".join(["```", *printed, "```"])


def described(text: dict[str, Any]) -> str:
    """Sizes of a text."""
    sizes = " and ".join(f"{size / 1e6:.1f}" for size in text["halves"])
    return f"{sizes} MB, {text['documents']} documents, {text['unique']:,} unique pre-tokens of GPT-2's pattern"


def filled(text: str) -> str:
    """Wrap the lines of a list or paragraph."""
    items = text.replace("\n- ", "\n\0- ").split("\0")
    return "\n".join(
        fill(" ".join(item.split()), 120, subsequent_indent="  " * item.startswith("- "), break_on_hyphens=False)
        for item in items
    )


def page(results: Path) -> str:
    """Return the page."""
    rows = read(results / "runs.parquet")
    texts, about, versions = (
        json.loads((results / f"{name}.json").read_text(encoding="utf-8")) for name in ("texts", "machine", "versions")
    )
    named = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    load = about["load"]
    kinds = {name: described(text) for name, text in texts["texts"].items()}
    drawn = [(title_of(key), entries) for key, entries in tasks_of(rows, "text")]
    plots.draw(drawn, MEASURES, results / "peers.svg")
    other = "Other work" if max(load) > about["cores"] + 1 else "Nothing else"
    machine = (
        f"Machine: {about['processor']}, {about['cores']} processors, {about['memory_gib']} GiB, {about['system']}, "
        f"Python {about['python']}, {about['day']}, one run of {about['minutes']:.0f} minutes. {other} ran on the "
        f"machine: the load was {min(load):.1f} to {max(load):.1f}. The benchmark had a higher priority (nice -10). "
        f"Ratios are more reliable than speeds, and one thread more than two. Versions: {named}."
    )
    slower = list(behind(rows))
    parts = [
        "# Performance",
        "Tokbench is slower than these libraries in these tasks (their time divided by Tokbench's):"
        if slower
        else "In no task is a library with the same ids faster than Tokbench.",
        "\n".join(fill(line, 120, subsequent_indent="  ", break_on_hyphens=False) for line in slower),
        f"In all other measurements below, Tokbench is faster, or as fast within {1 - AS_FAST:.0%}.",
        fill(differing(rows), 120, break_on_hyphens=False),
        "![Time of other libraries, as multiples of Tokbench's](performance/peers.svg)",
        "## Method",
        "Each measurement is a process:",
        filled(HOW.format(rounds=ROUNDS, fewer=FEWER_ROUNDS, slow=SLOW)),
        "The texts:",
        filled(
            TEXTS.format(
                **kinds,
                short=texts["short"]["texts"],
                length=texts["short"]["bytes"] / texts["short"]["texts"],
                large=texts["large"]["bytes"] / 1e6,
                once=texts["large"]["once"] / 1e6,
            )
        ),
        filled(TOKENIZERS),
        fill(machine, 120, break_on_hyphens=False),
        "`make benchmarks` repeats the measurements and writes this page. [`runs.parquet`](performance/runs.parquet)\n"
        "has every measurement, [`benchmarks/speed/`](../../benchmarks/speed) the programs.",
        "## Encoding one text, one thread",
        speeds(rows, "text"),
        "## Large text, one thread",
        LARGE,
        speeds(rows, "large", ["cold"]),
        "## Short texts and batches",
        filled(SHORT.format(half=texts["short"]["texts"] // 2, documents=texts["texts"]["languages"]["documents"])),
        "One by one, one thread:",
        speeds(rows, "loop"),
        "In one call:",
        speeds(rows, "batch"),
        "## A first text, one thread",
        FIRST.format(size=FIRST_BYTES / 1e6),
        speeds(rows, "first", ["first"]),
        "## From the start of the process to the first ids",
        START,
        starts(rows),
        "## Decoding",
        DECODE,
        speeds(rows, "decode", ["decode"]),
        "## Long pre-tokens",
        LONG.format(limit=next(task.limit for task in TASKS if task.kind == "long")),
        long_runs(rows),
        "## Counting pre-tokens",
        seconds(rows, "count", "count", "unique pre-tokens"),
        "## Training",
        TRAIN.format(size=32_768),
        seconds(rows, "train", "train", "tokens"),
        *everyday(results / "everyday.json"),
        *cache_misses(results / "misses.json"),
        "## Measured once",
        ONCE,
        *studies(results),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", type=Path, help="folder of performance.md and performance/")
    arguments = parser.parse_args()
    text = page(arguments.results / "performance")
    (arguments.results / "performance.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
