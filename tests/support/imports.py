"""Modules imported by a command or by a piece of code, measured in a subprocess."""

import ast
import atexit
import importlib
import inspect
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

APART = """
import os, sys

def apart(work, *arguments):
    child = os.fork()
    if not child:
        status = 1
        try:
            work(*arguments)
            status = 0
        finally:
            sys.stdout.flush()
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0, arguments
"""
"""Code of a function that runs work in a forked process and checks its exit status."""
SERVER = (
    APART
    + """
import importlib, json
for library in sys.argv[1:]:
    importlib.import_module(library)

def each(libraries, codes, folder):
    os.dup2(os.open(folder + "/error", os.O_CREAT | os.O_WRONLY), 2)
    for library in libraries:
        importlib.import_module(library)
    for number, code in enumerate(codes):
        apart(printing, code, f"{folder}/{number}")

def printing(code, told):
    os.dup2(os.open(told, os.O_CREAT | os.O_WRONLY), 1)
    exec(code, {"__name__": "__main__"})

for line in sys.stdin:
    try:
        apart(each, *json.loads(line))
    except AssertionError:
        print("failed", flush=True)
    else:
        print("done", flush=True)
"""
)
"""Program that imports libraries and, for each line of input, runs pieces of code in forked processes after further
imports; their output is written to a folder."""
SLOW = ("torch", "torch._dynamo")
"""Slowest imports of language models, common to all modules that need them."""


@cache
def _server() -> subprocess.Popen[str]:
    """Start a server that imports the slowest libraries once, and ends with this process."""
    slow = [name for name in SLOW if find_spec(name.partition(".")[0])]
    server = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", SERVER, *slow],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    atexit.register(server.communicate)
    return server


def each_after(libraries: str, codes: Sequence[str]) -> list[str]:
    """Return the output of each piece of code in a process with only torch and some slow libraries imported."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    with TemporaryDirectory() as folder:
        print(json.dumps([libraries.split(), codes, folder]), file=server.stdin, flush=True)
        ended = server.stdout.readline()
        assert ended == "done\n", Path(folder, "error").read_text()
        return [Path(folder, str(number)).read_text() for number in range(len(codes))]


def import_all(name: str) -> None:
    """Import a module and the targets of all its import statements; skips missing language-model libraries."""
    module = importlib.import_module(name)
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            with suppress(ModuleNotFoundError):
                exec(compile(ast.Module([node], []), name, "exec"), vars(module).copy())
