import numpy as np
from numpy.typing import ArrayLike, NDArray

def logs_of(x: ArrayLike) -> NDArray[np.float64]:
    """Natural logarithms: float64 in the shape of ``x``; minus infinity of zero, not a number below it."""

def decimal_logs_of(x: ArrayLike) -> NDArray[np.float64]:
    """Logarithms to base ten, as :func:`logs_of`."""

def exponentials_of(x: ArrayLike) -> NDArray[np.float64]:
    """Exponentials: float64 in the shape of ``x``."""

def softplus_of(x: ArrayLike) -> NDArray[np.float64]:
    """log(1 + exp(x)) of finite numbers: float64 in the shape of ``x``."""

def digamma_of(x: ArrayLike) -> NDArray[np.float64]:
    """Digamma of positive finite numbers: float64 in the shape of ``x``."""

def powers_of(x: ArrayLike, exponent: float) -> NDArray[np.float64]:
    """Numbers that are not negative, to one finite power: float64 in the shape of ``x``."""
