"""What statistics take from SciPy, which is imported here and nowhere else."""

from scipy.special import ndtr
from scipy.stats import beta, chi2, false_discovery_control, norm, rankdata, studentized_range, t

__all__ = ["beta", "chi2", "false_discovery_control", "ndtr", "norm", "rankdata", "studentized_range", "t"]
