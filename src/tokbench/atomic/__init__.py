"""Outputs that appear whole or not at all: written beside their place, then renamed into it.

Everything that Tokbench writes comes into being here. What stands at the place of an output is replaced only where it
may be (see :mod:`tokbench.atomic.places` and :mod:`tokbench.atomic.record`); what is written goes under a name that no
other process uses (:mod:`tokbench.atomic.partial`); a disk that is full is told in one line
(:mod:`tokbench.atomic.space`); files that were altered are found by their checksums (:mod:`tokbench.atomic.sums`).
"""

from tokbench.atomic.alone import alone
from tokbench.atomic.blocks import atomic_file, atomic_files, atomic_folder, scratch_folder
from tokbench.atomic.links import link_or_copy
from tokbench.atomic.record import NOT_CONTENT, Kind, reject_altered, reject_foreign, remove_written
from tokbench.atomic.space import failures_reported

__all__ = [
    "NOT_CONTENT",
    "Kind",
    "alone",
    "atomic_file",
    "atomic_files",
    "atomic_folder",
    "failures_reported",
    "link_or_copy",
    "reject_altered",
    "reject_foreign",
    "remove_written",
    "scratch_folder",
]
