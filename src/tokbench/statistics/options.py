"""What is asked of the statistics before any model is trained."""

from pathlib import Path

from pydantic import Field

from tokbench.options import Options
from tokbench.statistics.power import DETECT, LEAST


class StatisticsOptions(Options):
    """How many seeds are needed, told before the runs from a pilot that was."""

    pilot: Path | None = None
    """Folder ``statistics`` of an experiment that trained like models with two seeds or more; how many seeds are needed
    is told in ``power/`` before any model is trained, and in the report."""
    detect: float = Field(DETECT, ge=LEAST)
    """Difference in bits per byte that is to be seen."""
