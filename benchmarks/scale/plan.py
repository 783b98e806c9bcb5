"""The experiment whose stages are measured at scale, and its jobs as the workflow itself would start them.

The command lines are those that ``snakemake --dry-run --printshellcmds`` prints; what a rule gives a command that takes
no ``--memory`` stands in the rule. Only the standard library is imported, see ``speed/measure.py``.
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
"""The corpus."""
SHARDS = 17
"""One more than are merged, or encoded and packed, by one job, so that every stage of a large corpus is there."""
MODEL = "mpt_350m"
FIRST, SCORE, THEN = ["merge_counts", "train_byte_lm"], ["score_bytes"], ["pack", "measure"]
"""Rules up to which jobs run before it is asked what scoring takes, with a model of that size, then what building."""
BY_RECIPE, LEAST_MB = ("train_byte_lm", "score_bytes"), 4000
"""Rules that ask for what their model needs, and for at least so much: :data:`tokbench.workflow.corpora.MEMORY`."""
MOST_MINUTES = {"train_byte_lm": 2880, "score_bytes": 1440}
"""What they ask for while there is no text to tell their time by, see :mod:`tokbench.workflow.corpora`."""
SHELL = "Shell command: "
MOST_SHARDS = 9999
"""That a configuration takes."""
SHARD_BYTES = 250_000_000


@dataclass(frozen=True)
class Corpus:
    """A corpus that others have published.

    Attributes:
        name: what it is called.
        text: bytes of its text, published or assumed.
        documents: their number, published or assumed.
    """

    name: str
    text: float
    documents: int

    @property
    def shards(self) -> int:
        """As many as it takes, or may have."""
        return min(MOST_SHARDS, math.ceil(self.text / SHARD_BYTES))


CORPORA = (
    Corpus("MiniPile", 6e9, 1_010_500),
    Corpus("the Pile", 825 * 2**30, 211_043_181),
    Corpus("Common Corpus", 8e12, 500_000_000),
)


@dataclass(frozen=True)
class Job:
    """A process of the workflow.

    Attributes:
        stage: its rule; of a construction its name behind it.
        name: unique among the jobs of its rule.
        command: words of its command line; a star outside quotes of the shell stays.
        log: where its messages go.
        bound_mb: memory that its rule gives it, of 10**6 bytes.
        outputs: files and folders that it writes.
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
    """The configuration: one vocabulary of each construction, one set of packed sequences.

    Args:
        folder: holds ``text.jsonl``, and takes the results.
        size: tokens of each vocabulary.
        shards: of the corpus.
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
    """What Snakemake says that it would do, working in a folder.

    Raises:
        SystemExit: it says why it would not.
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
    """The jobs that are left to do up to some rules, each after those that it needs."""
    said = dry_run(folder, configuration, until, "--printshellcmds")
    lines = (line.removeprefix(SHELL) for line in said.splitlines() if line.startswith(SHELL))
    return [job(line) for line in lines]


def numbers(folder: Path, corpus: Corpus, size: int) -> dict[str, int]:
    """Jobs of each rule for a corpus; the folder holds any text, of which nothing is read."""
    configuration = experiment(folder, size, corpus.shards)
    said = dry_run(folder, configuration, THEN, "--quiet", "rules")
    _, _, listed = said.partition("Job stats:")
    found = dict(re.findall(r"^(\w+) +(\d+)$", listed, re.MULTILINE))
    return {rule: int(number) for rule, number in found.items() if rule != "total"}


def job(line: str) -> Job:
    """A job from its rule's shell command."""
    call, _, log = line.rpartition(" &> ")
    rule, name = re.search(r"/logs/(\w+)/(.+)\.log$", shlex.split(log)[0]).groups()  # type: ignore[union-attr]
    words = shlex.split(call)
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
    """What a rule asks for at its first attempt: MB of memory, or minutes of ``runtime``."""
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
