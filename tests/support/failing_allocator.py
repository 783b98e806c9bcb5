"""Make each allocation of each kernel fail in turn: ``python -m tests.support.failing_allocator ALLOCATIONS_SO``.

The library of ``tests/allocations.cpp`` is loaded before everything else. A case is a call; it is made once in peace,
then with its first, second, third ... allocation failing, of those that kernels make. Each case has a process of its
own, which writes a JSON line for each failure that ended neither as the shortage it is nor in the same result.
"""

import ctypes
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.kernel_calls import calls
from tokbench.memory import shortage_in

ALL_OF = 120
"""Allocations that fail one after the other; of later ones, some do."""
SOME_OF = 40
"""Later allocations that fail, spread evenly."""


class RawAllocator(ctypes.Structure):
    """``PyMemAllocatorEx``."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("context", "malloc", "calloc", "realloc", "free")]


def frozen(value: Any) -> Any:
    """A result as something that compares by its content."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, list | tuple):
        return [frozen(item) for item in value]
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return [frozen(getattr(value, field.name)) for field in fields(value)]
    return value


def kernels_in_memory() -> dict[str, list[tuple[int, int]]]:
    """Where the code of each loaded kernel lies."""
    found: dict[str, list[tuple[int, int]]] = {}
    for line in Path("/proc/self/maps").read_text().splitlines():
        if match := re.match(r"([0-9a-f]+)-([0-9a-f]+) r-x.*/kernels/(\w+)\.[^/]*\.so$", line):
            found.setdefault(match[3], []).append((int(match[1], 16), int(match[2], 16)))
    return found


def failing_places(total: int) -> list[int]:
    """Which allocations are to fail."""
    later = np.linspace(ALL_OF + 1, total, SOME_OF).astype(int).tolist() if total > ALL_OF else []
    return [*range(1, min(total, ALL_OF) + 1), *sorted(set(later))]


def walk(call: Callable[[], Any], library: ctypes.CDLL) -> Iterator[str]:
    """What went wrong in a case, failure by failure; last how many there were."""
    ignored: list[str] = []
    sys.unraisablehook = lambda told: ignored.append(f"{told.exc_value!r} ignored in {told.object!r}")
    call()  # What is imported or made once is there.
    library.arm(0)
    whole = frozen(call())
    total = library.disarm()
    rejected = 0
    for n in failing_places(total):
        ignored.clear()
        print(json.dumps({"failing": n}), flush=True)
        try:
            library.arm(n)
            result = call()
        except BaseException as error:
            library.disarm()
            rejected += 1
            if shortage_in(error) is None:
                yield f"allocation {n} of {total}: {error!r}"
        else:
            library.disarm()
            if frozen(result) != whole:
                yield f"allocation {n} of {total}: another result"
        if ignored:
            yield f"allocation {n} of {total}: {ignored[0]}"
    if frozen(call()) != whole:
        yield "another result after all failures"
    print(json.dumps({"total": total, "rejected": rejected}), flush=True)


def main(path: str) -> None:
    library = ctypes.CDLL(path)
    cases = calls()
    hooks = [
        ctypes.cast(getattr(library, f"raw_{name}"), ctypes.c_void_p).value
        for name in ("malloc", "calloc", "realloc", "free")
    ]
    ctypes.pythonapi.PyMem_SetAllocator(0, ctypes.byref(RawAllocator(None, *hooks)))
    places = [(kernel, place) for kernel, found in kernels_in_memory().items() for place in found]
    for _, (start, end) in places:
        library.allocations_of(ctypes.c_size_t(start), ctypes.c_size_t(end))
    for name, call in cases.items():
        print(json.dumps({"case": name}), flush=True)
        child = os.fork()
        if child == 0:
            for wrong in walk(call, library):
                print(json.dumps({"wrong": wrong}), flush=True)
            seen = sorted({kernel for index, (kernel, _) in enumerate(places) if library.count_of(index)})
            print(json.dumps({"kernels": seen}), flush=True)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status:
            print(json.dumps({"wrong": f"ended with {status}"}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
