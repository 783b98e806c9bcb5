"""Run one task in this process and print its time and number of tokens as one line of JSON.

    python -m benchmarks.speed.worker peers.tiktoken encode_bpe '{"folder": "build/benchmarks"}'
    python -m benchmarks.speed.worker --versions tokenizers tiktoken

The module is ``ours`` or one of ``peers``; the function takes a :class:`Job` and returns how many tokens came of it.

Only the standard library is used, so that the interpreter of the peers can import this as well as ours.
"""

import importlib
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


@dataclass
class Job:
    """Files and settings of one piece of work.

    Attributes:
        folder: scratch folder with the files that ``prepare.py`` writes and what earlier jobs kept.
        size: tokens of the vocabulary that is made or used; for GreedTok without the 256 bytes.
        threads: threads to use; the process may run on as many processors.
        corpus: whose text, in the names of its files; nothing for the first.
        vocabulary: name of the tokenizer, where a function is for several.
        share: part of the text to take, in whole documents from the first on: 1, 0.5 or 0.25.
        seconds: wall-clock time of the work, once it is done.
        processor_seconds: processor time of the work, of all threads together.
    """

    folder: Path
    size: int = 32768
    threads: int = 1
    share: float = 1.0
    corpus: str = ""
    vocabulary: str = "merge"
    seconds: float = field(default=0.0, init=False)
    processor_seconds: float = field(default=0.0, init=False)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Take the time of the block; of several blocks, their sum."""
        start, processor = time.perf_counter(), time.process_time()
        yield
        self.seconds += time.perf_counter() - start
        self.processor_seconds += time.process_time() - processor

    def file(self, name: str, suffix: str) -> Path:
        """A file of the part of the text."""
        return self.folder / f"{self.corpus}{'_' * bool(self.corpus)}{name}_{self.share:g}.{suffix}"

    @property
    def text(self) -> Path:
        """The documents end to end, one file of plain text."""
        return self.file("text", "txt")

    @property
    def counts(self) -> Path:
        """The text's pre-tokens and their counts, Parquet."""
        return self.file("counts", "parquet")

    def tokenizer(self, name: str) -> Path:
        """Folder of a tokenizer of ours; what a peer takes instead has the same path with a suffix."""
        return self.folder / f"{name}_{self.size}"

    def documents(self) -> list[str]:
        """The text as a list of documents."""
        with self.file("documents", "jsonl").open(encoding="utf-8") as lines:
            return [json.loads(line)["text"] for line in lines]

    def lines(self) -> list[str]:
        """The documents' lines with their ends, for libraries that go through whole documents slowly."""
        return [line for document in self.documents() for line in document.splitlines(keepends=True)]

    def words(self, name: str) -> dict[str, int]:
        """Words and their counts from ``{name}.json``; a space is spelt U+0120."""
        found: dict[str, int] = json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
        return found


def version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def main() -> None:
    if sys.argv[1] == "--versions":
        print(json.dumps({package: version_of(package) for package in sys.argv[2:]}))
        return
    module, function, settings = sys.argv[1:]
    values = json.loads(settings)
    job = Job(**{**values, "folder": Path(values["folder"])})
    tokens = getattr(importlib.import_module(f"benchmarks.speed.{module}"), function)(job)
    print(json.dumps({"work": job.seconds, "work_processor": job.processor_seconds, "tokens": tokens}))


if __name__ == "__main__":
    main()
