"""Any vocabulary with any segmentation: every string comes back, or the pair is rejected in one line.

The number of strings that go through every tokenizer is ``TOKBENCH_FUZZ_STRINGS``, a few thousand where it is not set;
``make nightly`` sets a million. Every pair takes the schemes in turn, so that each scheme meets a part of the strings.

The same bytes under any setting and on any processor: every construction, its measurements, tables and figures.

One run is the measure. Others change a setting each, in this process; two more change all that a process is born
with: the seed of hashes, the locale, the time zone, the working folder, the number of cores, and which of the
processor's instructions NumPy, OpenBLAS and the C library may use.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from tests.conftest import ODD, TOPICS
from tests.portability.vocabularies import fits
from tests.support.pipeline import figures, make
from tests.support.texts import EVERY, Strings
from tokbench.candidates.running_text import Documents
from tokbench.candidates.scored_text import ScoredDocuments
from tokbench.construction import constructions
from tokbench.errors import TokbenchError
from tokbench.pretokenization import Pretokenization, pretokenization_of
from tokbench.pretokens.count import count_pretokens
from tokbench.segmentation import segmentations
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

STRINGS = int(os.environ.get("TOKBENCH_FUZZ_STRINGS", "4000"))
BATCH = 20_000
HUGE = 5_000 if STRINGS < 100_000 else 300_000
SIZE, INITIAL_SIZE = 1000, 2000

QUICK: dict[str, dict[str, Any]] = {
    "convextok": {"steps": 20},
    "toast": {"steps": 20},
    "pathpiece": {"initial_size": INITIAL_SIZE},
    "randtrain": {"initial_size": INITIAL_SIZE},
    "sage": {"initial_size": INITIAL_SIZE, "dimensions": 8, "epochs": 1},
}
VOCABULARIES: list[tuple[str, dict[str, Any]]] = [
    ("bytes", {}),
    *((name, QUICK.get(name, {})) for name in constructions),
    ("bpe", {"alphabet": "character", "character_coverage": 0.99}),
    ("bpe", {"alphabet": "grapheme", "character_coverage": 0.99}),
    ("picky_bpe", {"alphabet": "character", "threshold": 0.5}),
    ("unigram", {"alphabet": "character", "character_coverage": 0.99}),
    ("wordpiece", {"objective": "likelihood", "min_pair_count": 3}),
    ("bytespan", {"learning": "seeding", "min_pair_count": 2}),
    ("bytespan", {"learning": "incremental", "constraint": "global", "min_span_count": 2}),
]
SEGMENTATIONS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in segmentations),
    ("shortest_path", {"ties": "random"}),
    ("shortest_path", {"ties": "random", "draws": "document"}),
    ("shortest_path", {"max_token_bytes": 3}),
    ("likeliest_shortest_path", {"ties": "trailing"}),
    ("bpe_dropout", {"dropout": 0.5, "draws": "pretoken"}),
]


def searched_once(scheme: Pretokenization) -> Pretokenization:
    """A scheme that remembers where it cut texts if it is one that no kernel scans: it finds the same for every pair.

    Searching takes time that grows with the square of a huge text; of millions of others none is remembered.
    """
    if scheme.scanner is None:
        cut = scheme.boundaries
        known, least = cache(cut), HUGE if STRINGS > 100_000 else 0
        vars(scheme)["cut"] = replace(scheme.cut, boundaries=lambda text: (known if len(text) >= least else cut)(text))
    return scheme


SCHEMES = [searched_once(pretokenization_of(setting)) for setting in EVERY]
NONE = pretokenization_of("none")
SEARCHED = 5_000
"""Bytes of a huge text for a pattern that looks ahead: of more, whose time grows with the square, it is rejected."""


def is_quadratic(scheme: Pretokenization) -> bool:
    return any(scheme is one and "(?=" in setting for setting, one in zip(EVERY, SCHEMES, strict=True))


def label(method: tuple[str, dict[str, Any]]) -> str:
    name, options = method
    return "-".join([name, *(str(value) for value in options.values() if name not in QUICK)])


@cache
def vocabulary(place: int, shards: Path) -> Vocabulary:
    """A small vocabulary by one construction, on text with bytes of every kind."""
    name, options = VOCABULARIES[place]
    if name == "bytes":
        return Vocabulary(BYTES)
    construction = constructions[name]
    source = {
        "counts": lambda: count_pretokens([*TOPICS, ODD], "gpt2"),
        "scores": lambda: ScoredDocuments((shards,), "gpt2"),
        "documents": lambda: Documents((shards,), "gpt2"),
    }[construction.source]()
    initial = {}
    if construction.initial:
        ngram = constructions["ngram"]
        counts = count_pretokens([*TOPICS, ODD], "gpt2")
        initial = {"initial": ngram.function(counts, INITIAL_SIZE, ngram.options())}
    built: Vocabulary = construction.function(source, SIZE, construction.options(**options), **initial)
    return built


@pytest.fixture(scope="module")
def supply(scores: Path) -> Strings:
    tokens = {token for place in range(len(VOCABULARIES)) for token in vocabulary(place, scores).tokens}
    return Strings(sorted(tokens), b"".join(TOPICS) + ODD, seed=STRINGS)


@pytest.fixture(scope="module")
def batches(supply: Strings) -> list[list[bytes]]:
    """The strings in batches, at least one for each scheme; the empty string and all 256 bytes are in each."""
    size = min(BATCH, -(-STRINGS // len(SCHEMES)))
    whole = [b"", bytes(range(256)), bytes(range(255, -1, -1))]
    return [[*whole, *islice(supply, size)] for _ in range(-(-STRINGS // size))]


@pytest.fixture(scope="module")
def huge(supply: Strings) -> dict[bool, list[bytes]]:
    """Huge texts for patterns that look ahead (True), and for all other schemes."""
    return {True: supply.huge(SEARCHED), False: supply.huge(HUGE)}


def check(tokenizer: Tokenizer, texts: list[bytes]) -> None:
    """Every text comes back, from ids that lie in the vocabulary."""
    found = tokenizer.encode_batch(texts)
    ids = np.concatenate(found)
    reached = np.concatenate([[0], np.cumsum([len(token) for token in tokenizer.vocabulary.tokens])])
    ends = np.concatenate([[0], np.cumsum(np.diff(reached)[ids])])[np.cumsum([len(part) for part in found])]
    if tokenizer.decode(ids) == b"".join(texts) and np.array_equal(ends, np.cumsum([len(text) for text in texts])):
        return
    for text, part in zip(texts, found, strict=True):
        assert tokenizer.decode(part) == text, f"{tokenizer!r} loses {text.hex()}"
    raise AssertionError(f"{tokenizer!r}: texts come back alone and not together")


@pytest.mark.parametrize("segmentation", SEGMENTATIONS, ids=label)
@pytest.mark.parametrize("place", range(len(VOCABULARIES)), ids=[label(method) for method in VOCABULARIES])
def test_every_string_comes_back_or_the_pair_is_rejected(
    place: int,
    segmentation: tuple[str, dict[str, Any]],
    batches: list[list[bytes]],
    huge: dict[bool, list[bytes]],
    scores: Path,
) -> None:
    made = vocabulary(place, scores)
    name, options = segmentation
    method = segmentations[name]

    @cache
    def tokenizer(scheme: Pretokenization) -> Tokenizer:
        return Tokenizer(made, scheme, name, method.options(**options), name=label(VOCABULARIES[place]))

    if not fits(made, name):
        with pytest.raises(TokbenchError, match=name) as caught:
            tokenizer(pretokenization_of("gpt2"))
        assert "\n" not in str(caught.value)
        return
    start = crc32(f"{place} {segmentation}".encode())
    for number, batch in enumerate(batches, start):
        check(tokenizer(SCHEMES[number % len(SCHEMES)]), batch)
    for scheme in (NONE, SCHEMES[start % len(SCHEMES)]):
        check(tokenizer(scheme), huge[is_quadratic(scheme)])


def test_every_method_is_tried(scores: Path) -> None:
    assert {name for name, _ in VOCABULARIES} == {"bytes", *constructions}
    assert {name for name, _ in SEGMENTATIONS} == set(segmentations)
    taken = {
        name for place in range(len(VOCABULARIES)) for name, _ in SEGMENTATIONS if fits(vocabulary(place, scores), name)
    }
    assert taken == set(segmentations)


ROOT = Path(__file__).parents[1]
WIDE = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL"
BORN = {
    "old processor": {
        "PYTHONHASHSEED": "1",
        "LC_ALL": "C",
        "TZ": "Asia/Kathmandu",
        "POLARS_MAX_THREADS": "1",
        "OPENBLAS_CORETYPE": "Prescott",
        "NPY_DISABLE_CPU_FEATURES": f"{WIDE} AVX2 FMA3",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F",
    },
    "other processor": {
        "PYTHONHASHSEED": "2",
        "LC_ALL": "tr_TR.UTF-8",
        "TZ": "America/St_Johns",
        "POLARS_MAX_THREADS": "3",
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": WIDE,
    },
}


def files(folder: Path) -> dict[str, bytes]:
    """All but those that tell the time."""
    found = (file for file in folder.rglob("*") if file.is_file() and file.name != "manifest.json")
    return {str(file.relative_to(folder)): file.read_bytes() for file in found}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("base")
    make(folder)
    figures(folder)
    return files(folder)


def apart(folder: Path, settings: dict[str, str], *cores: str) -> None:
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"} | settings
    command = [sys.executable, "-W", "ignore", "-m", "tests.support.pipeline", str(folder), *cores]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("settings", BORN.values(), ids=BORN)
def test_results_do_not_depend_on_the_environment_of_a_process(
    base: dict[str, bytes], turkish: dict[str, str], tmp_path: Path, settings: dict[str, str]
) -> None:
    apart(tmp_path, settings | turkish, "1")
    same(base, files(tmp_path))


@pytest.fixture(scope="module")
def turkish(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A locale whose small I is another letter, made here where the system can; else the setting names none."""
    target = tmp_path_factory.mktemp("locales") / "tr_TR.UTF-8"
    with suppress(OSError):
        subprocess.run(["localedef", "-i", "tr_TR", "-f", "UTF-8", str(target)], capture_output=True, check=False)
    return {"LOCPATH": str(target.parent)} if target.is_dir() else {}


def test_threads_files_last_to_first_and_another_folder(
    base: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: Callable[..., list[str]] = os.listdir
    monkeypatch.setattr(os, "listdir", lambda *path: sorted(listed(*path), reverse=True))
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    monkeypatch.chdir(tmp_path)
    make(Path("out"), threads=3, backwards=True)
    chained = {name: made for name, made in base.items() if not name.endswith(".svg") and "typeset/" not in name}
    same(chained, files(tmp_path / "out"))


def same(base: dict[str, bytes], other: dict[str, bytes]) -> None:
    assert len(base) > 100
    assert base.keys() == other.keys()
    assert [name for name in base if base[name] != other[name]] == []
