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
"""Code with a function that does some work in a fork and sees that it ends well."""
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
"""Imports libraries, and for each line of input runs pieces of code, each in a process of its own that has these and
some more; what they print is left in a folder."""
SLOW = ("torch", "torch._dynamo")
"""What takes longest of all that language models need, and is needed by all that import them."""


@cache
def _server() -> subprocess.Popen[str]:
    """Has imported the slowest libraries once for all that ask; it ends with this process."""
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
    """What each piece of code prints where nothing but torch and some libraries, those that take long, was imported."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    with TemporaryDirectory() as folder:
        print(json.dumps([libraries.split(), codes, folder]), file=server.stdin, flush=True)
        ended = server.stdout.readline()
        assert ended == "done\n", Path(folder, "error").read_text()
        return [Path(folder, str(number)).read_text() for number in range(len(codes))]


def import_all(name: str) -> None:
    """Import a module, and all that any statement in it imports; libraries of language models only where they are."""
    module = importlib.import_module(name)
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            with suppress(ModuleNotFoundError):
                exec(compile(ast.Module([node], []), name, "exec"), vars(module).copy())
