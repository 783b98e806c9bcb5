"""Tokenizers pickle and copy: what was copied gives the same ids, in this process and in others."""

import copy
import os
import pickle
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import ODD, TOPICS
from tokbench.construction import bpe, picky_bpe, unigram
from tokbench.pretokenization import schemes
from tokbench.pretokens import PretokenCounts
from tokbench.segmentation import segmentations
from tokbench.segmentation.bpe_dropout import BpeDropoutOptions
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import Vocabulary

TEXTS = [*TOPICS[:2], ODD, b""]
WAYS = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


@pytest.fixture(scope="module")
def vocabularies(counts: PretokenCounts) -> dict[str | None, Vocabulary]:
    """By what a segmentation needs."""
    merging = bpe.build(counts, 400, bpe.BpeOptions())
    return {
        None: Vocabulary(merging.tokens),
        "merges": merging,
        "scores": unigram.build(counts, 500, unigram.UnigramOptions(seed_size=2000)),
        "events": picky_bpe.build(counts, 400, picky_bpe.PickyBpeOptions()),
    }


def made(segmentation: str, vocabularies: dict[str | None, Vocabulary]) -> Tokenizer:
    method = segmentations[segmentation]
    return Tokenizer(vocabularies[method.needs], "gpt2", segmentation, name="one", origin={"seed": [1]})


def ids_of(tokenizer: Tokenizer) -> list[list[int]]:
    return [ids.tolist() for ids in tokenizer.encode_batch(TEXTS)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("segmentation", list(segmentations))
def test_every_segmentation(segmentation: str, way: str, vocabularies: dict[str | None, Vocabulary]) -> None:
    ours = made(segmentation, vocabularies)
    before = ids_of(ours)
    again = WAYS[way](ours)
    assert ids_of(again) == before
    assert (again.name, again.origin, again.options) == (ours.name, ours.origin, ours.options)
    assert again.decode(again.encode(ODD)) == ODD


WITH_OPTIONS = {
    "regex": {"method": "regex", "pattern": r"\p{L}+| "},
    "sequence": {"method": "sequence", "steps": ["digit", "first_space"]},
}


@pytest.mark.parametrize("scheme", list(schemes))
def test_every_scheme(scheme: str, vocabularies: dict[str | None, Vocabulary]) -> None:
    ours = Tokenizer(vocabularies["merges"], WITH_OPTIONS.get(scheme, scheme), "merge")
    assert ids_of(pickle.loads(pickle.dumps(ours))) == ids_of(ours)


def test_options_go_along(vocabularies: dict[str | None, Vocabulary]) -> None:
    options = BpeDropoutOptions(dropout=0.5, seed=9)
    ours = Tokenizer(vocabularies["merges"], "gpt2", "bpe_dropout", options)
    assert ids_of(pickle.loads(pickle.dumps(ours))) == ids_of(ours)


def test_what_was_learnt_stays_behind(vocabularies: dict[str | None, Vocabulary]) -> None:
    """So that the fingerprint that ``datasets`` takes of a function stays the same when the function has been used."""
    ours = made("merge", vocabularies)
    before = pickle.dumps(ours)
    ours.encode(TOPICS[0])
    ours.decode([1])
    assert pickle.dumps(ours) == before


def test_a_deep_copy_shares_nothing_that_can_be_changed(vocabularies: dict[str | None, Vocabulary]) -> None:
    ours = made("merge", vocabularies)
    again = copy.deepcopy(ours)
    again.origin["seed"].append(2)
    assert again.vocabulary.merges is not None
    again.vocabulary.merges[:] = 0
    assert ours.origin == {"seed": [1]}
    assert ids_of(ours) == ids_of(made("merge", vocabularies))


@pytest.mark.parametrize("way", WAYS)
def test_vocabularies_and_counts(way: str, vocabularies: dict[str | None, Vocabulary], counts: PretokenCounts) -> None:
    for ours in vocabularies.values():
        again = WAYS[way](ours)
        assert (again.tokens, again.events) == (ours.tokens, ours.events)
        for name in ("merges", "scores", "continuation"):
            np.testing.assert_equal(getattr(again, name), getattr(ours, name))
    again = WAYS[way](counts)
    assert (list(again.items()), again.scheme) == (list(counts.items()), "gpt2")


def test_spawned_processes(vocabularies: dict[str | None, Vocabulary]) -> None:
    ours = made("merge", vocabularies)
    with get_context("spawn").Pool(1) as pool:
        assert [ids.tolist() for ids in pool.map(ours.encode, TEXTS)] == ids_of(ours)


THEIRS = '''
import numpy as np
from tokbench.options import Options
from tokbench.pretokenization import pretokenization
from tokbench.segmentation import segmentation

class Every(Options):
    bytes: int = 1

class Cut:
    def __init__(self, every):
        self.every = every
        self.unpicklable = lambda: None
    def segment(self, data, offsets):
        return data.astype(np.int32), offsets - offsets[0]

@segmentation("single_bytes", options=Every)
def single_bytes(vocabulary, options):
    """Every byte by itself."""
    return Cut(options.bytes)

@pretokenization("halves", pattern=None)
def halves(text):
    """Two halves."""
    return np.array(sorted({0, len(text) // 2, len(text)}), np.int64)
'''
MAKE = """
import pickle, sys
from tokbench import Tokenizer, Vocabulary, segmentations
from tokbench.vocabulary import BYTES
options = segmentations["single_bytes"].options(bytes=3)
made = Tokenizer(Vocabulary(BYTES), "halves", "single_bytes", options)
sys.stdout.buffer.write(pickle.dumps(made))
"""
USE = """
import pickle, sys
made = pickle.load(sys.stdin.buffer)
print(made.encode("abc").tolist(), made.options.bytes, made.pretokenization)
"""


def test_methods_of_others(tmp_path: Path) -> None:
    """They are found by their names, and made anew of vocabulary and options, whatever they hold."""
    (tmp_path / "their_methods.py").write_text(THEIRS)
    information = tmp_path / "theirs-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    groups = ("segmentation", "pretokenization")
    (information / "entry_points.txt").write_text(
        "".join(f"[tokbench.{group}]\ntheirs = their_methods\n" for group in groups)
    )
    there = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    pickled = subprocess.run([sys.executable, "-c", MAKE], check=True, env=there, stdout=subprocess.PIPE).stdout
    said = subprocess.run([sys.executable, "-c", USE], check=True, env=there, input=pickled, stdout=subprocess.PIPE)
    assert said.stdout == b"[97, 98, 99] 3 halves\n"


def test_datasets_in_two_processes(vocabularies: dict[str | None, Vocabulary], tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    ours = made("merge", vocabularies)
    rows = datasets.Dataset.from_dict({"text": [f"text {row} don't" for row in range(6)]})

    def encoded(row: dict[str, Any]) -> dict[str, Any]:
        return {"ids": ours.encode(row["text"])}

    mapped = rows.map(encoded, num_proc=2)
    assert mapped["ids"] == [ours.encode(text).tolist() for text in rows["text"]]
