"""Processes that work on one thing: passed on, ended together, and told of in a line; a model's resources."""

import json
import os
import signal
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support import isolated_process
from tests.support.packing import packed_documents
from tokbench.commands.main import main
from tokbench.config.load import read
from tokbench.errors import TokbenchError
from tokbench.pretraining import launch
from tokbench.pretraining.launch import pretrain_together
from tokbench.pretraining.options import PRESETS, MptOptions
from tokbench.pretraining.phases import read_phases
from tokbench.pretraining.processes import Process, run_together
from tokbench.pretraining.standing import is_made, recipe_of
from tokbench.workflow.pretraining import Models

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _silent_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that other tests import has something to say when a process starts another."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")


def shell(*scripts: str) -> list[Process]:
    """Processes of a shell, which wait for the end of one that ``signs`` where they say ``after``."""
    words = """
        signs() { echo $$ > $1.partial; mv $1.partial $1; }
        after() {
            while [ ! -e $1 ]; do sleep .01; done
            while grep -qs ') [^Z]' /proc/$(cat $1)/stat; do sleep .01; done
        }
    """
    return [Process(rank, ["sh", "-c", words + script], {"OF": "2"}) for rank, script in enumerate(scripts)]


def test_what_the_first_says_is_passed_on(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_together(shell('echo "rank $RANK of $OF"; echo more >&2', "echo other"), 2) == 0
    assert capfd.readouterr().err == "rank 0 of 2\nmore\n"


@pytest.mark.parametrize(
    ("first", "second", "status", "told"),
    [
        ("echo working; sleep 60", "echo 'tokbench: no room'; exit 2", 2, "tokbench: no room"),
        (
            "after {0}; echo 'tokbench: the other is gone'; exit 70",
            "echo lost; echo 'tokbench: why'; signs {0}; exit 2",
            2,
            "tokbench: why",
        ),
        (
            "after {0}; echo 'tokbench: the other is gone'; exit 70",
            "signs {0}; kill -9 $$",
            137,
            "tokbench: process 1 of 2 was ended by SIGKILL; the training ends with it",
        ),
        ("exit 5", "sleep 60", 5, "tokbench: process 0 of 2 ended with status 5; the training ends with it"),
    ],
)
def test_all_end_with_the_first_that_fails_and_one_line_says_why(
    first: str, second: str, status: int, told: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    scripts = (script.format(tmp_path / "mark") for script in (first, second))
    assert run_together(shell(*scripts), 2) == status
    assert [line for line in capfd.readouterr().err.splitlines() if line != "working"] == [told]
    assert time.monotonic() - began < 30


def test_a_node_that_misses_another_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    """And does not take it for a fault of ours."""
    lost = "echo 'tokbench: a fault of ... (RuntimeError: Connection closed by peer)'; exit 70"
    assert run_together(shell(lost), 2) == 70
    assert capfd.readouterr().err == "tokbench: a process of another node is gone, and the training ends with it\n"


def test_none_outlives_whoever_started_it(tmp_path: Path) -> None:
    """Whether that was asked to end or killed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        note = tmp_path / f"{number.name}"
        script = f"echo $$ > {note}.partial; mv {note}.partial {note}; sleep 60"
        launcher = isolated_process.start(
            lambda script=script: run_together(shell("sleep 60", script), 2), tmp_path / "told"
        )
        while not note.exists():
            time.sleep(0.01)
        os.kill(launcher, number)
        os.waitpid(launcher, 0)
        started = int(note.read_text())
        end = time.monotonic() + 20
        while Path(f"/proc/{started}").exists() and "Z" not in Path(f"/proc/{started}/stat").read_text().split()[2:3]:
            assert time.monotonic() < end
            time.sleep(0.01)


SMALL = PRESETS["tiny"].recipe() | {"max_seq_len": 32, "batch": 4, "batches": 2}


def placed(**resources: int) -> MptOptions:
    return MptOptions.model_validate(SMALL | {"resources": resources})


def test_a_batch_is_shared_out_evenly() -> None:
    assert placed(nodes=2, processes_per_node=2).resources.processes == 4
    with pytest.raises(ValidationError, match=r"batch must be a multiple of the processes \(3\)"):
        placed(processes_per_node=3)


def test_where_a_model_is_trained_is_no_part_of_its_recipe(tmp_path: Path) -> None:
    packed = read_phases(placed(), packed_documents(tmp_path / "packed"))
    assert recipe_of(placed(nodes=2), packed) == recipe_of(placed(), packed)
    assert placed(nodes=2).recipe() == placed(runtime=5).recipe() == SMALL
    divided, otherwise = (
        MptOptions.model_validate(SMALL | {"fsdp": settings})
        for settings in ({"strategy": "shard_grad_op", "activation_checkpointing": True}, {"mixed_precision": "pure"})
    )
    assert recipe_of(divided, packed) == recipe_of(placed(), packed) != recipe_of(otherwise, packed)
    assert divided.recipe() != SMALL
    recipe = recipe_of(MptOptions.model_validate(SMALL | {"microbatch": 1}), packed)
    assert recipe == recipe_of(placed(), packed)
    assert not is_made(tmp_path, recipe_of(placed(), packed))


def test_what_is_wrong_is_told_before_any_process_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = packed_documents(tmp_path / "packed")
    monkeypatch.setattr(launch, "run_together", None)
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    where: tuple[Any, ...] = (packed, placed(nodes=2), tmp_path / "model", tmp_path / "checkpoints")
    with pytest.raises(TokbenchError, match="nodes: 2, but this is not part of a job of SLURM with so many"):
        pretrain_together([], *where)
    call = ["pretrain", "--recipe", "tiny", "--packed", str(packed), "--tokenizer", str(tmp_path), "-o"]
    for more, told in (
        (["--recipe", json.dumps(SMALL | {"resources": {"nodes": 2}})], "use --nodes and --processes-per-node"),
        (["--processes-per-node", "2"], "max_seq_len: 256, but"),
        (["--processes-per-node", "3"], "batch must be a multiple of the processes (3)"),
    ):
        with pytest.raises(SystemExit) as ended:
            main([*call, str(tmp_path / "model"), *more])
        assert ended.value.code == 2
        assert told in capsys.readouterr().err


@pytest.mark.parametrize(("waited", "made", "starts"), [(True, False, 1), (False, True, 1), (True, True, 0)])
def test_what_another_has_not_made_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waited: bool, made: bool, starts: int
) -> None:
    """Where another process was waited for, and failed, this one trains."""
    started = []
    monkeypatch.setattr(launch, "alone", lambda folder: nullcontext(waited))
    monkeypatch.setattr(launch, "is_made", lambda output, recipe: made)
    monkeypatch.setattr(launch, "run_together", lambda processes, of: started.append(of) or 0)
    packed = packed_documents(tmp_path / "packed")
    options = placed(processes_per_node=2)
    assert pretrain_together(["pretrain"], packed, options, tmp_path / "model", tmp_path / "checkpoints") == 0
    assert len(started) == starts


def test_launchers_of_nodes_are_started_by_srun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By stand-ins of SLURM's programs, on nodes that one machine plays one after the other."""
    (tmp_path / "bin").mkdir()
    for name, script in {
        "scontrol": 'case $2 in hostnames) printf "n3\\nn7\\n";; *) echo "NodeName=$4 NodeAddr=10.0.0.3 CPUs=8";; esac',
        "srun": 'echo "$@" > ' + f"{tmp_path}/called; env > {tmp_path}/environment",
    }.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    for name, value in {"JOB_NODELIST": "n[3,7]", "JOB_ID": "30007", "CPUS_PER_TASK": "6"}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    packed = packed_documents(tmp_path / "packed")
    options = placed(nodes=2, processes_per_node=2)
    where: tuple[Any, ...] = (packed, options, tmp_path / "model", tmp_path / "checkpoints")
    assert pretrain_together(["pretrain", "--recipe", "tiny"], *where) == 0
    called = (tmp_path / "called").read_text().split()
    assert called[: called.index(sys.executable)] == [
        "--quiet",
        "--nodes=2",
        "--ntasks=2",
        "--ntasks-per-node=1",
        "--kill-on-bad-exit=1",
        "--cpus-per-task=6",
    ]
    assert called[-3:] == ["pretrain", "--recipe", "tiny"]
    environment = dict(line.partition("=")[::2] for line in (tmp_path / "environment").read_text().splitlines())
    assert (environment["MASTER_ADDR"], environment["MASTER_PORT"]) == ("10.0.0.3", "20007")

    monkeypatch.setenv(launch.ON_NODE, environment[launch.ON_NODE])
    ranks = []
    monkeypatch.setattr(launch, "run_together", lambda processes, of: ranks.append((processes, of)) or 0)
    for node in ("0", "1"):
        monkeypatch.setenv("SLURM_NODEID", node)
        assert pretrain_together(["pretrain"], *where) == 0
    assert [[process.rank for process in processes] for processes, _ in ranks] == [[0, 1], [2, 3]]
    last = ranks[1][0][1].environment
    assert [last[name] for name in ("LOCAL_RANK", "NODE_RANK", "LOCAL_WORLD_SIZE", "WORLD_SIZE")] == [
        "1",
        "1",
        "2",
        "4",
    ]
    assert "MASTER_ADDR" not in last


def test_jobs_ask_for_what_recipes_say() -> None:
    resources = {"nodes": 4, "processes_per_node": 8}
    models = {"one": "mpt_1_3b", "many": {"preset": "mpt_1_3b", "resources": resources}, "cpu": {"preset": "tiny"}}
    models["told"] = {"preset": "tiny", "resources": {"mem_mb": 700, "runtime": 12, "processes_per_node": 2}}
    run = [{"models": [*models], "variants": ["bpe"], "suites": ["offline"]}]
    asked = Models(read(ROOT / "config.yaml", {"models": models, "runs": run}))
    found = {}
    for name in models:
        one = SimpleNamespace(model=name, variant="bpe", size="40960")
        found[name] = (
            asked.nodes(one),
            asked.processes_per_node(one),
            asked.threads(one),
            asked.gpus(one),
            asked.gpus_of_each_node(one),
        )
    assert found == {
        "one": (1, 1, 1, 1, ""),
        "many": (4, 8, 8, 0, "gpu:8"),
        "cpu": (1, 1, 1, 0, ""),
        "told": (1, 2, 2, 0, ""),
    }
    one, many, told = (SimpleNamespace(model=name, variant="bpe", size="2048") for name in ("one", "many", "told"))
    assert asked.training_memory(many, 1) > 7 * asked.training_memory(one, 1)
    assert [asked.training_memory(told, attempt) for attempt in (1, 2)] == [700, 1400]
    assert asked.training_time(told, SimpleNamespace(packed="none"), 2) == 12
    assert asked.recipe(one) == asked.recipe(many)
    assert asked.testing_gpus(many) == 1
