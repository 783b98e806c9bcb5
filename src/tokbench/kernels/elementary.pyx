# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Logarithms, exponentials, powers and digamma with the same bits on every machine.

The C library, NumPy and SciPy select versions of these functions by processor, which differ in the last bit. The
functions here use only additions, multiplications and divisions of doubles in a fixed order; IEEE 754 rounds these
identically everywhere. Values are the unevaluated sum of two doubles (Dekker 1971, "A floating-point technique for
extending the available precision"). So the result is the double nearest to the true value, except for about one value
in thousands that lies close to the midpoint of two doubles.

The method is that of Tang (1990, "Table-driven implementation of the logarithm function"): reduction by a short table,
then a polynomial. The tables are computed with :mod:`decimal`, which is implemented in software and exact.
"""

from libc.math cimport INFINITY, NAN, floor, frexp, ldexp
from libc.stdint cimport int64_t

from decimal import Context, Decimal

import numpy as np

cdef enum:
    LOGS = 128              # table entries of the logarithm per doubling of the argument
    ROOTS = 64              # table entries of the exponential: 2**(i / 64)
    TERMS = 10              # terms of the asymptotic series of digamma
    FAR = 12                # smallest argument of the series

cdef struct Two:
    # hi + lo, where hi is the double nearest to the sum.
    double hi
    double lo

cdef double[LOGS] inverses          # about 1 / m, with few bits, for a mantissa m from i / 128 on
cdef Two[LOGS] logs                 # logarithms of 1 / inverses
cdef Two[ROOTS] roots
cdef Two ln_2, ln_2_of_root, inverse_ln_10
cdef double roots_in_e              # 64 / ln 2
cdef double[TERMS] series           # B(2n) / 2n, with Bernoulli numbers B


cdef inline Two one(double a) noexcept nogil:
    cdef Two number
    number.hi, number.lo = a, 0
    return number


cdef inline Two added(double a, double b) noexcept nogil:
    """Return a + b exactly (Knuth)."""
    cdef Two sum
    cdef double virtual
    sum.hi = a + b
    virtual = sum.hi - a
    sum.lo = (a - (sum.hi - virtual)) + (b - virtual)
    return sum


cdef inline Two settled(double a, double b) noexcept nogil:
    """Return a + b exactly, for b not larger than a in magnitude (Dekker)."""
    cdef Two sum
    sum.hi = a + b
    sum.lo = b - (sum.hi - a)
    return sum


cdef inline Two multiplied(double a, double b) noexcept nogil:
    """Return a b exactly (Dekker), by halves of 26 bits (Veltkamp)."""
    cdef Two product
    cdef double wide = a * 134217729.0, a_high, a_low, b_high, b_low
    a_high = wide - (wide - a)
    a_low = a - a_high
    wide = b * 134217729.0
    b_high = wide - (wide - b)
    b_low = b - b_high
    product.hi = a * b
    product.lo = ((a_high * b_high - product.hi) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product


cdef inline Two plus(Two a, Two b) noexcept nogil:
    cdef Two high = added(a.hi, b.hi), low = added(a.lo, b.lo)
    high = settled(high.hi, high.lo + low.hi)
    return settled(high.hi, high.lo + low.lo)


cdef inline Two times(Two a, Two b) noexcept nogil:
    cdef Two product = multiplied(a.hi, b.hi)
    return settled(product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi))


cdef inline Two scaled(Two a, double factor) noexcept nogil:
    cdef Two product = multiplied(a.hi, factor)
    return settled(product.hi, product.lo + a.lo * factor)


cdef inline Two inverse(Two a) noexcept nogil:
    cdef double quotient = 1 / a.hi
    cdef Two back = multiplied(quotient, a.hi)
    return settled(quotient, ((1 - back.hi) - back.lo - quotient * a.lo) / a.hi)


cdef Two wide_log(double x) noexcept nogil:
    """Return the logarithm of a positive finite number, to about 65 bits."""
    cdef int power
    cdef double m = frexp(x, &power), tail, r
    cdef Two rest, square
    cdef int place
    if m < 0.70710678118654752:
        m *= 2
        power -= 1
    place = <int>(m * LOGS) - LOGS // 2
    rest = multiplied(m, inverses[place])
    rest = settled(rest.hi - 1, rest.lo)                # exact: rest.hi is within a factor of two of 1
    r = rest.hi
    square = multiplied(r, r)
    square.lo += 2 * r * rest.lo
    tail = r * square.hi * (1 / 3.0 - r * (0.25 - r * (0.2 - r * (1 / 6.0 - r * (1 / 7.0 - r * (0.125 - r * (
        1 / 9.0 - r * 0.1)))))))
    rest = plus(rest, settled(-0.5 * square.hi, tail - 0.5 * square.lo))
    return plus(plus(scaled(ln_2, power), logs[place]), rest)


cdef Two wide_exp(Two x) noexcept nogil:
    """Return the exponential of a sum, to about 70 bits; infinity on overflow."""
    cdef double number, r, tail
    cdef int64_t whole
    cdef Two rest, square
    if x.hi > 710 or x.hi < -746:
        rest.hi, rest.lo = INFINITY if x.hi > 0 else 0, 0
        return rest
    number = floor(x.hi * roots_in_e + 0.5)
    whole = <int64_t>number
    rest = plus(x, scaled(ln_2_of_root, -number))
    r = rest.hi
    square = multiplied(r, r)
    square.lo += 2 * r * rest.lo
    tail = r * square.hi * (1 / 6.0 + r * (1 / 24.0 + r * (1 / 120.0 + r * (1 / 720.0 + r * (1 / 5040.0 + r / 40320)))))
    rest = plus(rest, settled(0.5 * square.hi, tail + 0.5 * square.lo))
    rest = plus(roots[whole & (ROOTS - 1)], times(roots[whole & (ROOTS - 1)], rest))
    rest.hi, rest.lo = ldexp(rest.hi, <int>(whole >> 6)), ldexp(rest.lo, <int>(whole >> 6))
    return rest


cdef double log(double x) noexcept nogil:
    """Return the natural logarithm; minus infinity for 0, NaN for negative numbers."""
    if x > 0 and x < INFINITY:
        return wide_log(x).hi
    return x if x == INFINITY else -INFINITY if x == 0 else NAN


cdef double exp(double x) noexcept nogil:
    return wide_exp(one(x)).hi if x == x else x


cdef double power(double x, double exponent) noexcept nogil:
    """Return x to a finite power, for a finite x >= 0."""
    if exponent == 0 or x == 1:
        return 1
    if x == 0:
        return 0 if exponent > 0 else INFINITY
    if x > 0 and x < INFINITY:
        return wide_exp(scaled(wide_log(x), exponent)).hi
    return NAN


cdef double log10(double x) noexcept nogil:
    if x > 0 and x < INFINITY:
        return times(wide_log(x), inverse_ln_10).hi
    return log(x)


cdef double softplus(double x) noexcept nogil:
    """Return log(1 + exp(x)) of a finite number."""
    cdef Two inner = plus(one(1), wide_exp(one(-x if x > 0 else x)))
    cdef Two value = plus(wide_log(inner.hi), one(inner.lo / inner.hi))
    return plus(one(x if x > 0 else 0), value).hi


cdef double digamma(double x) noexcept nogil:
    """Return the derivative of the logarithm of the gamma function, at a positive finite number.

    Small arguments are shifted by psi(x) = psi(x + 1) - 1 / x to the range of the asymptotic series.
    """
    cdef Two at, value
    cdef double square, tail = 0
    cdef int n
    value, at = one(0), one(x)
    while at.hi < FAR:
        value = plus(value, inverse(at))
        at = plus(at, one(1))
    square = 1 / (at.hi * at.hi)
    for n in range(TERMS - 1, -1, -1):
        tail = (series[n] + tail) * square
    value = plus(value, scaled(inverse(at), 0.5))
    value = plus(value, one(tail))
    value.hi, value.lo = -value.hi, -value.lo
    value = plus(one(at.lo / at.hi), value)
    return plus(wide_log(at.hi), value).hi


ctypedef double (*function)(double) noexcept nogil


cdef of_each(function value_of, x):
    """Apply a function to each number of an array; return float64 of the same shape."""
    given = np.asarray(x, np.float64, "C")
    made = np.empty_like(given)
    cdef const double[::1] numbers = given.reshape(-1)
    cdef double[::1] values = made.reshape(-1)
    cdef int64_t i
    with nogil:
        for i in range(numbers.shape[0]):
            values[i] = value_of(numbers[i])
    return made


def logs_of(x: ArrayLike) -> NDArray[np.float64]:
    """Return natural logarithms, float64 in the shape of ``x``; minus infinity for 0, NaN for negative numbers."""
    return of_each(log, x)


def decimal_logs_of(x: ArrayLike) -> NDArray[np.float64]:
    """Return logarithms to base ten; see :func:`logs_of`."""
    return of_each(log10, x)


def exponentials_of(x: ArrayLike) -> NDArray[np.float64]:
    """Return exponentials, float64 in the shape of ``x``."""
    return of_each(exp, x)


def softplus_of(x: ArrayLike) -> NDArray[np.float64]:
    """Return log(1 + exp(x)) of finite numbers, float64 in the shape of ``x``."""
    return of_each(softplus, x)


def digamma_of(x: ArrayLike) -> NDArray[np.float64]:
    """Return digamma of positive finite numbers, float64 in the shape of ``x``."""
    return of_each(digamma, x)


def powers_of(x: ArrayLike, double exponent) -> NDArray[np.float64]:
    """Return non-negative numbers to one finite power, float64 in the shape of ``x``."""
    given = np.asarray(x, np.float64, "C")
    made = np.empty_like(given)
    cdef const double[::1] numbers = given.reshape(-1)
    cdef double[::1] values = made.reshape(-1)
    cdef int64_t i
    with nogil:
        for i in range(numbers.shape[0]):
            values[i] = power(numbers[i], exponent)
    return made


cdef Two two(value):
    """Return a decimal number as two doubles."""
    cdef Two found
    found.hi = float(value)
    found.lo = float(_EXACT.subtract(value, Decimal(found.hi)))
    return found


_EXACT = Context(prec=60)


def _fill():
    global ln_2, ln_2_of_root, inverse_ln_10, roots_in_e
    ln2 = _EXACT.ln(Decimal(2))
    ln_2, ln_2_of_root = two(ln2), two(_EXACT.divide(ln2, Decimal(ROOTS)))
    inverse_ln_10 = two(_EXACT.divide(1, _EXACT.ln(Decimal(10))))
    roots_in_e = float(_EXACT.divide(ROOTS, ln2))
    for i in range(ROOTS):
        roots[i] = two(_EXACT.exp(_EXACT.divide(_EXACT.multiply(ln2, i), ROOTS)))
    for i in range(LOGS):
        middle = (i + LOGS // 2 + 0.5) / LOGS
        inverses[i] = 1 if abs(middle - 1) < 0.01 else round(512 / middle) / 512
        logs[i] = two(_EXACT.minus(_EXACT.ln(Decimal(inverses[i]))))
    bernoulli = "1/6 -1/30 1/42 -1/30 5/66 -691/2730 7/6 -3617/510 43867/798 -174611/330"
    for n, number in enumerate(bernoulli.split()):
        above, below = map(int, number.split("/"))
        series[n] = above / (below * 2 * (n + 1))


_fill()
