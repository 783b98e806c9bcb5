"""Worker process: runs one task and prints its time and number of tokens as one line of JSON.

    python -m benchmarks.speed.worker peers.tiktoken encode_bpe '{"folder": "build/benchmarks"}'
    python -m benchmarks.speed.worker --versions tokenizers tiktoken

The module is ``ours`` or one of ``peers``. The function accepts a :class:`Job` and returns the number of tokens.

Uses only the standard library, so that the interpreters of Tokbench and of the peers can import it.
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
    """Files and settings of a task.

    Attributes:
        folder: scratch folder with the output of ``prepare.py`` and of earlier jobs.
        size: tokens of the vocabulary; for GreedTok without the 256 bytes.
        threads: number of threads, and of available processors.
        corpus: prefix of the file names of the text; empty for the first text.
        vocabulary: name of the tokenizer, for functions with several.
        share: share of the text, in complete documents from the first: 1, 0.5 or 0.25.
        seconds: wall-clock time of the work, after it is done.
        processor_seconds: processor time of the work, over all threads.
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
        """Add the time of the block to the job."""
        start, processor = time.perf_counter(), time.process_time()
        yield
        self.seconds += time.perf_counter() - start
        self.processor_seconds += time.process_time() - processor

    def file(self, name: str, suffix: str) -> Path:
        """Return a file of the share of the text."""
        return self.folder / f"{self.corpus}{'_' * bool(self.corpus)}{name}_{self.share:g}.{suffix}"

    @property
    def text(self) -> Path:
        """The concatenated documents, a file of plain text."""
        return self.file("text", "txt")

    @property
    def counts(self) -> Path:
        """Pre-token counts of the text, a Parquet file."""
        return self.file("counts", "parquet")

    def tokenizer(self, name: str) -> Path:
        """Return the folder of a tokenizer; files for peers have the same path with a suffix."""
        return self.folder / f"{name}_{self.size}"

    def documents(self) -> list[str]:
        """Return the documents of the text."""
        with self.file("documents", "jsonl").open(encoding="utf-8") as lines:
            return [json.loads(line)["text"] for line in lines]

    def lines(self) -> list[str]:
        """Return the lines of the documents with their ends, for libraries that are slow on long documents."""
        return [line for document in self.documents() for line in document.splitlines(keepends=True)]

    def words(self, name: str) -> dict[str, int]:
        """Return words and their counts from ``{name}.json``; U+0120 is a space."""
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
