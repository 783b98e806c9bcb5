"""Snakemake and SLURM's executor without SLURM's leisure."""

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
