"""Names, lists and numbers in print: digits that fit the column, a true minus sign, p-values as powers of ten."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tokbench.errors import joined

if TYPE_CHECKING:
    from tokbench.tabulation.table import Kind

UNKNOWN_PRETOKENIZER = "not known"


def slug(*parts: object) -> str:
    """Return a name for files, labels and anchors: a run of characters other than ``[A-Za-z0-9_.]`` is one hyphen."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", "-".join(map(str, parts))).strip("-")


def words(name: str) -> str:
    """Return a metric's name in words: ``corpus_token_count`` is "corpus token count"."""
    return name.replace("_", " ").replace("renyi", "Rényi")


def join_all(names: Sequence[str]) -> str:
    """Join names: ``a``, ``a and b``, ``a, b and c``."""
    return joined(names)


def join_some(names: Sequence[str], most: int | None = None) -> str:
    """Join names as :func:`join_all` does; if there are more than ``most``, the first and the number of the others."""
    from tokbench.tabulation import limits

    most = limits.MAX_PAIRWISE_VARIANTS if most is None else most
    if len(names) <= most:
        return join_all(names)
    shown = min(most, limits.MAX_DRAWN) - 1
    return join_all([*names[:shown], f"{len(names) - shown:,} more"])


def unranked_note(variants: Sequence[str]) -> str:
    """Return a sentence for captions on variants that are not ranked; empty if there are none."""
    return f" Not ranked (fewer tokens than others of a size): {join_some(variants)}." * bool(variants)


def pluralise(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 size``, ``3 sizes``, ``2 vocabularies``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def in_bytes(size: int) -> str:
    """Return a number of bytes with a decimal unit: ``209 kB``, ``2.1 MB``."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.{0 if size >= 100 * factor else 1}f} {unit}"
    return pluralise(size, "byte")


def definition_lines(columns: Sequence[tuple[str, str]]) -> list[str]:
    """Return one line for each definition, with the headers of the columns that share it.

    Args:
        columns: header and definition of each column.
    """
    headers: dict[str, list[str]] = {}
    for header, definition in columns:
        headers.setdefault(definition, []).append(header)
    return [f"{join_all(names)}: {definition}" for definition, names in headers.items()]


MINUS = "−"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def fitting_decimals(values: Iterable[float]) -> int:
    """Return the decimals that give the largest magnitude three or four significant digits, at most eight.

    All values of a column get the same number, so that decimal points align. Columns of integers get none.
    """
    finite = [abs(value) for value in values if math.isfinite(value)]
    if all(value == int(value) for value in finite):
        return 0
    magnitude = math.floor(math.log10(max(finite)))
    return min(max(3 - magnitude, 0), 3) if magnitude >= -1 else min(2 - magnitude, 8)


def format_value(value: float | int | str, kind: "Kind", decimals: int = 0) -> str:
    """Return one value as printed in a table.

    Args:
        value: the value; a share between 0 and 1 if ``kind`` is ``percent``.
        kind: print format of the column.
        decimals: digits after the point of ``percent`` and ``real`` columns; significant digits of ``p`` columns
            (0: two).
    """
    if isinstance(value, str):
        return value
    if kind == "p":
        return probability(value, decimals or 2)
    if not math.isfinite(value):
        return "∞" if value > 0 else f"{MINUS}∞" if value < 0 else "not a number"
    if kind == "percent":
        return _with_minus(f"{100 * value:,.{decimals}f}")
    if kind == "mixed":
        decimals = fitting_decimals([value])
    return _with_minus(f"{value:,.{0 if kind == 'count' else decimals}f}")


def _with_minus(digits: str) -> str:
    """Return digits with a true minus sign, and none before a zero."""
    return digits.replace("-", MINUS if digits.strip("-0.") else "")


def probability(p: float, digits: int = 2) -> str:
    """Return a p-value with ``digits`` significant digits: ``0.045``, or ``2.6×10⁻⁶`` below 0.001."""
    if p == 0:
        return "0"
    if p >= 0.001:
        return f"{p:.{max(digits - 1 - math.floor(math.log10(p)), 1)}f}" if p < 0.995 else "1.0"
    mantissa, exponent = f"{p:.{digits - 1}e}".split("e")
    return f"{mantissa}×{power_of_ten(int(exponent))}"


def power_of_ten(exponent: int) -> str:
    """Return a power of ten: ``10⁻⁶``."""
    return f"10{str(exponent).translate(_SUPERSCRIPT)}"
