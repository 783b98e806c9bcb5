"""A run whose results are in a storage, without a shared file system: the same bytes as those of a plain run.

It needs ``snakemake-storage-plugin-fs``, whose storage is a folder, and rsync, which copies to and from it.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from pydoc_data.topics import topics
from types import SimpleNamespace

import pytest
import yaml

from tests.faults.trial import BESIDE, UNTOLD, content, differing
from tests.support.workflow.checkout import Checkout
from tokbench.workflow.shell import checkpoints_in

EXPERIMENT = {
    "name": "stored",
    "corpora": {
        "manual": {
            "source": {"type": "text", "path": "manual.txt", "documents": "paragraph", "encoding": "bytes"},
            "shards": 2,
            "splits": {"byte_lm": 0.2, "tokenizer": 0.4, "evaluation": 0.2},
        }
    },
    "byte_lms": {"bytes": {"kind": "ngram", "order": 3}},
    "variants": {
        "bpe": {"pretokenization": "gpt2", "construction": "bpe"},
        "bytespan": {"pretokenization": "gpt2", "construction": "bytespan", "byte_lm": "bytes"},
    },
    "sizes": [800],
}
"""Reads a file of the user, and has a result of nearly every stage before the language models."""
STORED = ("--default-storage-provider", "fs", "--shared-fs-usage", "persistence", "software-deployment", "sources")

storage = pytest.mark.skipif(
    find_spec("snakemake_storage_plugin_fs") is None or shutil.which("rsync", path=os.defpath) is None,
    reason="snakemake-storage-plugin-fs or rsync is not installed",
)


@contextmanager
def checkout_with_text(folder: Path) -> Iterator[Checkout]:
    folder.mkdir()
    checkout = Checkout(folder)
    (folder / "stored.yaml").write_text(yaml.safe_dump(EXPERIMENT, sort_keys=False))
    (folder / "manual.txt").write_text("\n\n".join(topics[name] for name in sorted(topics)[:30]))
    yield checkout
    checkout.close()


def contents(results: Path) -> dict[str, bytes]:
    """Return the content of the results by path, without those of one run."""
    files = (file for file in results.rglob("*") if file.is_file() and file.name not in UNTOLD)
    paths = {file.relative_to(results): file for file in files}
    return {str(path): content(file) for path, file in paths.items() if path.parts[0] not in BESIDE}


@storage
def test_results_in_a_storage_have_the_same_bytes(tmp_path: Path) -> None:
    """Files of the user are read where they are, and results from the storage only."""
    store = tmp_path / "store"
    plain, stored = tmp_path / "plain", tmp_path / "stored"
    call = ("--cores", "2", "--configfile", "stored.yaml")
    with checkout_with_text(plain) as checkout:
        checkout.snakemake(*call)
    with checkout_with_text(stored) as checkout:
        checkout.snakemake(*call, "--default-storage-prefix", str(store), *STORED)
        again = checkout.snakemake("-n", *call, "--default-storage-prefix", str(store), *STORED)
    assert "Nothing to be done" in again
    assert differing(contents(plain / "results" / "stored"), contents(store / "results" / "stored")) == []
    left = {path.name for path in (stored / "results" / "stored").iterdir()}
    assert left <= {"jobs.json", "run.html", ".lock", "checkpoints"}, "the plan of the run is on its machine"


@pytest.mark.parametrize("prefix", ["s3://bucket/study", "s3://bucket/study/"])
def test_trainings_keep_their_checkpoints_in_the_storage(prefix: str) -> None:
    settings = SimpleNamespace(default_storage_provider="s3", default_storage_prefix=prefix)
    job = {"model": "tiny", "size": "800"}
    pattern = "pretrain/{model}/{size}"
    checkpoints = checkpoints_in(SimpleNamespace(storage_settings=settings), "results/mine", pattern)
    assert checkpoints(job, None) == [
        "results/mine/checkpoints/pretrain/tiny/800",
        "--keep-checkpoints",
        "s3://bucket/study/results/mine/kept_checkpoints/pretrain/tiny/800",
    ]
    settings.default_storage_provider = None
    assert checkpoints(job, None) == ["results/mine/checkpoints/pretrain/tiny/800"]
