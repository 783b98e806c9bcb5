"""What statistics take from SciPy, which is imported here and nowhere else.

Its OpenBLAS asks for a first buffer when it is loaded, and where there is no room for one it asks again, for ever.
"""

from tokbench.memory import require_room

ROOM = 160 << 20
"""Addresses that SciPy takes, rounded up; with half of them its libraries can be loaded, and the buffer not be had."""

require_room(ROOM)

from scipy.stats import false_discovery_control, norm, rankdata, studentized_range  # noqa: E402

__all__ = ["false_discovery_control", "norm", "rankdata", "studentized_range"]
