"""Processes that train one model: started by torchrun, ended together, with one line that says why; resources.

PyTorch's fused attention in the place of llm-foundry's: the same numbers, out and back.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support import processes
from tests.support.small_models import packed_documents, saved_tokenizer
from tokbench.commands.main import main
from tokbench.config.load import read
from tokbench.errors import TokbenchError
from tokbench.models.pretraining import launch
from tokbench.models.pretraining.checkpoints import is_up_to_date, resume_key
from tokbench.models.pretraining.launch import pretrain_together, run_together
from tokbench.models.pretraining.options import PRESETS, MptOptions, TrainingResources
from tokbench.models.pretraining.phases import read_phases
from tokbench.workflow.models import Models

ROOT = Path(__file__).parents[2]


@pytest.fixture
def _silent_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that other tests import has something to say when a process starts another."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")


def shell(tmp_path: Path, *scripts: str) -> list[str]:
    """A launcher of processes of a shell, one for each script, each of which may wait until another has ended."""
    words = "after() { while [ ! -e $1 ]; do sleep .01; done; sleep 1; }"
    cases = " ".join(f"{rank}) {script};;" for rank, script in enumerate(scripts))
    started = launch.torchrun(TrainingResources(processes_per_node=len(scripts)), tmp_path / "logs")
    script = f"{words}; case $RANK in {cases} esac"
    return [*started, "--no-python", "sh", "-c", script.replace("$", "$$")]


@pytest.mark.usefixtures("_silent_libraries")
def test_output_of_the_first_process_is_passed_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert (
        run_together(shell(tmp_path, 'echo "rank $RANK of $WORLD_SIZE"; echo more >&2; echo end', "echo other"), 2) == 0
    )
    lines = capfd.readouterr().err.splitlines()
    # The launcher reads the two streams of a process with a thread each; only the lines of one stream have an order.
    lines.remove("more")
    assert lines == ["rank 0 of 2", "end"]


@pytest.mark.usefixtures("_silent_libraries")
@pytest.mark.parametrize(
    ("first", "second", "status", "told"),
    [
        ("echo working; sleep 60", "echo 'tokbench: no room'; exit 2", 2, "tokbench: no room"),
        (
            "after {0}; echo 'tokbench: the other is gone'; exit 70",
            "echo lost; touch {0}; kill -9 $$",
            137,
            "tokbench: process 1 of 2 was ended by SIGKILL; the training ends with it",
        ),
        (
            "trap 'echo Traceback; exit 143' TERM; echo working; sleep 60 & touch {0}; wait",
            "after {0}; exit 4",
            4,
            "tokbench: process 1 of 2 ended with status 4; the training ends with it",
        ),
        ("exit 5", "sleep 60", 5, "tokbench: process 0 of 2 ended with status 5; the training ends with it"),
    ],
)
def test_all_end_with_the_first_that_fails_and_one_line_says_why(
    first: str, second: str, status: int, told: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    scripts = (script.format(tmp_path / "mark") for script in (first, second))
    assert run_together(shell(tmp_path, *scripts), 2) == status
    assert [line for line in capfd.readouterr().err.splitlines() if line != "working"] == [told]


REPORT = """
Root Cause (first observed failure):
[0]:
  time      : 2026-01-01_00:00:00
  host      : n{0}
  rank      : {0} (local_rank: 0)
  exitcode  : {1} (pid: 7)
"""


@pytest.mark.usefixtures("_silent_libraries")
@pytest.mark.parametrize(
    ("lines", "status", "told"),
    [
        (["[rank1]:tokbench: why", "[rank0]:tokbench: Connection reset", "0 70", "1 2"], 2, "tokbench: why"),
        (["[rank1]:tokbench: Connection reset", "1 70", "0 -9"], 137, "tokbench: process 0 of 2 was ended by SIGKILL"),
        (["srun: error: n1: no such node"], 1, "tokbench: torchrun ended with status 1: srun: error: n1: no such node"),
    ],
)
def test_a_process_that_lost_another_is_not_the_first_that_failed(
    lines: list[str], status: int, told: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of several nodes, each of which reports a failure."""
    printed = [REPORT.format(*line.split()) if line[0].isdigit() else f"{line}\n" for line in lines]
    (tmp_path / "printed").write_text("".join(printed))
    assert run_together(["sh", "-c", f"cat {tmp_path / 'printed'}; exit 1"], 2) == status
    assert capfd.readouterr().err.startswith(told)


@pytest.mark.usefixtures("_silent_libraries")
def test_worker_processes_end_with_their_parent(tmp_path: Path) -> None:
    """Both after a request to end and after a kill."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        note = tmp_path / f"{number.name}"
        script = f"echo $$ > {note}.partial; mv {note}.partial {note}; exec sleep 60"
        command = shell(tmp_path, "exec sleep 60", script)
        launcher = processes.start(lambda command=command: run_together(command, 2), tmp_path / "told")
        while not note.exists():
            time.sleep(0.01)
        os.kill(launcher, number)
        os.waitpid(launcher, 0)
        started = int(note.read_text())
        end = time.monotonic() + 60
        while Path(f"/proc/{started}").exists() and "Z" not in Path(f"/proc/{started}/stat").read_text().split()[2:3]:
            assert time.monotonic() < end
            time.sleep(0.01)


SMALL = PRESETS["tiny"].recipe() | {"max_seq_len": 32, "batch": 4, "batches": 2}


def placed(**resources: int) -> MptOptions:
    return MptOptions.model_validate(SMALL | {"resources": resources})


@pytest.mark.usefixtures("_silent_libraries")
def test_a_batch_is_shared_out_evenly() -> None:
    assert placed(nodes=2, processes_per_node=2).resources.processes == 4
    with pytest.raises(ValidationError, match=r"batch must be a multiple of the processes \(3\)"):
        placed(processes_per_node=3)


@pytest.mark.usefixtures("_silent_libraries")
def test_where_a_model_is_trained_is_no_part_of_its_recipe(tmp_path: Path) -> None:
    packed = read_phases(placed(), packed_documents(tmp_path / "packed"))
    assert resume_key(placed(nodes=2), packed) == resume_key(placed(), packed)
    assert placed(nodes=2).recipe() == placed(runtime=5).recipe() == SMALL
    divided, otherwise = (
        MptOptions.model_validate(SMALL | {"fsdp": settings})
        for settings in ({"strategy": "shard_grad_op", "activation_checkpointing": True}, {"mixed_precision": "pure"})
    )
    assert resume_key(divided, packed) == resume_key(placed(), packed) != resume_key(otherwise, packed)
    assert divided.recipe() != SMALL
    recipe = resume_key(MptOptions.model_validate(SMALL | {"microbatch": 1}), packed)
    assert recipe == resume_key(placed(), packed)
    assert not is_up_to_date(tmp_path, resume_key(placed(), packed))


@pytest.mark.usefixtures("_silent_libraries")
def test_mistakes_are_reported_before_processes_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = packed_documents(tmp_path / "packed")
    monkeypatch.setattr(launch, "run_together", None)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    tokenizer = saved_tokenizer(tmp_path / "tokenizer")
    where: tuple[Any, ...] = (packed, placed(nodes=2), tmp_path / "model", tmp_path / "checkpoints")
    with pytest.raises(TokbenchError, match="nodes: 2, but this is not part of a SLURM job with that number"):
        pretrain_together([], *where)
    call = ["pretrain", "--recipe", "tiny", "--packed", str(packed), "--tokenizer", str(tokenizer), "-o"]
    for more, told in (
        (["--recipe", json.dumps(SMALL | {"resources": {"nodes": 2}})], "use --nodes and --processes-per-node"),
        (["--processes-per-node", "2"], "max_seq_len: 256, but"),
        (["--processes-per-node", "3"], "batch must be a multiple of the processes (3)"),
    ):
        with pytest.raises(SystemExit) as ended:
            main([*call, str(tmp_path / "model"), *more])
        assert ended.value.code == 2
        assert told in capsys.readouterr().err


@pytest.mark.usefixtures("_silent_libraries")
@pytest.mark.parametrize(("waited", "made", "starts"), [(True, False, 1), (False, True, 1), (True, True, 0)])
def test_model_is_trained_if_a_concurrent_process_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waited: bool, made: bool, starts: int
) -> None:
    """If another process was waited for, and failed, this one trains."""
    started = []
    monkeypatch.setattr(launch, "exclusive", lambda folder: nullcontext(waited))
    monkeypatch.setattr(launch, "is_up_to_date", lambda output, recipe: made)
    monkeypatch.setattr(launch, "run_together", lambda processes, of: started.append(of) or 0)
    packed = packed_documents(tmp_path / "packed")
    options = placed(processes_per_node=2)
    assert pretrain_together(["pretrain"], packed, options, tmp_path / "model", tmp_path / "checkpoints") == 0
    assert len(started) == starts


@pytest.mark.usefixtures("_silent_libraries")
def test_srun_starts_torchrun_on_each_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By stand-ins of SLURM's programs, with two nodes on one machine, whose processes meet.

    The environment is that of a step of one node, as Snakemake's executor starts it.
    """
    (tmp_path / "bin").mkdir()
    for name, script in {
        "squeue": '[ "$*" = "--noheader --jobs=30007 --format=%N" ] && echo "n[3,7]"',
        "scontrol": '[ "$2 $3" = "hostnames n[3,7]" ] && printf "n3\\nn7\\n" || echo "NodeName=$4 NodeAddr=127.0.0.1"',
        "srun": f'echo "$SLURM_JOB_NODELIST" "$@" > {tmp_path}/called\n'
        f'while [ $1 != {sys.executable} ]; do shift; done; "$@" & "$@"; wait',
    }.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    for name, value in {"JOB_NODELIST": "n3", "JOB_ID": "30007", "CPUS_PER_TASK": "6"}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    monkeypatch.setattr(launch, "PROGRAM", ("--no-python", "sh", "-c"))
    script = f"echo $LOCAL_RANK $LOCAL_WORLD_SIZE $WORLD_SIZE $TOKBENCH_LAUNCHED > {tmp_path}/rank$RANK"
    packed = packed_documents(tmp_path / "packed")
    options = placed(nodes=2, processes_per_node=2)
    assert pretrain_together([script], packed, options, tmp_path / "model", tmp_path / "checkpoints") == 0
    assert [(tmp_path / f"rank{rank}").read_text().split() for rank in range(4)] == [
        [str(rank % 2), "2", "4", "1"] for rank in range(4)
    ]
    called = (tmp_path / "called").read_text().split()
    assert called[: called.index(sys.executable)] == [
        "n[3,7]",
        "--quiet",
        "--nodes=2",
        "--ntasks=2",
        "--ntasks-per-node=1",
        "--kill-on-bad-exit=1",
        "--overlap",
        "--cpus-per-task=6",
    ]
    assert called[called.index("--rdzv-endpoint") + 1] == "127.0.0.1:20007"


@pytest.mark.usefixtures("_silent_libraries")
def test_pretraining_jobs_request_the_resources_of_recipes() -> None:
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


BATCH, TOKENS, HEADS, WIDTH = 2, 40, 4, 32
USUAL = {
    "past_key_value": None,
    "key_padding_mask": None,
    "is_causal": True,
    "dropout_p": 0.0,
    "training": True,
    "needs_weights": False,
    "attn_logit_softcapping": None,
    "sliding_window_size": -1,
}
"""Ignore warnings of llm-foundry's layers."""


@pytest.fixture
def functions(torch: ModuleType) -> tuple[Callable[..., Any], Callable[..., Any]]:
    pytest.importorskip("llmfoundry")
    from tokbench.models.pretraining.attention import fused_attention, scaled_multihead_dot_product_attention

    return fused_attention, scaled_multihead_dot_product_attention


def numbers(torch: ModuleType, attend: Callable[..., Any], dtype: Any) -> list[Any]:
    """Return the output, and the gradients of queries, keys and values."""
    from llmfoundry.models.layers.attention import build_alibi_bias

    draws = torch.Generator().manual_seed(1)
    inputs = [torch.randn(BATCH, TOKENS, WIDTH, generator=draws).to(dtype).requires_grad_() for _ in range(3)]
    bias = build_alibi_bias(HEADS, 64, full=False, alibi_bias_max=8)
    out, weights, past = attend(*inputs, HEADS, HEADS, attn_bias=bias, **USUAL)
    assert weights is None
    assert past is None
    out.float().square().sum().backward()
    return [out.detach().float(), *(one.grad.float() for one in inputs)]


@pytest.mark.parametrize(("dtype", "least"), [("float32", 1e-6), ("bfloat16", 2e-2)])
def test_is_that_of_llm_foundry(
    torch: ModuleType, functions: tuple[Callable[..., Any], Callable[..., Any]], dtype: str, least: float
) -> None:
    fused, theirs = functions
    expected = numbers(torch, theirs, torch.float32)
    for found, right in zip(numbers(torch, fused, getattr(torch, dtype)), expected, strict=True):
        assert (found - right).norm() / right.norm() < least


@pytest.mark.parametrize("shared", [1, 2, HEADS])
def test_is_that_of_llm_foundry_where_heads_share_keys(
    torch: ModuleType, functions: tuple[Callable[..., Any], Callable[..., Any]], shared: int
) -> None:
    """Without ALiBi, as where positions are rotary."""
    found = []
    for attend in functions:
        draws = torch.Generator().manual_seed(1)
        widths = (WIDTH, WIDTH * shared // HEADS, WIDTH * shared // HEADS)
        inputs = [torch.randn(BATCH, TOKENS, width, generator=draws).requires_grad_() for width in widths]
        out, _, _ = attend(*inputs, HEADS, shared, attn_bias=None, **USUAL)
        out.square().sum().backward()
        found.append([out.detach(), *(one.grad for one in inputs)])
    for ours, theirs in zip(*found, strict=True):
        assert (ours - theirs).norm() / theirs.norm() < 1e-6


@pytest.mark.parametrize("change", [{"dropout_p": 0.1}, {"is_causal": False}, {"needs_weights": True}])
def test_other_attention_is_rejected(
    torch: ModuleType, functions: tuple[Callable[..., Any], Callable[..., Any]], change: dict[str, object]
) -> None:
    inputs = torch.zeros(1, 4, WIDTH)
    with pytest.raises(ValueError, match="another kind"):
        functions[0](inputs, inputs, inputs, HEADS, HEADS, attn_bias=torch.zeros(1, HEADS, 1, 4), **{**USUAL, **change})
