"""Inside a job of the cluster: a group of jobs is one Snakemake, which does as many at a time as were asked for."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.fake_slurm import snakemake

SBATCH = """
for word; do case "$word" in --wrap=*) wrapped="${word#--wrap=}";; *) asked="$asked $word";; esac; done
number=$(( $(cat jobs 2> /dev/null | wc -l) + 1 ))
echo "$asked" >> jobs
echo RUNNING > state.$number
( sh -c "$wrapped" > job.$number 2>&1 && end=COMPLETED || end=FAILED; echo $end > state.$number ) > /dev/null 2>&1 &
echo $number
"""
SQUEUE = """
for file in state.*; do echo "${file#state.}|$(cat $file)"; done
"""
SACCT = "echo 'Slurm accounting storage is disabled' >&2; exit 1"
SCONTROL = "echo 'MinJobAge = 300 sec'"
SRUN = """
echo "$*" >> steps
while case "$1" in -*) true;; *) false;; esac; do shift; done
exec "$@"
"""
WORKFLOW = """
import os
from pathlib import Path

with open("starts", "a") as starts:
    starts.write(f"{os.getpid()}\\n")

rule whole:
    input: expand("part{number}", number=range(4))
    output: "whole"
    localrule: True
    message: "whole"
    shell: "cat {input} > {output}"

rule part:
    output: "part{number}"
    group: "parts"
    threads: 1
    resources: mem_mb=100, runtime=1
    message: "part {wildcards.number}"
    shell: "date +%s.%N > {output}; sleep 2; date +%s.%N >> {output}"
"""


def most_at_a_time(spans: list[tuple[float, float]]) -> int:
    return max(sum(start <= moment < end for start, end in spans) for moment, _ in spans)


@pytest.mark.skipif(find_spec("snakemake_executor_plugin_slurm") is None, reason="not installed")
@pytest.mark.parametrize(("cores", "memory", "wanted"), [(4, 1000, 4), (2, 1000, 2), (4, 200, 2)])
def test_a_group_is_one_snakemake(cores: int, memory: int, wanted: int, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    scripts = {"sbatch": SBATCH, "squeue": SQUEUE, "srun": SRUN, "sacct": SACCT, "scontrol": SCONTROL, "sinfo": "true"}
    for name, script in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    (tmp_path / "Snakefile").write_text(WORKFLOW)
    options = (
        f"--executor slurm --jobs 2 --cores {cores} --resources mem_mb={memory} --set-resource-scopes _cores=local"
        " --group-components parts=4 --latency-wait 10"
    )
    done = snakemake(tmp_path, f"{programs}:{os.environ['PATH']}", options)
    said = "".join(file.read_text() for file in tmp_path.glob("job.*"))
    assert done.returncode == 0, done.stderr + said
    spans = [tuple(map(float, (tmp_path / f"part{number}").read_text().split())) for number in range(4)]
    assert most_at_a_time(spans) == wanted, said
    (asked,) = (tmp_path / "jobs").read_text().splitlines()
    assert f"--cpus-per-task={wanted}" in asked
    assert len((tmp_path / "starts").read_text().split()) == 2, said
