"""The same configuration gives the same bytes, whatever the number of shards and threads, run after run.

Every registered construction is tried. The whole chain is run twice through the command line, as the rules run it: on
one shard with one thread, and on seven shards with two. That a killed training ends in the same weights is tested
where training is.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.support import isolated_process
from tests.support.pipeline import Chain, call
from tokbench.byte_lm.options import PRESETS as BYTE_LMS
from tokbench.pretraining.options import PRESETS as MODELS

CORPUS = {
    "splits": {"byte_lm": 0.1, "tokenizer": 0.4, "evaluation": 0.2, "pretraining": 0.3},
    "seed": 0,
}
BYTE_LM = BYTE_LMS["tiny"].model_dump(mode="json") | {"steps": 20, "warmup_steps": 2, "decay_steps": 4}
MODEL = MODELS["tiny"].model_dump(mode="json") | {"batches": 4, "max_seq_len": 64}
TASKS = {"questions": 8, "fewshot_pool": 2}
SIZE = "1024"
UNTOLD = ("manifest.json", "curve.csv")
"""Files that tell the time; what else they say is in the others too."""


def call_apart(folder: Path, *arguments: Any) -> None:
    """In a process of its own, as a rule runs it; what it is to import is there."""
    import tokbench.pretraining.foundry  # noqa: F401

    told = folder / "told.txt"
    assert isolated_process.end(isolated_process.start(lambda: call(*arguments), told)) == 0, told.read_text()
    told.unlink()


def run(text: Path, folder: Path, shards: int, threads: int) -> None:
    """Every stage from the corpus to the tables."""
    chain = Chain(folder, shards, threads)
    path, split = chain.path, chain.split
    source = {"type": "text", "path": str(text), "documents": "paragraph", "encoding": "bytes"}
    flags = chain.measured({"source": source} | CORPUS, BYTE_LM, SIZE, {})
    tokenizer = path("tokenizers", "bpe")
    packed = ("--sequence-length", "64", "-o", path("packed"), "--token-counts", path("token_counts.parquet"))
    if shards == 1:
        call("pack", tokenizer, *packed, *split("pretraining"))
    else:
        encoded = [path("encoded", Path(shard).name) for shard in split("pretraining")]
        for shard, output in zip(split("pretraining"), encoded, strict=True):
            call("encode_shard", tokenizer, shard, "--slices", "3", "-o", output)
        call("gather_tokens", "-o", path("gathered"), *encoded)
        for number in range(3):
            line = ("--sequence-length", "64", "--slice", str(number), "-o", path("slices", str(number)))
            call("pack_slice", tokenizer, path("gathered"), *line)
        call("pack", tokenizer, *packed, *(path("slices", str(number)) for number in range(3)))
    call_apart(
        folder, "pretrain", "--recipe", MODEL, "--packed", path("packed"), "--tokenizer", tokenizer, "-o", path("model")
    )
    call("make_tasks", "--recipe", TASKS, "-o", path("tasks"), *split("evaluation"))
    call("tabulate", *flags, "-o", path("tables"))
    call("analyse", path("tables"), "-o", path("statistics"))


@pytest.fixture(scope="module")
def runs(text: bytes, own_environment: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The results of both runs."""
    one, other = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("other")
    manual = tmp_path_factory.mktemp("text") / "manual.txt"
    manual.write_bytes(text)
    run(manual, one, shards=1, threads=1)
    run(manual, other, shards=7, threads=2)
    return one, other


@pytest.mark.parametrize(
    "part",
    [
        *("counts/tokenizer.parquet", "counts/evaluation.parquet", "byte_lm", "tokenizers", "intrinsic"),
        *("packed", "token_counts.parquet", "model", "tasks", "tables", "statistics"),
    ],
)
def test_same_bytes(runs: tuple[Path, Path], part: str) -> None:
    one, other = ({file.relative_to(folder): file for file in files(folder / part)} for folder in runs)
    assert one
    assert list(one) == list(other)
    assert [str(name) for name in one if one[name].read_bytes() != other[name].read_bytes()] == []


def files(place: Path) -> list[Path]:
    """A file, or all files below a folder but those that tell the time."""
    if place.is_file():
        return [place]
    return sorted(file for file in place.rglob("*") if file.is_file() and file.name not in UNTOLD)
