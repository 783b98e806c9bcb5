"""Slices packed in parallel: the files of one job, for any slices, budget and killed jobs.

After a kill at any moment the next run continues: a declared output is complete or absent.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.files import in_a_fork
from tests.support.small_models import MAKER, Bytes
from tests.support.workflow.checkout import Checkout
from tokbench.corpus.documents import Document
from tokbench.errors import TokbenchError
from tokbench.models.pretraining.budget import TextBudget
from tokbench.models.pretraining.order import Slices, bound_of, encode_documents, place_of, sort_documents
from tokbench.models.pretraining.pack import SliceForm, join, pack
from tokbench.models.pretraining.pack_slices import gather, pack_slice, read_contents, write_tokens
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer

SEED = 3
TEXTS = [b"document %d: the cat sat on the mat. " % number * (number % 5) for number in range(40)]
BUDGETS = st.builds(TextBudget, st.floats(0.01, 3.5)) | st.builds(TextBudget, st.none(), st.integers(1, 3000))


@pytest.fixture(scope="module")
def small_shards() -> Any:
    """MDS shards of some hundred bytes, and row groups of some ids."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokbench.models.pretraining.mds.SHARD_BYTES", 700)
        patch.setattr("tokbench.models.pretraining.pack_slices.GROUP_IDS", 50)
        yield


def documents(texts: list[bytes]) -> list[Document]:
    return [Document(number, "", text) for number, text in enumerate(texts)]


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def whole(texts: list[bytes], form: SliceForm, folder: Path) -> dict[str, str]:
    """The files of one job."""
    (folder / "one").mkdir()
    text = sort_documents(encode_documents(Bytes(), documents(texts)), SEED, folder)
    one_job = replace(form, slices=Slices.one_per_phase(SEED, form.slices.second_phase))
    pack(text, one_job, folder / "one" / "packed", folder / "one" / "counts.parquet")
    return contents(folder / "one")


def gathered(texts: list[bytes], slices: Slices, folder: Path, shards: int = 3) -> Path:
    """The tokens of all shards, each encoded by itself."""
    for shard in range(shards):
        pieces = sort_documents(encode_documents(Bytes(), documents(texts)[shard::shards]), SEED, folder).pieces
        write_tokens(pieces, slices, folder / f"{shard}.parquet", MAKER.digest)
    (folder / "tokens").mkdir()
    gather([folder / f"{shard}.parquet" for shard in range(shards)], folder / "tokens")
    return folder / "tokens"


def sliced(texts: list[bytes], form: SliceForm, folder: Path) -> list[Path]:
    """Every slice packed by itself."""
    tokens = gathered(texts, form.slices, folder)
    folders = [folder / f"{number}" for number in range(form.slices.number)]
    for number, each in enumerate(folders):
        pack_slice(tokens, number, form, each)
    return folders


def joined(folders: list[Path], form: SliceForm, folder: Path) -> dict[str, str]:
    (folder / "joined").mkdir(exist_ok=True)
    join(folders, form, folder / "joined" / "packed", folder / "joined" / "counts.parquet")
    return contents(folder / "joined")


@pytest.mark.usefixtures("small_shards")
@settings(max_examples=12)
@given(
    st.lists(st.binary(max_size=60), min_size=1, max_size=40).filter(any),
    st.integers(1, 6),
    st.sampled_from([None, None, 0.2, 1.0]),
    st.none() | BUDGETS,
    st.sampled_from([1, 3, 8]),
)
def test_slices_are_packed_as_by_one_job(
    texts: list[bytes], number: int, second: float | None, budget: TextBudget | None, length: int
) -> None:
    form = SliceForm(Slices(SEED, number + (second is not None), second), length, 256, 256, MAKER, budget)
    with TemporaryDirectory() as place:
        try:
            expected = whole(texts, form, Path(place))
        except TokbenchError as error:
            with pytest.raises(TokbenchError, match=str(error)[:40]):
                sliced(texts, form, Path(place))
            return
        assert joined(sliced(texts, form, Path(place))[::-1], form, Path(place)) == expected


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("second", [None, 0.01, 0.2, 1.0])
@pytest.mark.parametrize("number", [2, 3, 7])
def test_slices_have_equal_sizes_and_one_phase_each(number: int, second: float | None) -> None:
    slices = Slices(SEED, number, second)
    ends = slices.ends()
    assert ends == sorted(set(ends))
    assert ends[-1] == 1 << 64
    phases = slices.by_phase()
    assert [each for phase in phases for each in phase] == list(range(number))
    assert all(phases)
    if second is not None:
        assert ends[phases[0].stop - 1] == bound_of(second)
        assert abs(len(phases[1]) - number * second / (1 + second)) < 1
    sizes = [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
    for phase in phases:
        assert max(sizes[each] for each in phase) - min(sizes[each] for each in phase) <= 1


@pytest.mark.usefixtures("small_shards")
def test_contents_of_slices_are_known_before_packing(tmp_path: Path) -> None:
    slices = Slices(SEED, 4)
    found = read_contents(gathered(TEXTS, slices, tmp_path)).read
    edges = [0, *slices.ends()]
    for number, read in enumerate(found):
        held = [text for each, text in enumerate(TEXTS) if edges[number] <= place_of(each, SEED) < edges[number + 1]]
        assert (read.documents, read.text_bytes) == (len(held), sum(map(len, held)))
        assert read.tokens == read.documents + read.text_bytes


FORM = SliceForm(Slices(SEED, 3), 8, 256, 256, MAKER)


@pytest.mark.usefixtures("small_shards")
def test_killed_in_the_middle_and_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a slice is packed, and while slices are put together: nothing is lost, and nothing half is there."""
    expected = whole(TEXTS, FORM, tmp_path)
    tokens = gathered(TEXTS, FORM.slices, tmp_path)

    def dying_at(place: str, time: int) -> None:
        import importlib

        module, _, name = place.rpartition(".")
        called = iter(range(100))
        do = getattr(importlib.import_module(module), name)

        def die(*arguments: Any) -> Any:
            if next(called) == time:
                os.kill(os.getpid(), signal.SIGKILL)
            return do(*arguments)

        monkeypatch.setattr(place, die)

    folders = [tmp_path / f"{number}" for number in range(3)]
    for number, folder in enumerate(folders):
        with monkeypatch.context():
            dying_at("tokbench.models.pretraining.pack.write_occurrences", 0)
            assert in_a_fork(lambda number=number, folder=folder: pack_slice(tokens, number, FORM, folder)) == -9
        monkeypatch.undo()
        assert not folder.exists()
        pack_slice(tokens, number, FORM, folder)
    before = [contents(folder) for folder in folders]
    for calls in (0, 2):
        dying_at("tokbench.models.pretraining.pack.link_or_copy", calls)
        assert in_a_fork(lambda: joined(folders, FORM, tmp_path)) == -9
        monkeypatch.undo()
        assert not (tmp_path / "joined" / "packed").exists()
    assert [contents(folder) for folder in folders] == before
    assert joined(folders, FORM, tmp_path) == expected


@pytest.mark.usefixtures("small_shards")
def test_slices_that_do_not_belong_together(tmp_path: Path) -> None:
    folders = sliced(TEXTS, FORM, tmp_path)
    with pytest.raises(TokbenchError, match="slice 1 of 3 is in none of the folders"):
        join([folders[0], folders[2], folders[2]], FORM, tmp_path / "packed")
    other = SliceForm(FORM.slices, 16, 256, 256, MAKER)
    with pytest.raises(TokbenchError, match=r"a slice of .*'sequence_length': 8.*; make it with 'tokbench pack_slice'"):
        join(folders, other, tmp_path / "packed")
    with pytest.raises(TokbenchError, match="encode the shards again"):
        pack_slice(tmp_path / "tokens", 0, SliceForm(Slices(SEED, 4), 8, 256, 256, MAKER), tmp_path / "other")
    with pytest.raises(TokbenchError, match=r"slice 3: .* has 3, counted from 0"):
        pack_slice(tmp_path / "tokens", 3, FORM, tmp_path / "other")
    write_tokens([], Slices(SEED, 4), tmp_path / "other.parquet", MAKER.digest)
    (tmp_path / "more").mkdir()
    with pytest.raises(TokbenchError, match="encode them with the same options"):
        gather([tmp_path / "0.parquet", tmp_path / "other.parquet"], tmp_path / "more")
    assert not (tmp_path / "packed").exists()


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("pattern", ["shard.*.mds", "part.*.npy", "occurrences.parquet"])
@pytest.mark.parametrize("gone", [True, False])
def test_a_slice_that_was_altered(pattern: str, gone: bool, tmp_path: Path) -> None:
    folders = sliced(TEXTS, FORM, tmp_path)
    file = sorted(folders[1].glob(pattern))[0]
    held = bytearray(file.read_bytes())
    held[-3] ^= 1
    file.unlink()
    if not gone:
        file.write_bytes(held)
    with pytest.raises(TokbenchError, match=r"make (it|them) with 'tokbench pack(_slice| --token-counts)'"):
        join(folders, FORM, tmp_path / "packed")
    assert not (tmp_path / "packed").exists()


@pytest.mark.usefixtures("small_shards")
def test_two_phases_take_two_slices() -> None:
    with pytest.raises(TokbenchError, match="a second phase needs two slices or more"):
        Slices(SEED, 1, 0.2).ends()


CONFIGURATIONS = Path(__file__).parents[1] / "support" / "workflow"
RESULTS = ("corpus", "pretokens", "initial", "tokenizers", "intrinsic", "tables", "statistics")
UNTOLD = ("manifest.json", ".snakemake_timestamp")
"""Files that tell the time."""
PATIENCE = 120.0
"""Seconds until a test gives up waiting for what it wants to kill."""


@pytest.fixture(scope="module")
def checkout(text: bytes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    made = Checkout(tmp_path_factory.mktemp("resumable"))
    (made.folder / "manual.txt").write_bytes(text)
    yield made
    made.close()


def kill_when(condition: Callable[[], object], process: subprocess.Popen[str]) -> None:
    """Kill the process and all that it started, with the signal that nothing can catch."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < end
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def content_without_date(file: Path) -> bytes:
    """The content of a file, without the date in the record of a folder."""
    if file.name != ".tokbench.json":
        return file.read_bytes()
    record = json.loads(file.read_bytes())
    return json.dumps({key: value for key, value in record.items() if key != "date"}).encode()


def resumable_contents(folder: Path) -> dict[Path, bytes]:
    """All files of the results that stay and do not tell the time."""
    return {
        file.relative_to(folder): content_without_date(file)
        for part in RESULTS
        for file in sorted((folder / part).rglob("*"))
        if file.is_file() and file.name not in UNTOLD and ".partial" not in str(file)
        if not (part == "pretokens" and file.stem.isdigit())
    }


def test_killed_run_goes_on(checkout: Checkout) -> None:
    """The run that is killed and resumed has one core, the run that is not has two."""
    configuration = ("--configfile", str(CONFIGURATIONS / "interrupted.yaml"))
    checkout.snakemake("--cores", "2", "results/interrupted/statistics", *configuration)
    whole = resumable_contents(checkout.folder / "results" / "interrupted")

    resumed = ("--cores", "1", "resumed/interrupted/statistics", *configuration, "--config", "results=resumed")
    results = checkout.folder / "resumed" / "interrupted"
    kill_when(lambda: list(results.glob("logs/build/*/*.log")), checkout.start(*resumed))
    left = resumable_contents(results)
    assert left
    assert left.items() <= whole.items()
    assert not (results / "tables").exists()

    assert "It can be removed with the --unlock argument." in checkout.snakemake(*resumed, status=1)
    checkout.snakemake("--unlock", *resumed)
    printed = checkout.snakemake(*resumed)
    assert "prepare corpus" not in printed
    assert resumable_contents(results) == whole
    (checkout.folder / ".snakemake").rename(checkout.folder / "forgotten")
    assert "Nothing to be done" in checkout.snakemake("--dry-run", *resumed)


def test_damaged_shard_stops_only_dependent_jobs(checkout: Checkout) -> None:
    configuration = ("--configfile", str(CONFIGURATIONS / "damaged.yaml"))
    corpora = checkout.folder / "results" / "damaged" / "corpus"
    checkout.snakemake("--cores", "2", "results/damaged/corpus/sound", "results/damaged/corpus/damaged", *configuration)
    shard = corpora / "damaged" / "evaluation" / "0000.parquet"
    shard.write_bytes(shard.read_bytes()[:-100])

    printed = checkout.snakemake("--cores", "2", *configuration, status=1)
    results = corpora.parent
    assert (results / "intrinsic" / "on_sound" / "300.json").is_file()
    assert (results / "tokenizers" / "on_damaged" / "300").is_dir()
    assert not (results / "intrinsic" / "on_damaged").exists()
    told = (results / "logs" / "count_split" / "damaged" / "evaluation" / "gpt2.log").read_text()
    assert told.count("\n") == 1
    assert told.startswith("tokbench: results/damaged/corpus/damaged/evaluation/0000.parquet: ")
    assert told in printed


def test_a_corpus_in_parts_is_that_of_one_job_even_after_a_kill(checkout: Checkout, text: bytes) -> None:
    (checkout.folder / "pages").mkdir()
    for place in range(4):
        (checkout.folder / "pages" / f"{place}.txt").write_bytes(text[place::4] if place else text)
    configuration = ("--configfile", str(CONFIGURATIONS / "in_parts.yaml"))
    results = checkout.folder / "results" / "in_parts"
    wanted = ("--cores", "1", "results/in_parts/corpus/parts", *configuration)
    kill_when(lambda: list(results.glob("logs/write_shards/parts/*")), checkout.start(*wanted))
    assert not (results / "corpus" / "parts").exists()

    checkout.snakemake("--unlock", *wanted)
    printed = checkout.snakemake(*wanted)
    assert "prepare corpus parts" in printed
    assert "read the sizes" not in printed
    checkout.snakemake("--cores", "1", "results/in_parts/corpus/once", *configuration)
    whole = resumable_contents(results)
    one, other = (
        {file.relative_to(f"corpus/{name}"): data for file, data in whole.items() if name in file.parts}
        for name in ("once", "parts")
    )
    records = [json.loads(files.pop(Path(".tokbench.json"))) for files in (one, other)]
    assert [record["job"]["wildcards"] for record in records] == [{"corpus": "once"}, {"corpus": "parts"}]
    assert len(one) == 4
    assert one == other
    kept = sorted(path.name for path in (results / "parts" / "parts").rglob("*") if path.is_file())
    assert kept == ["0000.parquet", "0001.parquet", "0002.parquet"]


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tokbench.commands.main", *arguments],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_killed_preparation_leaves_no_corpus(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    (tmp_path / "lines.txt").write_bytes(b"a line\n" * 300_000)
    source = {"type": "text", "path": str(tmp_path / "lines.txt"), "documents": "line"}
    command = ("prepare", "--recipe", json.dumps({"source": source}), "-o", str(corpus))
    kill_when(lambda: list(tmp_path.glob(".corpus.*/*/*")), start(*command))
    assert not corpus.exists()


def test_killed_construction_leaves_no_tokenizer(tmp_path: Path, counts: PretokenCounts) -> None:
    tokenizer = tmp_path / "tokenizer"
    counts.write(tmp_path / "counts.parquet")
    command = ("build", "bpe", "--counts", str(tmp_path / "counts.parquet"), "--size", "1024", "-o", str(tokenizer))
    kill_when(lambda: list(tmp_path.glob(".tokenizer.*")), start(*command))
    assert not tokenizer.exists()

    again = start(*command)
    _, told = again.communicate()
    assert again.returncode == 0, told
    assert len(Tokenizer.load(tokenizer)) == 1024
