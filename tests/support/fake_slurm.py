"""Snakemake with its SLURM executor, without the waiting times."""

import os
import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).parents[2]

AT_ONCE = """
import asyncio
from snakemake.cli import main
from snakemake_executor_plugin_slurm import common_settings
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
common_settings.init_seconds_before_status_checks = 0
RemoteExecutor.sleep = lambda self: asyncio.sleep(0.1)
main()
"""
"""A program: Snakemake that asks how jobs are at once and again, not after 40 seconds and ever longer ones."""


def snakemake(folder: Path, path: str, options: str) -> subprocess.CompletedProcess[str]:
    """Snakemake's run of a folder's workflow, with its executor for SLURM and the programs on a search path."""
    return subprocess.run(
        [sys.executable, "-c", AT_ONCE, "--workflow-profile", HOME / "profiles" / "default", *options.split()],
        cwd=folder,
        env=os.environ | {"PATH": path, "PYTHONPATH": str(HOME / "src")},
        capture_output=True,
        text=True,
        timeout=240,
    )
