"""Imports of other libraries by a command: those that it uses, and no others.

Each command runs once, in a process of its own, on the files of one small chain. Libraries that it may import are there
before it: processes are forked from those that have imported them, so that each is imported once for many commands.

The commented settings of the SLURM profile are valid without the comment signs.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from socket import gethostname

import numpy as np
import pytest
import yaml
from safetensors.numpy import save_file
from snakemake.cli import parse_args

from tests.conftest import TOPICS
from tests.support.imports import APART
from tests.support.rules import RULES
from tests.support.workflow.checkout import ROOT
from tokbench.commands.declaration import declarations
from tokbench.commands.main import main
from tokbench.workflow.job_states import Plan, PlannedRun, write_plan

Lines = Sequence[Sequence[str]]

LIBRARIES = frozenset(
    {
        "PIL", "composer", "datasets", "huggingface_hub", "jinja2", "llmfoundry", "lm_eval", "matplotlib", "numpy",
        "pandas", "polars", "pyarrow", "pydantic", "safetensors", "scipy", "scipy.stats", "streaming", "tokenizers",
        "torch", "transformers", "yaml",
    }
)  # fmt: skip
"""The libraries that take a user's time when they are imported."""
RUN = (
    APART
    + """
import json
from importlib import import_module

HEAVY = {"scipy.stats"}
FIRST = {
    "tokbench.options": "pydantic",
    "tokbench.tokenizer": "numpy",
    "tokbench.corpus.shards": "numpy pyarrow pydantic",
    "tokbench.pretokens.external_count": "numpy pyarrow pydantic",
    "tokbench.config.sections": "numpy pyarrow pydantic yaml",
    "tokbench.config.experiment": "numpy pyarrow pydantic yaml",
    "polars": "polars",
    "tokbench.inspection.comparison.runs": "numpy polars pyarrow pydantic scipy yaml",
    "tokbench.tabulation.table": "numpy polars pyarrow pydantic scipy yaml",
}

def run(lines, told):
    from tokbench.commands.main import main
    if lines[0][0] == "check":
        few_probes()
    ended = []
    for line in lines:
        try:
            main(line)
            ended.append(0)
        except SystemExit as end:
            ended.append(end.code)
    with open(told, "w") as file:
        json.dump([ended, sorted({*sys.modules} & HEAVY | {name.partition(".")[0] for name in sys.modules})], file)

def few_probes():
    "Every check runs, on fewer texts: they import the same."
    from tokbench.inspection.checks import probes
    blocks, numbers = [*probes.blocks()][::100], probes.numbers()[::100]
    probes.blocks, probes.numbers, probes.RUN_LENGTHS = lambda: blocks, lambda: numbers, (100,)

def share(asked, libraries):
    for library in libraries:
        theirs = [one for one in asked if set(FIRST[library].split()) <= set(one[0])]
        asked = [one for one in asked if one not in theirs]
        if theirs:
            apart(having, library, theirs, libraries[libraries.index(library) + 1 :])
    for _, lines, told in asked:
        apart(run, lines, told)

def having(library, asked, libraries):
    import_module(library)
    share(asked, libraries)

share(json.loads(sys.argv[1]), list(FIRST))
"""
)
"""Runs command lines, each list of them in a process that has imported what it may, with modules of ours that need no
more than that, and writes how they ended and what was imported."""
CORPUS = {
    "source": {"type": "text", "path": ["text.txt"], "documents": "paragraph"},
    "splits": {"tokenizer": 0.5, "evaluation": 0.5},
}
PAIRS = {
    "languages": ["en", "de"],
    "train": {"type": "lines", "path": {"en": "pairs.en", "de": "pairs.de"}},
    "tests": {"held": 1},
}
EXPERIMENT = """\
name: small
corpora: {text: {source: {type: text, path: text.txt}}}
variants: {bpe: {corpus: text, pretokenization: gpt2, construction: bpe}}
sizes: [300]
"""
ROWS = "numpy pyarrow pydantic"
"""Of commands that read and write Parquet in rows, and methods' options."""
TABLES = "numpy polars pydantic"
"""Of commands that work on tables."""
CHAIN = {
    "methods": ("methods bpe", "numpy pydantic"),
    "status": ("status done", "pydantic"),
    "cancel": ("cancel done", "pydantic"),
    "schema": ("schema", "numpy pydantic yaml"),
    "download": ("download tokenizers", "pydantic"),
    "validate": ("validate small.yaml", f"{ROWS} yaml"),
    "prepare": ("prepare --recipe CORPUS -o corpus text.txt", f"{ROWS} yaml"),
    "prepare_parallel": ("prepare_parallel --recipe PAIRS -o pairs", f"{ROWS} yaml"),
    "read_sizes": ("read_sizes --recipe CORPUS -o sizes text.txt", f"{ROWS} yaml"),
    "split_corpus": ("split_corpus --recipe CORPUS -o places sizes", f"{ROWS} yaml"),
    "deal_part": ("deal_part --recipe CORPUS --places places/0000.parquet -o queue text.txt", f"{ROWS} yaml"),
    "write_shards": ("write_shards --recipe CORPUS --group 0 --places places -o shards queue", f"{ROWS} yaml"),
    "count": ("count --scheme gpt2 text.txt -o counts.parquet", ROWS),
    "find_leakage": ("find_leakage -o leakage.json corpus/evaluation corpus/tokenizer", ROWS),
    "merge_counts": ("merge_counts counts.parquet counts.parquet -o merged.parquet", ROWS),
    "import_counts": ("import_counts --scheme gpt2 counts.parquet -o imported.parquet", ROWS),
    "build": ("build bpe --counts counts.parquet --size 300 -o bpe", f"{ROWS} tokenizers yaml"),
    "import": (
        "import bpe/tokens.vocab --from tokens --pattern gpt2 --segmentation greedy -o taken",
        "numpy pydantic yaml",
    ),
    "encode": ("encode bpe text.txt -o encoded", "numpy"),
    "decode": ("decode bpe ids -o decoded", "numpy"),
    "bytes": ("bytes bpe -o token_bytes.npy", "numpy"),
    "export": ("export bpe --to tokens -o exported", "numpy pydantic"),
    "carry_embeddings": (
        "carry_embeddings bpe copy weights.safetensors -o carried.safetensors",
        "numpy safetensors",
    ),
    "measure": ("measure bpe --counts counts.parquet -o measured.json", f"{ROWS} yaml"),
    "count_tokens": ("count_tokens bpe SHARD --speed speed.json -o tokens.json", ROWS),
    "ngram_bits": ("ngram_bits bpe --train SHARD --test SHARD -o bits.json", ROWS),
    "perturb": ("perturb SHARD --rate 1 -o perturbed.parquet", f"{TABLES} pyarrow"),
    "measure_robustness": ("measure_robustness bpe perturbed.parquet -o robust.json", f"{TABLES} pyarrow"),
    "measure_resource": ("measure_resource bpe --recipe ladec ladec.csv", f"{TABLES} yaml"),
    "bound": ("bound --counts counts.parquet --size 300 --steps 5 -o proof", ROWS),
    "check_bound": ("check-bound proof --counts counts.parquet", ROWS),
    "compare": ("compare bpe copy text.txt", f"{ROWS} scipy"),
    "check": ("check bpe --documents text.txt", f"{ROWS} tokenizers"),
    "show": ("show bpe copy --file short.txt", ROWS),
    "train_byte_lm": ("train_byte_lm --recipe ngram SHARD -o ngram", f"{ROWS} yaml"),
    "score_bytes": ("score_bytes --recipe ngram --model ngram SHARD -o scores.parquet", f"{ROWS} yaml"),
    "encode_shard": ("encode_shard bpe SHARD -o shard.parquet", ROWS),
    "gather_tokens": ("gather_tokens shard.parquet -o gathered", ROWS),
    "pack_slice": ("pack_slice bpe gathered --slice 0 --sequence-length 64 -o slice", ROWS),
    "pack": ("pack bpe --sequence-length 64 SHARD -o packed", ROWS),
    "make_tasks": ("make_tasks -o tasks SHARD", f"{ROWS} yaml"),
    "tabulate": ("tabulate --intrinsic measured.json -o tables", f"{TABLES} pyarrow yaml"),
    "cut_examples": (
        "cut_examples --tokenizer bpe --shard text=SHARD --recipe EXAMPLES -o examples",
        f"{TABLES} pyarrow yaml",
    ),
    "cite": ("cite small.yaml", f"{ROWS} yaml"),
    "compare_experiments": ("compare-experiments . .", f"{TABLES} pyarrow scipy yaml"),
    "analyse": ("analyse tables -o statistics", f"{TABLES} pyarrow scipy scipy.stats yaml"),
    "leaderboard": (
        "leaderboard --name small --statistics statistics --tokenizer bpe --documents corpus -o board.json",
        f"{TABLES} pyarrow scipy yaml",
    ),
}
"""Arguments of each command, run in one folder in turn, and the libraries that it may import."""
REJECTED = {
    "fetch": ("fetch --recipe {} -o hub.parquet", f"{ROWS} yaml"),
    "fetch_pairs": ("fetch_pairs --recipe {} -o pairs.parquet", f"{ROWS} yaml"),
    "fetch_tokenizer": ("fetch_tokenizer --recipe {} -o fetched", f"{ROWS} yaml"),
    "power": ("power .", TABLES),
    "price": ("price .", f"{TABLES} pyarrow scipy yaml"),
    "trainings": ("trainings .", ""),
    "write_experiment": ("write_experiment --settings x -o out.json", ""),
    "fetch_tasks": ("fetch_tasks --recipe offline -o fetched", "pydantic yaml"),
    "import_tasks": ("import_tasks --recipe offline -o imported", f"{ROWS} yaml"),
}
"""Commands that need what is not here: they end with a mistake in their recipe, before any library of the hub."""
ELSEWHERE = (
    *(
        "draw",
        "draw_bytes",
        "evaluate",
        "init",
        "measure_embeddings",
        "pretrain",
        "published",
        "report",
        "score_tokens",
        "score_translation",
    ),
    *("measure_translation_embeddings", "train_translation", "translate", "typeset"),
)
"""Commands that draw, train or ask models: they need the heaviest libraries for what they do."""


def libraries(asked: Mapping[str, tuple[str, Lines]], folder: Path, status: int = 0) -> dict[str, set[str]]:
    """The libraries that processes have imported after some command lines, all of which end with one status; what they
    may import, separated by blanks, can be there before."""
    told = {name: folder / f"told {name}.json" for name in asked}
    handed = [(allowed.split(), lines, str(told[name])) for name, (allowed, lines) in asked.items()]
    process = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(handed)], cwd=folder, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    found = {}
    for name, path in told.items():
        ended, modules = json.loads(path.read_text())
        assert set(ended) == {status}, process.stderr
        found[name] = LIBRARIES & set(modules)
    return found


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Return the imports of each command."""
    folder = tmp_path_factory.mktemp("imports")
    (folder / "text.txt").write_bytes(b"\n\n".join(TOPICS))
    for side in ("en", "de"):
        (folder / f"pairs.{side}").write_text("one\ntwo\nthree\n")
    (folder / "short.txt").write_bytes(TOPICS[0][:200])
    (folder / "small.yaml").write_text(EXPERIMENT)
    (folder / "done").mkdir()
    write_plan(Plan(folder / "done", PlannedRun("", 0, 1, gethostname(), str(folder), "done", "", None, ()), ()))
    (folder / "ladec.csv").write_text("c1,c2,stim,correctParse\nair,bag,airbag,yes\n")
    cut = {"examples": ["A sentence."], "shown": [], "corpora": {}}
    named = {
        "EXAMPLES": json.dumps(cut),
        "CORPUS": json.dumps(CORPUS),
        "PAIRS": json.dumps(PAIRS),
        "SHARD": "corpus/evaluation/0000.parquet",
    }
    asked, rejected = (
        {name: (allowed, [[named.get(word, word) for word in line.split()]]) for name, (line, allowed) in calls.items()}
        for calls in (CHAIN, REJECTED)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for number, (_, [line]) in enumerate(asked.values()):
            others = [word.partition("/")[0] for _, [other] in [*asked.values()][number + 1 :] for word in other]
            if "-o" in line and line[line.index("-o") + 1] in others:
                main(line)
        main(["encode", "bpe", "text.txt", "-o", "ids"])
        shutil.copytree("bpe", "copy")
        save_file({"wte.weight": np.zeros((302, 2), np.float32)}, "weights.safetensors")
    return libraries(asked, folder) | libraries(rejected, folder, status=2)


@pytest.mark.parametrize("name", [*CHAIN, *REJECTED])
def test_commands_import_only_their_libraries(name: str, imported: dict[str, set[str]]) -> None:
    _, allowed = (CHAIN | REJECTED)[name]
    assert imported[name] <= set(allowed.split())


OF_STAGES = "tabulate"
"""Command whose options follow from the stages, which it imports for its help."""


def test_every_command_is_among_them() -> None:
    assert {*CHAIN, *REJECTED, *ELSEWHERE} == {*declarations()}


def test_help_imports_no_library(tmp_path: Path) -> None:
    lines = [["--help"], ["--version"], *([name, "--help"] for name in declarations() if name != OF_STAGES)]
    assert libraries({"help": ("", lines)}, tmp_path) == {"help": set()}


def test_a_mistake_on_the_command_line_imports_no_library(tmp_path: Path) -> None:
    lines = [
        ["biuld"],
        ["--no-such-option"],
        *([name, "--no-such-option"] for name in declarations() if name != OF_STAGES),
        ["build", "bpe"],
    ]
    assert libraries({"mistakes": ("", lines)}, tmp_path, status=2) == {"mistakes": set()}


@pytest.mark.parametrize(
    "line",
    [
        "build bpee --size 512 -o out",
        "build bpe --size 512 -o out --counts absent",
        "build bytespan --size 512 -o out --scores absent",
        "build sage --size 512 -o out --documents absent",
        "bound --size 512 --counts absent",
        "count --pretokenization gpt2 -o out absent",
        "import_counts --pretokenization gpt2 -o out absent",
        "count_tokens . -o out absent",
        "measure . --counts absent",
        "measure . --documents absent",
        "ngram_bits . --train absent --test absent",
        "check . absent",
        "compare absent absent",
        "compare . . absent",
        "validate absent",
        "cite absent",
        "import . --from tokens -o out --check absent",
    ],
)
def test_missing_file_is_an_error_before_libraries_are_imported(line: str, tmp_path: Path) -> None:
    assert libraries({"absent": ("", [line.split()])}, tmp_path, status=2) == {"absent": set()}


PROFILE = ROOT / "profiles" / "slurm" / "config.yaml"
SETTING = re.compile(r"^( *)# ([a-z_-]+:(?: .*)?)$")


LINES = PROFILE.read_text(encoding="utf-8").splitlines()
COMMENTED = [number for number, line in enumerate(LINES) if SETTING.match(line)]
OF_SLURM = {"slurm_account", "slurm_partition", "qos", "constraint"}
"""Settings that the executor parses as text."""


def uncommented(*numbers: int) -> str:
    """The profile with some of its comments as settings."""
    return "\n".join(SETTING.sub(r"\1\2", line) if number in numbers else line for number, line in enumerate(LINES))


def test_profile_lists_the_settings_of_clusters() -> None:
    named = {SETTING.sub(r"\2", LINES[number]).partition(":")[0] for number in COMMENTED}
    assert {"slurm_account", "qos", "constraint", "gpu", "software-deployment-method"} <= named
    settings = yaml.safe_load(PROFILE.read_text(encoding="utf-8"))
    assert settings["resources"]["mem_mb"] > 0
    assert settings["max-jobs-per-timespan"]


def test_recipes_decide_which_jobs_request_a_gpu() -> None:
    """The profile says where jobs of models go, and gives a GPU to none by itself."""
    settings = yaml.safe_load(PROFILE.read_text(encoding="utf-8"))["set-resources"]
    assert {rule for rule, asked in settings.items() if asked.get("slurm_partition") == "gpu"} >= {"train_byte_lm"}
    assert not [rule for rule, asked in settings.items() if "gpu" in asked]


@pytest.mark.parametrize("number", COMMENTED, ids=[LINES[number].strip() for number in COMMENTED])
def test_a_commented_setting_is_valid(number: int, tmp_path: Path) -> None:
    """By itself: Snakemake takes it, for rules that there are, and it changes what is asked for."""
    (tmp_path / "config.yaml").write_text(uncommented(number), encoding="utf-8")
    plain, changed = (parse_args(["--profile", str(folder)])[1] for folder in (PROFILE.parent, tmp_path))
    assert changed.set_resources.keys() <= RULES.keys()
    before, after = (
        {**vars(given), "default_resources": told(given.default_resources), "set_resources": of_rules(given)}
        for given in (plain, changed)
    )
    assert {key for key in before if before[key] != after[key]} - {"profile"}
    for asked in (after["default_resources"], *after["set_resources"].values()):
        assert all(re.fullmatch(r"'?\w+'?", asked[key]) for key in OF_SLURM & asked.keys())


def told(resources: object) -> dict[str, str]:
    """Resources as they are written."""
    return {name: str(resource.raw) for name, resource in dict(resources).items()}  # type: ignore[call-overload]


def of_rules(given: object) -> dict[str, dict[str, str]]:
    return {rule: told(resources) for rule, resources in given.set_resources.items()}  # type: ignore[attr-defined]
