"""Out of memory: a result equals that of unlimited memory, or the status is not zero and there is no output."""

import hashlib
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tokbench.commands.main import main
from tokbench.construction import constructions
from tokbench.counting.count import count_pretokens
from tokbench.segmentation import segmentations

RUNGS = (0.0, 0.02, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.99)
"""Memory allowed, as parts of the most that the command takes without a limit."""
QUICK = {
    "convextok": ["--set=steps=20"],
    "pathpiece": ["--set=initial_size=2000"],
    "randtrain": ["--set=initial_size=2000"],
    "sage": ["--set=initial_size=1100", "--set=dimensions=4", "--set=epochs=1", "--set=lines=40"],
}
MAKERS = {"events": "picky_bpe", "likelihood": "unigram", "post_removal": "bpe_trimmed"}
"""Constructions whose vocabularies have what a segmentation needs, where BPE's have not."""
COMMANDS = ("build", "encode", "measure")
TIMED = {"manifest.json"}
FRUGAL = {
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
    "POLARS_MAX_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "RAYON_NUM_THREADS": "1",
}
"""Keeps libraries from taking much address space at once, so that limits bite where the work is."""
PARTIAL = re.compile(r"\..*\.partial")
"""Names of what a process was writing when it died; the next run removes it."""


@dataclass(frozen=True)
class End:
    """How a process ended, and what it left."""

    status: int
    peak: int
    stdout: bytes
    stderr: str
    left: dict[str, str]


def contents(folder: Path) -> dict[str, str]:
    """Digests of all files; without those that have the time, and without partial outputs."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
        if path.name not in TIMED and not any(map(PARTIAL.fullmatch, path.relative_to(folder).parts))
    }


class Zygote:
    """The process of :mod:`tests.support.fork_server`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = 0
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.fork_server", *COMMANDS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | FRUGAL,
            cwd=Path(__file__).parents[1],
        )

    def run(self, *arguments: Any, allowed: int | None = None) -> End:
        """Run the command line; OUT in the arguments is a folder of its own."""
        self.runs += 1
        place = self.folder / str(self.runs)
        (place / "out").mkdir(parents=True)
        streams = [str(place / "stdout"), str(place / "stderr")]
        texts = [str(argument).replace("OUT", str(place / "out")) for argument in arguments]
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps({"arguments": texts, "allowed": allowed, "streams": streams}), file=self.process.stdin)
        self.process.stdin.flush()
        found = json.loads(self.process.stdout.readline())
        stdout, stderr = (Path(stream).read_bytes() for stream in streams)
        return End(**found, stdout=stdout, stderr=stderr.decode(), left=contents(place / "out"))


@pytest.fixture(scope="module")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    made = Zygote(tmp_path_factory.mktemp("runs"))
    yield made
    assert made.process.stdin is not None
    made.process.stdin.close()
    assert made.process.wait() == 0


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a text of about 120 kB with its counts, documents and byte scores."""
    folder = tmp_path_factory.mktemp("made")
    draw = random.Random(0)
    words = ["".join(draw.choices("etaoinshrdlucmfw", k=draw.randrange(2, 9))) for _ in range(3000)]
    texts = [" ".join(draw.choices(words, k=500)).encode() + b"\n" for _ in range(40)]
    (folder / "text.txt").write_bytes(b"".join(texts))
    count_pretokens(texts, "gpt2").write(folder / "counts.parquet")
    lists = pl.List(pl.Float32)
    values = [np.frombuffer(text, np.uint8).astype(np.float32).tolist() for text in texts]
    pl.DataFrame(
        {"document": range(len(texts)), "language": "", "text": texts, "surprisal": values, "entropy": values},
        schema={"document": pl.Int64, "language": pl.String, "text": pl.Binary, "surprisal": lists, "entropy": lists},
    ).write_parquet(folder / "scores.parquet")
    for cut in segmentations:
        call = ["build", MAKERS.get(cut, "bpe"), "--counts", f"{folder}/counts.parquet", "--size", "600"]
        main([*call, "--segmentation", cut, "-o", f"{folder}/{cut}"])
    main(["encode", f"{folder}/merge", f"{folder}/text.txt", "-o", f"{folder}/ids.npy"])
    return folder


def climb(zygote: Zygote, *arguments: Any) -> None:
    """Run a command in less and less memory."""
    unlimited = zygote.run(*arguments)
    assert unlimited.status == 0, unlimited.stderr
    statuses = []
    for rung in RUNGS:
        end = zygote.run(*arguments, allowed=int(rung * unlimited.peak))
        case = f"{rung} of {unlimited.peak:,} bytes: {end}"
        statuses.append(end.status)
        if end.status == 0:
            assert (end.stdout, end.left) == (unlimited.stdout, unlimited.left), case
        else:
            assert end.left == {}, case
    assert any(statuses), unlimited


def source(method: str, made: Path) -> list[str]:
    match constructions[method].source:
        case "scores":
            return [f"--scores={made}/scores.parquet", "--scheme=gpt2"]
        case "documents":
            return [f"--counts={made}/counts.parquet", f"--documents={made}/scores.parquet"]
    return [f"--counts={made}/counts.parquet"]


@pytest.mark.parametrize("method", constructions)
def test_constructions(method: str, zygote: Zygote, made: Path) -> None:
    climb(zygote, "build", method, *source(method, made), *QUICK.get(method, []), "--size=1000", "-o", "OUT/made")


@pytest.mark.parametrize("cut", segmentations)
def test_segmentations(cut: str, zygote: Zygote, made: Path) -> None:
    climb(zygote, "encode", made / cut, made / "text.txt", "-o", "OUT/ids.npy")
    climb(zygote, "measure", made / cut, "--counts", made / "counts.parquet", "-o", "OUT/measured.json")
