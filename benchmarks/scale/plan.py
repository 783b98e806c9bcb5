"""Experiment whose stages are measured at scale, and the jobs of its workflow.

The command lines come from ``snakemake --dry-run --printshellcmds``. The memory of commands without ``--memory`` is
parsed from their rule. Only the standard library is imported, see ``speed/measure.py``.
"""

import json
import math
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from glob import glob
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CONSTRUCTIONS = ("bpe", "wordpiece", "unigram", "pathpiece", "greedtok", "picky_bpe", "sage")
INITIAL = {"initial": "ngram", "initial_size": 65_536}
TEXT = "text"
"""Name of the corpus."""
SHARDS = 17
"""Number of shards: one more than a job merges, or encodes and packs, so that all stages of a large corpus run."""
MODEL = "mpt_350m"
FIRST, SCORE, THEN = ["merge_counts", "train_byte_lm"], ["score_bytes"], ["pack", "measure"]
"""Rules in three rounds, because the resources of scoring depend on the model, and those of building on the scores."""
BY_RECIPE, LEAST_MB = ("train_byte_lm", "score_bytes"), 4000
"""Rules that request memory by their model, and their minimum: :data:`tokbench.workflow.corpora.MEMORY`."""
MOST_MINUTES = {"train_byte_lm": 2880, "score_bytes": 1440}
"""Minutes that they request if there is no text yet, see :mod:`tokbench.workflow.corpora`."""
SHELL = "Shell command: "
MOST_SHARDS = 9999
"""Maximum number of shards in a configuration."""
SHARD_BYTES = 250_000_000


@dataclass(frozen=True)
class Corpus:
    """A published corpus.

    Attributes:
        name: its name.
        text: size of its text in bytes, published or assumed.
        documents: number of documents, published or assumed.
    """

    name: str
    text: float
    documents: int

    @property
    def shards(self) -> int:
        """Number of shards for its text, up to the maximum."""
        return min(MOST_SHARDS, math.ceil(self.text / SHARD_BYTES))


CORPORA = (
    Corpus("MiniPile", 6e9, 1_010_500),
    Corpus("the Pile", 825 * 2**30, 211_043_181),
    Corpus("Common Corpus", 8e12, 500_000_000),
)


@dataclass(frozen=True)
class Job:
    """A job of the workflow.

    Attributes:
        stage: its rule, followed by the construction if there is one.
        name: unique name among the jobs of its rule.
        command: words of its command line, with unexpanded wildcards.
        log: path of its log.
        bound_mb: memory limit of its rule in MB (10**6 bytes).
        outputs: output files and folders.
    """

    stage: str
    name: str
    command: list[str]
    log: Path
    bound_mb: int
    outputs: list[Path]

    def words(self) -> list[str]:
        """Return the command line with wildcards expanded to existing files."""
        return [part for word in self.command for part in (sorted(glob(word)) if "*" in word else [word])]


def experiment(folder: Path, size: int, shards: int = SHARDS) -> dict[str, Any]:
    """Return the configuration: one vocabulary of each construction, one set of packed sequences.

    Args:
        folder: folder of ``text.jsonl`` and of the results.
        size: tokens of each vocabulary.
        shards: number of shards of the corpus. Default: 17.
    """
    same = {"tokenizer": 1.0, "byte_lm": "tokenizer", "evaluation": "tokenizer", "pretraining": "tokenizer"}
    source = {"type": "jsonl", "path": str(folder / f"{TEXT}.jsonl")}
    variants: dict[str, dict[str, Any]] = {
        name: {"pretokenization": "gpt2", "construction": {"method": name}} for name in CONSTRUCTIONS
    }
    for name in ("pathpiece", "sage"):
        variants[name]["construction"] |= INITIAL
    variants["bytespan"] = {"pretokenization": "gpt2", "construction": "bytespan", "byte_lm": "ngram"}
    return {
        "name": "scale",
        "results": str(folder),
        "corpora": {TEXT: {"source": source, "shards": shards, "splits": same}},
        "byte_lms": {"ngram": "ngram"},
        "variants": variants,
        "sizes": [size],
        "models": {"model": MODEL},
        "suites": {"offline": "offline"},
        "runs": [{"models": ["model"], "variants": ["bpe"], "suites": ["offline"]}],
    }


def dry_run(folder: Path, configuration: dict[str, Any], until: list[str], *more: str) -> str:
    """Return the output of a dry run of Snakemake in a folder.

    Raises:
        SystemExit: Snakemake fails; the message has its output.
    """
    file = folder / "scale.yaml"
    file.write_text(json.dumps(configuration), encoding="utf-8")
    asked = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile"), "-d", str(folder), "--cores", "1"]
    asked += ["--configfile", str(file), "--dry-run", *more, "--until", *until]
    done = subprocess.run(asked, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    return done.stdout + done.stderr


def planned(folder: Path, configuration: dict[str, Any], until: list[str]) -> list[Job]:
    """Return the remaining jobs up to some rules, in order of their dependencies."""
    said = dry_run(folder, configuration, until, "--printshellcmds")
    lines = (line.removeprefix(SHELL) for line in said.splitlines() if line.startswith(SHELL))
    return [job(line) for line in lines]


def numbers(folder: Path, corpus: Corpus, size: int) -> dict[str, int]:
    """Return the number of jobs of each rule for a corpus; the text in the folder is not read."""
    configuration = experiment(folder, size, corpus.shards)
    said = dry_run(folder, configuration, THEN, "--quiet", "rules")
    _, _, listed = said.partition("Job stats:")
    found = dict(re.findall(r"^(\w+) +(\d+)$", listed, re.MULTILINE))
    return {rule: int(number) for rule, number in found.items() if rule != "total"}


def job(line: str) -> Job:
    """Parse a job from the shell command of its rule."""
    call, _, log = line.rpartition(" &> ")
    rule, name = re.search(r"/logs/(\w+)/(.+)\.log$", shlex.split(log)[0]).groups()  # type: ignore[union-attr]
    words = shlex.split(call)
    words = words[words.index("tokbench") :]  # After the record of the job.
    flags = {flag: word for flag, word in pairwise(words) if flag.startswith("-")}
    stage = f"{rule} {words[2]}" if words[1] == "build" else rule
    return Job(
        stage=stage,
        name=name,
        command=[sys.executable, "-P", "-m", *words],
        log=Path(shlex.split(log)[0]),
        bound_mb=int(flags.get("--memory") or of_rule(rule)),
        outputs=[Path(flags[flag]) for flag in ("-o", "--token-counts") if flag in flags],
    )


def of_rule(rule: str, resource: str = "mem_mb") -> int:
    """Return the first request of a rule: MB of memory, or minutes of ``runtime``."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "rules").glob("*.smk")))
    _, _, own = text.partition(f"\nrule {rule}:\n")
    if resource == "mem_mb" and rule in BY_RECIPE:
        return LEAST_MB
    if rule in BY_RECIPE:
        return MOST_MINUTES[rule]
    found = re.search(rf"^        {resource}=(?:\w+\()?(\d+)\)?,$", own.partition("\nrule ")[0], re.MULTILINE)
    if found is None:
        raise SystemExit(f"rule {rule}: its {resource} is not a number")
    return int(found[1])
