"""Start of the papers' models on one GPU: their speed, memory and largest microbatch, and the time of a full training.

    python -m benchmarks.gpu.recipes --text novels.jsonl.gz --tokenizer bpe/40960 --greedtok greedtok/65536 \
        --limit 420 -o out

Each model is trained by the code of ``tokbench pretrain`` or ``tokbench train_byte_lm`` with its preset, for some
seconds. Changes to a preset are in the column ``changed``: a smaller batch where one takes minutes, then with a shorter
warm-up, so that the loss moves. The 350M model is also trained with small batches, killed and resumed. The texts are
packed first, and a model is built while an earlier one is trained.

Output in ``out``: ``recipes.csv`` (one row per training, :data:`benchmarks.gpu.recipe_rows.COLUMNS`), ``curves.csv``
(every batch of a short training, every tenth of a longer one), ``search.csv`` (microbatches), ``resume.json`` and
``table.md``, all written after every training. Other files are in ``rows``, ``packed`` and ``runs``.
"""

import argparse
import json
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from benchmarks.gpu.microbatches import search_microbatches
from benchmarks.gpu.recipe_rows import KILLED, PLAN, RESUMED, Run, vocabulary_of, write_csv, write_tables
from benchmarks.gpu.recipe_runs import curve_of, train_byte_model, train_model
from benchmarks.gpu.tables import write
from tokbench.models.pretraining.options import ModelOptions
from tokbench.models.sampler import peak_of

AHEAD = 2
"""Number of models that are built while another is trained."""
START = 4.0
"""Seconds between two trainings, for the end of one and the warm-up of the next."""
SPARE = 6.0
"""Seconds of the limit reserved for the tables."""


def share(run: Run, later: Sequence[Run], left: float) -> float:
    """Return the measured seconds of a training, so that the later ones get the same part of their plan.

    Args:
        run: the training.
        later: the trainings after it.
        left: seconds until the limit.
    """
    planned = sum(each.seconds or float(each.kill_after or 0) for each in (run, *later))
    usable = left - START * (1 + len(later))
    return run.seconds * max(0.1, min(1.0, usable / max(planned, 1.0)))


def pack_text(text: Path, tokenizer: Path, options: ModelOptions, output: Path) -> None:
    """Pack the documents of a file, as ``tokbench pack``."""
    from tokbench.corpus.text_files import read_files
    from tokbench.io.identity import Maker
    from tokbench.models.pretraining.order import Slices, encode_documents, sort_documents
    from tokbench.models.pretraining.pack import SliceForm, pack
    from tokbench.tokenizer import Tokenizer

    if output.is_dir():
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    loaded = Tokenizer.load(tokenizer)
    ordered = sort_documents(encode_documents(loaded, read_files([str(text)])), options.seed, output.parent)
    slices, maker = Slices.one_per_phase(options.seed, options.second_phase), Maker(loaded.digest, tokenizer)
    pack(ordered, SliceForm(slices, options.max_seq_len, loaded.id_limit, loaded.end_of_text, maker), output)


def read_texts(text: Path) -> Iterator[bytes]:
    """Yield the documents of a file."""
    from tokbench.corpus.text_files import read_files

    for document in read_files([str(text)]):
        yield document.text


@dataclass(slots=True)
class Child:
    """A process of a training and the connection to it."""

    process: SpawnProcess
    connection: Connection
    is_building: bool = False

    def build(self) -> None:
        """Let it build its model, once."""
        if not self.is_building:
            self.is_building = True
            self.connection.send("build")

    def is_built_by(self, deadline: float) -> bool:
        """Wait until the model is built; return False if the process ended or the deadline came."""
        try:
            return self.connection.poll(max(0.0, deadline - time.monotonic())) and self.connection.recv() == "built"
        except (EOFError, OSError):
            return False

    def end(self) -> None:
        """Kill the process, if it is alive, and wait for its end."""
        self.process.kill()
        self.process.join()


class Benchmark:
    """All trainings of a plan.

    Args:
        plan: the trainings.
        changes: by name, options that replace those of the preset.
        text: file of documents.
        tokenizers: by preset, the folder of the tokenizer.
        output: output folder.
        deadline: time of :func:`time.monotonic` at which the last training ends.
    """

    def __init__(
        self,
        plan: Sequence[Run],
        changes: Mapping[str, Mapping[str, object]],
        text: Path,
        tokenizers: Mapping[str, Path],
        output: Path,
        deadline: float,
    ) -> None:
        self._plan = plan
        self._changes = changes
        self._text = text
        self._tokenizers = tokenizers
        self._output = output
        self._deadline = deadline
        self._spawned = multiprocessing.get_context("spawn")

    def run(self, machine: dict[str, Any], search_seconds: float) -> list[dict[str, Any]]:
        """Search microbatches, train all models within the limit, and return the rows of the table."""
        children = [self._child(run) for run in self._plan]
        packers = self._packers()
        searching = self._search(machine, search_seconds, packers)
        _say(f"microbatches searched: {searching}")
        ended: set[str] = set()
        rows: list[dict[str, Any]] = []
        try:
            for number, run in enumerate(self._plan):
                child, until = children[number], self._deadline
                for later, other in zip(self._plan[number:][: AHEAD + 1], children[number:], strict=False):
                    if later.name != RESUMED or KILLED in ended or later is run:
                        other.build()
                if child.is_built_by(until):
                    seconds = share(run, self._plan[number + 1 :], self._deadline - time.monotonic())
                    _say(f"{run.name}: {seconds:.0f} s")
                    child.connection.send(None if run.kill_after is not None else seconds)
                    self._wait(run, child)
                child.end()
                ended.add(run.name)
                rows = write_tables(self._plan, self._changes, machine, self._output)
                _say(f"{run.name}: {_summary(rows[number])}")
        finally:
            for process in (*packers, *(child.process for child in children)):
                if process.is_alive():
                    process.kill()
                    process.join()
        return rows

    def _wait(self, run: Run, child: Child) -> None:
        """Wait for the end of a training, or kill it after its batches or at the deadline."""
        folder = self._output / "runs" / (run.folder or run.name)
        while child.process.is_alive() and time.monotonic() < self._deadline:
            child.process.join(0.2)
            if run.kill_after is not None and len(curve_of(folder)) >= run.kill_after and child.process.pid:
                os.kill(child.process.pid, signal.SIGKILL)
                child.process.join()
        child.end()
        if run.kill_after is not None and (curve := curve_of(folder)):
            write_csv(self._output / "runs" / run.name / "curve.csv", ["batch", "loss"], curve)

    def _child(self, run: Run) -> Child:
        here, there = self._spawned.Pipe()
        folder, row = self._output / "runs" / (run.folder or run.name), self._output / "rows" / f"{run.name}.json"
        folder.mkdir(parents=True, exist_ok=True)
        (self._output / "runs" / run.name).mkdir(exist_ok=True)
        options = run.recipe(self._changes[run.name])
        process = self._spawned.Process(
            target=train_byte_model if run.is_of_bytes else train_model,
            args=(partial(read_texts, self._text), options, folder, row, there)
            if run.is_of_bytes
            else (self._packed(run), self._tokenizers[run.preset], options, folder, row, there),
        )
        process.start()
        there.close()
        return Child(process, here)

    def _packed(self, run: Run) -> Path:
        options = run.recipe(self._changes[run.name])
        assert isinstance(options, ModelOptions)
        phases = "" if options.second_phase is None else "-phases"
        return self._output / "packed" / f"{self._tokenizers[run.preset].name}-{options.max_seq_len}{phases}"

    def _packers(self) -> list[SpawnProcess]:
        """Start a process for each packing."""
        jobs = {}
        for run in self._plan:
            options = run.recipe(self._changes[run.name])
            if isinstance(options, ModelOptions):
                jobs[self._packed(run)] = (self._tokenizers[run.preset], options)
        processes = [
            self._spawned.Process(target=pack_text, args=(self._text, tokenizer, options, packed))
            for packed, (tokenizer, options) in jobs.items()
        ]
        for process in processes:
            process.start()
        return processes

    def _search(self, machine: dict[str, Any], seconds: float, packers: Sequence[SpawnProcess]) -> bool:
        """Search microbatches while the texts are packed; return True if the search ended in time."""
        from tokbench.vocabulary import Vocabulary

        sizes = {preset: len(Vocabulary.read(folder).by_id) for preset, folder in self._tokenizers.items()}
        recipes = {run.preset: (run.recipe(self._changes[run.name]), sizes.get(run.preset, 256)) for run in self._plan}
        process = self._spawned.Process(target=search_microbatches, args=(recipes, self._output / "search.json"))
        until = min(self._deadline, time.monotonic() + seconds)
        if seconds:
            process.start()
            process.join(max(0.0, until - time.monotonic()))
        for packer in packers:
            packer.join(max(0.0, self._deadline - time.monotonic()))
        machine["vocabularies"] = {
            run.preset: vocabulary_of(self._packed(run))
            for run in self._plan
            if not run.is_of_bytes and self._packed(run).is_dir()
        }
        if not seconds:
            return False
        in_time = not process.is_alive()
        process.kill()
        process.join()
        return in_time


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


def _summary(row: Mapping[str, Any]) -> str:
    if row["failed"] or not row["recipe_tokens_per_second"]:
        return str(row["failed"] or f"{row['batches']} batches")
    share_of_peak = "" if row["mfu"] is None else f", MFU {row['mfu']:.1%}"
    return f"{row['recipe_tokens_per_second']:,.0f} tokens a second{share_of_peak}"


def main() -> None:
    began = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, required=True, help="documents, a file that 'tokbench' reads")
    parser.add_argument("--tokenizer", type=Path, required=True, help="tokenizer's folder of the MPT models")
    parser.add_argument("--greedtok", type=Path, required=True, help="tokenizer's folder of GreedTok's model")
    parser.add_argument("--limit", type=float, required=True, help="time limit in seconds")
    parser.add_argument("--search", type=float, default=75.0, help="time limit of the search for microbatches; 0: none")
    parser.add_argument("--only", nargs="+", help=f"some of {', '.join(run.name for run in PLAN)}")
    parser.add_argument("--changes", type=json.loads, default={}, help="by name, options that replace others, as JSON")
    parser.add_argument(
        "--peak", type=float, help="bfloat16 peak of the device in TFLOP/s, if it is not in the built-in list"
    )
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()

    plan = [run for run in PLAN if given.only is None or run.name in given.only]
    changes = {run.name: {**run.changes, **given.changes.get(run.name, {})} for run in plan}
    tokenizers = {
        run.preset: given.greedtok if run.preset == "greedtok_1b" else given.tokenizer
        for run in plan
        if not run.is_of_bytes
    }
    given.output.mkdir(parents=True, exist_ok=True)
    machine: dict[str, Any] = {"vocabularies": {}, **_machine(given.peak)}
    benchmark = Benchmark(plan, changes, given.text, tokenizers, given.output, began + given.limit - SPARE)
    rows = benchmark.run(machine, given.search)
    write(given.output / "machine.json", machine)
    failed = sum(row["failed"] is not None for row in rows)
    print((given.output / "table.md").read_text(encoding="utf-8"))
    print(f"{len(rows) - failed} of {len(rows)} trainings, {time.monotonic() - began:.0f} s; see {given.output}")


def _machine(peak: float | None) -> dict[str, Any]:
    """Return the device, its peak in TFLOP/s if known or given, and versions. This process does not use the GPU."""
    import importlib.metadata
    import platform
    import subprocess

    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        name = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError):
        name = "cpu"
    packages = ("tokbench", "torch", "llm-foundry", "mosaicml", "transformers", "numpy")
    known = {dist.metadata["Name"] for dist in importlib.metadata.distributions()}
    return {
        "device": name,
        "peak_tflops": peak or peak_of(name),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in packages if name in known},
    }


if __name__ == "__main__":
    main()
