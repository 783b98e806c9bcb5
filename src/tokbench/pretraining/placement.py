"""What a model's training asks of machines; it decides nothing about the model but the rounding of sums."""

from pydantic import Field

from tokbench.options import Options


class Placement(Options):
    """Where a model is trained: how many machines and processes, and what is asked of each."""

    nodes: int = Field(1, ge=1)
    """machines; more than one takes SLURM"""
    processes_per_node: int = Field(1, ge=1)
    """processes on each of them, as many as it has GPUs; each trains on its share of every batch"""
    mem_mb: int | None = Field(None, ge=1)
    """main memory of a node that is asked for, in MB; by the model's size if left out"""
    runtime: int | None = Field(None, ge=1)
    """time that is asked for, in minutes; by the model's arithmetic if left out"""

    @property
    def processes(self) -> int:
        """Processes on all nodes."""
        return self.nodes * self.processes_per_node
