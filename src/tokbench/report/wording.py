"""Names, lists and numbers of things as a reader reads them."""

import re
from collections.abc import Sequence

from tokbench.errors import joined


def slug(*parts: object) -> str:
    """A name for files, labels and anchors: every run of other characters becomes one hyphen."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", "-".join(map(str, parts))).strip("-")


def words(name: str) -> str:
    """A metric's name as it is read: ``corpus_token_count`` is "corpus token count"."""
    return name.replace("_", " ").replace("renyi", "Rényi")


def listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return joined(names)


def few(names: Sequence[str], most: int | None = None) -> str:
    """The same, of many names the first of them and how many more there are."""
    from tokbench.tabulation import columns

    most = columns.EVERY_PAIR_UP_TO if most is None else most
    if len(names) <= most:
        return listed(names)
    shown = min(most, columns.DRAWN) - 1
    return listed([*names[:shown], f"{len(names) - shown:,} more"])


def without_rank(variants: Sequence[str]) -> str:
    """What a caption says of variants that are not ranked; nothing of none."""
    return f" Not ranked, with fewer tokens than others of a size: {few(variants)}." * bool(variants)


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 size``, ``3 sizes``, ``2 vocabularies``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def defined(columns: Sequence[tuple[str, str]]) -> list[str]:
    """What columns hold, a line for each definition: those that share one stand together.

    Args:
        columns: header and definition of each.
    """
    headers: dict[str, list[str]] = {}
    for header, definition in columns:
        headers.setdefault(definition, []).append(header)
    return [f"{listed(told)}: {definition}" for definition, told in headers.items()]
