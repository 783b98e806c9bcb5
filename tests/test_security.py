"""Claims of SECURITY.md that no other test holds: nothing that comes from outside is run."""

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
from tests.support.downstream_tasks import stub, tiny_mpt
from tests.support.small_report import PARTS, altered, whole
from tokbench.config.load import read
from tokbench.downstream.suites import SuiteOptions
from tokbench.errors import TokbenchError
from tokbench.report.html import render
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

SOURCE = Path(__file__).parents[1] / "src" / "tokbench"
ran: list[str] = []
"""What code that came as data would leave here."""


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
    from tokbench.pretraining.checkpoints import recover

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
    from tokbench.downstream.evaluate import evaluate_suite

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
    from tokbench.downstream.task_loading import load_tasks

    with pytest.raises(TokbenchError, match="'xnli_va' of lm-eval runs a script of its data set"):
        load_tasks(SuiteOptions(source="hub", tasks=("xnli_va",)), None, "cache")


def test_a_model_folder_runs_nothing(tmp_path: Path, offline_tasks: Path) -> None:
    """Neither code that its configuration names nor pickled weights."""
    torch = pytest.importorskip("torch")
    from tokbench.downstream.evaluate import evaluate

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
