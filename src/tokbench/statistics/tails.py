"""Tails of distributions, in decimal arithmetic of more digits than are asked for: the same on every machine.

What a numerical library gives for them rests on the machine's logarithms and exponentials, and differs in the last
digit between processors.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb

DIGITS = 40
"""Of the arithmetic, beyond those that cancel."""
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")


def correlation_tail(square: Fraction, pairs: int) -> float:
    """Two-sided p-value of Pearson's r over so many pairs under normality (Student 1908), from the square of r."""
    return beta_tail(1 - square, pairs - 2)


def beta_tail(x: Fraction, degrees: int) -> float:
    """The regularized incomplete beta function I_x(degrees / 2, 1 / 2), 0 <= x <= 1, by its continued fraction.

    Where that is slow the complement is taken, which is not small there, so that nothing cancels.
    """
    if x in (0, 1):
        return float(x)
    with localcontext(prec=DIGITS):
        a, b = Decimal(degrees) / 2, Decimal("0.5")
        at, rest = (Decimal(part.numerator) / part.denominator for part in (x, 1 - x))
        front = at ** (degrees // 2) * (at if degrees % 2 else Decimal(1)).sqrt() * rest.sqrt()
        front /= PI if degrees % 2 else 2  # beta(1/2, 1/2) and beta(1, 1/2)
        for below in range(2 - degrees % 2, degrees, 2):
            front *= Decimal(below + 1) / below
        if at * (a + b + 2) < a + 1:
            return float(front * _beta_fraction(at, a, b) / a)
        return float(1 - front * _beta_fraction(rest, b, a) / b)


def _beta_fraction(x: Decimal, a: Decimal, b: Decimal) -> Decimal:
    """The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz's method."""
    above = Decimal(1)
    below = value = 1 / (1 - (a + b) * x / (a + 1))
    step = 0
    while True:
        step += 1
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        for term in (even, odd):
            below, above = 1 / (1 + term * below), 1 + term / above
            value *= below * above
        if abs(below * above - 1) < Decimal(10) ** (5 - DIGITS):
            return value


def chi_squared_tail(statistic: float, degrees: int) -> float:
    """Probability that chi-squared of so many degrees of freedom reaches the statistic.

    A finite sum (Abramowitz and Stegun 26.4.4 and 26.4.5).
    """
    with localcontext(prec=DIGITS):
        half = Decimal(statistic) / 2
        odd = degrees % 2
        term = (-half).exp() * ((half / PI).sqrt() * 2 if odd else 1)
        tail = _complementary_error(half.sqrt()) if odd else Decimal(0)
        for index in range(degrees // 2):
            tail += term
            term *= half / (index + 1 + Decimal(odd) / 2)
        return float(tail)


def binomial_tail(least: int, trials: int) -> float:
    """Probability of ``least`` heads or more in so many throws of a fair coin."""
    if least <= 0:
        return 1.0
    with localcontext(prec=DIGITS):
        if 2 * least <= trials:
            return float(1 - _coins(trials - least + 1, trials))
        return float(_coins(least, trials))


def _coins(least: int, trials: int) -> Decimal:
    """The tail from beyond the middle on, where each term is smaller than the one before."""
    term = tail = Decimal(comb(trials, least)) / Decimal(2) ** trials if least <= trials else Decimal(0)
    for heads in range(least, trials):
        term *= Decimal(trials - heads) / (heads + 1)
        tail += term
        if term < tail.scaleb(-DIGITS):
            break
    return tail


def _complementary_error(z: Decimal) -> Decimal:
    """erfc of a number that is not negative: by the series of erf whose terms are all positive (7.1.6), or, where that
    comes too near 1, by its continued fraction (7.1.14)."""
    square = z * z
    if square > 16:
        value = Decimal(1)
        for index in range(400, 0, -1):
            value = 1 + index / (2 * square * value)
        return (-square).exp() / (PI.sqrt() * z * value)
    with localcontext(prec=DIGITS + 10):
        term = sum_ = 2 * z * (-square).exp() / PI.sqrt()
        index = 0
        while term > sum_.scaleb(-DIGITS - 10):
            index += 1
            term *= 2 * square / (2 * index + 1)
            sum_ += term
        return 1 - sum_
