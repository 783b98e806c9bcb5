"""Stable orders, sums without rounding and slices: kernels against their reference, for any number of threads.

Work that threads share: results in order, and nothing runs on after an error.

Functions, sums, correlations and tails that are made of exact steps: right, and to the last bit.
"""

import io
import math
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc
from scipy.stats import binom, chi2

from tokbench.kernels import elementary, flat_arrays, order, sums
from tokbench.kernels.exact import correlation
from tokbench.kernels.flat_arrays import argsort_bytes, gather
from tokbench.kernels.slices import cut
from tokbench.kernels.threads import over_ranges, parallel_map, parallel_sum
from tokbench.reference import numbers as exact
from tokbench.reference import numbers as twin
from tokbench.report.figures.style import numbered
from tokbench.report.figures.svg import round_coordinates, shrink_file, strip_metadata
from tokbench.statistics.significance.distributions import binomial_tail, chi_squared_tail, correlation_tail

NUMBERS = st.lists(st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 1.0, math.inf]), max_size=40)
WHOLE = st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2)
STRINGS = st.lists(st.binary(max_size=20) | st.text("ab\0", max_size=20).map(str.encode), max_size=30)


def flat(strings: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    return np.frombuffer(b"".join(strings), np.uint8), np.cumsum([0, *map(len, strings)]).astype(np.int64)


@given(NUMBERS)
def test_descending(values: list[float]) -> None:
    assert order.descending(np.array(values, np.float64)).tolist() == twin.descending(values)


@given(st.lists(st.tuples(WHOLE, WHOLE), max_size=40))
def test_ascending(pairs: list[tuple[int, int]]) -> None:
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
    assert order.ascending(first, second).tolist() == twin.ascending(first.tolist(), second.tolist())


def test_numbers_that_differ_in_every_digit() -> None:
    generator = np.random.default_rng(2)
    first = generator.integers(-(2**63), 2**63 - 1, 5000)
    assert order.ascending(first, first).tolist() == np.argsort(first, kind="stable").tolist()
    values = generator.normal(size=5000).round(1)
    assert order.descending(values).tolist() == np.argsort(-values, kind="stable").tolist()


@given(STRINGS, st.integers(1, 3))
def test_byte_order(strings: list[bytes], threads: int) -> None:
    places = list(range(len(strings)))
    assert order.by_bytes(*flat(strings), np.array(places[::2], np.int64)).tolist() == twin.by_bytes(
        strings, places[::2]
    )
    assert argsort_bytes(*flat(strings), threads).tolist() == twin.by_bytes(strings, places)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=40))
def test_sums(values: list[float]) -> None:
    whole = sums.whole_sum(np.array(values, np.float64))
    assert whole == exact.whole_sum(values)
    with suppress(OverflowError):  # Python's own sum gives up where a part of it is too large, whatever the whole.
        assert math.fsum(values) == whole / 2**1074


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_exact_sums_reject_non_finite_values(value: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        sums.whole_sum(np.array([1.0, value]))


@given(STRINGS, st.data(), st.integers(1, 3))
def test_slices(strings: list[bytes], data: st.DataObject, threads: int) -> None:
    text = b"".join(strings)
    ends = data.draw(st.lists(st.tuples(*[st.integers(0, len(text))] * 2).map(sorted), max_size=10))
    starts, lengths = (
        np.array([value(edge) for edge in ends], np.int64) for value in (min, lambda edge: edge[1] - edge[0])
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokbench.kernels.threads.RANGE_ITEMS", 3)
        laid, offsets = gather(np.frombuffer(text, np.uint8), starts, lengths, threads)
    assert [laid.tobytes()[a:b] for a, b in pairwise(offsets.tolist())] == [text[a:b] for a, b in ends]
    full = lengths > 0
    assert cut(np.frombuffer(text, np.uint8), starts[full], (starts + lengths)[full]) == [
        text[a:b] for a, b in ends if a < b
    ]


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 5)), max_size=20), st.integers(1, 3))
def test_repeated(slices_of: list[tuple[int, int]], threads: int) -> None:
    values, lengths = np.array(slices_of, np.int32).reshape(-1, 2).T.copy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokbench.kernels.threads.RANGE_ITEMS", 3)
        found = flat_arrays.repeat_ranges(values, np.append(0, lengths.cumsum(dtype=np.int64)), threads)
    assert found.tolist() == [value for value, length in slices_of for _ in range(length)]


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 9000, 1 << 17])
def test_ranges_cover_each_item_once(size: int) -> None:
    ranges = over_ranges(lambda first, last: (first, last), size, 2)
    assert [item for first, last in ranges for item in range(first, last)] == list(range(size))
    assert ranges == over_ranges(lambda first, last: (first, last), size, 1)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_tallies(threads: int) -> None:
    def add(item: int, tally: np.ndarray) -> None:
        tally[item % 3] += item

    assert parallel_sum(add, range(1000), (3,), threads).tolist() == [sum(range(1000)[rest::3]) for rest in range(3)]
    assert parallel_sum(add, [], (3,), threads).tolist() == [0, 0, 0]


def test_many_strings_in_byte_order() -> None:
    generator = np.random.default_rng(3)
    strings = [generator.integers(97, 101, generator.integers(1, 33), np.uint8).tobytes() for _ in range(4000)]
    assert flat_arrays.PARTS > 1
    assert [argsort_bytes(*flat(strings), threads).tolist() for threads in (1, 2, 7)] == [
        twin.by_bytes(strings, range(len(strings)))
    ] * 3


def square(number: int) -> int:
    return number * number


@pytest.mark.parametrize("threads", [1, 2, 5, 100])
@pytest.mark.parametrize("items", [0, 1, 2, 64])
def test_results_in_order(threads: int, items: int) -> None:
    assert list(parallel_map(square, range(items), threads)) == [number**2 for number in range(items)]


def test_number_of_threads_is_that_requested() -> None:
    together = threading.Barrier(3)
    assert len(list(parallel_map(lambda _: together.wait(30), range(3), 3))) == 3


@pytest.mark.parametrize("threads", [1, 3])
def test_the_first_error_is_raised(threads: int) -> None:
    def fail(number: int) -> int:
        if number in (7, 9):
            raise MemoryError(number)
        return number

    with pytest.raises(MemoryError, match="7"):
        list(parallel_map(fail, range(64), threads))


def test_nothing_runs_on_after_an_error() -> None:
    running: list[int] = []

    def work(number: int) -> None:
        running.append(number)
        try:
            if number == 0:
                raise ValueError
        finally:
            running.remove(number)

    for _ in range(50):
        with pytest.raises(ValueError):  # noqa: PT011
            list(parallel_map(work, range(64), 4))
        assert running == []


EXACT = Context(prec=50)
DRAWS = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("ours", "exact", "numbers"),
    [
        (elementary.logs_of, EXACT.ln, np.append(10 ** DRAWS.uniform(-300, 300, 500), 1 + DRAWS.normal(0, 1e-3, 500))),
        (elementary.decimal_logs_of, EXACT.log10, np.append(DRAWS.random(500), 10.0 ** np.arange(-9, 10))),
        (elementary.exponentials_of, EXACT.exp, np.append(DRAWS.uniform(-700, 700, 500), DRAWS.normal(0, 1e-5, 500))),
        (lambda x: elementary.powers_of(x, 2.5), lambda x: EXACT.power(x, Decimal("2.5")), DRAWS.random(500)),
        (elementary.softplus_of, lambda x: EXACT.ln(1 + EXACT.exp(x)), DRAWS.uniform(-20, 20, 500)),
    ],
    ids=["log", "log10", "exp", "power", "softplus"],
)
def test_functions_give_the_nearest_double(
    ours: Callable, exact: Callable[[Decimal], Decimal], numbers: np.ndarray
) -> None:
    wanted = np.array([float(exact(Decimal(number))) for number in numbers.tolist()])
    assert np.count_nonzero(ours(numbers) != wanted) <= len(numbers) // 100
    assert ours(numbers) == pytest.approx(wanted, rel=2.0**-52, abs=0)


def test_functions_at_their_ends() -> None:
    inf, nan = np.inf, np.nan
    logs = elementary.logs_of([0, 1, inf, 5e-324, -1, nan])
    assert logs == pytest.approx([-inf, 0, inf, -744.4400719213812, nan, nan], nan_ok=True)
    assert elementary.exponentials_of([-inf, 0, inf, 800, nan]) == pytest.approx([0, 1, inf, inf, nan], nan_ok=True)
    assert elementary.powers_of([0, 1, 2], -1.0).tolist() == [inf, 1, 0.5]
    assert elementary.powers_of([0, 3], 0.0).tolist() == [1, 1]


def test_digamma() -> None:
    """psi(1) is Euler's constant, less than zero; psi(x + 1) = psi(x) + 1 / x; log(x) far away."""
    x = DRAWS.uniform(0.5, 50, 300)
    assert float(elementary.digamma_of(1)) == -0.5772156649015329
    assert elementary.digamma_of(x + 1) - elementary.digamma_of(x) == pytest.approx(1 / x, rel=1e-12, abs=1e-14)
    assert float(elementary.digamma_of(1e18)) == float(elementary.logs_of(1e18))


def test_correlations_are_exact() -> None:
    x, y = DRAWS.normal(size=(2, 50))
    assert correlation(x, y)[0] == pytest.approx(np.corrcoef(x, y)[0, 1], rel=1e-12)
    assert correlation([1, 2, 3], [-2, -4, -6]) == (-1.0, 1)
    # Of numbers near one another linear algebra keeps few digits.
    assert correlation([1, 1 + 2**-50, 1 - 2**-50], [3, 4, 2])[0] == 1.0


def test_tails() -> None:
    """Known values, and SciPy's, which come another way."""
    assert correlation_tail(Fraction(1, 2), 3) == 0.5  # the arcsine law
    assert (correlation_tail(Fraction(1), 5), correlation_tail(Fraction(0), 5)) == (0.0, 1.0)
    for degrees in (1, 2, 7, 18, 300):
        for share in (1e-6, 0.01, 0.3, 0.8, 0.9999):
            tail = correlation_tail(1 - Fraction(share), degrees + 2)
            assert tail == pytest.approx(betainc(degrees / 2, 0.5, share), rel=1e-11)
    assert chi_squared_tail(2.0, 2) == float(EXACT.exp(Decimal(-1)))
    for degrees in (1, 2, 5, 17):
        for statistic in (0.0, 0.3, 9.0, 31.0, 33.0, 200.0, 1300.0):
            assert chi_squared_tail(statistic, degrees) == pytest.approx(chi2.sf(statistic, degrees), rel=1e-11)
    assert (binomial_tail(0, 5), binomial_tail(2, 4), binomial_tail(3, 4), binomial_tail(5, 4)) == (
        1,
        11 / 16,
        5 / 16,
        0,
    )
    for least in (4_000, 4_999, 5_000, 5_100, 6_000):
        assert binomial_tail(least, 10_000) == pytest.approx(binom.sf(least - 1, 10_000, 0.5), rel=1e-11)


def test_compact_figures_keep_to_a_hundredth_of_a_point() -> None:
    whole = (
        '<g id="a">\n    <path d="M 399.045715 -0.001 \nL 12 3.104999 \nz" style="stroke-width: 0.125"/>\n'
        '  <g transform="translate(391.252746 339.7) scale(0.015625)"/>\n'
        '  <use xlink:href="#m" x="7.000001" y="-2.5"/>\n'
        '<use xlink:href="#a" transform="translate(63.479999 0)"/>\n<use transform="translate(1 2) scale(0.7)"/>\n</g>'
    )
    short = (
        '<g id="a">\n<path d="M 399.05 0L 12 3.1z" style="stroke-width: 0.125"/>\n'
        '<g transform="translate(391.25 339.7) scale(0.015625)"/>\n<use xlink:href="#m" x="7" y="-2.5"/>\n'
        '<use xlink:href="#a" x="63.48"/>\n<use transform="translate(1 2) scale(0.7)"/>\n</g>'
    )
    assert round_coordinates(whole) == round_coordinates(short) == short


def test_bare_figures_have_all_that_is_drawn() -> None:
    whole = (
        '<svg>\n<metadata>\n<rdf/>\n</metadata>\n<defs>\n<style>*{}</style>\n</defs>\n<g id="axes_1">\n'
        '<g id="text_1">\n<!-- 0.02 -->\n<g transform="scale(2)">\n<use href="#m" x="7"/>\n</g>\n</g>\n'
        '<g id="empty_1"/>\n<g clip-path="url(#p)" id="a">\n<path id="m" d="M 1 2"/>\n</g>\n<clipPath id="p"/>\n</g>\n'
        "</svg>"
    )
    short = (
        '<svg>\n<defs>\n<style>*{}</style>\n</defs>\n<g transform="scale(2)">\n<use href="#m" x="7"/>\n</g>\n'
        '<g clip-path="url(#p)">\n<path id="m" d="M 1 2"/>\n</g>\n<clipPath id="p"/>\n</svg>'
    )
    assert strip_metadata(whole) == strip_metadata(short) == short


def test_svg_ids_do_not_depend_on_coordinates() -> None:
    one = (
        '<g id="figure_1"><path id="m0123456789" d="x"/><use href="#m0123456789"/>'
        '<g clip-path="url(#pffffffffff)" stroke="#dddddd"/><clipPath id="pffffffffff"/></g>'
    )
    other = one.replace("m0123456789", "mabcdef0123").replace("pffffffffff", "peeeeeeeeee")
    assert numbered(one) == numbered(other) == numbered(numbered(one))
    assert numbered(one).replace("m-1", "m0123456789").replace("p-2", "pffffffffff") == one


def test_a_file_s_figure_has_short_names_and_each_style_once() -> None:
    """Each element keeps its style, its path and what it refers to; made twice it is the same."""
    figure, axes = plt.subplots()
    axes.plot([0, 1, 3], marker="o", label="a, b: c")
    axes.legend()
    text = io.StringIO()
    figure.savefig(text, format="svg")
    plt.close(figure)
    whole = strip_metadata(round_coordinates(text.getvalue()))
    short = shrink_file(whole)
    assert len(short) < 0.9 * len(whole)
    assert shrink_file(short) == short

    def drawn(svg: str) -> list[tuple[str, dict[str, str]]]:
        root = ElementTree.fromstring(svg)
        sheet = next(one.text or "" for one in root.iter() if one.tag.endswith("style"))
        classes = dict(re.findall(r"^\.(\w+){(.*)}$", sheet, re.MULTILINE))
        names: dict[str, str] = {}
        found = []

        def named(name: str) -> str:
            return names.setdefault(name, f"name {len(names)}")

        for one in root.iter():
            attributes = {key.rpartition("}")[2]: value for key, value in one.attrib.items()}
            attributes["style"] = attributes.pop("style", "") or classes.get(attributes.pop("class", ""), "")
            told = {key: re.sub(r"(?<=[:;]) |(?<=[A-Za-z]) (?=[-\d])", "", value) for key, value in attributes.items()}
            if "id" in told:
                told["id"] = named(told["id"])
            for key, value in told.items():
                told[key] = re.sub(r"(?<=#)[\w-]+(?=\)$|$)", lambda name: named(name[0]), value)
            found.append((one.tag, told))
        return found

    assert drawn(short) == drawn(whole)
