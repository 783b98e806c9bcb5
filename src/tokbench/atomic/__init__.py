"""Outputs that appear complete or not at all: written under another name in the same folder, then renamed.

An existing output is replaced only if Tokbench wrote it (:mod:`tokbench.atomic.record`). A partial output has a name
that no other process uses (:mod:`tokbench.atomic.partial`). A full disk is reported in one line
(:mod:`tokbench.atomic.space`). Checksums show which files were changed (:mod:`tokbench.atomic.sums`).
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
