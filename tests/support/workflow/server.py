"""Snakemake imported once: forked for every folder that it is to run in, and there for every run.

A run then takes a second instead of five. Reads one JSON line a folder: the folder, its environment, and the address
at which the process for it listens, which it says with a line once it does. That process is sent arguments and the
file to print to, and answers with the exit status; fingerprints are those of the files at that moment.
"""

import gc
import json
import os
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Listener
from pathlib import Path
from pkgutil import iter_modules

import smart_open  # noqa: F401  Snakemake imports it late, and it is slow
import snakemake.cli


def prepare(folder: str, environment: dict[str, str]) -> None:
    """Import and understand the sources that the folder's environment names, as every run there would."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sources = environment["PYTHONPATH"]
    sys.path.insert(0, sources)
    snakemake.cli.get_argument_parser()  # It goes through all plug-ins.

    from tokbench import workflow
    from tokbench.workflow.module_sources import read_source

    for stage in iter_modules(workflow.__path__, "tokbench.workflow."):
        import_module(stage.name)
    for path in Path(sources, "tokbench").rglob("*.py"):
        parts = path.relative_to(sources).with_suffix("").parts
        read_source(".".join(parts).removesuffix(".__init__"), path)
    gc.collect()
    gc.freeze()


def run(arguments: list[str], printed: str) -> int:
    """Snakemake's exit status; what an interpreter does at its end is left undone, which takes as long as a plan."""
    for descriptor in (1, 2):
        os.dup2(os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
    sys.argv = ["snakemake", *arguments]
    status = 0
    try:
        snakemake.cli.main(arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1 if end.code else 0
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def serve(address: str) -> None:
    """Run what is asked for, each in a process of its own, until no one asks any more."""
    with Listener(address) as listener:
        print("listening", flush=True)
        asked = listener.accept()
    with asked, suppress(EOFError, ConnectionError):
        while True:
            arguments, printed = asked.recv()
            child = os.fork()
            if not child:
                os._exit(run(arguments, printed))
            asked.send(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    started = []
    for line in sys.stdin:
        told = json.loads(line)
        started.append(os.fork())
        if not started[-1]:
            sys.stdin.close()
            try:
                prepare(told["folder"], told["environment"])
                serve(told["address"])
            except BaseException:
                print(json.dumps(traceback.format_exc()), flush=True)
            finally:
                os._exit(0)
    for child in started:
        os.waitpid(child, 0)
