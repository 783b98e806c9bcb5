"""What statistics take from SciPy, which is imported here and nowhere else.

Its OpenBLAS asks for a first buffer when it is loaded, and where there is no room for one it asks again, for ever.
"""

from tokbench.memory import require_room

ROOM = 160 << 20
"""Addresses that SciPy takes, rounded up; with half of them its libraries can be loaded, and the buffer not be had."""

require_room(ROOM)

from scipy.special import ndtr  # noqa: E402
from scipy.stats import beta, chi2, false_discovery_control, norm, rankdata, studentized_range, t  # noqa: E402

__all__ = ["beta", "chi2", "false_discovery_control", "ndtr", "norm", "rankdata", "studentized_range", "t"]
