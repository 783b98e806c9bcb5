"""Fast pipeline from documents to tables and report, with all constructions, by the commands of the workflow rules.

``python -m tests.support.pipeline FOLDER [CORES]`` runs it in a new process with at most CORES cores.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tests.support.processes import new_process_memory
from tests.support.small_report import whole
from tokbench.commands.main import main
from tokbench.construction import constructions
from tokbench.report.figures.style import COLUMN, svg
from tokbench.report.html import drawings, write_tables
from tokbench.segmentation import segmentations
from tokbench.statistics.cells import OUTCOME

ROOT = Path(__file__).parents[2]
WITH_BITS = ("bpe", "pathpiece", "unigram")
"""Constructions with token n-gram models."""


def words(arguments: Sequence[Any]) -> list[str]:
    """Return command-line arguments; values other than strings and paths as JSON."""
    return [argument if isinstance(argument, str) else json.dumps(argument) for argument in arguments]


def call(*arguments: Any) -> None:
    """Run a command in this process."""
    with new_process_memory():
        main(words(arguments))


def call_in_one_process(commands: Sequence[Sequence[Any]]) -> None:
    """Run commands one after another in a process of their own: those that train start threads and keep memory."""
    code = "import json, sys; from tests.support.pipeline import call\nfor line in json.load(sys.stdin): call(*line)"
    lines = json.dumps([words([str(part) if isinstance(part, Path) else part for part in line]) for line in commands])
    ended = subprocess.run([sys.executable, "-c", code], input=lines, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


@dataclass(frozen=True)
class Chain:
    """Output folder of a chain, and settings that must not affect the results.

    Attributes:
        folder: output folder.
        shards: number of shards of a corpus.
        threads: number of threads for constructions.
        backwards: if True, shards and measurements are listed in reverse order.
    """

    folder: Path
    shards: int
    threads: int = 1
    backwards: bool = False

    def path(self, *parts: str) -> str:
        """Return a path, and create its parent folder."""
        place = self.folder.joinpath(*parts)
        place.parent.mkdir(parents=True, exist_ok=True)
        return str(place)

    def turned(self, files: list[str]) -> list[str]:
        return files[::-1] if self.backwards else files

    def split(self, name: str) -> list[str]:
        """Return the shards of a split."""
        return self.turned([self.path("corpus", name, f"{shard:04}.parquet") for shard in range(self.shards)])

    def measured(
        self, corpus: Mapping[str, Any], byte_lm: Mapping[str, Any], size: str, options: Mapping[str, Sequence[str]]
    ) -> list[str]:
        """Run all steps up to the measurements; return tokenizers and measurements as flags of ``tabulate``.

        Tokenizers are compared in the given order, which is never reversed.

        Args:
            corpus: recipe of the corpus, without shards.
            byte_lm: recipe of the byte language model.
            size: size of every vocabulary.
            options: options of constructions that differ from their defaults.
        """
        call("prepare", "--recipe", {**corpus, "shards": self.shards}, "-o", self.path("corpus"))
        for name in ("tokenizer", "evaluation"):
            parts = [self.path("parts", name, Path(shard).name) for shard in self.split(name)]
            for shard, output in zip(self.split(name), parts, strict=True):
                call("count", "--scheme", "gpt2", shard, "-o", output)
            call("merge_counts", "-o", self.path("counts", f"{name}.parquet"), *parts)
        call("train_byte_lm", "--recipe", byte_lm, "-o", self.path("byte_lm"), *self.split("byte_lm"))
        scores = [self.path("scores", Path(shard).name) for shard in self.split("tokenizer")]
        for shard, output in zip(self.split("tokenizer"), scores, strict=True):
            call("score_bytes", "--recipe", byte_lm, "--model", self.path("byte_lm"), shard, "-o", output)
        sources = {
            "counts": [f"--counts={self.path('counts', 'tokenizer.parquet')}"],
            "scores": [f"--scores={file}" for file in scores],
        }
        sources["documents"] = [*sources["counts"], f"--documents={self.path('corpus')}"]
        made: list[str] = []
        measurements: list[str] = []
        for method in constructions.methods():
            tokenizer, found = self.path("tokenizers", method.name), self.path("intrinsic", f"{method.name}.json")
            chosen = [f"--set={option}" for option in options.get(method.name, ())]
            if method.initial and not any("initial_size" in option for option in chosen):
                chosen.append("--set=initial_size=2048")
            read = sources[method.source]
            call("build", method.name, *read, *chosen, "--size", size, f"--threads={self.threads}", "-o", tokenizer)
            text = ["--counts", self.path("counts", "evaluation.parquet")]
            if method.own_segmentation().segments_documents:
                text = [f"--documents={shard}" for shard in self.split("evaluation")]
            call("measure", tokenizer, *text, "-o", found)
            if method.name in WITH_BITS:
                bits = self.path("ngram_bits", f"{method.name}.json")
                texts = ["--train", *self.split("tokenizer"), "--test", *self.split("evaluation")]
                call("ngram_bits", tokenizer, "--order", "3", *texts, "-o", bits)
                measurements.append(f"--ngram-bits={bits}")
            made.append(f"--tokenizer={tokenizer}")
            measurements.append(f"--intrinsic={found}")
        return [*made, *self.turned(measurements)]


def done(outcome: Any) -> Any:
    assert outcome.status == 0, outcome.stderr
    return outcome


def combinations() -> list[tuple[str, str]]:
    """Return every construction with every compatible segmentation."""
    found = []
    for construction in constructions.methods():
        own = construction.segmentation
        made = segmentations[own].needs
        for cut in segmentations.methods():
            if cut.name == own or (own != "longest_prefix" and cut.needs in (None, made)):
                found.append((construction.name, cut.name))
    return found


CORPUS = {
    "source": {
        "type": "text",
        "path": str(Path(__file__).parents[2] / "docs" / "language_models.md"),
        "documents": "paragraph",
    },
    "splits": {"byte_lm": 0.2, "tokenizer": 0.5, "evaluation": 0.3},
    "seed": 0,
}
BYTE_LM = {"kind": "ngram", "order": 4}
SIZE = "900"
OPTIONS = {
    "convextok": ["steps=120"],
    "toast": ["steps=120"],
    "unigram": ["seed_size=4000"],
    "sage": ["initial_size=1600", "lines=150", "dimensions=16", "epochs=1"],
    "pathpiece": ["initial_size=1600", "ties=random"],
    "randtrain": ["initial_size=1600"],
}
"""Options of slow constructions, and of those with random draws."""


def make(folder: Path, *, threads: int = 1, backwards: bool = False) -> None:
    """Write all files below ``folder``, with ``threads`` threads, and optionally with inputs in reverse order."""
    chain = Chain(folder, shards=3, threads=threads, backwards=backwards)
    call("tabulate", *chain.measured(CORPUS, BYTE_LM, SIZE, OPTIONS), "-o", chain.path("tables"))
    answered([method.name for method in constructions.methods()], folder / "tables", folder / "answered")
    call("analyse", chain.path("answered"), "-o", chain.path("statistics"))


def answered(variants: list[str], tables: Path, folder: Path) -> None:
    """Write the tables with random answers of a model: 40 questions for each of three tasks."""
    draws = np.random.default_rng(0)
    outcomes = pl.DataFrame(
        [
            ("drawn", "offline", variant, int(SIZE), task, document, bool(draws.integers(3)))
            for variant in variants
            for task in ("choice_a", "choice_b", "choice_c")
            for document in range(40)
        ],
        schema=OUTCOME,
        orient="row",
    )
    keys = ["variant", "size", "model", "suite", "task"]
    folder.mkdir()
    scores = outcomes.group_by(keys, maintain_order=True).agg(
        pl.col("correct").mean().alias("accuracy"), random_baseline=pl.lit(0.5), n=pl.len().cast(pl.Int64)
    )
    for name in ("intrinsic", "tokens_by_document", "ngram_bits", "ngram_documents", "document_bits", "imported"):
        pl.read_parquet(tables / f"{name}.parquet").write_parquet(folder / f"{name}.parquet")
    scores.write_parquet(folder / "accuracy.parquet")
    outcomes.write_parquet(folder / "outcomes.parquet")


def figures(folder: Path) -> None:
    """Write the typeset tables of a small report, and figures with a linear axis, a logarithmic axis and a grid."""
    content = whole()
    write_tables(content, folder / "typeset")
    for drawing in drawings(content):
        if drawing.name.startswith(("average-ranks", "embedding-norms", "p-values")):
            (folder / f"{drawing.name}.svg").write_text(svg(drawing.draw(width=COLUMN)), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(sys.argv[2])])
    make(Path(sys.argv[1]))
    figures(Path(sys.argv[1]))
