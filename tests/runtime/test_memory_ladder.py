"""Out of memory: a result equals that of unlimited memory, or the status is not zero and there is no output.

How work grows with one pre-token that is long or repeats itself: no construction and no segmentation is quadratic.

Measured by this process's own time, the least of some turns, at one length and at four times that: a quadratic method
takes sixteen times as long and a cubic one sixty-four times, n log n steps five times.
"""

import hashlib
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tokbench.candidates.scored_text import ScoredDocument
from tokbench.commands.main import main
from tokbench.construction import constructions
from tokbench.models.byte_lm.scores import write_scores
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.segmentation import segmentations
from tokbench.vocabulary import Vocabulary

RUNGS = (0.0, 0.02, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.99)
"""Memory allowed, as parts of the most that the command takes without a limit."""
QUICK = {
    "convextok": ["--set=steps=20"],
    "toast": ["--set=steps=20"],
    "pathpiece": ["--set=initial_size=2000"],
    "randtrain": ["--set=initial_size=2000"],
    "sage": ["--set=initial_size=1100", "--set=dimensions=4", "--set=epochs=1", "--set=lines=40"],
}
MAKERS = {
    "events": "picky_bpe",
    "likelihood": "unigram",
    "likeliest_shortest_path": "mingram",
    "post_removal": "bpe_trimmed",
    "split_tree": "toast",
    "merge_tuples": "bpe_knockout",
    "superwords": "boundlessbpe",
    "merge_scores": "unigram",
}
"""Constructions whose vocabularies have what a segmentation needs, where BPE's have not."""
COMMANDS = ("build", "encode", "measure")
TIMED = {"manifest.json"}
FRUGAL = {
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
    "POLARS_MAX_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "RAYON_NUM_THREADS": "1",
    "RUST_BACKTRACE": "0",
}
"""Keeps libraries from taking much address space at once, so that limits bite where the work is."""
PARTIAL = re.compile(r"\..*\.partial")
"""Names of what a process was writing when it died; the next run removes it."""


@dataclass(frozen=True)
class End:
    """Status of a process, and its remaining files."""

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
    """The process of :mod:`tests.support.processes`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = 0
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.processes", *COMMANDS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | FRUGAL,
            cwd=Path(__file__).parents[2],
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


def values(text: bytes) -> NDArray[np.float32]:
    return np.frombuffer(text, np.uint8).astype(np.float32)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a text of about 120 kB with its counts, documents and byte scores."""
    folder = tmp_path_factory.mktemp("made")
    draw = random.Random(0)
    words = ["".join(draw.choices("etaoinshrdlucmfw", k=draw.randrange(2, 9))) for _ in range(3000)]
    texts = [" ".join(draw.choices(words, k=500)).encode() + b"\n" for _ in range(40)]
    (folder / "text.txt").write_bytes(b"".join(texts))
    count_pretokens(texts, "gpt2").write(folder / "counts.parquet")
    documents = [(number, "", text) for number, text in enumerate(texts)]
    write_scores(documents, lambda text: (values(text), values(text)), folder / "scores.parquet", "a model")
    for cut in segmentations:
        method = MAKERS.get(cut, "bpe")
        call = ["build", method, *source(method, folder), "--size", "600"]
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
    documents = segmentations[cut].segments_documents
    text = ["--documents", made / "scores.parquet"] if documents else ["--counts", made / "counts.parquet"]
    climb(zygote, "measure", made / cut, *text, "-o", "OUT/measured.json")


SHORT = 6_000
TOO_MUCH = 10
NOTHING = 0.004
"""Seconds that are as good as none."""

OPTIONS: dict[str, dict[str, object]] = {
    "convextok": {"max_token_bytes": 6, "steps": 4},
    "toast": {"steps": 4},
    "sage": {"dimensions": 8, "epochs": 1, "negatives": 1},
}
"""Sizes other than the default. ConvexTok needs a limit on the length of substrings."""
LONGER_TOKENS = {"scaffold_bpe"}
"""Its time grows with the longest token as well, and where bytes repeat themselves that grows with the pre-token."""


class Text:
    """One document, as documents and as scores."""

    scheme = "none"

    def __init__(self, text: bytes) -> None:
        self.text = text

    def texts(self) -> Iterator[bytes]:
        yield self.text

    def documents(self, _: str) -> Iterator[ScoredDocument]:
        yield ScoredDocument(0, "", self.text, next(self.signals("")))

    def signals(self, _: str) -> Iterator[np.ndarray]:
        yield np.random.default_rng(5).random(len(self.text), np.float32)

    def parts(self) -> list["Text"]:
        return [self]


def fibonacci(size: int) -> bytes:
    word, longer = b"a", b"ab"
    while len(word) < size:
        word, longer = longer, longer + word
    return word[:size]


def letters(size: int) -> bytes:
    return np.random.default_rng(5).integers(97, 123, size, np.uint8).tobytes()


SHAPES: dict[str, Callable[[int], bytes]] = {
    "run": lambda size: b"=" * size,
    "period of two": lambda size: (b"ab" * size)[:size],
    "period of five": lambda size: (b"abcab" * size)[:size],
    "fibonacci": fibonacci,
    "letters": letters,
}


def built(name: str, text: bytes) -> Callable[[], Vocabulary]:
    method = constructions[name]
    counts = PretokenCounts.from_pairs([(text, 1)])
    source = counts if method.source == "counts" else Text(text)
    more, size = {}, method.alphabet + 100
    if method.initial:
        ngram = constructions["ngram"]
        more, size = {"initial": ngram.function(counts, 1000, ngram.options())}, 260
    return lambda: method.function(source, size, method.options(**OPTIONS.get(name, {})), **more)


def seconds(work: Callable[[], object], enough: float = 0.0) -> float:
    """The least of three turns, or of those up to the first that takes less than ``enough``."""
    least = 1.0
    for _ in range(3):
        start = time.process_time()
        work()
        least = max(min(least, time.process_time() - start), NOTHING)
        if least < enough:
            break
    return least


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", list(constructions))
def test_growth_constructions(name: str, shape: str) -> None:
    short, long = (built(name, SHAPES[shape](size)) for size in (SHORT, 4 * SHORT))
    bound = TOO_MUCH * (4 if name in LONGER_TOKENS else 1) * seconds(short)
    assert seconds(long, enough=bound) < bound


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", list(constructions))
def test_growth_segmentations(name: str, shape: str) -> None:
    """Of each construction's own, with tokens of up to 200 bytes."""
    vocabulary = built(name, SHAPES[shape](200))()
    method = segmentations[constructions[name].segmentation]
    segmenter = method.function(vocabulary, method.options())

    def cut(size: int) -> Callable[[], object]:
        data = np.frombuffer(SHAPES[shape](size), np.uint8)
        return lambda: segmenter.segment(data, np.array([0, size]))

    bound = TOO_MUCH * seconds(cut(SHORT))
    assert seconds(cut(4 * SHORT), enough=bound) < bound
