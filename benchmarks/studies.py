"""Longer comparisons that print a report of their own, which docs/performance.md quotes.

A study is a script of this folder that prints its report to standard output. Add one by naming it in :func:`studies`.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tasks import LANGUAGES

HERE = Path(__file__).parent
LIMIT = 600
"""Seconds after which a study is given up."""


class Study(NamedTuple):
    """A script, its arguments, and what it is about.

    Attributes:
        name: of the script, without its suffix, and of the report.
        title: what the page calls it.
        arguments: of the script.
    """

    name: str
    title: str
    arguments: list[str]


def studies(folder: Path, size: int, words: list[str] | None, sage: str | None) -> Iterator[Study]:
    """The studies that can be made of what there is: word lists, an interpreter with ``sage-tokenizer``."""
    if words:
        yield Study("bench_greedtok", "GreedTok on the words of the UN", words)
        yield Study("bench_picky", "Picky BPE on the words of the UN", words)
    initial = folder / f"merge_{size}" / "tokens.vocab"
    reference = ["--reference", sage] if sage else []
    yield Study("bench_sage", "SaGe", [str(folder / "documents.parquet"), str(initial), *reference])
    texts = [path for path in (folder / "text_1.txt", folder / f"{LANGUAGES}_text_1.txt") if path.exists()]
    yield Study("second_core", "The second core", list(map(str, texts)))
    yield Study("agreement_unigram", "Agreement of Unigram", [str(folder / "documents_1.jsonl")])


def write_reports(found: Iterator[Study], folder: Path) -> None:
    """Run each study and write what it prints, or why it could not be made, to ``{name}.txt``, its title first."""
    folder.mkdir(parents=True, exist_ok=True)
    for study in found:
        script = HERE / f"{study.name}.py"
        if not script.exists():
            continue
        print(study.title, file=sys.stderr, flush=True)
        try:
            command = [sys.executable, str(script), *study.arguments]
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
            told = done.stdout if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2] + "\n"
        except subprocess.TimeoutExpired:
            told = f"not done in {LIMIT} s\n"
        (folder / f"{study.name}.txt").write_text(f"{study.title}\n{told}", encoding="utf-8")
