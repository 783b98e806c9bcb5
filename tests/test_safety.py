"""Claims of SECURITY.md that no other test covers: no code in input data is run.

The same configuration gives the same bytes, for any number of shards and threads, run after run.

Every registered construction is tried. The complete chain is run twice by the command line, as the rules run it: on
one shard with one thread, and on seven shards with two. That a killed training ends in the same weights is tested
where training is.
"""

import ast
import json
import pickle
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from tests.conftest import Tokbench
from tests.support.fake_results import stub, tiny_mpt
from tests.support.pipeline import Chain, call, call_in_one_process
from tests.support.small_report import PARTS, altered, whole
from tokbench.config.load import read
from tokbench.errors import TokbenchError
from tokbench.evaluation.suites import SuiteOptions
from tokbench.models.byte_lm.options import PRESETS as BYTE_LMS
from tokbench.models.pretraining.options import PRESETS as MODELS
from tokbench.report.html import render
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

SOURCE = Path(__file__).parents[1] / "src" / "tokbench"
ran: list[str] = []
"""File that code in data would write here."""


class Bomb:
    def __reduce__(self) -> Any:
        return ran.append, ("pickle",)


def calls() -> list[tuple[Path, str, dict[str, ast.expr]]]:
    """Every call in the package: where, of what, with which keywords."""
    found = []
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                named = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
                found.append((file, ast.unparse(node.func), named))
    return found


def told(keywords: dict[str, ast.expr], name: str) -> Any:
    value = keywords.get(name)
    return value.value if isinstance(value, ast.Constant) else None


def test_nothing_is_unpickled_but_checkpoints_of_ours() -> None:
    for file, called, keywords in calls():
        place = f"{file}: {called}"
        assert called.rpartition(".")[0] not in ("pickle", "joblib", "cloudpickle", "dill", "marshal", "shelve"), place
        assert called not in ("eval", "exec", "os.system", "np.load", "numpy.load", "pl.read_pickle"), place
        if called == "torch.load":
            assert told(keywords, "weights_only") is True, place
        if called in ("yaml.load", "yaml.load_all"):
            assert "Loader" in keywords, place
        assert called not in ("yaml.full_load", "yaml.unsafe_load", "yaml.UnsafeLoader", "yaml.FullLoader"), place
        assert told(keywords, "allow_pickle") is not True, place
        assert told(keywords, "shell") is not True, place


def test_no_code_of_others_is_run() -> None:
    """Data sets and models: nothing asks for remote code, and what is loaded by name is loaded without the hub."""
    loaded = [(file, called, keywords) for file, called, keywords in calls() if called.endswith("from_pretrained")]
    assert len(loaded) >= 3
    for file, called, keywords in loaded:
        assert told(keywords, "local_files_only") is True, f"{file}: {called}"
    for file, called, keywords in calls():
        assert told(keywords, "trust_remote_code") in (None, False), f"{file}: {called}"
        if called == "load_dataset" or (called.startswith("Auto") and called.endswith("from_pretrained")):
            assert told(keywords, "trust_remote_code") is False, file


def with_code(folder: Path, **settings: Any) -> Path:
    """Put code into a folder, which notes that it ran, and a file of settings that names it."""
    folder.mkdir(exist_ok=True)
    (folder / "code.py").write_text(f"open({str(folder / 'ran')!r}, 'w')\n")
    named = dict.fromkeys(("AutoConfig", "AutoModelForCausalLM"), "code.Own") | {"AutoTokenizer": ["code.Own"] * 2}
    for name in ("config.json", "tokenizer_config.json"):
        file = folder / name
        known = json.loads(file.read_text()) if file.exists() else settings
        file.write_text(json.dumps(known | {"auto_map": named}))
    return folder


def test_code_in_a_tokenizer_s_folder_is_not_run(
    tokenizer: Path, plain: Path, tmp_path: Path, tokbench: Tokbench
) -> None:
    """One of ours, and one that is imported."""
    theirs = with_code(tmp_path / "theirs", model_type="own", tokenizer_class="Own")
    made = tokbench("export", tokenizer, "--to", "tokenizer_json", "-o", tmp_path / "exported")
    assert made.status == 0, made.stderr
    shutil.copy(tmp_path / "exported" / "tokenizer.json", theirs)
    assert tokbench("import", theirs, "--from", "transformers", "-o", tmp_path / "own").status == 0
    for folder in (with_code(tokenizer), with_code(tmp_path / "own"), theirs):
        for line in (["check", folder], ["show", folder, "some text"], ["encode", folder, plain]):
            ended = tokbench(*line)
            assert ended.status == 0, (line, ended)
        assert not list(tmp_path.rglob("ran"))


def test_code_in_a_model_s_folder_is_not_run(
    torch: ModuleType, tokenizer: Path, tmp_path: Path, tokbench: Tokbench
) -> None:
    """Nobody is asked whether to run it either: the answer would be read from the terminal."""
    model = with_code(tmp_path / "model", model_type="own")
    line = ["evaluate", "--model", model, "--tokenizer", with_code(tokenizer), "--recipe", '{"tasks": ["last_word"]}']
    ended = tokbench(*line, "--tasks", tmp_path, "-o", tmp_path / "found.json", stdin=b"y\n")
    assert "no class of transformers opens the model, and code in its folder is not run (" in ended.message
    assert not list(tmp_path.rglob("ran"))


def test_a_checkpoint_with_a_pickle_is_not_run(tmp_path: Path) -> None:
    """The rejection precedes all loading; of byte language models tensors alone are loaded."""
    from tokbench.models.pretraining.checkpoints import recover

    states = tmp_path / "states"
    states.mkdir()
    (states / "ba3.pt").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(TokbenchError, match=r"delete .* to start over"):
        recover(states)
    assert not (states / "latest.pt").exists()
    torch = pytest.importorskip("torch")
    torch.save({"state": Bomb()}, tmp_path / "optimizer.pt")
    with pytest.raises(pickle.UnpicklingError):
        torch.load(tmp_path / "optimizer.pt", weights_only=True)
    assert not ran


TEMPLATE = "{{ cycler.__init__.__globals__.os.system('touch mark') }}context"
HOSTILE_TASKS: dict[str, dict[str, Any]] = {
    "template of a context": {"doc_to_text": TEMPLATE},
    "template of a choice": {"doc_to_choice": TEMPLATE},
    "template of an answer": {"doc_to_target": TEMPLATE},
    "template of a description": {"description": TEMPLATE},
    "script of a data set": {"dataset_path": "script", "dataset_kwargs": {"trust_remote_code": True}},
    "data of another place": {"dataset_kwargs": {"data_files": {"test": "../../../etc/passwd"}}},
    "argument of a data set": {
        "dataset_kwargs": {"data_files": {"test": "continuation.test.jsonl"}, "trust_remote_code": True}
    },
    "class": {"class": "os.system"},
    "include": {"include": "other.yaml"},
    "filter": {"filter_list": [{"name": "a", "filter": [{"function": "custom"}]}]},
}


@pytest.mark.parametrize("change", HOSTILE_TASKS.values(), ids=HOSTILE_TASKS)
def test_a_task_folder_runs_nothing(
    change: dict[str, Any], offline_tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("lm_eval")
    from tokbench.evaluation.evaluate import evaluate_suite

    monkeypatch.chdir(tmp_path)
    folder, mark = tmp_path / "tasks", tmp_path / "mark"
    shutil.copytree(offline_tasks, folder)
    (folder / "script.py").write_text(f"open({str(mark)!r}, 'w')")
    path = folder / "continuation.yaml"
    values = yaml.safe_load(path.read_text())
    values |= change
    path.write_text(yaml.safe_dump(values))
    suite = SuiteOptions(tasks=("continuation",), limit=1)
    with pytest.raises(TokbenchError, match=rf"continuation\.yaml: key '({'|'.join(change)})' is not as Tokbench"):
        evaluate_suite(stub(lambda context, choice: 0.0), suite, folder)
    assert not mark.exists()


def test_a_task_of_the_hub_runs_no_script_of_its_data_set() -> None:
    """Some tasks of lm-eval ask for that."""
    pytest.importorskip("lm_eval")
    from tokbench.evaluation.load_tasks import load_tasks

    with pytest.raises(TokbenchError, match="'xnli_va' of lm-eval runs a script of its data set"):
        load_tasks(SuiteOptions(source="hub", tasks=("xnli_va",)), None, "cache")


def test_a_model_folder_runs_nothing(tmp_path: Path, offline_tasks: Path) -> None:
    """Neither code that its configuration names nor pickled weights."""
    torch = pytest.importorskip("torch")
    from tokbench.evaluation.evaluate import evaluate

    Tokenizer(Vocabulary(BYTES), "none", "greedy", name="bytes").save(tmp_path / "tokenizer")
    model, mark = tmp_path / "model", tmp_path / "mark"
    model.mkdir()
    (model / "code.py").write_text(f"open({str(mark)!r}, 'w')")
    arguments = (model, tmp_path / "tokenizer", offline_tasks, SuiteOptions(tasks=("last_word",)), tmp_path / "o.json")
    named = {"AutoConfig": "code.Config", "AutoModelForCausalLM": "code.Model"}
    (model / "config.json").write_text(json.dumps({"model_type": "unknown", "auto_map": named}))
    for weights in ({}, {"weight": Bomb()}):
        with pytest.raises(TokbenchError, match=f"{model}: no class of transformers opens the model"):
            evaluate(*arguments)
        tiny_mpt(torch, 64).save_pretrained(model)
        (model / "model.safetensors").unlink()
        torch.save(weights, model / "pytorch_model.bin")
    assert not mark.exists()
    assert not ran


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.getcwd []", "!!python/name:os.system", "!ruby/object:A {}"])
def test_yaml_makes_no_objects(tag: str, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"name: {tag}\n")
    with pytest.raises(TokbenchError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load(path.read_text())


def test_the_page_shows_names_as_text(tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    absent = dict.fromkeys(set(PARTS) - {"intrinsic", "overlaps"})
    content = altered(whole(), **absent, title=hostile, configuration=f"name: {hostile}\n</script><script>alert(1)")
    render(content, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<img src=x" not in page
    assert "<script>alert(1)" not in page
    assert "&lt;img src=x" in page


def test_messages_do_not_command_the_terminal() -> None:
    """Pieces of files that a rejection quotes; the lines of a rejection of a configuration stay apart."""
    assert str(TokbenchError("a: \x1b[2Jb\r\x85\u2028\ud800\x1c naïve\nb: 東")) == "a: ?[2Jb????? naïve\nb: 東"


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/b", "..", "a\n"])
def test_names_are_no_paths(name: str, experiment: dict[str, Any], tmp_path: Path) -> None:
    """Names in a configuration become names of files."""
    for section in ("corpora", "variants", "models", "suites", "byte_lms"):
        changed = dict(experiment)
        changed[section] = {name: next(iter(experiment[section].values()))}
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump(changed))
        with pytest.raises(TokbenchError, match="name of letters"):
            read(path)


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
        parts = [split("pretraining")[first : first + 3] for first in range(0, shards, 3)]
        encoded = [path("encoded", f"{number}.parquet") for number, _ in enumerate(parts)]
        for part, output in zip(parts, encoded, strict=True):
            call("encode_shard", tokenizer, *part, "--slices", "3", "-o", output)
        call("gather_tokens", "-o", path("gathered"), *encoded)
        for number in range(3):
            line = ("--sequence-length", "64", "--slice", str(number), "-o", path("slices", str(number)))
            call("pack_slice", tokenizer, path("gathered"), *line)
        call("pack", tokenizer, *packed, *(path("slices", str(number)) for number in range(3)))
    trained = ("--packed", path("packed"), "--tokenizer", tokenizer, "-o", path("model"))
    call_in_one_process([("pretrain", "--recipe", MODEL, *trained)])
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
