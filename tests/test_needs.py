"""What a construction needs is told before it begins, and what may be left out so that it needs less."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Tokbench
from tokbench import needs
from tokbench.config.check import check
from tokbench.config.experiment import Experiment
from tokbench.construction import constructions
from tokbench.errors import TokbenchError
from tokbench.frequent import read_frequent
from tokbench.needs import Need, Profile
from tokbench.pretokens import PretokenCounts
from tokbench.workflow.construction import Variants

COUNTS = st.dictionaries(st.binary(min_size=1, max_size=9), st.integers(1, 2**40), min_size=1, max_size=12)


def test_every_construction_that_reads_counts_was_measured() -> None:
    stages = {"bound", "measure", "measure_languages"}
    assert needs.table().keys() == stages | {
        method.name for method in constructions.methods() if method.source == "counts"
    }
    for name, need in needs.table().items():
        assert need.base > 0, name
        assert need.per_pretoken + need.per_byte + need.per_place > 0, name


def places(word: bytes, longest: int = 2**31) -> int:
    ends = ((first, last) for first in range(len(word)) for last in range(first + 2, len(word) + 1))
    return sum(last - first <= longest for first, last in ends)


@given(st.binary(max_size=9), st.integers(2, 10))
def test_places_of_substrings(word: bytes, longest: int) -> None:
    lengths = np.array([len(word)], np.int64)
    assert needs.places_of(lengths) == [places(word)]
    assert needs.places_of(lengths, longest) == [places(word, longest)]


@given(COUNTS, st.integers(1, 2**41), st.integers(1, 5))
def test_a_profile_says_how_much_there_is_from_each_count_on(pairs: dict[bytes, int], least: int, batch: int) -> None:
    rows = list(pairs.items())
    batches = (
        (np.array([len(token) for token, _ in part], np.int64), np.array([count for _, count in part], np.int64))
        for part in (rows[start : start + batch] for start in range(0, len(rows), batch))
    )
    profile = Profile.of(batches, least)
    assert {1, least} <= set(profile.thresholds.tolist())
    for place, threshold in enumerate(profile.thresholds.tolist()):
        kept = {token: count for token, count in pairs.items() if count >= threshold}
        assert profile.pretokens[place] == len(kept)
        assert profile.sizes[place] == sum(map(len, kept))
        assert profile.places[place] == sum(map(places, kept))
        assert profile.total[place] == sum(kept.values())
        assert profile.total_bytes[place] == sum(len(token) * count for token, count in kept.items())


@given(COUNTS, st.integers(1, 2**41))
def test_rare_pretokens_are_left_out(
    tmp_path_factory: pytest.TempPathFactory, pairs: dict[bytes, int], least: int
) -> None:
    """Whether the file is in canonical order or in any other."""
    folder = tmp_path_factory.mktemp("frequent")
    whole = PretokenCounts.from_pairs(pairs.items(), "gpt2")
    whole.write(folder / "ordered.parquet")
    (folder / "any.tsv").write_text("".join(f"{token.hex()}\t{count}\n" for token, count in pairs.items()))
    kept = [(token, count) for token, count in whole.items() if count >= least]
    for path, scheme in ((folder / "ordered.parquet", "gpt2"), (folder / "any.tsv", None)):
        found, left = read_frequent(path, least)
        assert (list(found.items()), found.scheme) == (kept, scheme)
        assert left.unique == len(whole) - len(kept)
        assert math.isclose(left.pretokens, 1 - sum(count for _, count in kept) / whole.total, abs_tol=1e-12)
        lengths = sum(len(token) * count for token, count in kept)
        assert math.isclose(left.bytes, 1 - lengths / whole.total_bytes, abs_tol=1e-12)


def profile(pairs: list[tuple[bytes, int]]) -> Profile:
    lengths, counts = (np.array(row, np.int64) for row in zip(*((len(a), b) for a, b in pairs), strict=True))
    return Profile.of([(lengths, counts)])


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """One method that takes a megabyte, and one more for each pre-token."""
    monkeypatch.setattr(needs, "table", lambda: {"one": Need(1e6, 1e6, 0.0), "byte": Need(1e6, 0.0, 1e6)})


@pytest.mark.usefixtures("measured")
def test_the_line_names_need_bound_and_remedy() -> None:
    rows = profile([(b"a", 64), (b"bb", 8), (b"cc", 7), (b"d", 1)])
    needs.require(["one"], rows, 1, 5)
    needs.require(["of a third party"], rows, 1, 1)
    with pytest.raises(TokbenchError) as told:
        needs.require(["one"], rows, 1, 3)
    assert str(told.value) == (
        "--memory 3: 'one' needs about 5 MB for 4 unique pre-tokens; allow that much, or set min_count 8, which takes "
        "about 3 MB and leaves out 10.00% of the pre-tokens and 15.79% of the bytes of the text"
    )
    needs.require(["one"], rows, 8, 3)
    with pytest.raises(TokbenchError, match=r"--memory 1: 'one' needs about 5 MB for 4 unique pre-tokens; allow that"):
        needs.require(["one"], rows, 1, 1)
    with pytest.raises(TokbenchError, match="'byte' needs about 7 MB"):
        needs.require(["one", "byte"], rows, 1, 5)


def test_the_command_line(tmp_path: Path, tokbench: Tokbench) -> None:
    """A need that is not met ends before anything is built; a tokenizer tells what was left out of it."""
    counts = tmp_path / "counts.tsv"
    words = [(f"word{number}".encode(), 1 + 100 // (1 + number)) for number in range(300)]
    counts.write_text("".join(f"{word.hex()}\t{count}\n" for word, count in words))
    build = ["build", "bpe", "--counts", counts, "--scheme", "gpt2", "--size", "280", "-o", tmp_path / "bpe"]
    told = tokbench(*build, "--memory", "1")
    assert told.status == 2
    assert told.message.startswith("tokbench: --memory 1: 'bpe' needs about ")
    assert not (tmp_path / "bpe").exists()
    done = tokbench(*build, "--memory", "4000", "--min-count", "2")
    assert done.status == 0
    manifest = json.loads((tmp_path / "bpe" / "manifest.json").read_text())["settings"]
    rare = [(word, count) for word, count in words if count < 2]
    assert manifest["min_count"] == 2
    assert manifest["left_out"]["unique_pretokens"] == len(rare)
    assert manifest["left_out"]["pretokens"] == pytest.approx(len(rare) / sum(count for _, count in words))
    assert f"left out {len(rare)} unique pre-tokens seen less than 2 times" in done.stderr
    tokbench(*build)
    assert "min_count" not in json.loads((tmp_path / "bpe" / "manifest.json").read_text())["settings"]
    told = tokbench("build", "bytespan", "--min-count", "2", "--size", "300", "-o", tmp_path / "other")
    assert told.status == 2
    assert "reads no pre-token counts" in told.message


def test_a_variant_says_it_only_where_it_leaves_something_out() -> None:
    written = {
        "name": "small",
        "corpora": {"text": {"source": {"type": "embedded"}}},
        "variants": {
            "all": {"pretokenization": "gpt2", "construction": {"method": "bpe"}},
            "frequent": {"pretokenization": "gpt2", "construction": {"method": "bpe"}, "min_count": 5},
            "spans": {"pretokenization": "gpt2", "construction": {"method": "bytespan"}, "min_count": 2},
        },
        "sizes": [300],
    }
    experiment = Experiment.model_validate(written)
    every, frequent = (SimpleNamespace(variant=name) for name in ("all", "frequent"))
    variants = Variants(experiment)
    assert (variants.min_count(every), variants.min_count(frequent)) == ([], ["--min-count", "5"])
    assert variants.recipe(every) == variants.recipe(frequent)
    assert "variants.spans.min_count: 'bytespan' reads no pre-token counts; remove this key" in check(experiment)
