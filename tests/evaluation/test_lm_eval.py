"""A trained model's folder in lm-eval's own program, without Tokbench."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tokbench
from tests.support.small_models import DOCUMENTS, SMALL, one_job
from tokbench.adapters.export_hugging_face import export
from tokbench.corpus.documents import Document
from tokbench.evaluation.local_tasks import write_local_tasks
from tokbench.evaluation.suites import LocalTask, SuiteOptions
from tokbench.io.identity import Maker
from tokbench.io.json import read_result
from tokbench.models.pretraining.order import encode_documents, sort_documents
from tokbench.models.pretraining.pack import pack

pytestmark = pytest.mark.usefixtures("own_environment")

QUESTIONS = [
    {"query": "the cat sat", "choices": ["on the mat", "then the", "dog"], "gold": 0},
    {"query": "the cat sat on ", "choices": ["the mat.", "cat"], "gold": 0},
    {"query": "", "choices": ["the cat sat", "and then the dog"], "gold": 1},
]
PROGRAM = """
import json, sys
import lm_eval
from lm_eval.tasks import TaskManager
folder, tasks = sys.argv[1:]
assert "tokbench" not in sys.modules
found = lm_eval.simple_evaluate(
    model="hf", model_args={"pretrained": folder}, tasks=["toy"], batch_size=2, device="cpu", bootstrap_iters=0,
    task_manager=TaskManager(include_path=tasks, include_defaults=False),
)["samples"]["toy"]
print(json.dumps([[score for [[score, _]] in one["resps"]] for one in sorted(found, key=lambda one: one["doc_id"])]))
"""


def run(*arguments: str, cwd: Path | None = None) -> str:
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    call = [sys.executable, *arguments]
    ended = subprocess.run(call, env=os.environ | offline, cwd=cwd, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout


def test_lm_eval_gives_the_log_likelihoods_of_evaluate(torch: object, tmp_path: Path) -> None:
    from tokbench.evaluation.evaluate import evaluate

    counts = tokbench.count([text.decode("utf-8", "replace") for text in DOCUMENTS], pretokenization="gpt2")
    tokenizer = tokbench.build("bpe", counts, 280)
    tokenizer.save(tmp_path / "tokenizer")
    assert "same ids" in export(tokenizer, counts, tmp_path / "tokenizer")
    documents = [Document(number, "", text) for number, text in enumerate(DOCUMENTS)]
    form = one_job(32, 17, vocabulary=tokenizer.end_of_text, tokenizer=Maker(tokenizer.digest, tmp_path / "tokenizer"))
    pack(sort_documents(encode_documents(tokenizer, documents), 17, tmp_path), form, tmp_path / "packed")
    # By a process of its own, because llm-foundry takes the name mpt from transformers in the process that imports it.
    call = ["pretrain", "--recipe", SMALL.model_dump_json(), "--packed", tmp_path / "packed"]
    call += ["--tokenizer", tmp_path / "tokenizer", "--checkpoints", tmp_path / "checkpoints", "-o", tmp_path / "model"]
    run("-m", "tokbench", *map(str, call))
    (tmp_path / "toy.jsonl").write_text("".join(json.dumps(one) + "\n" for one in QUESTIONS))
    files = {"toy": LocalTask(format="choices", file="toy.jsonl")}
    suite = SuiteOptions(source="local", tasks=("toy",), files=files, path=tmp_path)
    write_local_tasks(suite, tmp_path / "tasks")
    evaluate(tmp_path / "model", tmp_path / "tokenizer", tmp_path / "tasks", suite, tmp_path / "ours.json")
    ours = read_result(tmp_path / "ours.json", "")["tasks"]["toy"]["documents"]
    program = run("-c", PROGRAM, str(tmp_path / "model"), str(tmp_path / "tasks"), cwd=tmp_path / "tasks")
    theirs = json.loads(program.splitlines()[-1])
    for one, scores in zip(ours, theirs, strict=True):
        assert one["log_likelihoods"] == pytest.approx(scores, abs=1e-4)
