"""How far a run is, told from its files: before it, during it, killed, after a failure, at the end.

The commands of the runs only pretend to work; some are told to wait or to fail.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from tests.conftest import Tokbench
from tests.support.plans import EXPERIMENT, PATIENCE
from tests.support.workflow.checkout import STAND_IN, Checkout
from tokbench.errors import TokbenchError
from tokbench.status.overview import Overview, overview
from tokbench.status.plan import read_plan
from tokbench.status.traces import STATES
from tokbench.workflow.lock import is_held

TROUBLE = """
import json, time
trouble = lambda: json.loads(Path("trouble.json").read_text())
while any(part in str(output) for part in trouble()["wait"]):
    time.sleep(0.02)
if any(part in str(output) for part in trouble()["fail"]):
    print("working", flush=True)
    sys.exit("tokbench: no such luck")
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    made = Checkout(tmp_path_factory.mktemp("status"), stand_in=True)
    before, after = STAND_IN.split("if output.suffix")
    (made.folder / "src/tokbench/__main__.py").write_text(f"{before}{TROUBLE}if output.suffix{after}")
    (made.folder / "config.yaml").write_text(EXPERIMENT)
    (made.folder / "text.txt").write_text("some text\n")
    yield made
    made.close()


def trouble(checkout: Checkout, wait: tuple[str, ...] = (), fail: tuple[str, ...] = ()) -> None:
    told = checkout.folder / "trouble"
    told.write_text(json.dumps({"wait": wait, "fail": fail}))
    told.replace(checkout.folder / "trouble.json")


def seen(checkout: Checkout) -> Overview:
    return overview(read_plan(checkout.folder / "results" / "small"))


def by_state(found: Overview) -> dict[str, list[str]]:
    """The jobs in each state, without the stages that follow building."""
    named = {state: [told.job.name for told in found.those(state)] for state in STATES}
    return {state: names for state, names in named.items() if names}


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.05)


def reads(checkout: Checkout, expected: dict[str, set[str]]) -> bool:
    try:
        found = by_state(seen(checkout))
    except TokbenchError:
        return False
    return all(set(found.get(state, ())) == names for state, names in expected.items())


def test_a_run_from_its_beginning_to_its_end(checkout: Checkout, tokbench: Tokbench) -> None:
    results = checkout.folder / "results" / "small"
    results.mkdir(parents=True)
    assert tokbench("status", results).message == (
        f"tokbench: {results}: no plan of a run here (jobs.json); a run of snakemake leaves one, 'snakemake -n' shows "
        "what it would do"
    )
    during(checkout, tokbench)
    after_failure(checkout, tokbench)
    at_the_end(checkout, tokbench)
    outdated(checkout)


def during(checkout: Checkout, tokbench: Tokbench) -> None:
    """One job is at work and one has failed while the run goes on."""
    results = checkout.folder / "results" / "small"
    trouble(checkout, wait=("evaluation/gpt2.parquet",), fail=("tokenizers/bpe",))
    process = checkout.start("--cores", "2")
    expected = {
        "running": {"count_split text evaluation gpt2"},
        "failed": {"build bpe 300"},
        "queued": set[str](),
        "interrupted": set[str](),
    }
    wait_until(lambda: reads(checkout, expected | {"done": done_but("evaluation")}), process)
    found = seen(checkout)
    assert found.life == "running"
    assert found.plan.run.pid == process.pid
    assert [told.message for told in found.those("failed")] == ["tokbench: no such luck"]
    said = tokbench("status", results).stdout.decode()
    assert f"  build bpe 300: {results}/logs/build/bpe/300.log: tokbench: no such luck\n" in said
    refused = tokbench("cancel", results)
    assert refused.message == (
        f"tokbench: {results}: process {process.pid} on {socket.gethostname()} is at work; end it there first, with "
        f"Ctrl-C or 'kill {process.pid}'"
    )
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    killed(checkout, tokbench)


def done_but(split: str) -> set[str]:
    counted = {f"count_split text {one} gpt2" for one in ("evaluation", "tokenizer") if one != split}
    return {"cite", "prepare text", *counted, "build unigram 300", "count_tokens unigram 300 text"}


def killed(checkout: Checkout, tokbench: Tokbench) -> None:
    """Nothing is at work; the engine's locks are those of this experiment alone, and only they go."""
    results = checkout.folder / "results" / "small"
    found = seen(checkout)
    assert found.life == "ended"
    assert by_state(found)["interrupted"] == ["count_split text evaluation gpt2"]
    assert by_state(found)["failed"] == ["build bpe 300"]
    other = checkout.folder / ".snakemake" / "locks" / "7.output.lock"
    other.write_text("results/other/tables\n")
    said = tokbench("cancel", results).stdout.decode().splitlines()
    assert said[0] == "No job of a cluster: the run did not go through SLURM."
    assert said[1] == f"Unlocked {checkout.folder}."
    assert said[2].startswith(f"{results}: 5 of 18 jobs done, 1 failed, 1 interrupted, ")
    assert said[3] == f"Go on with: cd {checkout.folder} && snakemake --cores 2"
    assert [file.name for file in other.parent.iterdir()] == ["7.output.lock"]
    assert is_held(results) is False
    other.unlink()


def after_failure(checkout: Checkout, tokbench: Tokbench) -> None:
    trouble(checkout, fail=("tokenizers/bpe",))
    checkout.snakemake("--cores", "2", status=1)
    results = checkout.folder / "results" / "small"
    told = json.loads(tokbench("status", results, "--json").stdout)
    assert told["run"]["state"] == "ended"
    assert (told["total"]["done"], told["total"]["failed"], told["total"]["missing"]) == (8, 1, 9)
    [failed] = [job for job in told["jobs"] if job["state"] == "failed"]
    assert failed["log"] == f"{results}/logs/build/bpe/300.log"
    assert failed["message"] == "tokbench: no such luck"
    build = next(stage for stage in told["stages"] if stage["stage"] == "build")
    assert build["left_s"] == build["wall_s"] > 0
    assert told["left_unknown"] == ["tabulate", "analyse", "cut_examples", "draw", "typeset", "report", "leaderboard"]
    assert "tokbench: no such luck" in (results / "run.html").read_text()


def at_the_end(checkout: Checkout, tokbench: Tokbench) -> None:
    trouble(checkout)
    checkout.snakemake("--cores", "2")
    results = checkout.folder / "results" / "small"
    found = seen(checkout)
    assert by_state(found).keys() == {"done"}
    assert [stage.name for stage in found.stages] == [
        *("prepare", "count_split", "build", "measure", "count_tokens", "bound", "tabulate", "analyse"),
        "cut_examples",
        *("draw", "typeset", "report", "leaderboard", "cite"),
    ]
    assert found.total.left == 0
    assert all(stage.longest is not None for stage in found.stages)
    assert tokbench("cancel", results).stdout.decode().splitlines()[1:] == [
        f"{checkout.folder} was not locked.",
        f"{results}: 18 of 18 jobs done",
    ]
    assert "18 of 18 jobs done" in (results / "run.html").read_text()
    named = subprocess.run(
        ["python", "-m", "tokbench.commands.main", "status", "--configfile", "config.yaml"],
        cwd=checkout.folder,
        env=checkout.environment | {"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    assert named.stdout.startswith("results/small: 18 of 18 jobs done\n"), named.stderr
    moved = checkout.folder / "seen elsewhere"
    shutil.copytree(results, moved)
    assert tokbench("status", moved).stdout.decode().startswith(f"{moved}: 18 of 18 jobs done\n")


def outdated(checkout: Checkout) -> None:
    """What a run means to make again is not done before it has been made again."""
    trouble(checkout, wait=("tokenizers/bpe", "tokenizers/unigram"))
    with checkout.edited("config.yaml", "construction: bpe", "construction: {method: bpe, min_pair_count: 3}"):
        process = checkout.start("--cores", "1")
        wait_until(lambda: reads(checkout, {"running": {"build bpe 300"}}), process)
        found = by_state(seen(checkout))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert {"build unigram 300", "measure unigram 300"} <= set(found["done"])
    assert {"measure bpe 300", "tabulate", "report"} <= set(found["missing"])
    assert (checkout.folder / "results/small/tables").exists()
