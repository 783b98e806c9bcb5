"""Each allocation of the kernels fails in its turn: the call raises, or its result is the same, whatever the path."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tokbench.kernels

Told = dict[str, list[dict[str, Any]]]
"""What was said of each case, line by line."""
KERNELS = Path(tokbench.kernels.__file__).parent
ALLOCATORS = (b"\0_Znwm\0", b"\0PyMem_RawMalloc\0", b"\0PyMem_RawRealloc\0")
"""Symbols that a kernel asks for which allocates by itself; ``malloc`` is asked for by all, for views never copied."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """What each case said."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs a compiler of C++ and the loader of Linux")
    library = tmp_path_factory.mktemp("allocations") / "allocations.so"
    source = Path(__file__).with_name("allocations.cpp")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    ended = subprocess.run(
        [sys.executable, "-m", "tests.support.failing_allocator", library],
        env=os.environ | {"LD_PRELOAD": str(library), "OPENBLAS_NUM_THREADS": "1"},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stderr
    cases: Told = {}
    for line in ended.stdout.splitlines():
        said = json.loads(line)
        if "case" in said:
            cases[said["case"]] = []
        else:
            cases[list(cases)[-1]].append(said)
    return cases


def test_no_failed_allocation_is_swallowed(told: Told) -> None:
    wrong = {}
    for case, said in told.items():
        places = [entry["failing"] for entry in said if "failing" in entry]
        found = [entry["wrong"] for entry in said if "wrong" in entry]
        if found:
            wrong[case] = (f"{len(found)} of {len(places)}", found[0], places[-1])
    assert wrong == {}
    assert sum(entry.get("rejected", 0) for said in told.values() for entry in said) > 1000


def test_every_kernel_that_allocates_is_walked(told: Told) -> None:
    allocate = {
        path.name.partition(".")[0]
        for path in KERNELS.glob("*.so")
        if any(symbol in path.read_bytes() for symbol in ALLOCATORS)
    }
    walked = {kernel for said in told.values() for entry in said for kernel in entry.get("kernels", [])}
    assert allocate - walked == set()
