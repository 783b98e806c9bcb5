"""Shared fixtures: a Hypothesis profile for busy machines, texts, counts, byte scores and the command line."""

import ctypes
import gc
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import _lru_cache_wrapper
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from itertools import count
from pathlib import Path
from pydoc_data.topics import topics
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import is_hypothesis_test, settings
from numpy.typing import NDArray

from tests.support.fake_results import DOCUMENTS, SMALL
from tests.support.processes import new_process_memory
from tests.support.workflow.checkout import ROOT, Prepared
from tokbench.commands.main import main
from tokbench.construction.bpe import BpeOptions, build
from tokbench.evaluation.offline_tasks import make_tasks
from tokbench.models.byte_lm.scores import write_scores
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.count import count_pretokens
from tokbench.tokenizer import Tokenizer

settings.register_profile("busy", deadline=None)
settings.load_profile("busy")

ODD = "naïve Straße 東京 🦀\u200d don't  2024\r\n\t\n".encode() + b"\xff\xfe\xe6\x9d \x00\x80"
"""Text with contractions, digits, blanks, several scripts and bytes that are not UTF-8."""
SCHEMES = (
    "added_tokens, cl100k, deepseek_v3, digit, digits, first_space, first_space_digit, gpt2, kimi_k2, llama3, "
    "metaspace, nanochat, none, o200k, qwen2, qwen3_5, regex, scripts, sequence, space, space_digit, superbpe_1, "
    "superbpe_2, tekken"
)
"""The pre-tokenizations, as rejections list them."""
TOPICS = [topics[name].encode() for name in ("for", "lambda", "strings", "numbers", "assignment")]


NUMBERS = count()
"""Of the folders of tests, so that no two of one name meet."""
FEWEST = 15
"""Examples of a property, at least, if it names as many."""
LIBC = ctypes.CDLL(None)
"""The library that keeps what a process has freed until it is told to give it back."""
TRANSFORMERS = [
    "adapters/test_hub_folders",
    "adapters/test_exports",
    "tokenizer/test_auto_tokenizer",
    "tokenizer/test_model_folder",
    "tokenizer/test_hugging_face",
    "tokenizer/test_transformers",
    "tokenizer/test_transformers_uses",
]
"""Files whose tests need no torch, and run with two versions of transformers."""
LANGUAGE_MODELS = [
    *TRANSFORMERS,
    "workflow/test_fingerprint",
    "test_safety",
    "io/test_disk_full",
    "costs/test_transformer",
    "evaluation/test_bits_per_byte",
    "models/test_byte_lm",
    "models/test_kept_checkpoints",
    "evaluation/test_scoring",
    "evaluation/test_evaluation",
    "evaluation/test_token_scores",
    "evaluation/test_other_segmentations",
    "evaluation/test_perturbed_questions",
    "tabulation/test_imported_models",
    "evaluation/test_local_tasks",
    "models/test_translation",
    "statistics/comparisons/test_translation_scores",
    "models/test_identity",
    "models/test_pack",
    "models/test_processes",
    "models/test_pretraining_train",
    "models/test_phases",
    "models/test_attention",
    "models/test_pretraining_options",
    "models/test_memory",
]
"""Files whose tests take long to import what they need, in the order in which one process runs them: llm-foundry, last
to come, claims the name of MPT for a class of its own."""

LONG = [
    "config/test_experiments",
    "test_fuzz",
    "models/test_pack_slices",
    "models/test_training",
    "workflow/test_slurm",
    "workflow/test_incremental",
    "runtime/test_memory_ladder",
    "pretokens/test_external_count",
    "io/test_readers",
    "tokenizer/test_tokenizer",
    "inspection/test_check",
    "workflow/test_status",
    "report/test_page",
    "report/test_exhibits",
    "corpus/test_parts",
    "corpus/test_memory",
    "test_imports",
    "test_command_line",
    "kernels/test_patterns",
    "adapters/test_ranks",
    "report/test_figures",
    "adapters/test_same_ids",
    "adapters/test_tokenizer_json",
    "pretokenization/test_well_known",
    "kernels/test_kernels",
    "test_wheel",
    "construction/test_greedtok",
    "published/test_published",
    "pretokenization/test_built_in",
    "end_to_end/test_workflow",
    "adapters/test_exports",
    "construction/test_pathpiece",
    "kernels/test_encode",
    "workflow/test_resources",
    "construction/test_events",
    "construction/test_unigram",
    "test_registry",
    "workflow/test_shell",
    "workflow/test_status_overview",
    "kernels/test_pattern_scan",
    "corpus/test_sources",
    "io/test_yaml_json",
    "construction/test_picky_bpe",
    "segmentation/test_segmentation",
    "optimum/test_bound",
    "inspection/test_reach",
]
"""Other files that take more than some seconds, the longest first."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Slow tests run first, so that parallel processes end together.

    Properties are tried on a third of the examples that they name, and on at least ``FEWEST`` of them. With
    ``TOKBENCH_EXAMPLES`` only properties are tried, each on that many times its examples."""
    times = int(os.environ.get("TOKBENCH_EXAMPLES", "0"))
    if times:
        config.hook.pytest_deselected(items=[item for item in items if not _is_property(item)])
        items[:] = [item for item in items if _is_property(item)]
    for test in {item.obj for item in items if isinstance(item, pytest.Function) and _is_property(item)}:
        named = test._hypothesis_internal_use_settings
        examples = named.max_examples
        examples = examples * times if times else max(examples // 3, min(examples, FEWEST))
        test._hypothesis_internal_use_settings = settings(named, max_examples=examples)
    missing = pytest.mark.skip(reason="in the environment of language models: make test")
    for item in items:
        if (name := _name(item.path)) in LANGUAGE_MODELS:
            item.add_marker("language_models")
            if find_spec("torch") is None and name not in TRANSFORMERS:
                item.add_marker(missing)
    places = {name: place for place, name in enumerate(LANGUAGE_MODELS + LONG)}
    items.sort(key=lambda item: places.get(_name(item.path), len(places)))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the other files if only the tests of language models are selected; None: collect."""
    chosen = config.option.markexpr == "language_models" and collection_path.name.startswith("test_")
    return True if chosen and collection_path.is_file() and _name(collection_path) not in LANGUAGE_MODELS else None


def _name(path: Path) -> str:
    """The name of a file of tests: its path below ``tests``, without the ending."""
    return str(path.relative_to(Path(__file__).parent).with_suffix(""))


def _is_property(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing is looked through for garbage while modules are imported: what is imported stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Thousands of tests and the modules that they are in stay to the end: no collection of garbage looks at them
    again, and there are fewer of them.

    Each process that shares the work imports all modules of tests, but one alone what language models need."""
    assert "torch" not in sys.modules, "tests of language models import what they need when they run"
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What one file's tests leave is not held while the next one's run: commands that they call have their bounds.

    This is done after fixtures have ended, or these would be among what is kept."""
    if nextitem is None or nextitem.path != item.path:
        for cached in vars(item.module).values() if isinstance(item, pytest.Function) else ():
            if isinstance(cached, _lru_cache_wrapper):
                cached.cache_clear()
        gc.collect()
        gc.freeze()  # What is left was imported, or is kept for good: one look at it is enough.
        if sys.platform == "linux" and hasattr(LIBC, "malloc_trim"):
            LIBC.malloc_trim(0)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each file is the work of one of the processes that share it; all tests of language models are, next to others."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            name = file.removeprefix("tests/").removesuffix(".py")
            return "language models" if together and name in LANGUAGE_MODELS else file

    together = config.option.markexpr != "language_models"
    return ByFile(config, log)


@dataclass(frozen=True)
class Outcome:
    """Outcome of a call of the command line."""

    status: int
    stdout: bytes
    stderr: str

    @property
    def message(self) -> str:
        """The one line of a rejection."""
        assert self.status == 2, self.stderr
        assert self.stdout == b""
        [line] = self.stderr.splitlines()
        return line


Tokbench = Callable[..., Outcome]


@pytest.fixture
def tokbench(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Tokbench:
    """Runs the command line in this process; ``stdin`` is what '-' reads."""

    def run(*arguments: Any, stdin: bytes = b"") -> Outcome:
        source = io.BytesIO(stdin)
        source.name = "<stdin>"  # type: ignore[attr-defined]
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(source))
        capfdbinary.readouterr()
        status = 0
        try:
            with new_process_memory():
                main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = int(end.code or 0)
        sys.stdout.flush()
        captured = capfdbinary.readouterr()
        return Outcome(status, captured.out, captured.err.decode())

    return run


@pytest.fixture(scope="session", autouse=True)
def temporary(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Remove files of killed processes with the folders of these tests, and use a cache of their own."""
    tempfile.tempdir = os.environ["TMPDIR"] = str(tmp_path_factory.mktemp("temporary"))
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder of the test's own, in one of its file's.

    pytest's own would lie beside all others, and each new one look through thousands for its number.
    """
    name = re.sub(r"\W", "_", request.node.name)[:30]
    path = tmp_path_factory.getbasetemp() / request.path.stem / f"{name}{next(NUMBERS)}"
    path.mkdir(mode=0o700, parents=True)
    return path


@pytest.fixture(scope="session")
def text() -> bytes:
    """About 60 kB: some pages of the Python manual, and bytes that are not UTF-8."""
    return b"\n".join([*TOPICS, ODD])


@pytest.fixture(scope="session")
def counts(text: bytes) -> PretokenCounts:
    """Pre-tokens of the text under gpt2."""
    return count_pretokens([text], "gpt2")


@pytest.fixture
def tokenizer(counts: PretokenCounts, tmp_path: Path) -> Path:
    """Folder of a BPE tokenizer of 300 tokens."""
    folder = tmp_path / "tokenizer"
    folder.mkdir()
    Tokenizer(build(counts, 300, BpeOptions()), "gpt2", "merge").save(folder)
    return folder


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A file that holds some text."""
    path = tmp_path / "plain.txt"
    path.write_bytes(b"some text")
    return path


@pytest.fixture(scope="session")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Byte scores of the text's documents, made by hand: a byte surprises the more, the rarer it is."""
    path = tmp_path_factory.mktemp("scores") / "0000.parquet"
    every = np.bincount(np.frombuffer(b"".join(TOPICS), np.uint8), minlength=256) + 1
    surprise = -np.log(every / every.sum()).astype(np.float32)

    def score(topic: bytes) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        values = surprise[np.frombuffer(topic, np.uint8)]
        return values, values

    write_scores(enumerate(TOPICS), score, path, "by hand")
    return path


@pytest.fixture(scope="session")
def workflow() -> Iterator[Prepared]:
    """Snakemake where the workflow itself lies."""
    prepared = Prepared(ROOT, os.environ | {"PYTHONPATH": str(ROOT / "src")})
    yield prepared
    prepared.close()


EXPERIMENT = """
name: trial
corpora:
  pydoc:
    source: embedded
    splits: {byte_lm: 0.1, tokenizer: 0.4, evaluation: 0.1, pretraining: 0.3}
byte_lms: {tiny: tiny}
variants:
  bpe: {pretokenization: gpt2, construction: bpe}
  pathpiece: {pretokenization: gpt2, construction: {method: pathpiece, initial: bpe, initial_size: 2048}}
  span: {pretokenization: gpt2, construction: bytespan, byte_lm: tiny}
sizes: [1024]
models: {tiny: tiny}
suites: {offline: offline}
runs:
  - {models: [tiny], variants: [bpe], suites: [offline]}
"""


@pytest.fixture
def experiment() -> dict[str, Any]:
    """The values of a small configuration without a mistake, to be changed at will."""
    values: dict[str, Any] = yaml.safe_load(EXPERIMENT)
    return values


def write_json_lines(path: Path, rows: list[Any]) -> Path:
    """Rows as JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def tool_of(name: str) -> ModuleType:
    """A script of ``tools/`` as a module."""
    spec = spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def torch() -> Iterator[ModuleType]:
    """torch, where the language-model stack, an extra of the package, is installed; the hub switched off."""
    pytest.importorskip("lm_eval")
    from tokbench.evaluation.evaluate import ENVIRONMENT as VARIABLES

    with pytest.MonkeyPatch.context() as patch:
        for key, value in VARIABLES.items():
            patch.setenv(key, value)
        module = pytest.importorskip("torch")
        module.set_num_threads(1)
        yield module


@pytest.fixture(scope="module")
def own_environment() -> Iterator[None]:
    """Pretraining sets variables that the libraries read; other tests shall not see them."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "CUDA_VISIBLE_DEVICES"):
            patch.setenv(name, os.environ.get(name, ""))
        yield


@pytest.fixture(scope="session")
def offline_tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the offline tasks of drawn prose."""
    path = tmp_path_factory.mktemp("downstream") / "tasks"
    make_tasks(DOCUMENTS, path, SMALL)
    return path
