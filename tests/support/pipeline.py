"""The pipeline from documents to measurements by commands, as the rules run it, for every construction."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokbench.commands.main import main
from tokbench.construction import constructions
from tokbench.segmentation import segmentations

WITH_BITS = ("bpe", "pathpiece", "unigram")
"""Constructions whose tokenizers have token n-gram models."""


def words(arguments: Sequence[Any]) -> list[str]:
    """Arguments of the command line; what is no text, as JSON."""
    return [argument if isinstance(argument, str) else json.dumps(argument) for argument in arguments]


def call(*arguments: Any) -> None:
    """A command in this process."""
    main(words(arguments))


@dataclass(frozen=True)
class Chain:
    """Where the files of a chain go, and what must not change them.

    Attributes:
        folder: everything is written below it.
        shards: into how many a corpus is cut.
        threads: how many build a vocabulary.
        backwards: whether shards and measurements are named last to first.
    """

    folder: Path
    shards: int
    threads: int = 1
    backwards: bool = False

    def path(self, *parts: str) -> str:
        """A file or folder, in a folder that is there."""
        place = self.folder.joinpath(*parts)
        place.parent.mkdir(parents=True, exist_ok=True)
        return str(place)

    def turned(self, files: list[str]) -> list[str]:
        return files[::-1] if self.backwards else files

    def split(self, name: str) -> list[str]:
        """The shards of a split."""
        return self.turned([self.path("corpus", name, f"{shard:04}.parquet") for shard in range(self.shards)])

    def measured(
        self, corpus: Mapping[str, Any], byte_lm: Mapping[str, Any], size: str, options: Mapping[str, Sequence[str]]
    ) -> list[str]:
        """Make everything up to the measurements; tokenizers and measurements as flags of ``tabulate``.

        Tokenizers are compared in the order in which they are named, so that theirs is never turned.

        Args:
            corpus: its recipe but for the shards.
            byte_lm: recipe of the byte language model.
            size: of every vocabulary.
            options: of the constructions that have other than their defaults.
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
            call("measure", tokenizer, "--counts", self.path("counts", "evaluation.parquet"), "-o", found)
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
    """Every construction with every segmentation that fits what it makes."""
    found = []
    for construction in constructions.methods():
        own = construction.segmentation
        made = segmentations[own].needs
        for cut in segmentations.methods():
            if cut.name == own or (own != "longest_prefix" and cut.needs in (None, made)):
                found.append((construction.name, cut.name))
    return found
