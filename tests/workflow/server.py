"""Snakemake imported once and forked for every question: a plan then takes a second instead of seven.

Reads one JSON line a question, the arguments and the file to print to; answers each with a line, the exit status.
Fingerprints are taken of the files as they stand when the question is asked.
"""

import json
import os
import sys

import smart_open  # noqa: F401  Snakemake imports it late, and it is slow
import snakemake.cli

import tokbench.workflow.construction  # noqa: F401

for line in sys.stdin:
    arguments, printed = json.loads(line)
    child = os.fork()
    if not child:
        for descriptor in (1, 2):
            os.dup2(os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
        sys.exit(snakemake.cli.main(arguments))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
