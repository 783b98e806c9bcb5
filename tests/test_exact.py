"""Functions, sums, correlations and tails that are made of exact steps: right, and to the last bit."""

import io
import re
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import binom, chi2

from tokbench.exact import correlation, weighted_sums
from tokbench.kernels import elementary
from tokbench.report.figures.compact import bare, compact, tight
from tokbench.report.figures.ids import numbered
from tokbench.statistics.tails import binomial_tail, chi_squared_tail, correlation_tail

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


def test_sums_and_correlations_are_exact() -> None:
    weights, values = DRAWS.integers(0, 2**26, (20, 300)), DRAWS.normal(size=300)
    exact = [
        sum((int(w) * Fraction(v) for w, v in zip(row, values.tolist(), strict=True)), Fraction(0)) for row in weights
    ]
    assert weighted_sums(weights, values).tolist() == [float(value) for value in exact]
    alone, times = DRAWS.normal(size=1), DRAWS.integers(0, 2**26, 100_000)
    assert (weighted_sums(times[:, None], alone) == times * alone).all(), "a product is rounded once"
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
    assert compact(whole) == compact(short) == short


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
    assert bare(whole) == bare(short) == short


def test_ids_do_not_tell_coordinates() -> None:
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
    whole = bare(compact(text.getvalue()))
    short = tight(whole)
    assert len(short) < 0.9 * len(whole)
    assert tight(short) == short

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
